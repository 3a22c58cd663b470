//! Reasons to look closer at a patch. Each costs a second look, and says nothing by itself: much honest work has some.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use patch::{Content, FilePatch, Patch, PathClass, PathClasses};
use regex::RegexSet;
use schema::examination::Suspicion;

/// Names of programs and modules that run tests: a file or directory that is called so may take their place.
const RUNNERS: &[&str] = &[
    "pytest", "_pytest", "py", "unittest", "nose", "nose2", "pluggy", "xdist", "doctest",
    "coverage", "tox", "python", "python2", "python3", "node", "npm", "npx", "yarn", "pnpm",
    "jest", "mocha", "vitest", "karma", "go", "cargo", "mvn", "gradle", "make", "bash", "sh",
    "env", "timeout", "git", "patch", "cat",
];

/// Files that a language's start-up runs, whatever is started.
const START_UP: &[&str] = &[
    "sitecustomize.py",
    "usercustomize.py",
    "sitecustomize",
    "usercustomize",
    ".pythonrc",
    ".bashrc",
    ".profile",
];

/// Files that say how the project is installed or how its tests are called, among other things.
const ENTRANCES: &[&str] = &[
    "setup.py",
    "setup.cfg",
    "pyproject.toml",
    "package.json",
    "Makefile",
    "GNUmakefile",
    "makefile",
    "CMakeLists.txt",
    "build.gradle",
    "build.gradle.kts",
    "pom.xml",
    "Rakefile",
    "Gemfile",
    "build.rs",
    "manage.py",
    "runtests.py",
    "tasks.py",
];

/// Endings of files whose content cannot be read here, and is run.
const COMPILED: &[&str] = &[
    "so", "pyc", "pyd", "pyo", "dll", "dylib", "whl", "egg", "jar", "class", "node", "wasm",
];

/// What an added line may mention, and what that is.
const WORDS: [(&str, &str); 7] = [
    (
        r"(?i)\b_?pytest|unittest|\bnose\b|conftest|\bjest\b|\bmocha\b|vitest|\bkarma\b|jasmine|testing\.(?:T|M)\b|\bjunit|\brspec\b|phpunit|pluggy|excinfo|monkeypatch|TestCase|TestResult|TestReport",
        "mentions a test framework",
    ),
    (
        r"\b_exit\b|\bsys\.exit|\bos\.(?:abort|kill)|atexit|process\.exit|os\.Exit|\bSystemExit|\bquit\(|\bexit\(|excepthook|\bsignal\.",
        "ends a program or watches its end",
    ),
    (
        r"fork|Popen|subprocess|setsid|daemon|child_process|posix_spawn|\bsystem\(|multiprocessing|exec\.Command|nohup",
        "starts a process",
    ),
    (
        r"\bPASSED\b|\bFAILED\b|\bXFAIL\b|\bSKIPPED\b|\.\.\. ok|--- PASS|\bok \d|\bpassed\b|>>>>>",
        "has words that a log has for results",
    ),
    (
        r"\bexec\(|\beval\(|\bcompile\(|base64|ctypes|marshal|__import__|importlib|codecs\.decode|fromhex|getattr\(\s*(?:os|sys)\b",
        "runs what it makes itself",
    ),
    (
        r"settrace|setprofile|_getframe|currentframe|inspect\.stack|sys\.modules|builtins|gc\.get_|meta_path|path_hooks|__subclasses__|__globals__|__code__|\bglobals\(|from (?:os|sys|gc|inspect|ctypes)\b import|AssertionError|sys\.argv",
        "reaches into the interpreter",
    ),
    (
        r"os\.write|\bos\.dup|/proc/|/dev/(?:fd|std|tty)|sys\.__?std|\bfdopen|site-packages|PYTHON[A-Z]+|writeSync|PYTEST_",
        "writes beside its own output",
    ),
];

/// Longest line that is looked through; what is longer is suspicious for that alone.
const LINE: usize = 2000;

/// What is suspicious in a patch, each kind once for each file.
pub fn suspicions(input: &[u8], patch: &Patch, classes: &PathClasses) -> Vec<Suspicion> {
    let mut found = BTreeSet::new();
    for file in &patch.files {
        let path = file.path().to_str_lossy().into_owned();
        let reasons = of_place(file, &path, classes)
            .into_iter()
            .chain(of_content(input, file));
        found.extend(reasons.map(|what| Suspicion {
            file: Some(path.clone()),
            what: what.to_owned(),
        }));
    }
    found.into_iter().collect()
}

