//! What the agent needs from outside: a model to ask and a workspace to act on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{FailureKind, Reply, Turn};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What a tool looks like to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Name.
    pub name: &'static str,
    /// What it does, in words for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// The part of a conversation that never changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// System prompt.
    pub system: String,
    /// First user message.
    pub prompt: String,
    /// Addresses of images that belong to it.
    pub images: Vec<String>,
    /// Tools on offer, in a stable order.
    pub tools: Vec<ToolSpec>,
}

/// How much of a turn the model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// All of it.
    Full,
    /// The tool outputs are replaced by [`ELIDED_OUTPUT`].
    Elided,
}

/// What stands in the place of an output that was left out of the view.
pub const ELIDED_OUTPUT: &str =
    "[output left out to save space; run the command again if you need it]";

/// A part of a request, serialised once by the provider that will send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The provider's own bytes.
    pub bytes: Bytes,
    /// SHA-256 of `bytes`.
    pub sha256: [u8; 32],
    /// Rough size in tokens (bytes divided by four where nothing better is known).
    pub tokens: u64,
}

/// One request: fragments in order, to be sent as they are.
#[derive(Debug, Clone)]
pub struct Request {
    /// The head's fragment.
    pub head: Fragment,
    /// One fragment for each turn of the view: shared with the conversation, so that a request copies none of them. The conversation copies
    /// them itself where it grows while a request still holds them, so drop the request once it is answered.
    pub turns: Arc<Vec<Fragment>>,
    /// Position of this request in the attempt, from 0; failed ones count.
    pub index: u32,
    /// Time left for it, back-off and limiter waits left out.
    pub time_left: Option<Duration>,
    /// Ends the request early.
    pub cancel: CancellationToken,
    /// Where waiting for a turn is noted while it lasts.
    pub waits: Waits,
}

/// Time that a request spends waiting for its turn: in the limiter and between tries.
///
/// The provider runs such waits through [`Waits::during`]; the driver reads it, since waiting does not count towards the wall-time limit.
#[derive(Debug, Clone, Default)]
pub struct Waits(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    past: Duration,
    since: Option<tokio::time::Instant>,
}

/// Closes a wait also when its future is dropped.
struct OpenWait<'a>(&'a Waits);

impl Drop for OpenWait<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        if let Some(since) = waiting.since.take() {
            waiting.past += since.elapsed();
        }
    }
}

impl Waits {
    /// Runs a wait and counts the time that it takes. Waits of one request follow each other.
    pub async fn during<T>(&self, wait: impl Future<Output = T>) -> T {
        self.lock().since = Some(tokio::time::Instant::now());
        let open = OpenWait(self);
        let value = wait.await;
        drop(open);
        value
    }

