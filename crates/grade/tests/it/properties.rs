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

#[test]
fn hostile_logs_take_linear_time() {
    let started = Instant::now();
    let logs = [
        "PASSED a::[".repeat(100_000),
        format!("FAILED t.py::a[{}", " - ".repeat(200_000)),
        format!("ok 1 {}", "# ".repeat(200_000)),
        format!("ok 1 {}", "\\".repeat(200_000)),
        "# Subtest: x\n    ok 1 - y\n".repeat(100_000),
        "\u{1b}[".repeat(100_000),
        "\u{1b}]".repeat(100_000),
        ">>>>> Start Test Output".repeat(100_000),
        "ok 1 - a {\n".repeat(20_000),
    ];
    for log in &logs {
        let parts = log::read_official(log.as_bytes());
        for name in ["pytest", "tap"] {
            parser(name).unwrap()(parts.whole(), &Context::default());
        }
    }
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
}
