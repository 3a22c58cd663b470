//! `report.md`.

use std::fmt::Write as _;

use schema::report::{InstanceReport, Rate, Report};

use crate::error::{At, Error};
use crate::store::{RunDirectory, atomic};
use crate::ui::escape;

/// Writes `report.md` of a run.
///
/// # Errors
/// When it cannot be written.
pub fn write(run: &RunDirectory, report: &Report) -> Result<(), Error> {
    let path = run.root().join("report.md");
    atomic::replace_bytes(&path, text(report).as_bytes()).at("write", &path)
}

/// The report as Markdown.
pub fn text(report: &Report) -> String {
    let summary = &report.summary;
    let mut text = String::from("# Report\n\n");
    let _ = writeln!(
        text,
        "{} selected.\n",
        crate::ui::count(summary.selected, "instance")
    );
    let Some(grading) = &summary.grading else {
        text.push_str("Nothing was graded.\n");
        return text;
    };
    text.push_str("| rate | resolved | of | share | 95 % interval |\n|---|---:|---:|---:|---|\n");
    for (name, rate) in [
        ("of those with a prediction", grading.resolved_of_submitted),
        ("of all", grading.resolved_of_all),
        (
            "official, of those with a prediction",
            grading.official_resolved_of_submitted,
        ),
    ] {
        let _ = writeln!(text, "| {name} | {} |", figures(rate));
    }
    if let Some(left) = &grading.without_quarantined {
        for (name, rate) in [
            ("of those with a prediction", left.resolved_of_submitted),
            ("of all", left.resolved_of_all),
            (
                "official, of those with a prediction",
                left.official_resolved_of_submitted,
            ),
        ] {
            let without = format!("{name}, without {} in quarantine", left.quarantined);
            let _ = writeln!(text, "| {without} | {} |", figures(rate));
        }
    }
    text.push_str("\n| bucket | instances |\n|---|---:|\n");
    for (bucket, count) in &grading.buckets {
        let _ = writeln!(text, "| {bucket} | {count} |");
    }
    let _ = writeln!(text, "| incomplete | {} |", grading.incomplete);
    let all: usize = grading.buckets.values().sum::<usize>() + grading.incomplete;
    let _ = writeln!(text, "| sum | {all} |\n");
    if let Some(mean) = grading.partial_mean {
        let _ = writeln!(
            text,
            "Mean share of the tests that turned, where some did: {mean:.3}.\n"
        );
    }
    let _ = writeln!(
        text,
        "Profiles: {}. {} from earlier gradings. {:.1} s of grading.\n",
        profiles(grading),
        crate::ui::count(grading.cached, "verdict"),
        grading.seconds
    );
    text.push_str("| instance | bucket | official | reason | seconds |\n|---|---|---|---|---:|\n");
    for instance in &report.instances {
        text.push_str(&line(instance));
    }
    text
}

/// `37 | 40 | 92.5 % | 80.1 % to 97.4 %`.
fn figures(rate: Rate) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    format!(
        "{} | {} | {} | {} to {}",
        rate.count,
        rate.of,
        percent(rate.rate),
        percent(rate.low),
        percent(rate.high)
    )
}

fn profiles(grading: &schema::report::GradingSummary) -> String {
    let named = grading
        .profiles
        .iter()
        .map(|(profile, count)| format!("{count} {profile}"));
    let named = named.collect::<Vec<_>>().join(", ");
    if named.is_empty() {
        "none".to_owned()
    } else {
        named
    }
}

fn line(instance: &InstanceReport) -> String {
    let mut id = cell(instance.instance_id.as_str());
    if instance.sample > 1 {
        let _ = write!(id, " s{}", instance.sample);
    }
    if let Some(reason) = &instance.quarantined {
        let _ = write!(id, " (quarantine: {})", cell(reason));
    }
    let bucket = match (instance.bucket, instance.partial) {
        (None, _) => "incomplete".to_owned(),
        (Some(bucket), Some(share)) => format!("{bucket} ({share:.3})"),
        (Some(bucket), None) => bucket.name().to_owned(),
    };
    let official = match instance.official_resolved {
        None => "",
        Some(true) => "resolved",
        Some(false) => "not resolved",
    };
    let reason = cell(instance.reason.as_deref().unwrap_or_default());
    let seconds = instance.seconds.map(|seconds| format!("{seconds:.1}"));
    format!(
        "| {id} | {bucket} | {official} | {reason} | {} |\n",
        seconds.unwrap_or_default()
    )
}

/// Text from outside in a cell of a table: on one line, and no markup.
fn cell(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in escape::short(text, 200).chars() {
        if matches!(c, '|' | '<' | '>' | '&' | '`' | '*' | '[' | ']' | '\\') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}
