//! What models write as arguments, and what is made of it.

use std::time::Duration;

use agent::Catalog;
use agent::tools::action::{Action, Bash, EditCommand, Search, Thought};
use schema::ToolCall;

fn check(name: &str, arguments: &str) -> Result<Action, agent::Complaint> {
    Catalog::default().check(&ToolCall {
        id: "c".into(),
        name: name.into(),
        arguments: arguments.into(),
    })
}

const EDIT: &str = "str_replace_based_edit_tool";

fn command(text: &str) -> Action {
    Action::Bash(Bash::Run {
        command: text.into(),
        timeout: None,
    })
}

#[test]
fn what_is_clear_is_accepted() {
    for arguments in [
        r#"{"command": "ls"}"#,
        r#""{\"command\": \"ls\"}""#,
        r#"{"arguments": {"command": "ls"}}"#,
        r#"{"command": "ls", "timeout": null, "restart": null}"#,
        r#"{"command": "ls", "restart": "false"}"#,
    ] {
        assert_eq!(check("bash", arguments), Ok(command("ls")), "{arguments}");
    }
    for (timeout, milliseconds) in [
        ("5", 5_000),
        ("\"5\"", 5_000),
        ("0.5", 500),
        ("1e300", 600_000),
    ] {
        let arguments = format!(r#"{{"command": "ls", "timeout": {timeout}}}"#);
        let Ok(Action::Bash(Bash::Run { timeout, .. })) = check("bash", &arguments) else {
            panic!("{arguments}");
        };
        assert_eq!(timeout, Some(Duration::from_millis(milliseconds)));
    }
    assert_eq!(
        check("bash", r#"{"restart": true}"#),
        Ok(Action::Bash(Bash::Restart))
    );
    assert_eq!(
        check("bash", "{\"command\": \"a\nb\"}"),
        Ok(command("a\nb"))
    );
    for arguments in [
        "",
        "null",
        "{}",
        r#"{"summary": "s"}"#,
        r#"{"whatever": 1}"#,
    ] {
        assert_eq!(
            check("task_done", arguments),
            Ok(Action::Done),
            "{arguments}"
        );
    }
}

#[test]
fn what_is_not_is_said_with_the_field_and_the_schema() {
    for (name, arguments, said) in [
        ("bash", "{}", "`command` is missing"),
        (
            "bash",
            r#"{"command": ["ls", "-l"]}"#,
            "`command` must be a string, not an array",
        ),
        ("bash", r#"{"cmd": "ls"}"#, "`cmd` is not known"),
        ("bash", r#"{"comand": "ls"}"#, "did you mean `command`?"),
        (
            "bash",
            r#"{"command": "ls", "timeout": -1}"#,
            "`timeout` must be a number above 0, not -1",
        ),
        (
            "bash",
            r#"{"command": "ls", "timeout": "soon"}"#,
            "`timeout` must be a number above 0, not a string",
        ),
        ("bash", r#"{"command": "a\u0000b"}"#, "NUL"),
        ("bash", r#"{"command": "ls"#, "cut off"),
        ("bash", "ls -la", "not valid JSON"),
        ("bash", "[1]", "must be one JSON object, not an array"),
        (
            EDIT,
            r#"{"command": "edit", "path": "a"}"#,
            "`command` must be one of view, create, str_replace, insert, undo_edit, not `edit`",
        ),
        (
            EDIT,
            r#"{"command": "create", "path": "a"}"#,
            "`create` needs `file_text`",
        ),
        (
            EDIT,
            r#"{"command": "str_replace", "path": "a"}"#,
            "`str_replace` needs `old_str`",
        ),
        (
            EDIT,
            r#"{"command": "insert", "path": "a", "new_str": "x"}"#,
            "`insert` needs `insert_line`",
        ),
        (
            EDIT,
            r#"{"command": "insert", "path": "a", "insert_line": -1, "new_str": "x"}"#,
            "`insert_line` must be a whole number",
        ),
        (EDIT, r#"{"command": "view"}"#, "`path` is missing"),
        (
            EDIT,
            r#"{"command": "view", "path": "a", "view_range": [5, 2]}"#,
            "no range",
        ),
        (
            EDIT,
            r#"{"command": "view", "path": "a", "view_range": "1-5"}"#,
            "array of two whole numbers",
        ),
        ("search", r#"{"pattern": "a\nb"}"#, "one line"),
        (
            "sequential_thinking",
            r#"{"thought": "t", "next_thought_needed": true, "thought_number": 0, "total_thoughts": 1}"#,
            "at least 1",
        ),
    ] {
        let complaint = check(name, arguments).unwrap_err().text;
        assert!(complaint.contains(said), "{name} {arguments}: {complaint}");
        assert!(
            complaint.contains(&format!("Arguments of `{name}`: {{")),
            "{complaint}"
        );
    }
    let both = check("bash", r#"{"comand": "ls", "timeout": 0}"#)
        .unwrap_err()
        .text;
    assert!(
        both.contains("`command` is missing") && both.contains("`timeout` must"),
        "{both}"
    );
}

#[test]
fn an_unknown_tool_gets_near_names_and_is_never_run() {
    for (name, near) in [
        ("Bash", "bash"),
        ("sequentialthinking", "sequential_thinking"),
        ("taskdone", "task_done"),
        ("str_replace_editor", EDIT),
    ] {
        let complaint = check(name, "{}").unwrap_err();
        assert!(
            complaint.text.contains(&format!("Did you mean `{near}`?")),
            "{complaint}"
        );
        assert!(!complaint.unreadable);
    }
    let complaint = check(" ", "{}").unwrap_err();
    assert!(complaint.unreadable);
    assert!(
        complaint.text.contains("The tools are: bash, "),
        "{complaint}"
    );
}

#[test]
fn the_edit_tool_takes_what_its_users_send() {
    let edit = |arguments| match check(EDIT, arguments) {
        Ok(Action::Edit(edit)) => edit.command,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        edit(r#"{"command": "view", "path": "a", "view_range": "[3, -1]", "file_text": null}"#),
        EditCommand::View {
            range: Some((3, None))
        }
    );
    assert_eq!(
        edit(r#"{"command": "insert", "path": "a", "insert_line": "3", "insert_text": "x"}"#),
        EditCommand::Insert {
            after: 3,
            text: "x".into()
        }
    );
    assert_eq!(
        edit(r#"{"command": "str_replace", "path": "a", "old_str": "x", "insert_line": 0}"#),
        EditCommand::Replace {
            old: "x".into(),
            new: String::new()
        }
    );
    assert_eq!(
        edit(r#"{"command": "undo_edit", "path": "a"}"#),
        EditCommand::Undo
    );
}

#[test]
fn searches_and_thoughts() {
    assert_eq!(
        check(
            "search",
            r#"{"pattern": 404, "path": "", "max_results": "5000"}"#
        ),
        Ok(Action::Search(Search {
            pattern: "404".into(),
            path: None,
            glob: None,
            max_results: 1000,
        }))
    );
    let all = r#"{"thought": "t", "next_thought_needed": "true", "thought_number": "2", "total_thoughts": 3.0,
        "is_revision": false, "revises_thought": 0, "branch_from_thought": 1, "branch_id": "b", "needs_more_thoughts": false}"#;
    assert_eq!(
        check("sequential_thinking", all),
        Ok(Action::Think(Thought {
            thought: "t".into(),
            next_thought_needed: true,
            thought_number: 2,
            total_thoughts: 3,
            revises_thought: None,
            branch_from_thought: Some(1),
            branch_id: Some("b".into()),
        }))
    );
}

#[test]
fn the_catalog_is_the_same_every_time_and_always_has_task_done() {
    use agent::{Limits, ToolName};
    let names = |tools: &[ToolName]| Catalog::new(tools, &Limits::default()).names();
    assert_eq!(
        names(&[ToolName::Bash, ToolName::Bash]),
        ["bash", "task_done"]
    );
    assert_eq!(
        names(&ToolName::ALL),
        ["bash", EDIT, "search", "sequential_thinking", "task_done"]
    );
    assert_eq!(Catalog::default(), Catalog::default());
    for spec in Catalog::default().specs() {
        assert_eq!(
            spec.parameters["additionalProperties"], false,
            "{}",
            spec.name
        );
    }
    assert_eq!(
        "bush".parse::<ToolName>().unwrap_err().nearest,
        Some("bash")
    );
}

proptest::proptest! {
    #[test]
    fn nothing_that_a_model_writes_breaks_the_check(
        name in "bash|str_replace_based_edit_tool|search|sequential_thinking|task_done|\\PC{0,8}",
        arguments in r#"\PC{0,40}|\{("(command|path|pattern|view_range|thought|timeout)": ?("\PC{0,8}"|-?[0-9]{1,20}|\[[0-9, ]{0,9}\]|null|true|\{\}),?){0,4}\}?"#,
    ) {
        let _ = check(&name, &arguments);
    }
}