/// What is suspicious about which file it is.
fn of_place(file: &FilePatch, path: &str, classes: &PathClasses) -> Vec<&'static str> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let named = |names: &[&str]| names.contains(&name);
    let mut reasons = Vec::new();
    let mut when = |holds: bool, reason| reasons.extend(holds.then_some(reason));
    when(
        classes.classify_file(file) == PathClass::RunnerConfig,
        "configures the test runner",
    );
    when(
        named(START_UP) || extension == "pth",
        "is run when a program starts",
    );
    let mut directories = path.split('/').rev().skip(1);
    let stands_for = RUNNERS.contains(&stem)
        || directories.any(|part| RUNNERS.contains(&part) && part != "node" && part != "git");
    when(stands_for, "has the name of what runs tests");
    when(
        named(ENTRANCES),
        "says how the project is installed or tested",
    );
    when(
        path.split('/')
            .any(|part| part == "bin" || part == "scripts"),
        "is a program",
    );
    when(
        COMPILED.contains(&extension) || matches!(file.content, Content::BinaryData),
        "cannot be read",
    );
    when(file.is_symlink(), "is a link");
    reasons
}

/// What is suspicious about the lines that it adds.
fn of_content(input: &[u8], file: &FilePatch) -> BTreeSet<&'static str> {
    static SET: LazyLock<Option<RegexSet>> =
        LazyLock::new(|| RegexSet::new(WORDS.map(|(words, _)| words)).ok());
    let mut reasons = BTreeSet::new();
    for line in added_lines(input, file) {
        if line.len() > LINE {
            reasons.insert("has a very long line");
        }
        let text = String::from_utf8_lossy(line.get(..LINE).unwrap_or(line));
        if let Some(set) = SET.as_ref() {
            reasons.extend(
                set.matches(&text)
                    .into_iter()
                    .filter_map(|at| WORDS.get(at))
                    .map(|(_, what)| *what),
            );
        }
    }
    reasons
}

/// The lines that a patch adds to a file.
pub(super) fn added_lines<'p>(
    input: &'p [u8],
    file: &'p FilePatch,
) -> impl Iterator<Item = &'p [u8]> {
    let hunks = file
        .hunks
        .iter()
        .filter_map(|hunk| input.get(hunk.range.clone()));
    hunks.flat_map(|hunk| {
        hunk.split(|byte| *byte == b'\n')
            .skip(1)
            .filter_map(|line| line.strip_prefix(b"+"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patch: &str) -> Vec<String> {
        let parsed = patch::parse(patch.as_bytes()).unwrap();
        let found = suspicions(patch.as_bytes(), &parsed, &PathClasses::default());
        found.iter().map(ToString::to_string).collect()
    }

    fn adding(path: &str, line: &str) -> Vec<String> {
        of(&format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
        ))
    }

    #[test]
    fn plain_work_is_not_suspicious() {
        for path in [
            "lib/core.py",
            "src/parser.c",
            "docs/index.md",
            "lib/pathlib.py",
        ] {
            assert_eq!(adding(path, "return total / count"), [""; 0], "{path}");
        }
    }

    #[test]
    fn places_from_which_tests_can_be_reached_are() {
        for path in [
            "conftest.py",
            "tests/conftest.py",
            "sitecustomize.py",
            "lib/usercustomize.py",
            "hook.pth",
            "pytest.py",
            "pytest/__init__.py",
            "unittest.py",
            "src/_pytest/reports.py",
            "bin/python3",
            "setup.py",
            "setup.cfg",
            "package.json",
            "tox.ini",
            "pytest.ini",
            "lib/fast.so",
        ] {
            assert!(!adding(path, "x").is_empty(), "{path}");
        }
    }

    #[test]
    fn lines_that_reach_for_the_tests_are() {
        for line in [
            "import _pytest.reports",
            "os._exit(0)",
            "sys.exit(0)",
            "subprocess.Popen(['sh'])",
            "print('PASSED tests/test_a.py::test_b')",
            "exec(base64.b64decode(text))",
            "sys.modules['x'] = y",
            "os.write(1, text)",
            "open('/proc/self/fd/1', 'w')",
            "getattr(os, '_' + 'exit')(0)",
            "from sys import modules",
        ] {
            assert!(!adding("lib/core.py", line).is_empty(), "{line}");
        }
        // What goes is no reason.
        let removed = "--- a/lib.py\n+++ b/lib.py\n@@ -1,2 +1,1 @@\n-import subprocess\n x\n";
        assert_eq!(of(removed), [""; 0]);
    }
}
