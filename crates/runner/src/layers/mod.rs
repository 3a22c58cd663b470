//! Settings in layers: flag over variable over file over preset over built-in default, and where each value came from.
//!
//! A layer is a flat table. Merging is key by key (and, for tables such as `env`, name by name), so it needs no code per setting.

mod file;
mod show;
mod variables;

pub mod options;
pub mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

pub use options::Options;
pub use show::show;

/// Settings of one layer, or of all of them merged.
pub type Table = Map<String, Value>;

/// The lowest layer.
const DEFAULT: &str = include_str!("../../../../configs/default.toml");

/// What is wrong with a layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read.
    #[error("could not read the configuration file `{}`", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A layer has something that cannot be used.
    #[error("{place}: {problem}")]
    Invalid {
        /// File and line, variable, or flag.
        place: String,
        /// What is wrong.
        problem: String,
        /// The nearest name that exists, and other advice.
        hint: Option<String>,
    },
    /// `--config` names a preset that does not exist.
    #[error("there is no preset `{name}`")]
    NoPreset {
        /// As given.
        name: String,
    },
}

impl Error {
    /// What the user can do.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Read { .. } => {
                vec!["a configuration file is TOML in UTF-8, such as `workers = 8`".to_owned()]
            }
            Self::Invalid { hint, .. } => hint.iter().cloned().collect(),
            Self::NoPreset { name } => vec![
                "presets: default".to_owned(),
                format!("a file is named by a path, such as `./{name}.toml`"),
            ],
        }
    }
}

/// What somebody who wrote a key that does not exist can do.
fn advice(key: &str, known: &[String]) -> String {
    match nearest(key, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`runner help run` lists the settings; keys for servers come from the environment only"
                .to_owned()
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A named preset.
    Preset(String),
    /// The user's own file.
    UserFile(PathBuf),
    /// `patchmill.toml` of the current directory.
    ProjectFile(PathBuf),
    /// A file given by `--config`.
    File(PathBuf),
    /// A variable.
    Variable(String),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::UserFile(path) => write!(f, "user file {}", path.display()),
            Self::ProjectFile(path) => write!(f, "project file {}", path.display()),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Where the layers are looked for: the process's surroundings, passed in so that tests need not change them.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The current directory.
    pub directory: PathBuf,
    /// Variables of the process.
    pub variables: BTreeMap<String, String>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let text = |value: std::ffi::OsString| value.into_string().ok();
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
            .collect();
        Self {
            directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            variables,
        }
    }

    fn user_file(&self) -> Option<PathBuf> {
        let variable = |name| self.variables.get(name).filter(|value| !value.is_empty());
        let root = variable("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| variable("HOME").map(|home| Path::new(home).join(".config")))?;
        Some(root.join("patchmill/config.toml"))
    }
}

/// All layers merged.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    table: Table,
    origins: BTreeMap<String, Origin>,
    /// Files that were read.
    pub files: Vec<PathBuf>,
    /// Things that are not wrong enough to stop.
    pub warnings: Vec<String>,
}

