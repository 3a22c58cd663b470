//! Times our parsers; `scripts/bench/parsers.py` compares that with the official ones.
//!
//! `time_parsers WORK` reads and judges the logs of a list, one JSON object a line (`parser`, `log`, `fail_to_pass`, `pass_to_pass`), and prints the
//! seconds of each, as JSON: the median of some rounds over the whole list, in time of the processor. `time_parsers --big MEGABYTES` reads and judges one log of that size by
//! every parser, plain and with colours and carriage returns, and prints what each took.

#![expect(clippy::print_stdout, reason = "this is a program for people")]

use std::error::Error;
use std::fs;

use grade::{Context, Evidence, Expected, Parser, StatusMap, evaluate, log, parser, verdict};
use schema::grading::{EvalType, GradingSpec, Harness, PatchApplication};
use serde::Deserialize;

const ROUNDS: usize = 3;

/// Bytes that are read for one time: the system counts a thread's time in ticks, so a short log is read often.
const BYTES: usize = 20_000_000;

#[derive(Deserialize)]
struct Work {
    parser: String,
    log: String,
    fail_to_pass: Vec<String>,
    pass_to_pass: Vec<String>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &*arguments {
        [big, size] if big == "--big" => time_big(size.parse()?),
        [work] => time_logs(work),
        _ => Err("usage: time_parsers WORK | --big MEGABYTES".into()),
    }
}

fn time_logs(list: &str) -> Result<(), Box<dyn Error>> {
    let mut work = Vec::new();
    for line in fs::read_to_string(list)?.lines() {
        let one: Work = serde_json::from_str(line)?;
        work.push((parser(&one.parser)?, fs::read(&one.log)?, one));
    }
    let mut times = vec![Vec::new(); work.len()];
    for _ in 0..ROUNDS {
        for ((parser, bytes, one), times) in work.iter().zip(&mut times) {
            let repeats = 1 + BYTES / bytes.len().max(1);
            let started = ran()?;
            for _ in 0..repeats {
                judge(*parser, bytes, one);
            }
            times.push((ran()? - started) / f64::from(u32::try_from(repeats)?));
        }
    }
    let medians: Vec<f64> = times.into_iter().filter_map(median).collect();
    println!("{}", serde_json::to_string(&medians)?);
    Ok(())
}

/// Does what the official harness does with a log.
fn judge(parser: Parser, bytes: &[u8], one: &Work) {
    let parts = log::read_official(bytes);
    let parsed = parser(parts.official_whole(), &Context::default());
    let expected = Expected {
        fail_to_pass: &one.fail_to_pass,
        pass_to_pass: &one.pass_to_pass,
        eval_type: EvalType::PassAndFail,
        harness: Harness::V5,
    };
    std::hint::black_box(evaluate(&StatusMap::new(&parsed.official), &expected));
}

/// Seconds that this thread has run: what else a machine does is no matter.
fn ran() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(std::time::Duration::from_nanos(nanoseconds).as_secs_f64())
}

fn median(mut times: Vec<f64>) -> Option<f64> {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied()
}

/// Lines of many frameworks; every parser finds some results.
const LINES: &str = "Applied patch\nPASSED tests/test_core.py::Test::test_one[a-1]\ntests/test_core.py::test_two PASSED [ 10%]\n    a line of output that is no result of any test at all\nFAILED tests/test_core.py::test_three - AssertionError: 1 != 2\ntest_four (core.tests.CoreTests) ... ok\n      ✓ does what it says (12 ms)\n--- PASS: TestFive (0.00s)\ntest six::seven ... ok\nok 8 - the eighth\n+ mvn test -Dtest=NinthTest\n[INFO] BUILD SUCCESS\n[ OK ] Tenth.Case (0 ms)\nApp > eleventh PASSED\n ✔ starts up\n";

fn time_big(megabytes: usize) -> Result<(), Box<dyn Error>> {
    let bytes = megabytes * 1_000_000;
    let plain = LINES.repeat(bytes / LINES.len()).into_bytes();
    report("plain", &plain)?;
    drop(plain);
    let coloured = LINES
        .replace("PASSED", "\u{1b}[32mPASSED\u{1b}[0m")
        .replace('\n', "\r\n");
    report(
        "coloured",
        coloured.repeat(bytes / coloured.len()).as_bytes(),
    )
}

/// Prints a JSON object a line: seconds for a parser's map, as the official harness makes it, and for our whole verdict.
fn report(kind: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    for name in grade::parse::known() {
        let (results, map) = time_map(name, bytes)?;
        let verdict = time_verdict(name, bytes)?;
        let line = serde_json::json!({"log": kind, "parser": name, "results": results, "map": map, "verdict": verdict});
        println!("{line}");
    }
    Ok(())
}

fn time_map(name: &str, bytes: &[u8]) -> Result<(usize, f64), Box<dyn Error>> {
    let started = ran()?;
    let parts = log::read_official(bytes);
    let parsed = parser(name)?(parts.official_whole(), &Context::default());
    std::hint::black_box(StatusMap::new(&parsed.official));
    Ok((parsed.official.len(), ran()? - started))
}

fn time_verdict(name: &str, bytes: &[u8]) -> Result<f64, Box<dyn Error>> {
    let spec = GradingSpec {
        log_parser: name.to_owned(),
        fail_to_pass: vec!["tests/test_core.py::Test::test_one[a-1]".to_owned()],
        ..GradingSpec::default()
    };
    let started = ran()?;
    let parts = log::read_official(bytes);
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    std::hint::black_box(verdict(&spec, &evidence)?);
    Ok(ran()? - started)
}
