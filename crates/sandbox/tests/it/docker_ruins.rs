//! An agent that ruins the image it works in: that is its own affair, and the sandbox goes on.

use std::time::{Duration, Instant};

use sandbox::{Captured, End};
use tokio_util::sync::CancellationToken;

use crate::shells::{Kind, Subject};

const BASE: Kind = Kind::Docker("base");
const BUSYBOX: Kind = Kind::Docker("busybox");
/// What an ended command may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(2);
/// Enough for a shell that says nothing to be given up, and for another.
const PATIENT: Duration = Duration::from_secs(5);

const SILENT_BASH: &str =
    "rm /bin/bash; printf '#!/bin/sh\\necho lies; sleep 1000\\n' >/bin/bash; chmod 755 /bin/bash";
const NO_LOADER: &str = "rm -rf /lib64 /usr/lib64 /lib/ld-* /lib/*/ld-*";

/// What becomes of the next shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// It is there at once.
    AtOnce,
    /// The image's own has to be waited for, in vain.
    Late,
    /// It is there at once, but nobody else can come in any more.
    Last,
}

const TABLE: &[(Kind, &str, Next)] = &[
    (BASE, SILENT_BASH, Next::Late),
    (
        BASE,
        "rm /bin/bash; printf '#!/bin/sh\nexit 0\n' >/bin/bash; chmod 755 /bin/bash",
        Next::AtOnce,
    ),
    (
        BASE,
        "cp /bin/true /tmp/t; mv -f /tmp/t /bin/bash",
        Next::AtOnce,
    ),
    (BASE, "rm -rf /bin /usr/bin", Next::AtOnce),
    (BASE, "export PATH=/nowhere", Next::AtOnce),
    (BASE, "chmod 000 /bin/bash", Next::AtOnce),
    (BASE, "chmod 000 /bin/bash /bin/sh /bin/dash", Next::Last),
    (BASE, "rm /bin/sh; ln -s /bin/true /bin/sh", Next::AtOnce),
    (
        BASE,
        "rm /bin/sh /bin/bash; printf '#!/bin/dash\nsleep 1000\n' >/bin/sh; cp /bin/sh /bin/bash; chmod 755 /bin/sh /bin/bash",
        Next::Late,
    ),
    (
        BASE,
        "rm /usr/bin/setsid; ln -s /bin/true /usr/bin/setsid",
        Next::AtOnce,
    ),
    (BASE, NO_LOADER, Next::Last),
    (BUSYBOX, "rm -rf /bin", Next::Last),
    (BUSYBOX, "chmod 000 /bin/busybox", Next::Last),
    (BUSYBOX, "export PATH=/nowhere", Next::AtOnce),
];

async fn timed(subject: &Subject, text: &str, limit: Duration) -> (Captured, Duration) {
    let started = Instant::now();
    let captured = subject.run_for(text, limit).await;
    (captured, started.elapsed())
}

#[tokio::test]
async fn whatever_becomes_of_the_images_shells_there_is_a_shell() {
    for &(kind, ruin, next) in TABLE {
        let Some(subject) = Subject::start(kind).await else {
            continue;
        };
        subject.run("cd /tmp; export KEPT='a b'").await;
        subject.run(ruin).await;
        let (captured, took) = timed(&subject, "exit 3", PATIENT).await;
        assert_eq!(captured.end, End::ShellEnded(3), "{kind:?} {ruin}");
        let most = match next {
            Next::Late => PATIENT + GRACE,
            Next::AtOnce | Next::Last => GRACE,
        };
        assert!(took < most, "{kind:?} {ruin}: {took:?}");
        let note = captured.shell_note.unwrap();
        assert!(note.contains("Kept"), "{kind:?} {ruin}: {note}");
        assert_eq!(
            subject.ask("echo \"$PWD $KEPT\"").await,
            (String::from("/tmp a b\n"), End::Exited(0)),
            "{kind:?} {ruin}"
        );
        // What ends commands may have been killed with the rest.
        let spin = "kill -9 -1; echo partial; while :; do :; done";
        for text in ["echo partial; while :; do :; done", spin] {
            let limit = Duration::from_millis(400);
            let (captured, took) = timed(&subject, text, limit).await;
            assert_eq!(
                (captured.end, captured.head.as_slice()),
                (End::TimedOut, &b"partial\n"[..]),
                "{kind:?} {ruin}"
            );
            assert!(took < limit + GRACE, "{kind:?} {ruin}: {took:?}");
            if text == spin && next == Next::Last {
                let (said, end) = subject.ask("echo on").await;
                assert!(said.contains("No shell starts any more"), "{said}");
                assert!(matches!(end, End::Exited(126 | 127)), "{end:?}");
                break;
            }
            assert_eq!(
                subject.ask("echo \"$PWD $KEPT\"").await.0,
                "/tmp a b\n",
                "{kind:?} {ruin}"
            );
        }
        subject.remove().await;
    }
}

#[tokio::test]
async fn a_shell_that_says_nothing_is_waited_for_once() {
    let Some(subject) = Subject::start(BASE).await else {
        return;
    };
    subject.run(SILENT_BASH).await;
    let (captured, took) = timed(&subject, "exit 3", PATIENT).await;
    assert!(took < PATIENT + GRACE, "{took:?}");
    let note = captured.shell_note.unwrap();
    assert!(
        note.contains("does not start any more in this sandbox (it does not answer)"),
        "{note}"
    );
    let (captured, took) = timed(&subject, "exit 4", GRACE).await;
    assert_eq!(captured.end, End::ShellEnded(4));
    assert!(took < GRACE, "{took:?}");
    assert!(!subject.sleeps(1000).await);
    subject.remove().await;
}

