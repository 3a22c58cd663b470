//! What people see of a run at its end: the table, what failed, the counts, where everything is.

use schema::report::{GradingSummary, Rate, WithoutQuarantined};

use crate::report::{self, Rebuilt, Row};
use crate::store::RunDirectory;
use crate::ui::{self, Printer};

/// Prints the summary, for people or for programs.
pub(in crate::cli) fn show(run: &RunDirectory, rebuilt: &Rebuilt, graded: bool, printer: &Printer) {
    if printer.is_json() {
        let text = serde_json::to_string_pretty(&rebuilt.report.summary);
        printer.data(&text.unwrap_or_default());
    } else {
        printer.data(&text(run, rebuilt, graded));
    }
}

/// Failures that are told in full; the rest is in `results.csv`.
const FAILURES: usize = 10;

/// `id: environment:lost: what happened`.
fn failure(row: &Row) -> String {
    let id = ui::escape::short(row.instance_id.as_str(), 60);
    let error = ui::escape::short(&row.error, 500);
    match row.reason {
        "" => format!("{id}: {error}"),
        reason => format!("{id}: {reason}: {error}"),
    }
}

/// What the counts are of: all that the run has, of which this command may have selected fewer.
fn selection(selected: usize, rows: &[Row]) -> String {
    let noun = if rows.iter().any(|row| row.sample > 1) {
        "sample"
    } else {
        "instance"
    };
    let all = ui::count(selected.max(rows.len()), noun);
    if selected < rows.len() {
        format!("{all} ({selected} selected now): ")
    } else {
        format!("{all}: ")
    }
}

fn text(run: &RunDirectory, rebuilt: &Rebuilt, graded: bool) -> String {
    let (rows, summary) = (&rebuilt.rows, &rebuilt.report.summary);
    let counts = |counts: &std::collections::BTreeMap<String, usize>| {
        let named = counts.iter().map(|(name, count)| format!("{count} {name}"));
        named.collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    if !rows.is_empty() {
        lines.push(report::table(rows));
        lines.push(String::new());
    }
    let failures = rows.iter().filter(|row| !row.error.is_empty());
    let mut failures: Vec<String> = failures.map(failure).collect();
    if !failures.is_empty() {
        let more = failures.len().saturating_sub(FAILURES);
        failures.truncate(FAILURES);
        lines.extend(failures);
        if more > 0 {
            let more = ui::count(more, "more failure");
            lines.push(format!("… and {more} in results.csv"));
        }
        lines.push(String::new());
    }
    let mut counted = selection(summary.selected, rows);
    counted.push_str(&counts(&summary.outcomes));
    if summary.outcomes.is_empty() {
        counted.push_str("none ended");
    }
    if graded {
        counted.push_str("; ");
        counted.push_str(&counts(&summary.verdicts));
    }
    lines.push(counted);
    if let Some(grading) = &summary.grading {
        lines.extend(verdicts(grading));
    }
    let usage = &summary.usage;
    let tokens = match (usage.input + usage.output, usage.cost) {
        (0, _) => "no tokens".to_owned(),
        (_, Some(cost)) => {
            format!(
                "{} tokens in, {} out, ${cost:.4}",
                usage.input, usage.output
            )
        }
        (_, None) => format!(
            "{} tokens in, {} out, cost unknown",
            usage.input, usage.output
        ),
    };
    lines.push(format!("{tokens}, {:.1} s", summary.seconds));
    let root = run.root().display();
    lines.push(format!("patches       {root}/patches"));
    lines.push(format!("trajectories  {root}/trajectories"));
    lines.push(format!("predictions   {root}/predictions.jsonl"));
    lines.push(format!(
        "results       {root}/results.csv, {root}/report.json, {root}/report.md"
    ));
    for name in &rebuilt.summaries {
        lines.push(format!("official      {root}/{name}"));
    }
    lines.join("\n")
}

/// Lines: the buckets that hold something, the rates, and those without the instances in quarantine.
fn verdicts(grading: &GradingSummary) -> Vec<String> {
    let mut buckets: Vec<String> = grading
        .buckets
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(bucket, count)| format!("{count} {bucket}"))
        .collect();
    if grading.incomplete > 0 {
        buckets.push(format!("{} incomplete", grading.incomplete));
    }
    if grading.cached > 0 {
        buckets.push(format!(
            "{} of them known from earlier gradings",
            grading.cached
        ));
    }
    let of_all = match grading.incomplete {
        0 => String::new(),
        _ => format!("; of all {}", share(grading.resolved_of_all)),
    };
    let mut rates = format!("resolved {}{of_all}", share(grading.resolved_of_submitted));
    if grading.official_resolved_of_submitted.count != grading.resolved_of_submitted.count {
        let official = grading.official_resolved_of_submitted;
        rates = format!("{rates}; official {}", share(official));
    }
    if let Some(mean) = grading.partial_mean {
        rates = format!("{rates}; partial ones {mean:.2} on average");
    }
    let mut lines = vec![buckets.join(", "), rates];
    lines.extend(grading.without_quarantined.as_ref().map(without));
    lines
}

/// The rates without the instances in quarantine.
fn without(left: &WithoutQuarantined) -> String {
    let mut line = format!(
        "without {} in quarantine: resolved {}",
        left.quarantined,
        share(left.resolved_of_submitted)
    );
    if left.resolved_of_all.of != left.resolved_of_submitted.of {
        line = format!("{line}; of all {}", share(left.resolved_of_all));
    }
    if left.official_resolved_of_submitted.count != left.resolved_of_submitted.count {
        let official = left.official_resolved_of_submitted;
        line = format!("{line}; official {}", share(official));
    }
    line
}

/// `3 of 4 (75.0 %, 95 % interval 30.1 to 95.4)`.
fn share(rate: Rate) -> String {
    let percent = |share: f64| share * 100.0;
    format!(
        "{} of {} ({:.1} %, 95 % interval {:.1} to {:.1})",
        rate.count,
        rate.of,
        percent(rate.rate),
        percent(rate.low),
        percent(rate.high)
    )
}
