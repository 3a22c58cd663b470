//! Rows that other people published, where they lie beside the checkout.

use std::path::{Path, PathBuf};

use dataset::LoadOptions;
use dataset::images::Naming;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// Directory of the published rows, `None` (said loudly) when it is not there.
pub(crate) fn instances() -> Option<PathBuf> {
    testkit::conformance().map(|directory| directory.join("instances"))
}

pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.extension().and_then(|extension| extension.to_str()) {
            _ if path.is_dir() => found.extend(files(&path)),
            Some("json" | "jsonl") => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

fn raw_rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    values.map(Result::unwrap).collect()
}

#[test]
fn every_published_row_is_read_and_nothing_is_lost() {
    let Some(directory) = instances() else { return };
    let mut count = 0;
    for path in files(&directory) {
        let dataset =
            dataset::load(&path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let raw = raw_rows(&path);
        assert_eq!(dataset.rows.len(), raw.len(), "{}", path.display());
        for (row, raw) in dataset.rows.iter().zip(&raw) {
            count += 1;
            check(row, raw);
        }
    }
    assert!(count > 50, "only {count} rows");
}

#[test]
fn who_solves_a_published_row_needs_nothing_of_what_graders_do() {
    let Some(directory) = instances() else { return };
    for path in files(&directory) {
        for row in dataset::load(&path, &LoadOptions::default()).unwrap().rows {
            let (whole, light) = (row.clone(), row.to_solve());
            assert_eq!(light.instance, whole.instance);
            assert_eq!(light.sha256, whole.sha256);
            assert_eq!(light.family().name, whole.family().name);
            assert_eq!(
                light.family().workdir(&light),
                whole.family().workdir(&whole)
            );
            let image = |row| {
                Naming::default()
                    .image(row)
                    .unwrap()
                    .map(|image| image.name)
            };
            assert_eq!(image(&light), image(&whole));
            assert_eq!(light.answer.start_patch, whole.answer.start_patch);
            let known = [
                &light.answer.patch,
                &light.answer.test_patch,
                &light.answer.hints,
            ];
            assert_eq!(known, [&None; 3]);
            let held = serde_json::to_string(&light.answer.extra).unwrap();
            assert!(held.len() < 8000, "{}: {}", whole.instance.id, held.len());
        }
    }
}

fn check(row: &dataset::Row, raw: &Value) {
    let id = raw["instance_id"].as_str().unwrap();
    assert_eq!(row.instance.id.as_str(), id);
    assert!(!row.answer.fail_to_pass.is_empty(), "{id}: no test to turn");
    assert!(
        row.instance
            .base_commit
            .as_deref()
            .is_some_and(|commit| commit.len() == 40),
        "{id}: no base commit"
    );
    assert!(
        row.instance.repo.contains('/'),
        "{id}: no owner in {}",
        row.instance.repo
    );
    assert!(
        !row.instance.statement.trim().is_empty(),
        "{id}: no statement"
    );
    for (name, value) in raw.as_object().unwrap() {
        let kept = row.answer.extra.get(name) == Some(value) || typed(row, name, value);
        assert!(kept, "{id}: field {name} is lost");
    }
}

/// Whether a typed field holds the value.
fn typed(row: &dataset::Row, name: &str, value: &Value) -> bool {
    let (instance, answer) = (&row.instance, &row.answer);
    let list = |names: &[String]| {
        value
            .as_array()
            .is_some_and(|value| value.iter().map(|item| item.as_str().unwrap()).eq(names))
    };
    let text = |field: Option<&str>| {
        value.as_str().map(str::trim) == field.map(str::trim) && field.is_some()
    };
    match name {
        "instance_id" => text(Some(instance.id.as_str())),
        "repo" | "org" => value
            .as_str()
            .is_some_and(|value| instance.repo.contains(value)),
        "base_commit" => text(instance.base_commit.as_deref()),
        "problem_statement" => value
            .as_str()
            .is_some_and(|value| instance.statement.starts_with(value)),
        "version" => text(instance.version.as_deref()),
        "image" | "image_name" | "docker_image" => text(instance.image.as_deref()),
        "repo_directory" => text(instance.workdir.as_deref()),
        "patch" if instance.repo.starts_with("swesmith/") => {
            value.as_str() == answer.start_patch.as_deref()
        }
        "patch" | "gold_patch" | "fix_patch" => value.as_str() == answer.patch.as_deref(),
        "test_patch" => value.as_str() == answer.test_patch.as_deref(),
        "hints_text" => value.as_str() == answer.hints.as_deref(),
        "eval_script" => value.as_str() == answer.eval_script.as_deref(),
        "log_parser" => text(answer.log_parser.as_deref()),
        "FAIL_TO_PASS" | "fail_to_pass" => list(&answer.fail_to_pass),
        "PASS_TO_PASS" | "pass_to_pass" => list(&answer.pass_to_pass),
        _ => false,
    }
}
