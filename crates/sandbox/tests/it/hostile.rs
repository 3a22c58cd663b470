//! Commands that break naive shells: each gives the right output and status, and the next one works.

use std::time::{Duration, Instant};

use sandbox::End;

use crate::support::{BackendKind, Ground, ask, remove, run, run_for};

const OK: End = End::Exited(0);

#[tokio::test]
async fn state_survives_commands_and_exports_survive_the_shell() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    run(
        &sandbox,
        "X=1; export Y=\"q'\n z\"; cd pkg; f() { echo F; }; shopt -s globstar",
    )
    .await;
    let (output, _) = ask(&sandbox, "f; echo \"$X|$Y|${PWD##*/}\"").await;
    assert_eq!(output, "F\n1|q'\n z|pkg\n");
    let ended = run(&sandbox, "exit 9").await;
    assert_eq!(ended.end, End::ShellEnded(9));
    assert!(ended.shell_note.unwrap().contains("Kept"));
    let (output, _) = ask(&sandbox, "f 2>/dev/null; echo \"$X|$Y|${PWD##*/}\"").await;
    assert_eq!(output, "|q'\n z|pkg\n");
    remove(&sandbox).await;
}

#[tokio::test]
async fn the_state_is_the_last_one_and_not_a_longer_one_before() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        run(&sandbox, "for i in $(seq 300); do export LONG$i=x; done").await;
        run(&sandbox, "for i in $(seq 300); do export LONG$i=y; done").await;
        run(
            &sandbox,
            "for i in $(seq 300); do unset LONG$i; done; export A=1",
        )
        .await;
        // The first death finds the state in one file, the second in the other.
        for status in [3, 4] {
            let ended = run(&sandbox, &format!("exit {status}")).await;
            assert_eq!(ended.end, End::ShellEnded(status));
            let (output, _) = ask(&sandbox, "echo \"$A|$LONG1|$LONG300\"").await;
            assert_eq!(output, "1||\n");
        }
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn a_shell_that_no_longer_answers_is_ended_and_opened_again() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    for text in [
        "set -n",
        "shopt -s extdebug; trap false DEBUG",
        "printf() { :; }",
        "read() { while :; do :; done; }",
        "until() { :; }; printf() { return 1; }",
    ] {
        // The command itself may be answered; the next one may not.
        let _ = run_for(&sandbox, text, Duration::from_millis(300)).await;
        let _ = run_for(&sandbox, ":", Duration::from_millis(300)).await;
        let mut answer = String::new();
        for _ in 0..3 {
            answer = String::from_utf8(
                run_for(&sandbox, "echo ok", Duration::from_secs(1))
                    .await
                    .head,
            )
            .unwrap();
            if answer == "ok\n" {
                break;
            }
        }
        assert_eq!(answer, "ok\n", "{text}");
    }
    remove(&sandbox).await;
}

#[tokio::test]
async fn late_output_of_a_daemon_delays_nothing() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let before = Instant::now();
    let (output, _) = ask(&sandbox, "(sleep 0.3; echo late) & echo now").await;
    assert_eq!(output, "now\n");
    assert!(before.elapsed() < Duration::from_millis(250));
    let (output, end) = ask(&sandbox, "sleep 0.6; echo next").await;
    assert!(output.ends_with("next\n"), "{output}");
    assert_eq!(end, OK);
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_dropped_command_is_ended_and_the_next_one_works() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    run(&sandbox, "cd pkg").await;
    let dropped = tokio::time::timeout(
        Duration::from_millis(200),
        run(&sandbox, "echo started; sleep 1000"),
    )
    .await;
    assert!(dropped.is_err());
    let captured = run(&sandbox, "echo ${PWD##*/}").await;
    assert_eq!(captured.head, b"pkg\n");
    assert!(captured.shell_note.is_some());
    remove(&sandbox).await;
}

#[tokio::test]
async fn a_killed_keeper_loses_neither_the_shell_for_good_nor_its_children() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        let number = crate::support::unique_seconds();
        // The shell's parent is its keeper; on `local` the keeper's parent is the process that owns the tree.
        let captured = run_for(
            &sandbox,
            &format!("sleep {number} & p=$PPID; read -r line </proc/$p/stat; set -- ${{line##*) }}; [ $2 -gt 1 ] && kill -9 $2; kill -9 $p; sleep 100"),
            Duration::from_secs(10),
        )
        .await;
        assert!(
            matches!(captured.end, End::ShellEnded(_)),
            "{kind:?} {:?}",
            captured.end
        );
        assert_eq!(ask(&sandbox, "echo ok").await.0, "ok\n");
        remove(&sandbox).await;
        assert!(
            !crate::support::is_running(&format!("sleep\0{number}")),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn a_deleted_workspace_is_what_the_agent_did_and_no_lost_sandbox() {
    for kind in BackendKind::available().await {
        for end in ["true", "exit 0"] {
            let ground = Ground::new();
            let sandbox = ground.start(kind).await;
            run(&sandbox, &format!("rm -rf \"$PWD\" 2>/dev/null; {end}")).await;
            assert_eq!(ask(&sandbox, "echo still").await.0, "still\n");
            let full = sandbox.diff().await.unwrap().full;
            let deletions = String::from_utf8_lossy(&full)
                .matches("deleted file mode")
                .count();
            assert_ne!(deletions, 0, "{kind:?} {end}");
            remove(&sandbox).await;
        }
    }
}
