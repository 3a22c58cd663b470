//! What can be wrong with a file of rules.

use crate::parse::UnknownParser;

/// What is wrong with a file of rules: a mistake of the person who wrote it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RulesError {
    /// It is not TOML, or a value is not of its kind.
    #[error("read the repository rules {file}")]
    Toml {
        /// The file.
        file: String,
        /// What the parser met, and where.
        source: Box<toml::de::Error>,
    },
    /// A key that rules do not have.
    #[error("read the repository rules {file}: unknown key `{key}`")]
    UnknownKey {
        /// The file.
        file: String,
        /// The key, with the table that it is in.
        key: String,
        /// Keys that look like it, else all of them.
        near: Vec<String>,
    },
    /// A key that rules must have is missing, or says nothing.
    #[error("read the repository rules {file}: {problem}")]
    Incomplete {
        /// The file.
        file: String,
        /// What is missing.
        problem: String,
    },
    /// They name a parser that we do not have.
    #[error("read the repository rules {file}")]
    Parser {
        /// The file.
        file: String,
        /// Which.
        source: UnknownParser,
        /// Names that look like it.
        near: Vec<String>,
    },
}

impl RulesError {
    /// What a person can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Toml { .. } | Self::Incomplete { .. } => vec![
                "a file of rules has `repository`, `log_parser` and `test_command`, and `[[version]]` tables with `names` where versions differ"
                    .to_owned(),
            ],
            Self::UnknownKey { near, .. } | Self::Parser { near, .. } if near.is_empty() => vec![],
            Self::UnknownKey { near, .. } | Self::Parser { near, .. } => {
                vec![format!("is {} meant?", near.join(" or "))]
            }
        }
    }
}
