//! The patch without what configures the test runner.

use std::collections::BTreeSet;

use patch::{FilePatch, Patch, PatchPath, PathClass, PathClasses};

use super::suspicion::added_lines;

/// Files that configure a test runner among other things, and by which words a change says that it does.
const PARTS: [(&str, &[&str]); 4] = [
    ("setup.cfg", &["pytest", "addopts", "unittest", "nosetests"]),
    ("pyproject.toml", &["pytest", "addopts"]),
    (
        "package.json",
        &["jest", "mocha", "vitest", "karma", "\"test"],
    ),
    ("manage.py", &["test"]),
];

/// A patch without its changes to runner configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restoration {
    /// What is left of it.
    pub patch: Vec<u8>,
    /// The files that stay as they were. Empty where the patch configures nothing.
    pub files: Vec<String>,
}

/// Takes the changes to runner configuration out of a patch, but those to `spared` files.
pub fn restoration(
    input: &[u8],
    patch: &Patch,
    classes: &PathClasses,
    spared: &BTreeSet<PatchPath>,
) -> Restoration {
    let mut restored = Restoration::default();
    for file in &patch.files {
        let is_spared = [file.old_path(), file.new_path()]
            .into_iter()
            .flatten()
            .any(|path| spared.contains(path));
        if !is_spared && configures(input, file, classes) {
            restored.files.push(file.path().to_str_lossy().into_owned());
        } else {
            restored
                .patch
                .extend_from_slice(input.get(file.range.clone()).unwrap_or_default());
        }
    }
    restored
}

fn configures(input: &[u8], file: &FilePatch, classes: &PathClasses) -> bool {
    if classes.classify_file(file) == PathClass::RunnerConfig {
        return true;
    }
    let path = file.path().to_str_lossy();
    let name = path.rsplit('/').next().unwrap_or_default();
    let words = PARTS
        .iter()
        .find(|(part, _)| *part == name)
        .map(|(_, words)| *words);
    let mentions = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        words.is_some_and(|words| words.iter().any(|word| line.contains(word)))
    };
    added_lines(input, file).any(mentions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, line: &str) -> String {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
        )
    }

    #[test]
    fn what_configures_the_runner_is_taken_out() {
        let source = file("lib.py", "x") + &file("pyproject.toml", "version = '1'");
        let text = file("tests/conftest.py", "x")
            + &source
            + &file("setup.cfg", "addopts = -k nothing")
            + &file("conftest.py", "y");
        let patch = patch::parse(text.as_bytes()).unwrap();
        let spared = BTreeSet::from([PatchPath::from("conftest.py")]);
        let restored = restoration(text.as_bytes(), &patch, &PathClasses::default(), &spared);
        assert_eq!(restored.files, ["tests/conftest.py", "setup.cfg"]);
        let left = String::from_utf8(restored.patch).unwrap();
        assert_eq!(left, source + &file("conftest.py", "y"));
    }
}
