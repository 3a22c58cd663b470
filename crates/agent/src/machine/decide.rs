//! Inputs to events: what is due next. Pure; looks at the state and changes nothing.

use schema::event::{EffectId, ModelFailure};
use schema::{
    Elapsed, Event, FailureKind, FinishReason, ModelFailureKind, Outcome, Reply, StopReason,
    ToolCall, ToolResult,
};

use super::apply::is_cut;
use super::state::{Busy, Due, OpenTurn, State};
use super::{Input, Machine, texts};
use crate::condense;
use crate::stuck::Sign;
use crate::tools::catalog::Catalog;

/// Condensations in a row that may save nothing.
const NO_PROGRESS: u32 = 3;

/// What a reply amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Withheld by the model or a filter; calls in it are never run.
    Refused,
    /// Nothing at all.
    Empty,
    /// Text without a call.
    Prose,
    /// Text without a call, cut by the length limit.
    CutText,
    /// Calls that may be cut: answered, never run.
    CutCalls,
    /// Calls, none of which can be read.
    UnreadableCalls,
    /// At least one call that can be read.
    Calls,
}

impl Kind {
    pub(super) fn of(reply: &Reply, catalog: &Catalog) -> Self {
        let no_calls = reply.tool_calls.is_empty();
        match reply.finish_reason {
            FinishReason::ContentFilter => Self::Refused,
            FinishReason::Length if no_calls => Self::CutText,
            FinishReason::Length => Self::CutCalls,
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other if no_calls => {
                if reply.text.trim().is_empty() {
                    Self::Empty
                } else {
                    Self::Prose
                }
            }
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other => {
                let readable = |call| !catalog.check(call).is_err_and(|error| error.unreadable);
                if reply.tool_calls.iter().any(readable) {
                    Self::Calls
                } else {
                    Self::UnreadableCalls
                }
            }
        }
    }
}

/// The call that an answer without a run belongs to: the next ordinary one, else the last open `task_done` while there are several, so
/// that the first is the one that is checked.
pub(super) fn next_to_answer(turn: &OpenTurn) -> Option<usize> {
    turn.next()
        .or_else(|| turn.open().last())
        .map(|(position, _)| position)
}

impl Machine {
    /// What follows from an input: the fact that it is, or the next decision that is due. Empty when the input is stale or nothing is due.
    pub fn decide(&self, at: Elapsed, input: Input) -> Vec<Event> {
        if self.outcome().is_some() {
            return Vec::new();
        }
        match input {
            Input::Start {
                task,
                system,
                prompt,
            } => one_if(self.progress.state == State::Idle, || Event::Started {
                task,
                system,
                prompt,
            }),
            Input::Reply { id, reply } => {
                one_if(self.awaits(id), || Event::Replied { id, reply: *reply })
            }
            Input::ModelFailed { id, failure } if self.awaits(id) => {
                self.query_failed(at, id, failure)
            }
            Input::ModelFailed { .. } => Vec::new(),
            Input::ToolDone { id, run } => one_if(self.runs(id), || Event::ToolDone { id, run }),
            Input::Checked { id, verdicts } => {
                one_if(self.checks(id), || Event::Checked { id, verdicts })
            }
            Input::EnvironmentFailed { id, kind, message } => {
                let running = self.runs(id) || self.checks(id) || self.awaits(id);
                one_if(running, || Event::EnvironmentFailed { id, kind, message })
            }
            Input::Deadline => one_if(self.may_end(), || Event::DeadlinePassed),
            Input::Cancel => one_if(self.may_end(), || Event::CancelRequested),
            Input::Resume => self.resume(),
            Input::Abandon => self.abandon(),
            Input::Fault { message } => self.end(&Outcome::Failed {
                reason: FailureKind::Internal,
                message,
            }),
            Input::Proceed => self.proceed(at),
        }
    }

    fn awaits(&self, id: EffectId) -> bool {
        self.progress.state == State::AwaitingModel { id }
    }

    fn runs(&self, wanted: EffectId) -> bool {
        matches!(&self.progress.state, State::Working { busy: Busy::Tool { id, .. }, .. } if *id == wanted)
    }

    fn checks(&self, wanted: EffectId) -> bool {
        matches!(&self.progress.state, State::Working { busy: Busy::Checks { id }, .. } if *id == wanted)
    }

    fn may_end(&self) -> bool {
        self.progress.ending.is_none() && self.progress.state != State::Idle
    }