    /// Time waited so far, a wait that still lasts included.
    pub fn total(&self) -> Duration {
        let waiting = self.lock();
        waiting.past
            + waiting
                .since
                .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether the request waits right now.
    pub fn is_waiting(&self) -> bool {
        self.lock().since.is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A model as one attempt sees it. It owns no history: everything it needs is in the request.
pub trait Model: Send + Sync {
    /// Serialises the part that never changes.
    fn head(&self, head: &Head) -> Fragment;
    /// Serialises one turn.
    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment;
    /// Tokens that the model's window holds, where known.
    fn window(&self) -> Option<u64>;
    /// Tokens that one reply may have, where known.
    fn max_output(&self) -> Option<u64>;
    /// Asks, with all the retries that the transport is worth. Cancelled requests fail with kind `Timeout`; the driver knows that it cancelled.
    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>>;
}

/// A command for the agent's persistent shell, or a program beside it.
#[derive(Debug, Clone)]
pub struct Command {
    /// Shell text for [`Workspace::run`]; never holds a NUL.
    pub text: String,
    /// How long it may take before everything it started is killed.
    pub timeout: Duration,
    /// How long it may print nothing before the same happens.
    pub idle: Option<Duration>,
    /// Ends it early, as the deadline would.
    pub cancel: CancellationToken,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// By itself, with this exit code (128 + n for signal n).
    Exited(i32),
    /// The shell itself ended with this status (`exit 3`, `exec`, `kill -9 $$`); it was started again in the same directory with the same exports.
    ShellEnded(i32),
    /// Killed at its deadline.
    TimedOut,
    /// Killed since nothing was printed for too long.
    Idle,
    /// Killed since it printed too much.
    OutputLimit,
    /// Killed on request.
    Cancelled,
}

/// What a command printed (stdout and stderr in order) and how it ended.
#[derive(Debug, Clone)]
pub struct CommandOutput {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, where there are more than `head` holds; empty otherwise.
    pub tail: Vec<u8>,
    /// Bytes printed in all; `total > head.len() + tail.len()` means that some between are not here.
    pub total: u64,
    /// Hexadecimal SHA-256 of all that was printed.
    pub sha256: String,
    /// How it ended.
    pub end: CommandEnd,
    /// Text for the model about a shell that had to be restarted: what was kept and what was lost.
    pub shell_note: Option<String>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What `task_done` is judged by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffSummary {
    /// Paths of class `source` or `runner_config` that changed.
    pub counted: Vec<String>,
    /// Paths of class `test` that changed.
    pub tests: Vec<String>,
}

/// Why something in the workspace could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkspaceError {
    /// The model can act on it: no such file, a directory, not permitted.
    #[error("{0}")]
    Refused(String),
    /// The environment failed; the attempt ends.
    #[error("{message}")]
    Failed {
        /// Row of the failure table.
        kind: FailureKind,
        /// What happened, with its causes.
        message: String,
    },
}

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Anything else: symbolic link, socket.
    Other,
}

/// Where the agent acts. Paths are absolute, as the agent sees them; symbolic links are followed inside the sandbox only.
pub trait Workspace: Send + Sync {
    /// Runs text in the agent's persistent shell.
    fn run<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>>;
    /// Runs shell text in a fresh process in the repository's directory, apart from the agent's shell and its state.
    fn exec<'a>(
        &'a self,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<CommandOutput, WorkspaceError>>;
    /// What stands at a path, `None` when nothing does.
    fn entry<'a>(
        &'a self,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<EntryKind>, WorkspaceError>>;
    /// Reads a whole file of at most `limit` bytes.
    fn read<'a>(
        &'a self,
        path: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, WorkspaceError>>;
    /// Replaces or creates a file; parents are created, the mode of an existing file is kept.
    fn write<'a>(
        &'a self,
        path: &'a str,
        content: &'a [u8],
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;
    /// Removes a file that `write` created, for `undo`.
    fn remove<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), WorkspaceError>>;
    /// Compares the repository with its sealed start.
    fn diff<'a>(&'a self) -> BoxFuture<'a, Result<DiffSummary, WorkspaceError>>;
    /// Keeps a whole output in the store under its hash.
    fn keep_output<'a>(
        &'a self,
        output: &'a CommandOutput,
    ) -> BoxFuture<'a, Result<(), WorkspaceError>>;
}

/// Where records go before their effects start. A failure to write ends the attempt.
pub trait Recorder: Send {
    /// Appends one record durably enough to survive the death of this process.
    ///
    /// # Errors
    /// When the record could not be written.
    fn append(&mut self, record: &schema::Record) -> std::io::Result<()>;
}

/// Sees every record once it is safe in the log. It cannot change the run: a panic in it is caught and logged.
pub trait Observer: Send + Sync {
    /// Called once for each record, in order.
    fn on_record(&self, record: &schema::Record);
}

/// The driver's clock. Waiting for deadlines goes through `tokio::time`, so that tests which pause it move both.
pub trait Clock: Send + Sync {
    /// Time since the attempt started.
    fn elapsed(&self) -> schema::Elapsed;
}
