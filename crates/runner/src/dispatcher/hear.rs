//! What the dispatcher makes of what it hears.

use schema::failure::Retry;
use schema::{FailureKind, Outcome, RunEvent};

use super::cause::Cause;
use super::executor::{AttemptEnd, GradeEnd, Kept, Message};
use super::{Dispatcher, NOW_LIMIT, ending};
use crate::breaker::Trip;
use crate::clock;
use crate::error::{At, Error};
use crate::plan::{GradeJob, Job, Tries, gradable, next_grading};
use crate::signals::Signal;
use crate::store::ledger::settles;

/// Outages that a job may be in without being counted as one that failed.
const OUTAGES: u32 = 5;

impl Dispatcher {
    pub(super) fn hear(&mut self, message: Message) {
        match message {
            Message::Ready {
                key,
                backend,
                place,
                start_commit,
            } => self.emit(RunEvent::SandboxReady {
                key,
                backend,
                place,
                start_commit,
            }),
            Message::Kept(kept) => self.kept(kept),
            Message::Ended { job, end } => self.ended(job, &end),
            Message::Graded { job, end } => self.graded(job, end),
            Message::ImageRemoved(image) => self.emit(RunEvent::ImageRemoved {
                image: image.name,
                id: image.id,
                bytes: image.bytes,
            }),
            Message::EngineGone { reason, hint } => {
                self.advice.get_or_insert(hint);
                self.abort(reason);
            }
            Message::Warning(message) => self.emit(RunEvent::Warning { message }),
            Message::Signal(signal) => self.signalled(signal),
            Message::GraceOver => self.now(),
            Message::GiveUp => self.give_up(),
            Message::BudgetSpent => {
                self.abort("the run spent what it may cost (--max-total-cost)".to_owned());
            }
        }
    }

    fn kept(&mut self, kept: Kept) {
        self.emit(RunEvent::SandboxKept {
            key: kept.key.clone(),
            grading: kept.grading,
            backend: kept.backend.to_owned(),
            place: kept.place.id.0.clone(),
            open: kept.place.open.clone(),
            shell_init: kept.shell_init.clone(),
        });
        self.kept.push(kept);
    }

    fn ended(&mut self, mut job: Job, end: &AttemptEnd) {
        if self.running.remove(&job.key).is_none() {
            // It was given up, and written down as such.
            return;
        }
        self.bug |= ending::is_bug(&end.outcome);
        self.emit(RunEvent::AttemptFinished {
            key: job.key.clone(),
            outcome: end.outcome.clone(),
            steps: end.steps,
            usage: end.usage,
            seconds: end.seconds,
            patch: end.patch.clone(),
            network: end.network.clone(),
        });
        self.ended
            .insert((job.key.instance_id.clone(), job.key.sample));
        self.schedule.touch();
        self.show_end(&job, end);
        let empty = end.patch.bytes == 0;
        let id = &job.key.instance_id;
        let sample = job.key.sample;
        let trip = self
            .breaker
            .record(id, sample, &end.outcome, empty, end.cause.as_ref());
        match trip {
            Some(Trip::Abort(reason)) => self.abort(reason),
            Some(Trip::Warn(message)) => self.emit(RunEvent::Warning { message }),
            None => {}
        }
        if self.policy.grade && gradable(&end.outcome) {
            self.queue_grading(&job);
        }
        job.settled |= settles(&end.outcome);
        self.executor.release(job.row);
        if let Some(kind) = self.retries(&mut job, end) {
            self.emit(RunEvent::RetryPlanned {
                key: job.key.clone(),
                kind,
            });
            self.audience.live.send_modify(|live| live.planned += 1);
            job.key.attempt += 1;
            job.unfinished = None;
            self.executor.need(job.row);
            self.queue.push_back(job);
        }
    }

    /// The failure's name when another attempt is worth making, which is then counted.
    fn retries(&self, job: &mut Job, end: &AttemptEnd) -> Option<String> {
        let Outcome::Failed { reason, .. } = &end.outcome else {
            return None;
        };
        let tries = self.next_try(*reason, job.tries, end.cause.as_ref())?;
        job.tries = tries;
        Some(reason.name().to_owned())
    }

    /// What the tries of a job are counted as when it is tried again; `None` when it is not.
    fn next_try(&self, kind: FailureKind, tries: Tries, cause: Option<&Cause>) -> Option<Tries> {
        match cause {
            Some(Cause::Hopeless | Cause::Image(_)) => None,
            // It is no fault of the job's; but one that takes the engine with it each time must come to an end.
            Some(Cause::Outage(_)) if tries.outages < OUTAGES => {
                (!self.stop.drain.is_cancelled()).then(|| tries.after_outage())
            }
            Some(Cause::Outage(_) | Cause::Registry(_)) | None => self
                .worth_retrying(kind, tries.own)
                .then(|| tries.after_own()),
        }
    }

    fn worth_retrying(&self, kind: FailureKind, tries: u32) -> bool {
        let most = match kind.handling().retry {
            Retry::Never => 1,
            Retry::Once => self.policy.max_attempts.min(2),
            Retry::Always => self.policy.max_attempts,
        };
        tries < most && !self.stop.drain.is_cancelled()
    }

