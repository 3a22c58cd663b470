//! Our ways beside the official harness's own commands, run by the real programs in a real work tree: the same patches are taken, and give the same tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::super::apply::whole;
use super::super::git_program::borrowing;
use super::*;

/// What a work tree or a tree holds: mode and content by path.
type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// Why the official commands may do something else, on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exception {
    /// Generation 4 takes out again what is there, or what its second try put in, and calls that applied.
    TakesOut,
    /// A conflicted merge stays in the tree: the reset of generation 5 does not undo it, and its last look finds the patch's lines between the marks.
    LeavesConflict,
    /// Nothing is written by way of a link.
    Link,
    /// Nothing is written into the directory `.git`.
    OfGit,
}
use Exception::{LeavesConflict, Link, OfGit, TakesOut};

struct Case {
    name: &'static str,
    base: Files,
    patch: Vec<u8>,
    /// Where generations 4 and 5 differ from us.
    exceptions: [Option<Exception>; 2],
}

fn file(content: impl AsRef<[u8]>) -> (u32, Vec<u8>) {
    (mode::FILE, content.as_ref().to_vec())
}

fn files<const N: usize>(files: [(&str, (u32, Vec<u8>)); N]) -> Files {
    files.map(|(path, file)| (path.to_owned(), file)).into()
}

/// Twenty lines of one word each.
fn lines() -> String {
    (1..=20).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "line {number}");
        text
    })
}

/// The usual work tree.
fn usual() -> Files {
    files([
        ("lines", file(lines())),
        ("other", file("a\nb\nc\n")),
        ("pkg/deep/file.py", file("def f():\n    return 1\n")),
        ("data.bin", file([0, 1, 2, 255, 0, 7])),
        ("run.sh", (mode::EXECUTABLE, b"#!/bin/sh\n".to_vec())),
    ])
}

fn with(mut base: Files, path: &str, content: impl AsRef<[u8]>) -> Files {
    let mode = base.get(path).map_or(mode::FILE, |(mode, _)| *mode);
    base.insert(path.to_owned(), (mode, content.as_ref().to_vec()));
    base
}

fn without(mut base: Files, path: &str) -> Files {
    base.remove(path);
    base
}

fn edited(from: &str, to: &str) -> Files {
    with(usual(), "lines", lines().replace(from, to))
}

