//! The tools against a real directory: what they change, byte for byte, and what they say.

use std::sync::Arc;

use schema::{Event, ToolResult};
use serde_json::{Value, json};

use crate::directory::DirectoryWorkspace;
use crate::fakes::{MemoryLog, StrictModel, attempt, calls, text};

const EDIT: &str = "str_replace_based_edit_tool";

/// Runs calls one after the other, as one reply of a model; gives their results.
async fn results(workspace: &Arc<DirectoryWorkspace>, made: &[(&str, Value)]) -> Vec<ToolResult> {
    let made: Vec<(&str, String)> = made
        .iter()
        .map(|(name, arguments)| (*name, arguments.to_string()))
        .collect();
    let made: Vec<(&str, &str)> = made
        .iter()
        .map(|(name, arguments)| (*name, arguments.as_str()))
        .collect();
    let log = MemoryLog::default();
    let model = Arc::new(StrictModel::replies(vec![calls(&made), text("stop")]));
    let mut attempt = attempt(&model, workspace, &log);
    attempt.task.workdir = workspace.root().to_owned();
    agent::driver::run(attempt).await;
    log.events()
        .into_iter()
        .filter_map(|event| match event {
            Event::ToolDone { run, .. } => Some(run.result),
            Event::Answered { result } => Some(result),
            _ => None,
        })
        .collect()
}

async fn edit(workspace: &Arc<DirectoryWorkspace>, arguments: Value) -> ToolResult {
    results(workspace, &[(EDIT, arguments)]).await.remove(0)
}

fn workspace() -> Arc<DirectoryWorkspace> {
    Arc::new(DirectoryWorkspace::new())
}

#[tokio::test]
async fn a_replacement_changes_nothing_else() {
    let workspace = workspace();
    for (before, old, new, after) in [
        (
            "\tif x:\n\t\ty = 1\n".as_bytes().to_vec(),
            "y = 1",
            "y = 2",
            "\tif x:\n\t\ty = 2\n".as_bytes().to_vec(),
        ),
        (
            b"a\r\nb\r\n".to_vec(),
            "a\nb",
            "a\nc",
            b"a\r\nc\r\n".to_vec(),
        ),
        (b"no end".to_vec(), "end", "End", b"no End".to_vec()),
        (
            b"caf\xe9 = 1\n\x93x\x94\n".to_vec(),
            "= 1",
            "= 2",
            b"caf\xe9 = 2\n\x93x\x94\n".to_vec(),
        ),
        (
            b"\xef\xbb\xbfa = 1\n".to_vec(),
            "a = 1",
            "a = 2",
            b"\xef\xbb\xbfa = 2\n".to_vec(),
        ),
        (b"keep\ndrop\n".to_vec(), "drop\n", "", b"keep\n".to_vec()),
        (
            "ä = 1\n".as_bytes().to_vec(),
            "ä",
            "ö",
            "ö = 1\n".as_bytes().to_vec(),
        ),
    ] {
        workspace.put("f", &before);
        let said = edit(
            &workspace,
            json!({"command": "str_replace", "path": "f", "old_str": old, "new_str": new}),
        )
        .await;
        assert!(!said.is_error, "{}", said.content);
        assert_eq!(workspace.bytes("f"), after, "{old}");
    }
}

#[tokio::test]
async fn a_replacement_that_is_not_clear_changes_nothing_and_says_why() {
    let workspace = workspace();
    workspace.put("f", "one = 1\ntwo = 2\none = 1\n\tthree = 3\n");
    for (old, said) in [
        ("one = 1", "occurs 2 times in"),
        ("one = 1", "at lines 1, 3"),
        ("twoo = 2", "     2\ttwo = 2"),
        ("    three = 3", "differ from it only in white space"),
        ("", "`old_str` is empty"),
    ] {
        let result = edit(
            &workspace,
            json!({"command": "str_replace", "path": "f", "old_str": old, "new_str": "x"}),
        )
        .await;
        assert!(result.is_error);
        assert!(result.content.contains(said), "{old}: {}", result.content);
    }
    assert_eq!(
        workspace.bytes("f"),
        b"one = 1\ntwo = 2\none = 1\n\tthree = 3\n"
    );
}

