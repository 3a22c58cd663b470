//! The one table of failure kinds: whether each is retried, graded, and counted.

use serde::{Deserialize, Serialize};

/// How a request to a model failed for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// The key was refused.
    Auth,
    /// The account has no credit.
    Billing,
    /// The server will never accept this request.
    BadRequest,
    /// The server stayed busy, unreachable or unreadable through all retries.
    Overloaded,
    /// No answer within the deadlines.
    Timeout,
    /// The model or a content filter declined.
    Refused,
}

/// Why an attempt failed through no result of the agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// A request to the model failed.
    Model(ModelFailureKind),
    /// The image cannot be had.
    EnvironmentImage,
    /// The registry of the image gave nothing for too long.
    EnvironmentRegistry,
    /// The sandbox could not be started.
    EnvironmentStart,
    /// The sandbox went away.
    EnvironmentLost,
    /// No space left.
    EnvironmentDisk,
    /// A completion check could not be run.
    Check,
    /// A bug in Patchmill.
    Internal,
}

/// When a new attempt is worth making.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Never by itself.
    Never,
    /// One more attempt.
    Once,
    /// Up to the run's `--max-attempts`.
    Always,
}

/// One row of the failure table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handling {
    /// Whether a new attempt is made.
    pub retry: Retry,
    /// Whether the patch is graded all the same.
    pub graded: bool,
    /// Whether the instance counts in the score.
    pub counted: bool,
    /// Whether it is a failure of the infrastructure, counted by `--max-infra-failures`.
    pub infrastructure: bool,
    /// Whether the whole run stops at the first one.
    pub stops_run: bool,
}

impl FailureKind {
    /// Every kind, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::Model(ModelFailureKind::Auth),
        Self::Model(ModelFailureKind::Billing),
        Self::Model(ModelFailureKind::BadRequest),
        Self::Model(ModelFailureKind::Overloaded),
        Self::Model(ModelFailureKind::Timeout),
        Self::Model(ModelFailureKind::Refused),
        Self::EnvironmentImage,
        Self::EnvironmentRegistry,
        Self::EnvironmentStart,
        Self::EnvironmentLost,
        Self::EnvironmentDisk,
        Self::Check,
        Self::Internal,
    ];

    /// The row of this kind.
    pub fn handling(self) -> Handling {
        use ModelFailureKind::{Auth, BadRequest, Billing, Overloaded, Refused, Timeout};
        let base = Handling {
            retry: Retry::Never,
            graded: false,
            counted: false,
            infrastructure: true,
            stops_run: false,
        };
        match self {
            Self::Model(Auth | Billing) => Handling {
                stops_run: true,
                ..base
            },
            // What a registry refuses after all tries, it refuses the next attempt too.
            Self::Model(BadRequest) | Self::EnvironmentImage | Self::Internal => base,
            Self::Model(Overloaded | Timeout)
            | Self::EnvironmentRegistry
            | Self::EnvironmentStart
            | Self::EnvironmentLost
            | Self::EnvironmentDisk => Handling {
                retry: Retry::Always,
                ..base
            },
            Self::Model(Refused) => Handling {
                graded: true,
                counted: true,
                infrastructure: false,
                ..base
            },
            Self::Check => Handling {
                retry: Retry::Once,
                ..base
            },
        }
    }

    /// The name used in files and messages, such as `model:auth` or `environment:lost`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model(ModelFailureKind::Auth) => "model:auth",
            Self::Model(ModelFailureKind::Billing) => "model:billing",
            Self::Model(ModelFailureKind::BadRequest) => "model:bad_request",
            Self::Model(ModelFailureKind::Overloaded) => "model:overloaded",
            Self::Model(ModelFailureKind::Timeout) => "model:timeout",
            Self::Model(ModelFailureKind::Refused) => "model:refused",
            Self::EnvironmentImage => "environment:image",
            Self::EnvironmentRegistry => "environment:registry",
            Self::EnvironmentStart => "environment:start",
            Self::EnvironmentLost => "environment:lost",
            Self::EnvironmentDisk => "environment:disk",
            Self::Check => "check",
            Self::Internal => "internal",
        }
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for FailureKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| format!("unknown failure kind `{name}`"))
    }
}

impl Serialize for FailureKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for FailureKind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for kind in FailureKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(serde_json::from_str::<FailureKind>(&json).unwrap(), kind);
        }
        assert!("model".parse::<FailureKind>().is_err());
    }

    #[test]
    fn only_a_refusal_counts_and_only_credentials_stop_the_run() {
        for kind in FailureKind::ALL {
            let handling = kind.handling();
            let refused = kind == FailureKind::Model(ModelFailureKind::Refused);
            assert_eq!(handling.counted, refused, "{kind}");
            assert_eq!(handling.graded, refused, "{kind}");
            assert_eq!(handling.infrastructure, !refused, "{kind}");
            let credentials = matches!(
                kind,
                FailureKind::Model(ModelFailureKind::Auth | ModelFailureKind::Billing)
            );
            assert_eq!(handling.stops_run, credentials, "{kind}");
            assert!(!credentials || handling.retry == Retry::Never, "{kind}");
        }
    }
}
