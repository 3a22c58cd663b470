//! Registries that give nothing for a while, because they are away or limit how much is pulled: one pull asks now and then, all others wait for it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};
use tokio::time::{Instant, sleep_until};

use crate::place::{RegistryState, RegistryWatch};

/// How long a registry is left alone before it is asked again: a quarter of its outage, between these bounds.
const LEAST: Duration = Duration::from_secs(15);
const MOST: Duration = Duration::from_mins(2);
/// How long the answer of one that was given up holds for all who come; where nobody waits for it, each asks.
const HOLDS: Duration = Duration::from_secs(30);

/// More is as good as for ever, and no clock overflows by it.
const EVER: Duration = Duration::from_hours(24 * 365);

/// The registries of one engine.
#[derive(Debug)]
pub(super) struct Registries {
    wait: Duration,
    known: Mutex<HashMap<String, Arc<Registry>>>,
    states: watch::Sender<BTreeMap<String, RegistryState>>,
}

impl Registries {
    /// Those for which pulls wait for up to `wait`.
    pub(super) fn new(wait: Duration) -> Self {
        Self {
            wait: wait.min(EVER),
            known: Mutex::default(),
            states: watch::Sender::default(),
        }
    }

    pub(super) fn watch(&self) -> RegistryWatch {
        RegistryWatch {
            wait: self.wait,
            states: self.states.subscribe(),
        }
    }

    /// The one at a host.
    pub(super) fn at(&self, host: &str) -> Arc<Registry> {
        let mut known = lock(&self.known);
        let registry = known.entry(host.to_owned()).or_insert_with(|| {
            Arc::new(Registry {
                host: host.to_owned(),
                wait: self.wait,
                asking: Arc::default(),
                course: Mutex::default(),
                states: self.states.clone(),
            })
        });
        Arc::clone(registry)
    }
}

/// One registry.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) host: String,
    wait: Duration,
    /// Held by the pull that asks while there is an outage.
    asking: Arc<tokio::sync::Mutex<()>>,
    course: Mutex<Course>,
    states: watch::Sender<BTreeMap<String, RegistryState>>,
}

/// What it did so far.
#[derive(Debug, Default)]
struct Course {
    /// When it last gave an image, or a final answer about one.
    gave: Option<Instant>,
    outage: Option<Outage>,
}

#[derive(Debug, Clone)]
struct Outage {
    since: Instant,
    asked: Instant,
    /// Before that it is not asked again.
    next: Instant,
    given_up: bool,
    problem: String,
}

/// Whether a pull may ask.
#[derive(Debug)]
pub(super) enum Turn {
    /// As any other.
    Free,
    /// Alone, and once, for all who wait; until this is dropped.
    ForAll { _asking: OwnedMutexGuard<()> },
    /// Not now: this was its last answer.
    Refused(String),
}

/// What it means for a pull that all its tries brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Others get their images: the trouble is this one's.
    Giving,
    /// It is waited for.
    Away,
    /// No longer.
    GivenUp,
}

impl Registry {
    /// Waits for a turn to ask.
    pub(super) async fn turn(&self) -> Turn {
        if lock(&self.course).outage.is_none() {
            return Turn::Free;
        }
        let asking = Arc::clone(&self.asking).lock_owned().await;
        // Whoever asked meanwhile may have ended the outage.
        let Some(outage) = lock(&self.course).outage.clone() else {
            return Turn::Free;
        };
        if outage.given_up && outage.asked.elapsed() < HOLDS.min(self.wait) {
            return Turn::Refused(outage.problem);
        }
        sleep_until(outage.next).await;
        Turn::ForAll { _asking: asking }
    }

    /// It gave an image, or a final answer.
    pub(super) fn gave(&self) {
        let mut course = lock(&self.course);
        course.gave = Some(Instant::now());
        if course.outage.take().is_some() {
            self.tell(RegistryState::Giving);
        }
    }

    /// It gave nothing to a pull that began to try at `began`, and says it will not for `pause`, where it says so.
    pub(super) fn gave_nothing(
        &self,
        began: Instant,
        problem: &str,
        pause: Option<Duration>,
    ) -> Standing {
        let now = Instant::now();
        let mut course = lock(&self.course);
        if course.outage.is_none() && course.gave.is_some_and(|gave| gave >= began) {
            return Standing::Giving;
        }
        let since = course.outage.as_ref().map_or(now, |outage| outage.since);
        let end = since + self.wait;
        let pause = pause.unwrap_or_default().min(self.wait);
        let next = now + ((now - since) / 4).clamp(LEAST, MOST).max(pause);
        let given_up = now >= end;
        let known = course.outage.as_ref();
        let news = known.is_none_or(|outage| outage.given_up != given_up);
        let problem = problem.to_owned();
        course.outage = Some(Outage {
            since,
            asked: now,
            next: if given_up { now } else { next.min(end) },
            given_up,
            problem: problem.clone(),
        });
        let (state, standing) = if given_up {
            (RegistryState::GivenUp { problem }, Standing::GivenUp)
        } else {
            (RegistryState::Away { problem }, Standing::Away)
        };
        if news {
            self.tell(state);
        }
        standing
    }

