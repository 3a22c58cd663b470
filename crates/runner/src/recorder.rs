//! What an attempt leaves while it runs: its trajectory, and a log for people.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent::ports::{Observer, Recorder};
use schema::event::CheckVerdict;
use schema::{Event, Record};
use secrecy::{ExposeSecret, SecretString};

use crate::dispatcher::{AttemptStatus, Phase};
use crate::store::trajectory::TrajectoryWriter;

/// Characters of a call or a text that one line shows.
const SHOWN: usize = 160;

/// The log for people is at most this far behind.
const FLUSH: Duration = Duration::from_secs(1);

/// The trajectory, shared by the driver that fills it and the attempt that ends it.
#[derive(Clone)]
pub struct SharedTrajectory(pub(crate) Arc<Mutex<TrajectoryWriter>>);

impl SharedTrajectory {
    /// Shares a log.
    pub fn new(writer: TrajectoryWriter) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    /// Does something with the log.
    pub fn with<T>(&self, work: impl FnOnce(&mut TrajectoryWriter) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Recorder for SharedTrajectory {
    fn append(&mut self, record: &Record) -> io::Result<()> {
        self.with(|writer| writer.append(record))
    }
}

/// Takes known secrets out of text.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Arc<[SecretString]>,
}

impl Redactor {
    /// Knows these secrets; shorter than 6 bytes they would be found everywhere, and are not looked for.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        Self {
            secrets: secrets
                .into_iter()
                .filter(|secret| secret.expose_secret().len() >= 6)
                .collect(),
        }
    }

    /// `text` without them.
    pub fn clean(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            let secret = secret.expose_secret();
            if text.contains(secret) {
                text.replace(secret, "[redacted]")
            } else {
                text
            }
        })
    }
}

/// `attempt.log`: a line for each thing that happens, buffered.
pub struct AttemptLog {
    file: BufWriter<File>,
    redactor: Redactor,
    started: Instant,
    flushed: Instant,
}

impl AttemptLog {
    /// Creates the log.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path, redactor: Redactor) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::new(File::create(path)?),
            redactor,
            started: Instant::now(),
            flushed: Instant::now(),
        })
    }

    /// Adds a line. A log that cannot be written is no reason to end an attempt.
    pub fn line(&mut self, text: String) {
        let seconds = self.started.elapsed().as_secs_f64();
        let text = self.redactor.clean(text);
        let _ = writeln!(self.file, "[{seconds:9.3}] {text}");
        if self.flushed.elapsed() >= FLUSH {
            self.flush();
        }
    }

    /// Writes out what is buffered.
    pub fn flush(&mut self) {
        let _ = self.file.flush();
        self.flushed = Instant::now();
    }
}

/// The log, shared by the attempt and the observer of its driver.
#[derive(Clone)]
pub struct SharedLog(Arc<Mutex<AttemptLog>>);

impl SharedLog {
    /// Shares a log.
    pub fn new(log: AttemptLog) -> Self {
        Self(Arc::new(Mutex::new(log)))
    }

    /// Adds a line.
    pub fn line(&self, text: impl Into<String>) {
        self.lock().line(text.into());
    }

