//! `replay:PATH`: the answers of a recorded trajectory, failures included, in order.

use std::path::Path;
use std::sync::Arc;

use agent::ports::Model;
use schema::event::ModelFailure;
use schema::{Event, Header, InstanceId, Record, Reply, Trajectory};

use crate::canned::{Answers, Canned, Kind, Source};
use crate::choice::Choice;
use crate::error::Error;
use crate::provider::Provider;

const KIND: Kind = Kind {
    endings: &[".json", ".jsonl"],
    read,
};

/// Trajectories for one or for many instances.
pub(crate) struct Recordings {
    name: String,
    source: Source,
}

impl Recordings {
    pub(crate) fn open(choice: &Choice, path: &Path) -> Result<Self, Error> {
        Ok(Self {
            name: choice.to_string(),
            source: KIND.open(path)?,
        })
    }
}

impl Provider for Recordings {
    fn name(&self) -> &str {
        &self.name
    }

    /// A recorded reply carries the cost that it had.
    fn price_known(&self) -> bool {
        true
    }

    fn model(&self, instance: &InstanceId, sample: u32) -> Result<Arc<dyn Model>, Error> {
        let (path, answers) = KIND.answers(&self.source, instance, sample)?;
        Ok(Arc::new(Canned::new("replay", answers, path)))
    }
}

/// Reads a document (one JSON object) or a log (a header line, then records).
fn read(path: &Path, text: &str) -> Result<Answers, Error> {
    if path.extension().is_some_and(|ending| ending == "jsonl") {
        return read_log(path, text);
    }
    let trajectory: Trajectory = serde_json::from_str(text).map_err(|source| Error::Malformed {
        path: path.to_owned(),
        line: source.line(),
        expected: "a trajectory",
        source,
    })?;
    Ok(answers(trajectory.events))
}

/// Reads a log; a last line that was torn by a crash is dropped.
fn read_log(path: &Path, text: &str) -> Result<Answers, Error> {
    let malformed = |number: usize, expected, source| Error::Malformed {
        path: path.to_owned(),
        line: number + 1,
        expected,
        source,
    };
    let mut lines = text.split_inclusive('\n').enumerate();
    if let Some((number, line)) = lines.next() {
        serde_json::from_str::<Header>(line)
            .map_err(|source| malformed(number, "a trajectory's header", source))?;
    }
    let mut records = Vec::new();
    for (number, line) in lines {
        match serde_json::from_str::<Record>(line) {
            Ok(record) => records.push(record),
            Err(_) if !line.ends_with('\n') => {}
            Err(source) => return Err(malformed(number, "a trajectory's record", source)),
        }
    }
    Ok(answers(records))
}

fn answers(records: Vec<Record>) -> Answers {
    records
        .into_iter()
        .filter_map(|record| answer(record.event))
        .collect()
}

/// What the model said or failed with, for the two events that record it.
fn answer(event: Event) -> Option<Result<Reply, ModelFailure>> {
    if let Event::Replied { reply, .. } = event {
        Some(Ok(reply))
    } else if let Event::ModelFailed { failure, .. } = event {
        Some(Err(failure))
    } else {
        None
    }
}
