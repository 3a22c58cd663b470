//! Trajectory logs: a header line and one event a line; and the same as one document.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use schema::{Elapsed, Event, Header, Outcome, Record, Trajectory};

use super::append::Appender;
use super::atomic;

/// Appends records, one `write` each.
#[derive(Debug)]
pub struct TrajectoryWriter {
    file: Appender,
    buffer: Vec<u8>,
    durable: bool,
    last: u64,
    last_at: Elapsed,
    finished: bool,
}

impl TrajectoryWriter {
    /// Creates the log at `path`, which must not exist, and writes its header. `durable` syncs every record.
    ///
    /// # Errors
    /// When it cannot be created or written.
    pub fn create(path: &Path, header: &Header, durable: bool) -> io::Result<Self> {
        let mut writer = Self {
            file: Appender::create(path)?,
            buffer: Vec::with_capacity(4096),
            durable,
            last: 0,
            last_at: Elapsed(0),
            finished: false,
        };
        serde_json::to_writer(&mut writer.buffer, header)?;
        writer.put()?;
        Ok(writer)
    }

    /// Appends one record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, record: &Record) -> io::Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, record)?;
        self.put()?;
        self.last = record.seq;
        self.last_at = record.at;
        self.finished |= matches!(record.event, Event::Finished { .. });
        Ok(())
    }

    /// Appends the end, unless the log already has one: every log that has a header gets exactly one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(&mut self, at: Elapsed, outcome: &Outcome) -> io::Result<()> {
        if self.finished {
            return Ok(());
        }
        self.append(&Record {
            seq: self.last + 1,
            at: at.max(self.last_at),
            event: Event::Finished {
                outcome: outcome.clone(),
            },
        })
    }

    /// Makes the log survive a power cut.
    ///
    /// # Errors
    /// When it cannot be synced.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn put(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        self.file.append(&self.buffer)?;
        if self.durable {
            self.file.sync()?;
        }
        Ok(())
    }
}

/// Reads a log; a torn last line is dropped. `None` when not even the header is whole.
///
/// # Errors
/// When the file cannot be read, or a line before the last makes no sense.
pub fn read(path: &Path) -> io::Result<Option<Trajectory>> {
    let mut lines = BufReader::new(File::open(path)?).split(b'\n').peekable();
    let Some(first) = lines.next().transpose()? else {
        return Ok(None);
    };
    let Ok(header) = serde_json::from_slice(&first) else {
        return Ok(None);
    };
    let mut events = Vec::new();
    while let Some(line) = lines.next().transpose()? {
        match serde_json::from_slice(&line) {
            Ok(record) => events.push(record),
            Err(_) if lines.peek().is_none() => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(Trajectory { header, events }))
}

/// Writes the log at `log` as one document to `document`, without reading the events into memory: the document's events are the log's lines.
///
/// # Errors
/// When the log cannot be read or the document cannot be written.
pub fn write_document(log: &Path, document: &Path) -> io::Result<()> {
    let mut log = BufReader::with_capacity(64 * 1024, File::open(log)?);
    let mut line = Vec::new();
    if !next_line(&mut log, &mut line)? {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the log has no header",
        ));
    }
    atomic::replace_derived(document, |file| {
        file.write_all(b"{\n\"header\": ")?;
        file.write_all(&line)?;
        file.write_all(b",\n\"events\": [")?;
        let mut separator: &[u8] = b"\n";
        while next_line(&mut log, &mut line)? {
            file.write_all(separator)?;
            file.write_all(&line)?;
            separator = b",\n";
        }
        file.write_all(b"\n]\n}\n")
    })
}

/// Reads one whole line without its newline; a torn one counts as the end.
fn next_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    log.read_until(b'\n', line)?;
    Ok(line.pop() == Some(b'\n'))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::{FormatVersion, InstanceId};

    use super::*;

    fn header() -> Header {
        Header {
            schema_version: FormatVersion::TRAJECTORY,
            instance_id: InstanceId::new("a"),
            sample: 1,
            attempt: 1,
            model: "script:x".into(),
            config_sha256: String::new(),
            prompt_sha256: String::new(),
            tools: vec!["bash".into()],
            sandbox: "local".into(),
            start_commit: String::new(),
            environment: BTreeMap::new(),
            patchmill: "0".into(),
        }
    }

    fn nudge(seq: u64) -> Record {
        Record {
            seq,
            at: Elapsed(seq * 10),
            event: Event::Nudged {
                text: "line\nbreak".into(),
            },
        }
    }

    #[test]
    fn a_log_and_its_document_hold_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let (log, document) = (
            directory.path().join("trajectory.jsonl"),
            directory.path().join("a.json"),
        );
        let mut writer = TrajectoryWriter::create(&log, &header(), false).unwrap();
        writer.append(&nudge(1)).unwrap();
        writer.append(&nudge(2)).unwrap();
        writer.finish(Elapsed(5), &Outcome::Cancelled).unwrap();
        writer.finish(Elapsed(50), &Outcome::Completed).unwrap();

        let read = read(&log).unwrap().unwrap();
        assert_eq!(read.events.len(), 3);
        assert_eq!(read.events[2].seq, 3);
        assert_eq!(read.events[2].at, Elapsed(20));
        assert_eq!(read.outcome(), Some(&Outcome::Cancelled));

        write_document(&log, &document).unwrap();
        let text = std::fs::read(&document).unwrap();
        let from_document: Trajectory = serde_json::from_slice(&text).unwrap();
        assert_eq!(from_document, read);
    }

    #[test]
    fn a_torn_last_line_is_dropped_from_both() {
        let directory = tempfile::tempdir().unwrap();
        let (log, document) = (
            directory.path().join("trajectory.jsonl"),
            directory.path().join("a.json"),
        );
        let mut writer = TrajectoryWriter::create(&log, &header(), false).unwrap();
        writer.append(&nudge(1)).unwrap();
        let mut text = std::fs::read(&log).unwrap();
        text.extend_from_slice(b"{\"seq\":2,\"at\":2,\"ev");
        std::fs::write(&log, text).unwrap();
        assert_eq!(read(&log).unwrap().unwrap().events, [nudge(1)]);
        write_document(&log, &document).unwrap();
        let text = std::fs::read(&document).unwrap();
        assert_eq!(
            serde_json::from_slice::<Trajectory>(&text).unwrap().events,
            [nudge(1)]
        );
    }

    #[test]
    fn a_log_without_a_whole_header_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("trajectory.jsonl");
        std::fs::write(&log, b"").unwrap();
        assert_eq!(read(&log).unwrap(), None);
        std::fs::write(&log, b"{\"schema_ver").unwrap();
        assert_eq!(read(&log).unwrap(), None);
    }
}
