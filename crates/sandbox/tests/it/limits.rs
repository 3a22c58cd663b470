//! Deadlines, floods, and what is left of a command that was ended.

use std::time::{Duration, Instant};

use sandbox::{End, Kept, RunOptions, Sandbox};
use tokio_util::sync::CancellationToken;

use crate::support::{
    BackendKind, Ground, ask, eventually, is_running, remove, run_for, unique_seconds,
};

/// What an ended command may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn stubborn_commands_end_in_time_with_their_output_and_leave_nothing() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        let n = unique_seconds();
        let table = [
            format!("echo partial; sleep {n}"),
            format!("echo partial; trap '' TERM INT HUP; sleep {n}"),
            format!("echo partial; setsid sleep {n} & sleep {n}"),
            format!(
                "echo partial; (setsid sh -c \"trap '' TERM HUP INT; while :; do sleep {n}; done\" &) ; while :; do :; done"
            ),
            format!("echo partial; nohup setsid sh -c '(sleep {n} &)'; exec sleep {n}"),
            format!(
                "echo partial; python3 -c 'import os,time\nfor i in range(20):\n  if os.fork()==0:\n    os.setsid()\n    os.execvp(\"sleep\",[\"sleep\",\"{n}\"])\ntime.sleep({n})'"
            ),
        ];
        for command in table {
            let limit = Duration::from_millis(400);
            let before = Instant::now();
            let captured = run_for(&sandbox, &command, limit).await;
            let took = before.elapsed();
            assert_eq!(captured.end, End::TimedOut, "{kind:?} {command}");
            assert!(took < limit + GRACE, "{kind:?} {command} took {took:?}");
            assert!(
                captured.head.starts_with(b"partial\n"),
                "{command}: {:?}",
                captured.head.escape_ascii().to_string()
            );
            assert!(!is_running(&format!("sleep\0{n}")), "{kind:?} {command}");
            assert!(captured.shell_note.is_some());
            assert_eq!(ask(&sandbox, "echo ok").await.0, "ok\n");
        }
        remove(&sandbox).await;
    }
}

/// Runs a command that makes the file `there` in the workspace when it has come to its point, and cancels it then.
async fn cancelled_there(sandbox: &Sandbox, text: &str) -> String {
    let mark = format!("{}/there", sandbox.workdir());
    let _ = std::fs::remove_file(&mark);
    let cancel = CancellationToken::new();
    let options = RunOptions::default();
    let then_cancel = async {
        eventually("the command has come to its point", || {
            std::fs::exists(&mark).unwrap_or(false)
        })
        .await;
        cancel.cancel();
    };
    let (captured, ()) = tokio::join!(sandbox.run(text, &options, &cancel), then_cancel);
    let captured = captured.unwrap();
    assert_eq!(captured.end, End::Cancelled);
    String::from_utf8(captured.head).unwrap()
}

#[tokio::test]
async fn an_interrupted_program_may_say_its_last_words() {
    const PROGRAM: &str = "python3 -S -c \"\nimport time\nprint('held back')\nopen('there', 'w').close()\ntime.sleep(100)\"";
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let said = cancelled_there(&sandbox, PROGRAM).await;
    assert!(
        said.contains("held back") && said.contains("KeyboardInterrupt"),
        "{said}"
    );
    let piped = format!("{PROGRAM} | tail -5; echo not reached");
    let said = cancelled_there(&sandbox, &piped).await;
    assert!(
        said.contains("held back") && !said.contains("not reached"),
        "{said}"
    );
    remove(&sandbox).await;
}

#[tokio::test]
async fn daemons_of_earlier_commands_survive_a_deadline() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let n = unique_seconds();
    ask(&sandbox, &format!("sleep {n} & sleep 0.1")).await;
    let captured = run_for(&sandbox, "sleep 100", Duration::from_millis(100)).await;
    assert_eq!(captured.end, End::TimedOut);
    assert!(is_running(&format!("sleep\0{n}")));
    remove(&sandbox).await;
    assert!(!is_running(&format!("sleep\0{n}")));
}

