//! The forms that a patch comes in, written by hand.

use patch::{Change, Content, FilePatch, ParseError, Patch, parse};

fn read(text: &str) -> Patch {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}:\n{text}"))
}

fn only(text: &str) -> FilePatch {
    let mut files = read(text).files;
    assert_eq!(files.len(), 1, "{files:#?}");
    files.remove(0)
}

fn old(file: &FilePatch) -> String {
    file.old_path().map(ToString::to_string).unwrap_or_default()
}

fn new(file: &FilePatch) -> String {
    file.new_path().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn blank_text_is_an_empty_patch() {
    for text in ["", "\n", " \r\n\t\n"] {
        assert!(read(text).files.is_empty());
    }
}

#[test]
fn text_without_a_diff_is_refused() {
    assert_eq!(parse(b"I changed the file."), Err(ParseError::NoDiff));
}

#[test]
fn a_modified_file() {
    let file = only(
        "diff --git a/src/x.py b/src/x.py\nindex 1..2 100755\n--- a/src/x.py\n+++ b/src/x.py\n@@ -1,2 +1,3 @@ def f():\n a\n-b\n+c\n+d\n",
    );
    assert_eq!(file.change, Change::Modified);
    assert_eq!((file.added, file.removed), (2, 1));
    assert_eq!(
        (file.old_mode, file.new_mode),
        (Some(0o100_755), Some(0o100_755))
    );
    assert_eq!(file.content, Content::Text);
    assert_eq!(file.hunks[0].new_lines, 3);
    assert_eq!(new(&file), "src/x.py");
}

#[test]
fn added_and_deleted_files() {
    let file = only(
        "diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n",
    );
    assert_eq!(
        (file.change, old(&file), new(&file)),
        (Change::Added, String::new(), "x".into())
    );
    let file = only(
        "diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    assert_eq!(
        (file.change, old(&file), new(&file)),
        (Change::Deleted, "x".into(), String::new())
    );
    let file = only("diff --git a/empty b/empty\nnew file mode 100644\nindex 0..e69de29\n");
    assert_eq!((file.change, file.content), (Change::Added, Content::None));
}

#[test]
fn renames_copies_and_modes() {
    let file = only(
        "diff --git a/a b.py b/c d.py\nsimilarity index 100%\nrename from a b.py\nrename to c d.py\n",
    );
    assert_eq!(
        (file.change, old(&file), new(&file)),
        (Change::Renamed, "a b.py".into(), "c d.py".into())
    );
    let file = only(
        "diff --git a/x b/y\nsimilarity index 90%\ncopy from x\ncopy to y\nindex 1..2 100644\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
    );
    assert_eq!(
        (file.change, old(&file), new(&file)),
        (Change::Copied, "x".into(), "y".into())
    );
    let file = only("diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n");
    assert_eq!(file.change, Change::ModeChanged);
    assert_eq!(
        (file.old_mode, file.new_mode),
        (Some(0o100_644), Some(0o100_755))
    );
}

#[test]
fn links_and_submodules() {
    let file = only(
        "diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n",
    );
    assert!(file.is_symlink() && !file.is_submodule());
    let file = only(
        "diff --git a/sub b/sub\nindex 1..2 160000\n--- a/sub\n+++ b/sub\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n",
    );
    assert!(file.is_submodule());
}

#[test]
fn binary_content() {
    let patch = read(
        "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0..1\nGIT binary patch\nliteral 4\nLc${NkU|;|M00aO5\n\nliteral 0\nHcmV?d00001\n\ndiff --git a/y.png b/y.png\nindex 1..2 100644\nBinary files a/y.png and b/y.png differ\n",
    );
    assert_eq!(patch.files[0].content, Content::BinaryData);
    assert_eq!(patch.files[1].content, Content::BinaryNotice);
    assert_eq!(patch.files[1].range.start, patch.files[0].range.end);
    let corrupt = parse(b"diff --git a/x b/x\nGIT binary patch\nliteral 4\nLc$\n\n");
    assert_eq!(corrupt, Err(ParseError::Binary { line: 4 }));
}

#[test]
fn quoted_paths() {
    let file = only(
        "diff --git \"a/d\\303\\251j\\303\\240 \\\"vu\\\".txt\" \"b/d\\303\\251j\\303\\240 \\\"vu\\\".txt\"\nold mode 100644\nnew mode 100755\n",
    );
    assert_eq!(new(&file), "déjà \"vu\".txt");
    let file = only(
        "diff --git a/plain \"b/t\\tb\"\nsimilarity index 100%\nrename from plain\nrename to \"t\\tb\"\n",
    );
    assert_eq!((old(&file), new(&file)), ("plain".into(), "t\tb".into()));
    let file = only("diff --git \"a/\\377\" \"b/\\377\"\nold mode 100644\nnew mode 100755\n");
    assert_eq!(file.path().as_bytes(), b"\xff");
}

#[test]
fn paths_with_spaces_and_prefixes_inside() {
    for path in [
        "x b/y",
        "a b/a b/a",
        " lead",
        "trail ",
        "x b/x b/x b/x b/x",
        "b/b b/b",
    ] {
        let file = only(&format!(
            "diff --git a/{path} b/{path}\nold mode 100644\nnew mode 100755\n"
        ));
        assert_eq!(new(&file), path);
    }
    let file = only(
        "diff --git a/with space b/with space\nindex 1..2 100644\n--- a/with space\t\n+++ b/with space\t\n@@ -1 +1 @@\n-a\n+b\n",
    );
    assert_eq!(new(&file), "with space");
}

#[test]
fn prefixes_of_every_kind() {
    for (before, after) in [
        ("a/t/x.py", "b/t/x.py"),
        ("i/t/x.py", "w/t/x.py"),
        ("t/x.py", "t/x.py"),
        ("old/t/x.py", "new/t/x.py"),
        ("b/t/x.py", "a/t/x.py"),
        ("a/t/x.py", "a/t/x.py"),
    ] {
        let file = only(&format!(
            "diff --git {before} {after}\nindex 1..2 100644\n--- {before}\n+++ {after}\n@@ -1 +1 @@\n-a\n+b\n"
        ));
        assert_eq!(new(&file), "t/x.py", "{before} {after}");
        assert_eq!(file.change, Change::Modified);
    }
}

#[test]
fn diffs_without_the_headers_of_git() {
    let patch = read(
        "Index: x.c\n=====\n--- a/x.c\t2024-01-01 00:00:00\n+++ b/x.c\t2024-01-02 00:00:00\n@@ -1 +1 @@\n-a\n+b\nOnly in b: y\n--- a/n.c\t1970-01-01 01:00:00\n+++ b/n.c\t2024-01-02 00:00:00\n@@ -0,0 +1 @@\n+a\n--- a/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    let changes: Vec<_> = patch
        .files
        .iter()
        .map(|file| (file.change, file.path().to_string()))
        .collect();
    assert_eq!(
        changes,
        [
            (Change::Modified, "x.c".to_owned()),
            (Change::Added, "n.c".to_owned()),
            (Change::Deleted, "gone.c".to_owned()),
        ]
    );
}

#[test]
fn content_that_looks_like_headers_stays_content() {
    let file = only(
        "diff --git a/x.diff b/x.diff\nindex 1..2 100644\n--- a/x.diff\n+++ b/x.diff\n@@ -1,4 +1,4 @@\n--- a/y\n-diff --git a/y b/y\n-@@ -1 +1 @@\n+++ b/y\n+diff --git a/z b/z\n+@@ -1 +1 @@\n end\n",
    );
    assert_eq!((file.added, file.removed), (3, 3));
}

#[test]
fn line_ends_of_every_kind() {
    let crlf = only(
        "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n \r\n",
    );
    assert_eq!((crlf.added, crlf.removed), (1, 1));
    let all_crlf = only(
        "diff --git a/x b/x\r\nindex 1..2 100644\r\n--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n\r\n",
    );
    assert_eq!((new(&all_crlf).as_str(), all_crlf.added), ("x", 1));
    let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file";
    let no_newline = only(text);
    assert_eq!(no_newline.range, 0..text.len());
    assert_eq!((no_newline.added, no_newline.removed), (1, 1));
    let cut = only("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c");
    assert_eq!(cut.added, 1);
}

#[test]
fn text_around_the_sections_is_left_out() {
    let text = "\nHere is the fix:\n```diff\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n```\n-- \n2.43.0\n\n";
    let file = only(text);
    assert!(text[file.range.clone()].starts_with("diff --git"));
    assert!(text[file.range].ends_with("+b\n"));
}

#[test]
fn what_git_calls_corrupt_is_refused_with_its_line() {
    for (text, line) in [
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n", 7),
        (
            "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\ndiff --git a/y b/y\n",
            5,
        ),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n-a\n+b\n c\n", 6),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -x +1 @@\n", 6),
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        ("--- a/x\n+++ b/x\n@@ -1 +99999999999 @@\n-a\n+b\n", 3),
    ] {
        match parse(text.as_bytes()) {
            Err(ParseError::Hunk { line: found, .. }) => assert_eq!(found, line, "{text}"),
            other => panic!("{other:?}\n{text}"),
        }
    }
    let unnamed = "diff --git a/a b b/c d\nindex 1..2\n";
    assert!(matches!(
        parse(unnamed.as_bytes()),
        Err(ParseError::Header { line: 1, .. })
    ));
    assert_eq!(
        parse(b"diff --cc x\n"),
        Err(ParseError::Combined { line: 1 })
    );
    assert!(parse(b"diff --git a/x b/x\nold mode 999\n").is_err());
}
