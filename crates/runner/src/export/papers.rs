//! What people fill in before they submit: `metadata.yaml` and `README.md`, as far as the run knows.

use std::fmt::Write as _;

use super::Exported;
use crate::store::RunFile;

/// What the papers tell.
pub(super) struct Facts<'a> {
    pub(super) file: &'a RunFile,
    /// Generation of the harness whose verdicts these are.
    pub(super) harness: &'a str,
    pub(super) exported: &'a Exported,
    /// Instances that the harness calls resolved.
    pub(super) resolved: usize,
    /// Instances selected.
    pub(super) all: usize,
}

/// The fields that the leaderboard reads. What the run does not know is left to fill in.
pub(super) fn metadata(facts: &Facts<'_>) -> String {
    let model = quoted(&facts.file.identity.model);
    let attempts = if facts.exported.several_attempts {
        "\"2+\""
    } else {
        "\"1\""
    };
    format!(
        "info:\n  name: \"\"  # as the leaderboard shall show it\n  report: \"\"  # address of the technical report\n  \
         site: \"\"  # address of the project\n  logo: \"\"\n  authors: \"\"\nassets:\n  logs: \"\"\n  trajs: \"\"\n\
         tags:\n  checked: false\n  model:\n    - {model}\n  org: []\n  os_model: false  # whether the model's weights are open\n  \
         os_system: false  # whether the system's source is open\n  system:\n    attempts: {attempts}\n"
    )
}

/// A text as YAML and JSON both quote it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The run in a few words, and the leaderboard's questions.
pub(super) fn readme(facts: &Facts<'_>) -> String {
    let mut text = String::from("# Submission\n\n");
    let rate = grade::stats::rate(facts.resolved, facts.all);
    let _ = writeln!(
        text,
        "- model: {}\n- run: {}, begun {}\n- made with Patchmill {}; verdicts of generation {} of the harness\n\
         - resolved: {} of {} ({:.1} %, 95 % interval {:.1} to {:.1})\n- predictions: {}, with logs: {}, with trajectories: {}\n",
        facts.file.identity.model,
        facts.file.run,
        facts.file.created,
        facts.file.patchmill,
        facts.harness,
        rate.count,
        rate.of,
        rate.rate * 100.0,
        rate.low * 100.0,
        rate.high * 100.0,
        facts.exported.predictions,
        facts.exported.logs,
        facts.exported.trajectories,
    );
    text.push_str(
        "## To confirm\n\n- [ ] one attempt for each instance (pass@1)\n- [ ] no knowledge of the tests (`PASS_TO_PASS`, `FAIL_TO_PASS`) was used\n\
         - [ ] the field `hints_text` was not used\n- [ ] no browsing, or the fixes could not be found by it\n",
    );
    text
}