    fn queue_grading(&mut self, job: &Job) {
        let grading = self
            .store
            .ledger
            .sample(&job.key.instance_id, job.key.sample)
            .and_then(|sample| sample.attempts.get(&job.key.attempt))
            .map_or(1, next_grading);
        self.executor.need(job.row);
        self.gradings.push_back(GradeJob {
            key: job.key.clone(),
            row: job.row,
            grading,
            tries: Tries::default(),
        });
        self.audience.live.send_modify(|live| live.grading += 1);
    }

    fn show_end(&self, job: &Job, end: &AttemptEnd) {
        self.audience.live.send_modify(|live| {
            live.running.retain(|status| status.key != job.key);
            live.done += 1;
            *live.outcomes.entry(end.outcome.name()).or_default() += 1;
            if end.usage != schema::Usage::default() {
                live.usage.add(&end.usage);
            }
        });
    }

    fn graded(&mut self, job: GradeJob, end: GradeEnd) {
        // One that was torn down has no say any more.
        if !self.grading.remove(&(job.key.clone(), job.grading)) {
            return;
        }
        self.executor.release(job.row);
        let mut resolved = 0;
        match end {
            GradeEnd::Finished { grade, seconds } => {
                resolved = usize::from(grade.resolved);
                self.emit(RunEvent::GradeFinished {
                    key: job.key,
                    grading: job.grading,
                    grade,
                    seconds,
                });
            }
            GradeEnd::Failed {
                kind,
                message,
                cause,
            } => {
                self.bug |= kind == FailureKind::Internal;
                self.emit(RunEvent::GradeFailed {
                    key: job.key.clone(),
                    grading: job.grading,
                    kind: kind.name().to_owned(),
                    message,
                });
                if let Some(tries) = self.next_try(kind, job.tries, cause.as_ref()) {
                    self.executor.need(job.row);
                    self.audience.live.send_modify(|live| live.grading += 1);
                    self.gradings.push_back(GradeJob {
                        grading: job.grading + 1,
                        tries,
                        ..job
                    });
                }
            }
            GradeEnd::Cancelled => {}
        }
        self.audience.live.send_modify(|live| {
            live.grading = live.grading.saturating_sub(1);
            live.graded += 1;
            live.resolved += resolved;
        });
    }

    fn signalled(&mut self, signal: Signal) {
        if self.signal.is_some() {
            self.now();
            return;
        }
        self.signal = Some(signal);
        self.emit(RunEvent::Interrupted {
            signal: signal.name().to_owned(),
        });
        self.stop_all();
        self.later(self.policy.grace, Message::GraceOver);
    }

    /// Ends the run early; the first reason is kept.
    pub(super) fn abort(&mut self, reason: String) {
        if self.aborted.is_some() {
            return;
        }
        self.aborted = Some(reason.clone());
        self.emit(RunEvent::Aborted { reason });
        self.stop_all();
    }

    fn stop_all(&mut self) {
        self.queue.clear();
        self.gradings.clear();
        self.stop.cancel();
        let grading = self.grading.len();
        self.audience.live.send_modify(|live| {
            live.stopping = true;
            live.grading = grading;
        });
    }

    fn now(&mut self) {
        if !self.stop.now.is_cancelled() {
            self.stop.now();
            self.later(NOW_LIMIT, Message::GiveUp);
        }
    }

    /// Tears down the tasks that did not end when they were told to.
    fn give_up(&mut self) {
        self.tasks.abort_all();
        let left: Vec<_> = self.running.drain().map(|(key, _)| key).collect();
        for key in left {
            let end = AttemptEnd::bare(Outcome::Cancelled);
            self.emit(RunEvent::AttemptFinished {
                key,
                outcome: end.outcome,
                steps: end.steps,
                usage: end.usage,
                seconds: end.seconds,
                patch: end.patch,
                network: end.network,
            });
        }
        self.grading.clear();
        self.schedule.touch();
    }

    fn later(&mut self, after: std::time::Duration, message: Message) {
        let sender = self.reports.sender.clone();
        self.tasks.spawn(async move {
            tokio::time::sleep(after).await;
            let _ = sender.send(message).await;
        });
    }

    /// Writes an event down, then lets everybody know.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an event is made to be emitted"
    )]
    pub(super) fn emit(&mut self, event: RunEvent) {
        let at = clock::now();
        let written = self
            .store
            .journal
            .append(at, &event)
            .at("write", self.store.writer.journal());
        self.check(written);
        self.store.ledger.apply(&event);
        for sink in &mut self.audience.sinks {
            sink.on_event(at, &event);
        }
    }

    pub(super) fn sync(&mut self) {
        let synced = self
            .store
            .journal
            .sync()
            .at("sync", self.store.writer.journal());
        self.check(synced);
    }

    /// A run that cannot be written down ends; the first error is kept.
    pub(super) fn check(&mut self, result: Result<(), Error>) {
        if let Err(error) = result
            && self.broken.is_none()
        {
            self.broken = Some(error);
            self.stop_all();
        }
    }
}
