//! Reading takes time linear in a log's length, whatever is in it.
//!
//! Not how long reading takes is judged, but how much longer it takes to read a log once than to read a quarter of it four times, in time of this
//! thread alone: a busy machine changes neither. Logs are longer where the compiler optimises, as `make bench` builds these tests.

use grade::{Evidence, log, parser, verdict};
use schema::grading::{GradingSpec, PatchApplication};

use crate::properties::contexts;

/// Bytes of the shorter log.
const LENGTH: usize = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};

/// How many times as long the other log is.
const LONGER: usize = 4;

/// What takes linear time takes as long; what takes quadratic time takes four times as long.
const BAR: f64 = 2.0;

/// Times that are shorter, in nanoseconds, are noise: the system counts in ticks.
const NOISE: u64 = 20_000_000;

/// How often a measure that looks bad is taken again.
const TRIES: usize = 5;

/// Makes a log of about so many bytes.
type Make = fn(usize) -> String;

/// As many of a part as make about so many bytes.
fn many(part: &str, bytes: usize) -> String {
    part.repeat(bytes / part.len() + 1)
}

/// Suites below suites, then tests that are below all of them.
fn deeper(bytes: usize) -> String {
    let levels = usize::isqrt(bytes / 2);
    let suites = (2..levels).map(|indent| format!("{}suite\n", " ".repeat(indent)));
    let test = format!("{}✔ a\n", " ".repeat(levels));
    suites.collect::<String>() + &many(&test, bytes / 2)
}

/// What parsers may trip over.
const HOSTILE: &[(&str, Make)] = &[
    ("results", |n| many("PASSED a::b\nFAILED t.py::c - d\n", n)),
    ("open brackets", |n| many("PASSED a::[", n)),
    ("dashes", |n| format!("FAILED t.py::a[{}", many(" - ", n))),
    ("number signs", |n| format!("ok 1 {}", many("# ", n))),
    ("backslashes", |n| format!("ok 1 {}", many("\\", n))),
    ("subtests", |n| many("# Subtest: x\n    ok 1 - y\n", n)),
    ("half sequences", |n| many("\u{1b}[", n)),
    ("titles", |n| many("\u{1b}]", n)),
    ("start marks", |n| many(">>>>> Start Test Output", n)),
    ("exit codes", |n| many(">>>>> Test Exit Code: x\n", n)),
    ("braces", |n| many("ok 1 - a {\n", n)),
    ("closed brackets", |n| many("]", n) + " (x)"),
    ("times", |n| many("(12ms) (1 s) in ", n)),
    ("results in one line", |n| many("[OK] ", n) + "x)"),
    ("words in one line", |n| many("a - failed: . = .F ", n)),
    ("numbers", |n| many("  1) a\n", n)),
    ("failures of a browser", |n| {
        format!("Chrome 1.0 (x) {}", many("FAILED ", n))
    }),
    ("blocks", |n| {
        many("<a><b></a>", n / 2) + &many("1) x ", n / 2)
    }),
    ("blank lines", |n| many(" \n", n)),
    ("deep suites", |n| {
        format!("Starting browser\n{}", deeper(n))
    }),
    ("deep suites of jest", |n| {
        format!(" ./node_modules/.bin/jest {}", deeper(n))
    }),
    ("builds", |n| many("-Dtest= BUILD SUCCESS\n", n)),
    ("names, then builds", |n| {
        many("-Dtest=a\n", n / 2) + &many("BUILD SUCCESS\n", n / 2)
    }),
    ("open elements", |n| {
        "<doctest>".to_owned() + &many("<TestCase>", n)
    }),
    ("interrupted tests", |n| {
        many("test_a ... Internal Server Error: /a/\nok\n", n)
    }),
    ("unfinished tests", |n| {
        many("a ... Testing against Django installed in x\n", n) + " silenced).\nok"
    }),
    ("temporary paths", |n| many("[smoke] /tmp/a/ ... \n", n)),
    ("headings", |n| many("___ x.py: ", n)),
    ("JSON", |n| {
        let start = "./node_modules/.bin/mocha --reporter json\n{\"passes\": [";
        format!("{start}{}", many("{\"fullTitle\": \"a\"},", n))
    }),
];

