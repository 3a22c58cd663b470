//! Tests of ours that must fail, in the ways in which tests fail, and some that must pass. Nobody can tell them from the instance's own by their
//! names, which are made anew each time.

use std::fmt::Write;

use super::language::Language;
use crate::directives::quoted;
use crate::eval_script::here_document;

/// One test of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryTest {
    /// What its name has that no other test's has: its own, or that of the class around it.
    pub name: String,
    /// Whether it has to fail; else it has to pass.
    pub must_fail: bool,
}

/// A file of tests of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanaryFile {
    /// Where it lies, from the repository's directory.
    pub path: String,
    /// What it holds; for Go without the line that names its package.
    pub content: String,
    /// The tests in it.
    pub tests: Vec<CanaryTest>,
    language: Language,
    neighbour: String,
}

const SUBJECTS: [&str; 16] = [
    "value", "order", "total", "label", "range", "width", "index", "limit", "state", "count",
    "entry", "field", "level", "group", "shape", "token",
];
const OBJECTS: [&str; 16] = [
    "kept", "merged", "sorted", "copied", "empty", "nested", "default", "shared", "bounded",
    "parsed", "renamed", "joined", "cleared", "reversed", "updated", "restored",
];

/// Names and numbers out of random bits.
struct Draw(u64);

impl Draw {
    fn number(&mut self, below: u64) -> u64 {
        // Steele, Lea and Flood's mixing of a counter: any seed gives well spread numbers.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn word(&mut self, words: &[&'static str; 16]) -> &'static str {
        let at = usize::try_from(self.number(16)).unwrap_or_default();
        words.get(at).copied().unwrap_or_default()
    }

    /// Two words and a number.
    fn name(&mut self) -> String {
        let (subject, object) = (self.word(&SUBJECTS), self.word(&OBJECTS));
        format!("{subject}_{object}_{}", 1000 + self.number(9000))
    }

    /// Two numbers that differ.
    fn unequal(&mut self) -> (u64, u64) {
        let one = self.number(500);
        (one, one + 1 + self.number(500))
    }
}

/// The instance's own tests, beside which canaries live.
#[derive(Debug, Clone, Copy, Default)]
pub struct Neighbours<'a> {
    /// The file in whose directory they lie.
    pub file: &'a str,
    /// What is known of the tests' text: a library that they compare with is used by a canary too.
    pub text: &'a str,
    /// Names of tests: a canary has each of them too, so that nothing which goes by the name alone tells them apart.
    pub names: &'a [String],
}

/// The canaries beside the instance's tests. The same seed gives the same ones.
pub fn canaries(language: Language, beside: &Neighbours<'_>, seed: u64) -> CanaryFile {
    let mut draw = Draw(seed);
    let neighbour = beside.file;
    let directory = neighbour
        .rsplit_once('/')
        .map_or(String::new(), |(directory, _)| format!("{directory}/"));
    let stem = draw.name();
    let (name, content, tests) = match language {
        Language::Python => {
            let (content, tests) = python(&mut draw, beside);
            let name = if neighbour.ends_with("_test.py") {
                format!("{stem}_test.py")
            } else {
                format!("test_{stem}.py")
            };
            (name, content, tests)
        }
        Language::Go => {
            let (content, tests) = go(&mut draw);
            (format!("{stem}_test.go"), content, tests)
        }
    };
    CanaryFile {
        path: format!("{directory}{name}"),
        content,
        tests,
        language,
        neighbour: neighbour.to_owned(),
    }
}

impl CanaryFile {
    /// Shell text that writes the file.
    pub fn command(&self) -> String {
        let (path, text) = (quoted(&self.path), here_document("cat", &self.content));
        match self.language {
            Language::Python => format!("{{\n{text}}} > {path}\n"),
            Language::Go => {
                let package = format!("sed -n '/^package /{{p;q;}}' {}", quoted(&self.neighbour));
                format!("{{\n{package}\n{text}}} > {path}\n")
            }
        }
    }
}