impl Resolved {
    /// Merges every layer, weakest first.
    ///
    /// # Errors
    /// When a layer cannot be read or holds what no setting takes.
    pub fn load(
        surroundings: &Surroundings,
        configs: &[String],
        sets: &[String],
        flags: Table,
    ) -> Result<Self, Error> {
        let mut resolved = Self::default();
        let presets = configs.iter().filter(|name| !is_path(name));
        let files = configs.iter().filter(|name| is_path(name));
        resolved.put(
            file::parse(DEFAULT, Path::new("default.toml"))?,
            &Origin::Default,
        );
        for name in presets {
            let text = preset(name).ok_or_else(|| Error::NoPreset { name: name.clone() })?;
            let table = file::parse(text, Path::new(name))?;
            resolved.put(table, &Origin::Preset(name.clone()));
        }
        if let Some(path) = surroundings.user_file()
            && let Some(table) = file::read_if_present(&path)?
        {
            resolved.put(table, &Origin::UserFile(path));
        }
        let project = surroundings.directory.join("patchmill.toml");
        if let Some(table) = file::read_if_present(&project)? {
            resolved.put(table, &Origin::ProjectFile(PathBuf::from("patchmill.toml")));
        }
        for path in files.map(PathBuf::from) {
            resolved.put(file::read(&path)?, &Origin::File(path));
        }
        let (variables, warnings) = variables::read(&surroundings.variables)?;
        resolved.warnings.extend(warnings);
        for (key, value) in variables {
            let origin = Origin::Variable(variables::name(&key));
            resolved.put(Table::from_iter([(key, value)]), &origin);
        }
        for set in sets {
            let table = variables::set(set)?;
            resolved.put(table, &Origin::Flag("--set".to_owned()));
        }
        for (key, value) in flags {
            let origin = Origin::Flag(format!("--{}", key.replace('_', "-")));
            resolved.put(Table::from_iter([(key, value)]), &origin);
        }
        Ok(resolved)
    }

    fn put(&mut self, layer: Table, origin: &Origin) {
        if let Origin::UserFile(path) | Origin::ProjectFile(path) | Origin::File(path) = origin {
            self.files.push(path.clone());
        }
        for (key, value) in layer {
            match (self.table.get_mut(&key), value) {
                (Some(Value::Object(below)), Value::Object(above)) => below.extend(above),
                (_, value) => {
                    self.table.insert(key.clone(), value);
                }
            }
            self.origins.insert(key, origin.clone());
        }
    }

    /// The settings as typed values. What no layer sets stays `None`.
    ///
    /// # Errors
    /// Never for tables that passed [`Resolved::load`]: each value was checked there.
    pub fn options(&self) -> Result<Options, Error> {
        Options::read(&self.table).map_err(|error| Error::Invalid {
            place: "configuration".to_owned(),
            problem: error.to_string(),
            hint: None,
        })
    }

    /// Where the value of `key` came from, `None` where no layer sets it.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.get(key)
    }

    /// Whether this command line or its variables say something of `key`, rather than files that every command reads.
    pub fn is_given(&self, key: &str) -> bool {
        match self.origin(key) {
            Some(Origin::Preset(_) | Origin::File(_) | Origin::Variable(_) | Origin::Flag(_)) => {
                true
            }
            Some(Origin::Default | Origin::UserFile(_) | Origin::ProjectFile(_)) | None => false,
        }
    }

    /// Whether the user set `key`, rather than the built-in defaults.
    pub fn is_explicit(&self, key: &str) -> bool {
        !matches!(self.origin(key), None | Some(Origin::Default))
    }
}

/// The built-in defaults as text for `--help`, by key.
pub(crate) fn default_texts() -> BTreeMap<String, String> {
    let Ok(table) = file::parse(DEFAULT, Path::new("default.toml")) else {
        return BTreeMap::new();
    };
    let text = |value: Value| match value {
        Value::String(text) => text,
        Value::Array(items) => {
            let names = items.iter().filter_map(Value::as_str);
            names.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    };
    table
        .into_iter()
        .map(|(key, value)| (key, text(value)))
        .collect()
}

/// Presets by name.
fn preset(name: &str) -> Option<&'static str> {
    match name {
        "default" => Some(DEFAULT),
        _ => None,
    }
}

/// Whether a value of `--config` names a file rather than a preset.
fn is_path(name: &str) -> bool {
    name.contains(['/', '.'])
}

/// Checks one setting by reading it alone, so that the complaint is about it and nothing else.
fn check(key: &str, value: &Value) -> Result<(), String> {
    let alone = Table::from_iter([(key.to_owned(), value.clone())]);
    Options::read(&alone)
        .map(drop)
        .map_err(|error| format!("`{key}`: {error}"))
}

/// The known name nearest to `name`, where one is near.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests;
