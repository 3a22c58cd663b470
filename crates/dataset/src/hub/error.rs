//! Why a dataset of the hub cannot be had.

use std::path::PathBuf;

/// Why a dataset of the hub cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `HF_ENDPOINT` is no address.
    #[error("HF_ENDPOINT is {0:?}, which is no address of a web server")]
    Endpoint(String),
    /// Nothing says where files are kept.
    #[error("nothing says where files of the hub are kept")]
    NoCache,
    /// Nothing may be asked, and the cache does not hold it.
    #[error("dataset {id} is not in the cache {}, and the hub is not to be asked", cache.display())]
    NotCached {
        /// The dataset.
        id: String,
        /// The cache.
        cache: PathBuf,
    },
    /// The hub does not know who asks.
    #[error("the hub does not let {} see {subject} (401){}", if *token { "this token" } else { "strangers" }, said(message))]
    Unauthorized {
        /// What was asked for.
        subject: String,
        /// Whether a token was shown.
        token: bool,
        /// What it said.
        message: String,
    },
    /// The hub knows who asks and refuses.
    #[error("the hub refuses {subject} (403){}", said(message))]
    Forbidden {
        /// What was asked for.
        subject: String,
        /// Whether conditions must be accepted first.
        gated: bool,
        /// The page where that is done.
        page: String,
        /// What it said.
        message: String,
    },
    /// There is no such thing.
    #[error("the hub has no {what}: {subject} (404)")]
    NotFound {
        /// `dataset`, `revision` or `file`.
        what: &'static str,
        /// What was asked for.
        subject: String,
    },
    /// An answer that is none of the hub's.
    #[error("{url} answers {problem}")]
    Protocol {
        /// What was asked.
        url: String,
        /// What came, as the end of a sentence.
        problem: String,
    },
    /// It answers with an error, or is overloaded, try after try.
    #[error("{url} answers {status} after {tries} tries{}", said(message))]
    Refused {
        /// What was asked.
        url: String,
        /// The status.
        status: u16,
        /// Tries.
        tries: u32,
        /// What it said.
        message: String,
    },
    /// It does not answer.
    #[error("cannot reach {url} after {tries} tries")]
    Unreachable {
        /// What was asked.
        url: String,
        /// Tries.
        tries: u32,
        /// What happened last.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Redirects that do not end.
    #[error("{url} redirects more than {limit} times")]
    Redirects {
        /// What was asked.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// A file that does not have the digest, or the size, that the hub says.
    #[error("{file} of {id} came with {found} instead of {expected}, twice")]
    Checksum {
        /// The dataset.
        id: String,
        /// The file.
        file: String,
        /// What the hub says.
        expected: String,
        /// What came.
        found: String,
    },
    /// The cache cannot be used.
    #[error("cannot {operation} {} in the cache of the hub", path.display())]
    Cache {
        /// What was tried.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Another program holds a file for too long.
    #[error("another program has been downloading {file} of {id} for too long")]
    Locked {
        /// The dataset.
        id: String,
        /// The file.
        file: String,
        /// What it holds.
        lock: PathBuf,
    },
}

fn said(message: &str) -> String {
    if message.is_empty() {
        return String::new();
    }
    format!(": {message}")
}

impl Error {
    /// Whether the hub may answer another time: what the cache holds is as good as it gets until then.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Unreachable { .. } => true,
            Self::Endpoint(_)
            | Self::NoCache
            | Self::NotCached { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::Protocol { .. }
            | Self::Redirects { .. }
            | Self::Checksum { .. }
            | Self::Cache { .. }
            | Self::Locked { .. } => false,
        }
    }

    /// The error with its causes, in one line.
    pub(super) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }

    /// What a person can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        let one = |hint: &str| vec![hint.to_owned()];
        match self {
            Self::Endpoint(_) => {
                one("such as https://huggingface.co; leave it unset for the public hub")
            }
            Self::NoCache => one("set HF_HUB_CACHE, HF_HOME or HOME"),
            Self::NotCached { .. } => {
                one("run once without --offline and HF_HUB_OFFLINE, or copy the cache here")
            }
            Self::Unauthorized { token: false, .. } => one(
                "check the name; if the dataset is private or gated, set HF_TOKEN or run `hf auth login`",
            ),
            Self::Unauthorized { token: true, .. } => one(
                "check the name and the token: it may be wrong, expired, or without the right to read this dataset",
            ),
            Self::Forbidden {
                gated: true, page, ..
            } => vec![format!(
                "accept its conditions on {page}, then set HF_TOKEN to a token of that account"
            )],
            Self::Forbidden { .. } => one("use a token with the right to read this dataset"),
            Self::NotFound {
                what: "revision", ..
            } => one("a revision is a branch, a tag or a commit: leave it out for the newest"),
            Self::NotFound { .. } => {
                one("check the name given to --dataset: a file of that name is not here either")
            }
            Self::Protocol { .. } => one(
                "something stands between: a proxy, a login page, or an HF_ENDPOINT that is no hub",
            ),
            Self::Refused { status: 429, .. } => {
                one("wait a while, or set HF_TOKEN: known users may ask more often")
            }
            Self::Refused { .. } => one("try again later; --offline uses what the cache holds"),
            Self::Unreachable { .. } => {
                one("check the network and HF_ENDPOINT; --offline uses what the cache holds")
            }
            Self::Redirects { .. } => one("check HF_ENDPOINT and the proxy"),
            Self::Checksum { .. } => {
                one("a proxy may change what it hands on; try again from another network")
            }
            Self::Cache { .. } => one(
                "check the directory's rights and its free space, or set HF_HUB_CACHE to another one",
            ),
            Self::Locked { lock, .. } => vec![format!(
                "end the other program, or remove {} if there is none",
                lock.display()
            )],
        }
    }
}
