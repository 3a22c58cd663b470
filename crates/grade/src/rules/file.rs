//! One file of rules.

use schema::grading::{EvalType, Origin};
use serde::{Deserialize, Deserializer};
use toml::{Table, Value};

use super::{Found, RulesError};
use crate::near::{nearest, parsers_like};
use crate::parse::parser;

/// Keys of a file besides those of [`Settings`].
const FILE_KEYS: [&str; 5] = ["repository", "shape", "expected", "any_version", "version"];

/// Keys of a repository's table besides those of [`Settings`].
const REPOSITORY_KEYS: [&str; 3] = ["names", "any_version", "version"];

/// Keys of [`Settings`].
const SETTINGS_KEYS: [&str; 10] = [
    "log_parser",
    "eval_type",
    "timeout_seconds",
    "cpus",
    "capabilities",
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
    /// The directories `packages/NAME` of the files that the patch which starts the instance is about.
    Packages,
    /// A command for each file of the test patch, as Calypso's tests are run.
    Calypso,
}

/// What rules say.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) log_parser: Option<String>,
    pub(crate) eval_type: Option<EvalType>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) cpus: Option<u32>,
    pub(crate) capabilities: Option<Vec<String>>,
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
            cpus: self.cpus.or(base.cpus),
            capabilities: lines(&self.capabilities, &base.capabilities),
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

/// What rules are looked for by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) shape: Option<Shape>,
    pub(crate) repository: &'a str,
    pub(crate) version: Option<&'a str>,
    /// The tests that must turn.
    pub(crate) fail_to_pass: &'a [String],
}

/// The rules of a file for repositories that have them in common.
#[derive(Debug, Clone)]
pub(crate) struct RulesFile {
    pub(crate) name: String,
    /// `owner/name` each, `owner/*`, or `*`.
    pub(crate) repositories: Vec<String>,
    shape: Option<Shape>,
    /// What the name of each test that must turn has in it.
    expected: Option<String>,
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
    #[serde(default)]
    repository: Repositories,
    shape: Option<Shape>,
    expected: Option<String>,
    #[serde(default)]
    any_version: bool,
    #[serde(default)]
    version: Vec<Table>,
}

/// The repositories that a file is for.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "must be a name, a list of names, or tables `[[repository]]`"
)]
enum Repositories {
    One(String),
    Many(Vec<String>),
    /// Each with rules of its own.
    Tables(Vec<Table>),
}

impl Default for Repositories {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

/// What is read of a repository's table besides its settings.
#[derive(Deserialize)]
struct RepositoryHead {
    #[serde(default, deserialize_with = "lines")]
    names: Option<Vec<String>>,
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
    pub(crate) fn read(name: &str, text: &str) -> Result<Vec<Self>, RulesError> {
        let table: Table = toml::from_str(text).map_err(|source| wrong(name, source))?;
        check_keys(name, "", &table, &[&FILE_KEYS[..], &SETTINGS_KEYS])?;
        let head: Head = part(name, &table)?;
        let base: Settings = part(name, &without(&table, &FILE_KEYS))?;
        let entries = entries(name, "version.", &head.version)?;
        let file = Self {
            name: name.to_owned(),
            repositories: Vec::new(),
            shape: head.shape,
            expected: head.expected,
            any_version: head.any_version || entries.is_empty(),
            base,
            entries,
        };
        match head.repository {
            Repositories::One(repository) => Ok(vec![file.named(vec![repository])?]),
            // An empty list of tables reads as an empty list of names.
            Repositories::Many(repositories) => Ok(vec![file.named(repositories)?]),
            Repositories::Tables(tables) => {
                tables.iter().map(|table| file.with_table(table)).collect()
            }
        }
    }

    fn named(self, repositories: Vec<String>) -> Result<Self, RulesError> {
        if repositories.iter().all(|name| name.trim().is_empty()) {
            return Err(incomplete(&self.name, "`repository` names no repository"));
        }
        Ok(Self {
            repositories,
            ..self
        })
    }

    /// The rules of a repository's table, and what they leave open from the file.
    fn with_table(&self, table: &Table) -> Result<Self, RulesError> {
        let file = &self.name;
        check_keys(
            file,
            "repository.",
            table,
            &[&REPOSITORY_KEYS[..], &SETTINGS_KEYS],
        )?;
        let head: RepositoryHead = part(file, table)?;
        let own: Settings = part(file, &without(table, &REPOSITORY_KEYS))?;
        let entries = entries(file, "repository.version.", &head.version)?;
        let rules = Self {
            base: own.over(&self.base),
            any_version: head.any_version || entries.is_empty(),
            entries,
            ..self.clone()
        };
        rules.named(head.names.unwrap_or_default())
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

    pub(crate) fn is_for(&self, wanted: &Wanted<'_>) -> bool {
        let repository = wanted.repository;
        let names = |pattern: &str| match pattern.strip_suffix('*') {
            Some(owner) => repository
                .get(..owner.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(owner)),
            None => repository.eq_ignore_ascii_case(pattern),
        };
        let is_expected = |part: &str| {
            let tests = wanted.fail_to_pass;
            !tests.is_empty() && tests.iter().all(|test| test.contains(part))
        };
        self.shape == wanted.shape
            && self.repositories.iter().any(|pattern| names(pattern))
            && self.expected.as_deref().is_none_or(is_expected)
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

fn entries(file: &str, place: &str, tables: &[Table]) -> Result<Vec<Entry>, RulesError> {
    let read = |table| Entry::read(file, place, table);
    tables.iter().map(read).collect()
}

impl Entry {
    fn read(file: &str, place: &str, table: &Table) -> Result<Self, RulesError> {
        check_keys(file, place, table, &[&["names"], &SETTINGS_KEYS])?;
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
