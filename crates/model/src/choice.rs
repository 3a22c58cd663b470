//! Which model: `provider:name`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::Error;
use crate::service::Service;

/// Names of providers that ask no server.
const CANNED: [&str; 2] = ["script", "replay"];

/// Names of all providers.
pub(crate) fn providers() -> impl Iterator<Item = &'static str> {
    let served = Service::ALL.iter().map(|service| service.prefix());
    served.chain(CANNED)
}

/// A model as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// `openai:NAME` and the like: a model behind a server.
    Served {
        /// How the server is asked.
        service: Service,
        /// Name as the server knows it.
        model: String,
    },
    /// `script:PATH`: canned replies.
    Script {
        /// A file for all instances, or a directory with one for each.
        path: PathBuf,
    },
    /// `replay:PATH`: the replies of a recorded trajectory.
    Replay {
        /// A trajectory for all instances, or a directory with one for each.
        path: PathBuf,
    },
}

impl Choice {
    /// Reads `provider:name`. The name may hold further colons.
    ///
    /// # Errors
    /// When there is no provider, no name, or the provider is unknown.
    pub fn parse(given: &str) -> Result<Self, Error> {
        let Some((provider, name)) = given.split_once(':') else {
            return Err(Error::NoProvider {
                given: given.to_owned(),
            });
        };
        if name.is_empty() {
            return Err(Error::EmptyName {
                given: given.to_owned(),
            });
        }
        if let Some(service) = Service::with_prefix(provider) {
            return Ok(Self::Served {
                service,
                model: name.to_owned(),
            });
        }
        match provider {
            "script" => Ok(Self::Script { path: name.into() }),
            "replay" => Ok(Self::Replay { path: name.into() }),
            unknown => Err(Error::UnknownProvider {
                provider: unknown.to_owned(),
                given: given.to_owned(),
                nearest: nearest(unknown),
            }),
        }
    }

    /// The environment variable that by custom holds the key, where the provider takes one.
    pub fn key_variable(&self) -> Option<&'static str> {
        match self {
            Self::Served { service, .. } => Some(service.key_variable()),
            Self::Script { .. } | Self::Replay { .. } => None,
        }
    }

    /// The environment variable that by custom holds the address of another server, where the provider has one.
    pub fn base_url_variable(&self) -> Option<&'static str> {
        match self {
            Self::Served { service, .. } => Some(service.base_url_variable()),
            Self::Script { .. } | Self::Replay { .. } => None,
        }
    }
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        Self::parse(given)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Served { service, model } => write!(f, "{}:{model}", service.prefix()),
            Self::Script { path } => write!(f, "script:{}", path.display()),
            Self::Replay { path } => write!(f, "replay:{}", path.display()),
        }
    }
}

/// The known provider within a third of the length in typing errors, or the one that `unknown` starts with.
fn nearest(unknown: &str) -> Option<&'static str> {
    let lower = unknown.to_lowercase();
    providers()
        .map(|known| (strsim::damerau_levenshtein(&lower, known), known))
        .filter(|(distance, known)| *distance * 3 <= known.len() || lower.starts_with(known))
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_colons() {
        let choice = Choice::parse("openai:llama3:8b").unwrap();
        assert_eq!(
            choice,
            Choice::Served {
                service: Service::OpenAi,
                model: "llama3:8b".into()
            }
        );
        assert_eq!(choice.to_string(), "openai:llama3:8b");
        assert_eq!(choice.key_variable(), Some("OPENAI_API_KEY"));
        assert_eq!(
            Choice::parse("script:/a/b").unwrap(),
            Choice::Script {
                path: "/a/b".into()
            }
        );
    }

    #[test]
    fn near_names_are_suggested() {
        for (given, wanted) in [
            ("opneai:x", Some("openai")),
            ("OpenAI:x", Some("openai")),
            ("scripts:x", Some("script")),
            ("openai-chat:x", Some("openai")),
            ("relpay:x", Some("replay")),
            ("mistral:x", None),
        ] {
            let Err(Error::UnknownProvider { nearest, .. }) = Choice::parse(given) else {
                panic!("{given} was accepted");
            };
            assert_eq!(nearest, wanted, "{given}");
        }
    }

    #[test]
    fn missing_parts_are_named() {
        assert!(matches!(
            Choice::parse("gpt-4.1"),
            Err(Error::NoProvider { .. })
        ));
        let error = Choice::parse("openai:").unwrap_err();
        assert_eq!(error.to_string(), "model `openai:` has an empty name");
        assert_eq!(error.hints().len(), 1);
    }
}