fn git(directory: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@localhost"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}

fn done(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = git(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

/// Makes the work tree hold just these files.
fn write(directory: &Path, files: &Files) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() == ".git" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    for (path, (mode, content)) in files {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if *mode == mode::LINK {
            symlink(std::str::from_utf8(content).unwrap(), path).unwrap();
        } else {
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(*mode & 0o777)).unwrap();
        }
    }
}

/// A repository whose commits hold these files, one after the other.
fn repository(directory: &Path, states: &[&Files]) {
    fs::create_dir_all(directory).unwrap();
    done(directory, &["init", "--quiet"]);
    for files in states {
        write(directory, files);
        done(directory, &["add", "--all", "--force"]);
        done(
            directory,
            &["commit", "--quiet", "--allow-empty", "--message", "x"],
        );
    }
}

/// What a work tree holds, without what failed tries leave.
fn held(directory: &Path) -> Files {
    let mut found = Files::new();
    let mut pending: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(at) = pending.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
            let left = [".orig", ".rej"].iter().any(|end| name.ends_with(end));
            if name == ".git" || left {
                continue;
            }
            if metadata.is_dir() {
                pending.push(path);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                let target = target.as_os_str().as_encoded_bytes().to_vec();
                found.insert(name.to_owned(), (mode::LINK, target));
            } else {
                let executable = metadata.permissions().mode() & 0o100 != 0;
                let mode = [mode::FILE, mode::EXECUTABLE][usize::from(executable)];
                found.insert(name.to_owned(), (mode, fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn held_by(repository: &Repository, tree: Oid) -> Files {
    let mut index = Index::new().unwrap();
    index
        .read_tree(&repository.find_tree(tree).unwrap())
        .unwrap();
    let content = |id| repository.find_blob(id).unwrap().content().to_vec();
    let entries = index.iter();
    entries
        .map(|entry| {
            let path = String::from_utf8(entry.path).unwrap();
            (path, (entry.mode, content(entry.id)))
        })
        .collect()
}

/// The patch from one state to another, as git writes it.
fn diff(old: &Files, new: &Files, flags: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    repository(directory.path(), &[old, new]);
    let arguments = [
        &["diff", "--binary", "--no-color"],
        flags,
        &["HEAD~1", "HEAD"],
    ]
    .concat();
    done(directory.path(), &arguments)
}

/// The same without the lines that name what it was made from.
fn nameless(old: &Files, new: &Files) -> Vec<u8> {
    let text = String::from_utf8(diff(old, new, &[])).unwrap();
    let lines = text.split_inclusive('\n');
    let kept = lines.filter(|line| !line.starts_with("index "));
    kept.collect::<String>().into_bytes()
}

/// What the official harness does with a patch: its own commands, in its own order. Whether it takes the patch, and what is there then.
fn official(directory: &Path, patch: &Path, harness: Harness) -> (bool, Files) {
    let ways: &[&str] = match harness {
        Harness::V4 => &[
            "git apply --verbose",
            "git apply --verbose --reject",
            "patch --batch --fuzz=5 -p1 -i",
        ],
        Harness::V5 => &[
            "git apply --verbose",
            "git apply --verbose --3way",
            "git apply --verbose --reject",
            "patch --batch --forward --fuzz=5 -p1 -i",
        ],
    };
    let shell = |command: &str| {
        let mut shell = Command::new("/bin/bash");
        shell.args(["-c", command]).current_dir(directory);
        shell.env("GIT_CONFIG_GLOBAL", "/dev/null");
        shell
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
            .status
            .success()
    };
    for (turn, way) in ways.iter().enumerate() {
        if turn > 0 && harness == Harness::V5 {
            shell("git checkout -- . ; git clean -fd");
        }
        if shell(&format!("{way} {}", patch.display())) {
            return (true, held(directory));
        }
    }
    let undone = format!("git apply --check --reverse {}", patch.display());
    let taken = harness == Harness::V5 && shell(&undone);
    (taken, held(directory))
}

/// What we do with it.
fn ours(source: &Path, patch: &[u8], harness: Harness) -> (PatchApplication, Files) {
    let scratch = tempfile::tempdir().unwrap();
    let repository = borrowing(scratch.path(), &[source.join(".git/objects")]).unwrap();
    let id = done(source, &["rev-parse", "HEAD^{tree}"]);
    let now = Oid::from_str(std::str::from_utf8(&id).unwrap().trim()).unwrap();
    let whole = whole(patch).unwrap();
    match try_all(&repository, now, &whole, harness) {
        Ok((application, tree)) => (application, held_by(&repository, tree)),
        Err(Refusal::DoesNotApply) => (PatchApplication::Rejected, held_by(&repository, now)),
        Err(Refusal::NotTried(cause)) => panic!("{cause}"),
    }
}

/// Compares a case in both generations; what differs though nothing says it may, and the other way round.
fn compare(case: &Case) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let patch = directory.path().join("patch.diff");
    fs::write(&patch, &case.patch).unwrap();
    let source = directory.path().join("source");
    // The patch's own original may be known to the repository, as it is in the images.
    repository(&source, &[&usual(), &case.base]);
    let mut wrong = Vec::new();
    for (harness, exception) in [Harness::V4, Harness::V5].into_iter().zip(case.exceptions) {
        let (application, tree) = ours(&source, &case.patch, harness);
        let tried = directory.path().join(format!("{harness:?}"));
        let copied = Command::new("cp")
            .arg("-a")
            .args([&source, &tried])
            .status();
        assert!(copied.unwrap().success());
        let (taken, theirs) = official(&tried, &patch, harness);
        let same =
            taken == (application != PatchApplication::Rejected) && (!taken || tree == theirs);
        if same != exception.is_none() {
            wrong.push(format!(
                "{} {harness:?}: {application:?}, official {taken}, same tree {}, exception {exception:?}",
                case.name,
                tree == theirs
            ));
        }
    }
    wrong
}

fn case(name: &'static str, base: Files, patch: impl AsRef<[u8]>) -> Case {
    Case {
        name,
        base,
        patch: patch.as_ref().to_vec(),
        exceptions: [None, None],
    }
}

impl Case {
    fn but(self, exceptions: [Option<Exception>; 2]) -> Self {
        Self { exceptions, ..self }
    }
}

/// The patch of one line in the middle, and another further down.
fn two_hunks() -> Vec<u8> {
    let new = lines()
        .replace("line 5\n", "FIVE\n")
        .replace("line 16\n", "SIXTEEN\n");
    diff(&usual(), &with(usual(), "lines", new), &[])
}

fn one_hunk() -> Vec<u8> {
    diff(&usual(), &edited("line 10\n", "TEN\n"), &[])
}

fn text(patch: &[u8]) -> String {
    String::from_utf8(patch.to_vec()).unwrap()
}

/// Patches that fit, more or less.
fn that_fit() -> Vec<Case> {
    let before = |count: usize| with(usual(), "lines", "new\n".repeat(count) + &lines());
    let changed = |from: &str, to: &str| edited(from, to);
    let unnamed = || nameless(&usual(), &edited("line 10\n", "TEN\n"));
    vec![
        case("clean", usual(), one_hunk()),
        case("two hunks", usual(), two_hunks()),
        case("offset of one", before(1), one_hunk()),
        case("offset of fifty", before(50), two_hunks()),
        case(
            "offset up",
            edited("line 1\nline 2\nline 3\n", ""),
            one_hunk(),
        ),
        case("fuzz 1, unnamed", changed("line 7\n", "seven\n"), unnamed()),
        case(
            "fuzz 2, unnamed",
            changed("line 7\nline 8\n", "seven\neight\n"),
            unnamed(),
        ),
        case(
            "fuzz 3, unnamed",
            changed("line 7\nline 8\nline 9\n", "7\n8\n9\n"),
            unnamed(),
        ),
        case(
            "fuzz below, unnamed",
            changed("line 12\nline 13\n", "12\n13\n"),
            unnamed(),
        ),
        case(
            "fuzz on both sides, unnamed",
            changed("line 7\n", "7\n")
                .into_iter()
                .chain(changed("line 13\n", "13\n"))
                .collect(),
            unnamed(),
        ),
        case(
            "merged",
            changed("line 9\n", "nine\n").into_iter().collect(),
            one_hunk(),
        )
        .but([None, Some(LeavesConflict)]),
        case(
            "merged at a distance",
            changed("line 8\n", "eight\n"),
            one_hunk(),
        ),
        case(
            "context lost on both sides, unnamed",
            changed("line 9\nline 10\nline 11\n", "9\nline 10\n11\n"),
            unnamed(),
        ),
        case(
            "the line itself is another",
            changed("line 10\n", "ten\n"),
            unnamed(),
        ),
        case(
            "the line itself is another, named",
            changed("line 10\n", "ten\n"),
            one_hunk(),
        ),
        case("with fuzz 5", changed("line 7\n", "seven\n"), {
            let new = edited("line 10\n", "TEN\n");
            let wide = text(&diff(&usual(), &new, &["-U6"]));
            wide.lines()
                .filter(|line| !line.starts_with("index "))
                .fold(String::new(), |all, line| all + line + "\n")
        }),
    ]
}

/// Patches whose change is there already, or in part, or that go the other way.
fn that_were_there() -> Vec<Case> {
    let both = lines()
        .replace("line 5\n", "FIVE\n")
        .replace("line 16\n", "SIXTEEN\n");
    let two_files = diff(
        &usual(),
        &with(edited("line 10\n", "TEN\n"), "other", "a\nB\nc\n"),
        &[],
    );
    let reversed = diff(&edited("line 10\n", "TEN\n"), &usual(), &[]);
    let new_file = diff(&usual(), &with(usual(), "new.txt", "one\ntwo\n"), &[]);
    vec![
        case(
            "already applied",
            with(usual(), "lines", &both),
            two_hunks(),
        )
        .but([Some(TakesOut), None]),
        case(
            "the first hunk already applied",
            edited("line 5\n", "FIVE\n"),
            two_hunks(),
        )
        .but([Some(TakesOut), None]),
        case(
            "the last hunk already applied",
            edited("line 16\n", "SIXTEEN\n"),
            two_hunks(),
        )
        .but([Some(TakesOut), None]),
        case(
            "one of two files already done",
            edited("line 10\n", "TEN\n"),
            &two_files,
        )
        .but([Some(TakesOut), None]),
        case(
            "one of two files does not fit",
            with(usual(), "other", "x\ny\nz\n"),
            &two_files,
        ),
        case("reversed", usual(), &reversed).but([Some(TakesOut), None]),
        case(
            "new file that is there, the same",
            with(usual(), "new.txt", "one\ntwo\n"),
            &new_file,
        )
        .but([Some(TakesOut), None]),
        case(
            "new file that is there, another",
            with(usual(), "new.txt", "x\n"),
            &new_file,
        ),
        case(
            "deleted file that is gone",
            without(usual(), "other"),
            diff(&usual(), &without(usual(), "other"), &[]),
        )
        .but([Some(TakesOut), None]),
    ]
}

/// Patches that do more to files than change lines.
#[expect(clippy::too_many_lines, reason = "a table")]
fn of_files() -> Vec<Case> {
    let moved = || {
        let content = usual()["lines"].1.clone();
        with(without(usual(), "lines"), "pkg/moved", content)
    };
    let moved_and_changed = with(moved(), "pkg/moved", lines().replace("line 10\n", "TEN\n"));
    let executable = |base: Files| {
        let mut base = base;
        base.get_mut("lines").unwrap().0 = mode::EXECUTABLE;
        base
    };
    let linked = || {
        let mut base = usual();
        base.insert("link".to_owned(), (mode::LINK, b"pkg".to_vec()));
        base
    };
    let relinked = {
        let mut base = linked();
        base.insert("link".to_owned(), (mode::LINK, b"lines".to_vec()));
        base
    };
    let odd = "a b\tc \u{e9}\"q.txt";
    let named = with(usual(), odd, "one\ntwo\nthree\n");
    let below_link = "diff --git a/link/new b/link/new\nnew file mode 100644\n--- /dev/null\n+++ b/link/new\n@@ -0,0 +1 @@\n+x\n";
    vec![
        case(
            "new file",
            usual(),
            diff(&usual(), &with(usual(), "a/b/new", "x\n"), &[]),
        ),
        case(
            "new empty file",
            usual(),
            diff(&usual(), &with(usual(), "empty", ""), &[]),
        ),
        case(
            "deleted file",
            usual(),
            diff(&usual(), &without(usual(), "other"), &[]),
        ),
        case(
            "deleted file that has changed",
            with(usual(), "other", "a\nb\nC\n"),
            diff(&usual(), &without(usual(), "other"), &[]),
        ),
        case(
            "deleted file that has changed, unnamed",
            with(usual(), "other", "a\nb\nC\n"),
            nameless(&usual(), &without(usual(), "other")),
        ),
        case(
            "deleted directory",
            usual(),
            diff(&usual(), &without(usual(), "pkg/deep/file.py"), &[]),
        ),
        case("rename", usual(), diff(&usual(), &moved(), &["-M"])),
        case(
            "rename with a change",
            usual(),
            diff(&usual(), &moved_and_changed, &["-M"]),
        ),
        case(
            "rename of a file that is gone",
            without(usual(), "lines"),
            diff(&usual(), &moved(), &["-M"]),
        ),
        case(
            "rename onto a file that is there",
            with(usual(), "pkg/moved", "x\n"),
            diff(&usual(), &moved(), &["-M"]),
        ),
        case(
            "copy",
            usual(),
            diff(
                &usual(),
                &with(usual(), "copy", lines().replace("line 3\n", "3\n")),
                &["-C", "--find-copies-harder"],
            ),
        ),
        case(
            "mode alone",
            usual(),
            diff(&usual(), &executable(usual()), &[]),
        ),
        case(
            "mode that is there already",
            executable(usual()),
            diff(&usual(), &executable(usual()), &[]),
        ),
        case(
            "mode and content",
            usual(),
            diff(&usual(), &executable(edited("line 10\n", "TEN\n")), &[]),
        ),
        case(
            "binary",
            usual(),
            diff(&usual(), &with(usual(), "data.bin", [9, 0, 1, 2, 255]), &[]),
        ),
        case(
            "binary of other bytes",
            with(usual(), "data.bin", [7, 0, 7]),
            diff(&usual(), &with(usual(), "data.bin", [9, 0, 1, 2, 255]), &[]),
        ),
        case(
            "new binary",
            usual(),
            diff(&usual(), &with(usual(), "new.bin", [0, 1, 0]), &[]),
        ),
        case(
            "binary without its data",
            usual(),
            "diff --git a/data.bin b/data.bin\nindex 1111111..2222222 100644\nBinary files a/data.bin and b/data.bin differ\n",
        ),
        case("new link", usual(), diff(&usual(), &linked(), &[])),
        case(
            "link that leads elsewhere",
            linked(),
            diff(&linked(), &relinked, &[]),
        ),
        case("file below a link", linked(), below_link).but([Some(Link), Some(Link)]),
        case(
            "odd name",
            named.clone(),
            diff(&named, &with(named.clone(), odd, "one\n2\nthree\n"), &[]),
        ),
        case(
            "odd name with fuzz",
            with(named.clone(), odd, "1\ntwo\nthree\nfour\n"),
            nameless(&named, &with(named.clone(), odd, "one\ntwo\n3\n")),
        ),
        case(
            "file in the place of a directory",
            usual(),
            diff(
                &usual(),
                &with(without(usual(), "pkg/deep/file.py"), "pkg", "x\n"),
                &[],
            ),
        ),
        case(
            "directory in the place of a file",
            usual(),
            diff(
                &usual(),
                &with(without(usual(), "other"), "other/x", "x\n"),
                &[],
            ),
        ),
    ]
}

/// Patches that are not as git writes them.
#[expect(clippy::too_many_lines, reason = "a table")]
fn that_are_odd() -> Vec<Case> {
    let crlf = || with(usual(), "lines", lines().replace('\n', "\r\n"));
    let crlf_new = with(
        usual(),
        "lines",
        lines().replace("line 10\n", "TEN\n").replace('\n', "\r\n"),
    );
    let no_end = || with(usual(), "lines", lines().trim_end());
    let blank = || with(usual(), "lines", lines().replace("line 9\n", "\n"));
    let blank_new = with(
        usual(),
        "lines",
        lines()
            .replace("line 9\n", "\n")
            .replace("line 10\n", "TEN\n"),
    );
    let trimmed = text(&diff(&blank(), &blank_new, &[])).replace("\n \n", "\n\n");
    let plain = |name: &str| {
        format!("--- {name}\n+++ {name}\n@@ -9,3 +9,3 @@\n line 9\n-line 10\n+TEN\n line 11\n")
    };
    let one = text(&one_hunk());
    let cut = one.trim_end().to_owned();
    vec![
        case(
            "line ends of Windows in both",
            crlf(),
            diff(&crlf(), &crlf_new, &[]),
        ),
        case("line ends of Windows in the file", crlf(), &one).but([None, Some(LeavesConflict)]),
        case(
            "line ends of Windows in the patch",
            usual(),
            one.replace('\n', "\r\n"),
        ),
        case(
            "no last newline in the file",
            no_end(),
            diff(
                &no_end(),
                &with(
                    usual(),
                    "lines",
                    lines().trim_end().replace("line 20", "END"),
                ),
                &[],
            ),
        ),
        case(
            "a last newline is added",
            no_end(),
            diff(&no_end(), &usual(), &[]),
        ),
        case(
            "a last newline that the file lost",
            no_end(),
            diff(&usual(), &edited("line 20\n", "END\n"), &[]),
        )
        .but([None, Some(LeavesConflict)]),
        case("no last newline in the patch", usual(), &cut),
        case("blank context that an editor trimmed", blank(), trimmed),
        case("without git's header", usual(), plain("a/lines")),
        case("without git's header and prefix", usual(), plain("lines")),
        case(
            "with a time in the header",
            usual(),
            plain("a/lines").replace("a/lines\n", "a/lines\t2024-01-01 00:00:00\n"),
        ),
        case(
            "counts that are wrong",
            usual(),
            one.replace("@@ -7,7 +7,7 @@", "@@ -7,6 +7,6 @@"),
        ),
        case(
            "counts that are too large",
            usual(),
            one.replace("@@ -7,7 +7,7 @@", "@@ -7,9 +7,9 @@"),
        ),
        case(
            "a hunk's head without numbers",
            usual(),
            one.replace("@@ -7,7 +7,7 @@", "@@ ... @@"),
        ),
        case(
            "no context at the end",
            usual(),
            diff(&usual(), &edited("line 10\n", "TEN\n"), &["-U0"]),
        ),
        case(
            "wrong line numbers at the start",
            usual(),
            one.replace("@@ -7,7 +7,7 @@", "@@ -1,7 +1,7 @@"),
        ),
        case(
            "prose before it",
            usual(),
            format!("I changed this:\n\n{one}\n"),
        ),
        case(
            "a mail's signature after it",
            usual(),
            format!("{one}-- \n2.39.0\n"),
        ),
        case("the same file twice", usual(), {
            let between = edited("line 10\n", "TEN\n");
            let after = with(usual(), "lines", lines().replace("line 10\n", "10\n"));
            [diff(&usual(), &between, &[]), diff(&between, &after, &[])].concat()
        }),
        case("nonsense", usual(), "nonsense\n"),
        case("a header alone", usual(), "diff --git a/lines b/lines\n"),
        case("a path out of the tree", usual(), plain("a/../out")),
        case(
            "a path of git's own",
            usual(),
            "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n",
        )
        .but([Some(OfGit), Some(OfGit)]),
    ]
}

fn check(cases: &[Case]) {
    let wrong: Vec<String> = cases.iter().flat_map(compare).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn patches_that_fit_are_taken_as_officially() {
    check(&that_fit());
}

#[test]
fn patches_that_were_there_are_taken_as_officially() {
    check(&that_were_there());
}

#[test]
fn patches_of_whole_files_are_taken_as_officially() {
    check(&of_files());
}

#[test]
fn odd_patches_are_taken_as_officially() {
    check(&that_are_odd());
}
