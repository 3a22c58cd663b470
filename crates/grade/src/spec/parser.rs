//! Which parser reads the log.

use schema::grading::{Criterion, Origin};
use serde_json::Value;

use super::{Case, SpecError, row};
use crate::near::parsers_like;
use crate::rules::Shape;

/// Parser of what SWE-bench Pro's own scripts print.
const OF_RUN_SCRIPTS: &str = "swe_bench_pro";

/// The parser's name and where it is from: the row's field, the row's `install_config`, the rules; a program in the row only when the rules
/// name none.
pub(super) fn parser(case: &Case<'_>) -> Result<(String, Origin), SpecError> {
    let (name, origin) = match named(case)? {
        Some((name, field)) if is_program(name) => {
            in_rules(case).ok_or(SpecError::ParserProgram { field })?
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

fn in_rules(case: &Case<'_>) -> Option<(String, Origin)> {
    let found = case.of_any_version()?;
    Some((found.settings.log_parser.clone()?, found.origin.clone()))
}

fn default(case: &Case<'_>) -> Result<(String, Origin), SpecError> {
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

/// Some datasets carry the parser itself, as Python.
fn is_program(name: &str) -> bool {
    name.contains('\n') || name.starts_with("def ") || name.starts_with("import ")
}
