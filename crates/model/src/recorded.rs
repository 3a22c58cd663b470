//! `replay:PATH`: the answers of a recorded trajectory, failures included, in order.

use std::path::Path;

use schema::event::ModelFailure;
use schema::{Event, FormatVersion, Header, Record, Reply, Trajectory};

use crate::canned::{Answers, Kind};
use crate::error::Error;

/// Files of trajectories; a recorded reply carries the cost that it had.
pub(crate) const KIND: Kind = Kind {
    name: "replay",
    endings: &[".json", ".jsonl"],
    read,
};

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
    check_version(path, &trajectory.header)?;
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
        let header = serde_json::from_str(line)
            .map_err(|source| malformed(number, "a trajectory's header", source))?;
        check_version(path, &header)?;
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

fn check_version(path: &Path, header: &Header) -> Result<(), Error> {
    let (known, found) = (FormatVersion::TRAJECTORY, header.schema_version);
    if known.reads(found) {
        return Ok(());
    }
    Err(Error::Version {
        path: path.to_owned(),
        found,
        known,
    })
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
