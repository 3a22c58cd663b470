//! Commands that break naive shells: each gives the right output and status in time, and the next one works, in every kind of place.

use std::time::{Duration, Instant};

use sandbox::End;

use crate::shells::{Kind, Subject, kinds};
use crate::support::unique_seconds;

/// What an ended command may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(2);

/// Command, output, end.
type Row = (&'static str, &'static [u8], End);

const OK: End = End::Exited(0);

/// In this order: what one row leaves, the next may find.
fn table() -> Vec<Row> {
    [
        words(),
        ends(),
        options_and_names(),
        traps(),
        streams(),
        state(),
    ]
    .concat()
}

fn words() -> Vec<Row> {
    vec![
        ("printf '\\377\\000\\201\\210x'", b"\xff\x00\x81\x88x", OK),
        ("printf nonl", b"nonl", OK),
        ("cat", b"", OK),
        ("read x; echo r$?", b"r1\n", OK),
        ("echo o; echo e >&2; echo o2", b"o\ne\no2\n", OK),
        (
            "echo \u{1e}deadbeef end 1 0\u{1e}",
            b"\x1edeadbeef end 1 0\x1e\n",
            OK,
        ),
        ("cat <<E\nhere\nE", b"here\n", OK),
        ("cat <<'E'\n$x `y`\nE", b"$x `y`\n", OK),
    ]
}

fn ends() -> Vec<Row> {
    vec![
        ("exit 3", b"", End::ShellEnded(3)),
        ("echo before; exit", b"before\n", End::ShellEnded(0)),
        // What the worker itself says to its keeper.
        ("exit 98", b"", End::ShellEnded(98)),
        ("exit 99", b"", End::ShellEnded(99)),
        ("exec true", b"", End::ShellEnded(0)),
        ("exec echo replaced", b"replaced\n", End::ShellEnded(0)),
        ("kill -9 $$", b"", End::ShellEnded(137)),
        ("kill 0", b"", End::ShellEnded(143)),
        ("kill -9 0", b"", End::ShellEnded(137)),
        ("break", b"", End::ShellEnded(0)),
        ("continue 3", b"", OK),
        ("false", b"", End::Exited(1)),
        ("(exit 7)", b"", End::Exited(7)),
    ]
}

fn options_and_names() -> Vec<Row> {
    vec![
        ("set -e", b"", OK),
        ("false; echo e", b"e\n", OK),
        ("set -e; false; echo no", b"", End::ShellEnded(1)),
        ("set -u; set -f; set -C", b"", OK),
        ("echo [$nope]", b"[]\n", OK),
        ("set -x", b"", OK),
        ("echo traced", b"traced\n", OK),
        // How many signs stand before a trace is each shell's own matter.
        (
            "PS4=; set -x; echo t; echo u",
            b"echo t\nt\necho u\nu\n",
            OK,
        ),
        ("echo untraced; unset PS4", b"untraced\n", OK),
        (
            "if [ \"$BASH_VERSION\" ]; then shopt -s expand_aliases; fi; alias echo='echo al' printf=false read=false export=false exec=false",
            b"",
            OK,
        ),
        ("echo x", b"al x\n", OK),
        ("unalias -a", b"", OK),
        ("echo unaliased", b"unaliased\n", OK),
        (
            "echo() { printf 'mine\\n'; }; cd() { false; }; test() { false; }",
            b"",
            OK,
        ),
        ("echo x", b"mine\n", OK),
        ("unset -f echo cd test", b"", OK),
        ("printf() { false; }; read() { false; }", b"", OK),
        ("echo y; printf z || unset -f printf read", b"y\n", OK),
        // Other shells than bash have no functions of these names.
        (
            "if [ \"$BASH_VERSION\" ]; then eval '[() { false; }; eval() { :; }; exit() { :; }; export() { :; }; set() { :; }; builtin() { :; }'; fi",
            b"",
            OK,
        ),
        ("echo w", b"w\n", OK),
        (
            "if test \"$BASH_VERSION\"; then unset -f [ eval exit export set; fi; (exit 5)",
            b"",
            End::Exited(5),
        ),
    ]
}

