//! What the model is told about each tool. The texts never change within a version: they are part of every request.

use serde_json::json;

use super::catalog::ToolName;
use crate::limits::Limits;
use crate::ports::ToolSpec;

/// The commands of the edit tool.
pub(crate) const EDIT_COMMANDS: [&str; 5] =
    ["view", "create", "str_replace", "insert", "undo_edit"];

/// Lines that a search returns when the model asks for no other number.
pub(crate) const SEARCH_RESULTS: u32 = 100;

/// Most lines that a search returns.
pub(crate) const MAX_SEARCH_RESULTS: u32 = 1000;

/// The description of one tool.
pub(crate) fn of(tool: ToolName, limits: &Limits) -> ToolSpec {
    match tool {
        ToolName::Bash => bash(limits),
        ToolName::Edit => edit(),
        ToolName::Search => search(),
        ToolName::SequentialThinking => sequential_thinking(),
        ToolName::TaskDone => task_done(),
    }
}

fn bash(limits: &Limits) -> ToolSpec {
    let standard = limits.command_timeout.as_secs();
    let longest = limits.max_command_timeout.as_secs();
    let silent = limits
        .command_idle_timeout
        .map(|idle| {
            format!(
                ", and when it prints nothing for {} seconds",
                idle.as_secs_f64()
            )
        })
        .unwrap_or_default();
    ToolSpec {
        name: ToolName::Bash.name(),
        description: format!(
            "Run a command in a bash shell that lives as long as the task: its directory, variables and functions are kept from call to call. \
             Standard input is closed, so programs that ask questions will not work. Standard error comes with standard output. \
             A command is killed with everything it started after {standard} seconds, or after `timeout` seconds (at most {longest}){silent}. \
             Start servers and other long-lived programs in the background with their output in a file. Long output is cut in the middle."
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command; several lines are allowed."},
                "timeout": {"type": "number", "description": format!("Seconds that it may take; {standard} when absent, at most {longest}.")},
                "restart": {"type": "boolean", "description": "Start the shell afresh instead of running a command."}
            },
            "required": ["command"],
            "additionalProperties": false
        }),
    }
}

fn edit() -> ToolSpec {
    ToolSpec {
        name: ToolName::Edit.name(),
        description: "View and change text files, byte for byte: nothing but the named text changes.\n\
            - `view` shows a file with line numbers, or what a directory holds, two levels deep.\n\
            - `create` makes a new file and the directories it needs; it does not replace a file.\n\
            - `str_replace` replaces `old_str`, which must occur exactly once, white space included, by `new_str`. Add lines around it until it is the only one.\n\
            - `insert` puts `new_str` after line `insert_line`; 0 is the start of the file.\n\
            - `undo_edit` takes back this tool's last change to the file."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "enum": EDIT_COMMANDS, "description": "What to do."},
                "path": {"type": "string", "description": "Absolute path, or a path in the repository."},
                "file_text": {"type": "string", "description": "For `create`: the whole content."},
                "old_str": {"type": "string", "description": "For `str_replace`: the text to replace."},
                "new_str": {"type": "string", "description": "For `str_replace`: the new text, nothing when absent. For `insert`: the lines to insert."},
                "insert_line": {"type": "integer", "description": "For `insert`: the line after which to insert."},
                "insert_text": {"type": "string", "description": "For `insert`: the same as `new_str`."},
                "view_range": {"type": "array", "items": {"type": "integer"}, "description": "For `view` of a file: first and last line, from 1; -1 as the last is the end."}
            },
            "required": ["command", "path"],
            "additionalProperties": false
        }),
    }
}

fn search() -> ToolSpec {
    ToolSpec {
        name: ToolName::Search.name(),
        description: "Search the lines of files for an extended regular expression (as `grep -E`). Binary files and, in a git repository, ignored files are left out. \
            Returns `file:line:text`."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression."},
                "path": {"type": "string", "description": "File or directory to search; the repository when absent."},
                "glob": {"type": "string", "description": "Only files whose name matches, such as `*.py`."},
                "max_results": {"type": "integer", "description": format!("Most lines to return; {SEARCH_RESULTS} when absent, at most {MAX_SEARCH_RESULTS}.")}
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
    }
}

fn sequential_thinking() -> ToolSpec {
    ToolSpec {
        name: ToolName::SequentialThinking.name(),
        description: "Note one thought of a chain before acting: for problems that need several steps, revisions or branches. It changes nothing and reads nothing."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "thought": {"type": "string", "description": "The thought."},
                "next_thought_needed": {"type": "boolean", "description": "Whether another follows."},
                "thought_number": {"type": "integer", "description": "Its number, from 1."},
                "total_thoughts": {"type": "integer", "description": "How many there will be, as far as you know."},
                "is_revision": {"type": "boolean", "description": "Whether it revises an earlier one."},
                "revises_thought": {"type": "integer", "description": "The number of the one that it revises."},
                "branch_from_thought": {"type": "integer", "description": "The number of the one that it branches from."},
                "branch_id": {"type": "string", "description": "Name of the branch."},
                "needs_more_thoughts": {"type": "boolean", "description": "Whether more are needed than you said."}
            },
            "required": ["thought", "next_thought_needed", "thought_number", "total_thoughts"],
            "additionalProperties": false
        }),
    }
}

fn task_done() -> ToolSpec {
    ToolSpec {
        name: ToolName::TaskDone.name(),
        description: "Say that the work is complete and checked. This is the only way to finish; the work is looked at first, and if something is missing you are told what."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "summary": {"type": "string", "description": "What was wrong and what you changed, in a few words."}
            },
            "additionalProperties": false
        }),
    }
}
