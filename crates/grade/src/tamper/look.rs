//! What came of one run of the script of a second look.

use schema::examination::Canary;
use schema::grading::{TestStatus, Verdict};

use super::canary::CanaryTest;
use super::rerun::Rerun;
use super::results_file::ResultsFile;

/// Exit codes from here on are those of programs that were killed.
const KILLED: i32 = 128;

/// What came of one run of the script of a second look.
#[derive(Debug, Clone)]
pub struct Look {
    /// What its log says of the instance's tests.
    pub(super) verdict: Verdict,
    pub(super) canaries: Vec<Seen>,
    /// What the framework wrote for machines; `None` where it was not asked to.
    pub(super) results: Option<ResultsFile>,
}

/// What a canary did, by the log and by the file of results.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) test: CanaryTest,
    pub(super) in_log: Option<TestStatus>,
    in_file: Option<TestStatus>,
}

impl Seen {
    pub(super) fn fails(&self) -> bool {
        let failed = |status| matches!(status, Some(TestStatus::Failed | TestStatus::Error));
        failed(self.in_log) || failed(self.in_file)
    }

    pub(super) fn status(&self) -> Option<TestStatus> {
        self.in_log.or(self.in_file)
    }

    /// What it did instead of failing, where it was seen at all.
    pub(super) fn spared(&self) -> Option<TestStatus> {
        [self.in_log, self.in_file]
            .into_iter()
            .flatten()
            .find(|status| match status {
                TestStatus::Passed
                | TestStatus::Xfail
                | TestStatus::Skipped
                | TestStatus::Xpass => true,
                TestStatus::Failed | TestStatus::Error => false,
            })
    }
}

impl Look {
    /// A look: the verdict on its log, and the files that the framework wrote (`None` for one that it did not write).
    pub fn new(rerun: &Rerun, verdict: Verdict, files: &[Option<Vec<u8>>]) -> Self {
        let results = (!rerun.results.is_empty()).then(|| ResultsFile::read(files));
        let seen = |test: &CanaryTest| Seen {
            in_log: in_log(&verdict, &test.name),
            in_file: results
                .as_ref()
                .and_then(|results| results.named(&test.name))
                .map(|case| case.status),
            test: test.clone(),
        };
        let canaries = rerun.canaries.iter().map(seen).collect();
        Self {
            verdict,
            canaries,
            results,
        }
    }

    /// Its canaries, for reports.
    pub fn canaries(&self) -> Vec<Canary> {
        let told = |seen: &Seen| Canary {
            name: seen.test.name.clone(),
            must_fail: seen.test.must_fail,
            status: seen.status(),
        };
        self.canaries.iter().map(told).collect()
    }

    /// Whether the script came to its end by itself.
    pub(super) fn ended(&self) -> bool {
        !self.verdict.timed_out
            && self
                .verdict
                .exit_code
                .is_some_and(|code| (0..KILLED).contains(&code))
    }

    /// Whether every test did what it should, by the log.
    pub(super) fn shows_all(&self) -> bool {
        self.verdict.fail_to_pass.failure.is_empty() && self.verdict.pass_to_pass.failure.is_empty()
    }

    pub(super) fn must_fail(&self) -> impl Iterator<Item = &Seen> {
        self.canaries.iter().filter(|seen| seen.test.must_fail)
    }
}

/// The status of the test whose name has this one in it; the worst of several.
fn in_log(verdict: &Verdict, name: &str) -> Option<TestStatus> {
    let mut found = verdict
        .statuses
        .iter()
        .filter(|(test, _)| test.contains(name))
        .map(|(_, status)| *status);
    found
        .clone()
        .find(|status| matches!(status, TestStatus::Failed | TestStatus::Error))
        .or_else(|| found.next())
}

/// Why a look at the known fix shows that nothing can be concluded from such looks at this instance; `None` where it can.
pub fn unsound(control: &Look) -> Option<&'static str> {
    if !control.ended() {
        return Some("the script did not come to its end beside tests of ours");
    }
    if !control.must_fail().any(Seen::fails) {
        return Some("tests of ours that must fail are not run, or not shown, here");
    }
    let passes = |seen: &Seen| !seen.test.must_fail && seen.status() == Some(TestStatus::Passed);
    if !control.canaries.iter().any(passes) {
        return Some("a test of ours that must pass does not pass here");
    }
    None
}
