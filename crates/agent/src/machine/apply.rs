//! Events to state: the only mutation. Whatever the log says is followed without a complaint, so that a fold never fails.

use std::sync::Arc;

use schema::event::{CheckVerdict, EffectId, ModelFailure, ToolRun};
use schema::{
    Event, FailureKind, FinishReason, ModelFailureKind, Outcome, Reply, StopReason, Task, ToolCall,
    ToolResult, Turn,
};

use super::Machine;
use super::decide::Kind;
use super::state::{Busy, Due, OpenTurn, State};
use crate::ports::Head;
use crate::stuck::Note;

/// Empty replies in a row that are asked again without a word.
const SILENT_RESENDS: u32 = 2;

/// Refusals in a row that end the attempt.
const REFUSALS: u32 = 2;

/// Check sets in a row that could not be run and end the attempt.
const BROKEN_CHECKS: u32 = 2;

impl Machine {
    /// Takes an event in.
    pub fn apply(&mut self, event: &Event) {
        if self.outcome().is_some() {
            return;
        }
        match event {
            Event::Started {
                task,
                system,
                prompt,
            } => self.started(task, system, prompt),
            Event::Replied { reply, .. } => self.replied(reply),
            Event::ModelFailed { failure, .. } => self.model_failed(failure),
            Event::ToolDone { run, .. } => self.tool_done(run),
            Event::EnvironmentFailed { kind, message, .. } => self.lost(failed(*kind, message)),
            Event::Checked { verdicts, .. } => self.checked(verdicts),
            Event::DeadlinePassed => self.end_with(Outcome::Stopped {
                reason: StopReason::MaxWallTime,
            }),
            Event::CancelRequested => self.end_with(Outcome::Cancelled),
            Event::Asked { id, .. } => {
                self.named(*id);
                self.progress.queries += 1;
                self.progress.state = State::AwaitingModel { id: *id };
            }
            Event::ToolStarted { id, call } => self.tool_started(*id, call),
            Event::Answered { result } => self.answered(result),
            Event::CheckStarted { id } => {
                self.named(*id);
                if let State::Working { busy, .. } = &mut self.progress.state {
                    *busy = Busy::Checks { id: *id };
                }
            }
            Event::Nudged { text } => {
                self.progress.due = None;
                self.push(Turn::User { text: text.clone() });
            }
            Event::Elided { before } => self.elided(*before),
            Event::Finished { outcome } => {
                self.progress.state = State::Finished(outcome.clone());
            }
        }
    }

    fn push(&mut self, turn: Turn) {
        self.history.push(turn, &*self.encode);
    }

    /// The ids of effects count up, so the last one named says where to go on.
    fn named(&mut self, id: EffectId) {
        self.progress.effects = self.progress.effects.max(id.0.saturating_add(1));
    }

    /// The first cause of an end is the one that counts.
    fn end_with(&mut self, outcome: Outcome) {
        if self.progress.ending.is_none() {
            self.progress.ending = Some(outcome);
        }
    }

    fn lost(&mut self, outcome: Outcome) {
        if let State::Working { turn, busy } = &mut self.progress.state {
            *busy = super::decide::running(turn, busy)
                .map_or(Busy::No, |position| Busy::Lost { position });
        }
        self.end_with(outcome);
    }

    fn started(&mut self, task: &Task, system: &str, prompt: &str) {
        let head = Head {
            system: system.to_owned(),
            prompt: prompt.to_owned(),
            images: task.images.clone(),
            tools: self.catalog.specs().to_vec(),
        };
        self.history.start(head, &*self.encode);
        self.progress.state = State::Ready;
    }

    fn replied(&mut self, reply: &Reply) {
        let kind = Kind::of(reply, &self.catalog);
        self.account(reply);
        let progress = &mut self.progress;
        progress.state = State::Ready;
        if kind != Kind::Refused {
            progress.refusals = 0;
            progress.overflows = 0;
            progress.fruitless = 0;
        }
        if kind != Kind::Empty {
            progress.empty = 0;
        }
        match kind {
            Kind::Refused => self.refused("the model declined to answer"),
            Kind::Empty => {
                progress.empty += 1;
                if progress.empty > SILENT_RESENDS {
                    progress.nudges += 1;
                    progress.due = Some(Due::NoToolCall);
                }
            }
            Kind::Prose => {
                progress.nudges += 1;
                progress.due = Some(Due::NoToolCall);
                self.close(OpenTurn::new(reply.clone()));
            }
            Kind::CutText => {
                progress.format_errors += 1;
                progress.due = Some(Due::Cut);
                // A reply that spent its whole length on reasoning has nothing that could be sent back.
                if !reply.text.is_empty() {
                    self.close(OpenTurn::new(reply.clone()));
                }
            }
            Kind::CutCalls | Kind::UnreadableCalls => {
                progress.format_errors += 1;
                progress.nudges = 0;
                self.close(OpenTurn::new(reply.clone()));
            }
            Kind::Calls => {
                progress.format_errors = 0;
                progress.nudges = 0;
                self.close(OpenTurn::new(reply.clone()));
            }
        }
    }

