//! When a failed try is made again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::http::trouble::{Class, Trouble};
use crate::settings::RetryPolicy;

/// The waits of one request. Its jitter is seeded: the same run waits the same times.
#[derive(Debug)]
pub(crate) struct Pace {
    policy: RetryPolicy,
    random: fastrand::Rng,
    tries: u32,
}

impl Pace {
    /// `request` names the request within the run, so that requests that fail together do not come back together.
    pub(crate) fn new(policy: RetryPolicy, seed: u64, request: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, request).hash(&mut hasher);
        Self {
            policy,
            random: fastrand::Rng::with_seed(hasher.finish()),
            tries: 0,
        }
    }

    /// How long to wait before the next try, `None` when there is none. `elapsed` is the time since the first try began;
    /// `contacted` says whether any server ever answered at this address.
    pub(crate) fn next(
        &mut self,
        trouble: &Trouble,
        elapsed: Duration,
        contacted: bool,
    ) -> Option<Duration> {
        self.tries += 1;
        let most = if trouble.class == Class::Unreachable && !contacted {
            self.policy.max_first_contacts.min(self.policy.max_tries)
        } else {
            self.policy.max_tries
        };
        if !trouble.class.is_passing() || self.tries >= most {
            return None;
        }
        let wait = match trouble.retry_after {
            // A little more than was asked for, so that those who were told the same do not return at once.
            Some(asked) => asked
                .min(self.policy.server_cap)
                .saturating_add(self.policy.base.mul_f64(self.random.f64())),
            None => self.own_delay(),
        };
        (elapsed.saturating_add(wait) <= self.policy.max_total).then_some(wait)
    }

    /// `base` · 2ⁿ up to `cap`, of which the second half is left to chance.
    fn own_delay(&mut self) -> Duration {
        let doubled = 2u32.saturating_pow(self.tries - 1);
        let full = self
            .policy
            .base
            .saturating_mul(doubled)
            .min(self.policy.cap);
        full.mul_f64(0.5 + self.random.f64() / 2.0)
    }
}

/// What the server asks for: seconds, milliseconds, or a date, which is read against the server's own clock.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(milliseconds) = text("retry-after-ms").and_then(|value| value.parse().ok()) {
        return Some(Duration::from_millis(milliseconds));
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = rfc2822::parse(value).ok()?;
    let now = rfc2822::parse(text(DATE.as_str())?).ok()?;
    Some(Duration::try_from(now.duration_until(&then)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOREVER: Duration = Duration::from_secs(0);

    fn trouble(class: Class) -> Trouble {
        Trouble::new(class, String::new())
    }

    fn pace(policy: RetryPolicy) -> Pace {
        Pace::new(policy, 7, ("django__django-1", 1, 0))
    }

    #[test]
    fn waits_double_with_jitter_and_end() {
        let policy = RetryPolicy::default();
        let mut pace = pace(policy);
        let waits: Vec<Duration> =
            std::iter::from_fn(|| pace.next(&trouble(Class::RateLimited), FOREVER, true)).collect();
        assert_eq!(waits.len(), 7, "8 tries have 7 waits");
        for (wait, full) in waits.iter().zip([1u64, 2, 4, 8, 16, 32, 60]) {
            let full = Duration::from_secs(full);
            assert!(*wait >= full / 2 && *wait <= full, "{wait:?} of {full:?}");
        }
    }

    #[test]
    fn the_same_request_waits_the_same_and_others_do_not() {
        let policy = RetryPolicy::default();
        let first = |request: &str| {
            Pace::new(policy, 1, request).next(&trouble(Class::Unavailable), FOREVER, true)
        };
        assert_eq!(first("a"), first("a"));
        assert_ne!(first("a"), first("b"));
    }

    #[test]
    fn the_servers_wish_is_honoured_up_to_a_cap() {
        let mut pace = pace(RetryPolicy::default());
        let mut limited = trouble(Class::RateLimited);
        limited.retry_after = Some(Duration::from_secs(7));
        let wait = pace.next(&limited, FOREVER, true).unwrap();
        assert!(wait >= Duration::from_secs(7) && wait <= Duration::from_secs(8));
        limited.retry_after = Some(Duration::from_hours(24));
        let wait = pace.next(&limited, FOREVER, true).unwrap();
        assert!(wait >= Duration::from_mins(2) && wait <= Duration::from_secs(121));
    }

    #[test]
    fn nothing_permanent_is_sent_twice() {
        for class in [
            Class::Auth,
            Class::Billing,
            Class::BadRequest,
            Class::Overflow,
            Class::Refused,
            Class::Oversize,
            Class::OutOfTime,
        ] {
            let mut pace = pace(RetryPolicy::default());
            assert_eq!(pace.next(&trouble(class), FOREVER, true), None, "{class:?}");
        }
    }

    #[test]
    fn total_time_and_first_contacts_are_capped() {
        let policy = RetryPolicy::default();
        assert_eq!(
            pace(policy).next(&trouble(Class::Timeout), policy.max_total, true),
            None
        );
        let mut pace = pace(policy);
        let tries =
            std::iter::from_fn(|| pace.next(&trouble(Class::Unreachable), FOREVER, false)).count();
        assert_eq!(tries, 2, "a wrong address shows after 3 tries");
    }

    #[test]
    fn both_forms_of_retry_after_are_read() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            pairs
                .iter()
                .map(|(name, value)| {
                    (
                        reqwest::header::HeaderName::from_static(name),
                        reqwest::header::HeaderValue::from_static(value),
                    )
                })
                .collect::<HeaderMap>()
        };
        let seconds = |headers: HeaderMap| retry_after(&headers).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds(headers(&[("retry-after", "7")])), Some(7.0));
        assert_eq!(seconds(headers(&[("retry-after", "0.5")])), Some(0.5));
        assert_eq!(
            seconds(headers(&[("retry-after-ms", "1500"), ("retry-after", "2")])),
            Some(1.5)
        );
        let date = [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
        ];
        assert_eq!(seconds(headers(&date)), Some(30.0));
        let past = [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT"),
        ];
        assert_eq!(seconds(headers(&past)), Some(0.0));
        for odd in ["-3", "soon", "inf", ""] {
            assert_eq!(seconds(headers(&[("retry-after", odd)])), None, "{odd}");
        }
    }
}
