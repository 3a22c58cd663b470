//! Large datasets: what is not asked for is never held. `scripts/bench/rows.py` measures as many rows as the largest has.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};

use serde_json::json;

use crate::command::Said;
use crate::fixture::Fixture;

/// Few enough for a program that is not optimised.
const ROWS: usize = 2_000;

/// Bytes that each row has: all of them together do not fit into the bar beside the program.
const ROW: usize = 30_000;

/// Kilobytes of memory that the runner may have at most.
const BAR: u64 = 60_000;

/// Runs a program, and says on standard error how many kilobytes of memory it or its children had at most.
const MEASURED: &str = "
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
";

/// A dataset of one real row, and many others with long patches.
fn fixture() -> Fixture {
    let fixture = Fixture::new(1);
    let path = fixture.place.path().join("rows.jsonl");
    let first = fs::read_to_string(&path).unwrap();
    let mut file = BufWriter::new(File::create(&path).unwrap());
    file.write_all(first.as_bytes()).unwrap();
    let patch = "+ a line of a patch\n".repeat(ROW / 21);
    for number in 1..ROWS {
        let row = json!({
            "instance_id": format!("tiny__tiny-{number:05}"), "repo": "tiny/tiny", "base_commit": "0123456789abcdef0123456789abcdef01234567",
            "problem_statement": "It breaks.", "FAIL_TO_PASS": ["value"], "PASS_TO_PASS": [], "eval_script": "true", "log_parser": "tap", "patch": patch,
        });
        writeln!(file, "{row}").unwrap();
    }
    file.flush().unwrap();
    fixture
}

fn measured(fixture: &Fixture, arguments: &[&str]) -> (Said, u64) {
    let said = fixture
        .place
        .run_under(&["python3", "-c", MEASURED], arguments);
    let peak = said.err.rsplit_once("peak ").unwrap().1.trim();
    let peak = peak.parse().unwrap();
    (said, peak)
}

#[test]
fn what_is_not_asked_for_is_never_held() {
    let fixture = fixture();
    fixture.script(&["echo good > value.txt"]);
    let good = "diff --git a/value.txt b/value.txt\n--- a/value.txt\n+++ b/value.txt\n@@ -1 +1 @@\n-bad\n+good\n";
    let prediction =
        json!([{"instance_id": fixture.id(0), "model_name_or_path": "m", "model_patch": good}]);
    fixture.place.write("preds.json", prediction.to_string());
    let dataset = ["--dataset", "rows.jsonl"];
    let place = ["--scratch", "scratch", "--sandbox", "local", "--out"];
    let model = ["run", "--model", "script:script.jsonl"];
    for (arguments, told) in [
        (
            [&model[..], &place, &["dry", "--dry-run"]].concat(),
            "would make 2000 attempts",
        ),
        (
            [&model[..], &place, &["run", "--slice", "0:1"]].concat(),
            "1 completed",
        ),
        (
            [&["grade", "preds.json"][..], &place, &["graded"]].concat(),
            "1 resolved",
        ),
    ] {
        let arguments = [&arguments[..], &dataset].concat();
        let (said, peak) = measured(&fixture, &arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
        assert!(said.out.contains(told), "{arguments:?}: {:.500}", said.out);
        assert!(peak < BAR, "{arguments:?} had {peak} kB");
        println!("{}: {peak} kB", arguments[0]);
    }
}