fn traps() -> Vec<Row> {
    vec![
        ("trap 'echo T' EXIT", b"", OK),
        ("echo after-trap", b"after-trap\n", OK),
        ("trap - EXIT", b"", OK),
        (
            "trap 'echo T; echo E >&2' EXIT; exit 3",
            b"T\nE\n",
            End::ShellEnded(3),
        ),
        ("trap 'echo T; echo E >&2' EXIT", b"", OK),
        ("set -e; false", b"T\nE\n", End::ShellEnded(1)),
        ("exit 5", b"", End::ShellEnded(5)),
        // Bash alone has these two.
        (
            "if [ \"$BASH_VERSION\" ]; then trap 'echo E' ERR; false; trap - ERR; else echo E; fi",
            b"E\n",
            OK,
        ),
        (
            "if [ \"$BASH_VERSION\" ]; then trap 'echo D' DEBUG; echo x; trap - DEBUG; else echo D; echo x; echo D; fi",
            b"D\nx\nD\n",
            OK,
        ),
        (
            "if [ \"$BASH_VERSION\" ]; then trap : ERR DEBUG; fi; (exit 6)",
            b"",
            End::Exited(6),
        ),
        ("echo trapped", b"trapped\n", OK),
        (
            "if [ \"$BASH_VERSION\" ]; then trap - ERR DEBUG; fi",
            b"",
            OK,
        ),
    ]
}

fn streams() -> Vec<Row> {
    vec![
        ("exec >/dev/null 2>&1", b"", OK),
        ("echo back", b"back\n", OK),
        ("exec 1>&-", b"", OK),
        ("echo back2", b"back2\n", OK),
        // Bash alone lets a function have this name.
        (
            "if [ \"$BASH_VERSION\" ]; then eval 'exec() { false; }'; fi",
            b"",
            OK,
        ),
        ("echo function", b"function\n", OK),
        ("exec 8<&- 9>&-; echo own", b"own\n", OK),
        ("echo back3", b"back3\n", OK),
        ("sleep 30 & echo bg", b"bg\n", OK),
        ("(sleep 30 &); echo bg2", b"bg2\n", OK),
        ("setsid sleep 30 & echo bg3", b"bg3\n", OK),
    ]
}

fn state() -> Vec<Row> {
    vec![
        ("readonly _pm_c=1; echo ro", b"ro\n", OK),
        ("echo z", b"z\n", OK),
        ("unset PWD OLDPWD; echo p", b"p\n", OK),
        // The shell's own state file hits the limit: SIGXFSZ.
        ("ulimit -f 0; echo u", b"u\n", End::ShellEnded(153)),
        ("echo z", b"z\n", OK),
        ("trap '' TERM; sh -c 'kill $$; echo deaf'", b"deaf\n", OK),
        (
            "trap - TERM; (sh -c 'kill $$; echo deaf'; echo $?) 2>/dev/null",
            b"143\n",
            OK,
        ),
        ("IFS=x; set -- a b; echo \"$*\"", b"axb\n", OK),
        ("echo after IFS", b"after IFS\n", OK),
        ("PATH=/nowhere; echo path", b"path\n", OK),
        ("exit 4", b"", End::ShellEnded(4)),
        ("echo after PATH", b"after PATH\n", OK),
    ]
}

async fn check(subject: &Subject, (command, output, end): Row) {
    let before = Instant::now();
    let captured = subject.run_for(command, Duration::from_secs(3)).await;
    let took = before.elapsed();
    assert!(
        took < Duration::from_secs(3) + GRACE,
        "{:?} {command:?} took {took:?}",
        subject.kind
    );
    let said = captured.head.escape_ascii().to_string();
    assert_eq!(
        (said, captured.end),
        (output.escape_ascii().to_string(), end),
        "{:?} {command:?} {:?}",
        subject.kind,
        captured.shell_note
    );
}

/// Runs a test in a place of each kind, all at the same time.
async fn everywhere_at_once(test: impl AsyncFn(&Subject)) {
    let tests = kinds().await.into_iter().map(async |kind| {
        if let Some(subject) = Subject::start(kind).await {
            test(&subject).await;
            subject.remove().await;
        }
    });
    futures_util::future::join_all(tests).await;
}

#[tokio::test]
async fn every_row_is_answered_and_the_next_works() {
    everywhere_at_once(async |subject| {
        for row in table() {
            check(subject, row).await;
        }
    })
    .await;
}

#[tokio::test]
async fn text_that_is_no_complete_command_is_reported_and_forgotten() {
    everywhere_at_once(async |subject| {
        let kind = subject.kind;
        for text in [
            "echo \"unbalanced",
            "if true; then",
            "cat <<E\nhi",
            ")",
            "for",
        ] {
            let captured = subject.run(text).await;
            assert!(
                matches!(captured.end, End::Exited(_)),
                "{kind:?} {text}: {:?}",
                captured.end
            );
            assert_eq!(subject.ask("echo ok").await.0, "ok\n", "{kind:?} {text}");
        }
    })
    .await;
}

