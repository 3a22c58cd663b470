//! Where text goes, and how it looks.

use std::io::{IsTerminal as _, Write as _};

use indicatif::MultiProgress;

use super::escape;
use crate::cli::arguments::{Color, Format, Global, Progress};
use crate::exit::Exit;

/// Writes to the two streams. Writing to a closed pipe is no error: the reader has seen enough.
#[derive(Debug, Clone)]
pub struct Printer {
    format: Format,
    progress: Progress,
    verbosity: i8,
    color_out: bool,
    color_err: bool,
    bars: Option<MultiProgress>,
}

/// Colours, by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Went well.
    Good,
    /// Needs a look.
    Warning,
    /// Went wrong.
    Bad,
    /// Advice, paths.
    Hint,
    /// Less important.
    Dim,
    /// More important.
    Bold,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "31",
            Self::Hint => "36",
            Self::Dim => "2",
            Self::Bold => "1",
        }
    }
}

fn paint(on: bool, style: Style, text: &str) -> String {
    if on {
        format!("\x1b[{}m{text}\x1b[0m", style.code())
    } else {
        text.to_owned()
    }
}

impl Printer {
    /// A printer as the flags ask for.
    pub fn new(global: &Global) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let color = |terminal: bool| match global.color {
            Color::Auto => terminal && !plain,
            Color::Always => true,
            Color::Never => false,
        };
        let terminal = std::io::stderr().is_terminal();
        let progress = match global.progress {
            _ if global.quiet => Progress::None,
            Progress::Auto if terminal && global.verbose == 0 => Progress::Bar,
            Progress::Auto => Progress::Plain,
            chosen => chosen,
        };
        let verbosity = i8::try_from(global.verbose).unwrap_or(i8::MAX);
        Self {
            format: global.format,
            progress,
            verbosity: if global.quiet { -1 } else { verbosity },
            color_out: color(std::io::stdout().is_terminal()),
            color_err: color(terminal),
            bars: (progress == Progress::Bar).then(MultiProgress::new),
        }
    }

    /// Whether stdout holds JSON.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// How progress is shown; never `Auto`.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The bars, where progress is shown by bars.
    pub fn bars(&self) -> Option<&MultiProgress> {
        self.bars.as_ref()
    }

    /// How much to say: -1 quiet, 0 usual, 1 and more verbose.
    pub fn verbosity(&self) -> i8 {
        self.verbosity
    }

    /// Paints text for stdout.
    pub fn paint_out(&self, style: Style, text: &str) -> String {
        paint(self.color_out, style, text)
    }

    /// Paints text for stderr.
    pub fn paint(&self, style: Style, text: &str) -> String {
        paint(self.color_err, style, text)
    }

    /// Data, to stdout; a last line feed is added where it is missing.
    pub fn data(&self, text: &str) {
        self.apart_from_bars(|| {
            let mut out = std::io::stdout().lock();
            let end = if text.ends_with('\n') { "" } else { "\n" };
            let _ = write!(out, "{text}{end}").and_then(|()| out.flush());
        });
    }

    /// One line for people, to stderr, unless quiet.
    pub fn note(&self, text: &str) {
        if self.verbosity >= 0 {
            self.line(text);
        }
    }

    /// One line that people should not miss, to stderr, unless quiet.
    pub fn warn(&self, text: &str) {
        let label = self.paint(Style::Warning, "warning:");
        self.note(&format!("{label} {}", escape::line(text)));
    }

    /// An error with its causes, then advice.
    pub fn error(&self, error: &dyn std::error::Error, hints: &[String]) {
        let mut lines = vec![format!(
            "{} {}",
            self.paint(Style::Bad, "error:"),
            escape::block(&error.to_string())
        )];
        let mut said = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let message = error.to_string();
            if !said.contains(&message) {
                let indented = message.replace('\n', "\n    ");
                lines.push(format!("  cause: {}", escape::block(&indented)));
            }
            said = message;
            cause = error.source();
        }
        let label = self.paint(Style::Hint, "hint:");
        let hints = hints.iter();
        lines.extend(hints.map(|hint| format!("{label} {}", escape::block(hint))));
        self.line(&lines.join("\n"));
    }

    /// One line to stderr, also when quiet.
    pub(super) fn line(&self, text: &str) {
        self.apart_from_bars(|| {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        });
    }

    fn apart_from_bars(&self, write: impl FnOnce()) {
        match &self.bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }
}

/// Prints what clap has to say: help and version to stdout, complaints to stderr.
pub fn clap_error(error: &clap::Error) -> Exit {
    let _ = error.print();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Success
    }
}
