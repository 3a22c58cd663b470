//! What was spent, and which limit that meets.

use schema::{Elapsed, StopReason, Usage};

use crate::limits::Limits;

/// What an attempt has spent so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    /// Replies received.
    pub steps: u32,
    /// Tokens and cost of all replies; its cost is unknown as soon as one reply's cost is.
    pub usage: Usage,
    /// Dollars of the replies whose cost is known: what the cost limit looks at, so that one reply without a cost does not switch it off.
    pub known_cost: f64,
    /// Milliseconds waited in the limiter and between tries.
    pub waited_ms: u64,
    /// Milliseconds between the requests and their replies, waits left out.
    pub model_ms: u64,
    /// Milliseconds that tools ran.
    pub tool_ms: u64,
}

impl Spent {
    /// The moment at which the wall time is used up; moves with every wait.
    pub fn deadline(&self, limits: &Limits) -> Option<Elapsed> {
        let wall_time = u64::try_from(limits.max_wall_time?.as_millis()).unwrap_or(u64::MAX);
        Some(Elapsed(wall_time.saturating_add(self.waited_ms)))
    }

    /// The limit that forbids another request, in the order time, cost, tokens, steps.
    pub fn exceeded(&self, limits: &Limits, at: Elapsed) -> Option<StopReason> {
        let tokens = self.usage.input.saturating_add(self.usage.output);
        if self.deadline(limits).is_some_and(|deadline| at >= deadline) {
            Some(StopReason::MaxWallTime)
        } else if limits.max_cost.is_some_and(|max| self.known_cost >= max) {
            Some(StopReason::MaxCost)
        } else if limits.max_tokens.is_some_and(|max| tokens >= max) {
            Some(StopReason::MaxTokens)
        } else if limits.max_steps.is_some_and(|max| self.steps >= max) {
            Some(StopReason::MaxSteps)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_more_request_is_allowed_below_the_cost_limit() {
        let limits = Limits {
            max_cost: Some(1.0),
            ..Limits::default()
        };
        let mut spent = Spent {
            known_cost: 0.99,
            ..Spent::default()
        };
        assert_eq!(spent.exceeded(&limits, Elapsed(0)), None);
        spent.known_cost = 1.0;
        assert_eq!(
            spent.exceeded(&limits, Elapsed(0)),
            Some(StopReason::MaxCost)
        );
    }

    #[test]
    fn waits_move_the_deadline() {
        let limits = Limits {
            max_wall_time: Some(Duration::from_secs(10)),
            ..Limits::default()
        };
        let spent = Spent {
            waited_ms: 5_000,
            ..Spent::default()
        };
        assert_eq!(spent.exceeded(&limits, Elapsed(14_999)), None);
        assert_eq!(
            spent.exceeded(&limits, Elapsed(15_000)),
            Some(StopReason::MaxWallTime)
        );
    }

    #[test]
    fn the_first_limit_in_the_order_names_the_reason() {
        let limits = Limits {
            max_cost: Some(0.5),
            max_tokens: Some(10),
            max_steps: Some(1),
            ..Limits::default()
        };
        let spent = Spent {
            steps: 1,
            usage: Usage {
                input: 9,
                output: 1,
                ..Usage::default()
            },
            known_cost: 0.5,
            ..Spent::default()
        };
        let reason = |limits: &Limits| spent.exceeded(limits, Elapsed(0));
        assert_eq!(reason(&limits), Some(StopReason::MaxCost));
        let limits = Limits {
            max_cost: None,
            ..limits
        };
        assert_eq!(reason(&limits), Some(StopReason::MaxTokens));
        let limits = Limits {
            max_tokens: None,
            ..limits
        };
        assert_eq!(reason(&limits), Some(StopReason::MaxSteps));
    }
}