#[tokio::test]
async fn no_command_waits_for_a_shell_beyond_its_deadline() {
    let Some(subject) = Subject::start(BASE).await else {
        return;
    };
    subject.run("cd /tmp; export KEPT='a b'").await;
    subject.run(SILENT_BASH).await;
    let limit = Duration::from_millis(300);
    let (captured, took) = timed(&subject, "echo said; exit 3", limit).await;
    assert!(took < limit + GRACE, "{took:?}");
    assert_eq!(captured.end, End::ShellEnded(3));
    assert_eq!(captured.head, b"said\n");
    let note = captured.shell_note.unwrap();
    assert!(note.contains("being restarted"), "{note}");
    // Nor does one that finds it so.
    let (captured, took) = timed(&subject, "echo never", limit).await;
    assert!(took < limit + GRACE, "{took:?}");
    assert_eq!((captured.end, captured.total), (End::TimedOut, 0));
    let note = captured.shell_note.unwrap();
    assert!(note.contains("was not run"), "{note}");
    // The restart went on meanwhile, and is told of.
    let captured = subject.run("echo \"$PWD $KEPT\"").await;
    assert_eq!(captured.head, b"/tmp a b\n");
    let note = captured.shell_note.unwrap();
    assert!(note.contains("(it does not answer)"), "{note}");
    assert_eq!(subject.run("echo on").await.shell_note, None);
    subject.remove().await;
}

#[tokio::test]
async fn a_cancelled_command_does_not_wait_for_the_next_shell() {
    let Some(subject) = Subject::start(BASE).await else {
        return;
    };
    subject.run(SILENT_BASH).await;
    let options = sandbox::RunOptions::default();
    let cancel = CancellationToken::new();
    let started = Instant::now();
    let run = subject.shell.run("exit 3", &options, &cancel);
    let cancelling = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        cancel.cancel();
    };
    let (captured, ()) = tokio::join!(run, cancelling);
    let took = started.elapsed();
    assert!(took < GRACE, "{took:?}");
    assert_eq!(captured.unwrap().end, End::ShellEnded(3));
    // What is closed starts nothing any more, and what is opened again is a shell.
    subject.shell.close().await;
    let mut said = subject.ask("echo on").await.0;
    // A busy engine may need longer than one command waits.
    while said.contains("The next command tries again") {
        said = subject.ask("echo on").await.0;
    }
    assert_eq!(said, "on\n");
    subject.remove().await;
}

/// Makes the shell that started everything unusable, and puts another in the place of the image's.
const OTHER_ENTRY: &str = "cp /bin/bash /opt/mine; printf '#!/opt/mine\\n: >/opt/entered; exec /opt/mine \"$@\"\\n' >/opt/sh; chmod 755 /opt/sh; \
     chmod 000 /bin/dash; mv -f /opt/sh /bin/sh";

#[tokio::test]
async fn who_works_inside_does_not_choose_the_shell_that_programs_are_started_by() {
    let Some(subject) = Subject::start(BASE).await else {
        return;
    };
    assert_eq!(subject.ask(OTHER_ENTRY).await.1, End::Exited(0));
    let launch = crate::docker_support::launch("echo in");
    let error = subject.place.open(&launch).await.map(|_| ()).unwrap_err();
    assert!(
        matches!(error, sandbox::Error::NotStarted { .. }),
        "{error:?}"
    );
    let (said, _) = subject.ask("ls /opt; /bin/sh -c :; ls /opt").await;
    assert_eq!(said, "mine\nentered\nmine\n");
    subject.remove().await;
}

/// Stops what ends commands from being opened again, then takes the command's own end away.
#[tokio::test]
async fn where_no_shell_starts_commands_say_so_and_files_can_still_be_reached() {
    let Some(subject) = Subject::start(BASE).await else {
        return;
    };
    subject.run(NO_LOADER).await;
    let spin = "kill -9 -1; echo partial; while :; do :; done";
    let limit = Duration::from_millis(400);
    let (captured, took) = timed(&subject, spin, limit).await;
    assert_eq!(captured.end, End::TimedOut);
    assert_eq!(captured.head, b"partial\n");
    assert!(took < limit + GRACE, "{took:?}");
    // What comes of it may take longer than this command had left, and no longer than another's.
    subject.run("echo ok").await;
    for _ in 0..2 {
        let (captured, took) = timed(&subject, "echo ok", limit).await;
        let said = String::from_utf8_lossy(&captured.head).into_owned();
        assert_eq!(captured.end, End::Exited(127), "{said}");
        assert!(said.contains("No shell starts any more"), "{said}");
        assert!(took < limit, "{took:?}");
    }
    // One whose container is gone is lost, as ever.
    crate::docker_support::docker(&["kill", &subject.place.id().0]);
    let never = CancellationToken::new();
    let options = sandbox::RunOptions::default();
    let lost = subject.shell.run("echo", &options, &never);
    let error = lost.await.unwrap_err();
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentLost);
    subject.remove().await;
}
