//! What grading one instance needs, out of its row and the rules for its repository.
//!
//! The script is the row's own (`eval_script`), else made of the row's commands (`install_config`, `test_cmds`, `run_script`, `test_cmd`), else
//! of those that the rules have. The parser and the way to count are the row's, else the rules'. What comes from where is told along.

mod assets;
mod calypso;
mod criterion;
mod error;
mod notes;
mod parser;
mod program;
mod row;
mod script;
mod start;

use std::collections::{BTreeMap, BTreeSet};

use patch::{ParseError, PatchPath};
use schema::grading::{Criterion, Earlier, EvalType, GradingSpec, Origin, Provenance, TestStatus};
use schema::instance::{AnswerKey, Instance};

use crate::rules::{Found, Rules, Unruled, Wanted};

pub use error::SpecError;
pub use start::{known_fix, withheld_tests};

/// A specification, and where its parts come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What grading needs.
    pub spec: GradingSpec,
    /// Where its parts come from.
    pub provenance: Provenance,
    /// What people should know of it before they rely on it, one sentence each.
    pub notes: Vec<String>,
}

/// Finds out how an instance is graded.
///
/// # Errors
/// What grading needs is missing, or is none that we know: the first missing piece is named.
pub fn resolve(
    instance: &Instance,
    answer: &AnswerKey,
    rules: &Rules,
) -> Result<Resolved, SpecError> {
    let whole_map = whole_map(answer)?;
    let case = Case::new(instance, answer, rules);
    let script = script::script(&case)?;
    let (log_parser, parser_origin) = parser::parser(&case)?;
    let (eval_type, type_origin) = eval_type(&case)?;
    let (criterion, earlier) = judged_by(&case, &type_origin);
    let ruled = case.found.as_ref().ok().map(|found| &found.settings);
    let timeout_seconds = answer
        .eval_timeout
        .or_else(|| ruled.and_then(|ruled| ruled.timeout_seconds));
    let cpus = ruled.and_then(|ruled| ruled.cpus);
    let capabilities = ruled.and_then(|ruled| ruled.capabilities.clone());
    Ok(Resolved {
        spec: GradingSpec {
            instance_id: instance.id.to_string(),
            version: instance.version.clone().unwrap_or_default(),
            eval_script: script.text,
            log_parser,
            test_patch: script.test_patch,
            fail_to_pass: answer.fail_to_pass.clone(),
            pass_to_pass: answer.pass_to_pass.clone(),
            whole_map,
            eval_type,
            criterion,
            earlier,
            timeout_seconds,
            cpus,
            capabilities: capabilities.unwrap_or_default(),
            ..GradingSpec::default()
        },
        provenance: Provenance {
            eval_script: script.origin,
            log_parser: parser_origin,
            eval_type: type_origin,
        },
        notes: notes::notes(&case)?,
    })
}

/// What judging a log needs, which is no script. The parser is the one called `log_parser`, else the row's, else the rules'.
///
/// # Errors
/// As [`resolve`].
pub fn of_log(
    instance: &Instance,
    answer: &AnswerKey,
    rules: &Rules,
    log_parser: Option<&str>,
) -> Result<GradingSpec, SpecError> {
    let whole_map = whole_map(answer)?;
    let case = Case::new(instance, answer, rules);
    let log_parser = match log_parser {
        Some(name) => parser::known(name)?,
        None => parser::parser(&case)?.0,
    };
    let (eval_type, type_origin) = eval_type(&case)?;
    let (criterion, earlier) = judged_by(&case, &type_origin);
    Ok(GradingSpec {
        instance_id: instance.id.to_string(),
        version: instance.version.clone().unwrap_or_default(),
        log_parser,
        fail_to_pass: answer.fail_to_pass.clone(),
        pass_to_pass: answer.pass_to_pass.clone(),
        whole_map,
        eval_type,
        criterion,
        earlier,
        ..GradingSpec::default()
    })
}

