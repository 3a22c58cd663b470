//! Real logs with the official harness's verdicts, where they lie beside the checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grade::{Evidence, Parsed, log, official::TestsStatus, parser, verdict};
use schema::grading::{EvalType, GradingSpec, PatchApplication, TestStatus};
use serde_json::Value;

/// Projects whose official parser is the plain one for pytest.
const PYTEST: &[&str] = &["pallets__flask", "pydata__xarray", "pytest-dev__pytest"];

fn directory() -> Option<PathBuf> {
    let directory = std::env::var_os("PATCHMILL_CONFORMANCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"),
        PathBuf::from,
    );
    if directory.is_dir() {
        return Some(directory);
    }
    eprintln!("SKIPPED: no conformance data at {}", directory.display());
    None
}

/// Directories of instances that the plain pytest parser is for.
fn instances(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("eval-logs/v1-gold")).unwrap();
    let mut instances: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            PYTEST.iter().any(|project| name.starts_with(project))
        })
        .collect();
    instances.sort();
    instances
}

/// The statuses that count officially: the last of each name.
fn official(parsed: &Parsed) -> BTreeMap<String, TestStatus> {
    let results = parsed.official.iter();
    results
        .map(|test| (test.name.clone(), test.status))
        .collect()
}

/// An official status map, without the words in it that are no status (`ERROR:` of other programs).
fn status_map(path: &Path) -> BTreeMap<String, TestStatus> {
    let map: BTreeMap<String, Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    map.into_iter()
        .filter_map(|(name, status)| Some((name, serde_json::from_value(status).ok()?)))
        .collect()
}

#[test]
fn logs_are_read_as_the_official_parser_reads_them() {
    let Some(directory) = directory() else { return };
    let mut tests = 0;
    for instance in instances(&directory) {
        let parts = log::read_official(&fs::read(instance.join("eval.log")).unwrap());
        let ours = official(&parser("pytest").unwrap()(&parts.whole));
        let theirs = status_map(&instance.join("status-map.5.0.2.json"));
        pretty_assertions::assert_eq!(ours, theirs, "{}", instance.display());
        tests += theirs.len();
    }
    println!("{tests} tests agree");
    assert!(tests > 0);
}

#[test]
fn verdicts_are_the_official_ones() {
    let Some(directory) = directory() else { return };
    for instance in instances(&directory) {
        let report: BTreeMap<String, Value> =
            serde_json::from_slice(&fs::read(instance.join("report.json")).unwrap()).unwrap();
        let report = report.into_values().next().unwrap();
        let status: TestsStatus = serde_json::from_value(report["tests_status"].clone()).unwrap();
        let expected = |tally: &schema::grading::TestTally| {
            [tally.success.clone(), tally.failure.clone()].concat()
        };
        let spec = GradingSpec {
            eval_script: String::new(),
            log_parser: "parse_log_pytest".to_owned(),
            test_patch: None,
            fail_to_pass: expected(&status.fail_to_pass),
            pass_to_pass: expected(&status.pass_to_pass),
            eval_type: EvalType::PassAndFail,
            timeout_seconds: None,
            ..GradingSpec::default()
        };
        let parts = log::read_official(&fs::read(instance.join("eval.log")).unwrap());
        let evidence = Evidence {
            application: PatchApplication::Applied,
            log: Some(&parts),
            timed_out: false,
            exit_code: None,
        };
        let verdict = verdict(&spec, &evidence).unwrap();
        let name = instance.display();
        assert_eq!(verdict.fail_to_pass, status.fail_to_pass, "{name}");
        assert_eq!(verdict.pass_to_pass, status.pass_to_pass, "{name}");
        assert_eq!(
            Some(verdict.official_resolved),
            report["resolved"].as_bool(),
            "{name}"
        );
        assert_eq!(verdict.tamper_reason, None, "{name}");
        assert_eq!(verdict.resolved, verdict.official_resolved, "{name}");
    }
}

/// Every evaluation script of a real row stays a script that bash can read, with its marks where they were.
#[test]
fn real_scripts_are_wrapped() {
    let Some(directory) = directory() else { return };
    let mut scripts = 0;
    for entry in fs::read_dir(directory.join("instances/multimodal-v5")).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        let row: Value = serde_json::from_slice(&text).unwrap();
        let spec = GradingSpec {
            eval_script: row["eval_script"].as_str().unwrap().to_owned(),
            log_parser: "tap".to_owned(),
            test_patch: None,
            fail_to_pass: Vec::new(),
            pass_to_pass: Vec::new(),
            eval_type: EvalType::PassAndFail,
            timeout_seconds: None,
            ..GradingSpec::default()
        };
        let wrapped = grade::wrap(&spec, "n0nce");
        assert_eq!(wrapped.matches("Start Test Output n0nce").count(), 1);
        assert_eq!(wrapped.matches("End Test Output n0nce").count(), 1);
        let checked = std::process::Command::new("bash")
            .args(["-n", "-c", &wrapped])
            .output()
            .unwrap();
        assert!(checked.status.success(), "{checked:?}");
        scripts += 1;
    }
    assert!(scripts > 0);
}
