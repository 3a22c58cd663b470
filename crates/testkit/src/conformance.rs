//! Real files of other tools, where they lie beside the checkout.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The directory that `PATCHMILL_CONFORMANCE` names, else `../shared/conformance` beside the checkout.
///
/// `None`, after saying so, where there is none; a panic instead where `PATCHMILL_REQUIRE` names `conformance`.
pub fn conformance() -> Option<PathBuf> {
    let directory = std::env::var_os("PATCHMILL_CONFORMANCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        PathBuf::from,
    );
    if directory.is_dir() {
        return Some(directory);
    }
    let problem = format!("there is no directory {}", directory.display());
    super::missing("conformance", &problem);
    None
}

/// A log of others, and what the official harness made of it.
pub struct Pair {
    /// Name of its directory.
    pub name: String,
    /// What holds all its files: the log, the report, maps.
    pub directory: PathBuf,
    /// Our parser for the repository, as our rules name it.
    pub parser: String,
    /// Whether the log is one of SWE-smith.
    pub smith: bool,
    /// The log.
    pub log: PathBuf,
    /// The report of the instance.
    pub report: Value,
}

/// All logs of single instances below the directory that [`conformance`] gives, in order. Those of repositories that no rules of ours are for are
/// left out, after saying so.
pub fn pairs(conformance: &Path) -> Vec<Pair> {
    let rules = rules();
    let mut pairs = Vec::new();
    for kind in ["v1-gold", "v2-official", "v2-swesmith"] {
        for directory in directories(&conformance.join("eval-logs").join(kind)) {
            let name = name_of(&directory);
            let logs = ["eval.log", "test_output.txt"].map(|name| directory.join(name));
            let log = logs.into_iter().find(|log| log.is_file());
            let (Some(log), Some(report)) = (log, report(&directory)) else {
                continue;
            };
            let smith = kind == "v2-swesmith";
            let repository = if smith {
                format!("swesmith/{name}")
            } else {
                repository(&name)
            };
            let parser = rules.iter().find(|rule| rule.is_for(&repository, smith));
            let Some(parser) = parser else {
                super::missing(&name, "there are no rules for its repository");
                continue;
            };
            pairs.push(Pair {
                parser: parser.log_parser.clone(),
                name,
                directory,
                smith,
                log,
                report,
            });
        }
    }
    pairs
}

/// The report of one instance, under its id or alone; `None` where the file holds something else or is not there.
fn report(directory: &Path) -> Option<Value> {
    let text = fs::read(directory.join("report.json")).ok()?;
    let report: Value = serde_json::from_slice(&text).expect("a report");
    if report.get("resolved").is_some() {
        return Some(report);
    }
    let mut instances = report.as_object()?.values();
    instances
        .next()
        .filter(|one| one.get("resolved").is_some())
        .cloned()
}

fn directories(parent: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// `owner/name` of `owner__name-123`, whatever follows.
fn repository(instance: &str) -> String {
    let (owner, rest) = instance.split_once("__").unwrap_or((instance, ""));
    let parts = rest.match_indices('-').map(|(at, _)| rest.split_at(at));
    let mut names =
        parts.filter(|(_, after)| after.as_bytes().get(1).is_some_and(u8::is_ascii_digit));
    let name = names.next().map_or(rest, |(name, _)| name);
    format!("{owner}/{name}")
}

/// What a file of rules says of the logs of one repository, or of those whose names begin alike.
struct Rule {
    repository: String,
    log_parser: String,
    smith: bool,
}

impl Rule {
    fn is_for(&self, repository: &str, smith: bool) -> bool {
        let named = match self.repository.strip_suffix('*') {
            Some(start) => repository.starts_with(start),
            None => repository == self.repository,
        };
        named && smith == self.smith
    }
}

/// Those of `configs/repositories` that are for repositories of SWE-bench and of SWE-smith, the most special first.
fn rules() -> Vec<Rule> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/repositories");
    let mut rules = Vec::new();
    for entry in fs::read_dir(directory).expect("the rules") {
        let text = fs::read_to_string(entry.expect("the rules").path()).expect("rules");
        let table: toml::Table = toml::from_str(&text).expect("rules");
        let smith = word(&table, "shape") == Some("swe-smith");
        if !smith && word(&table, "shape").is_some() {
            continue;
        }
        // Parts of a file are for some repositories each, and say what is not as in the rest of it.
        let parts = table.get("repository").and_then(toml::Value::as_array);
        let parts = parts
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_table);
        let named =
            std::iter::once((&table, "repository")).chain(parts.map(|part| (part, "names")));
        for (part, key) in named {
            let log_parser = word(part, "log_parser").or_else(|| word(&table, "log_parser"));
            let Some(log_parser) = log_parser else {
                continue;
            };
            rules.extend(words(part, key).into_iter().map(|repository| Rule {
                repository,
                log_parser: log_parser.to_owned(),
                smith,
            }));
        }
    }
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.repository.len()));
    rules
}

fn word<'a>(table: &'a toml::Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(toml::Value::as_str)
}

/// What stands under a key, which is one word or a list.
fn words(table: &toml::Table, key: &str) -> Vec<String> {
    let names = match table.get(key) {
        Some(toml::Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    names
        .iter()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_are_told_by_ids() {
        for (id, expected) in [
            ("sympy__sympy-20590-gold-a", "sympy/sympy"),
            ("scikit-learn__scikit-learn-9", "scikit-learn/scikit-learn"),
            ("pylint-dev__pylint-5859", "pylint-dev/pylint"),
        ] {
            assert_eq!(repository(id), expected);
        }
        let parser = |repository: &str, smith| {
            let rules = rules();
            let rule = rules.iter().find(|rule| rule.is_for(repository, smith));
            rule.map(|rule| rule.log_parser.clone())
        };
        let known = |name: &str| Some(name.to_owned());
        assert_eq!(parser("psf/requests", false), known("pytest_options"));
        assert_eq!(
            parser("swesmith/python__mypy.e93f06ce.pr_1", true),
            known("swe_smith_mypy")
        );
        assert_eq!(
            parser("swesmith/getmoto__moto.694ce1f4.pr_1", true),
            known("swe_smith")
        );
        assert_eq!(parser("nobody/nothing", false), None);
    }
}
