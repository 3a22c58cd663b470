//! Results as pytest writes them for machines: `JUnit`'s XML.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};
use schema::grading::TestStatus;

/// What one test did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseResult {
    /// What it did; of several results of a name the worst.
    pub status: TestStatus,
    /// Whether it failed in its own body, for a reason other than a name, a module or a fixture that is not there.
    pub by_itself: bool,
}

/// All results of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultsFile {
    cases: BTreeMap<String, CaseResult>,
    /// Whether every file was written, and could be read.
    pub whole: bool,
}

/// What a test's body fails with when something that it leans on is not there.
const LEANING: [&str; 5] = [
    "fixture ",
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "NameError",
];

impl ResultsFile {
    /// The results in some files; `None` stands for one that was not written.
    pub fn read(files: &[Option<Vec<u8>>]) -> Self {
        let mut results = Self {
            whole: !files.is_empty(),
            ..Self::default()
        };
        for file in files {
            let text = file
                .as_deref()
                .map(String::from_utf8_lossy)
                .unwrap_or_default();
            match Document::parse(&text) {
                Ok(document) => results.add(&document),
                Err(_) => results.whole = false,
            }
        }
        results
    }

    fn add(&mut self, document: &Document<'_>) {
        for case in document
            .descendants()
            .filter(|node| node.has_tag_name("testcase"))
        {
            let name = case.attribute("name").unwrap_or_default();
            let key = match case.attribute("classname") {
                Some(class) if !class.is_empty() => format!("{class}.{name}"),
                _ => name.to_owned(),
            };
            let result = result(case);
            let known = self.cases.entry(key).or_insert(result);
            if badness(result.status) > badness(known.status) {
                *known = result;
            }
        }
    }

    /// Whether nothing is in them.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// What a test did, by the name that pytest prints.
    pub fn of(&self, test: &str) -> Option<CaseResult> {
        self.cases.get(&key(test)?).copied()
    }

    /// What the one test did that has this part in its name or around it.
    pub fn named(&self, part: &str) -> Option<CaseResult> {
        let named = |key: &str| key.split('.').any(|name| name == part);
        let mut cases = self.cases.iter();
        cases.find(|(key, _)| named(key)).map(|(_, result)| *result)
    }
}

/// `tests/test_a.py::Case::test_b[c]` as `JUnit` has it: `tests.test_a.Case.test_b[c]`. `None` for names in another form.
fn key(test: &str) -> Option<String> {
    let (file, rest) = test.split_once("::")?;
    let module = file.strip_suffix(".py")?.replace('/', ".");
    // What stands in brackets is the test's own.
    let (name, parameter) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
    Some(format!("{module}.{}{parameter}", name.replace("::", ".")))
}

fn result(case: Node<'_, '_>) -> CaseResult {
    let child = |name: &str| case.children().find(|node| node.has_tag_name(name));
    let plain = |status| CaseResult {
        status,
        by_itself: false,
    };
    if let Some(failure) = child("failure") {
        let message = failure.attribute("message").unwrap_or_default();
        let leans = LEANING.iter().any(|word| message.starts_with(word));
        return CaseResult {
            status: TestStatus::Failed,
            by_itself: !leans,
        };
    }
    if child("error").is_some() {
        return plain(TestStatus::Error);
    }
    match child("skipped") {
        Some(skipped) if skipped.attribute("type") == Some("pytest.xfail") => {
            plain(TestStatus::Xfail)
        }
        Some(_) => plain(TestStatus::Skipped),
        None => plain(TestStatus::Passed),
    }
}

fn badness(status: TestStatus) -> u8 {
    match status {
        TestStatus::Passed | TestStatus::Xpass => 0,
        TestStatus::Xfail => 1,
        TestStatus::Skipped => 2,
        TestStatus::Error => 3,
        TestStatus::Failed => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"<?xml version="1.0"?><testsuites><testsuite>
        <testcase classname="tests.test_a.Case" name="test_b[x::y.z]"/>
        <testcase classname="tests.test_a" name="test_c"><failure message="assert 1 == 2">x</failure></testcase>
        <testcase classname="tests.test_a" name="test_d"><failure message="AttributeError: no x">x</failure></testcase>
        <testcase classname="tests.test_a" name="test_e"><skipped type="pytest.xfail"/></testcase>
        <testcase classname="tests.test_a" name="test_f"><skipped type="pytest.skip"/></testcase>
        <testcase classname="tests.test_a" name="test_g"/>
        <testcase classname="tests.test_a" name="test_g"><error message="teardown"/></testcase>
        </testsuite></testsuites>"#;

    #[test]
    fn results_are_found_by_the_names_that_are_printed() {
        let file = ResultsFile::read(&[Some(FILE.as_bytes().to_vec())]);
        let of = |name: &str| {
            file.of(&format!("tests/test_a.py::{name}"))
                .map(|case| (case.status, case.by_itself))
        };
        assert_eq!(
            of("Case::test_b[x::y.z]"),
            Some((TestStatus::Passed, false))
        );
        assert_eq!(of("test_c"), Some((TestStatus::Failed, true)));
        assert_eq!(of("test_d"), Some((TestStatus::Failed, false)));
        assert_eq!(of("test_e"), Some((TestStatus::Xfail, false)));
        assert_eq!(of("test_f"), Some((TestStatus::Skipped, false)));
        assert_eq!(of("test_g"), Some((TestStatus::Error, false)));
        assert_eq!(of("test_h"), None);
        assert_eq!(file.of("test_c (tests.test_a)"), None);
        assert_eq!(
            file.named("test_c").map(|case| case.status),
            Some(TestStatus::Failed)
        );
        assert_eq!(file.named("est_c"), None);
    }

    #[test]
    fn what_was_not_written_or_is_cut_is_not_whole() {
        let file = |text: &str| Some(text.as_bytes().to_vec());
        assert!(ResultsFile::read(&[file(FILE)]).whole);
        assert!(!ResultsFile::read(&[file(FILE), None]).whole);
        assert!(!ResultsFile::read(&[file(&FILE[..200])]).whole);
        assert!(!ResultsFile::read(&[]).whole);
    }
}
