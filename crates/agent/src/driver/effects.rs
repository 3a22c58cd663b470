//! Running one effect: to its end, to the deadline, or until it is interrupted and has ended.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schema::Elapsed;
use schema::event::EffectId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::log::NotRecorded;
use super::{Driver, Session};
use crate::completion;
use crate::machine::Input;
use crate::ports::{Request, Waits};
use crate::tools::CallLimits;
use crate::tools::action::Action;

/// How often a request that waits for its turn is looked at when its time would be up.
const WAIT_CHECK: Duration = Duration::from_secs(1);

/// Time beyond the deadline that an effect gets to notice it by itself: a command that is killed by its own time-out returns its output.
const DEADLINE_SLACK: Duration = Duration::from_millis(500);

/// How long something in the sandbox that was interrupted may take to end before it is waited for no longer.
const INTERRUPT_GRACE: Duration = Duration::from_secs(10);

/// Why an effect was not simply run to its end.
enum Interrupt {
    Cancel,
    Deadline,
}

impl Interrupt {
    fn input(&self) -> Input {
        match self {
            Self::Cancel => Input::Cancel,
            Self::Deadline => Input::Deadline,
        }
    }
}

/// What came of waiting for an effect.
enum Waited {
    Done(Input),
    Interrupted(Interrupt),
}

/// Runs a future and turns a panic in it into a message.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(|panic| {
            let text = panic
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| panic.downcast_ref::<String>().cloned());
            format!("panic: {}", text.unwrap_or_else(|| "no message".to_owned()))
        })
}

impl Driver {
    pub(super) async fn query(
        &mut self,
        id: EffectId,
        index: u32,
        deadline: Option<Elapsed>,
    ) -> Result<(), NotRecorded> {
        let history = self.session.machine.history();
        let Some(head) = history.head().cloned() else {
            let message = "a request before the start".to_owned();
            return self.session.advance(Input::Fault { message });
        };
        let time_left = self.session.time_left(deadline);
        let (cancel, waits) = (self.session.cancel.child_token(), Waits::default());
        let request = Request {
            head,
            turns: Arc::clone(history.view()),
            index,
            time_left,
            cancel: cancel.clone(),
            waits: waits.clone(),
        };
        let model = Arc::clone(&self.model);
        let asked = waits.clone();
        let work = async move {
            match caught(model.query(request)).await {
                Ok(Ok(mut reply)) => {
                    reply.waited_ms = milliseconds(asked.total()).max(reply.waited_ms);
                    let reply = Box::new(reply);
                    Input::Reply { id, reply }
                }
                Ok(Err(mut failure)) => {
                    failure.waited_ms = milliseconds(asked.total()).max(failure.waited_ms);
                    Input::ModelFailed { id, failure }
                }
                Err(message) => Input::Fault {
                    message: format!("ask the model: {message}"),
                },
            }
        };
        // A request acts on nothing, so it needs not be awaited once nobody wants its reply.
        self.session
            .finish_or_interrupt(work.boxed(), time_left, &waits, &cancel, Duration::ZERO)
            .await
    }

    pub(super) async fn run_tool(
        &mut self,
        id: EffectId,
        call_id: &str,
        action: &Action,
        deadline: Option<Elapsed>,
    ) -> Result<(), NotRecorded> {
        let cancel = self.session.cancel.child_token();
        let time_left = self.session.time_left(deadline);
        let limits = CallLimits {
            time_left,
            cancel: cancel.clone(),
        };
        let toolbox = &mut self.toolbox;
        let started = Instant::now();
        let work = async {
            match caught(toolbox.run(call_id, action, limits)).await {
                Ok(Ok(mut run)) => {
                    run.elapsed_ms = milliseconds(started.elapsed());
                    Input::ToolDone { id, run }
                }
                Ok(Err(lost)) => Input::EnvironmentFailed {
                    id,
                    kind: lost.kind,
                    message: lost.message,
                },
                Err(message) => Input::Fault {
                    message: format!("run a tool: {message}"),
                },
            }
        };
        let waits = Waits::default();
        self.session
            .finish_or_interrupt(work.boxed(), time_left, &waits, &cancel, INTERRUPT_GRACE)
            .await
    }

    pub(super) async fn run_checks(
        &mut self,
        id: EffectId,
        deadline: Option<Elapsed>,
    ) -> Result<(), NotRecorded> {
        let cancel = self.session.cancel.child_token();
        let time_left = self.session.time_left(deadline);
        let workspace = Arc::clone(&self.workspace);
        let checks = self.checks.clone();
        let max_output = self.session.machine.settings().limits.max_observation_bytes;
        let token = cancel.clone();
        let work = async move {
            let ran = completion::run(&checks, &*workspace, time_left, max_output, &token);
            match caught(ran).await {
                Ok(Ok(verdicts)) => Input::Checked { id, verdicts },
                Ok(Err((kind, message))) => Input::EnvironmentFailed { id, kind, message },
                Err(message) => Input::Fault {
                    message: format!("check the work: {message}"),
                },
            }
        };
        let waits = Waits::default();
        self.session
            .finish_or_interrupt(work.boxed(), time_left, &waits, &cancel, INTERRUPT_GRACE)
            .await
    }
}

impl Session {
    /// Waits for an effect and hands its result to the machine. When the cancel or the deadline comes first, the machine learns that first;
    /// then the effect is interrupted and awaited, so that nothing acts on the sandbox once the attempt is over.
    async fn finish_or_interrupt(
        &mut self,
        mut work: BoxFuture<'_, Input>,
        time_left: Option<Duration>,
        waits: &Waits,
        cancel: &CancellationToken,
        grace: Duration,
    ) -> Result<(), NotRecorded> {
        let waited = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Waited::Interrupted(Interrupt::Cancel),
            () = out_of_time(time_left, waits) => Waited::Interrupted(Interrupt::Deadline),
            input = &mut work => Waited::Done(input),
        };
        match waited {
            Waited::Done(input) => self.advance(input),
            Waited::Interrupted(interrupt) => {
                self.advance(interrupt.input())?;
                cancel.cancel();
                match tokio::time::timeout(grace, work).await {
                    Ok(input) => self.advance(input),
                    Err(_) => self.advance(Input::Abandon),
                }
            }
        }
    }
}

/// Ends when the time is used up; time that the request waits for its turn does not count.
async fn out_of_time(time_left: Option<Duration>, waits: &Waits) {
    let Some(time_left) = time_left else {
        return std::future::pending().await;
    };
    let started = Instant::now();
    let allowed = time_left + DEADLINE_SLACK;
    loop {
        let used = started.elapsed().saturating_sub(waits.total());
        let left = allowed.saturating_sub(used);
        if waits.is_waiting() {
            tokio::time::sleep(left.max(WAIT_CHECK)).await;
        } else if left.is_zero() {
            return;
        } else {
            tokio::time::sleep(left).await;
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