/// A file that pytest and `unittest` read; the latter does not see the functions.
fn python(draw: &mut Draw, beside: &Neighbours<'_>) -> (String, Vec<CanaryTest>) {
    let tests_text = beside.text;
    let mut tests = Vec::new();
    let mut test = |draw: &mut Draw, must_fail| {
        let name = format!("test_{}", draw.name());
        tests.push(CanaryTest {
            name: name.clone(),
            must_fail,
        });
        name
    };
    let mut text = String::from("import unittest\n");
    let base = if tests_text.contains("django.test") {
        text.push_str("\nfrom django.test import SimpleTestCase\n");
        "SimpleTestCase"
    } else {
        "unittest.TestCase"
    };
    let class = draw.name().split('_').map(capitalised).collect::<String>();
    let _ = write!(text, "\n\nclass Test{class}({base}):\n");
    let (one, other) = draw.unequal();
    let _ = write!(
        text,
        "    def {}(self):\n        self.assertEqual({one}, {other})\n",
        test(draw, true)
    );
    let _ = write!(
        text,
        "\n    def {}(self):\n        self.assertEqual({one}, {one})\n",
        test(draw, false)
    );
    let _ = write!(
        text,
        "\n    def {}(self):\n        self.fail(\"{other}\")\n",
        test(draw, true)
    );
    let _ = write!(
        text,
        "\n    def {}(self):\n        with self.assertRaises(ValueError):\n            int(\"{one}\")\n",
        test(draw, true)
    );
    let (one, other) = draw.unequal();
    let _ = write!(
        text,
        "\n\ndef {}():\n    found = {other}\n    assert found == {other}\n",
        test(draw, false)
    );
    let _ = write!(
        text,
        "\n\ndef {}():\n    found = {one}\n    assert found == {other}\n",
        test(draw, true)
    );
    let _ = write!(
        text,
        "\n\ndef {}():\n    raise RuntimeError(\"{one}\")\n",
        test(draw, true)
    );
    if tests_text.contains("pytest.raises") {
        let _ = write!(
            text,
            "\n\ndef {}():\n    import pytest\n\n    with pytest.raises(ValueError):\n        int(\"{other}\")\n",
            test(draw, true)
        );
    }
    if tests_text.contains("numpy") {
        let _ = write!(
            text,
            "\n\ndef {}():\n    import numpy.testing\n\n    numpy.testing.assert_allclose([{one}.0], [{other}.0])\n",
            test(draw, true)
        );
    }
    for name in beside.names {
        let class = namesake(draw, base, name, &mut text);
        tests.push(CanaryTest {
            name: class,
            must_fail: true,
        });
    }
    (text, tests)
}

/// A test of the same name as one of the instance's, in a class of its own, whose name is given back.
fn namesake(draw: &mut Draw, base: &str, name: &str, text: &mut String) -> String {
    let class: String = draw.name().split('_').map(capitalised).collect();
    let class = format!("Test{class}");
    let (one, other) = draw.unequal();
    let _ = write!(
        text,
        "\n\nclass {class}({base}):\n    def {name}(self):\n        self.assertEqual({one}, {other})\n"
    );
    class
}

fn go(draw: &mut Draw) -> (String, Vec<CanaryTest>) {
    let mut tests = Vec::new();
    let mut text = String::from("\nimport \"testing\"\n");
    for (must_fail, method) in [(true, "Errorf"), (false, "Logf"), (true, "Fatalf")] {
        let name: String = draw.name().split('_').map(capitalised).collect();
        let name = format!("Test{name}");
        let (one, other) = draw.unequal();
        let _ = write!(
            text,
            "\nfunc {name}(t *testing.T) {{\n\tif found := {one}; found != {other} {{\n\t\tt.{method}(\"found %d\", found)\n\t}}\n}}\n"
        );
        tests.push(CanaryTest { name, must_fail });
    }
    (text, tests)
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside<'a>(file: &'a str, text: &'a str) -> Neighbours<'a> {
        Neighbours {
            file,
            text,
            names: &[],
        }
    }

    #[test]
    fn the_instances_tests_have_namesakes_that_fail() {
        let names = ["test_adds".to_owned()];
        let neighbours = Neighbours {
            names: &names,
            ..beside("tests/test_core.py", "")
        };
        let file = canaries(Language::Python, &neighbours, 7);
        let class = &file.tests.last().unwrap().name;
        let text = format!("class {class}(unittest.TestCase):\n    def test_adds(self):");
        assert!(file.content.contains(&text), "{}", file.content);
    }

    #[test]
    fn canaries_are_other_ones_each_time_and_lie_beside_the_tests() {
        let of = |seed| {
            canaries(
                Language::Python,
                &beside("tests/unit/test_core.py", ""),
                seed,
            )
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7).path, of(8).path);
        assert!(of(7).path.starts_with("tests/unit/test_"));
        assert_eq!(of(7).tests.iter().filter(|test| !test.must_fail).count(), 2);
        let names: std::collections::BTreeSet<_> =
            of(7).tests.into_iter().map(|test| test.name).collect();
        assert_eq!(names.len(), 7);
        let other = canaries(Language::Python, &beside("core_test.py", ""), 1);
        assert!(other.path.ends_with("_test.py") && !other.path.contains('/'));
    }

    #[test]
    fn libraries_that_the_tests_compare_with_are_used() {
        let text = "import numpy\nfrom django.test import TestCase\nwith pytest.raises(X):";
        let file = canaries(Language::Python, &beside("tests/test_a.py", text), 3);
        for part in ["numpy.testing", "SimpleTestCase)", "pytest.raises"] {
            assert!(file.content.contains(part), "{part}");
        }
    }

    #[test]
    fn a_go_file_takes_its_package_from_its_neighbour() {
        let file = canaries(Language::Go, &beside("pkg/core_test.go", ""), 3);
        let command = file.command();
        let package = "sed -n '/^package /{p;q;}' pkg/core_test.go";
        assert!(command.contains(package), "{command}");
        assert!(command.contains("t.Fatalf"));
        assert!(file.path.starts_with("pkg/") && file.path.ends_with("_test.go"));
    }
}
