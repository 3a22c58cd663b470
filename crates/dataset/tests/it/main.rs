//! Datasets as files: what is read from them, and what is said about broken ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(feature = "parquet")]
mod columns;
mod conformance;
mod demo;
mod formats;
mod hub;
mod images;
mod loading_errors;
mod packed;
mod repositories;
mod rows;
mod selection;
mod tables;

use std::path::{Path, PathBuf};

use dataset::{Dataset, Error, LoadOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A file in a directory of its own.
struct Fixture {
    directory: TempDir,
    path: PathBuf,
}

impl Fixture {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        Self { directory, path }
    }

    fn of_rows(rows: &[Value]) -> Self {
        let lines: Vec<_> = rows.iter().map(Value::to_string).collect();
        Self::new("rows.jsonl", lines.join("\n"))
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn load(&self) -> Result<Dataset, Error> {
        dataset::load(&self.path, &LoadOptions::default())
    }
}

/// A row with nothing but what every row needs.
fn plain(id: &str) -> Value {
    json!({"instance_id": id, "repo": "octo/demo", "base_commit": "0123456789abcdef0123456789abcdef01234567", "problem_statement": "It breaks."})
}

/// `plain` with more fields.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write the fields in place"
)]
fn plain_with(id: &str, more: Value) -> Value {
    let mut row = plain(id);
    for (name, value) in more.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

fn ids(dataset: &Dataset) -> Vec<&str> {
    dataset
        .rows
        .iter()
        .map(|row| row.instance.id.as_str())
        .collect()
}

/// The error with its causes, and its hints.
fn told(error: &Error) -> (String, Vec<String>) {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    (text, error.hints())
}
