//! Two records of the same attempt, side by side.

use std::sync::{Mutex, PoisonError};

use agent::ports::Observer;
use schema::event::CheckVerdict;
use schema::{Event, Outcome, Record};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Recording, Volatile};

/// Where a replay first went another way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Divergence {
    /// Model reply that it follows, from 1.
    pub step: usize,
    /// What was compared, in words: "result of `bash`".
    pub what: String,
    /// What the recording holds.
    pub recorded: String,
    /// What happened now.
    pub seen: String,
}

/// What came of comparing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Model replies gone through.
    pub steps: usize,
    /// Things that were as recorded.
    pub same: usize,
    /// The first that was not.
    pub divergence: Option<Divergence>,
    /// Whether all of the recording was gone through.
    pub whole: bool,
}

/// One thing that must be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Point {
    step: usize,
    what: String,
    text: String,
}

/// Compares records as they come, and ends the replay at the first difference and at the recording's end.
pub struct Watch {
    state: Mutex<State>,
    seen: Volatile,
    cancel: CancellationToken,
}

struct State {
    expected: Vec<Point>,
    next: usize,
    /// What the last tool was called.
    steps: usize,
    tool: String,
    comparison: Comparison,
}

impl Watch {
    /// Compares with `recording`; `workdir` is where the repository lies now.
    pub fn new(recording: &Recording, workdir: &str, cancel: CancellationToken) -> Self {
        Self {
            state: Mutex::new(State {
                expected: points(recording),
                next: 0,
                steps: 0,
                tool: String::new(),
                comparison: Comparison::default(),
            }),
            seen: Volatile::of(workdir),
            cancel,
        }
    }

    /// What came of it so far.
    pub fn comparison(&self) -> Comparison {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut comparison = state.comparison.clone();
        comparison.steps = state.steps;
        comparison.whole = state.next == state.expected.len();
        comparison
    }
}

impl Observer for Watch {
    fn on_record(&self, record: &Record) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { steps, tool, .. } = &mut *state;
        let Some(seen) = point(&record.event, &self.seen, steps, tool) else {
            return;
        };
        if state.comparison.divergence.is_some() {
            return;
        }
        match state.expected.get(state.next).cloned() {
            Some(expected) if expected == seen => {
                state.next += 1;
                state.comparison.same += 1;
            }
            Some(expected) => {
                state.comparison.divergence = Some(differ(&expected, &seen));
            }
            // Beyond the recording's end nothing is known.
            None => {}
        }
        if state.next == state.expected.len() || state.comparison.divergence.is_some() {
            self.cancel.cancel();
        }
    }
}

fn differ(expected: &Point, seen: &Point) -> Divergence {
    let (recorded, seen_text) = if expected.what == seen.what {
        (expected.text.clone(), seen.text.clone())
    } else {
        let titled = |point: &Point| format!("{}\n{}", point.what, point.text);
        (titled(expected), titled(seen))
    };
    Divergence {
        step: expected.step,
        what: expected.what.clone(),
        recorded,
        seen: seen_text,
    }
}

/// All points of a recording.
fn points(recording: &Recording) -> Vec<Point> {
    let volatile = Volatile::of(&recording.task.workdir);
    let (mut steps, mut tool) = (0, String::new());
    let records = recording.trajectory.events.iter();
    records
        .filter_map(|record| point(&record.event, &volatile, &mut steps, &mut tool))
        .collect()
}

/// What of an event must be the same: what tools and checks answered, and what the agent made of a reply. Ends count only where the agent
/// completed: limits and signals belong to the run, not to the recording.
fn point(
    event: &Event,
    volatile: &Volatile,
    steps: &mut usize,
    tool: &mut String,
) -> Option<Point> {
    let (what, text) = match event {
        Event::Replied { .. } => {
            *steps += 1;
            return None;
        }
        Event::ToolStarted { call, .. } => {
            tool.clone_from(&call.name);
            return None;
        }
        Event::ToolDone { run, .. } => {
            let flag = if run.result.is_error { "error\n" } else { "" };
            let exit = run.exit_code.map(|code| format!("exit code {code}\n"));
            let text = format!("{flag}{}{}", exit.unwrap_or_default(), run.result.content);
            (format!("result of `{tool}`"), text)
        }
        Event::Answered { result } => ("answer without a tool".to_owned(), result.content.clone()),
        Event::Nudged { text } => ("note to the model".to_owned(), text.clone()),
        Event::Checked { verdicts, .. } => {
            let verdicts: Vec<String> = verdicts.iter().map(verdict).collect();
            ("completion checks".to_owned(), verdicts.join("\n"))
        }
        Event::EnvironmentFailed { message, .. } => {
            ("failure of the sandbox".to_owned(), message.clone())
        }
        Event::Finished {
            outcome: Outcome::Completed,
        } => ("end".to_owned(), "completed".to_owned()),
        Event::Finished {
            outcome: Outcome::Stopped { .. } | Outcome::Failed { .. } | Outcome::Cancelled,
        }
        | Event::Started { .. }
        | Event::ModelFailed { .. }
        | Event::DeadlinePassed
        | Event::CancelRequested
        | Event::Asked { .. }
        | Event::CheckStarted { .. }
        | Event::Elided { .. } => return None,
    };
    Some(Point {
        step: *steps,
        what,
        text: volatile.settle(&text),
    })
}

fn verdict(verdict: &CheckVerdict) -> String {
    match verdict {
        CheckVerdict::Accept => "accepted".to_owned(),
        CheckVerdict::Reject { message } => format!("rejected: {message}"),
        CheckVerdict::Broken { message } => format!("could not run: {message}"),
    }
}