#[tokio::test]
async fn stubborn_commands_end_in_time_with_their_output_and_leave_nothing() {
    everywhere_at_once(async |subject| {
        let kind = subject.kind;
        let n = unique_seconds();
        subject.run(":").await;
        let mut table = vec![
            format!("echo partial; sleep {n}"),
            format!("echo partial; trap '' TERM INT HUP; sleep {n}"),
            format!("echo partial; setsid sleep {n} & sleep {n}"),
            format!(
                "echo partial; (setsid sh -c \"trap '' TERM HUP INT; while :; do sleep {n}; done\" &) ; while :; do :; done"
            ),
            format!("echo partial; nohup setsid sh -c '(sleep {n} &)'; exec sleep {n}"),
            format!("echo partial; sleep {n} | cat | cat"),
            format!("echo partial; while :; do sleep {n} & sleep 0.01; done"),
        ];
        if kind != Kind::Docker("busybox") {
            table.push(format!(
                "echo partial; python3 -c 'import os,time\nfor i in range(20):\n  if os.fork()==0:\n    os.setsid()\n    os.execvp(\"sleep\",[\"sleep\",\"{n}\"])\ntime.sleep({n})'"
            ));
        }
        for command in table {
            let limit = Duration::from_millis(400);
            let before = Instant::now();
            let captured = subject.run_for(&command, limit).await;
            let took = before.elapsed();
            assert_eq!(captured.end, End::TimedOut, "{kind:?} {command}");
            assert!(took < limit + GRACE, "{kind:?} {command} took {took:?}");
            assert!(
                captured.head.starts_with(b"partial\n"),
                "{kind:?} {command}: {:?}",
                captured.head.escape_ascii().to_string()
            );
            assert!(!subject.sleeps(n).await, "{kind:?} {command}");
            assert!(captured.shell_note.unwrap().contains("Kept"), "{kind:?}");
            assert_eq!(subject.ask("echo ok").await.0, "ok\n");
        }
    })
    .await;
}

#[tokio::test]
async fn daemons_delay_nothing_and_survive_the_end_of_a_later_command() {
    everywhere_at_once(async |subject| {
        let kind = subject.kind;
        let n = unique_seconds();
        let before = Instant::now();
        let (output, end) = subject
            .ask(&format!(
                "(sleep 2; echo late; sleep {n}) & sleep {n} & echo now"
            ))
            .await;
        assert_eq!((output.as_str(), end), ("now\n", OK));
        assert!(before.elapsed() < Duration::from_millis(1900), "{kind:?}");
        let (output, end) = subject.ask("sleep 2.5; echo next").await;
        assert!(output.ends_with("next\n"), "{kind:?} {output}");
        assert_eq!(end, OK);
        let captured = subject
            .run_for("sleep 100", Duration::from_millis(100))
            .await;
        assert_eq!(captured.end, End::TimedOut);
        assert!(subject.sleeps(n).await, "{kind:?}");
        assert_eq!(subject.ask("echo ok").await.0, "ok\n");
    })
    .await;
}

/// Written to a pipe that does not block, a long output breaks off.
#[tokio::test]
async fn long_commands_and_children_that_do_not_block_lose_nothing() {
    everywhere_at_once(async |subject| {
        let kind = subject.kind;
        let words = "é'\"'\"'$`\\".repeat(20_000);
        let one_line = format!("x='{words}'; echo ${{#x}}");
        // Some shells count characters, others bytes.
        let (length, end) = subject.ask(&one_line).await;
        assert_eq!(end, OK, "{kind:?}");
        assert!(["100000\n", "120000\n"].contains(&&*length), "{kind:?} {length}");
        let lines = "n=$((n+1))\n".repeat(10_000);
        let many_lines = format!("n=0\n{lines}echo $n");
        assert_eq!(subject.ask(&many_lines).await, (String::from("10000\n"), OK));

        let set = "python3 -c 'import fcntl; fcntl.fcntl(1, 4, 2049)' || perl -MFcntl -e 'fcntl(STDOUT, F_SETFL, O_WRONLY | O_NONBLOCK)'";
        let (said, end) = subject.ask(set).await;
        // Busybox has no program for it.
        assert_eq!(end == OK, kind != Kind::Docker("busybox"), "{kind:?} {said}");
        let captured = subject.run("head -c 5000000 /dev/zero").await;
        assert_eq!((captured.total, captured.end), (5_000_000, OK), "{kind:?}");
    })
    .await;
}
