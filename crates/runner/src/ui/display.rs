//! What people see while a batch runs: a bar with a line for each running instance, or a plain line for each finished one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use schema::journal::GradeSummary;
use schema::{AttemptKey, Outcome, RunEvent, Usage};
use tokio::sync::watch;

use super::{Printer, Style, escape};
use crate::cli::arguments::Progress;
use crate::dispatcher::{AttemptStatus, LiveState, Sink};
use crate::plan::Plan;

/// How often the bars look at the running attempts.
const REFRESH: Duration = Duration::from_millis(200);

/// Lines of running instances; more are counted in a last line.
const SHOWN: usize = 16;

/// Prints events as they come: finished instances where progress is plain, warnings always.
#[derive(Debug)]
pub struct Lines {
    printer: Printer,
    finished: usize,
    planned: usize,
}

impl Lines {
    /// A sink that prints by `printer` what becomes of `plan`.
    pub fn new(printer: &Printer, plan: &Plan) -> Self {
        Self {
            printer: printer.clone(),
            finished: 0,
            planned: plan.jobs.len(),
        }
    }

    fn attempt(&mut self, key: &AttemptKey, outcome: &Outcome, what: &Finished) {
        self.finished += 1;
        let failed = matches!(outcome, Outcome::Failed { .. });
        match self.printer.progress() {
            Progress::Plain => {}
            // The bars show the rest.
            Progress::Bar if failed => {}
            Progress::Auto | Progress::Bar | Progress::None => return,
        }
        let width = self.planned.to_string().len();
        let count = format!("[{:>width$}/{}]", self.finished, self.planned);
        let count = self.printer.paint(Style::Dim, &count);
        let id = escape::short(&name_of(key), 60);
        let steps = usize::try_from(what.steps).unwrap_or(usize::MAX);
        let mut parts = vec![
            format!("{count} {id}: {}", self.outcome(outcome)),
            super::count(steps, "step"),
            format!("{:.1} s", what.seconds),
        ];
        if let Some(cost) = what.usage.cost.filter(|cost| *cost > 0.0) {
            parts.push(format!("${cost:.3}"));
        }
        if what.empty {
            parts.push("empty patch".to_owned());
        }
        let mut line = parts.join(", ");
        if let Outcome::Failed { message, .. } = outcome {
            line = format!("{line}: {}", escape::short(message, 300));
        }
        self.printer.note(&line);
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        let (style, text) = match outcome {
            Outcome::Completed => (Style::Good, "completed".to_owned()),
            Outcome::Stopped { reason } => (Style::Warning, format!("stopped ({})", reason.name())),
            Outcome::Failed { reason, .. } => (Style::Bad, format!("failed ({})", reason.name())),
            Outcome::Cancelled => (Style::Warning, "cancelled".to_owned()),
        };
        self.printer.paint(style, &text)
    }

    fn graded(&self, key: &AttemptKey, grade: &GradeSummary, seconds: f64) {
        if self.printer.progress() != Progress::Plain {
            return;
        }
        let id = escape::short(&name_of(key), 60);
        let verdict = if grade.resolved {
            self.printer.paint(Style::Good, "resolved")
        } else {
            self.printer.paint(Style::Bad, "unresolved")
        };
        let note = match &grade.note {
            Some(note) if !grade.resolved => format!(": {}", escape::short(note, 300)),
            _ => String::new(),
        };
        self.printer
            .note(&format!("{id}: {verdict}, graded in {seconds:.1} s{note}"));
    }
}

struct Finished<'a> {
    steps: u32,
    seconds: f64,
    usage: &'a Usage,
    empty: bool,
}

/// The instance, and its sample and attempt where they are not the first.
fn name_of(key: &AttemptKey) -> String {
    match (key.sample, key.attempt) {
        (1, 1) => key.instance_id.to_string(),
        _ => key.to_string(),
    }
}

impl Sink for Lines {
    fn on_event(&mut self, _at: jiff::Timestamp, event: &RunEvent) {
        match event {
            RunEvent::AttemptFinished {
                key,
                outcome,
                steps,
                usage,
                seconds,
                patch,
                network: _,
            } => self.attempt(
                key,
                outcome,
                &Finished {
                    steps: *steps,
                    seconds: seconds.total,
                    usage,
                    empty: patch.bytes == 0,
                },
            ),
            RunEvent::GradeFinished {
                key,
                grade,
                seconds,
                ..
            } => self.graded(key, grade, *seconds),
            RunEvent::GradeFailed {
                key, kind, message, ..
            } => self.printer.warn(&format!(
                "grading {} failed ({kind}): {message}",
                name_of(key)
            )),
            RunEvent::RetryPlanned { key, kind } => {
                self.planned += 1;
                let id = escape::short(&name_of(key), 60);
                self.printer
                    .note(&format!("{id}: {kind}, another attempt follows"));
            }
            RunEvent::Warning { message } => self.printer.warn(message),
            RunEvent::ImageRemoved { image, bytes, .. } => self.printer.warn(&format!(
                "removed the image {image} ({}) to make room: no instance needs it any more",
                super::size(*bytes)
            )),
            RunEvent::Aborted { reason } => {
                self.printer.warn(&format!("the run stops early: {reason}"));
            }
            RunEvent::Interrupted { signal } => self.printer.warn(&format!(
                "{signal}: running attempts end, patches are kept; once more ends them now"
            )),
            RunEvent::RunStarted { .. }
            | RunEvent::AttemptStarted { .. }
            | RunEvent::SandboxReady { .. }
            | RunEvent::SandboxKept { .. }
            | RunEvent::GradeStarted { .. }
            | RunEvent::RunFinished { .. } => {}
        }
    }
}

