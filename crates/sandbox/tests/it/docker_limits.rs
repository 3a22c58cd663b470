//! What a container may do, and what is told when it does more.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sandbox::limits::{Limit, Limits, Network};
use sandbox::place::{Backend, PlaceSpec, PlaceState};

use crate::docker_support::{Engine, LIMIT, ask, docker, hold_main, launch, open, say, send};
use crate::support::eventually;

fn limits() -> Limits {
    Limits {
        memory: None,
        cpus: None,
        pids: None,
        disk: None,
    }
}

fn limit<T>(value: T, explicit: bool) -> Limit<T> {
    Limit { value, explicit }
}

fn limited(engine: &Engine, limits: Limits) -> PlaceSpec {
    PlaceSpec {
        limits,
        ..engine.spec()
    }
}

#[tokio::test]
async fn nothing_inside_has_rights_a_network_or_a_way_to_get_them() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let mut spec = engine.spec();
    spec.environment = vec![("ANSWER".to_owned(), "4 2".to_owned())];
    let place = engine.start_as(&spec).await;
    let _main = hold_main(&place).await;
    let status = "while read -r k v; do case $k in NoNewPrivs:|CapEff:|CapBnd:|Seccomp:) echo $k $v;; esac; done </proc/self/status";
    assert_eq!(
        say(&place, status).await.0,
        "CapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n"
    );
    assert_eq!(say(&place, "ls /sys/class/net").await.0, "lo\n");
    assert_eq!(
        say(&place, "echo $ANSWER,$PAGER,$(ulimit -c),$(hostname)")
            .await
            .0,
        "4 2,cat,0,sandbox\n"
    );
    assert_eq!(place.applied().network, Network::None);
    assert_eq!(place.applied().enforced, ["filesystem", "network"]);
    let mounts = docker(&["inspect", "--format", "{{json .Mounts}}", &place.id().0]);
    assert_eq!(mounts, "[]");
    engine.remove(&place).await;
}

#[tokio::test]
async fn users_capabilities_and_directories_can_be_chosen() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let mut spec = engine.spec();
    spec.rights.user = Some("1000:1000".to_owned());
    spec.rights.capabilities = vec!["CHOWN".to_owned()];
    spec.workdir = Some("/some where".to_owned());
    let place = engine.start_as(&spec).await;
    assert_eq!(place.applied().user, "1000:1000");
    assert_eq!(place.applied().capabilities, ["CHOWN"]);
    assert_eq!(place.workdir(), "/some where");
    let mut main = hold_main(&place).await;
    assert_eq!(ask(&mut main, "id -u; pwd").await, "1000");
    let bounds =
        "while read -r k v; do case $k in CapBnd:) echo $v;; esac; done </proc/self/status; pwd";
    assert_eq!(
        say(&place, bounds).await.0,
        "0000000000000001\n/some where\n"
    );
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_fork_bomb_fills_its_container_alone() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let spec = limited(
        &engine,
        Limits {
            pids: Some(limit(64, true)),
            ..limits()
        },
    );
    let place = engine.start_as(&spec).await;
    assert!(place.applied().enforced.contains(&"pids".to_owned()));
    // As the agent's shell does it: a main process that waits for the one which runs the commands.
    let text = "exec 8<&0; sh -c 'while read -r line; do eval \"$line\" 8<&-; done' <&8; :";
    let mut main = open(&place, text).await;
    let mut bomb = open(&place, "echo; b() { b | b & }; b; sleep 1000").await;
    ask(&mut bomb, "").await;
    drop(bomb);
    // The next program starts once the bomb is ended.
    assert_eq!(say(&place, "echo over").await.0, "over\n");
    assert_eq!(ask(&mut main, "echo there").await, "there");
    send(&mut main, "b() { b | b & }; b; while :; do :; done").await;
    drop(main);
    let (said, code) = say(&place, "echo over; exec echo over").await;
    assert_eq!((said.as_str(), code), ("over\nover\n", Some(0)));
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_container_that_stops_the_engines_own_process_does_not_stop_the_engine() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let place = engine.start().await;
    let main = open(&place, "sh -c 'while :; do kill -STOP -1; done'; :").await;
    // It may start nothing more, but that comes to an end, and so does the place.
    drop(place.open(&launch("echo")).await);
    drop(main);
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_container_that_is_paused_while_a_program_is_on_its_way_in_can_be_removed() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let place = engine.start().await;
    let _main = hold_main(&place).await;
    let freezer = Freezer::of(&place.id().0);
    let command = launch("echo");
    let mut entering = place.open(&command);
    loop {
        tokio::select! {
            // It was too quick to be caught.
            _ = &mut entering => entering = place.open(&command),
            () = freezer.catch_entering() => break,
        }
    }
    // The engine waits for the program now, and holds what every other call needs.
    let id = &place.id().0;
    let mut pause = Command::new("docker").args(["pause", id]).spawn().unwrap();
    let mut inspect = Command::new("timeout");
    inspect.args(["1", "docker", "inspect", id]);
    while inspect.output().unwrap().status.success() {}
    let (entered, ()) = tokio::join!(entering, engine.remove(&place));
    assert!(entered.is_err());
    pause.wait().unwrap();
    assert!(!freezer.group.exists(), "all that was in it is gone");
}

