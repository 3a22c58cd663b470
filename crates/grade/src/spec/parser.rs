//! Which parser reads the log.

use schema::grading::{Criterion, Origin};
use serde_json::Value;

use super::program::{self, is_program};
use super::{Case, SpecError, row};
use crate::near::parsers_like;
use crate::rules::Shape;

/// Parser of what SWE-bench Pro's own scripts print.
const OF_RUN_SCRIPTS: &str = "swe_bench_pro";

/// What the names of files that are built in begin with.
const BUILT_IN: &str = "built-in:";

/// The parser's name and where it is from: the row's field, the row's `install_config`, the rules. A program in the row gives way to the user's
/// rules; else what calls it prints results that one of our parsers reads.
pub(super) fn parser(case: &Case<'_>) -> Result<(String, Origin), SpecError> {
    let (name, origin) = match named(case)? {
        Some((name, field)) if is_program(name) => {
            let ours = given_rules(case);
            let own = || {
                let run = program_of(case)?
                    .map(|_| (program::PARSER.to_owned(), Origin::Row(field.to_owned())));
                run.or_else(|| in_rules(case))
                    .ok_or(SpecError::ParserProgram { field })
            };
            ours.map_or_else(own, Ok)?
        }
        Some((name, field)) => (name.to_owned(), Origin::Row(field.to_owned())),
        None => default(case)?,
    };
    crate::parse::parser(&name).map_err(|source| SpecError::Parser {
        nearest: parsers_like(&name),
        source,
    })?;
    Ok((name, origin))
}

/// A parser's name, when there is such a parser.
pub(super) fn known(name: &str) -> Result<String, SpecError> {
    match crate::parse::parser(name) {
        Ok(_) => Ok(name.to_owned()),
        Err(source) => Err(SpecError::Parser {
            nearest: parsers_like(name),
            source,
        }),
    }
}

/// The row's own word.
fn named<'a>(case: &'a Case<'_>) -> Result<Option<(&'a str, &'static str)>, SpecError> {
    if let Some(name) = case.answer.log_parser.as_deref() {
        return Ok(Some((name, "log_parser")));
    }
    if let Some(name) = row::text(case.answer, "parser")? {
        return Ok(Some((name, "parser")));
    }
    let config = row::object(case.answer, "install_config")?;
    match config.and_then(|config| config.get("log_parser")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some((name, "install_config.log_parser"))),
        Some(_) => Err(row::bad("install_config.log_parser", "must be text")),
    }
}

/// The program that reads the row's log, where there is one, nothing goes before it, and the row has commands whose output it can be given.
pub(super) fn program_of<'a>(case: &'a Case<'_>) -> Result<Option<&'a str>, SpecError> {
    let own_script = case.answer.eval_script.as_deref().unwrap_or_default();
    let tests = row::commands(&case.answer.extra, "test_cmds", "test_cmds")?;
    if !own_script.trim().is_empty() || tests.is_empty() || given_rules(case).is_some() {
        return Ok(None);
    }
    let named = named(case)?.map(|(name, _)| name);
    Ok(named.filter(|name| is_program(name)))
}

/// What rules of the user's say.
fn given_rules(case: &Case<'_>) -> Option<(String, Origin)> {
    in_rules(case).filter(|(_, origin)| match origin {
        Origin::Rules { file, .. } => !file.starts_with(BUILT_IN),
        Origin::Given | Origin::Row(_) | Origin::Family(_) | Origin::Default => false,
    })
}

fn in_rules(case: &Case<'_>) -> Option<(String, Origin)> {
    let found = case.of_any_version()?;
    Some((found.settings.log_parser.clone()?, found.origin.clone()))
}

fn default(case: &Case<'_>) -> Result<(String, Origin), SpecError> {
    if given_rules(case).is_none()
        && let Some(other) = row::multi_swe_class(case.instance, case.answer)?
    {
        return Err(SpecError::NoParser { repository: other });
    }
    if let Some(found) = in_rules(case) {
        return Ok(found);
    }
    if row::text(case.answer, "run_script")?.is_some() {
        return Ok((
            OF_RUN_SCRIPTS.to_owned(),
            Origin::Row("run_script".to_owned()),
        ));
    }
    if row::is_of_pro(case.instance, case.answer) {
        let family = Criterion::SweBenchPro.dataset();
        return Ok((OF_RUN_SCRIPTS.to_owned(), Origin::Family(family.to_owned())));
    }
    match row::shape(case.instance, case.answer) {
        Some(Shape::MultiSweBench) => Err(SpecError::NoParser {
            repository: case.instance.repo.clone(),
        }),
        Some(Shape::R2eGym | Shape::SweSmith) | None => Err(SpecError::Missing {
            field: "log_parser",
        }),
    }
}
