//! What tools and checks did when something was recorded: a replay has to do the same.

use std::time::Duration;

use schema::{Header, seconds};
use serde::{Deserialize, Serialize};

use crate::settings::Identity;

/// Key of the header's environment under which it is kept.
pub const ACTING: &str = "acting";

/// The settings of a run that its tools and checks follow, whoever the model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acting {
    must_patch: bool,
    verify_command: Option<String>,
    #[serde(with = "seconds")]
    command_timeout: Duration,
    #[serde(default, with = "seconds::option")]
    command_idle_timeout: Option<Duration>,
    #[serde(with = "seconds")]
    max_command_timeout: Duration,
    max_observation_bytes: usize,
}

impl Acting {
    /// Those of a run.
    pub fn of(identity: &Identity) -> Self {
        let limits = &identity.limits;
        Self {
            must_patch: identity.must_patch,
            verify_command: identity.verify.clone(),
            command_timeout: limits.command_timeout,
            command_idle_timeout: limits.command_idle_timeout,
            max_command_timeout: limits.max_command_timeout,
            max_observation_bytes: limits.max_observation_bytes,
        }
    }

    /// Those that a trajectory was recorded with; `None` where its header does not say.
    pub fn recorded(header: &Header) -> Option<Self> {
        serde_json::from_value(header.environment.get(ACTING)?.clone()).ok()
    }

    /// Puts them into settings, but for those whose key is `given` on the command line.
    pub fn put(self, identity: &mut Identity, given: impl Fn(&str) -> bool) {
        let limits = &mut identity.limits;
        if !given("must_patch") {
            identity.must_patch = self.must_patch;
        }
        if !given("verify_command") {
            identity.verify = self.verify_command;
        }
        if !given("command_timeout") {
            limits.command_timeout = self.command_timeout;
        }
        if !given("command_idle_timeout") {
            limits.command_idle_timeout = self.command_idle_timeout;
        }
        if !given("max_command_timeout") {
            limits.max_command_timeout = self.max_command_timeout;
        }
        if !given("max_observation_bytes") {
            limits.max_observation_bytes = self.max_observation_bytes;
        }
    }
}
