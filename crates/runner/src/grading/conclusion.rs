//! What a grading leaves: the official report, our own, and a line for the journal.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use grade::LogParts;
use grade::official::{Graded, Signature};
use schema::InstanceId;
use schema::bucket::OfficialClass;
use schema::examination::Examination;
use schema::grading::{GradingSpec, Profile, Verdict};
use schema::journal::GradeSummary;
use schema::report::GradingReport;

use super::cache::Known;
use crate::attempt::failure::Failure;
use crate::store::atomic;

/// Version of the rules by which this program grades: a verdict of another version is no answer.
pub(crate) const GRADER: &str = concat!(env!("CARGO_PKG_VERSION"), "+4");

/// What a grading comes to.
pub(super) enum Ruling {
    /// A verdict of now.
    New(Box<Judged>),
    /// One of an earlier grading.
    Known(Box<Known>),
}

impl Ruling {
    pub(super) fn is_resolved(&self) -> bool {
        match self {
            Self::New(judged) => judged.verdict.resolved,
            Self::Known(known) => known.report.verdict.resolved,
        }
    }
}

impl From<Judged> for Ruling {
    fn from(judged: Judged) -> Self {
        Self::New(Box::new(judged))
    }
}

/// A verdict of now, and what belongs to it.
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    /// What the log shows of faults that are not the patch's.
    pub(super) sign: Option<Signature>,
    /// Under what it may be kept.
    pub(super) key: Option<String>,
    /// What of the profile's conditions the sandbox did not have.
    pub(super) unmet: Vec<String>,
    /// What the script printed, empty where none was run.
    pub(super) log: Vec<u8>,
    /// The same in its parts.
    pub(super) parts: Option<LogParts>,
    /// The second look at the verdict; `None` before it.
    pub(super) examination: Option<Examination>,
}

impl From<Verdict> for Judged {
    fn from(verdict: Verdict) -> Self {
        Self {
            verdict,
            sign: None,
            key: None,
            unmet: Vec::new(),
            log: Vec::new(),
            parts: None,
            examination: None,
        }
    }
}

/// Everything that is known of a grading.
pub(super) fn report(
    judged: Judged,
    spec: &GradingSpec,
    profile: Profile,
    seconds: f64,
) -> GradingReport {
    let Judged {
        verdict,
        sign,
        key,
        unmet,
        log: _,
        parts: _,
        examination,
    } = judged;
    let (failed, missing) = grade::bucket::failures(&verdict);
    GradingReport {
        bucket: grade::bucket::of(&verdict),
        partial: grade::bucket::partial(&verdict),
        failed,
        missing,
        sign: sign.map(|sign| sign.name().to_owned()),
        profile,
        unmet,
        log_parser: spec.log_parser.clone(),
        grader: GRADER.to_owned(),
        cache_key: key,
        cached: false,
        judged_again: None,
        seconds,
        examination,
        verdict,
    }
}

/// The journal's line.
pub(super) fn summary(report: &GradingReport) -> GradeSummary {
    let verdict = &report.verdict;
    GradeSummary {
        resolved: verdict.resolved,
        official_resolved: verdict.official_resolved,
        tamper_reason: verdict.tamper_reason.clone(),
        profile: report.profile,
        note: verdict.note.clone(),
        bucket: Some(report.bucket),
        partial: report.partial.filter(|_| {
            matches!(
                report.bucket,
                schema::Bucket::Partial | schema::Bucket::Timeout
            )
        }),
        harness: verdict.official.harness,
        sign: report.sign.clone(),
        failed_tests: report.failed.len(),
        missing_tests: report.missing.len(),
        cached: report.cached,
    }
}

/// Writes `verdict.json`; and `report.json`, but where the official harness writes none: it tells an instance that was not judged from one that
/// was by whether that file is there.
pub(super) fn write(
    directory: &GradingDirectory,
    id: &InstanceId,
    report: &GradingReport,
) -> Result<(), Failure> {
    let wrong = |error: serde_json::Error| Failure {
        kind: schema::FailureKind::Internal,
        message: error.to_string(),
    };
    if report.bucket.official_class() == OfficialClass::Completed {
        let official = grade::official::report(&Graded {
            id,
            patch_exists: true,
            verdict: &report.verdict,
            signature: report.sign.as_deref().and_then(Signature::of_name),
        });
        let text = grade::official::text(&official).map_err(wrong)?;
        directory.write("report.json", text.as_bytes())?;
    }
    let mut text = serde_json::to_vec_pretty(report).map_err(wrong)?;
    text.push(b'\n');
    directory.write("verdict.json", &text)
}

/// `grade-<g>/`.
pub(super) struct GradingDirectory(PathBuf);

impl GradingDirectory {
    pub(super) fn create(path: PathBuf) -> Result<Self, Failure> {
        fs::create_dir_all(&path).map_err(|error| Failure::file("create", &path, &error))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.0.join(name);
        atomic::replace(&path, |file| file.write_all(content))
            .map_err(|error| Failure::file("write", &path, &error))
    }
}