    /// How long one image is waited for whose registry gives others.
    pub(super) fn patience(&self) -> Duration {
        self.wait
    }

    fn tell(&self, state: RegistryState) {
        self.states.send_modify(|states| {
            states.insert(self.host.clone(), state);
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::time::sleep;

    use super::*;

    const WAIT: Duration = Duration::from_mins(10);

    fn registry(wait: Duration) -> (Arc<Registry>, RegistryWatch) {
        let registries = Registries::new(wait);
        (registries.at("r.example"), registries.watch())
    }

    fn state(watch: &RegistryWatch) -> Option<RegistryState> {
        watch.states.borrow().get("r.example").cloned()
    }

    fn away() -> RegistryState {
        let problem = "busy".to_owned();
        RegistryState::Away { problem }
    }

    fn fail(registry: &Registry) -> Standing {
        registry.gave_nothing(Instant::now(), "busy", None)
    }

    #[tokio::test(start_paused = true)]
    async fn one_asks_for_all_who_wait() {
        let (registry, watch) = registry(WAIT);
        assert!(matches!(registry.turn().await, Turn::Free));
        assert_eq!(state(&watch), None);
        assert_eq!(fail(&registry), Standing::Away);
        assert_eq!(state(&watch), Some(away()));
        let began = Instant::now();
        let asking = registry.turn().await;
        assert!(matches!(asking, Turn::ForAll { .. }));
        assert_eq!(began.elapsed(), LEAST);
        let mut other = pin!(registry.turn());
        let waited = tokio::time::timeout(WAIT, other.as_mut()).await;
        assert!(waited.is_err(), "while somebody asks, nobody else does");
        registry.gave();
        drop(asking);
        assert!(matches!(other.await, Turn::Free));
        assert_eq!(state(&watch), Some(RegistryState::Giving));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_asked_ever_more_rarely_and_given_up_in_time() {
        let (registry, watch) = registry(WAIT);
        let began = Instant::now();
        assert_eq!(fail(&registry), Standing::Away);
        let mut pauses = Vec::new();
        let mut last = Instant::now();
        while began.elapsed() < WAIT {
            let asking = registry.turn().await;
            pauses.push(last.elapsed().as_secs());
            last = Instant::now();
            assert!(matches!(asking, Turn::ForAll { .. }));
            let end = began.elapsed() >= WAIT;
            let expected = if end {
                Standing::GivenUp
            } else {
                Standing::Away
            };
            assert_eq!(fail(&registry), expected);
        }
        assert_eq!(began.elapsed(), WAIT);
        assert!(pauses.iter().all(|&pause| pause <= MOST.as_secs()));
        assert!(pauses[0] == 15 && pauses.len() <= 15, "{pauses:?}");
        let given_up = RegistryState::GivenUp {
            problem: "busy".to_owned(),
        };
        assert_eq!(state(&watch), Some(given_up));
        // Who comes now is not kept waiting, and asks only when that was not done just now.
        assert!(matches!(registry.turn().await, Turn::Refused(problem) if problem == "busy"));
        assert_eq!(began.elapsed(), WAIT);
        sleep(HOLDS).await;
        assert!(matches!(registry.turn().await, Turn::ForAll { .. }));
        registry.gave();
        assert!(matches!(registry.turn().await, Turn::Free));
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_while_others_come_is_no_outage() {
        let (registry, watch) = registry(WAIT);
        let began = Instant::now();
        sleep(LEAST).await;
        registry.gave();
        let standing = registry.gave_nothing(began, "busy", None);
        assert_eq!(standing, Standing::Giving);
        assert_eq!(state(&watch), None);
        sleep(LEAST).await;
        assert_eq!(fail(&registry), Standing::Away);
        assert_eq!(state(&watch), Some(away()));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_left_alone_as_long_as_it_asks() {
        let (registry, _watch) = registry(WAIT);
        let began = Instant::now();
        let pause = Some(Duration::from_mins(3));
        registry.gave_nothing(began, "busy", pause);
        drop(registry.turn().await);
        assert_eq!(began.elapsed(), Duration::from_mins(3));
        // But not for longer than anybody waits.
        registry.gave_nothing(began, "busy", Some(Duration::MAX));
        drop(registry.turn().await);
        assert_eq!(began.elapsed(), WAIT);
    }
}
