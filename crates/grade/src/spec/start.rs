//! Instances that a change of the repository makes: the change breaks something, and undoing it is the fix.

use schema::instance::AnswerKey;

use crate::directives::files_of;

/// The known fix: the row's, else what undoes the change that makes the task. `None` when there is neither, or that cannot be turned round.
pub fn known_fix(answer: &AnswerKey) -> Option<String> {
    let undone = || {
        let patch = patch::reverse(answer.start_patch.as_ref()?.as_bytes()).ok()?;
        String::from_utf8(patch).ok()
    };
    answer.patch.clone().or_else(undone)
}

/// The files of the tests that must turn, where a change of the repository makes the task: whoever solves does not get them.
pub fn withheld_tests(answer: &AnswerKey) -> Vec<String> {
    files(answer, answer.fail_to_pass.iter())
}

/// The files of all tests that are named, where a change of the repository makes the task.
pub(super) fn files_of_tests(answer: &AnswerKey) -> Vec<String> {
    files(
        answer,
        answer.fail_to_pass.iter().chain(&answer.pass_to_pass),
    )
}

/// Only names of the form `FILE::TEST` tell a file, which has an ending; other languages have modules there.
fn files<'a>(answer: &AnswerKey, tests: impl Iterator<Item = &'a String>) -> Vec<String> {
    if answer.start_patch.is_none() {
        return Vec::new();
    }
    let tells = |test: &&String| {
        let parts = test.split_once("::");
        parts.is_some_and(|(file, _)| file.contains('.'))
    };
    files_of(tests.filter(tells))
}
