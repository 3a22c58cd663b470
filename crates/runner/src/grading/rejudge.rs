//! A verdict given again on a log that an earlier grading left, by the rules of now.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use grade::Evidence;
use schema::FailureKind;
use schema::InstanceId;
use schema::grading::{GradingSpec, Verdict};
use schema::journal::GradeSummary;
use schema::report::GradingReport;

use super::conclusion::{self, GRADER, GradingDirectory};
use crate::attempt::failure::Failure;
use crate::error::chain;

/// What an earlier grading left.
pub(crate) struct Saved {
    number: u32,
    report: GradingReport,
    script: String,
    log: Vec<u8>,
}

impl Saved {
    /// What the grading with this number left in its directory; `None` where it ran no script, or took the verdict of another grading, whose
    /// script it has not got.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn read(directory: &Path, number: u32) -> Result<Option<Self>, Failure> {
        let (Some(script), Some(log)) = (
            read(&directory.join("eval.sh"))?,
            read(&directory.join("test_output.txt"))?,
        ) else {
            return Ok(None);
        };
        let path = directory.join("verdict.json");
        let Some(text) = read(&path)? else {
            return Ok(None);
        };
        let report = serde_json::from_slice(&text).map_err(|error| Failure {
            kind: FailureKind::Internal,
            message: format!("could not read {}: {error}", path.display()),
        })?;
        Ok(Some(Self {
            number,
            report,
            script: String::from_utf8_lossy(&script).into_owned(),
            log,
        }))
    }

    /// Judges the log anew, and leaves what a grading leaves in `into`.
    ///
    /// # Errors
    /// When the log cannot be judged, or a file cannot be written.
    pub(crate) fn judge(
        &self,
        id: &InstanceId,
        spec: &GradingSpec,
        into: PathBuf,
    ) -> Result<(GradeSummary, f64), Failure> {
        let report = self.report(spec)?;
        let directory = GradingDirectory::create(into)?;
        directory.write("eval.sh", self.script.as_bytes())?;
        directory.write("test_output.txt", &self.log)?;
        conclusion::write(&directory, id, &report)?;
        Ok((conclusion::summary(&report), report.seconds))
    }

    fn report(&self, spec: &GradingSpec) -> Result<GradingReport, Failure> {
        let verdict = self.verdict(spec)?;
        let (failed, missing) = grade::bucket::failures(&verdict);
        let sign = grade::official::signature(&self.log, spec.harness);
        Ok(GradingReport {
            bucket: grade::bucket::of(&verdict),
            partial: grade::bucket::partial(&verdict),
            failed,
            missing,
            sign: sign.map(|sign| sign.name().to_owned()),
            log_parser: spec.log_parser.clone(),
            grader: GRADER.to_owned(),
            cache_key: None,
            cached: false,
            judged_again: Some(self.number),
            verdict,
            ..self.report.clone()
        })
    }

    fn verdict(&self, spec: &GradingSpec) -> Result<Verdict, Failure> {
        let before = &self.report.verdict;
        let parts = match grade::log::nonce(&self.script) {
            Some(nonce) => grade::log::read(&self.log, nonce),
            None => grade::log::read_foreign(&self.log, spec.criterion),
        };
        let evidence = Evidence {
            application: before.application,
            log: Some(&parts),
            timed_out: before.timed_out,
            exit_code: parts.script_exit.filter(|_| !before.timed_out),
        };
        let mut verdict = grade::verdict(spec, &evidence).map_err(|error| Failure {
            kind: FailureKind::Check,
            message: chain(&error),
        })?;
        verdict.official.harness = spec.harness;
        // What was proven by more than the log stays proven.
        if verdict.resolved && before.tamper_reason.is_some() {
            verdict.resolved = false;
            verdict.tamper_reason.clone_from(&before.tamper_reason);
        }
        Ok(verdict)
    }
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read
            .map(Some)
            .map_err(|error| Failure::file("read", path, &error)),
    }
}
