//! The shell in a container: what may be tried only there, and what is different there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::place::Backend;
use sandbox::{End, Error, RunOptions};
use tokio_util::sync::CancellationToken;

use crate::docker_support::{Engine, LIMIT, docker};
use crate::shells::{CONTAINERS, Kind, Subject};
use crate::support::unique_seconds;

const GRACE: Duration = Duration::from_secs(2);
const OK: End = End::Exited(0);

/// One after the other: each takes all that the machine has.
#[tokio::test]
async fn fork_bombs_end_in_time_and_the_next_command_works() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        if subject.is_limited() {
            bombs_in_the_foreground(&subject).await;
            a_bomb_in_the_background(&subject).await;
        }
        subject.remove().await;
    }
}

async fn bombs_in_the_foreground(subject: &Subject) {
    let kind = subject.kind;
    for bomb in [
        "echo partial; bomb() { bomb | bomb & }; bomb; sleep 1000",
        "echo partial; bomb() { bomb | bomb & }; bomb; while :; do :; done",
        "echo partial; sh -c 'f() { while :; do sleep 1000 & done; }; while :; do command eval f; done' 2>/dev/null; sleep 1000",
        "echo partial; setsid sh -c 'b() { b & b & wait; }; b' & sleep 1000",
    ] {
        let limit = Duration::from_millis(1200);
        let started = Instant::now();
        let captured = subject.run_for(bomb, limit).await;
        let took = started.elapsed();
        assert!(
            captured.head.starts_with(b"partial\n"),
            "{kind:?} {bomb}: {:?}",
            captured.head.escape_ascii().to_string()
        );
        assert!(took < limit + GRACE, "{kind:?} {bomb} took {took:?}");
        assert_eq!(
            subject.ask("/bin/echo ok").await,
            (String::from("ok\n"), OK),
            "{kind:?} {bomb}: {captured:?}"
        );
        assert!(!subject.sleeps(1000).await, "{kind:?} {bomb}");
    }
}

/// What a command leaves running may take all room. It is ended before the next one starts where it has by then; a command that starts while it still
/// grows may fail, as in any shell.
async fn a_bomb_in_the_background(subject: &Subject) {
    let kind = subject.kind;
    for bomb in [
        "bomb() { bomb | bomb & }; bomb",
        "while :; do sleep 1000 & done 2>/dev/null",
    ] {
        let limit = Duration::from_secs(3);
        subject.run_for(bomb, limit).await;
        let mut answers = Vec::new();
        while answers.len() < 4 {
            let started = Instant::now();
            let captured = subject.run_for("/bin/echo ok", limit).await;
            let took = started.elapsed();
            assert!(took < limit + GRACE, "{kind:?} {bomb} took {took:?}");
            let works = captured.head == b"ok\n";
            answers.push(captured);
            if works {
                break;
            }
        }
        let last = answers.last().unwrap();
        assert_eq!(last.head, b"ok\n", "{kind:?} {bomb} {answers:?}");
    }
}

#[tokio::test]
async fn signals_to_everything_leave_a_shell_that_works() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        subject.run("export KEPT=1; cd /tmp").await;
        for (command, output) in [
            ("kill -9 -1; echo survived", "survived\n"),
            ("kill -TERM -1; echo survived", "survived\n"),
            ("kill -STOP -1; echo survived", "survived\n"),
            ("kill -9 1; kill -STOP 1; echo survived", "survived\n"),
            (
                "kill -9 $PPID; kill -STOP $PPID; kill -SEGV $PPID; kill -ALRM $PPID; echo survived",
                "survived\n",
            ),
        ] {
            assert_eq!(subject.ask(command).await.0, output, "{kind:?} {command}");
            // What ends commands has to be there again.
            let limit = Duration::from_millis(300);
            let started = Instant::now();
            let captured = subject
                .run_for("echo partial; setsid sleep 1000 & sleep 1000", limit)
                .await;
            let took = started.elapsed();
            assert_eq!(
                (captured.end, captured.head.as_slice()),
                (End::TimedOut, &b"partial\n"[..]),
                "{kind:?} {command}"
            );
            assert!(took < limit + GRACE, "{kind:?} {command} took {took:?}");
            let (said, end) = subject.ask("/bin/echo $KEPT $PWD").await;
            assert_eq!((said.as_str(), end), ("1 /tmp\n", OK), "{kind:?} {command}");
        }
        subject.remove().await;
    }
}

