//! Every number that can end an attempt or cut what the model sees.

use std::time::Duration;

use schema::seconds;
use serde::{Deserialize, Serialize};

/// Limits of one attempt. A limit of `None` is off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Replies of the model, the useless ones included.
    pub max_steps: Option<u32>,
    /// Wall time, waits in the limiter and between tries left out.
    #[serde(with = "seconds::option")]
    pub max_wall_time: Option<Duration>,
    /// US dollars. One more request is allowed as long as less than this was spent.
    pub max_cost: Option<f64>,
    /// Input and output tokens of all requests together.
    pub max_tokens: Option<u64>,
    /// The rejected `task_done` that ends the attempt, counted from 1.
    pub max_rejections: u32,
    /// Replies in a row that could not be read; one more ends the attempt.
    pub max_format_errors: u32,
    /// Replies in a row without a tool call; one more ends the attempt.
    pub max_nudges: u32,
    /// Time that a command gets when the model asks for no other.
    #[serde(with = "seconds")]
    pub command_timeout: Duration,
    /// How long a command of the agent may print nothing.
    #[serde(
        default,
        with = "seconds::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub command_idle_timeout: Option<Duration>,
    /// Longest time that the model may ask for.
    #[serde(with = "seconds")]
    pub max_command_timeout: Duration,
    /// Bytes of one tool output that the model reads.
    pub max_observation_bytes: usize,
    /// Whether to stop an agent that repeats the same calls with the same results.
    pub stuck_detection: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: Some(100),
            max_wall_time: Some(Duration::from_hours(1)),
            max_cost: None,
            max_tokens: None,
            max_rejections: 5,
            max_format_errors: 3,
            max_nudges: 3,
            command_timeout: Duration::from_mins(2),
            command_idle_timeout: None,
            max_command_timeout: Duration::from_mins(10),
            max_observation_bytes: 16 << 10,
            stuck_detection: true,
        }
    }
}
