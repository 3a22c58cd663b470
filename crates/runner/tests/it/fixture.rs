//! Tiny real repositories, rows for them, and scripted models; the runner's binary on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use schema::journal::JournalLine;
use schema::{Outcome, Prediction, RunEvent, Trajectory};
use serde_json::{Value, json};

use crate::command::{Place, Said};

/// How long something that should happen soon is waited for on a busy machine.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// A dataset of tiny repositories in a place of its own.
pub(crate) struct Fixture {
    pub(crate) place: Place,
    rows: Vec<Value>,
}

impl Fixture {
    /// `count` instances, each with a repository of its own: `value.txt` holds `bad`, and is right when it holds `good`.
    pub(crate) fn new(count: usize) -> Self {
        Self::at(Place::new(), count)
    }

    /// The same in a place of the caller's.
    pub(crate) fn at(place: Place, count: usize) -> Self {
        let mut fixture = Self {
            place,
            rows: Vec::new(),
        };
        for number in 0..count {
            let id = format!("tiny__tiny-{number:03}");
            let path = fixture.place.path().join("repos").join(&id);
            let commit = repository(&path);
            fixture.add(&id, &path, &commit);
        }
        fixture.write_rows();
        fixture
    }

    /// `count` instances that share one repository.
    pub(crate) fn shared(count: usize) -> Self {
        let mut fixture = Self {
            place: Place::new(),
            rows: Vec::new(),
        };
        let path = fixture.place.path().join("repos/shared");
        let commit = repository(&path);
        for number in 0..count {
            fixture.add(&format!("tiny__tiny-{number:03}"), &path, &commit);
        }
        fixture.write_rows();
        fixture
    }

    fn add(&mut self, id: &str, repository: &Path, commit: &str) {
        self.rows.push(json!({
            "instance_id": id,
            "repo": "tiny/tiny",
            "repo_path": repository,
            "base_commit": commit,
            "problem_statement": "value.txt holds the wrong value.",
            "eval_script": "if grep -q good value.txt; then echo 'ok 1 value'; else echo 'not ok 1 value'; fi\nif test -f keep.txt; then echo 'ok 2 keep'; else echo 'not ok 2 keep'; fi\n",
            "log_parser": "tap",
            "FAIL_TO_PASS": ["value"],
            "PASS_TO_PASS": ["keep"],
        }));
    }

    /// Changes a row.
    pub(crate) fn change(&mut self, index: usize, field: &str, value: Value) {
        self.rows[index][field] = value;
        self.write_rows();
    }

    fn write_rows(&self) {
        let lines: Vec<String> = self.rows.iter().map(|row| format!("{row}\n")).collect();
        self.place.write("rows.jsonl", lines.concat());
    }

    /// Id of an instance.
    pub(crate) fn id(&self, index: usize) -> String {
        self.rows[index]["instance_id"].as_str().unwrap().to_owned()
    }

    /// Writes a script of shell commands, each its own step, with `task_done` at the end, for all instances.
    pub(crate) fn script(&self, commands: &[&str]) {
        self.place.write("script.jsonl", script(commands));
    }

    /// The same for one instance, in the directory `scripts`.
    pub(crate) fn script_of(&self, index: usize, commands: &[&str]) {
        let name = format!("scripts/{}.jsonl", self.id(index));
        self.place.write(&name, script(commands));
    }

