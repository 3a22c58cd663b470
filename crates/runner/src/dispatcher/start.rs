//! Starting attempts and gradings, each caught when it panics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use schema::{FailureKind, Outcome, RunEvent};

use super::Dispatcher;
use super::executor::{AttemptEnd, GradeEnd, Message};
use super::live::AttemptStatus;
use crate::plan::{GradeJob, Job};

impl Dispatcher {
    /// Starts attempts while there is room for one more sandbox.
    pub(super) fn start_attempts(&mut self) {
        let room = self.policy.workers.max(1) + self.policy.prestarted;
        while self.running.len() < room && !self.stop.drain.is_cancelled() {
            let Some(job) = self.queue.pop_front() else {
                break;
            };
            self.start_attempt(job);
        }
    }

    fn start_attempt(&mut self, job: Job) {
        self.emit(RunEvent::AttemptStarted {
            key: job.key.clone(),
            row_sha256: job.row_sha256.clone(),
        });
        if self.broken.is_some() {
            return;
        }
        // Those that start now come before those that are to come.
        if self.policy.prefetch > 0 {
            self.executor.expect(job.row);
        }
        let status = Arc::new(AttemptStatus::new(job.key.clone()));
        self.running.insert(job.key.clone(), Arc::clone(&status));
        self.audience
            .live
            .send_modify(|live| live.running.push(Arc::clone(&status)));
        let executor = Arc::clone(&self.executor);
        let reports = self.reports.clone();
        self.tasks.spawn(async move {
            let attempt = async { executor.attempt(job.clone(), status, reports.clone()).await };
            let end = AssertUnwindSafe(attempt)
                .catch_unwind()
                .await
                .unwrap_or_else(|panic| {
                    AttemptEnd::bare(Outcome::Failed {
                        reason: FailureKind::Internal,
                        message: panic_text(&*panic),
                    })
                });
            reports
                .send(Message::Ended {
                    job,
                    end: Box::new(end),
                })
                .await;
        });
    }

    /// Has ready what the next jobs need.
    pub(super) fn look_ahead(&self) {
        if self.policy.prefetch == 0 || self.stop.drain.is_cancelled() {
            return;
        }
        let attempts = self.queue.iter().map(|job| job.row);
        let gradings = self.gradings.iter().map(|job| job.row);
        for row in attempts.chain(gradings).take(self.policy.prefetch) {
            self.executor.expect(row);
        }
    }

    /// Starts gradings while there is room for one more.
    pub(super) fn start_gradings(&mut self) {
        while self.grading.len() < self.policy.grade_workers.max(1)
            && !self.stop.cancel.is_cancelled()
        {
            let Some(job) = self.gradings.pop_front() else {
                break;
            };
            self.start_grading(job);
        }
    }

    fn start_grading(&mut self, job: GradeJob) {
        self.emit(RunEvent::GradeStarted {
            key: job.key.clone(),
            grading: job.grading,
        });
        if self.broken.is_some() {
            return;
        }
        self.grading.insert((job.key.clone(), job.grading));
        let executor = Arc::clone(&self.executor);
        let reports = self.reports.clone();
        self.tasks.spawn(async move {
            let grading = async { executor.grade(job.clone(), reports.clone()).await };
            let end = AssertUnwindSafe(grading)
                .catch_unwind()
                .await
                .unwrap_or_else(|panic| GradeEnd::Failed {
                    kind: FailureKind::Internal,
                    message: panic_text(&*panic),
                    cause: None,
                });
            reports.send(Message::Graded { job, end }).await;
        });
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("without a message"))
}
