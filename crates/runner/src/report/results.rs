//! `results.csv`.

use std::io::Write;

use schema::journal::GradeSummary;

use super::row::Row;
use crate::error::{At, Error};
use crate::store::{RunDirectory, atomic};

/// The columns, in order. Readers rely on them: add at the end, never rename.
const COLUMNS: [&str; 30] = [
    "instance_id",
    "sample",
    "attempt",
    "repo",
    "outcome",
    "reason",
    "verdict",
    "resolved",
    "official_resolved",
    "tamper_reason",
    "profile",
    "empty_reason",
    "patch_bytes",
    "files",
    "steps",
    "input",
    "cached",
    "output",
    "cost",
    "seconds_setup",
    "seconds_model",
    "seconds_tool",
    "seconds_grade",
    "seconds_total",
    "error",
    "bucket",
    "partial",
    "cached",
    "failed_tests",
    "missing_tests",
];

/// Writes `results.csv` of a run.
///
/// # Errors
/// When it cannot be written.
pub fn write(run: &RunDirectory, rows: &[Row]) -> Result<(), Error> {
    let path = run.root().join("results.csv");
    atomic::replace(&path, |file| write_to(file, rows)).at("write", &path)
}

fn write_to(to: &mut impl Write, rows: &[Row]) -> std::io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(COLUMNS)?;
    for row in rows {
        csv.write_record(fields(row))?;
    }
    csv.flush()
}

fn fields(row: &Row) -> [String; COLUMNS.len()] {
    let truth = |value: Option<bool>| value.map(|value| value.to_string()).unwrap_or_default();
    let seconds = |value: f64| format!("{value:.3}");
    let graded = |field: &dyn Fn(&GradeSummary) -> Option<String>| {
        row.grade.as_ref().and_then(field).unwrap_or_default()
    };
    [
        row.instance_id.to_string(),
        row.sample.to_string(),
        row.attempt.to_string(),
        row.repo.clone(),
        row.outcome.to_owned(),
        row.reason.to_owned(),
        row.verdict.to_owned(),
        truth(row.resolved),
        truth(row.official_resolved),
        row.tamper_reason.clone(),
        row.profile
            .map(|profile| profile.to_string())
            .unwrap_or_default(),
        row.empty_reason.map(name_of).unwrap_or_default(),
        row.patch_bytes.to_string(),
        row.files.to_string(),
        row.steps.to_string(),
        row.usage.input.to_string(),
        row.usage.cached.to_string(),
        row.usage.output.to_string(),
        row.usage
            .cost
            .map(|cost| format!("{cost:.6}"))
            .unwrap_or_default(),
        seconds(row.seconds_setup),
        seconds(row.seconds_model),
        seconds(row.seconds_tool),
        row.seconds_grade.map(seconds).unwrap_or_default(),
        seconds(row.seconds_total),
        row.error.clone(),
        row.bucket
            .map(|bucket| bucket.name().to_owned())
            .unwrap_or_default(),
        graded(&|grade| grade.partial.map(|share| format!("{share:.4}"))),
        graded(&|grade| Some(grade.cached.to_string())),
        graded(&|grade| Some(grade.failed_tests.to_string())),
        graded(&|grade| Some(grade.missing_tests.to_string())),
    ]
}

/// The name that the files use for a value of an enum without fields.
fn name_of(value: impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, repositories};
    use super::super::{row::rows, write_results};
    use super::*;

    #[test]
    fn every_ending_has_its_row() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDirectory::new(root.path());
        write_results(&run, &rows(&ledger(), &repositories())).unwrap();
        let text = std::fs::read_to_string(root.path().join("results.csv")).unwrap();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_run_without_rows_still_has_its_columns() {
        let mut text = Vec::new();
        write_to(&mut text, &[]).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text, COLUMNS.join(",") + "\n");
    }
}
