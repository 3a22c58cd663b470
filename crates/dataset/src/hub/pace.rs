//! When a request that failed is made again.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::settings::Retries;

/// The tries of one request.
#[derive(Debug)]
pub(super) struct Pace {
    retries: Retries,
    random: fastrand::Rng,
    /// Tries so far.
    pub(super) tries: u32,
}

impl Pace {
    pub(super) fn new(retries: Retries) -> Self {
        Self {
            retries,
            random: fastrand::Rng::new(),
            tries: 0,
        }
    }

    /// The wait before the next try; `None` when there is none. `asked` is what the server asks for.
    pub(super) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        self.tries += 1;
        if self.tries >= self.retries.max_tries {
            return None;
        }
        let jitter = self.retries.base.mul_f64(self.random.f64());
        match asked {
            Some(asked) if asked > self.retries.server_cap => None,
            Some(asked) => Some(asked.saturating_add(jitter)),
            None => {
                let doubled = 2_u32.saturating_pow(self.tries - 1);
                let own = self.retries.base.saturating_mul(doubled);
                Some(own.min(self.retries.cap).saturating_add(jitter))
            }
        }
    }

    /// Something came: the tries begin anew.
    pub(super) fn moved(&mut self) {
        self.tries = 0;
    }
}

/// What a server asks for: `Retry-After` in seconds, or the end of the hub's own rate window (`RateLimit: "api";r=0;t=55`).
pub(super) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let after = text(RETRY_AFTER.as_str()).and_then(|value| value.trim().parse::<f64>().ok());
    let window = || {
        let limit = text("ratelimit")?;
        let end = limit
            .split([';', ','])
            .find_map(|part| part.trim().strip_prefix("t="))?;
        end.parse::<f64>().ok()
    };
    Duration::try_from_secs_f64(after.or_else(window)?).ok()
}
