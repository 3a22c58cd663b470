//! The built-in rules against the tables of the official harness 4.1.0: how every repository is installed and tested at every version.
//!
//! `scripts/differential/tables.py` keeps a digest of the commands for each.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use crate::differential::digest;

const OFFICIAL: &str = include_str!("../fixtures/official-tables.txt");

/// What stands between a command and another way to do the same, which is ours.
const OTHERWISE: &str = " || ";

/// One command, or several.
fn commands(value: Option<&Value>) -> Vec<String> {
    let own = |value: &Value| value.as_str().unwrap().to_owned();
    match value {
        None => Vec::new(),
        Some(Value::Array(commands)) => commands.iter().map(own).collect(),
        Some(command) => vec![own(command)],
    }
}

/// Digest of the commands of a version, as the official tables have them.
fn digest_at(base: &Table, version: &Table) -> String {
    let of = |key: &str| commands(version.get(key).or_else(|| base.get(key)));
    let all = [of("setup"), of("install"), of("test_command")].concat();
    let first = |command: &String| match command.split_once(OTHERWISE) {
        Some((first, _)) => first.to_owned(),
        None => command.clone(),
    };
    let all: Vec<String> = all.iter().map(first).collect();
    schema::hex(&digest(all.join("\n").as_bytes()))
}

/// Digests of all repositories and versions that the rules know.
fn ours() -> BTreeMap<(String, String), String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/repositories");
    let mut digests = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let base: Table = toml::from_str(&text).unwrap();
        let Some(repository) = base.get("repository").and_then(Value::as_str) else {
            continue;
        };
        let versions = base.get("version").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            let version = version.as_table().unwrap();
            let names = commands(version.get("names"));
            let digest = digest_at(&base, version);
            let known = names
                .into_iter()
                .map(|name| ((repository.to_owned(), name), digest.clone()));
            digests.extend(known);
        }
    }
    digests
}

#[test]
fn every_version_is_installed_and_tested_as_the_official_tables_say() {
    let ours = ours();
    let (mut compared, mut different) = (0, Vec::new());
    for line in OFFICIAL.lines() {
        let [repository, version, theirs] = *line.split(' ').collect::<Vec<_>>() else {
            panic!("{line}");
        };
        compared += 1;
        let found = ours.get(&(repository.to_owned(), version.to_owned()));
        if found.map(String::as_str) != Some(theirs) {
            different.push(format!("{repository} {version}: {found:?}"));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
    assert!(compared > 250, "{compared}");
}
