//! `runner clean`.

use std::collections::HashSet;
use std::sync::Arc;

use sandbox::place::{Backend, Leftover};
use serde_json::{Value, json};

use super::arguments::Clean;
use super::error::Error;
use crate::backends;
use crate::error::chain;
use crate::exit::Exit;
use crate::layers::Table;
use crate::lease::REMOVAL_LIMIT;
use crate::ui::{Printer, escape};

/// Something to remove, and who can.
struct Found {
    backend: Arc<dyn Backend>,
    left: Leftover,
}

/// What became of it.
struct Outcome {
    name: String,
    /// Why it is still there.
    problem: Option<String>,
}

/// Runs the command.
pub(super) fn clean(command: &Clean, printer: &Printer) -> Result<Exit, Error> {
    let options = super::load(&command.config, Table::new(), printer)?.options()?;
    let scratch = command.scratch.clone().or(options.sandbox.scratch);
    let root = backends::root(scratch.as_ref());
    super::block_on(async {
        let (backends, missing) = backends::anywhere(&root).await?;
        if let Some(missing) = missing {
            printer.note(&format!(
                "containers were not looked for: {}",
                escape::line(&missing)
            ));
        }
        let found = look(&backends, command.kept).await?;
        let mut outcomes = Vec::new();
        for found in found {
            outcomes.push(remove(found, command.dry_run).await);
        }
        Ok(report(&outcomes, command.dry_run, printer))
    })
}

/// What dead runs left; where two backends see the same thing it is there once.
async fn look(backends: &[Arc<dyn Backend>], kept: bool) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for backend in backends {
        let mut lefts = backend.orphans().await?;
        if kept {
            lefts.extend(backend.kept().await?);
        }
        for left in lefts {
            if seen.insert(left.id.clone()) {
                found.push(Found {
                    backend: Arc::clone(backend),
                    left,
                });
            }
        }
    }
    Ok(found)
}

async fn remove(found: Found, dry: bool) -> Outcome {
    let Found { backend, left } = found;
    let mut problem = None;
    if !dry && let Err(error) = backend.remove(&left.id, REMOVAL_LIMIT).await {
        problem = Some(chain(&error));
    }
    Outcome {
        name: left.name,
        problem,
    }
}

fn report(outcomes: &[Outcome], dry: bool, printer: &Printer) -> Exit {
    let exit = if outcomes.iter().any(|outcome| outcome.problem.is_some()) {
        Exit::Infrastructure
    } else {
        Exit::Success
    };
    if printer.is_json() {
        printer.data(&format!("{:#}", as_json(outcomes, dry, exit)));
        return exit;
    }
    if outcomes.is_empty() {
        printer.data("nothing to remove");
    }
    let verb = if dry { "would remove" } else { "removed" };
    for outcome in outcomes {
        let name = escape::line(&outcome.name);
        match &outcome.problem {
            None => printer.data(&format!("{verb} {name}")),
            Some(problem) => {
                printer.data(&format!("left {name}: {}", escape::line(problem)));
            }
        }
    }
    exit
}

fn as_json(outcomes: &[Outcome], dry: bool, exit: Exit) -> Value {
    let gone = outcomes.iter().filter(|outcome| outcome.problem.is_none());
    let gone: Vec<_> = gone.map(|outcome| &outcome.name).collect();
    let left = outcomes.iter().filter_map(|outcome| {
        let problem = outcome.problem.as_ref()?;
        Some(json!({"name": outcome.name, "problem": problem}))
    });
    json!({
        "dry_run": dry, "removed": gone, "left": left.collect::<Vec<_>>(), "exit_code": exit.code(),
    })
}
