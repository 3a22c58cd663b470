//! One file of rules.

use schema::grading::{EvalType, Origin};
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::{Found, RulesError};
use crate::near::{nearest, parsers_like};
use crate::parse::parser;

/// Keys of a file besides those of [`Settings`].
const FILE_KEYS: [&str; 4] = ["repository", "shape", "any_version", "version"];

/// Keys of [`Settings`].
const SETTINGS_KEYS: [&str; 8] = [
    "log_parser",
    "eval_type",
    "timeout_seconds",
    "tests",
    "setup",
    "install",
    "build",
    "test_command",
];

/// Shapes of rows whose tests are run in a way of their own, whatever their repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// Multi-SWE-bench: the image has the script that runs the tests.
    MultiSweBench,
    /// R2E-Gym: the image has the script and the tests.
    R2eGym,
    /// SWE-smith: the tests are there from the start.
    SweSmith,
}

/// Which names the test command gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestNames {
    /// None: the command is complete.
    #[default]
    None,
    /// The files that the test patch leaves behind, but for data.
    Files,
    /// The same as Python modules below `tests/`.
    Modules,
    /// `-k` and the data-driven cases that the test patch shows, else the files.
    Cases,
    /// The files that the names of the expected tests begin with.
    Expected,
}

/// What rules say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) log_parser: Option<String>,
    pub(crate) eval_type: Option<EvalType>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) tests: Option<TestNames>,
    #[serde(default, deserialize_with = "lines")]
    pub(crate) setup: Option<Vec<String>>,
    #[serde(default, deserialize_with = "lines")]
    pub(crate) install: Option<Vec<String>>,
    #[serde(default, deserialize_with = "lines")]
    pub(crate) build: Option<Vec<String>>,
    #[serde(default, deserialize_with = "lines")]
    pub(crate) test_command: Option<Vec<String>>,
}

impl Settings {
    /// These, and what they leave open from `base`.
    fn over(&self, base: &Self) -> Self {
        let lines = |own: &Option<Vec<String>>, base: &Option<Vec<String>>| {
            own.clone().or_else(|| base.clone())
        };
        Self {
            log_parser: self.log_parser.clone().or_else(|| base.log_parser.clone()),
            eval_type: self.eval_type.or(base.eval_type),
            timeout_seconds: self.timeout_seconds.or(base.timeout_seconds),
            tests: self.tests.or(base.tests),
            setup: lines(&self.setup, &base.setup),
            install: lines(&self.install, &base.install),
            build: lines(&self.build, &base.build),
            test_command: lines(&self.test_command, &base.test_command),
        }
    }
}

/// One command, or several.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be a command or a list of commands")]
    enum Lines {
        One(String),
        Many(Vec<String>),
    }

    Ok(Some(match Lines::deserialize(deserializer)? {
        Lines::One(line) => vec![line],
        Lines::Many(lines) => lines,
    }))
}

/// The rules of one file.
#[derive(Debug, Clone)]
pub(crate) struct RulesFile {
    pub(crate) name: String,
    /// `owner/name` each, `owner/*`, or `*`.
    pub(crate) repositories: Vec<String>,
    shape: Option<Shape>,
    /// Whether versions that no entry names are run by `base`.
    any_version: bool,
    base: Settings,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    versions: Vec<String>,
    settings: Settings,
}

/// What is read of a file besides its settings.
#[derive(Deserialize)]
struct Head {
    #[serde(default, deserialize_with = "lines")]
    repository: Option<Vec<String>>,
    shape: Option<Shape>,
    #[serde(default)]
    any_version: bool,
    #[serde(default)]
    version: Vec<Table>,
}

/// What is read of a version's table besides its settings.
#[derive(Deserialize)]
struct EntryHead {
    #[serde(default)]
    names: Vec<String>,
}

