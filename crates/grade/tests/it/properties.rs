//! What holds for any log.

use std::time::{Duration, Instant};

use grade::{Context, log, parser};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_log_is_read(log in proptest::collection::vec(any::<u8>(), 0..300), nonce in "[a-z0-9]{1,8}") {
        let parts = log::read(&log, &nonce);
        prop_assert!(!parts.whole().contains('\r'));
        for name in grade::parse::known() {
            parser(name).unwrap()(parts.whole(), &Context::default());
        }
    }

    #[test]
    fn any_line_that_looks_like_a_result_is_read(lines in proptest::collection::vec("(PASSED|FAILED|XPASS|ok|not ok|\\[gw0\\]|    ok|  ---|  \\.\\.\\.|# Subtest:|\\}|1\\.\\.)[ 0-9]{0,3}[a\\[\\] :\\-#{(%\\\\äT]{0,12}", 0..20)) {
        let log = lines.join("\n");
        for name in grade::parse::known() {
            parser(name).unwrap()(&log, &Context::default());
        }
    }

    #[test]
    fn text_without_controls_stays_as_it_is(text in "[^\\x1b\\r]{0,100}") {
        prop_assert_eq!(log::clean(text.as_bytes()), text);
    }
}

/// Suites below suites, then tests that are below all of them.
fn deeper(levels: usize) -> String {
    let suites = (2..levels).map(|indent| format!("{}suite\n", " ".repeat(indent)));
    suites.collect::<String>() + &format!("{}✔ a\n", " ".repeat(levels)).repeat(1000)
}

#[test]
fn hostile_logs_take_linear_time() {
    let started = Instant::now();
    let logs = [
        "PASSED a::[".repeat(20_000),
        format!("FAILED t.py::a[{}", " - ".repeat(40_000)),
        format!("ok 1 {}", "# ".repeat(40_000)),
        format!("ok 1 {}", "\\".repeat(40_000)),
        "# Subtest: x\n    ok 1 - y\n".repeat(20_000),
        "\u{1b}[".repeat(20_000),
        "\u{1b}]".repeat(20_000),
        ">>>>> Start Test Output".repeat(20_000),
        "ok 1 - a {\n".repeat(5_000),
        "]".repeat(40_000) + " (x)",
        "[OK] ".repeat(10_000) + "x)",
        "a - failed: . = .F ".repeat(5_000),
        "(12ms) (1 s) in ".repeat(5_000),
        "  1) a\n".repeat(10_000),
        format!("Chrome 1.0 (x) {}", "FAILED ".repeat(10_000)),
        "<a><b></a>".repeat(5_000) + &"1) x ".repeat(5_000),
        " \n".repeat(20_000),
        format!("Starting browser\n{}", deeper(600)),
        format!(" ./node_modules/.bin/jest {}", deeper(600)),
        "-Dtest= BUILD SUCCESS\n".repeat(5_000),
        "<doctest>".to_owned() + &"<TestCase>".repeat(5_000),
        "test_a ... Internal Server Error: /a/\nok\n".repeat(5_000),
        "[smoke] /tmp/a/ ... \n".repeat(5_000),
        "___ x.py: ".repeat(5_000),
    ];
    let mut slowest = (Duration::ZERO, "", 0);
    for (at, log) in logs.iter().enumerate() {
        let parts = log::read_official(log.as_bytes());
        for name in grade::parse::known() {
            let started = Instant::now();
            parser(name).unwrap()(parts.official_whole(), &Context::default());
            slowest = slowest.max((started.elapsed(), name, at));
        }
    }
    println!("slowest: {slowest:?}, all: {:?}", started.elapsed());
    // What takes quadratic time here takes many times as long.
    assert!(slowest.0 < Duration::from_secs(10), "{slowest:?}");
}
