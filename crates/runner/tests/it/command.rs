//! Runs the binary in a directory of its own with nothing of this machine's environment, and compares all that it says.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a command said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// stdout.
    pub(crate) out: String,
    /// stderr.
    pub(crate) err: String,
    /// Exit code, 128 + n for signal n.
    pub(crate) code: i32,
}

impl Said {
    /// All three in one text, for snapshots; times are taken out.
    pub(crate) fn all(&self) -> String {
        let text = format!(
            "code {}\n--- stdout\n{}--- stderr\n{}",
            self.code, self.out, self.err
        );
        let time = regex::Regex::new(r"(?m)\d+\.\d+ s\b|  +\d+\.\d$").unwrap();
        time.replace_all(&text, " [TIME]").into_owned()
    }
}

/// A directory to run the binary in.
pub(crate) struct Place {
    directory: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        }
    }

    /// An empty one outside of the system's temporary directory, which sandboxes have of their own.
    pub(crate) fn visible() -> Self {
        Self {
            directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            variables: Vec::new(),
        }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Sets a variable for every command.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a file, with its parents.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// A command that has not started.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
        command.args(arguments);
        self.settle(command)
    }

    /// A command here, with nothing of this machine's environment.
    fn settle(&self, mut command: Command) -> Command {
        command
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path().join("home"))
            .env("TMPDIR", self.scratch())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        self.say(self.command(arguments))
    }

    /// Runs the binary by way of another program, which is given the command line.
    pub(crate) fn run_under(&self, wrapper: &[&str], arguments: &[&str]) -> Said {
        let mut command = Command::new(wrapper[0]);
        command
            .args(&wrapper[1..])
            .arg(env!("CARGO_BIN_EXE_runner"))
            .args(arguments);
        self.say(self.settle(command))
    }

    /// Runs a command to its end.
    pub(crate) fn say(&self, mut command: Command) -> Said {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.replace(&*self.path().to_string_lossy(), "[DIR]")
        };
        let signal = output.status.signal().map(|signal| 128 + signal);
        Said {
            out: text(&output.stdout),
            err: text(&output.stderr),
            code: output.status.code().or(signal).unwrap(),
        }
    }

    /// A repository with one file, committed; its base commit.
    pub(crate) fn repository(&self, name: &str) -> String {
        let path = self.path().join(name);
        let repository = git2::Repository::init(&path).unwrap();
        std::fs::write(path.join("greet.sh"), "echo helo\n").unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("greet.sh")).unwrap();
        index.write().unwrap();
        let tree = index.write_tree().unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let time = git2::Time::new(1_700_000_000, 0);
        let who = git2::Signature::new("a", "a@example.invalid", &time).unwrap();
        let head = repository.commit(Some("HEAD"), &who, &who, "first", &tree, &[]);
        head.unwrap().to_string()
    }

    /// A dataset of one row, for the repository `repo` made by [`Place::repository`], graded by what the script prints.
    pub(crate) fn dataset(&self, base_commit: &str) -> PathBuf {
        let row = serde_json::json!({
            "instance_id": "greet-1", "problem_statement": "It should say hello.",
            "repo": "a/greet", "repo_path": "repo", "base_commit": base_commit,
            "eval_script": "if [ \"$(sh greet.sh)\" = hello ]; then echo 'ok 1 says hello'; else echo 'not ok 1 says hello'; fi; echo 1..1",
            "log_parser": "tap", "FAIL_TO_PASS": ["says hello"], "PASS_TO_PASS": [],
        });
        self.write("dataset.jsonl", format!("{row}\n"))
    }

    /// A script of replies, one command each, the last of them `task_done`.
    pub(crate) fn script(&self, commands: &[&str]) -> PathBuf {
        let bash = |command: &&str| serde_json::json!({"tool_calls": [{"name": "bash", "arguments": {"command": command}}]});
        let done = serde_json::json!({"tool_calls": [{"name": "task_done", "arguments": {}}]});
        let replies = commands.iter().map(bash).chain([done]);
        let lines: Vec<String> = replies.map(|reply| format!("{reply}\n")).collect();
        self.write("script.jsonl", lines.concat())
    }

    fn scratch(&self) -> PathBuf {
        let path = self.path().join("tmp");
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Whether this process may do what a test needs; a skip is loud, and a failure where `PATCHMILL_REQUIRE` names it.
pub(crate) use testkit::permitted;
