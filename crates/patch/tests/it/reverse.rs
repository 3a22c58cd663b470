//! Patches turned round: git itself must take them back to where they began.

use std::io::Write;
use std::process::Stdio;

use patch::{ReverseError, reverse};
use pretty_assertions::assert_eq;

use crate::git::{Repository, git};

/// The tree of a revision.
fn tree(repository: &Repository, revision: &str) -> Vec<u8> {
    repository.run(&["rev-parse", &format!("{revision}^{{tree}}")])
}

/// Undoes the last commit by its patch, turned round, and looks whether the tree is the one before it.
fn undone(repository: &Repository, options: &[&str]) {
    let text = repository.last(options);
    let back = reverse(&text).unwrap();
    let shown = || format!("{options:?}\n{}", String::from_utf8_lossy(&back));
    let before = tree(repository, "HEAD^");
    repository.run(&["reset", "-q", "--hard"]);
    let mut apply = git(repository.0.path())
        .args([
            "apply",
            "--index",
            "--unidiff-zero",
            "--whitespace=nowarn",
            "-",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    apply.stdin.take().unwrap().write_all(&back).unwrap();
    assert!(apply.wait().unwrap().success(), "{}", shown());
    let written = repository.run(&["write-tree"]);
    repository.run(&["reset", "-q", "--hard"]);
    assert_eq!(written, before, "{}", shown());
    // Twice round is the same change again.
    let again = reverse(&reverse(&back).unwrap()).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(&back)
    );
}

const OPTIONS: [&[&str]; 5] = [
    &["--binary"],
    &["--binary", "-M"],
    &["--binary", "-U0"],
    &["--binary", "--no-renames", "-B"],
    &["--binary", "--src-prefix=old/", "--dst-prefix=new/"],
];

#[test]
fn every_kind_of_change_is_undone() {
    let repository = Repository::new();
    let lines =
        |from: usize| (from..from + 30).fold(String::new(), |text, n| text + &n.to_string() + "\n");
    for name in ["a.txt", "dir/with space.txt", "dir/ü\".txt", "mode", "gone"] {
        repository.write(name, lines(0).as_bytes());
    }
    repository.write("end", b"no end");
    repository.write(
        "binary",
        &(0..=255_u8).cycle().take(3000).collect::<Vec<u8>>(),
    );
    repository.write("crlf", b"one\r\ntwo\r\n");
    repository.commit();
    let check = || {
        for options in OPTIONS {
            undone(&repository, options);
        }
    };

    repository.write("a.txt", (lines(3) + "x\n" + &lines(40)).as_bytes());
    repository.write("dir/ü\".txt", lines(1).as_bytes());
    repository.write("end", b"no end\nand more");
    repository.write("crlf", b"one\r\nthree\r\n");
    repository.write("binary", b"\0\x01");
    repository.write("new/file", b"new");
    repository.commit();
    check();

    repository.run(&["mv", "dir/with space.txt", "moved to.txt"]);
    repository.run(&["mv", "dir/ü\".txt", "dir/\"quoted\".txt"]);
    repository.run(&["rm", "-q", "gone", "binary"]);
    repository.run(&["update-index", "--chmod=+x", "mode"]);
    repository.run(&["commit", "-q", "-m", "x"]);
    repository.run(&["reset", "-q", "--hard"]);
    check();

    std::fs::remove_file(repository.0.path().join("a.txt")).unwrap();
    std::os::unix::fs::symlink("mode", repository.0.path().join("a.txt")).unwrap();
    repository.write("empty", b"");
    repository.commit();
    check();
}

#[test]
fn what_is_not_in_the_patch_cannot_be_undone() {
    let lossy = |text: &[u8]| match reverse(text) {
        Err(ReverseError::Lossy { path, .. }) => path,
        other => panic!("{other:?}"),
    };
    let copy = b"diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n";
    assert_eq!(lossy(copy), "y");
    let notice =
        b"diff --git a/x b/x\nindex 1234567..89abcde 100644\nBinary files a/x and b/x differ\n";
    assert_eq!(lossy(notice), "x");
    assert!(matches!(reverse(b"nonsense"), Err(ReverseError::Parse(_))));
    assert_eq!(reverse(b"").unwrap(), b"");
}