#[tokio::test]
async fn modes_survive_and_parents_are_made() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = workspace();
    workspace.put("run.sh", "echo 1\n");
    let path = workspace.0.path().join("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    edit(
        &workspace,
        json!({"command": "insert", "path": "run.sh", "insert_line": 1, "new_str": "echo 2"}),
    )
    .await;
    assert_eq!(workspace.bytes("run.sh"), b"echo 1\necho 2\n");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o755
    );

    let said = edit(
        &workspace,
        json!({"command": "create", "path": "a/b/c.py", "file_text": "x = 1"}),
    )
    .await;
    assert!(!said.is_error, "{}", said.content);
    assert_eq!(workspace.bytes("a/b/c.py"), b"x = 1");
    let again = edit(
        &workspace,
        json!({"command": "create", "path": "a/b/c.py", "file_text": "y"}),
    )
    .await;
    assert!(
        again.is_error && again.content.contains("exists already"),
        "{}",
        again.content
    );
    assert_eq!(workspace.bytes("a/b/c.py"), b"x = 1");
}

#[tokio::test]
async fn undo_takes_back_one_change_after_the_other_and_nothing_of_others() {
    let workspace = workspace();
    workspace.put("f", "a\n");
    let replace = |old: &str, new: &str| {
        (
            EDIT,
            json!({"command": "str_replace", "path": "f", "old_str": old, "new_str": new}),
        )
    };
    let undo = (EDIT, json!({"command": "undo_edit", "path": "f"}));
    let create = (
        EDIT,
        json!({"command": "create", "path": "new", "file_text": "n"}),
    );
    let undo_create = (EDIT, json!({"command": "undo_edit", "path": "new"}));
    let said = results(
        &workspace,
        &[
            replace("a", "b"),
            create,
            replace("b", "c"),
            undo.clone(),
            undo.clone(),
            undo.clone(),
            undo_create,
        ],
    )
    .await;
    let errors: Vec<bool> = said.iter().map(|result| result.is_error).collect();
    assert_eq!(errors, [false, false, false, false, false, true, false]);
    assert_eq!(workspace.bytes("f"), b"a\n");
    assert!(!workspace.0.path().join("new").exists());

    let by_hand = ("bash", json!({"command": "echo other > f"}));
    let said = results(&workspace, &[replace("a", "b"), by_hand, undo]).await;
    assert!(
        said[2].content.contains("changed by something else"),
        "{}",
        said[2].content
    );
    assert_eq!(workspace.bytes("f"), b"other\n");
}

#[tokio::test]
async fn views_have_numbers_ranges_and_notes() {
    let workspace = workspace();
    workspace.put("f", "one\n\ttwo\nthree");
    let said = edit(&workspace, json!({"command": "view", "path": "f"}))
        .await
        .content;
    assert_eq!(
        said,
        "     1\tone\n     2\t\ttwo\n     3\tthree\n[no line feed at the end of the file]"
    );
    let said = edit(
        &workspace,
        json!({"command": "view", "path": "f", "view_range": [2, 2]}),
    )
    .await
    .content;
    assert!(
        said.starts_with("     2\t\ttwo\n[lines 2 to 2 of 3]"),
        "{said}"
    );
    let said = edit(
        &workspace,
        json!({"command": "view", "path": "f", "view_range": [4, -1]}),
    )
    .await;
    assert!(
        said.is_error && said.content.contains("has 3 lines"),
        "{}",
        said.content
    );
    let long: Vec<String> = (1..=9000).map(|n| format!("line {n}")).collect();
    workspace.put("long", long.join("\n") + "\n");
    let said = edit(&workspace, json!({"command": "view", "path": "long"}))
        .await
        .content;
    assert!(said.len() < 16_600, "{}", said.len());
    assert!(
        said.contains("of 9000 are shown; go on with `view_range` ["),
        "{}",
        &said[said.len() - 200..]
    );
}