/// What every test must do, where that is said; else the lists must name some.
fn whole_map(answer: &AnswerKey) -> Result<Option<BTreeMap<String, TestStatus>>, SpecError> {
    let whole_map = row::whole_map(answer)?;
    if answer.fail_to_pass.is_empty() && answer.pass_to_pass.is_empty() && whole_map.is_none() {
        return Err(SpecError::Missing {
            field: "FAIL_TO_PASS",
        });
    }
    Ok(whole_map)
}

/// Whose rules a row is judged by, and what they ask for beside the lists of tests.
fn judged_by(case: &Case<'_>, eval_type: &Origin) -> (Criterion, BTreeMap<String, Earlier>) {
    let criterion = criterion::criterion(case, eval_type);
    let earlier = match criterion {
        Criterion::MultiSweBench => criterion::earlier(case.answer),
        Criterion::SweBench
        | Criterion::SweBenchLive
        | Criterion::SweBenchPro
        | Criterion::SweSmith
        | Criterion::R2eGym => BTreeMap::new(),
    };
    (criterion, earlier)
}

/// One row with the rules that are for it.
struct Case<'a> {
    instance: &'a Instance,
    answer: &'a AnswerKey,
    found: Result<Found, SpecError>,
    /// What the rules for the repository say whatever the version, where they do not know this one.
    base: Option<Box<Found>>,
}

impl<'a> Case<'a> {
    fn new(instance: &'a Instance, answer: &'a AnswerKey, rules: &Rules) -> Self {
        let wanted = Wanted {
            shape: row::shape(instance, answer),
            repository: &instance.repo,
            version: instance.version.as_deref(),
            fail_to_pass: &answer.fail_to_pass,
        };
        let found = rules.find(&wanted);
        let base = match &found {
            Err(Unruled::Version { base, .. }) => Some(base.clone()),
            Ok(_) | Err(Unruled::Repository { .. }) => None,
        };
        Self {
            instance,
            answer,
            found: found.map_err(|unruled| SpecError::unruled(instance, unruled)),
            base,
        }
    }

    /// The rules for the repository, for what does not depend on its version: how logs are read.
    fn of_any_version(&self) -> Option<&Found> {
        self.found.as_ref().ok().or(self.base.as_deref())
    }
}

fn eval_type(case: &Case<'_>) -> Result<(EvalType, Origin), SpecError> {
    const FIELD: &str = "eval_type";
    let in_rules = || {
        let found = case.of_any_version()?;
        Some((found.settings.eval_type?, found.origin.clone()))
    };
    let row = || Origin::Row(FIELD.to_owned());
    match row::text(case.answer, FIELD)? {
        None => Ok(in_rules().unwrap_or((EvalType::default(), Origin::Default))),
        Some("pass_and_fail") => Ok((EvalType::PassAndFail, row())),
        Some("fail_only") => Ok((EvalType::FailOnly, row())),
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

/// The files that an instance's test patch is about, and where the task is made by a change of the repository, those of the tests that are named.
///
/// # Errors
/// The test patch cannot be read.
pub fn test_paths(answer: &AnswerKey) -> Result<TestPaths, ParseError> {
    let patch = patch::parse(answer.test_patch.as_deref().unwrap_or_default().as_bytes())?;
    let mut paths = paths_of(&patch);
    let there = start::files_of_tests(answer);
    paths.restore.extend(there.into_iter().map(PatchPath::new));
    Ok(paths)
}

fn paths_of(patch: &patch::Patch) -> TestPaths {
    let before = patch.files.iter().filter_map(|file| file.old_path());
    let restore: BTreeSet<PatchPath> = before.cloned().collect();
    let after = patch.files.iter().filter_map(|file| file.new_path());
    let remove = after
        .filter(|path| !restore.contains(*path))
        .cloned()
        .collect();
    TestPaths { restore, remove }
}
