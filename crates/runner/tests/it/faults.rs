//! Faults that users of other graders reported, end to end. `docs/design/faults.md` lists all of them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Grades one patch; gives the instance's part of the report.
fn grade(fixture: &Fixture, patch: &str) -> Value {
    let id = fixture.id(0);
    let predictions = json!([{"instance_id": id, "model_name_or_path": "m", "model_patch": patch}]);
    fixture.place.write("preds.json", predictions.to_string());
    let said = fixture.place.run(&[
        "grade",
        "preds.json",
        "--dataset",
        "rows.jsonl",
        "--scratch",
        "scratch",
        "--sandbox",
        "local",
        "--out",
        "run",
    ]);
    assert_eq!(said.code, 0, "{}", said.all());
    let report = fs::read(fixture.file("report.json")).unwrap();
    let mut report: Value = serde_json::from_slice(&report).unwrap();
    report["instances"][0].take()
}

fn adding(path: &str, lines: &[&str]) -> String {
    let count = lines.len();
    let added = format!("+{}\n", lines.join("\n+"));
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{count} @@\n{added}"
    )
}

/// SWE-bench#215 and #635: a character that comes in two halves, and bytes that are no character at all.
#[test]
fn output_that_is_no_utf8_and_comes_in_halves_is_read() {
    let mut fixture = Fixture::new(1);
    let script = "mkfifo gate\nprintf 'ok 1 caf\\303'\n(exec >gate; :) &\nread -r _ <gate\nprintf '\\251\\nnoise \\377\\200\\nok 2 ke\\377ep\\nok 3 keep\\n'\n";
    fixture.change(0, "eval_script", json!(script));
    fixture.change(0, "FAIL_TO_PASS", json!(["café"]));
    let one = grade(&fixture, &adding("new.txt", &["x"]));
    assert_eq!(one["bucket"], "resolved", "{one}");
    let log = fixture.file(&format!(
        "instances/{}/s1-a1/grade-1/test_output.txt",
        fixture.id(0)
    ));
    let log = fs::read(log).unwrap();
    let kept = log.windows(11).any(|part| part == b"noise \xff\x80\nok");
    assert!(kept, "the log is kept as it came");
}

/// SWE-bench#601: what a patch prints is no result where the tests' own exit code says otherwise.
#[test]
fn results_that_a_patch_prints_are_not_believed_when_the_tests_fail() {
    let mut fixture = Fixture::new(1);
    let script = "if test -f print.sh; then . ./print.sh; fi\ngrep -q good value.txt\n";
    fixture.change(0, "eval_script", json!(script));
    let patch = adding("print.sh", &["echo 'ok 1 value'", "echo 'ok 2 keep'"]);
    let one = grade(&fixture, &patch);
    assert_ne!(one["bucket"], "resolved", "{one}");
    assert_eq!(one["official_resolved"], false, "{one}");
    let reason = one["reason"].as_str().unwrap();
    assert!(reason.contains("exit code 1"), "{reason}");
}

/// Multimodal's repair log: what a hung test printed is kept, its whole group is killed, and a row may have a time of its own.
#[test]
fn a_row_has_its_own_time_and_nothing_outlives_it() {
    let mut fixture = Fixture::new(1);
    let script = "echo 'ok 1 value'\n(trap '' TERM HUP; sleep 600) &\nsleep 600\n";
    fixture.change(0, "eval_script", json!(script));
    fixture.change(0, "eval_timeout", json!(1));
    let one = grade(&fixture, &adding("new.txt", &["x"]));
    assert_eq!(one["bucket"], "timeout", "{one}");
    assert!(one["reason"].as_str().unwrap().contains("time"), "{one}");
    fixture.assert_clean();
}

/// Every test that the list of faults names is there.
#[test]
fn the_list_of_faults_names_real_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let list = fs::read_to_string(root.join("docs/design/faults.md")).unwrap();
    let named = regex::Regex::new(r"`([GRSD]) (?:(src/\S+) |(\w+)::)(\w+)`").unwrap();
    let mut count = 0;
    for found in named.captures_iter(&list) {
        let name = match &found[1] {
            "G" => "grade",
            "R" => "runner",
            "S" => "sandbox",
            _ => "dataset",
        };
        let file = match (found.get(2), found.get(3)) {
            (Some(file), _) => file.as_str().to_owned(),
            (None, module) => format!("tests/it/{}.rs", module.unwrap().as_str()),
        };
        let path = root.join("crates").join(name).join(file);
        let text = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{}", path.display()));
        let test = format!("fn {}(", &found[4]);
        assert!(text.contains(&test), "{}: {test}", path.display());
        count += 1;
    }
    assert!(count > 40, "{count}");
}
