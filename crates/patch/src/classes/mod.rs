//! What a path is for: product, tests, or the configuration of the test runner.
//!
//! A path is judged by its directory names and its file name, each as a whole; never by a substring, so that `latest_version.py` and
//! `src/testing/helpers.py` stay source. Where a name leaves it open, the answer is [`PathClass::Source`]: calling a test source leaves a
//! test in the model patch, where the grader's own tests replace it; calling source a test would lose the fix.

mod directories;
mod names;
mod pattern;
mod runner_config;

use globset::{GlobBuilder, GlobMatcher};

use crate::error::PatternError;
use crate::file::{Change, FilePatch};
use crate::path::PatchPath;

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathClass {
    /// The product, its documentation, its build: everything that is not one of the others.
    Source,
    /// Tests, their helpers, fixtures and snapshots.
    Test,
    /// Configuration of a test runner, and nothing else: `pytest.ini`, `conftest.py`, `jest.config.js`. Files that configure other things too
    /// (`setup.cfg`, `pyproject.toml`, `package.json`) are source.
    RunnerConfig,
}

/// The rules that class a path: the built-in ones, and the user's before them.
#[derive(Debug, Clone, Default)]
pub struct PathClasses {
    /// In the order of asking.
    user: Vec<(GlobMatcher, PathClass)>,
}

impl PathClasses {
    /// The built-in rules with the user's before them: `add` gives a class to the paths that a pattern matches (the last match counts), `remove`
    /// takes paths out of the built-in classes, which makes them source; `add` wins over `remove`.
    ///
    /// Patterns are globs: `*` stays inside a path part, `**` crosses them. One without a slash matches the file's name in any directory, one
    /// that ends in a slash everything below such a directory.
    ///
    /// # Errors
    /// A pattern that is no glob.
    pub fn with<P: AsRef<str>>(add: &[(PathClass, P)], remove: &[P]) -> Result<Self, PatternError> {
        let added = add
            .iter()
            .rev()
            .map(|(class, pattern)| (pattern.as_ref(), *class));
        let removed = remove
            .iter()
            .map(|pattern| (pattern.as_ref(), PathClass::Source));
        let user = added
            .chain(removed)
            .map(|(pattern, class)| Ok((matcher(pattern)?, class)))
            .collect::<Result<_, _>>()?;
        Ok(Self { user })
    }

    /// The class of one path.
    pub fn classify(&self, path: &PatchPath) -> PathClass {
        let text = path.to_str_lossy();
        let asked = self.user.iter().find(|(glob, _)| glob.is_match(&*text));
        asked.map_or_else(|| built_in(&text), |(_, class)| *class)
    }

    /// The class of a file's change. A rename counts on both sides, and is dropped only when both are tests: moving a file between product and
    /// tests changes the product, and half a rename would be a broken patch. A side that configures the test runner makes it
    /// [`PathClass::RunnerConfig`], so that it is reported. A copy leaves its source as it was and counts by its new path.
    pub fn classify_file(&self, file: &FilePatch) -> PathClass {
        let class = self.classify(file.path());
        let other = match (file.change, file.old_path()) {
            (Change::Copied, _) | (_, None) => class,
            (_, Some(old)) if old == file.path() => class,
            (_, Some(old)) => self.classify(old),
        };
        match (class, other) {
            (PathClass::RunnerConfig, _) | (_, PathClass::RunnerConfig) => PathClass::RunnerConfig,
            (PathClass::Test, PathClass::Test) => PathClass::Test,
            (PathClass::Source, _) | (_, PathClass::Source) => PathClass::Source,
        }
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, PatternError> {
    let mut glob = pattern.trim_start_matches('/').to_owned();
    if glob.ends_with('/') {
        glob.push_str("**");
    }
    if !glob.contains('/') {
        glob.insert_str(0, "**/");
    }
    GlobBuilder::new(&glob)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|source| PatternError {
            pattern: pattern.to_owned(),
            source,
        })
}

fn built_in(path: &str) -> PathClass {
    let path = PathParts::new(path);
    if runner_config::is_runner_config(&path) {
        PathClass::RunnerConfig
    } else if !directories::is_shipped(&path)
        && (directories::is_test(&path) || names::is_test(&path))
    {
        PathClass::Test
    } else {
        PathClass::Source
    }
}

/// A path in the parts that the rules look at.
struct PathParts<'a> {
    directories: Vec<&'a str>,
    /// File name.
    name: &'a str,
    /// File name without its last extension.
    stem: &'a str,
    /// Last extension without its dot, empty where there is none.
    extension: &'a str,
}

impl<'a> PathParts<'a> {
    fn new(path: &'a str) -> Self {
        let mut directories: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let name = directories.pop().unwrap_or_default();
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, extension),
            _ => (name, ""),
        };
        Self {
            directories,
            name,
            stem,
            extension,
        }
    }

    /// Whether these directories follow each other somewhere in the path.
    fn is_below(&self, directories: &[&str]) -> bool {
        self.directories
            .windows(directories.len())
            .any(|window| window == directories)
    }
}
