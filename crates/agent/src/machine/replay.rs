//! Going over a log without running anything: does this machine decide what the log says?

use std::sync::Arc;

use schema::{Elapsed, Event, FailureKind, Outcome, Record};

use super::{Input, Machine, Settings};
use crate::history::Encode;
use crate::tools::catalog::Catalog;

/// The first place where a log says something else than the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Divergence {
    /// Number of the record.
    pub seq: u64,
    /// What it says.
    pub recorded: Event,
    /// What the machine decides there; nothing when it waits for a fact.
    pub decided: Vec<Event>,
}

/// Feeds the facts of a log to a fresh machine and compares its decisions with those in the log.
///
/// # Errors
/// The first difference.
pub fn replay(
    settings: Settings,
    catalog: Arc<Catalog>,
    encode: Arc<dyn Encode>,
    records: &[Record],
) -> Result<Machine, Box<Divergence>> {
    let mut machine = Machine::new(settings, catalog, encode);
    let mut rest = records;
    while let Some(record) = rest.first() {
        let decided = if record.event.is_fact() {
            vec![record.event.clone()]
        } else {
            decided(&machine, record.at, rest).map_err(|decided| Divergence {
                seq: record.seq,
                recorded: record.event.clone(),
                decided,
            })?
        };
        for event in &decided {
            machine.apply(event);
        }
        rest = rest.get(decided.len()..).unwrap_or_default();
    }
    Ok(machine)
}

/// The decisions that the log goes on with, or those that were due instead.
fn decided(machine: &Machine, at: Elapsed, rest: &[Record]) -> Result<Vec<Event>, Vec<Event>> {
    let due = machine.decide(at, Input::Proceed);
    // What the driver may have asked for without a fact of its own.
    let others = [Input::Resume, Input::Abandon]
        .into_iter()
        .chain(fault(rest))
        .map(|input| machine.decide(at, input));
    std::iter::once(due.clone())
        .chain(others)
        .find(|events| begins_with(rest, events))
        .ok_or(due)
}

/// Whether the log goes on with `events`, as far as it goes.
fn begins_with(rest: &[Record], events: &[Event]) -> bool {
    !events.is_empty()
        && rest
            .iter()
            .zip(events)
            .all(|(record, event)| record.event == *event)
}

fn fault(rest: &[Record]) -> Option<Input> {
    match rest.last().map(|record| &record.event) {
        Some(Event::Finished {
            outcome:
                Outcome::Failed {
                    reason: FailureKind::Internal,
                    message,
                },
        }) => Some(Input::Fault {
            message: message.clone(),
        }),
        _ => None,
    }
}