#[tokio::test]
async fn idle_cancelled_and_flooding_commands_are_told_apart() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let never = CancellationToken::new();
    let idle = RunOptions {
        idle: Some(Duration::from_secs(1)),
        ..RunOptions::default()
    };
    let captured = sandbox
        .run(
            "for i in 1 2 3; do echo $i; sleep 0.1; done; sleep 100",
            &idle,
            &never,
        )
        .await
        .unwrap();
    assert_eq!(
        (captured.end, captured.head.as_slice()),
        (End::Idle, &b"1\n2\n3\n"[..])
    );

    let said = cancelled_there(&sandbox, "echo begun; : >there; sleep 100").await;
    assert_eq!(said, "begun\n");

    let flood = RunOptions {
        max_output: 10 << 20,
        timeout: Duration::from_secs(20),
        ..RunOptions::default()
    };
    let before = Instant::now();
    let captured = sandbox.run("yes", &flood, &never).await.unwrap();
    assert_eq!(captured.end, End::OutputLimit);
    assert!(captured.total > 10 << 20);
    assert!(before.elapsed() < Duration::from_secs(10));

    let captured = run_for(&sandbox, "yes", Duration::from_millis(300)).await;
    assert_eq!(
        captured.end,
        End::TimedOut,
        "a flood must not outrun the deadline"
    );
    assert_eq!(ask(&sandbox, "echo ok").await.0, "ok\n");
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_long_output_keeps_both_ends_and_little_memory() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let options = RunOptions {
        timeout: Duration::from_mins(1),
        max_output: 1 << 30,
        kept: Kept {
            memory: 4096,
            stored: 1 << 20,
        },
        ..RunOptions::default()
    };
    let before = resident();
    let captured = sandbox
        .run(
            "echo first; head -c 200000000 /dev/zero; echo last",
            &options,
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    assert!(resident().saturating_sub(before) < 20 << 20);
    assert_eq!(captured.end, End::Exited(0));
    assert_eq!(captured.total, 200_000_011);
    assert!(captured.head.starts_with(b"first\n\0\0") && captured.tail.ends_with(b"\0\0last\n"));
    assert_eq!(captured.head.len() + captured.tail.len(), 4096);
    let mut stored = Vec::new();
    captured.spool.unwrap().copy_to(&mut stored).unwrap();
    assert_eq!(stored.len(), 1 << 20);
    assert!(stored.starts_with(b"first\n") && stored.ends_with(b"last\n"));
    remove(&sandbox).await;
}

fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn a_program_apart_from_the_shell_has_its_own_end() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        let options = RunOptions {
            timeout: Duration::from_millis(1500),
            ..RunOptions::default()
        };
        let never = CancellationToken::new();
        let n = unique_seconds();
        ask(&sandbox, "cd pkg; export X=1").await;
        let captured = sandbox
            .exec("echo $X; pwd; echo e >&2; exit 7", &options, &never)
            .await
            .unwrap();
        assert_eq!(captured.end, End::Exited(7));
        assert_eq!(
            String::from_utf8(captured.head).unwrap(),
            format!("\n{}\ne\n", sandbox.workdir())
        );
        let captured = sandbox
            .exec(&format!("sleep {n} & echo done"), &options, &never)
            .await
            .unwrap();
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::Exited(0), &b"done\n"[..])
        );
        assert!(!is_running(&format!("sleep\0{n}")), "{kind:?}");
        let captured = sandbox.exec("kill -9 $$", &options, &never).await.unwrap();
        assert_eq!(captured.end, End::Exited(137));
        let captured = sandbox
            .exec("cat; read x; echo r$?", &options, &never)
            .await
            .unwrap();
        assert_eq!(captured.head, b"r1\n");
        let long = format!("x='{}'; echo ${{#x}}; cat; exit 5", "y".repeat(300_000));
        let captured = sandbox.exec(&long, &options, &never).await.unwrap();
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::Exited(5), &b"300000\n"[..])
        );
        let before = Instant::now();
        let captured = sandbox
            .exec(
                &format!("echo partial; setsid sleep {n} & sleep {n}"),
                &options,
                &never,
            )
            .await
            .unwrap();
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::TimedOut, &b"partial\n"[..])
        );
        assert!(before.elapsed() < options.timeout + GRACE);
        assert!(!is_running(&format!("sleep\0{n}")), "{kind:?}");
        remove(&sandbox).await;
    }
}
