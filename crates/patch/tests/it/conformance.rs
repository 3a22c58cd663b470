//! Real rows of the datasets, and real predictions, where they lie beside the checkout.

use std::fs;
use std::path::{Path, PathBuf};

use patch::{Patch, PathClass, PathClasses, parse};
use serde_json::Value;

use crate::git::{read_by_git, read_by_us};

/// Files of test patches that are neither tests nor configuration, with the reason. The datasets split by words anywhere in a path.
const TEST_PATCH_EXCEPTIONS: &[(&str, &str)] = &[
    ("ci/test-complete", "a CI script about shell completions"),
    (
        "config/test.json",
        "the product's configuration for the environment named test",
    ),
    (
        "sympy/testing/quality_unicode.py",
        "a tool of the library, below the directory that it ships for the tests of others",
    ),
];

/// Files of known patches that are classed as tests, with the reason; the path is that of a file or of a directory.
const KNOWN_PATCH_EXCEPTIONS: &[(&str, &str)] = &[(
    "internal/config/testdata/",
    "SWE-bench Pro counts only the test files that it runs as tests, and leaves their data in the known patch",
)];

/// All rows of all JSON and JSONL files below a directory, with the file they are from.
fn rows(directory: &Path) -> Vec<(PathBuf, Value)> {
    let mut rows = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            _ if path.is_dir() => rows.extend(self::rows(&path)),
            Some("jsonl") => {
                let text = fs::read_to_string(&path).unwrap();
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                rows.extend(lines.map(|line| (path.clone(), serde_json::from_str(line).unwrap())));
            }
            Some("json") => {
                let text = fs::read_to_string(&path).unwrap();
                match serde_json::from_str(&text).unwrap() {
                    Value::Array(values) => {
                        rows.extend(values.into_iter().map(|value| (path.clone(), value)));
                    }
                    value => rows.push((path, value)),
                }
            }
            _ => {}
        }
    }
    rows
}

fn field<'a>(row: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| row.get(name).and_then(Value::as_str))
}

fn name(row: &Value) -> String {
    field(row, &["instance_id"]).map_or_else(
        || format!("{} {}", row["repo"], row["number"]),
        str::to_owned,
    )
}

fn is_excepted(exceptions: &[(&str, &str)], path: &str) -> bool {
    exceptions.iter().any(|(excepted, _)| {
        *excepted == path || (excepted.ends_with('/') && path.starts_with(excepted))
    })
}

/// Every file of a patch with its class.
fn classed(patch: &Patch) -> impl Iterator<Item = (String, PathClass)> {
    let classes = PathClasses::default();
    patch
        .files
        .iter()
        .map(move |file| (file.path().to_string(), classes.classify_file(file)))
}

#[test]
fn known_patches_hold_no_tests_and_test_patches_nothing_else() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let mut problems = Vec::new();
    let (mut known_files, mut test_files) = (0, 0);
    for (_, row) in rows(&directory.join("instances")) {
        let id = name(&row);
        let known = field(&row, &["patch", "fix_patch", "gold_patch"]).unwrap_or_default();
        for (path, class) in classed(&parse(known.as_bytes()).unwrap()) {
            known_files += 1;
            if class == PathClass::Test && !is_excepted(KNOWN_PATCH_EXCEPTIONS, &path) {
                problems.push(format!("{id}: known patch: {path} is classed as test"));
            }
        }
        let tests = field(&row, &["test_patch"]).unwrap_or_default();
        for (path, class) in classed(&parse(tests.as_bytes()).unwrap()) {
            test_files += 1;
            if class == PathClass::Source && !is_excepted(TEST_PATCH_EXCEPTIONS, &path) {
                problems.push(format!("{id}: test patch: {path} is classed as source"));
            }
        }
    }
    assert!(
        known_files > 0 && test_files > 0,
        "no rows in {}",
        directory.display()
    );
    println!("{known_files} files of known patches, {test_files} files of test patches");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What git can read, we read the same. What it refuses we may read: patches whose last line lost its end.
#[test]
fn predictions_are_read_as_git_reads_them() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let mut problems = Vec::new();
    let (mut patches, mut refused, mut lenient) = (0, 0, 0);
    for (file, row) in rows(&directory.join("predictions")) {
        let Some(text) = field(&row, &["model_patch", "fix_patch"]) else {
            continue;
        };
        patches += 1;
        let ours = read_by_us(text.as_bytes());
        let Some(gits) = read_by_git(text.as_bytes()) else {
            refused += 1;
            lenient += usize::from(ours.is_some_and(|files| !files.is_empty()));
            continue;
        };
        if ours.as_ref() != Some(&gits) {
            let id = name(&row);
            problems.push(format!(
                "{}: {id}: git {gits:?}, we {ours:?}",
                file.display()
            ));
        }
    }
    println!("{patches} predictions, {refused} refused by git, of which we read {lenient}");
    assert!(patches > 0, "no predictions in {}", directory.display());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
