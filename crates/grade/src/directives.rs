//! Which tests a command is told to run.

use patch::{Patch, PatchPath};
use regex::Regex;
use schema::instance::AnswerKey;

use crate::rules::TestNames;

/// Ends of names of files that hold no tests. The official harness looks for `csv` without a dot.
const DATA: [&str; 11] = [
    ".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml",
];

/// What stands for the names in a command; without it they come last.
const PLACE: &str = "{tests}";

/// Puts the names of the tests that matter into a command, quoted for a shell.
///
/// Files that the test patch deletes are not named: the official harness names them, and pytest then runs nothing.
pub fn with_tests(command: &str, names: TestNames, patch: &Patch, answer: &AnswerKey) -> String {
    let words = match names {
        TestNames::None | TestNames::Calypso => return command.to_owned(),
        TestNames::Files => files(patch),
        TestNames::Modules => files(patch).iter().map(|file| module(file)).collect(),
        TestNames::Cases => cases(answer).unwrap_or_else(|| files(patch)),
        TestNames::Expected => files_of(answer.fail_to_pass.iter().chain(&answer.pass_to_pass)),
        TestNames::Packages => packages(answer),
    };
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let words = words.join(" ");
    if command.contains(PLACE) {
        return command.replace(PLACE, &words);
    }
    format!("{} {words}", command.trim_end())
        .trim_end()
        .to_owned()
}

fn files(patch: &Patch) -> Vec<String> {
    let paths = patch.files.iter().filter_map(|file| file.new_path());
    let names = paths.map(|path: &PatchPath| path.to_str_lossy().into_owned());
    names
        .filter(|name| !DATA.iter().any(|end| name.ends_with(end)))
        .collect()
}

/// `tests/admin_views/tests.py` as Django's runner takes it: `admin_views.tests`.
fn module(file: &str) -> String {
    let name = file.strip_suffix(".py").unwrap_or(file);
    let name = name.strip_prefix("tests/").unwrap_or(name);
    name.replace('/', ".")
}

/// `-k` and the names of `[case NAME]`, the headings of data-driven tests, in the test patch.
fn cases(answer: &AnswerKey) -> Option<Vec<String>> {
    let heading = Regex::new(r"\[case ([^\]]+)\]").ok()?;
    let text = answer.test_patch.as_deref().unwrap_or_default();
    let names: Vec<&str> = heading
        .captures_iter(text)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    (!names.is_empty()).then(|| vec!["-k".to_owned(), names.join(" or ")])
}

/// `packages/NAME` for each file below such a directory that the patch which starts the instance is about, as often as it is about one.
fn packages(answer: &AnswerKey) -> Vec<String> {
    let text = answer.start_patch.as_deref().unwrap_or_default();
    let patch = patch::parse(text.as_bytes()).unwrap_or_default();
    let package = |file: &patch::FilePatch| {
        let path = file.path().to_str_lossy().into_owned();
        let mut parts = path.split('/');
        let (top, name) = (parts.next()?, parts.next()?);
        (top == "packages").then(|| format!("{top}/{name}"))
    };
    patch.files.iter().filter_map(package).collect()
}

/// The files that the names of tests begin with, each once.
pub(crate) fn files_of<'a>(tests: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for test in tests {
        let file = test.split("::").next().unwrap_or_default();
        if !file.is_empty() && files.last().is_none_or(|last| last != file) {
            files.push(file.to_owned());
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files
}

/// A word as a shell reads it: what needs no quotes gets none.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./+@%=:,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
