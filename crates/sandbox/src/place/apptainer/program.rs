//! The program itself: finding it, running it, and what of the environment it gets.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::{Instant, timeout};

use crate::error::Error;
use crate::place::host::QUIET;
use crate::place::tree;

/// Names of the program, the first that is there is taken.
const NAMES: [&str; 2] = ["apptainer", "singularity"];
/// How long it may take to say its version.
const ANSWER: Duration = Duration::from_secs(20);
/// Bytes of what it says that are kept: the last ones.
const SAID: usize = 16 << 10;
/// How often a blocking wait looks.
const LOOK: Duration = Duration::from_millis(20);

/// Settings by variables: versions that do not know one pass over it, where an unknown flag would be an error. They keep values as they are instead of
/// evaluating them, take the usual mask for new files, and map root to this user alone: what belonged to other numbers could not be removed afterwards.
const SETTINGS: [&str; 4] = [
    "NO_EVAL",
    "NO_UMASK",
    "IGNORE_SUBUID",
    "IGNORE_FAKEROOT_COMMAND",
];

/// The program.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// The line by which it says its version.
    pub(super) version: String,
    /// Start of the names of its variables.
    prefix: &'static str,
}

/// Ends a child and all that it started in its group.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// How a run failed.
pub(super) enum Failed {
    /// It could not be started, or watched.
    Io(std::io::Error),
    Late,
    /// What it said last.
    Said(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "it cannot be run: {error}"),
            Self::Late => f.write_str("it does not come to an end"),
            Self::Said(said) => f.write_str(said),
        }
    }
}

impl Program {
    /// Looks for it.
    pub(super) async fn find(given: Option<&Path>) -> Result<Self, Error> {
        let names: Vec<PathBuf> = match given {
            Some(path) => vec![path.to_owned()],
            None => NAMES.map(PathBuf::from).to_vec(),
        };
        let mut problem = None;
        for path in names {
            match run(Command::new(&path).arg("--version"), ANSWER).await {
                Ok(said) => {
                    let version = said.lines().next().unwrap_or_default().trim().to_owned();
                    // Apptainer goes by the older name too.
                    let prefix = if version.starts_with("singularity") {
                        "SINGULARITY"
                    } else {
                        "APPTAINER"
                    };
                    return Ok(Self {
                        path,
                        version,
                        prefix,
                    });
                }
                Err(failed) => {
                    problem.get_or_insert_with(|| format!("`{}`: {failed}", path.display()));
                }
            }
        }
        let problem = problem.unwrap_or_default();
        Err(Error::Unsupported {
            message: format!(
                "Apptainer is not to be had here ({problem}): install it (or SingularityCE), or load its module, so that `apptainer --version` works"
            ),
        })
    }

    /// A variable of the program's own.
    fn own(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix)
    }

    /// The variable by which another one is handed on to what runs inside.
    pub(super) fn handed_on(&self, name: &str) -> String {
        format!("{}ENV_{name}", self.prefix)
    }

    fn settings(&self) -> impl Iterator<Item = (String, String)> {
        SETTINGS
            .into_iter()
            .map(|name| (self.own(name), String::from("1")))
    }

    /// All variables that it starts a place's programs with. Of the runner's own environment it gets what it needs to find its parts and its
    /// configuration; inside nothing of that is seen.
    pub(super) fn environment(
        &self,
        place: &Path,
        added: &[(String, String)],
    ) -> Vec<(String, String)> {
        let host = ["PATH", "HOME"].into_iter();
        let host = host.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)));
        let (mark, sign) = tree::marking(place);
        let mut inside: Vec<(String, String)> = QUIET
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        inside.push((mark.to_owned(), sign));
        for (name, value) in added {
            inside.retain(|(known, _)| known != name);
            inside.push((name.clone(), value.clone()));
        }
        let inside = inside.into_iter();
        let inside = inside.map(|(name, value)| (self.handed_on(&name), value));
        host.chain(self.settings()).chain(inside).collect()
    }

    /// Runs it to its end with the user's environment, which holds credentials and the places of its own files.
    pub(super) async fn run(&self, words: &[OsString], limit: Duration) -> Result<String, Failed> {
        let mut command = Command::new(&self.path);
        command.args(words).envs(self.settings());
        run(&mut command, limit).await
    }

    /// The same for who may block. A full disk is told apart.
    pub(super) fn run_blocking(&self, words: &[OsString], limit: Duration) -> Result<(), Error> {
        let operation = "unpack the image";
        let failed = match run_blocking(&self.path, words, self.settings(), limit) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        match failed {
            Failed::Io(error) => Err(Error::start(operation, error)),
            Failed::Said(said) if is_full(&said) => Err(Error::Disk {
                operation: operation.to_owned(),
            }),
            failed => Err(Error::start(operation, failed.to_string())),
        }
    }
}