/// Draws the bars until the batch's state is no longer sent. Returns at once where progress is not shown by bars.
pub async fn bars(printer: Printer, mut live: watch::Receiver<LiveState>) {
    let Some(multi) = printer.bars().cloned() else {
        return;
    };
    let mut bars = Bars::new(multi);
    let mut tick = tokio::time::interval(REFRESH);
    loop {
        tokio::select! {
            changed = live.changed() => if changed.is_err() { break },
            _ = tick.tick() => {}
        }
        let state = live.borrow_and_update().clone();
        bars.draw(&state);
    }
    bars.clear();
}

struct Bars {
    multi: MultiProgress,
    total: ProgressBar,
    /// There while more attempts run than are shown.
    more: Option<ProgressBar>,
    running: HashMap<AttemptKey, ProgressBar>,
}

impl Bars {
    fn new(multi: MultiProgress) -> Self {
        let template = "{bar:30.cyan/dim} {pos}/{len} {elapsed} {msg}";
        let style = ProgressStyle::with_template(template);
        let total = multi.add(ProgressBar::new(0));
        total.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            multi,
            total,
            more: None,
            running: HashMap::new(),
        }
    }

    fn draw(&mut self, state: &LiveState) {
        self.total.set_length(length(state.planned));
        self.total.set_position(length(state.done));
        self.total.set_message(headline(state));
        let shown = state.running.iter().take(SHOWN);
        let keys: Vec<&AttemptKey> = shown.clone().map(|status| &status.key).collect();
        self.running.retain(|key, bar| {
            let stays = keys.contains(&key);
            if !stays {
                bar.finish_and_clear();
                self.multi.remove(bar);
            }
            stays
        });
        for status in shown {
            let bar = self.running.entry(status.key.clone()).or_insert_with(|| {
                let bar = ProgressBar::new_spinner().with_style(line_style());
                self.multi.insert_before(&self.total, bar)
            });
            bar.set_message(line(status));
        }
        match state.running.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => {
                let bar = self.more.get_or_insert_with(|| {
                    let bar = ProgressBar::new_spinner().with_style(line_style());
                    self.multi.insert_before(&self.total, bar)
                });
                bar.set_message(format!("  … and {more} more"));
            }
            _ => self.remove_more(),
        }
    }

    fn remove_more(&mut self) {
        if let Some(bar) = self.more.take() {
            bar.finish_and_clear();
            self.multi.remove(&bar);
        }
    }

    fn clear(&mut self) {
        for (_, bar) in self.running.drain() {
            bar.finish_and_clear();
        }
        self.remove_more();
        self.total.finish_and_clear();
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn line_style() -> ProgressStyle {
    ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// `12 completed, 1 failed, 9/12 resolved, $1.20`.
fn headline(state: &LiveState) -> String {
    let mut parts: Vec<String> = state
        .outcomes
        .iter()
        .map(|(name, number)| format!("{number} {name}"))
        .collect();
    if state.graded > 0 || state.grading > 0 {
        parts.push(format!("{}/{} resolved", state.resolved, state.graded));
    }
    if let Some(cost) = state.usage.cost.filter(|cost| *cost > 0.0) {
        parts.push(format!("${cost:.2}"));
    }
    if state.stopping {
        parts.push("stopping".to_owned());
    }
    parts.join(", ")
}

/// `  astropy__astropy-1   tool  step 12  1m05s  pytest -q`.
fn line(status: &AttemptStatus) -> String {
    let seconds = status.age().as_secs();
    format!(
        "  {:<32} {:<8} step {:<3} {:>2}m{:02}s  {}",
        escape::short(&name_of(&status.key), 32),
        status.phase().name(),
        status.steps(),
        seconds / 60,
        seconds % 60,
        escape::short(&command(&status.action()), 120)
    )
}

/// The command of a shell call, which is all that people want to see of it; other calls as they are.
fn command(action: &str) -> Cow<'_, str> {
    match action.strip_prefix("bash {\"command\":\"") {
        None => Cow::Borrowed(action),
        Some(command) => {
            let command = command.trim_end_matches("\"}");
            let command = command.replace("\\n", " ⏎ ").replace("\\\"", "\"");
            Cow::Owned(format!("$ {command}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn a_shell_call_is_shown_as_its_command() {
        let call = r#"bash {"command":"echo \"a\"\nls"}"#;
        assert_eq!(command(call), r#"$ echo "a" ⏎ ls"#);
        assert_eq!(command("bash {\"command\":\"ls -l"), "$ ls -l");
        assert_eq!(command("search {}"), "search {}");
    }
}