    /// Writes out what is buffered.
    pub fn flush(&self) {
        self.lock().flush();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, AttemptLog> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Watches one attempt for the display and the log.
pub struct AttemptObserver {
    /// What the display sees.
    pub status: Arc<AttemptStatus>,
    /// The log for people.
    pub log: SharedLog,
}

impl Observer for AttemptObserver {
    fn on_record(&self, record: &Record) {
        self.follow(&record.event);
        if let Some(line) = describe(&record.event) {
            self.log.line(line);
        }
    }
}

impl AttemptObserver {
    fn follow(&self, event: &Event) {
        match event {
            Event::Asked { .. } => self.status.enter(Phase::Model),
            Event::Replied { reply, .. } => {
                let usage = &reply.usage;
                self.status.step(usage.input + usage.output);
            }
            Event::ToolStarted { call, .. } => {
                self.status.enter(Phase::Tool);
                self.status.act(|action| {
                    action.push_str(&call.name);
                    action.push(' ');
                    push_short(action, &call.arguments, SHOWN);
                });
            }
            Event::CheckStarted { .. } => self.status.enter(Phase::Checking),
            Event::Finished { .. } => self.status.enter(Phase::Ending),
            Event::Started { .. }
            | Event::ModelFailed { .. }
            | Event::ToolDone { .. }
            | Event::EnvironmentFailed { .. }
            | Event::Checked { .. }
            | Event::DeadlinePassed
            | Event::CancelRequested
            | Event::Answered { .. }
            | Event::Nudged { .. }
            | Event::Elided { .. } => {}
        }
    }
}

/// One line for people, `None` for what says nothing to them.
fn describe(event: &Event) -> Option<String> {
    let mut line = String::new();
    match event {
        Event::Asked { .. } => return None,
        Event::Started { task, .. } => {
            line.push_str("task: ");
            push_short(&mut line, &task.statement, SHOWN);
        }
        Event::Replied { reply, .. } => {
            let usage = &reply.usage;
            line = format!(
                "model: {} in, {} out, {:.1} s, {} retries: ",
                usage.input,
                usage.output,
                seconds(reply.elapsed_ms),
                reply.retries.len()
            );
            push_short(&mut line, &reply.text, SHOWN);
        }
        Event::ModelFailed { failure, .. } => {
            line = format!("model failed: {}", failure.message);
        }
        Event::ToolStarted { call, .. } => {
            line = format!("{}: ", call.name);
            push_short(&mut line, &call.arguments, 4 * SHOWN);
        }
        Event::ToolDone { run, .. } => {
            line = format!(
                "  -> {} bytes, {:.3} s",
                run.output_bytes.max(run.result.content.len() as u64),
                seconds(run.elapsed_ms)
            );
            if let Some(code) = run.exit_code {
                let _ = write!(line, ", exit code {code}");
            }
            if run.timed_out {
                line.push_str(", timed out");
            }
            line.push_str(": ");
            push_short(&mut line, &run.result.content, SHOWN);
        }
        Event::EnvironmentFailed { kind, message, .. } => line = format!("{kind}: {message}"),
        Event::CheckStarted { .. } => line.push_str("task_done: checking"),
        Event::Checked { verdicts, .. } => {
            line.push_str("task_done: ");
            match verdicts
                .iter()
                .find(|verdict| **verdict != CheckVerdict::Accept)
            {
                None => line.push_str("accepted"),
                Some(CheckVerdict::Reject { message } | CheckVerdict::Broken { message }) => {
                    push_short(&mut line, message, SHOWN);
                }
                Some(CheckVerdict::Accept) => {}
            }
        }
        Event::DeadlinePassed => line.push_str("out of time"),
        Event::CancelRequested => line.push_str("cancelled"),
        Event::Answered { result } => {
            line.push_str("answered: ");
            push_short(&mut line, &result.content, SHOWN);
        }
        Event::Nudged { text } => {
            line.push_str("nudged: ");
            push_short(&mut line, text, SHOWN);
        }
        Event::Elided { before } => line = format!("outputs of the first {before} turns left out"),
        Event::Finished { outcome } => {
            line = format!("finished: {} {}", outcome.name(), outcome.reason());
        }
    }
    Some(line)
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1e3
}

/// Adds the start of `text` on one line.
pub(crate) fn push_short(line: &mut String, text: &str, most: usize) {
    let mut characters = text.trim().chars();
    for character in characters.by_ref().take(most) {
        line.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    if characters.next().is_some() {
        line.push_str("...");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_the_log() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("attempt.log");
        let redactor = Redactor::new(["sk-verysecret".to_owned().into(), "ab".to_owned().into()]);
        let mut log = AttemptLog::create(&path, redactor).unwrap();
        log.line("echo sk-verysecret about".into());
        log.flush();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.ends_with("echo [redacted] about\n"), "{text}");
    }

    #[test]
    fn a_long_text_is_cut_to_one_line() {
        let mut line = String::new();
        push_short(&mut line, "a\nb\u{1b}[31mc", 4);
        assert_eq!(line, "a b ...");
    }
}
