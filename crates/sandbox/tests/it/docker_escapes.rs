//! Ways out of a container's workspace, tried by whole sandboxes: nothing of the agent's runs when its work is taken, and nothing of the host is read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::limits::{Limit, Limits};
use sandbox::place::Backend;
use sandbox::{End, RunOptions, Sandbox};
use tokio_util::sync::CancellationToken;

use crate::docker_support::{Engine, LIMIT};
use crate::support::{Ground, ask, remove, repository, run, run_for, spec};

/// How long a comparison may take, however the workspace was filled.
const BOUNDED: Duration = Duration::from_mins(1);

async fn start(engine: &Engine, ground: &Ground) -> Sandbox {
    start_with(engine, ground, &[]).await
}

async fn start_with(engine: &Engine, ground: &Ground, capabilities: &[&str]) -> Sandbox {
    let source = repository(ground.path());
    let mut spec = spec(ground.prepare(&source, None));
    spec.place = engine.spec();
    spec.place.rights.temporary = Some(64 << 20);
    let kept = &mut spec.place.rights.capabilities;
    kept.extend(capabilities.iter().map(ToString::to_string));
    // An engine that can limit them has to.
    let can = engine.backend.capabilities();
    spec.place.limits = Limits {
        memory: Some(Limit {
            value: 512 << 20,
            explicit: can.memory_limit,
        }),
        cpus: None,
        pids: Some(Limit {
            value: 128,
            explicit: can.pids_limit,
        }),
        disk: None,
    };
    let backend: Arc<dyn Backend> = engine.backend.clone();
    let sandbox = Sandbox::start(backend, spec, LIMIT).await.unwrap();
    ground.remember(&sandbox);
    sandbox
}

/// The names that a patch changes.
async fn changed(sandbox: &Sandbox) -> Vec<String> {
    let full = sandbox.diff().await.unwrap().full;
    String::from_utf8_lossy(&full)
        .lines()
        .filter_map(|line| line.strip_prefix("diff --git "))
        .map(str::to_owned)
        .collect()
}

const TRAP: &str = "#!/bin/dash\ntouch /tmp/owned\nexit 1\n";

#[tokio::test]
async fn no_program_of_the_image_is_asked_about_the_work() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground).await;
    let replaced = format!(
        "cat >/tmp/trap <<'E'\n{TRAP}E\nchmod 755 /tmp/trap; echo two >>README.md; \
         for p in git bash sh tar cat rm readlink mkdir cp mv setsid; do mv -f /bin/$p /tmp/old-$p; done 2>/dev/null; \
         for p in git bash sh tar cat rm readlink mkdir cp mv setsid; do /tmp/old-cp /tmp/trap /bin/$p; done; \
         export PATH=/tmp; exit 3"
    );
    assert_eq!(run(&sandbox, &replaced).await.end, End::ShellEnded(3));
    assert_eq!(ask(&sandbox, "echo on").await.0, "on\n");
    // Nothing of the above is any help to what is ours.
    run(&sandbox, "/tmp/old-rm -f /tmp/owned").await;
    assert_eq!(changed(&sandbox).await, ["a/README.md b/README.md"]);
    sandbox.stop_processes(LIMIT).await.unwrap();
    assert_eq!(changed(&sandbox).await, ["a/README.md b/README.md"]);
    let owned = std::process::Command::new("docker")
        .args(["cp", &format!("{}:/tmp/owned", sandbox.id().0), "-"])
        .output()
        .unwrap();
    assert!(!owned.status.success(), "something of the agent's ran");
    remove(&sandbox).await;
}

#[tokio::test]
async fn links_out_of_the_workspace_are_links() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground).await;
    run(
        &sandbox,
        "ln -s /etc/shadow shadow; ln -s ../../../../etc above; ln -s /proc/1/root root; rm -r pkg; ln -s /etc pkg",
    )
    .await;
    let full = sandbox.diff().await.unwrap().full;
    let text = String::from_utf8_lossy(&full);
    assert_eq!(text.matches("new file mode 120000").count(), 4, "{text}");
    assert!(!text.contains("root:"), "{text}");
    // The edit tool goes where the agent would, never out: a name that means something here means what it does in there.
    let secret = ground.path().join("secret");
    std::fs::write(&secret, "of the host").unwrap();
    run(&sandbox, &format!("ln -s '{}' secret", secret.display())).await;
    assert!(sandbox.read("secret", 1000).await.is_err());
    // Without any program too.
    run(&sandbox, "rm -rf /bin /usr/bin").await;
    assert!(sandbox.read("secret", 1000).await.is_err());
    // Nor do the engine's archives know another `/proc` than the container's.
    assert!(sandbox.read("root/etc/hostname", 1000).await.is_err());
    sandbox.write("above/made", b"in there").await.unwrap();
    assert_eq!(sandbox.read("/etc/made", 100).await.unwrap(), b"in there");
    assert!(!std::path::Path::new("/etc/made").exists());
    sandbox.write("new/deep/file", b"new").await.unwrap();
    assert_eq!(sandbox.read("new/deep/file", 100).await.unwrap(), b"new");
    sandbox.write("run.sh", b"#!/bin/sh\n").await.unwrap();
    let full = sandbox.diff().await.unwrap().full;
    let text = String::from_utf8_lossy(&full);
    assert!(text.contains("+++ b/new/deep/file"), "{text}");
    assert!(!text.contains("old mode"), "{text}");
    assert_eq!(std::fs::read(&secret).unwrap(), b"of the host");
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_workspace_full_of_links_and_pipes_is_compared_in_bounded_time() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground).await;
    let filled = "python3 -c \"