#[tokio::test]
async fn what_is_no_text_file_is_refused_with_a_way_out() {
    let workspace = workspace();
    workspace.put("binary", b"\x7fELF\0\0");
    workspace.put("huge", vec![b'x'; 3 * 1024 * 1024]);
    workspace.put("d/x", "");
    for (path, command, said) in [
        ("binary", "view", "binary"),
        ("huge", "view", "2 MiB"),
        ("missing", "view", "does not exist"),
        ("d", "str_replace", "is a directory"),
        ("missing", "insert", "does not exist"),
    ] {
        let arguments = json!({"command": command, "path": path, "old_str": "a", "new_str": "b", "insert_line": 0});
        let result = edit(&workspace, arguments).await;
        assert!(result.is_error, "{path}");
        assert!(result.content.contains(said), "{path}: {}", result.content);
    }
}

#[tokio::test]
async fn directories_are_listed_two_levels_deep() {
    let workspace = workspace();
    for path in [
        "a/b/c/d.txt",
        "a/x $(touch hit)",
        "top.py",
        ".hidden/x",
        "a/.git/y",
    ] {
        workspace.put(path, "");
    }
    let said = edit(&workspace, json!({"command": "view", "path": "."}))
        .await
        .content;
    let entries: Vec<&str> = said.lines().skip(1).collect();
    assert_eq!(entries, ["a/", "a/b/", "a/x $(touch hit)", "top.py"]);
    let odd = "it's; touch hit";
    workspace.put(&format!("{odd}/f"), "");
    let said = edit(&workspace, json!({"command": "view", "path": odd}))
        .await
        .content;
    assert!(said.ends_with("\nf"), "{said}");
    assert!(!workspace.0.path().join("hit").exists());
}

#[tokio::test]
async fn search_finds_lines_in_a_repository_and_outside() {
    let workspace = workspace();
    workspace.put("src/a.py", "def f1():\n    return 'x'\n");
    workspace.put("src/b.js", "f1()\n");
    workspace.put("ignored.log", "f1\n");
    workspace.put(".gitignore", "*.log\n");
    workspace.put("binary", b"f1\0\n");
    let search = async |arguments: Value| {
        results(&workspace, &[("search", arguments)])
            .await
            .remove(0)
    };
    for git in [false, true] {
        if git {
            workspace.git_init();
        }
        let found = search(json!({"pattern": r"f\d\(", "path": "src"}))
            .await
            .content;
        let mut lines: Vec<&str> = found.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            ["src/a.py:1:def f1():", "src/b.js:1:f1()"],
            "git: {git}"
        );
        let found = search(json!({"pattern": "f1", "glob": "*.py"}))
            .await
            .content;
        assert!(found.ends_with("src/a.py:1:def f1():"), "{found}");
        let found = search(json!({"pattern": "'x'|nothing", "max_results": 1}))
            .await
            .content;
        assert!(found.contains("return 'x'"), "{found}");
        let found = search(json!({"pattern": "f1", "max_results": 1}))
            .await
            .content;
        assert!(found.contains("more than 1 lines match"), "{found}");
        let found = search(json!({"pattern": "no such thing"})).await;
        assert!(
            !found.is_error && found.content.contains("No line matches"),
            "{}",
            found.content
        );
        let found = search(json!({"pattern": "a(", "path": "src"}))
            .await
            .content;
        assert!(found.to_lowercase().contains("unmatched"), "{found}");
    }
    let found = search(json!({"pattern": "f1", "path": "missing"})).await;
    assert!(found.is_error && found.content.contains("does not exist"));
    let found = search(json!({"pattern": "f1"})).await.content;
    assert!(!found.contains("ignored.log"), "{found}");
    let found = search(json!({"pattern": "root:", "path": "/etc/passwd"}))
        .await
        .content;
    assert!(found.contains("root:"), "{found}");
}

#[tokio::test]
async fn thoughts_are_noted() {
    let workspace = workspace();
    let thought = json!({"thought": "t", "next_thought_needed": true, "thought_number": 3, "total_thoughts": 2});
    let said = results(&workspace, &[("sequential_thinking", thought)])
        .await
        .remove(0);
    assert_eq!(
        said.content,
        r#"{"thought_number":3,"total_thoughts":3,"next_thought_needed":true}"#
    );
}
