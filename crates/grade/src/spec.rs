//! What grading one instance needs, out of its answer key.

use std::collections::BTreeSet;

use patch::{ParseError, PatchPath};
use schema::grading::{EvalType, GradingSpec};
use schema::instance::AnswerKey;

use crate::log::START;
use crate::parse::{UnknownParser, parser};

/// Why an instance cannot be graded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The row lacks a field.
    #[error("read grading data: the row has no {field}")]
    Missing {
        /// Name of the field as datasets spell it.
        field: &'static str,
    },
    /// The row's `eval_type` is none that we know.
    #[error("read grading data: unknown eval_type `{0}` (known: pass_and_fail, fail_only)")]
    EvalType(String),
    /// The row names a parser that we do not have.
    #[error("read grading data")]
    Parser(#[from] UnknownParser),
}

/// Takes the grading data out of an answer key.
///
/// # Errors
/// A field that grading needs is missing or unknown.
pub fn spec(answer: &AnswerKey) -> Result<GradingSpec, SpecError> {
    let eval_script = present(answer.eval_script.as_ref(), "eval_script")?;
    let log_parser = present(answer.log_parser.as_ref(), "log_parser")?;
    parser(&log_parser)?;
    if answer.fail_to_pass.is_empty() && answer.pass_to_pass.is_empty() {
        return Err(SpecError::Missing {
            field: "FAIL_TO_PASS",
        });
    }
    let test_patch = answer
        .test_patch
        .clone()
        .filter(|patch| !patch.trim().is_empty() && !applies_test_patch(&eval_script));
    Ok(GradingSpec {
        eval_script,
        log_parser,
        test_patch,
        fail_to_pass: answer.fail_to_pass.clone(),
        pass_to_pass: answer.pass_to_pass.clone(),
        eval_type: eval_type(answer)?,
        timeout_seconds: answer.eval_timeout,
        ..GradingSpec::default()
    })
}

fn present(field: Option<&String>, name: &'static str) -> Result<String, SpecError> {
    field
        .filter(|text| !text.trim().is_empty())
        .cloned()
        .ok_or(SpecError::Missing { field: name })
}

/// Scripts of the official harness carry the test patch in themselves.
fn applies_test_patch(eval_script: &str) -> bool {
    eval_script.contains("git apply") || eval_script.contains(START)
}

fn eval_type(answer: &AnswerKey) -> Result<EvalType, SpecError> {
    match answer
        .extra
        .get("eval_type")
        .and_then(|value| value.as_str())
    {
        None | Some("pass_and_fail") => Ok(EvalType::PassAndFail),
        Some("fail_only") => Ok(EvalType::FailOnly),
        Some(other) => Err(SpecError::EvalType(other.to_owned())),
    }
}

/// The files that the test patch is about. Whatever a model patch did to them is undone before the test patch goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestPaths {
    /// There at the base commit: to be restored from it.
    pub restore: BTreeSet<PatchPath>,
    /// Created by the test patch: to be removed.
    pub remove: BTreeSet<PatchPath>,
}

/// The files that an instance's test patch is about; none when it has no test patch.
///
/// # Errors
/// The test patch cannot be read.
pub fn test_paths(answer: &AnswerKey) -> Result<TestPaths, ParseError> {
    let patch = patch::parse(answer.test_patch.as_deref().unwrap_or_default().as_bytes())?;
    let before = patch.files.iter().filter_map(|file| file.old_path());
    let restore: BTreeSet<PatchPath> = before.cloned().collect();
    let after = patch.files.iter().filter_map(|file| file.new_path());
    let remove = after
        .filter(|path| !restore.contains(*path))
        .cloned()
        .collect();
    Ok(TestPaths { restore, remove })
}
