//! Random changes between source and tests, judged by git: what is left without the tests still applies.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Output, Stdio};

use patch::{PatchPath, PathClass, PathClasses, split};
use proptest::prelude::*;

use crate::git::{Repository, git};

/// Paths that get into each other's way: files and directories of one name, sources and tests that can trade places.
const PATHS: [&str; 14] = [
    "src/a.py",
    "src/b.py",
    "src/tests",
    "src/tests/x.py",
    "src/tests/y/z.py",
    "a_test.go",
    "a_test.go/b.c",
    "conftest.py",
    "tests/a.py",
    "tests/b.py",
    "tests/c.py",
    "e2e",
    "e2e/x.js",
    "e2e/x.js/deep",
];

#[derive(Debug, Clone)]
struct Entry {
    /// Contents of one number are alike enough to count as renamed.
    content: u8,
    variant: u8,
    executable: bool,
}

impl Entry {
    fn bytes(&self) -> Vec<u8> {
        let lines = (0..30).map(|line| format!("{} {line}\n", self.content));
        let mut text: String = lines.collect();
        text.push_str(&"more\n".repeat(usize::from(self.variant)));
        text.into_bytes()
    }
}

type Tree = BTreeMap<&'static str, Entry>;

/// Of a file and a directory of one name, the first in the order of names stays.
fn tree() -> impl Strategy<Value = Tree> {
    let entry =
        (0_u8..6, 0_u8..3, any::<bool>()).prop_map(|(content, variant, executable)| Entry {
            content,
            variant,
            executable,
        });
    proptest::collection::btree_map(proptest::sample::select(&PATHS[..]), entry, 0..9).prop_map(
        |all| {
            let mut tree = Tree::new();
            for (path, entry) in all {
                let below = |known: &&str| path.starts_with(&format!("{known}/"));
                if !tree.keys().any(below) {
                    tree.insert(path, entry);
                }
            }
            tree
        },
    )
}

fn put(repository: &Repository, tree: &Tree) -> String {
    repository.run(&["rm", "-r", "-q", "-f", "--ignore-unmatch", "."]);
    for (path, entry) in tree {
        repository.write(path, &entry.bytes());
        let change = if entry.executable { "+x" } else { "-x" };
        repository.run(&["update-index", "--add", &format!("--chmod={change}"), path]);
    }
    repository.run(&["commit", "-q", "--allow-empty", "-m", "x"]);
    let commit = repository.run(&["rev-parse", "HEAD"]);
    String::from_utf8(commit).unwrap().trim().to_owned()
}

/// Applies a patch to the index alone.
fn apply(repository: &Repository, patch: &[u8]) -> Output {
    let mut child = git(repository.0.path())
        .args(["apply", "--cached", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(patch).unwrap();
    child.wait_with_output().unwrap()
}

/// The index's sources: mode and content of each.
fn sources(repository: &Repository) -> Vec<String> {
    let classes = PathClasses::default();
    let listing = String::from_utf8(repository.run(&["ls-files", "-s"])).unwrap();
    listing
        .lines()
        .filter(|line| {
            let path = line.split('\t').nth(1).unwrap();
            classes.classify(&PatchPath::from(path)) != PathClass::Test
        })
        .map(str::to_owned)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn what_stays_of_any_change_applies_and_makes_the_same_sources(before in tree(), after in tree(), find in prop_oneof![
        Just(&[][..]), Just(&["-M"][..]), Just(&["-M", "-C", "--find-copies-harder"][..]),
    ]) {
        let repository = Repository::new();
        let (before, after) = (put(&repository, &before), put(&repository, &after));
        let expected = sources(&repository);
        let options = ["diff-tree", "-r", "-p", "--binary", "--full-index"];
        let text = repository.run(&[&options[..], find, &[&before, &after]].concat());
        let model = split(&text, &PathClasses::default()).unwrap().model;
        repository.run(&["read-tree", &before]);
        if !model.is_empty() {
            let applied = apply(&repository, &model);
            prop_assert!(
                applied.status.success(),
                "{}\n{}\nof\n{}",
                String::from_utf8_lossy(&applied.stderr),
                String::from_utf8_lossy(&model),
                String::from_utf8_lossy(&text),
            );
        }
        prop_assert_eq!(sources(&repository), expected);
    }
}