    /// The flags of every run here.
    fn flags<'a>(more: &[&'a str]) -> Vec<&'a str> {
        let mut flags = vec![
            "run",
            "--dataset",
            "rows.jsonl",
            "--scratch",
            "scratch",
            "--out",
            "run",
        ];
        if !more.contains(&"--sandbox") {
            flags.extend(["--sandbox", "local"]);
        }
        if !more.contains(&"--model") {
            flags.extend(["--model", "script:script.jsonl"]);
        }
        flags.extend(more);
        flags
    }

    /// Runs the batch to its end.
    pub(crate) fn run(&self, more: &[&str]) -> Said {
        self.place.run(&Self::flags(more))
    }

    /// Runs the batch by way of another program, which is given the command line.
    pub(crate) fn run_under(&self, wrapper: &[&str], more: &[&str]) -> Said {
        self.place.run_under(wrapper, &Self::flags(more))
    }

    /// Grades the patches of the run.
    pub(crate) fn grade(&self, more: &[&str]) -> Said {
        self.place.run(&[&["grade", "run"], more].concat())
    }

    /// Starts the batch; nobody reads what it says.
    pub(crate) fn start(&self, more: &[&str]) -> Child {
        self.place
            .command(&Self::flags(more))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap()
    }

    /// A path in the run directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.place.path().join("run").join(name)
    }

    /// Events of all journals, in order of writers.
    pub(crate) fn events(&self) -> Vec<RunEvent> {
        let mut events = Vec::new();
        for writer in 1.. {
            let path = self.file(&format!("writers/w{writer}/journal.jsonl"));
            if !path.parent().unwrap().exists() {
                return events;
            }
            // A runner that died at once has a writer's directory and nothing in it.
            let text = fs::read_to_string(path).unwrap_or_default();
            events.extend(
                text.lines()
                    .filter_map(|line| serde_json::from_str::<JournalLine>(line).ok())
                    .map(|line| line.event),
            );
        }
        events
    }

    /// Waits until an event is in a journal.
    pub(crate) fn wait_for(&self, what: &str, matches: impl Fn(&RunEvent) -> bool) {
        wait(what, || self.events().iter().any(&matches));
    }

    /// Lines of a predictions file.
    pub(crate) fn predictions(&self) -> Vec<Prediction> {
        let text = fs::read_to_string(self.file("predictions.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The trajectory of the attempt that counts.
    pub(crate) fn trajectory(&self, index: usize) -> Trajectory {
        let path = self.file(&format!("trajectories/{}.json", self.id(index)));
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// Outcomes of all ended attempts.
    pub(crate) fn outcomes(&self) -> Vec<(String, Outcome)> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                RunEvent::AttemptFinished { key, outcome, .. } => Some((key.to_string(), outcome)),
                _ => None,
            })
            .collect()
    }

    /// Fails when a directory of a sandbox in a container is left; what is remembered of images stays.
    pub(crate) fn assert_swept(&self) {
        let left = fs::read_dir(self.place.path().join("scratch")).unwrap();
        let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = names.filter(|name| !name.starts_with("images-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Fails when a process or a directory of a sandbox is left.
    pub(crate) fn assert_clean(&self) {
        wait("the sandboxes' directories are gone", || {
            fs::read_dir(self.place.path().join("scratch"))
                .map_or(true, |mut entries| entries.next().is_none())
        });
        wait("the sandboxes' processes are gone", || {
            processes_at(self.place.path()).is_empty()
        });
    }
}

fn script(commands: &[&str]) -> String {
    let call = |name: &str, arguments: Value| {
        let line = json!({ "tool_calls": [{ "name": name, "arguments": arguments }] });
        format!("{line}\n")
    };
    let mut text: String = commands
        .iter()
        .map(|command| call("bash", json!({ "command": command })))
        .collect();
    text.push_str(&call("task_done", json!({})));
    text
}

/// A repository with one commit beneath the base and one beyond it.
fn repository(path: &Path) -> String {
    let repository = git2::Repository::init(path).unwrap();
    let commit = |files: &[(&str, &str)], message: &str| {
        let mut index = repository.index().unwrap();
        for (name, content) in files {
            fs::write(path.join(name), content).unwrap();
            index.add_path(Path::new(name)).unwrap();
        }
        index.write().unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let time = git2::Time::new(1_700_000_000, 0);
        let author = git2::Signature::new("Tester", "tester@example.org", &time).unwrap();
        let parent = repository
            .head()
            .ok()
            .map(|head| head.peel_to_commit().unwrap());
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        repository
            .commit(Some("HEAD"), &author, &author, message, &tree, &parents)
            .unwrap()
            .to_string()
    };
    commit(&[("keep.txt", "kept\n")], "Begin");
    let base = commit(&[("value.txt", "bad\n")], "Add the value");
    commit(&[("value.txt", "good\n")], "Mend the value");
    base
}

/// Waits until something holds.
pub(crate) fn wait(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < SOON, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Processes that work in `directory` or were started with a path in it, this one's children that nobody waited for left out.
pub(crate) fn processes_at(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        let Ok(stat) = fs::read_to_string(process.join("stat")) else {
            continue;
        };
        if stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.starts_with(" Z"))
        {
            continue;
        }
        let inside = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(directory));
        let command = fs::read(process.join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if inside || command.contains(&*directory.to_string_lossy()) {
            found.push(command);
        }
    }
    found
}

/// Sends a signal to a process of ours.
pub(crate) fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    // A process that has ended meanwhile needs no signal.
    let _ = rustix::process::kill_process(pid, signal);
}