/// Whether what was said is of a full disk.
pub(super) fn is_full(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    said.contains("no space left") || said.contains("disk quota exceeded")
}

async fn run(command: &mut Command, limit: Duration) -> Result<String, Failed> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Failed::Io)?;
    let mut group = Group(child.id().and_then(pid));
    let (mut output, mut errors) = (Tail::default(), Tail::default());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = async {
        tokio::join!(output.listen(stdout), errors.listen(stderr));
        child.wait().await
    };
    let status = timeout(limit, all).await.map_err(|_| Failed::Late)?;
    group.0 = None;
    if status.map_err(Failed::Io)?.success() {
        return Ok(output.text());
    }
    Err(Failed::Said(point(&errors.text())))
}

fn run_blocking(
    program: &Path,
    words: &[OsString],
    settings: impl Iterator<Item = (String, String)>,
    limit: Duration,
) -> Result<(), Failed> {
    use std::os::unix::process::CommandExt;

    // What it says goes to a file, which nobody has to empty.
    let mut said = tempfile::tempfile().map_err(Failed::Io)?;
    let mut child = std::process::Command::new(program)
        .args(words)
        .envs(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said.try_clone().map_err(Failed::Io)?)
        .process_group(0)
        .spawn()
        .map_err(Failed::Io)?;
    let mut group = Group(pid(child.id()));
    let until = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(Failed::Io)? {
            break status;
        }
        if Instant::now() >= until {
            drop(group);
            let _ = child.wait();
            return Err(Failed::Late);
        }
        std::thread::sleep(LOOK);
    };
    group.0 = None;
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    std::io::Seek::rewind(&mut said).map_err(Failed::Io)?;
    said.take(SAID as u64)
        .read_to_end(&mut text)
        .map_err(Failed::Io)?;
    Err(Failed::Said(point(&String::from_utf8_lossy(&text))))
}

fn pid(number: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}

/// The last of what is said.
#[derive(Default)]
struct Tail(Vec<u8>);

impl Tail {
    async fn listen(&mut self, stream: Option<impl tokio::io::AsyncRead + Unpin>) {
        let Some(mut stream) = stream else {
            return;
        };
        let mut piece = vec![0; SAID / 4];
        while let Ok(length) = stream.read(&mut piece).await {
            if length == 0 {
                return;
            }
            self.0.extend_from_slice(&piece[..length]);
            let excess = self.0.len().saturating_sub(SAID);
            self.0.drain(..excess);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The line that matters: the one that says what was fatal, else the last.
fn point(said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines().find_map(|line| line.split_once("FATAL:").map(|(_, rest)| rest.trim()));
    match fatal.or_else(|| lines().next_back()) {
        Some(line) => line.chars().take(600).collect(),
        None => String::from("it failed without a word"),
    }
}

#[cfg(test)]
mod tests {
    use super::point;

    #[test]
    fn of_what_it_says_the_fatal_line_is_told() {
        let said =
            "INFO:    Converting\n\u{1b}[31mFATAL:   While making image: manifest unknown\nusage\n";
        assert_eq!(point(said), "While making image: manifest unknown");
        assert_eq!(point("one\ntwo\n\n"), "two");
        assert_eq!(point("\n"), "it failed without a word");
    }
}
