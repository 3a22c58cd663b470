//! Runners that die, sandboxes that are left behind, directories that resist.

use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use sandbox::keep;
use sandbox::limits::Limit;
use sandbox::place::PlaceId;
use sandbox::{Error, Sandbox};

use crate::support::{
    BackendKind, Ground, TRIAL, ask, bubblewrap_works, eventually, is_running, place_spec, remove,
    repository, run, spec, unique_seconds,
};

/// A process that ends with the test, also when that fails.
struct Guarded(Child);

impl Guarded {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A process that stands in for the runner, with a sandbox in which `command` has been run.
fn runner(ground: &Ground, backend: &str, command: &str) -> (Guarded, String) {
    let mut child = Guarded(
        Command::new(TRIAL)
            .args([
                backend,
                ground.root().to_str().unwrap(),
                ground.path().join("source").to_str().unwrap(),
                command,
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut said = String::new();
    let mut lines = BufReader::new(child.0.stdout.take().unwrap());
    while lines.read_line(&mut said).unwrap() > 0 && !said.ends_with("ready\n") {}
    assert!(said.ends_with("ready\n"), "{said}");
    (child, said)
}

fn names(root: &Path) -> Vec<String> {
    std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[tokio::test]
async fn a_killed_runner_leaves_neither_processes_nor_directories() {
    for kind in BackendKind::available().await {
        let backend = if kind == BackendKind::Local {
            "local"
        } else {
            "bubblewrap"
        };
        let ground = Ground::new();
        repository(ground.path());
        let n = unique_seconds();
        let (mut child, _) = runner(
            &ground,
            backend,
            &format!(
                "sleep {n} & setsid sh -c \"trap '' TERM HUP INT; while :; do sleep {n}; done\" & (setsid sleep {n} &); mkdir -p a/b; chmod 000 a"
            ),
        );
        assert!(is_running(&format!("sleep\0{n}")));
        assert_eq!(
            names(&ground.root()).len(),
            2,
            "a place and a prepared repository"
        );
        child.kill();
        eventually("processes end", || !is_running(&format!("sleep\0{n}"))).await;
        eventually("directories go", || names(&ground.root()).is_empty()).await;
    }
}

#[tokio::test]
async fn what_even_the_keeper_could_not_remove_is_reaped_by_the_next_run() {
    let ground = Ground::new();
    repository(ground.path());
    let n = unique_seconds();
    // The agent kills the runner's keeper, then the runner dies: nobody is left to clean.
    let (mut child, _) = runner(
        &ground,
        "local",
        &format!(
            "setsid sleep {n} & p=$PPID; read -r l </proc/$p/stat; set -- ${{l##*) }}; echo keeper $2"
        ),
    );
    let keepers = keepers_of(child.0.id());
    assert_eq!(keepers.len(), 1);
    // Stopped, it can do nothing until it is killed.
    signal(keepers[0], Signal::STOP);
    child.kill();
    signal(keepers[0], Signal::KILL);
    // Where tests share a process, that process adopts the keeper and what it kept.
    eventually("the keeper is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", keepers[0]));
        stat.map_or(true, |stat| stat.contains(") Z "))
    })
    .await;
    assert_eq!(names(&ground.root()).len(), 2);

    let backend = ground.local();
    let living = ground.start(BackendKind::Local).await;
    let orphans = backend.orphans().await.unwrap();
    assert_eq!(orphans.len(), 2, "{orphans:?}");
    assert!(orphans.iter().all(|orphan| orphan.id != *living.id()));
    for orphan in &orphans {
        backend
            .remove(&orphan.id, Duration::from_secs(5))
            .await
            .unwrap();
    }
    assert!(!is_running(&format!("sleep\0{n}")));
    assert!(backend.orphans().await.unwrap().is_empty());
    assert_eq!(ask(&living, "echo ok").await.0, "ok\n");
    remove(&living).await;
}

fn keepers_of(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_ascii_whitespace().nth(1) == Some(&parent.to_string())
    })
    .collect()
}

fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, signal).unwrap();
}

#[tokio::test]
async fn a_living_runs_sandbox_is_nobodys_orphan() {
    let ground = Ground::new();
    repository(ground.path());
    let (mut child, _) = runner(&ground, "local", ":");
    let backend = ground.local();
    assert!(backend.orphans().await.unwrap().is_empty());
    child.kill();
    eventually("directories go", || names(&ground.root()).is_empty()).await;
}