import os
os.makedirs('links'); os.makedirs('pipes')
open('links/first', 'wb').write(os.urandom(1 << 14))
for i in range(4000): os.link('links/first', f'links/{i}')
for i in range(1500): os.mkfifo(f'pipes/{i}')
os.mkfifo(b'pipes/new\\nline\\xff')
\" && echo done";
    let captured = run_for(&sandbox, filled, LIMIT).await;
    assert_eq!(captured.head, b"done\n", "{captured:?}");
    let started = Instant::now();
    let diff = sandbox.diff().await.unwrap();
    let took = started.elapsed();
    assert!(took < BOUNDED, "{took:?}");
    // Each name of the one file counts as a file of its own.
    assert!(diff.full.len() > 4000 << 14, "{}", diff.full.len());
    // 1501 pipes, of which the list holds what it may.
    assert_eq!(diff.omissions.len(), 1000);
    assert_eq!(diff.unlisted_omissions, 501);
    remove(&sandbox).await;
}

#[tokio::test]
async fn devices_are_neither_read_nor_in_the_patch() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start_with(&engine, &ground, &["MKNOD"]).await;
    let made = "mknod zero c 1 5 && mknod disk b 8 0 && rm README.md && mknod README.md c 1 5 && test -c zero && test -b disk && echo made";
    assert_eq!(ask(&sandbox, made).await.0, "made\n");
    for name in ["zero", "disk", "README.md"] {
        let read = sandbox.read(name, 1000).await;
        assert!(read.is_err(), "{name}: {read:?}");
    }
    let check = async || {
        let diff = sandbox.diff().await.unwrap();
        let mut omitted: Vec<&str> = diff.omissions.iter().map(|one| one.path.as_str()).collect();
        omitted.sort_unstable();
        assert_eq!(omitted, ["README.md", "disk", "zero"]);
        let text = String::from_utf8_lossy(&diff.full);
        assert_eq!(text.matches("diff --git").count(), 1, "{text}");
        assert!(text.contains("deleted file mode"), "{text}");
    };
    check().await;
    // The engine's archives tell of devices, too.
    run(&sandbox, "rm -rf /bin /usr/bin").await;
    assert!(sandbox.read("zero", 1000).await.is_err());
    check().await;
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_full_memory_disk_fails_commands_and_no_shell() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground).await;
    for directory in ["/tmp", "/dev/shm"] {
        let fill = format!("head -c 900000000 /dev/zero >{directory}/fill");
        let (said, end) = ask(&sandbox, &fill).await;
        assert_eq!(end, End::Exited(1), "{said}");
        assert!(said.contains("No space left on device"), "{said}");
        // The shell's own state has no room either.
        assert_eq!(run(&sandbox, "exit 3").await.end, End::ShellEnded(3));
        assert_eq!(ask(&sandbox, "echo on").await.0, "on\n");
        run(&sandbox, &format!("rm -f {directory}/fill")).await;
    }
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_flood_ends_at_256_mebibytes_and_both_its_ends_are_kept() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let sandbox = start(&engine, &ground).await;
    let options = RunOptions::default();
    let captured = sandbox
        .run("echo first; yes", &options, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(captured.end, End::OutputLimit);
    assert!(captured.total > 256 << 20, "{}", captured.total);
    assert!(captured.head.starts_with(b"first\ny\n"));
    assert!(captured.tail.ends_with(b"y\n"));
    let mut spool = captured.spool.unwrap();
    assert_eq!(spool.head_length() + spool.tail_length(), 16 << 20);
    let mut stored = Vec::new();
    spool.copy_to(&mut stored).unwrap();
    assert_eq!(stored.len(), 16 << 20);
    assert_eq!(captured.sha256.len(), 64);
    assert_eq!(ask(&sandbox, "echo on").await.0, "on\n");
    remove(&sandbox).await;
}
