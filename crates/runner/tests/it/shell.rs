//! Shells in kept sandboxes, at a real terminal.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use pty_process::blocking::{Command, Pty};
use rustix::termios::{Termios, tcgetattr};
use serde_json::json;
use testkit::{Answer, FakeServer};

use crate::command::{Said, permitted};
use crate::fixture::{Fixture, SOON};

/// `runner shell` at a terminal of its own.
pub(crate) struct Visit {
    child: Child,
    terminal: Pty,
    before: Termios,
    pieces: Receiver<Vec<u8>>,
    seen: String,
}

impl Visit {
    /// Opens it for a run of a fixture.
    pub(crate) fn to(fixture: &Fixture, more: &[&str]) -> Self {
        Self::by(fixture, more, &[])
    }

    /// The same with variables.
    fn by(fixture: &Fixture, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let (terminal, other) = pty_process::blocking::open().unwrap();
        terminal.resize(pty_process::Size::new(33, 111)).unwrap();
        let before = tcgetattr(&terminal).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_runner"))
            .args(["shell", "run"])
            .args(more)
            .current_dir(fixture.place.path())
            .env("TERM", "xterm-test")
            .envs(variables.iter().copied())
            .spawn(other)
            .unwrap();
        let (give, pieces) = channel();
        let mut reader = std::fs::File::from(
            std::os::fd::AsFd::as_fd(&terminal)
                .try_clone_to_owned()
                .unwrap(),
        );
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut piece) {
                if give.send(piece[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            terminal,
            before,
            pieces,
            seen: String::new(),
        }
    }

    /// Reads until what is shown ends with, or holds, something new.
    pub(crate) fn wait_for(&mut self, wanted: impl Fn(&str) -> bool) {
        let until = Instant::now() + SOON;
        while !wanted(&self.seen) {
            let left = until.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(error) => panic!("{error}: {:?}", self.seen),
            }
        }
    }