#[tokio::test]
async fn directories_that_resist_are_removed() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    run(&sandbox, "mkdir -p x/y/z; echo a >x/y/z/f; chmod 000 x/y/z x/y x; d=; for i in $(seq 1 300); do d=$d/ddddddddddddddddddddd; done; python3 -S -c \"import os\nfor i in range(1200):\n  os.mkdir('d'); os.chdir('d')\"").await;
    let before = std::time::Instant::now();
    remove(&sandbox).await;
    assert!(before.elapsed() < Duration::from_secs(10));
    drop(sandbox);
    assert!(names(&ground.root()).is_empty());
}

#[tokio::test]
async fn two_sandboxes_of_one_name_do_not_meet_and_names_repeat_between_runs() {
    let ground = Ground::new();
    let first = ground.start(BackendKind::Local).await;
    let prepared = ground.prepare(&ground.path().join("source"), None);
    let second = Sandbox::start(ground.local(), spec(prepared), Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(first.id(), &PlaceId(String::from("run-instance-s1-a1")));
    assert_eq!(second.id(), &PlaceId(String::from("run-instance-s1-a1.2")));
    run(&first, "echo x >>README.md").await;
    assert!(second.diff().await.unwrap().full.is_empty());
    remove(&first).await;
    assert_eq!(ask(&second, "echo ok").await.0, "ok\n");
    remove(&second).await;
}

#[tokio::test]
async fn limits_that_cannot_be_kept_are_refused_or_recorded() {
    let ground = Ground::new();
    let prepared = ground.prepare(&repository(ground.path()), None);
    let mut spec = spec(prepared);
    spec.place.limits.memory = Some(Limit {
        value: 1 << 30,
        explicit: false,
    });
    let sandbox = Sandbox::start(ground.local(), spec.clone(), Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(
        sandbox.applied().unenforced,
        ["filesystem", "network", "memory"]
    );
    remove(&sandbox).await;
    spec.place.limits.memory = Some(Limit {
        value: 1 << 30,
        explicit: true,
    });
    let refused = Sandbox::start(ground.local(), spec, Duration::from_secs(10))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(&refused, Error::Unsupported { message } if message.contains("memory")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_set_up_command_that_fails_fails_the_start_and_leaves_nothing() {
    let ground = Ground::new();
    let prepared = ground.prepare(&repository(ground.path()), None);
    let mut spec = spec(prepared.clone());
    spec.setup_commands = vec![
        String::from("export READY=1"),
        String::from("echo why >&2; false"),
    ];
    let error = Sandbox::start(ground.local(), spec.clone(), Duration::from_secs(10))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("echo why"), "{error}");
    spec.setup_commands.pop();
    let sandbox = Sandbox::start(ground.local(), spec, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(ask(&sandbox, "echo $READY").await.0, "1\n");
    remove(&sandbox).await;
    drop((sandbox, prepared));
    assert!(names(&ground.root()).is_empty());
}

#[tokio::test]
async fn nothing_of_the_users_environment_gets_in() {
    let ground = Ground::new();
    let mut spec = spec(ground.prepare(&repository(ground.path()), None));
    spec.place.environment = vec![
        (String::from("ADDED"), String::from("a b'\n")),
        (String::from("TERM"), String::from("xterm")),
    ];
    let sandbox = Sandbox::start(ground.local(), spec, Duration::from_secs(10))
        .await
        .unwrap();
    let (output, _) = ask(&sandbox, "env -0 | tr '\\n\\0' '?\\n' | cut -d= -f1 | sort | tr '\\n' ' '; echo; echo \"$ADDED\" $TERM; env | grep -c CARGO").await;
    assert!(output.starts_with("ADDED GIT_PAGER GIT_TERMINAL_PROMPT HOME LANG LOGNAME MANPAGER NPM_CONFIG_FUND NPM_CONFIG_PROGRESS NPM_CONFIG_UPDATE_NOTIFIER PAGER PATCHMILL_PLACE PATH PIP_"), "{output}");
    assert!(output.contains("a b'\n xterm\n"), "{output}");
    remove(&sandbox).await;
}

#[tokio::test]
async fn bubblewrap_confines() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let hidden = ground.path().join("answers.jsonl");
    std::fs::write(&hidden, "the answer").unwrap();
    let mut spec = spec(ground.prepare(&repository(ground.path()), None));
    spec.place.workdir = Some(String::from("/testbed-of-a-test"));
    let mut settings = ground.settings();
    settings.root = std::env::current_dir()
        .unwrap()
        .join(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("root-{}", std::process::id()));
    settings.hidden = vec![
        std::path::PathBuf::from("/usr/share/doc"),
        std::path::PathBuf::from("/etc/hostname"),
    ];
    let root = settings.root.clone();
    let backend = std::sync::Arc::new(
        sandbox::place::bubblewrap::Bubblewrap::probe(settings)
            .await
            .unwrap(),
    );
    let sandbox = Sandbox::start(backend, spec, Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(sandbox.workdir(), "/testbed-of-a-test");
    let script = format!(
        "pwd; touch /usr/x /etc/x /x 2>/dev/null && echo WRITABLE; ls {root} /usr/share/doc /run /root/.ssh 2>/dev/null | grep -v -e : -e '^$'; cat /etc/hostname; cat {hidden} 2>/dev/null; \
         ls /proc | grep -c '^[0-9]'; cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '; grep -E 'CapEff|NoNewPrivs' /proc/self/status; ls /var/run/docker.sock 2>/dev/null; \
         mknod /dev/x b 8 0 2>/dev/null && echo DEVICE; mount -t tmpfs x /tmp 2>/dev/null && echo MOUNT; echo $HOME $TMPDIR; touch /tmp/t ~/t && echo ok; test -e /proc/1/root/{hidden} && echo ROOT",
        root = root.display(),
        hidden = hidden.display(),
    );
    let (output, _) = ask(&sandbox, &script).await;
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "/testbed-of-a-test");
    assert!(
        lines[1].parse::<u32>().is_ok_and(|number| number < 12),
        "only its own processes are seen: {output}"
    );
    assert_eq!(
        &lines[2..],
        [
            "lo",
            "CapEff:\t0000000000000000",
            "NoNewPrivs:\t1",
            "/agent /tmp",
            "ok"
        ],
        "{output}"
    );
    remove(&sandbox).await;
    drop(sandbox);
    assert!(names(&root).is_empty());
    std::fs::remove_dir(&root).unwrap();
}

/// A keeper that sees no processes, and the pipe that it is held by; `script` has said `up`.
fn keeper_without_proc(ground: &Ground, script: &str) -> (Guarded, OwnedFd) {
    std::fs::create_dir_all(ground.root()).unwrap();
    std::fs::write(ground.root().join("lock"), "").unwrap();
    let (held_by_keeper, lifeline) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut keeper = Guarded(
        Command::new("bwrap")
            .args(["--dev-bind", "/", "/", "--tmpfs", "/proc", TRIAL])
            .arg(keep::ARGUMENT)
            .arg(ground.root())
            .args(["kin-of-nobody.", "sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(held_by_keeper)
            .spawn()
            .unwrap(),
    );
    let mut said = String::new();
    BufReader::new(keeper.0.stdout.take().unwrap())
        .read_line(&mut said)
        .unwrap();
    assert_eq!(said, "up\n");
    (keeper, lifeline)
}

#[tokio::test]
async fn a_keeper_that_sees_no_processes_ends_its_program_and_itself() {
    if !bubblewrap_works().await {
        return;
    }
    for asked in [true, false] {
        let ground = Ground::new();
        let n = unique_seconds();
        let (mut keeper, lifeline) = keeper_without_proc(
            &ground,
            &format!("trap '' TERM INT HUP; echo up; sleep {n} & sleep {n}"),
        );
        if asked {
            rustix::io::write(&lifeline, b"x").unwrap();
        }
        drop(lifeline);
        let code = ended(&mut keeper, Duration::from_secs(4)).await.code();
        assert_eq!(code, Some(137), "asked: {asked}");
        assert!(!is_running(&format!("sleep\0{n}")));
        assert_eq!(ground.root().exists(), asked);
    }
}

#[tokio::test]
async fn a_keeper_gives_up_what_it_cannot_reach() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    // Nothing shows the keeper this session, and it outlives the keeper's patience.
    let (mut keeper, lifeline) =
        keeper_without_proc(&ground, "setsid sleep 7 >/dev/null 2>&1 & echo up; sleep 7");
    rustix::io::write(&lifeline, b"x").unwrap();
    let status = ended(&mut keeper, Duration::from_secs(9)).await;
    assert_ne!(status.code(), Some(0), "its runner has to look for strays");
}

async fn ended(child: &mut Guarded, limit: Duration) -> ExitStatus {
    let start = std::time::Instant::now();
    loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < limit, "the keeper does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn the_keeper_starts_only_with_what_it_needs() {
    let status = Command::new(TRIAL).arg(keep::ARGUMENT).status().unwrap();
    assert_eq!(status.code(), Some(127));
}

#[tokio::test]
async fn a_start_that_takes_too_long_leaves_nothing() {
    let ground = Ground::new();
    let backend = ground.local();
    let late = backend
        .start(&place_spec(), Duration::ZERO)
        .await
        .err()
        .unwrap();
    assert!(matches!(late, Error::Start { .. }), "{late:?}");
    eventually("directories go", || names(&ground.root()).is_empty()).await;
}
