//! Whether the engine answers. One that does not is asked until it does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::address::Address;
use super::call::{self, Failure};
use super::forsaken::Forsaken;
use super::living::Living;
use super::memory::Kills;
use crate::place::{EngineCondition, EngineState, EngineWatch};

/// How long an engine may take to say that it is there.
const ANSWER: Duration = Duration::from_secs(10);
/// How often one that seems well is asked: one that hangs breaks no stream.
const LOOK: Duration = Duration::from_secs(15);
/// How often one that is away is asked.
const AWAY: Duration = Duration::from_millis(500);
/// How long after a stream of events that broke, although the engine answers, another one is asked for.
const AGAIN: Duration = Duration::from_secs(1);

/// How many times it is asked which containers run, after a stream has broken.
const TRIES: usize = 3;

/// The state of an engine.
pub(super) struct Health {
    docker: bollard::Docker,
    /// What people know it by.
    name: String,
    state: watch::Sender<EngineState>,
    /// Held while it is found out whether a stream that broke was an outage.
    verdict: Mutex<()>,
}

impl Health {
    pub(super) fn new(docker: bollard::Docker, address: &Address) -> Self {
        Self {
            docker,
            name: address.engine(),
            state: watch::Sender::default(),
            verdict: Mutex::default(),
        }
    }

    pub(super) fn engine(&self) -> EngineWatch {
        EngineWatch {
            name: self.name.clone(),
            hint: String::from(
                "look at the engine's own log (`journalctl -u docker`), start it again (`systemctl start docker`), then go on with the run",
            ),
            state: self.state.subscribe(),
        }
    }

    /// Asks the engine now. That it is back is found by the watch alone, once what it left behind is seen to.
    pub(super) async fn ask(&self) -> EngineState {
        let _verdict = self.verdict.lock().await;
        self.look().await;
        self.state.borrow().clone()
    }

    /// Whether the engine answers.
    async fn look(&self) -> bool {
        if self.is_away() {
            return false;
        }
        let Err(failure) = self.ping().await else {
            return true;
        };
        self.state.send_if_modified(|state| {
            let news = state.problem().is_none();
            if news {
                state.outages += 1;
                let problem = words(&failure);
                state.condition = EngineCondition::Away { problem };
            }
            news
        });
        false
    }

    fn is_away(&self) -> bool {
        self.state.borrow().problem().is_some()
    }

    /// After a stream has broken: whether the engine was away meanwhile, or is now. One that was started again may keep those who ask waiting
    /// until it answers; that it had ended shows by what ran in it.
    async fn was_away(&self, living: &mut Living) -> bool {
        let _verdict = self.verdict.lock().await;
        for _ in 0..TRIES {
            if !self.look().await {
                return true;
            }
            match living.count_lost().await {
                Ok(0) => return false,
                Ok(lost) => {
                    tracing::warn!(
                        engine = self.name,
                        lost,
                        "the engine was started again, and sandboxes ended with it"
                    );
                    self.state.send_modify(|state| {
                        state.outages += 1;
                        state.condition = EngineCondition::Cleaning;
                    });
                    return true;
                }
                Err(failure) => {
                    tracing::debug!(error = %failure, "the engine did not list its containers");
                    sleep(AGAIN).await;
                }
            }
        }
        !self.look().await
    }

    async fn ping(&self) -> Result<(), Failure> {
        call::within(ANSWER, self.docker.ping()).await.map(|_| ())
    }

    /// Asks until the engine answers.
    async fn wait(&self) {
        while self.ping().await.is_err() {
            sleep(AWAY).await;
        }
    }

    /// Waits until the engine answers and what it left behind is seen to.
    async fn recover(&self, forsaken: &Forsaken) {
        loop {
            self.wait().await;
            self.state
                .send_modify(|state| state.condition = EngineCondition::Cleaning);
            forsaken.remove(&self.docker).await;
            let ready = self.state.send_if_modified(|state| {
                let cleaned = state.condition == EngineCondition::Cleaning;
                if cleaned {
                    state.condition = EngineCondition::Ready;
                }
                cleaned
            });
            // Else it went away again meanwhile.
            if ready {
                return;
            }
        }
    }
}

/// An engine's failure with its causes, in one line.
fn words(failure: &Failure) -> String {
    let mut line = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(one) = cause {
        let text = one.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = one.source();
    }
    line
}

/// Looks after the engine until it is dropped.
pub(super) struct Watch {
    _task: JoinSet<()>,
}

impl Watch {
    pub(super) fn start(
        health: Arc<Health>,
        kills: Arc<Kills>,
        forsaken: Arc<Forsaken>,
        mut living: Living,
    ) -> Self {
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                listen(&health, &kills).await;
                if health.was_away(&mut living).await {
                    health.recover(&forsaken).await;
                } else {
                    sleep(AGAIN).await;
                }
            }
        });
        Self { _task: task }
    }
}

async fn away(state: &mut watch::Receiver<EngineState>) {
    // The sender is there as long as whoever looks after it.
    let _ = state.wait_for(|state| state.problem().is_some()).await;
}

/// Counts what the engine tells of, until it tells nothing more or is away.
async fn listen(health: &Health, kills: &Kills) {
    let mut events = kills.events(&health.docker);
    let mut state = health.state.subscribe();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => kills.count(event),
                Some(Err(_)) | None => return,
            },
            () = away(&mut state) => return,
            _ = looks.tick() => {
                if !health.look().await {
                    return;
                }
            }
        }
    }
}