#[tokio::test]
async fn whoever_knows_the_protocol_fools_only_himself() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        let nonce =
            "n=$(tr '\\0' '\\n' </proc/$PPID/cmdline | grep -o '[0-9a-f]\\{24\\}' | head -n 1)";
        for command in [
            "printf '\\036%s end 1 0\\036' $n",
            "printf '\\036%s dead 0\\036' $n",
            "printf '\\036%s dead 254\\036' $n",
            "printf '\\036%s up 1\\036' $n",
            "printf '\\036%s keeper 1 1\\036' $n",
            "for i in 10 11 12 13 14 15 16; do eval \"exec $i>&-\"; done",
            "cat /proc/1/fd/8 >/dev/null & sleep 0.1; kill $!",
            "set -n",
            "printf() { return 1; }",
            "read() { while :; do :; done; }",
        ] {
            let text = format!("{nonce}; {command}");
            let _ = subject.run_for(&text, Duration::from_millis(500)).await;
            let mut said = String::new();
            for _ in 0..4 {
                let captured = subject.run_for("echo ok", Duration::from_secs(2)).await;
                said = String::from_utf8_lossy(&captured.head).into_owned();
                if said == "ok\n" {
                    break;
                }
            }
            assert_eq!(said, "ok\n", "{kind:?} {command}");
        }
        subject.remove().await;
    }
}

#[tokio::test]
async fn an_interrupted_program_may_say_its_last_words() {
    let Some(subject) = Subject::start(Kind::Docker("base")).await else {
        return;
    };
    let program = "python3 -S -c \"\nimport time\nprint('held back')\nopen('/tmp/there', 'w').close()\ntime.sleep(100)\"";
    for text in [
        program.to_owned(),
        format!("{program} | tail -5; echo not reached"),
    ] {
        subject.run("rm -f /tmp/there").await;
        let captured = subject.run_for(&text, Duration::from_millis(1500)).await;
        let said = String::from_utf8_lossy(&captured.head).into_owned();
        assert_eq!(captured.end, End::TimedOut);
        assert!(
            said.contains("held back") && !said.contains("not reached"),
            "{said}"
        );
    }
    subject.remove().await;
}

#[tokio::test]
async fn idle_and_flooding_commands_are_told_apart_and_the_shell_goes_on() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        subject.run("export KEPT=1").await;
        let idle = RunOptions {
            idle: Some(Duration::from_millis(800)),
            ..RunOptions::default()
        };
        let captured = subject
            .run_with("echo 1; sleep 0.2; echo 2; sleep 100", &idle)
            .await;
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::Idle, &b"1\n2\n"[..])
        );
        let flood = RunOptions {
            max_output: 20 << 20,
            ..RunOptions::default()
        };
        let captured = subject.run_with("yes", &flood).await;
        assert_eq!(captured.end, End::OutputLimit, "{kind:?}");
        assert!(captured.total > 20 << 20);
        let captured = subject.run_for("yes", Duration::from_millis(300)).await;
        assert_eq!(captured.end, End::TimedOut, "{kind:?}");
        assert_eq!(subject.ask("echo $KEPT").await.0, "1\n", "{kind:?}");
        subject.remove().await;
    }
}

#[tokio::test]
async fn a_dropped_command_is_ended_and_the_shell_kept() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        let n = unique_seconds();
        subject
            .run(&format!("cd /tmp; sleep {n} & sleep 0.1"))
            .await;
        let dropped = tokio::time::timeout(
            Duration::from_millis(400),
            subject.run("echo started; sleep 1000 & sleep 1000"),
        )
        .await;
        assert!(dropped.is_err());
        let captured = subject.run("echo $PWD").await;
        assert_eq!(captured.head, b"/tmp\n", "{kind:?}");
        assert!(captured.shell_note.unwrap().contains("Kept"));
        assert!(subject.sleeps(n).await, "{kind:?}");
        subject.remove().await;
    }
}

