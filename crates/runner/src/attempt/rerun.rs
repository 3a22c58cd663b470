//! `--resume=replay`: an attempt whose runner died is done again in a fresh sandbox from its record, and goes on live where the record ends.
//!
//! The recorded replies stand in for the model as long as the tools answer what they answered then. From the first other answer on,
//! the model is asked: what it said after that belongs to another history.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent::ports::{Fragment, Head, Model, Observer, Request, Shape};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{Event, Record, Reply, Trajectory, Turn};

use crate::recorder::push_short;
use crate::replay::Volatile;
use crate::store::trajectory;

/// Key of the header's environment under which the sandbox's label is kept: a sandbox with the same label has the same paths.
pub const LABEL: &str = "label";

/// Characters of a result that a warning shows.
const SHOWN: usize = 80;

/// The record of an attempt that never ended.
pub struct Rerun {
    /// Label of the sandbox that it ran in.
    pub label: Option<String>,
    workdir: String,
    state: Mutex<State>,
    live: AtomicBool,
}

struct State {
    replies: VecDeque<Result<Reply, ModelFailure>>,
    results: VecDeque<String>,
    step: usize,
    divergence: Option<String>,
}

impl Rerun {
    /// Reads the record at `path`; `None` when it holds nothing to do again.
    pub fn read(path: &Path) -> Option<Self> {
        let recorded = match trajectory::read(path) {
            Ok(recorded) => recorded?,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a record cannot be read, so nothing of it is done again");
                return None;
            }
        };
        Self::of(recorded)
    }

    fn of(recorded: Trajectory) -> Option<Self> {
        let label = recorded.header.environment.get(LABEL);
        let label = label.and_then(|label| label.as_str()).map(str::to_owned);
        let mut workdir = None;
        let mut replies = VecDeque::new();
        let mut results = VecDeque::new();
        for record in recorded.events {
            match record.event {
                Event::Started { task, .. } => workdir = Some(task.workdir),
                Event::Replied { reply, .. } => replies.push_back(Ok(reply)),
                Event::ModelFailed { failure, .. } => replies.push_back(Err(failure)),
                Event::ToolDone { run, .. } => results.push_back(run.result.content),
                Event::EnvironmentFailed { .. }
                | Event::Checked { .. }
                | Event::DeadlinePassed
                | Event::CancelRequested
                | Event::Asked { .. }
                | Event::ToolStarted { .. }
                | Event::Answered { .. }
                | Event::CheckStarted { .. }
                | Event::Nudged { .. }
                | Event::Elided { .. }
                | Event::Finished { .. } => {}
            }
        }
        (!replies.is_empty()).then_some(Self {
            label,
            workdir: workdir?,
            state: Mutex::new(State {
                replies,
                results,
                step: 0,
                divergence: None,
            }),
            live: AtomicBool::new(false),
        })
    }

    /// The model for the rerun: the record, then `live`. `workdir` is where the repository lies now.
    pub fn model(self: &Arc<Self>, live: Arc<dyn Model>, workdir: &str) -> Arc<dyn Model> {
        if self.workdir != workdir {
            self.with(|state| {
                for reply in state.replies.iter_mut().flatten() {
                    relocate(reply, &self.workdir, workdir);
                }
            });
        }
        Arc::new(RerunModel {
            rerun: Arc::clone(self),
            live,
        })
    }

    /// The observer for the rerun: compares, then lets `inner` see.
    pub fn observer(
        self: &Arc<Self>,
        inner: Arc<dyn Observer>,
        workdir: &str,
    ) -> Arc<dyn Observer> {
        Arc::new(RerunObserver {
            rerun: Arc::clone(self),
            recorded: Volatile::of(&self.workdir),
            seen: Volatile::of(workdir),
            inner,
        })
    }

    /// Where the tools first answered something else than then, for people.
    pub fn divergence(&self) -> Option<String> {
        self.with(|state| state.divergence.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next recorded answer of the model; after the last one there are none any more.
    fn next(&self) -> Option<Result<Reply, ModelFailure>> {
        if self.live.load(Ordering::Relaxed) {
            return None;
        }
        let next = self.with(|state| {
            state.step += 1;
            state.replies.pop_front()
        });
        self.live.store(next.is_none(), Ordering::Relaxed);
        next
    }

    fn compare(&self, content: &str, recorded: &Volatile, seen: &Volatile) {
        if self.live.load(Ordering::Relaxed) {
            return;
        }
        let diverged = self.with(|state| {
            let Some(expected) = state.results.pop_front() else {
                return false;
            };
            if expected == content || recorded.settle(&expected) == seen.settle(content) {
                return false;
            }
            let mut text = format!("step {}: recorded `", state.step);
            push_short(&mut text, &expected, SHOWN);
            text.push_str("`, now `");
            push_short(&mut text, content, SHOWN);
            text.push('`');
            state.divergence = Some(text);
            true
        });
        if diverged {
            self.live.store(true, Ordering::Relaxed);
        }
    }
}

/// Puts the paths of the new sandbox in the place of the old one's. What is sent back verbatim cannot be changed, so it goes.
fn relocate(reply: &mut Reply, from: &str, to: &str) {
    reply.text = reply.text.replace(from, to);
    for call in &mut reply.tool_calls {
        call.arguments = call.arguments.replace(from, to);
    }
    reply.raw = None;
}

struct RerunModel {
    rerun: Arc<Rerun>,
    live: Arc<dyn Model>,
}

impl Model for RerunModel {
    fn head(&self, head: &Head) -> Fragment {
        self.live.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        self.live.turn(turn, shape)
    }

    fn window(&self) -> Option<u64> {
        self.live.window()
    }

    fn max_output(&self) -> Option<u64> {
        self.live.max_output()
    }

    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        match self.rerun.next() {
            Some(recorded) => std::future::ready(recorded).boxed(),
            None => self.live.query(request),
        }
    }
}

struct RerunObserver {
    rerun: Arc<Rerun>,
    recorded: Volatile,
    seen: Volatile,
    inner: Arc<dyn Observer>,
}

impl Observer for RerunObserver {
    fn on_record(&self, record: &Record) {
        if let Event::ToolDone { run, .. } = &record.event {
            self.rerun
                .compare(&run.result.content, &self.recorded, &self.seen);
        }
        self.inner.on_record(record);
    }
}
