//! What the program says about itself while it works: into a file of the run, by `-v` to stderr; and panics.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::{Printer, Style, escape};

/// Our own crates: what others say is only shown when asked for everything.
const OURS: [&str; 6] = ["runner", "agent", "model", "sandbox", "dataset", "grade"];

/// Starts the log. The file is opened at the first line after its directory is there.
pub fn log(printer: &Printer, file: &Path) {
    let ours = |level: LevelFilter, others: LevelFilter| {
        Targets::new()
            .with_default(others)
            .with_targets(OURS.map(|name| (name, level)))
    };
    let to_file = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(LogFile::new(file))
        .with_filter(ours(LevelFilter::INFO, LevelFilter::WARN));
    let shown = match printer.verbosity() {
        ..=0 => ours(LevelFilter::OFF, LevelFilter::OFF),
        1 => ours(LevelFilter::INFO, LevelFilter::OFF),
        2 => ours(LevelFilter::DEBUG, LevelFilter::INFO),
        3.. => ours(LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    let to_stderr = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .without_time()
        .with_writer(Terminal(printer.clone()))
        .with_filter(shown);
    let registry = tracing_subscriber::registry().with(to_file).with(to_stderr);
    // A second call, in tests, keeps the first log.
    let _ = registry.try_init();
}

/// Says what happened when a part of the program panics. The process goes on: a panic of one attempt is that attempt's failure.
pub fn report_panics(printer: &Printer) {
    let printer = printer.clone();
    std::panic::set_hook(Box::new(move |panic| {
        if dataset::catches_panics() {
            return;
        }
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or_else(String::new, |location| {
            format!(" at {}:{}", location.file(), location.line())
        });
        tracing::error!("panic: {message}{place}");
        let label = printer.paint(Style::Bad, "bug in Patchmill:");
        printer.line(&format!("{label} {}{place}", escape::line(message)));
    }));
}

/// A file that is opened once its directory exists; what comes before is not kept.
#[derive(Clone)]
struct LogFile {
    path: PathBuf,
    file: Arc<Mutex<Option<File>>>,
}

impl LogFile {
    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            file: Arc::default(),
        }
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let mut options = OpenOptions::new();
            *file = options.create(true).append(true).open(&self.path).ok();
        }
        match &mut *file {
            Some(file) => file.write(line),
            None => Ok(line.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// stderr by way of the printer, so that bars are not torn and nothing hostile gets through.
#[derive(Clone)]
struct Terminal(Printer);

impl Write for Terminal {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.line(&escape::block(text.trim_end()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Terminal {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