#[tokio::test]
async fn a_program_apart_from_the_shell_has_its_own_end() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        let options = RunOptions {
            timeout: Duration::from_secs(3),
            ..RunOptions::default()
        };
        let never = CancellationToken::new();
        let n = unique_seconds();
        let run = async |text: &str| {
            subject
                .shell
                .run_apart(text, &options, &never)
                .await
                .unwrap()
        };
        subject.run("export X=1").await;
        let captured = run("echo [$X]; echo e >&2; exit 7").await;
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::Exited(7), &b"[]\ne\n"[..])
        );
        let captured = run(&format!("sleep {n} & (setsid sleep {n} &); echo done")).await;
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (OK, &b"done\n"[..])
        );
        assert!(!subject.sleeps(n).await, "{kind:?}");
        assert_eq!(run("kill -9 $$").await.end, End::Exited(137));
        assert_eq!(run("cat; read x; echo r$?").await.head, b"r1\n");
        let long = format!("x='{}'; echo ${{#x}}; cat; exit 5", "y".repeat(300_000));
        let captured = run(&long).await;
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::Exited(5), &b"300000\n"[..])
        );
        let before = Instant::now();
        let captured = run(&format!("echo partial; setsid sleep {n} & sleep {n}")).await;
        assert_eq!(
            (captured.end, captured.head.as_slice()),
            (End::TimedOut, &b"partial\n"[..])
        );
        assert!(before.elapsed() < options.timeout + GRACE);
        assert!(!subject.sleeps(n).await, "{kind:?}");
        assert_eq!(subject.ask("echo $X").await.0, "1\n");
        subject.remove().await;
    }
}

#[tokio::test]
async fn memory_that_runs_out_ends_a_command_and_not_the_shell_for_good() {
    for kind in CONTAINERS {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        if !subject.is_limited() {
            subject.remove().await;
            continue;
        }
        subject.run("export KEPT=1").await;
        let hog = "x=$(dd if=/dev/zero bs=1M count=400 2>/dev/null | tr '\\0' x); y=$x$x; z=$y$y; echo not reached";
        let captured = subject.run_for(hog, Duration::from_secs(30)).await;
        assert_eq!(captured.end, End::ShellEnded(137), "{kind:?} {captured:?}");
        assert_eq!(subject.ask("echo $KEPT").await, (String::from("1\n"), OK));
        subject.remove().await;
    }
}

#[tokio::test]
async fn a_container_that_ends_is_a_lost_sandbox_with_its_cause() {
    let Some(subject) = Subject::start(Kind::Docker("base")).await else {
        return;
    };
    let name = subject.place.id().0.clone();
    docker(&["kill", &name]);
    let lost = subject
        .shell
        .run("echo x", &RunOptions::default(), &CancellationToken::new())
        .await
        .unwrap_err();
    let cause = std::error::Error::source(&lost).unwrap().to_string();
    assert!(
        matches!(lost, Error::Lost { .. }) && cause.contains("137"),
        "{lost:?}"
    );
    subject.remove().await;
}

#[tokio::test]
async fn an_image_without_a_shell_is_refused_with_a_word_about_it() {
    let Some(engine) = Engine::with("empty").await else {
        return;
    };
    let backend: Arc<dyn Backend> = engine.backend.clone();
    let refused = backend.start(&engine.spec(), LIMIT).await.err().unwrap();
    assert!(refused.to_string().contains("/bin/sh"), "{refused:?}");
}

#[tokio::test]
async fn lists_of_processes_show_workers_in_a_line() {
    let Some(subject) = Subject::start(Kind::Docker("base")).await else {
        return;
    };
    let line = "tr '\\0' ' ' </proc/$$/cmdline; [ -z \"$_pm_w\" ] && ! env | grep _pm_";
    let (said, _) = subject.ask(line).await;
    assert!(
        said.starts_with("bash --noprofile") && said.len() < 100,
        "{said}"
    );
    subject.remove().await;
}
