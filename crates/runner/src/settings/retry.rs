//! `--retry`.

use schema::StopReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which finished instances get a new attempt (`--retry`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetrySelector {
    /// Failed by a kind that is infrastructure.
    Infra,
    /// Failed by any kind.
    Failed,
    /// An empty model patch.
    Empty,
    /// Stopped, by any reason or by this one.
    Stopped(Option<StopReason>),
    /// Graded and not resolved.
    Unresolved,
    /// Cancelled.
    Cancelled,
    /// This instance, whatever became of it.
    Instance(String),
}

impl RetrySelector {
    /// Reads `infra`, `failed`, `empty`, `stopped`, `stopped:REASON`, `unresolved`, `cancelled`; anything else is an instance id.
    ///
    /// # Errors
    /// When the reason after `stopped:` is unknown.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("stopped:") {
            return serde_json::from_value(Value::from(name))
                .map(|reason| Self::Stopped(Some(reason)))
                .map_err(|_| format!("unknown stop reason `{name}`"));
        }
        Ok(match text {
            "infra" => Self::Infra,
            "failed" => Self::Failed,
            "empty" => Self::Empty,
            "stopped" => Self::Stopped(None),
            "unresolved" => Self::Unresolved,
            "cancelled" => Self::Cancelled,
            id => Self::Instance(id.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_selectors() {
        assert_eq!(RetrySelector::parse("infra"), Ok(RetrySelector::Infra));
        assert_eq!(
            RetrySelector::parse("stopped:stuck"),
            Ok(RetrySelector::Stopped(Some(StopReason::Stuck)))
        );
        assert!(RetrySelector::parse("stopped:bored").is_err());
        assert_eq!(
            RetrySelector::parse("a__b-1"),
            Ok(RetrySelector::Instance("a__b-1".into()))
        );
    }
}
