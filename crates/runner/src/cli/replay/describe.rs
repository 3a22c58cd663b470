//! The report of a replay as text.

use schema::Outcome;

use super::report::{PatchMatch, Report};
use crate::replay::Divergence;
use crate::ui::{self, Printer, Style, escape};

/// Longest part of a difference that is shown.
const SHOWN_LINES: usize = 60;

/// One line where all is the same; else the first divergence, as a unified diff.
pub(super) fn text(report: &Report, printer: &Printer) -> String {
    let file = report.file.display().to_string();
    let file = escape::line(&file);
    let steps = ui::count(report.comparison.steps, "step");
    if report.is_same() {
        let patch = match report.patch {
            PatchMatch::Same => ", same patch",
            PatchMatch::Differs | PatchMatch::Unknown | PatchMatch::Unreached => "",
        };
        let same = printer.paint_out(Style::Good, "same");
        let results = ui::count(report.comparison.same, "result");
        return format!("{file}: {same} ({steps}, {results}{patch})");
    }
    if let Some(divergence) = &report.comparison.divergence {
        let diverged = printer.paint_out(Style::Bad, "diverged");
        let step = divergence.step;
        let what = escape::line(&divergence.what);
        return format!(
            "{file}: {diverged} at step {step}, {what}\n{}",
            difference(divergence, printer)
        );
    }
    let diverged = printer.paint_out(Style::Bad, "diverged");
    match &report.ended {
        Some(outcome) => format!("{file}: {}", ended(outcome, &steps, printer)),
        None => format!("{file}: {diverged}: all {steps} are the same, the patch is not"),
    }
}

fn ended(outcome: &Outcome, steps: &str, printer: &Printer) -> String {
    let word = printer.paint_out(Style::Bad, "ended early");
    let reason = match outcome {
        Outcome::Failed { reason, message } => {
            format!("{}: {}", reason.name(), escape::block(message))
        }
        Outcome::Completed | Outcome::Stopped { .. } | Outcome::Cancelled => {
            format!("{} {}", outcome.name(), outcome.reason())
        }
    };
    format!("{word} after {steps}: {}", reason.trim_end())
}

/// A unified diff from what was recorded to what was seen.
fn difference(divergence: &Divergence, printer: &Printer) -> String {
    let with_end = |text: &str| format!("{text}\n");
    let (recorded, seen) = (with_end(&divergence.recorded), with_end(&divergence.seen));
    let patch = git2::Patch::from_buffers(recorded.as_bytes(), None, seen.as_bytes(), None, None);
    let buffer = patch.and_then(|mut patch| patch.to_buf());
    let unified = buffer.map(|buffer| String::from_utf8_lossy(&buffer).into_owned());
    let unified = unified.unwrap_or_default();
    let body: Vec<&str> = unified
        .lines()
        .skip_while(|line| !line.starts_with("@@"))
        .collect();
    let mut lines = vec!["--- recorded".to_owned(), "+++ seen".to_owned()];
    for line in body.iter().take(SHOWN_LINES) {
        let safe = escape::block(line);
        lines.push(match line.chars().next() {
            Some('-') => printer.paint_out(Style::Bad, &safe),
            Some('+') => printer.paint_out(Style::Good, &safe),
            _ => safe.into_owned(),
        });
    }
    if let Some(more) = body.len().checked_sub(SHOWN_LINES).filter(|more| *more > 0) {
        lines.push(format!("… and {}", ui::count(more, "more line")));
    }
    lines.join("\n")
}
