//! Times our parsers: `time_parsers LOGS` reads and judges logs with official verdicts (see `scripts/bench/parsers.py`) and prints the seconds of
//! the median round; `time_parsers --big MEGABYTES` reads one log of that size, and says how long it took with each parser that it is one for.

#![expect(clippy::print_stdout, reason = "this is a program for people")]

use std::error::Error;
use std::fs;
use std::time::Instant;

use grade::official::TestsStatus;
use grade::{Context, Expected, Parser, StatusMap, evaluate, log, parser};
use schema::grading::{EvalType, Harness, TestTally};
use serde_json::Value;

const ROUNDS: usize = 5;

/// Repositories, by the owner, and their parsers.
const PARSERS: &[(&str, &str)] = &[
    ("astropy", "astropy"),
    ("django", "django"),
    ("matplotlib", "matplotlib"),
    ("mwaskom", "seaborn"),
    ("pallets", "flask"),
    ("psf", "requests"),
    ("pydata", "xarray"),
    ("pylint-dev", "pylint"),
    ("pytest-dev", "pytest"),
    ("scikit-learn", "scikit"),
    ("sphinx-doc", "sphinx"),
    ("sympy", "sympy"),
];

struct Work {
    parser: Parser,
    log: Vec<u8>,
    fail_to_pass: Vec<String>,
    pass_to_pass: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [big, size] if big == "--big" => time_big(size.parse()?),
        [logs] => time_logs(logs),
        _ => Err("usage: time_parsers LOGS | --big MEGABYTES".into()),
    }
}

fn time_logs(directory: &str) -> Result<(), Box<dyn Error>> {
    let mut work = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let owner = name.split("__").next().unwrap_or_default();
        let known = PARSERS.iter().find(|(known, _)| *known == owner);
        let reports: Value = serde_json::from_slice(&fs::read(path.join("report.json"))?)?;
        let report = reports
            .as_object()
            .and_then(|reports| reports.values().next());
        let tests = report.ok_or("an empty report")?["tests_status"].clone();
        let tests: TestsStatus = serde_json::from_value(tests)?;
        let both = |tally: &TestTally| [tally.success.clone(), tally.failure.clone()].concat();
        work.push(Work {
            parser: parser(known.ok_or("an unknown repository")?.1)?,
            log: fs::read(path.join("eval.log"))?,
            fail_to_pass: both(&tests.fail_to_pass),
            pass_to_pass: both(&tests.pass_to_pass),
        });
    }
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for work in &work {
            let parts = log::read_official(&work.log);
            let parsed = (work.parser)(parts.official_whole(), &Context::default());
            let expected = Expected {
                fail_to_pass: &work.fail_to_pass,
                pass_to_pass: &work.pass_to_pass,
                eval_type: EvalType::PassAndFail,
                harness: Harness::V5,
            };
            std::hint::black_box(evaluate(&StatusMap::new(&parsed.official), &expected));
        }
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("{}", times.get(ROUNDS / 2).ok_or("no rounds")?);
    Ok(())
}

fn time_big(megabytes: usize) -> Result<(), Box<dyn Error>> {
    let lines = "Applied patch\nPASSED tests/test_core.py::Test::test_one[a-1]\ntests/test_core.py::test_two PASSED [ 10%]\n    a line of output that is no result of any test at all\nFAILED tests/test_core.py::test_three - AssertionError: 1 != 2\ntest_four (core.tests.CoreTests) ... ok\n      ✓ does what it says (12 ms)\n--- PASS: TestFive (0.00s)\ntest six::seven ... ok\nok 8 - the eighth\n+ mvn test -Dtest=NinthTest\n[INFO] BUILD SUCCESS\n[ OK ] Tenth.Case (0 ms)\nApp > eleventh PASSED\n ✔ starts up\n";
    let bytes = lines
        .repeat(megabytes * 1_000_000 / lines.len())
        .into_bytes();
    for name in [
        "pytest",
        "pytest_v2",
        "django",
        "sympy",
        "jest",
        "gotest",
        "cargo",
        "tap",
        "maven",
        "gradle_custom",
        "googletest",
        "vitest",
        "phpunit",
        "swe_smith",
        "swe_bench_pro_go_json",
    ] {
        let started = Instant::now();
        let parts = log::read_official(&bytes);
        let parsed = parser(name)?(parts.official_whole(), &Context::default());
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{name:24} {seconds:.2} s, {} results",
            parsed.official.len()
        );
    }
    Ok(())
}
