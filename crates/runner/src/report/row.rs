//! One row for each instance and sample: its attempt that counts.

use schema::grading::Profile;
use schema::journal::{EmptyReason, GradeSummary};
use schema::{Bucket, FailureKind, InstanceId, Outcome, Usage};

use super::Repositories;
use crate::plan::gradable;
use crate::store::ledger::{Attempt, Grading, Ledger};

/// What became of one sample of an instance, in the columns of `results.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Instance.
    pub instance_id: InstanceId,
    /// Sample, from 1.
    pub sample: u32,
    /// The attempt that counts, from 1.
    pub attempt: u32,
    /// `owner/name`, empty where nothing says it.
    pub repo: String,
    /// Name of the outcome.
    pub outcome: &'static str,
    /// Name of the reason, empty where there is none.
    pub reason: &'static str,
    /// `resolved`, `unresolved`, `ungraded` or `error`.
    pub verdict: &'static str,
    /// The verdict; `None` when there is none.
    pub resolved: Option<bool>,
    /// What the official harness would say; `None` when there is no verdict.
    pub official_resolved: Option<bool>,
    /// What proves that the log was tampered with, empty where nothing does.
    pub tamper_reason: String,
    /// The conditions under which it was graded; `None` when there is no verdict.
    pub profile: Option<Profile>,
    /// Why the patch is empty.
    pub empty_reason: Option<EmptyReason>,
    /// Bytes of the model patch.
    pub patch_bytes: u64,
    /// Files that it touches.
    pub files: usize,
    /// Model replies.
    pub steps: u32,
    /// Tokens and cost.
    pub usage: Usage,
    /// Seconds until the sandbox was sealed.
    pub seconds_setup: f64,
    /// Seconds waiting for the model.
    pub seconds_model: f64,
    /// Seconds running tools.
    pub seconds_tool: f64,
    /// Seconds of the grading that counts.
    pub seconds_grade: Option<f64>,
    /// Seconds from start to removal.
    pub seconds_total: f64,
    /// What failed, for people.
    pub error: String,
    /// The bucket; `None` when the instance is incomplete.
    pub bucket: Option<Bucket>,
    /// The verdict, short; `None` when there is none.
    pub grade: Option<GradeSummary>,
    /// Backend that it was solved in, empty where it was not solved here.
    pub backend: String,
}

/// The bucket of an attempt that counts. One that failed never got to a grading, and one that was cancelled or not graded yet has none.
fn bucket(outcome: &Outcome, attempt: &Attempt) -> Option<Bucket> {
    if let Some(grade) = attempt.grade() {
        return Some(grade.bucket());
    }
    if let Some((kind, _)) = attempt.grading_failure() {
        let kind = kind.parse().unwrap_or(FailureKind::Internal);
        return Some(grade::bucket::of_failure(kind));
    }
    match outcome {
        Outcome::Failed { reason, .. } if !gradable(outcome) => {
            Some(grade::bucket::of_failure(*reason))
        }
        Outcome::Failed { .. }
        | Outcome::Completed
        | Outcome::Stopped { .. }
        | Outcome::Cancelled => None,
    }
}

/// All rows, by instance and sample. Samples none of whose attempts ended have none.
pub fn rows(ledger: &Ledger, repositories: &Repositories) -> Vec<Row> {
    let samples = ledger.samples();
    samples
        .filter_map(|(id, sample, attempts)| {
            let (attempt, record, end) = attempts.counting()?;
            let grade = record.grade();
            let seconds_grade = record
                .gradings
                .values()
                .rev()
                .find_map(|grading| match grading {
                    Grading::Finished { seconds, .. } => Some(*seconds),
                    Grading::Started | Grading::Failed { .. } => None,
                });
            let failed = record
                .grading_failure()
                .filter(|_| grade.is_none())
                .map(|(kind, message)| format!("grading: {kind}: {message}"));
            let verdict = match (grade, &failed) {
                (Some(grade), _) if grade.resolved => "resolved",
                (Some(_), _) => "unresolved",
                (None, Some(_)) => "error",
                (None, None) => "ungraded",
            };
            let error = match &end.outcome {
                Outcome::Failed { message, .. } => message.clone(),
                Outcome::Completed | Outcome::Stopped { .. } | Outcome::Cancelled => {
                    failed.unwrap_or_default()
                }
            };
            Some(Row {
                instance_id: id.clone(),
                sample,
                attempt,
                repo: repositories.get(id).cloned().unwrap_or_default(),
                outcome: end.outcome.name(),
                reason: end.outcome.reason(),
                verdict,
                resolved: grade.map(|grade| grade.resolved),
                official_resolved: grade.map(|grade| grade.official_resolved),
                tamper_reason: grade
                    .and_then(|grade| grade.tamper_reason.clone())
                    .unwrap_or_default(),
                profile: grade.map(|grade| grade.profile),
                empty_reason: end.patch.empty_reason,
                patch_bytes: end.patch.bytes,
                files: end.patch.files,
                steps: end.steps,
                usage: end.usage,
                seconds_setup: end.seconds.setup,
                seconds_model: end.seconds.model,
                seconds_tool: end.seconds.tool,
                seconds_grade,
                seconds_total: end.seconds.total,
                error,
                bucket: bucket(&end.outcome, record),
                grade: grade.cloned(),
                backend: record.backend.clone(),
            })
        })
        .collect()
}