/// The control group by which a container is paused.
struct Freezer {
    group: PathBuf,
    file: &'static str,
    /// What thaws and what freezes.
    words: [&'static str; 2],
}

impl Freezer {
    fn of(container: &str) -> Self {
        let pid = docker(&["inspect", "--format", "{{.State.Pid}}", container]);
        let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", pid.trim())).unwrap();
        let own = groups
            .lines()
            .find_map(|line| line.split_once(":freezer:/"));
        if let Some((_, group)) = own {
            return Self {
                group: Path::new("/sys/fs/cgroup/freezer").join(group),
                file: "freezer.state",
                words: ["THAWED", "FROZEN"],
            };
        }
        let group = groups.trim().trim_start_matches("0::/");
        Self {
            group: Path::new("/sys/fs/cgroup").join(group),
            file: "cgroup.freeze",
            words: ["0", "1"],
        }
    }

    /// Freezes it while a process of the engine's that is no program yet is in it.
    async fn catch_entering(&self) {
        let write = |word| std::fs::write(self.group.join(self.file), word).unwrap();
        let [thawed, frozen] = self.words;
        loop {
            if self.holds_entering() {
                write(frozen);
                if self.holds_entering() {
                    return;
                }
                write(thawed);
            }
            tokio::task::yield_now().await;
        }
    }

    fn holds_entering(&self) -> bool {
        let pids = std::fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        pids.lines().any(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm"))
                .is_ok_and(|name| name.starts_with("runc:["))
        })
    }
}

#[tokio::test]
async fn a_kill_for_memory_is_told_apart_from_others() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let spec = limited(
        &engine,
        Limits {
            memory: Some(limit(64 << 20, true)),
            ..limits()
        },
    );
    let place = engine.start_as(&spec).await;
    let mut main = hold_main(&place).await;
    assert_eq!(say(&place, "kill -9 $$").await.1, Some(137));
    assert_eq!(place.memory_kills(), 0);
    let (_, code) = say(&place, "exec python3 -c 'x = bytearray(200 << 20)'").await;
    assert_eq!(code, Some(137));
    eventually("the kill is heard of", || place.memory_kills() > 0).await;
    assert_eq!(place.state().await.unwrap(), PlaceState::Running);
    // Files in memory do not bring the main process down.
    let filled = "head -c 100000000 /dev/zero >/dev/shm/x; rm /dev/shm/x; echo over";
    assert!(say(&place, filled).await.0.ends_with("over\n"));
    assert_eq!(ask(&mut main, "echo there").await, "there");
    // When the main process itself is too big, the place is lost for memory.
    send(&mut main, "x=$(head -c 200000000 /dev/zero | tr '\\0' x)").await;
    // No program beside it meanwhile: what ends one would end the pipeline too, which is no work of the agent's shell.
    let lost = PlaceState::Exited {
        code: Some(137),
        out_of_memory: true,
    };
    let until = tokio::time::Instant::now() + LIMIT;
    while place.state().await.unwrap() != lost {
        assert!(tokio::time::Instant::now() < until, "it lives on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = place.open(&launch("sleep 0.05")).await.map(|_| ());
    let error = error.unwrap_err();
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentLost);
    assert_eq!(place.state().await.unwrap(), lost, "{error:?}");
    engine.remove(&place).await;
}

#[tokio::test]
async fn temporary_files_in_memory_get_what_the_memory_allows() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let mut spec = limited(
        &engine,
        Limits {
            memory: Some(limit(64 << 20, true)),
            ..limits()
        },
    );
    spec.rights.temporary = Some(1 << 30);
    let place = engine.start_as(&spec).await;
    assert_eq!(place.applied().tmpfs, Some(16 << 20));
    let mut main = hold_main(&place).await;
    let filled = "head -c 100000000 /dev/zero >/tmp/x; echo $?; wc -c </tmp/x";
    let (said, _) = say(&place, filled).await;
    assert!(said.ends_with(&format!("1\n{}\n", 16 << 20)), "{said}");
    assert_eq!(ask(&mut main, "echo there").await, "there");
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_disk_that_cannot_be_limited_bounds_each_file_or_is_refused() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    if engine.backend.capabilities().disk_limit {
        return;
    }
    let disk = |explicit| {
        limited(
            &engine,
            Limits {
                disk: Some(limit(1 << 20, explicit)),
                ..limits()
            },
        )
    };
    let refused = engine.backend.start(&disk(true), LIMIT).await;
    let error = refused.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot limit disk"), "{error}");
    let place = engine.start_as(&disk(false)).await;
    assert_eq!(place.applied().unenforced, ["disk"]);
    assert!(place.applied().enforced.contains(&"file_size".to_owned()));
    let _main = hold_main(&place).await;
    let (said, _) = say(&place, "head -c 5000000 /dev/zero >f; wc -c <f").await;
    assert!(said.ends_with("1048576\n"), "{said}");
    engine.remove(&place).await;
}

#[tokio::test]
async fn processors_and_swap_are_what_was_asked_for() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let spec = limited(
        &engine,
        Limits {
            memory: Some(limit(64 << 20, true)),
            cpus: Some(limit(0.5, true)),
            ..limits()
        },
    );
    let place = engine.start_as(&spec).await;
    let format = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.MemorySwap}} {{.HostConfig.LogConfig.Type}} {{.HostConfig.Init}}";
    let told = docker(&["inspect", "--format", format, &place.id().0]);
    assert_eq!(told, "500000000 67108864 67108864 none false");
    engine.remove(&place).await;
}