    fn account(&mut self, reply: &Reply) {
        let spent = &mut self.progress.spent;
        let unknown_before = spent.steps > 0 && spent.usage.cost.is_none();
        spent.steps += 1;
        spent.usage.add(&reply.usage);
        // A reply always costs something: one that says nothing of it leaves the sum unknown for good.
        if unknown_before || reply.usage.cost.is_none() {
            spent.usage.cost = None;
        }
        spent.known_cost += reply.usage.cost.unwrap_or_default();
        spent.waited_ms = spent.waited_ms.saturating_add(reply.waited_ms());
        spent.model_ms = spent.model_ms.saturating_add(reply.elapsed_ms);
    }

    fn refused(&mut self, message: &str) {
        self.progress.refusals += 1;
        self.progress.state = State::Ready;
        if self.progress.refusals >= REFUSALS {
            self.end_with(failed(
                FailureKind::Model(ModelFailureKind::Refused),
                message,
            ));
        }
    }

    fn model_failed(&mut self, failure: &ModelFailure) {
        let spent = &mut self.progress.spent;
        spent.waited_ms = spent.waited_ms.saturating_add(failure.waited_ms());
        match failure.kind {
            None => {
                self.progress.overflows += 1;
                self.progress.state = State::Condensing;
            }
            Some(ModelFailureKind::Refused) => self.refused(&failure.message),
            Some(
                kind @ (ModelFailureKind::Auth
                | ModelFailureKind::Billing
                | ModelFailureKind::BadRequest
                | ModelFailureKind::Overloaded
                | ModelFailureKind::Timeout),
            ) => self.end_with(failed(FailureKind::Model(kind), &failure.message)),
        }
    }

    fn tool_started(&mut self, id: EffectId, call: &ToolCall) {
        self.named(id);
        let State::Working { turn, busy } = &mut self.progress.state else {
            return;
        };
        let Some(position) = turn.next().map(|(position, _)| position) else {
            return;
        };
        // A log of another version may hold a call that this one does not understand: then nothing runs and it stays open.
        if let Ok(action) = self.catalog.check(call) {
            *busy = Busy::Tool {
                id,
                position,
                action: Arc::new(action),
            };
        }
    }

    fn tool_done(&mut self, run: &ToolRun) {
        let spent = &mut self.progress.spent;
        spent.tool_ms = spent.tool_ms.saturating_add(run.elapsed_ms);
        let failed = run.result.is_error || run.exit_code.is_some_and(|code| code != 0);
        self.answer(&run.result, failed);
    }

    fn answered(&mut self, result: &ToolResult) {
        self.answer(result, true);
    }

    /// Answers the call that is running, else the next one in order.
    fn answer(&mut self, result: &ToolResult, failed: bool) {
        let State::Working { mut turn, busy } = std::mem::take(&mut self.progress.state) else {
            return;
        };
        let position = match busy {
            Busy::Tool { position, .. } | Busy::Lost { position } => Some(position),
            Busy::No | Busy::Checks { .. } | Busy::Rejected { .. } => {
                super::decide::next_to_answer(&turn)
            }
        };
        if let Some(position) = position {
            if let Some(call) = turn.call(position) {
                self.observe(&call.clone(), &result.content, failed);
            }
            turn.answer(position, result);
        }
        self.close(*turn);
    }

    fn observe(&mut self, call: &ToolCall, content: &str, failed: bool) {
        // Rejections have a limit of their own.
        if !self.settings.limits.stuck_detection
            || crate::tools::catalog::Catalog::is_done(call)
            || self.progress.ending.is_some()
        {
            return;
        }
        match self.progress.stuck.observe(call, content, failed) {
            Some(Note::Repeating) => self.progress.due = Some(Due::Repeating),
            Some(Note::SameError) if self.progress.due.is_none() => {
                self.progress.due = Some(Due::SameError);
            }
            Some(Note::SameError) | None => {}
        }
    }

    /// Puts a turn into the conversation if it is complete, else goes on working on it.
    fn close(&mut self, turn: OpenTurn) {
        self.progress.state = match Box::new(turn).close() {
            Ok(turn) => {
                self.push(turn);
                State::Ready
            }
            Err(turn) => State::Working {
                turn,
                busy: Busy::No,
            },
        };
    }

    fn checked(&mut self, verdicts: &[CheckVerdict]) {
        let State::Working { busy, .. } = &mut self.progress.state else {
            return;
        };
        let refusal = verdicts
            .iter()
            .find(|verdict| **verdict != CheckVerdict::Accept);
        match refusal {
            None => {
                *busy = Busy::No;
                self.end_with(Outcome::Completed);
            }
            Some(CheckVerdict::Accept) => {}
            Some(CheckVerdict::Reject { message }) => {
                *busy = Busy::Rejected {
                    message: message.clone(),
                };
                self.progress.broken_checks = 0;
                self.progress.rejections += 1;
            }
            Some(CheckVerdict::Broken { message }) => {
                *busy = Busy::No;
                self.progress.broken_checks += 1;
                if self.progress.broken_checks >= BROKEN_CHECKS {
                    self.end_with(failed(FailureKind::Check, message));
                }
            }
        }
    }

    fn elided(&mut self, before: usize) {
        if before > self.history.elided_before() {
            self.history.elide(before, &*self.encode);
            self.progress.fruitless = 0;
        } else {
            self.progress.fruitless += 1;
        }
        self.progress.state = State::Ready;
    }
}

fn failed(reason: FailureKind, message: &str) -> Outcome {
    Outcome::Failed {
        reason,
        message: message.to_owned(),
    }
}

/// Whether the reply's calls may be run at all.
pub(super) fn is_cut(reply: &Reply) -> bool {
    reply.finish_reason == FinishReason::Length
}