impl RulesFile {
    pub(crate) fn read(name: &str, text: &str) -> Result<Self, RulesError> {
        let table: Table = toml::from_str(text).map_err(|source| wrong(name, source))?;
        check_keys(name, "", &table, &[&FILE_KEYS[..], &SETTINGS_KEYS])?;
        let head: Head = part(name, &table)?;
        let repositories = head.repository.unwrap_or_default();
        if repositories
            .iter()
            .all(|repository| repository.trim().is_empty())
        {
            return Err(incomplete(name, "`repository` names no repository"));
        }
        let entries: Vec<Entry> = head
            .version
            .iter()
            .map(|table| Entry::read(name, table))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            name: name.to_owned(),
            repositories,
            shape: head.shape,
            any_version: head.any_version || entries.is_empty(),
            base: part(name, &without(&table, &FILE_KEYS))?,
            entries,
        })
    }

    /// Checks that there are the parsers which they name.
    pub(crate) fn check_parsers(&self) -> Result<(), RulesError> {
        let all = self.entries.iter().map(|entry| &entry.settings);
        for settings in all.chain([&self.base]) {
            let Some(name) = &settings.log_parser else {
                continue;
            };
            parser(name).map_err(|source| RulesError::Parser {
                file: self.name.clone(),
                near: parsers_like(name),
                source,
            })?;
        }
        Ok(())
    }

    pub(crate) fn is_for(&self, shape: Option<Shape>, repository: &str) -> bool {
        let names = |pattern: &str| match pattern.strip_suffix('*') {
            Some(owner) => repository
                .get(..owner.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(owner)),
            None => repository.eq_ignore_ascii_case(pattern),
        };
        self.shape == shape && self.repositories.iter().any(|pattern| names(pattern))
    }

    /// What they say for a version.
    pub(crate) fn at(&self, version: Option<&str>) -> Option<Found> {
        let entry = version.and_then(|version| {
            let mut entries = self.entries.iter();
            entries.find(|entry| entry.versions.iter().any(|name| name == version))
        });
        match entry {
            Some(entry) => Some(self.found(entry.settings.over(&self.base), version)),
            None if self.any_version => Some(self.base()),
            None => None,
        }
    }

    /// What they say for every version.
    pub(crate) fn base(&self) -> Found {
        self.found(self.base.clone(), None)
    }

    fn found(&self, settings: Settings, version: Option<&str>) -> Found {
        Found {
            file: self.name.clone(),
            settings,
            origin: Origin::Rules {
                file: self.name.clone(),
                version: version.map(str::to_owned),
            },
        }
    }

    pub(crate) fn versions(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter();
        entries.flat_map(|entry| entry.versions.iter().map(String::as_str))
    }
}

impl Entry {
    fn read(file: &str, table: &Table) -> Result<Self, RulesError> {
        check_keys(file, "version.", table, &[&["names"], &SETTINGS_KEYS])?;
        let head: EntryHead = part(file, table)?;
        if head.names.is_empty() {
            return Err(incomplete(file, "a `[[version]]` has no `names`"));
        }
        Ok(Self {
            versions: head.names,
            settings: part(file, &without(table, &["names"]))?,
        })
    }
}

fn part<'de, T: Deserialize<'de>>(file: &str, table: &Table) -> Result<T, RulesError> {
    let read = T::deserialize(Value::Table(table.clone()));
    read.map_err(|source| wrong(file, source))
}

fn without(table: &Table, keys: &[&str]) -> Table {
    let kept = table
        .iter()
        .filter(|(key, _)| !keys.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn check_keys(file: &str, place: &str, table: &Table, known: &[&[&str]]) -> Result<(), RulesError> {
    let known = known.concat();
    let mut keys = table.keys();
    match keys.find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let near = nearest(key, known.iter().copied(), 2);
            let all = || known.iter().map(|&key| key.to_owned()).collect();
            Err(RulesError::UnknownKey {
                file: file.to_owned(),
                key: format!("{place}{key}"),
                near: if near.is_empty() { all() } else { near },
            })
        }
    }
}

fn wrong(file: &str, source: toml::de::Error) -> RulesError {
    RulesError::Toml {
        file: file.to_owned(),
        source: Box::new(source),
    }
}

fn incomplete(file: &str, problem: &str) -> RulesError {
    RulesError::Incomplete {
        file: file.to_owned(),
        problem: problem.to_owned(),
    }
}