    fn prompt(&mut self) {
        self.wait_for(is_prompt);
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Types lines, each after a prompt, and then `exit CODE`; what was shown from the first on.
    pub(crate) fn run(mut self, lines: &[&str], code: i32) -> String {
        self.prompt();
        for line in lines {
            let from = self.seen.len();
            self.send(&format!("{line}\r"));
            self.wait_for(|seen| seen[from..].contains('\n') && is_prompt(seen));
        }
        self.send(&format!("exit {code}\r"));
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{}", self.seen);
        self.assert_restored();
        self.seen
    }

    fn assert_restored(&self) {
        let after = tcgetattr(&self.terminal).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
    }
}

/// Whether a shell waits for a line; that of busybox then asks where the cursor is, or clears the rest of the screen.
fn is_prompt(seen: &str) -> bool {
    let seen = seen.trim_end_matches("\u{1b}[J");
    let seen = seen.trim_end_matches("\u{1b}[6n");
    seen.ends_with("# ") || seen.ends_with("$ ")
}

/// A run whose only attempt fails when its agent has left something.
fn kept(more: &[&str], change: impl FnOnce(&mut Fixture)) -> Fixture {
    let mut fixture = Fixture::new(1);
    change(&mut fixture);
    fixture.script(&["echo by the agent > left.txt"]);
    let path = fixture.place.path().join("script.jsonl");
    let script = std::fs::read_to_string(&path).unwrap();
    let first = script.lines().next().unwrap();
    std::fs::write(path, format!("{first}\n")).unwrap();
    let flags = ["--keep-sandbox", "on-failure", "--max-attempts", "1"];
    let said = fixture.run(&[&flags, more].concat());
    assert_eq!(fixture.outcomes()[0].1.name(), "failed", "{}", said.all());
    fixture
}

fn look_around(fixture: &Fixture, user: &str) {
    let mut visit = Visit::to(fixture, &[&fixture.id(0)]);
    visit.prompt();
    // Whoever is inside sees each change of the size, and each key alone.
    visit
        .terminal
        .resize(pty_process::Size::new(22, 99))
        .unwrap();
    let size = "until [ \"$(stty size)\" = '22 99' ]; do :; done; echo SIZED";
    let lines = ["cat left.txt", "echo $TERM-$(id -u)", size];
    let seen = visit.run(&lines, 7);
    assert!(seen.contains("by the agent\r\n"), "{seen}");
    assert!(seen.contains(&format!("xterm-test-{user}\r\n")), "{seen}");
    assert!(seen.contains("SIZED\r\n"), "{seen}");
    // What was done stays, and another visit finds it.
    let mut visit = Visit::to(fixture, &[&fixture.id(0)]);
    visit.prompt();
    // Only a program that runs is interrupted by the key: a shell that reads a line takes it itself.
    visit.send("sh -c 'echo STARTED; exec sleep 600'\r");
    visit.wait_for(|seen| seen.contains("\nSTARTED\r\n"));
    visit.send("\x03");
    let from = visit.seen.len();
    visit.wait_for(|seen| seen[from..].contains('\n') && is_prompt(seen));
    let seen = visit.run(&["echo interrupted $?"], 0);
    assert!(seen.contains("interrupted 130\r\n"), "{seen}");
}

fn clean(fixture: &Fixture) -> Said {
    let flags = ["clean", "--kept", "--scratch", "scratch"];
    fixture.place.run(&flags)
}

#[test]
fn a_kept_place_of_the_host_is_entered_as_the_agent_was() {
    let user = rustix::process::getuid().as_raw().to_string();
    for sandbox in ["local", "bubblewrap"] {
        if sandbox == "bubblewrap"
            && !permitted(
                "bwrap",
                &["bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true"],
            )
        {
            continue;
        }
        let fixture = kept(&["--sandbox", sandbox, "--env", "SECRET=value"], |_| {});
        look_around(&fixture, &user);
        let seen = Visit::to(&fixture, &[&fixture.id(0)]).run(&["echo [$SECRET]"], 0);
        assert!(seen.contains("[]\r\n"), "{seen}");
        assert_eq!(clean(&fixture).code, 0);
    }
}

#[test]
fn a_kept_container_is_started_entered_and_put_to_rest() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let fixture = kept(
        &["--sandbox", "docker", "--shell-init", "cd /tmp; cd -"],
        |fixture| {
            fixture.change(0, "image", json!(image));
        },
    );
    look_around(&fixture, "0");
    let listed = fixture.place.run(&["shell", "run", "--format=json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed["kept"][0]["there"], json!(true));
    let name = listed["kept"][0]["sandbox"].as_str().unwrap();
    let state = std::process::Command::new("docker")
        .args(["inspect", "--format", "{{.State.Running}}", name])
        .output()
        .unwrap();
    assert_eq!(state.stdout, b"false\n");
    assert_eq!(clean(&fixture).code, 0);
    let listed = fixture.place.run(&["shell", "run"]);
    assert!(listed.out.ends_with("(gone)\n"), "{}", listed.all());
    let mut visit = Visit::to(&fixture, &[&fixture.id(0)]);
    visit.wait_for(|seen| seen.contains("is gone"));
    assert_eq!(visit.child.wait().unwrap().code(), Some(2));
    visit.assert_restored();
}

#[test]
fn a_terminal_is_given_back_when_the_visit_is_ended_by_a_signal() {
    let fixture = kept(&[], |_| {});
    let mut visit = Visit::to(&fixture, &[&fixture.id(0)]);
    visit.prompt();
    let raw = tcgetattr(&visit.terminal).unwrap();
    assert_ne!(raw.local_modes, visit.before.local_modes);
    crate::fixture::signal(&visit.child, rustix::process::Signal::TERM);
    assert_eq!(visit.child.wait().unwrap().code(), Some(143));
    visit.assert_restored();
    assert_eq!(clean(&fixture).code, 0);
}

/// Types without an end, as one does who pastes a file; what has gone through so far.
fn paste(terminal: &Pty) -> Arc<AtomicUsize> {
    let typed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&typed);
    let other = std::os::fd::AsFd::as_fd(terminal).try_clone_to_owned();
    let mut keys = std::fs::File::from(other.unwrap());
    std::thread::spawn(move || {
        while keys.write_all(&[b'x'; 64]).is_ok() {
            count.fetch_add(64, Ordering::SeqCst);
        }
    });
    typed
}

#[test]
fn a_program_that_takes_no_keys_is_still_shown_and_can_be_left() {
    let fixture = kept(&[], |_| {});
    let mut visit = Visit::to(&fixture, &[&fixture.id(0)]);
    visit.prompt();
    visit.send("stty raw -echo; echo STARTED; while :; do echo tick; sleep 0.05; done\r");
    visit.wait_for(|seen| seen.contains("\nSTARTED\n"));
    let typed = paste(&visit.terminal);
    // Until everything between here and that program is full.
    let mut before = usize::MAX;
    while before != typed.load(Ordering::SeqCst) {
        before = typed.load(Ordering::SeqCst);
        for _ in 0..10 {
            let from = visit.seen.len();
            visit.wait_for(|seen| seen[from..].contains("tick"));
        }
    }
    assert!(before > 0);
    crate::fixture::signal(&visit.child, rustix::process::Signal::TERM);
    assert_eq!(visit.child.wait().unwrap().code(), Some(143));
    visit.assert_restored();
    assert_eq!(clean(&fixture).code, 0);
}

/// Lets a run say that its sandbox was kept in an engine, too.
fn also_in_an_engine(fixture: &Fixture) {
    let path = fixture.file("writers/w1/journal.jsonl");
    let journal = std::fs::read_to_string(&path).unwrap();
    let local = "\"backend\":\"local\"";
    let line = |line: &&str| line.contains("sandbox_kept") && line.contains(local);
    let line = journal.lines().find(line).unwrap();
    let other = line.replace(local, "\"backend\":\"docker\"");
    std::fs::write(&path, format!("{journal}{other}\n")).unwrap();
}

#[test]
fn keys_are_the_commands_own_until_there_is_a_shell() {
    let fixture = kept(&[], |_| {});
    also_in_an_engine(&fixture);
    // An engine that never comes to start a shell.
    let engine = FakeServer::start(|request| {
        let stopped = || Answer::default().stall();
        match request.path.split('?').next().unwrap_or_default() {
            path if path.ends_with("/exec") || path.ends_with("/events") => stopped(),
            _ => Answer::json(&json!({"Id": "one", "State": {"Running": true}})),
        }
    });
    let address = format!("tcp://{}", engine.address());
    let mut visit = Visit::by(&fixture, &[&fixture.id(0)], &[("DOCKER_HOST", &address)]);
    crate::fixture::wait("the shell is asked for", || {
        let asked = engine.requests();
        asked.iter().any(|request| request.path.ends_with("/exec"))
    });
    visit.assert_restored();
    visit.send("\x03");
    assert_eq!(visit.child.wait().unwrap().signal(), Some(2));
    visit.assert_restored();
    assert_eq!(clean(&fixture).code, 0);
}

#[test]
fn an_engine_that_is_away_hides_no_more_than_it_holds() {
    let fixture = kept(&[], |_| {});
    for _ in 0..2 {
        also_in_an_engine(&fixture);
    }
    let away = ["env", "DOCKER_HOST=unix:///nowhere/engine.sock"];
    let said = fixture.place.run_under(&away, &["shell", "run"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let ends: Vec<_> = said
        .out
        .lines()
        .map(|line| line.ends_with(" (not known)"))
        .collect();
    assert_eq!(ends, [false, true, true], "{}", said.all());
    assert_eq!(said.err.matches("warning:").count(), 1, "{}", said.all());
    assert!(said.err.contains("/nowhere/engine.sock"), "{}", said.all());
    let arguments = ["shell", "run", "--format=json"];
    let listed = fixture.place.run_under(&away, &arguments);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let there = |at: usize| listed["kept"][at]["there"].clone();
    assert_eq!(
        [there(0), there(1), there(2)],
        [json!(true), json!(null), json!(null)]
    );
    assert_eq!(clean(&fixture).code, 0);
}

#[test]
fn what_cannot_be_entered_is_named() {
    let fixture = kept(&[], |_| {});
    let near = fixture.place.run(&["shell", "run", "tiny__tiny-00"]);
    assert_eq!(near.code, 2, "{}", near.all());
    assert!(
        near.err.contains("did you mean `tiny__tiny-000`?"),
        "{}",
        near.all()
    );
    let nowhere = fixture.place.run(&["shell", "run", &fixture.id(0)]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.all());
    assert!(
        nowhere.err.contains("needs a terminal"),
        "{}",
        nowhere.all()
    );
    let none = fixture.place.run(&["shell", "repos"]);
    assert!(
        none.err.contains("is no directory of a run"),
        "{}",
        none.all()
    );
    assert_eq!(clean(&fixture).code, 0);
}