    fn next_id(&self) -> EffectId {
        EffectId(self.progress.effects)
    }

    /// A request that failed since the time for it was used up is the end of the wall time, not the model's fault.
    fn query_failed(&self, at: Elapsed, id: EffectId, failure: ModelFailure) -> Vec<Event> {
        let out_of_time = matches!(
            failure.kind,
            Some(ModelFailureKind::Timeout | ModelFailureKind::Overloaded)
        ) && self
            .progress
            .spent
            .deadline(&self.settings.limits)
            .is_some_and(|deadline| at.0 >= deadline.0.saturating_add(failure.waited_ms()));
        let mut events = Vec::new();
        if out_of_time && self.may_end() {
            events.push(Event::DeadlinePassed);
        }
        events.push(Event::ModelFailed { id, failure });
        events
    }

    fn proceed(&self, at: Elapsed) -> Vec<Event> {
        if self.is_busy() {
            // What runs in the sandbox is awaited even when the end is certain: it was interrupted and its last words are worth having.
            return Vec::new();
        }
        if let Some(outcome) = &self.progress.ending {
            return self.end(outcome);
        }
        match &self.progress.state {
            State::Idle | State::AwaitingModel { .. } | State::Finished(_) => Vec::new(),
            State::Ready => vec![self.next_request(at)],
            State::Condensing => vec![self.condensed()],
            State::Working { turn, busy } => self.work(at, turn, busy),
        }
    }

    fn is_busy(&self) -> bool {
        match &self.progress.state {
            State::Working { busy, .. } => match busy {
                Busy::Tool { .. } | Busy::Checks { .. } => true,
                Busy::No | Busy::Lost { .. } | Busy::Rejected { .. } => false,
            },
            State::Idle
            | State::Ready
            | State::Condensing
            | State::AwaitingModel { .. }
            | State::Finished(_) => false,
        }
    }

    /// The decision that is due when the conversation is valid.
    fn next_request(&self, at: Elapsed) -> Event {
        let limits = &self.settings.limits;
        if let Some(reason) = self
            .given_up()
            .or_else(|| self.progress.spent.exceeded(limits, at))
        {
            return stopped(reason);
        }
        if let Some(due) = self.progress.due {
            return Event::Nudged {
                text: note(due).to_owned(),
            };
        }
        if self.settings.window.is_full(&self.history) {
            let before = condense::elide_before(&self.history, self.settings.window, 0);
            // With nothing to save the request goes out as it is: the estimate may be wrong, and the server has the last word.
            if before > self.history.elided_before() {
                return Event::Elided { before };
            }
        }
        Event::Asked {
            id: self.next_id(),
            request_sha256: self.history.request_sha256(),
        }
    }

    /// Why nothing more is to be expected of the model.
    fn given_up(&self) -> Option<StopReason> {
        let (progress, limits) = (&self.progress, &self.settings.limits);
        if progress.stuck.sign() == Sign::Stop {
            Some(StopReason::Stuck)
        } else if progress.rejections > 0 && progress.rejections >= limits.max_rejections {
            Some(StopReason::CompletionRejected)
        } else if progress.format_errors > limits.max_format_errors {
            Some(StopReason::FormatErrors)
        } else if progress.nudges > limits.max_nudges {
            Some(StopReason::NoToolCalls)
        } else if progress.fruitless >= NO_PROGRESS {
            Some(StopReason::ContextExhausted)
        } else {
            None
        }
    }

    fn condensed(&self) -> Event {
        let overflows = self.progress.overflows;
        Event::Elided {
            before: condense::elide_before(&self.history, self.settings.window, overflows),
        }
    }

    /// The decision that is due for a turn on which nothing runs.
    fn work(&self, at: Elapsed, turn: &OpenTurn, busy: &Busy) -> Vec<Event> {
        if let Busy::Rejected { message } = busy {
            return answer_next(turn, message, true).into_iter().collect();
        }
        if self.progress.stuck.sign() == Sign::Stop {
            return self.end(&Outcome::Stopped {
                reason: StopReason::Stuck,
            });
        }
        if let Some((_, call)) = turn.next() {
            let deadline = self.progress.spent.deadline(&self.settings.limits);
            if deadline.is_some_and(|deadline| at >= deadline) {
                return self.end(&Outcome::Stopped {
                    reason: StopReason::MaxWallTime,
                });
            }
            return vec![self.start(turn, call)];
        }
        if is_cut(turn.reply()) {
            return answer_next(turn, texts::CUT_CALL, true)
                .into_iter()
                .collect();
        }
        if turn.open().count() > 1 {
            return answer_next(turn, texts::DUPLICATE_DONE, true)
                .into_iter()
                .collect();
        }
        let Some((_, done)) = turn.open().next() else {
            return Vec::new();
        };
        match self.catalog.check(done) {
            Ok(_) => vec![Event::CheckStarted { id: self.next_id() }],
            Err(complaint) => vec![answered(done, complaint.text, true)],
        }
    }

