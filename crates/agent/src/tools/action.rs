//! What a checked tool call asks for.

use std::time::Duration;

/// A call whose arguments were understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Run a command in the shell.
    Bash(Bash),
    /// View or change a file.
    Edit(Edit),
    /// Search files.
    Search(Search),
    /// Note a thought.
    Think(Thought),
    /// Say that the work is done.
    Done,
}

/// A command for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bash {
    /// Run it.
    Run {
        /// Shell text.
        command: String,
        /// Time that the model asked for.
        timeout: Option<Duration>,
    },
    /// Start the shell afresh.
    Restart,
}

/// A look at a file or a change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Path as the model wrote it.
    pub path: String,
    /// What to do there.
    pub command: EditCommand,
}

/// What the edit tool can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditCommand {
    /// Show a file or a directory.
    View {
        /// First and last line, from 1; `None` as the last means the end of the file.
        range: Option<(u64, Option<u64>)>,
    },
    /// Make a new file.
    Create {
        /// Its whole content.
        text: String,
    },
    /// Replace the only occurrence of a text.
    Replace {
        /// Text to find.
        old: String,
        /// Text to put in its place, possibly empty.
        new: String,
    },
    /// Insert lines.
    Insert {
        /// Line after which to insert; 0 is the start of the file.
        after: u64,
        /// Text to insert.
        text: String,
    },
    /// Take back the last change that this tool made to the file.
    Undo,
}

/// A search over files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// Extended regular expression.
    pub pattern: String,
    /// File or directory to search, the repository when `None`.
    pub path: Option<String>,
    /// Only files whose name matches.
    pub glob: Option<String>,
    /// Most lines to return.
    pub max_results: u32,
}

/// One thought of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thought {
    /// The thought.
    pub thought: String,
    /// Whether another follows.
    pub next_thought_needed: bool,
    /// Its number, from 1.
    pub thought_number: u64,
    /// How many there will be, as far as the model knows.
    pub total_thoughts: u64,
    /// The thought that this one revises.
    pub revises_thought: Option<u64>,
    /// The thought that this one branches from.
    pub branch_from_thought: Option<u64>,
    /// Name of the branch.
    pub branch_id: Option<String>,
}
