//! Journals: appended by one writer each, read as their union.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use schema::RunEvent;
use schema::journal::JournalLine;
use serde::Serialize;

use super::append::Appender;
use super::{RunDirectory, owner};
use crate::clock;
use crate::error::{At, Error};

/// [`JournalLine`] as it is written, without a copy of the event.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    #[serde(flatten)]
    event: &'a RunEvent,
}

/// Appends events, one `write` each.
#[derive(Debug)]
pub struct JournalWriter {
    file: Appender,
    buffer: Vec<u8>,
    unsynced: bool,
}

impl JournalWriter {
    /// Creates the journal at `path`, which must not exist.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: Appender::create(path)?,
            buffer: Vec::new(),
            unsynced: false,
        })
    }

    /// Appends one event.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, at: Timestamp, event: &RunEvent) -> io::Result<()> {
        let line = Line {
            at: clock::text(at),
            event,
        };
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, &line)?;
        self.buffer.push(b'\n');
        self.file.append(&self.buffer)?;
        self.unsynced |= is_lasting(event);
        Ok(())
    }

    /// Makes every end that was appended survive a power cut.
    ///
    /// # Errors
    /// When it cannot be synced.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.unsynced {
            self.file.sync()?;
            self.unsynced = false;
        }
        Ok(())
    }
}

/// Whether losing an event would lose something that was done: what only began is begun again.
fn is_lasting(event: &RunEvent) -> bool {
    match event {
        RunEvent::AttemptFinished { .. }
        | RunEvent::GradeFinished { .. }
        | RunEvent::GradeFailed { .. }
        | RunEvent::Aborted { .. }
        | RunEvent::RunFinished { .. } => true,
        RunEvent::RunStarted { .. }
        | RunEvent::AttemptStarted { .. }
        | RunEvent::SandboxReady { .. }
        | RunEvent::SandboxKept { .. }
        | RunEvent::ImageRemoved { .. }
        | RunEvent::RetryPlanned { .. }
        | RunEvent::GradeStarted { .. }
        | RunEvent::Warning { .. }
        | RunEvent::Interrupted { .. } => false,
    }
}

/// The union of a run's journals, in time order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Journal {
    /// Its lines.
    pub lines: Vec<JournalLine>,
    /// Lines that could not be read: torn by a death, or written by a newer version.
    pub skipped: usize,
}

/// Reads all journals of a run.
///
/// # Errors
/// When one cannot be read; lines that make no sense are only counted.
pub fn read(run: &RunDirectory) -> Result<Journal, Error> {
    let mut journal = Journal::default();
    for (_, directory) in owner::directories(&run.writers())? {
        let path = directory.join("journal.jsonl");
        match fs::read(&path) {
            Ok(text) => add(&mut journal, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at("read", path),
        }
    }
    // The sort is stable: lines of one writer keep their order within a millisecond.
    journal.lines.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(journal)
}

fn add(journal: &mut Journal, text: &[u8]) {
    for line in text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(line) => journal.lines.push(line),
            Err(_) => journal.skipped += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(message: &str) -> RunEvent {
        RunEvent::Warning {
            message: message.into(),
        }
    }

    fn messages(journal: &Journal) -> Vec<&str> {
        journal
            .lines
            .iter()
            .map(|line| match &line.event {
                RunEvent::Warning { message } => message.as_str(),
                _ => "other",
            })
            .collect()
    }

    #[test]
    fn readers_unite_writers_in_time_order_and_drop_a_torn_line() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        let time = |millisecond: i64| Timestamp::from_millisecond(millisecond).unwrap();
        for (writer, events) in [("w1", [1, 30]), ("w2", [20, 40])] {
            let directory = run.writers().join(writer);
            fs::create_dir_all(&directory).unwrap();
            let mut journal = JournalWriter::create(&directory.join("journal.jsonl")).unwrap();
            for at in events {
                journal
                    .append(time(at), &warning(&format!("{writer} {at}")))
                    .unwrap();
            }
            journal.sync().unwrap();
        }
        let torn = run.writers().join("w1/journal.jsonl");
        let mut text = fs::read(&torn).unwrap();
        text.extend_from_slice(b"{\"at\":\"1970-01-01T00:00:00.050Z\",\"event\":\"warn");
        fs::write(&torn, text).unwrap();

        let journal = read(&run).unwrap();
        assert_eq!(messages(&journal), ["w1 1", "w2 20", "w1 30", "w2 40"]);
        assert_eq!(journal.skipped, 1);
    }

    #[test]
    fn every_prefix_of_a_journal_reads_as_its_whole_lines() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        let directory = run.writers().join("w1");
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("journal.jsonl");
        let mut journal = JournalWriter::create(&path).unwrap();
        for number in 0..3 {
            journal
                .append(clock::now(), &warning(&number.to_string()))
                .unwrap();
        }
        let text = fs::read(&path).unwrap();
        for end in 0..=text.len() {
            fs::write(&path, &text[..end]).unwrap();
            let whole = text[..end].split(|byte| *byte == b'\n').count() - 1;
            let read = read(&run).unwrap().lines.len();
            // A line that lacks nothing but its newline is whole.
            assert!(read == whole || (read == whole + 1 && text.get(end) == Some(&b'\n')));
        }
    }

    #[test]
    fn a_run_without_writers_has_an_empty_journal() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path().join("absent"));
        assert_eq!(read(&run).unwrap(), Journal::default());
    }
}
