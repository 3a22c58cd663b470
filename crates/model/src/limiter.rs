//! How many requests may be in flight to one endpoint, learnt from its answers.
//!
//! The limit starts high and doubles with every round of clean answers until the first 429, so that a healthy server is
//! never held back. From then on it shrinks once for each episode of 429s and grows by one a clean round.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Limit at the start.
const INITIAL: usize = 64;
/// Limit that is never passed.
const CEILING: usize = 1024;
/// What remains of the requests in flight after an episode of 429s, in percent.
const REMAINING_PERCENT: usize = 75;

/// Shared by all instances that talk to an endpoint.
#[derive(Debug)]
pub(crate) struct Limiter {
    places: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: usize,
    ceiling: usize,
    /// Permits that exist, free or held. More than `limit` while held ones are being called in.
    issued: usize,
    /// Requests that hold a permit.
    in_flight: usize,
    /// Counts episodes of 429s: one that was sent before the last decrease says nothing about the new limit.
    episode: u64,
    /// Clean answers since the limit last changed.
    clean: usize,
    slow_start: bool,
}

/// The right to have one request in flight.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    episode: u64,
    /// Whether the limit was reached when this request started: only then do clean answers call for more.
    saturated: bool,
}

impl Limiter {
    /// `ceiling` is the user's own limit.
    pub(crate) fn new(ceiling: Option<usize>) -> Self {
        let ceiling = ceiling.unwrap_or(CEILING).clamp(1, Semaphore::MAX_PERMITS);
        let limit = INITIAL.min(ceiling);
        Self {
            places: Semaphore::new(limit),
            state: Mutex::new(State {
                limit,
                ceiling,
                issued: limit,
                in_flight: 0,
                episode: 0,
                clean: 0,
                slow_start: true,
            }),
        }
    }

    /// Waits for a place, first come, first served.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Permit {
        if let Ok(place) = self.places.acquire().await {
            place.forget();
        }
        self.with(|state| {
            state.in_flight += 1;
            Permit {
                limiter: Arc::clone(self),
                episode: state.episode,
                saturated: state.in_flight >= state.limit,
            }
        })
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // A panic elsewhere leaves counters that are whole: every change is a few assignments.
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Brings the permits that exist to the limit, as far as they are free.
    fn settle(&self, state: &mut State) {
        if state.issued < state.limit {
            self.places.add_permits(state.limit - state.issued);
            state.issued = state.limit;
        } else if state.issued > state.limit {
            state.issued -= self.places.forget_permits(state.issued - state.limit);
        }
    }

    #[cfg(test)]
    fn limit(&self) -> usize {
        self.with(|state| state.limit)
    }
}

impl Permit {
    /// The server answered as it should.
    pub(crate) fn clean(&self) {
        self.limiter.with(|state| {
            if !self.saturated {
                return;
            }
            state.clean += 1;
            if state.clean >= state.limit {
                state.clean = 0;
                let step = if state.slow_start { state.limit } else { 1 };
                state.limit = (state.limit + step).min(state.ceiling);
                self.limiter.settle(state);
            }
        });
    }

    /// The server asked us to slow down.
    pub(crate) fn limited(&self) {
        self.limiter.with(|state| {
            state.slow_start = false;
            state.clean = 0;
            if self.episode == state.episode {
                state.episode += 1;
                let busy = state.in_flight.min(state.limit);
                state.limit = (busy * REMAINING_PERCENT / 100).max(1);
                self.limiter.settle(state);
            }
        });
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limiter.with(|state| {
            state.in_flight -= 1;
            if state.issued > state.limit {
                state.issued -= 1;
            } else {
                self.limiter.places.add_permits(1);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    async fn take(limiter: &Arc<Limiter>, count: usize) -> Vec<Permit> {
        let mut permits = Vec::new();
        for _ in 0..count {
            permits.push(limiter.acquire().await);
        }
        permits
    }

    #[tokio::test]
    async fn a_healthy_server_is_not_held_back() {
        let limiter = Arc::new(Limiter::new(None));
        let mut rounds = 0;
        while limiter.limit() < CEILING {
            let permits = take(&limiter, limiter.limit()).await;
            assert!(limiter.acquire().now_or_never().is_none(), "full");
            // Only the last of a round met a full house.
            for _ in &permits {
                permits[permits.len() - 1].clean();
            }
            rounds += 1;
        }
        assert!(rounds <= 5, "{rounds}");
    }

    #[tokio::test]
    async fn an_episode_shrinks_the_limit_once() {
        let limiter = Arc::new(Limiter::new(None));
        let permits = take(&limiter, 40).await;
        permits.iter().for_each(Permit::limited);
        assert_eq!(limiter.limit(), 30);
        drop(permits);
        let permits = take(&limiter, 30).await;
        assert!(limiter.acquire().now_or_never().is_none());
        permits[0].limited();
        assert_eq!(limiter.limit(), 22, "a new episode counts");
        drop(permits);
        let permits = take(&limiter, 22).await;
        assert!(limiter.acquire().now_or_never().is_none());
        for _ in 0..22 {
            permits[21].clean();
        }
        assert_eq!(limiter.limit(), 23, "growth is slow after a 429");
        assert!(limiter.acquire().now_or_never().is_some());
    }

    #[tokio::test]
    async fn the_users_limit_holds() {
        let limiter = Arc::new(Limiter::new(Some(2)));
        let permits = take(&limiter, 2).await;
        for _ in 0..100 {
            permits[1].clean();
        }
        assert_eq!(limiter.limit(), 2);
        for _ in 0..10 {
            let permit = &take_again(&limiter);
            permit.limited();
        }
        assert_eq!(limiter.limit(), 1, "never none at all");
    }

    /// A permit of the present episode, as a request that starts now would hold.
    fn take_again(limiter: &Arc<Limiter>) -> Permit {
        limiter.with(|state| {
            state.in_flight += 1;
            Permit {
                limiter: Arc::clone(limiter),
                episode: state.episode,
                saturated: true,
            }
        })
    }
}
