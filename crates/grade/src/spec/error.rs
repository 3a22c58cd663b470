//! Why an instance cannot be graded.

use schema::instance::Instance;

use crate::parse::UnknownParser;
use crate::rules::Unruled;

/// Why an instance cannot be graded; solving it needs none of this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The row lacks a field.
    #[error("read grading data: the row has no {field}")]
    Missing {
        /// Name of the field as datasets spell it.
        field: &'static str,
    },
    /// A field is not what it must be.
    #[error("read grading data: the row's `{field}` {problem}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// What is wrong, as the end of a sentence.
        problem: String,
    },
    /// The row says neither how its tests are run, nor whose they are.
    #[error("read grading data: the row has no eval_script and no repo")]
    NoRepository,
    /// The row does not say how its tests are run, and there are no rules for its repository.
    #[error(
        "read grading data: the row has no eval_script, and there are no rules for the repository `{repository}`"
    )]
    NoRules {
        /// The repository.
        repository: String,
        /// Repositories with rules whose names look like it.
        nearest: Vec<String>,
    },
    /// The rules for the row's repository do not know its version.
    #[error("read grading data: the row has no eval_script, and {file} has no version {}", version.as_ref().map_or("for a row without one".to_owned(), |version| format!("`{version}`")))]
    NoVersion {
        /// The version.
        version: Option<String>,
        /// The file of rules.
        file: String,
        /// The versions that it knows.
        known: Vec<String>,
    },
    /// The rules for the row's repository lack a key.
    #[error("read grading data: neither the row nor {file} has a {key}")]
    Unsaid {
        /// The file of rules.
        file: String,
        /// The key.
        key: &'static str,
    },
    /// Nobody says which parser reads the logs of the row's repository: the dataset has one of its own for each, and none of ours is known to
    /// give what that gives.
    #[error("read grading data: there is no parser like Multi-SWE-bench's own for `{repository}`")]
    NoParser {
        /// The repository.
        repository: String,
    },
    /// The test patch cannot be read.
    #[error("read grading data: the row's test_patch")]
    TestPatch(#[from] patch::ParseError),
    /// The row's `eval_type` is none that we know.
    #[error("read grading data: unknown eval_type `{0}` (known: pass_and_fail, fail_only)")]
    EvalType(String),
    /// The row's tests run on Windows alone.
    #[error("read grading data: the row's image is for Windows, where nothing is run")]
    Windows,
    /// The parser is a program, and the row has no commands whose output it could be given.
    #[error("read grading data: the row's `{field}` is a program, not the name of a parser")]
    ParserProgram {
        /// Name of the field.
        field: &'static str,
    },
    /// The row names a parser that we do not have.
    #[error("read grading data")]
    Parser {
        /// Which.
        source: UnknownParser,
        /// Names that look like it.
        nearest: Vec<String>,
    },
}

impl SpecError {
    pub(super) fn unruled(instance: &Instance, unruled: Unruled) -> Self {
        match unruled {
            Unruled::Repository { .. } if instance.repo.trim().is_empty() => Self::NoRepository,
            Unruled::Repository { nearest } => Self::NoRules {
                repository: instance.repo.clone(),
                nearest,
            },
            Unruled::Version { file, known, .. } => Self::NoVersion {
                version: instance.version.clone(),
                file,
                known,
            },
        }
    }

    /// What a person can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        let rules = "say how its tests are run with --repository-rules FILE".to_owned();
        match self {
            Self::Missing { field: "run_script" | "parser_script" } => vec![
                "put `run_scripts/` of SWE-bench Pro's repository, with `run_script.sh` and `parser.py` of each row, beside the dataset"
                    .to_owned(),
            ],
            Self::Missing { field } => vec![format!("give the row a `{field}`")],
            Self::Field { .. } | Self::TestPatch(_) => {
                vec!["mend the row, or leave it out when grading".to_owned()]
            }
            Self::NoRepository => {
                vec!["give the row an `eval_script` and a `log_parser`".to_owned()]
            }
            Self::NoRules { nearest, .. } if nearest.is_empty() => vec![rules],
            Self::NoRules { nearest, .. } => vec![
                rules,
                format!(
                    "there are rules for {}: is one of them meant?",
                    nearest.join(", ")
                ),
            ],
            Self::NoVersion { known, .. } => {
                vec![rules, format!("it knows {}", known.join(", "))]
            }
            Self::Unsaid { key, .. } => {
                vec![format!("add `{key}` to a file for --repository-rules")]
            }
            Self::NoParser { .. } => vec![
                "name the parser that is nearest as `log_parser` in a file for --repository-rules, with `shape = \"multi-swe-bench\"`"
                    .to_owned(),
            ],
            Self::EvalType(_) => vec![],
            Self::Windows => vec!["leave the row out when grading".to_owned()],
            Self::ParserProgram { .. } => vec![
                "name one of our parsers as `log_parser` in a file for --repository-rules"
                    .to_owned(),
            ],
            Self::Parser { nearest, .. } if nearest.is_empty() => vec![],
            Self::Parser { nearest, .. } => vec![format!("is {} meant?", nearest.join(" or "))],
        }
    }
}
