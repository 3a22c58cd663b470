//! What can go wrong before the first request.

use std::path::PathBuf;

/// Why a model could not be opened. Failures of requests are [`schema::event::ModelFailure`]s.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model is not of the form `provider:name`.
    #[error("model `{given}` names no provider")]
    NoProvider {
        /// As given.
        given: String,
    },
    /// Nothing follows the provider.
    #[error("model `{given}` has an empty name")]
    EmptyName {
        /// As given.
        given: String,
    },
    /// No such provider.
    #[error("unknown model provider `{provider}` in `{given}`")]
    UnknownProvider {
        /// The provider part.
        provider: String,
        /// As given.
        given: String,
        /// The known provider that looks most like it.
        nearest: Option<&'static str>,
    },
    /// The provider's own server needs a key.
    #[error("no key for {provider}")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// The environment variable that usually holds it.
        variable: &'static str,
    },
    /// A setting that cannot work.
    #[error("model setting `{field}`: {problem}")]
    Setting {
        /// The setting.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of replies could not be read.
    #[error("cannot read model replies from {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file of replies does not hold what it should.
    #[error("{}:{line}: not {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// Why it does not.
        #[source]
        source: serde_json::Error,
    },
    /// A trajectory is of a format that this version does not read.
    #[error("{} has format version {found}, and {known} is read here", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: schema::FormatVersion,
        /// Ours.
        known: schema::FormatVersion,
    },
    /// A file of replies holds none.
    #[error("{} holds no replies", path.display())]
    NoReplies {
        /// The file.
        path: PathBuf,
    },
    /// A directory holds no file for an instance.
    #[error("no model replies for instance `{instance}` in {}", directory.display())]
    NoFile {
        /// The instance.
        instance: String,
        /// The directory.
        directory: PathBuf,
        /// The file that was looked for first.
        wanted: String,
    },
    /// A price table could not be read.
    #[error("cannot read the price table")]
    Prices(#[source] Box<toml::de::Error>),
    /// The HTTP client could not be built.
    #[error("cannot set up the HTTP client")]
    Client(#[source] reqwest::Error),
}

impl Error {
    /// What the user can do about it: zero or more sentences.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoProvider { given } => vec![format!(
                "write `openai:{given}` (with --base-url for any server that speaks chat completions), `anthropic:{given}`, `script:PATH` or `replay:PATH`"
            )],
            Self::EmptyName { .. } => {
                vec!["the form is `provider:name`, such as `openai:gpt-4.1` or `script:replies.jsonl`".into()]
            }
            Self::UnknownProvider { nearest, .. } => {
                let known: Vec<_> = crate::choice::providers().collect();
                let known = known.join(", ");
                let mut hints = Vec::new();
                if let Some(nearest) = nearest {
                    hints.push(format!("did you mean `{nearest}:`?"));
                }
                hints.push(format!(
                    "known providers: {known}; a server that speaks chat completions is `openai:NAME` with --base-url"
                ));
                hints
            }
            Self::NoKey { variable, .. } => vec![format!(
                "set {variable}, or give --base-url for a server that needs no key"
            )],
            Self::Malformed { .. } => vec![
                "a script holds one JSON object a line: {\"text\"?, \"tool_calls\"?: [{\"name\", \"arguments\"}], \"finish_reason\"?, \"usage\"?}; a replay reads a trajectory (.json or .jsonl)".into(),
            ],
            Self::NoFile { wanted, .. } => vec![format!("a file named {wanted} is looked for there")],
            Self::Version { .. } => vec!["replay it with the version of Patchmill that wrote it".into()],
            Self::Client(_) => vec![
                "the system's certificates may be missing (Debian: ca-certificates)".into(),
            ],
            Self::Read { source, .. } => vec![
                match source.kind() {
                    std::io::ErrorKind::NotFound => "check the path given to --model",
                    _ => "make it readable for the user that runs this",
                }
                .into(),
            ],
            Self::Setting { .. } | Self::NoReplies { .. } | Self::Prices(_) => Vec::new(),
        }
    }
}
