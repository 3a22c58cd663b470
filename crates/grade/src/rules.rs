//! How the tests of a repository are run, for rows that do not say it: `configs/repositories/`, built in, and files of the user's.

mod built_in;
mod error;
mod file;

use schema::grading::Origin;

pub use error::RulesError;
pub use file::TestNames;
pub(crate) use file::{Settings, Shape, Wanted};

use crate::near::nearest;
use file::RulesFile;

/// Rules for repositories: those of the user's files first, then those built in.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    own: Vec<RulesFile>,
}

/// What rules say of one repository at one version.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) file: String,
    pub(crate) settings: Settings,
    pub(crate) origin: Origin,
}

/// Why no rules are found.
#[derive(Debug, Clone)]
pub(crate) enum Unruled {
    /// None are for the repository.
    Repository { nearest: Vec<String> },
    /// Those for the repository do not know the version.
    Version {
        file: String,
        known: Vec<String>,
        /// What they say of every version.
        base: Box<Found>,
    },
}

impl Rules {
    /// Adds the rules of a file, before those that are there; `file` is how messages name it.
    ///
    /// # Errors
    /// The text is not TOML, or not a file of rules.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), RulesError> {
        let rules = RulesFile::read(file, text)?;
        rules.iter().try_for_each(RulesFile::check_parsers)?;
        // The last file counts first, and in it the first table.
        self.own.splice(0..0, rules);
        Ok(())
    }

    /// The rules for a repository at a version. Only rules for its shape are for a row that has one.
    pub(crate) fn find(&self, wanted: &Wanted<'_>) -> Result<Found, Unruled> {
        let mut unruled = None;
        let all = || self.own.iter().chain(built_in::files().iter());
        for file in all().filter(|file| file.is_for(wanted)) {
            match file.at(wanted.version) {
                Some(found) => return Ok(found),
                None => {
                    unruled.get_or_insert_with(|| Unruled::Version {
                        file: file.name.clone(),
                        known: file.versions().map(str::to_owned).collect(),
                        base: Box::new(file.base()),
                    });
                }
            }
        }
        Err(unruled.unwrap_or_else(|| {
            let known = all().flat_map(|file| file.repositories.iter().map(String::as_str));
            Unruled::Repository {
                nearest: nearest(
                    wanted.repository,
                    known.filter(|name| !name.contains('*')),
                    3,
                ),
            }
        }))
    }
}