/// Nanoseconds that this thread has run.
fn ran() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

fn time(work: impl FnOnce()) -> u64 {
    let before = ran();
    work();
    ran() - before
}

/// How many times as long the longer log takes as the shorter one so many times; `None` where that is next to nothing.
fn growth(work: impl Fn(&str), short: &str, long: &str) -> Option<f64> {
    let longer = time(|| work(long));
    if longer < NOISE {
        return None;
    }
    let shorter = time(|| (0..LONGER).for_each(|_| work(short))).max(1);
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds are few enough")]
    let growth = longer as f64 / shorter as f64;
    Some(growth)
}

/// What takes longer than linear time, if it does so every time.
fn too_slow(work: impl Fn(&str), short: &str, long: &str) -> Option<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        least = least.min(growth(&work, short, long)?);
        if least < BAR {
            return None;
        }
    }
    Some(least)
}

/// Parsers that are no other name for one before.
fn parsers() -> Vec<&'static str> {
    let mut seen = std::collections::HashSet::new();
    let different = |name: &&str| seen.insert(parser(name).unwrap() as usize);
    grade::parse::known()
        .into_iter()
        .filter(different)
        .collect()
}

/// Every `of`-th hostile log, from number `first`, in both lengths.
fn logs(first: usize, of: usize) -> impl Iterator<Item = (&'static str, String, String)> {
    HOSTILE
        .iter()
        .skip(first)
        .step_by(of)
        .map(|(name, make)| (*name, make(LENGTH), make(LENGTH * LONGER)))
}

fn check_parsers(first: usize, of: usize) {
    let mut slow = Vec::new();
    for (log, short, long) in logs(first, of) {
        for name in parsers() {
            for context in contexts(name) {
                let read = |text: &str| drop(parser(name).unwrap()(text, &context));
                if let Some(growth) = too_slow(read, &short, &long) {
                    slow.push(format!("{name} {context:?} on {log}: {growth:.1}"));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn parsers_take_linear_time_on_some_logs() {
    check_parsers(0, 2);
}

#[test]
fn parsers_take_linear_time_on_other_logs() {
    check_parsers(1, 2);
}

#[test]
fn taking_logs_apart_takes_linear_time() {
    for (log, short, long) in logs(0, 1) {
        for (name, read) in [
            (
                "read",
                (|text| drop(log::read(text.as_bytes(), "n"))) as fn(&str),
            ),
            ("read_official", |text| {
                drop(log::read_official(text.as_bytes()));
            }),
        ] {
            let growth = too_slow(read, &short, &long);
            assert_eq!(growth, None, "{name} on {log}");
        }
    }
}

/// Many results, and as many tests asked for: whole names, cut ones, missing ones.
#[test]
fn verdicts_take_linear_time() {
    for (kind, expected) in [
        ("cut", "t.py::a[x"),
        ("cut and missing", "t.py::z[["),
        ("whole", "t.py::a[x 1]"),
        ("missing", "t.py::b"),
    ] {
        for result in [
            "PASSED t.py::a[x {}]\n",
            "FAILED t.py::a[x {} - e\n",
            "PASSED t.py::a[x\n",
        ] {
            let growth = too_slow(
                |text| judge(text, expected),
                &numbered(result, LENGTH),
                &numbered(result, LENGTH * LONGER),
            );
            assert_eq!(growth, None, "{kind} {result}");
        }
    }
}

/// Results with different numbers.
fn numbered(result: &str, bytes: usize) -> String {
    let line = |number: usize| result.replace("{}", &number.to_string());
    let lines = (0..bytes / result.len()).map(line);
    format!(
        "{}\n{}{}\n",
        log::START,
        lines.collect::<String>(),
        log::END
    )
}

/// Judges a log with as many expected tests as it has lines.
fn judge(text: &str, expected: &str) {
    let parts = log::read_official(text.as_bytes());
    let spec = GradingSpec {
        log_parser: "pytest_v2".to_owned(),
        fail_to_pass: vec![expected.to_owned(); text.lines().count()],
        ..GradingSpec::default()
    };
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    verdict(&spec, &evidence).unwrap();
}