    fn start(&self, turn: &OpenTurn, call: &ToolCall) -> Event {
        if is_cut(turn.reply()) {
            return answered(call, texts::CUT_CALL, true);
        }
        match self.catalog.check(call) {
            Ok(_) => Event::ToolStarted {
                id: self.next_id(),
                call: call.clone(),
            },
            Err(complaint) => answered(call, complaint.text, true),
        }
    }

    /// Answers every open call, then ends.
    fn end(&self, outcome: &Outcome) -> Vec<Event> {
        let mut events = Vec::new();
        if let State::Working { turn, busy } = &self.progress.state {
            let running = running(turn, busy);
            let is_error = *outcome != Outcome::Completed;
            for (position, call) in answer_order(turn, running) {
                let started = running == Some(position);
                events.push(answered(call, texts::left_open(outcome, started), is_error));
            }
        }
        events.push(Event::Finished {
            outcome: outcome.clone(),
        });
        events
    }

    fn resume(&self) -> Vec<Event> {
        let State::Working {
            turn,
            busy: busy @ Busy::Tool { .. },
        } = &self.progress.state
        else {
            return Vec::new();
        };
        let running = running(turn, busy);
        answer_order(turn, running)
            .into_iter()
            .map(|(position, call)| {
                let text = if running == Some(position) {
                    texts::INTERRUPTED
                } else {
                    texts::NOT_STARTED
                };
                answered(call, text, true)
            })
            .collect()
    }

    fn abandon(&self) -> Vec<Event> {
        match (&self.progress.state, &self.progress.ending) {
            (State::Working { .. }, Some(outcome)) => self.end(outcome),
            _ => Vec::new(),
        }
    }
}

/// The call whose tool runs.
pub(super) fn running(turn: &OpenTurn, busy: &Busy) -> Option<usize> {
    match busy {
        Busy::Tool { position, .. } | Busy::Lost { position } => Some(*position),
        Busy::Checks { .. } => turn.open().next().map(|(position, _)| position),
        Busy::No | Busy::Rejected { .. } => None,
    }
}

/// Open calls in the order in which `apply` takes answers: the running one, the ordinary ones, `task_done` from the last to the first.
fn answer_order(turn: &OpenTurn, running: Option<usize>) -> Vec<(usize, &ToolCall)> {
    let rest = || {
        turn.open()
            .filter(|(position, _)| Some(*position) != running)
    };
    let first = turn
        .open()
        .filter(|(position, _)| Some(*position) == running);
    let ordinary = rest().filter(|(_, call)| !Catalog::is_done(call));
    let done: Vec<_> = rest().filter(|(_, call)| Catalog::is_done(call)).collect();
    first
        .chain(ordinary)
        .chain(done.into_iter().rev())
        .collect()
}

fn answer_next(turn: &OpenTurn, text: &str, is_error: bool) -> Option<Event> {
    let call = turn.call(next_to_answer(turn)?)?;
    Some(answered(call, text, is_error))
}

fn answered(call: &ToolCall, content: impl Into<String>, is_error: bool) -> Event {
    Event::Answered {
        result: ToolResult {
            call_id: call.id.clone(),
            content: content.into(),
            is_error,
        },
    }
}

fn note(due: Due) -> &'static str {
    match due {
        Due::NoToolCall => texts::NUDGE,
        Due::Cut => texts::CUT_TEXT,
        Due::Repeating => texts::REPEATING,
        Due::SameError => texts::SAME_ERROR,
    }
}

fn stopped(reason: StopReason) -> Event {
    Event::Finished {
        outcome: Outcome::Stopped { reason },
    }
}

fn one_if(holds: bool, event: impl FnOnce() -> Event) -> Vec<Event> {
    if holds { vec![event()] } else { Vec::new() }
}
