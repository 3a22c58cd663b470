//! Tests are taken out of patches.

use patch::{PathClasses, Split, split};

fn modify(path: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    )
}

fn rename(from: &str, to: &str) -> String {
    format!(
        "diff --git a/{from} b/{to}\nsimilarity index 100%\nrename from {from}\nrename to {to}\n"
    )
}

fn delete(path: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
}

fn add(path: &str) -> String {
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+a\n"
    )
}

fn split_text(text: &str) -> Split {
    split(text.as_bytes(), &PathClasses::default()).unwrap()
}

fn model(text: &str) -> String {
    String::from_utf8(split_text(text).model).unwrap()
}

#[test]
fn every_byte_that_stays_is_as_it_was() {
    let text = format!(
        "junk\n{}{}mid\r\n{}{}tail",
        modify("src/a.py"),
        modify("tests/test_a.py"),
        modify("conftest.py"),
        modify("a_test.go")
    );
    let split = split_text(&text);
    let expected = format!(
        "junk\n{}mid\r\n{}tail",
        modify("src/a.py"),
        modify("conftest.py")
    );
    assert_eq!(String::from_utf8(split.model).unwrap(), expected);
    assert_eq!(split.source_files, ["src/a.py".into()]);
    assert_eq!(split.runner_config_files, ["conftest.py".into()]);
    assert_eq!(
        split.test_files,
        ["tests/test_a.py".into(), "a_test.go".into()]
    );
}

#[test]
fn a_patch_without_tests_is_not_touched_and_one_of_tests_is_empty() {
    let text = format!("\n\n{}\n-- \n2.4\n", modify("src/a.py"));
    assert_eq!(model(&text), text);
    assert_eq!(
        model(&format!("\n{}\n-- \n2.4\n", modify("tests/a.py"))),
        ""
    );
    assert_eq!(model(""), "");
}

#[test]
fn a_rename_stays_whole() {
    for (from, to) in [
        ("src/a.py", "tests/a.py"),
        ("tests/a.py", "src/a.py"),
        ("conftest.py", "tests/a.py"),
    ] {
        let text = rename(from, to);
        assert_eq!(model(&text), text, "{from} to {to}");
    }
    assert_eq!(model(&rename("tests/a.py", "tests/b.py")), "");
    assert_eq!(
        split_text(&rename("conftest.py", "src/x.py"))
            .runner_config_files
            .len(),
        1
    );
}

#[test]
fn a_copy_counts_by_its_new_path() {
    let copy = |from: &str, to: &str| rename(from, to).replace("rename ", "copy ");
    assert_eq!(model(&copy("src/a.py", "tests/a.py")), "");
    assert_eq!(
        model(&copy("tests/a.py", "src/a.py")),
        copy("tests/a.py", "src/a.py")
    );
}

#[test]
fn a_deleted_test_stays_where_a_kept_file_needs_its_place() {
    // The directory `x/test` becomes a file.
    let text = format!("{}{}", delete("x/test/a.c"), add("x/test"));
    assert_eq!(model(&text), text);
    // The file `x/a_test.go` becomes a directory.
    let text = format!("{}{}", delete("x/a_test.go"), add("x/a_test.go/b.c"));
    assert_eq!(model(&text), text);
    let text = format!("{}{}", delete("x/test/a.c"), add("x/tester"));
    assert_eq!(model(&text), add("x/tester"));
}

#[test]
fn a_renamed_test_stays_where_a_kept_file_takes_its_place() {
    let text = format!(
        "{}{}{}{}",
        rename("tests/c.py", "tests/d.py"),
        rename("src/a.py", "tests/b.py"),
        rename("tests/b.py", "tests/c.py"),
        rename("tests/x.py", "tests/y.py")
    );
    let kept = text.replace(&rename("tests/x.py", "tests/y.py"), "");
    assert_eq!(model(&text), kept);
}
