//! Real logs with the official harness's verdicts, where they lie beside the checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use grade::{Context, Evidence, Reading, log, official, official::TestsStatus, parser, verdict};
use schema::grading::{
    EvalType, GradingSpec, Harness, LogShape, PatchApplication, TestTally, Verdict,
};
use schema::instance::InstanceId;
use serde_json::Value;

/// A log, and what the official harness made of it.
struct Pair {
    told: testkit::Pair,
    log: Vec<u8>,
    /// The map of each generation, where there is one.
    maps: Vec<(Harness, BTreeMap<String, String>)>,
}

impl Pair {
    fn read(told: testkit::Pair) -> Self {
        // SWE-smith has one map, whatever the generation.
        let names = if told.smith {
            ["status-map.json"; 2]
        } else {
            ["status-map.4.1.0.json", "status-map.5.0.2.json"]
        };
        let harnesses = [Harness::V4, Harness::V5].into_iter();
        let maps = harnesses.zip(names).filter_map(|(harness, name)| {
            let text = fs::read(told.directory.join(name)).ok()?;
            Some((harness, serde_json::from_slice(&text).unwrap()))
        });
        Self {
            maps: maps.collect(),
            log: fs::read(&told.log).unwrap(),
            told,
        }
    }

    fn tests_status(&self) -> TestsStatus {
        serde_json::from_value(self.told.report["tests_status"].clone()).unwrap()
    }

    /// The verdict on the log, the tests expected that the report knows.
    fn judge(&self, harness: Harness) -> Verdict {
        let status = self.tests_status();
        let expected = |tally: &TestTally| [tally.success.clone(), tally.failure.clone()].concat();
        let spec = GradingSpec {
            log_parser: self.told.parser.clone(),
            fail_to_pass: expected(&status.fail_to_pass),
            pass_to_pass: expected(&status.pass_to_pass),
            eval_type: EvalType::PassAndFail,
            harness,
            ..GradingSpec::default()
        };
        let parts = log::read_official(&self.log);
        let evidence = Evidence {
            application: PatchApplication::Applied,
            log: Some(&parts),
            timed_out: false,
            exit_code: None,
        };
        verdict(&spec, &evidence).unwrap()
    }
}

fn pairs(directory: &Path) -> Vec<Pair> {
    let pairs = testkit::pairs(directory).into_iter();
    let pairs: Vec<Pair> = pairs.map(Pair::read).collect();
    assert!(!pairs.is_empty(), "{}", directory.display());
    pairs
}

/// The last word on each test.
fn map(pair: &Pair, harness: Harness) -> BTreeMap<String, String> {
    let context = Context {
        harness,
        ..Context::default()
    };
    let parts = log::read_official(&pair.log);
    let reading = Reading::new(&parts, parser(&pair.told.parser).unwrap(), &context);
    let map = reading.map();
    map.iter()
        .map(|(name, word)| (name.to_owned(), word.to_string()))
        .collect()
}

#[test]
fn logs_are_read_as_the_official_parsers_read_them() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let mut tests = 0;
    for pair in pairs(&directory) {
        for (harness, theirs) in &pair.maps {
            let ours = map(&pair, *harness);
            pretty_assertions::assert_eq!(&ours, theirs, "{} {harness:?}", pair.told.name);
            tests += theirs.len();
        }
    }
    println!("{tests} tests agree");
    assert!(tests > 0);
}

#[test]
fn verdicts_are_the_official_ones() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    for pair in pairs(&directory) {
        let expected = pair.tests_status();
        for harness in [Harness::V4, Harness::V5] {
            let name = format!("{} {harness:?}", pair.told.name);
            let verdict = pair.judge(harness);
            let marked = pair.told.smith;
            let shape = if marked {
                LogShape::Marked
            } else {
                LogShape::Unmarked
            };
            assert_eq!(verdict.log_shape, shape, "{name}");
            assert_eq!(
                verdict.official.fail_to_pass, expected.fail_to_pass,
                "{name}"
            );
            assert_eq!(
                verdict.official.pass_to_pass, expected.pass_to_pass,
                "{name}"
            );
            assert_eq!(
                Some(verdict.official_resolved),
                pair.told.report["resolved"].as_bool(),
                "{name}"
            );
            assert_eq!(verdict.tamper_reason, None, "{name}");
            assert_eq!(verdict.resolved, verdict.official_resolved, "{name}");
            let report = official::report(&official::Graded {
                id: &InstanceId::new("i"),
                patch_exists: true,
                verdict: &verdict,
                signature: None,
            });
            assert_eq!(report["i"].tests_status.as_ref(), Some(&expected), "{name}");
        }
    }
}

/// What SWE-smith's own validation makes of the logs with the bug and without it.
#[test]
fn logs_of_a_validation_give_the_lists_of_its_report() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let folder = directory.join("eval-logs/v2-swesmith/validation-pandas-pr_53652");
    let read = |name: &str| {
        let parts = log::read_official(&fs::read(folder.join(name)).unwrap());
        let reading = Reading::new(&parts, parser("swe_smith").unwrap(), &Context::default());
        let passed = |word: &grade::Word<'_>| word.to_string() == "PASSED";
        let tests = reading.map();
        tests
            .iter()
            .map(|(name, word)| (name.to_owned(), passed(word)))
            .collect::<BTreeMap<String, bool>>()
    };
    // There the patch brings the bug in: what is called gold is the state with it.
    let (before, after) = (read("test_output.txt"), read("test_output_pre_gold.txt"));
    let report: Value =
        serde_json::from_slice(&fs::read(folder.join("report.json")).unwrap()).unwrap();
    for (list, passed_before) in [("FAIL_TO_PASS", false), ("PASS_TO_PASS", true)] {
        let mut expected: Vec<String> = serde_json::from_value(report[list].clone()).unwrap();
        expected.sort();
        let passes = after.iter().filter(|(_, passed)| **passed);
        let ours: Vec<&String> = passes
            .filter(|(name, _)| before.get(*name).copied().unwrap_or(false) == passed_before)
            .map(|(name, _)| name)
            .collect();
        assert!(!ours.is_empty());
        pretty_assertions::assert_eq!(ours, expected.iter().collect::<Vec<_>>(), "{list}");
    }
}

/// Logs of SWE-smith that have no report: every test that the framework's own lines show is found.
#[test]
fn logs_without_a_report_are_read_whole() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let folder = directory.join("eval-logs/v2-swesmith/log-only");
    for (name, parser_name, result) in [
        (
            "gin-gonic__gin.3c12d2a8.lm_rewrite__4pb48n1g.txt",
            "gotest",
            r"^\s*--- (PASS|FAIL|SKIP): (\S+) \(",
        ),
        (
            "django-money__django-money.835c1ab8.combine_file__7znr0kum.txt",
            "swe_smith",
            r"^\S+::\S+\s+(PASSED|FAILED|ERROR|SKIPPED|XFAIL) ",
        ),
    ] {
        let text = fs::read(folder.join(name)).unwrap();
        let parts = log::read_official(&text);
        let reading = Reading::new(&parts, parser(parser_name).unwrap(), &Context::default());
        let result = regex::Regex::new(result).unwrap();
        let shown = String::from_utf8_lossy(&text);
        let lines = shown.lines().filter(|line| result.is_match(line)).count();
        assert!(lines > 100, "{name}");
        assert_eq!(reading.official().len(), lines, "{name}");
    }
}

#[test]
fn go_logs_of_pro_are_read_as_their_own_parser_reads_them() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let folder = directory.join("eval-logs/pro");
    let log = fs::read_to_string(folder.join("teleport-gotest-stdout.log")).unwrap();
    let told = fs::read_to_string(folder.join("teleport-gotest-output.json")).unwrap();
    let read = |name, text| -> Vec<(String, String)> {
        let parsed = parser(name).unwrap()(text, &Context::default());
        let tests = parsed.official.iter();
        tests
            .map(|test| (test.name.to_string(), test.word.to_string()))
            .collect()
    };
    let theirs = read("swe_bench_pro", &told);
    assert!(!theirs.is_empty());
    pretty_assertions::assert_eq!(read("swe_bench_pro_go_json", &log), theirs);
}

/// Every evaluation script of a real row stays a script that bash can read, with its marks where they were.
#[test]
fn real_scripts_are_wrapped() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let mut scripts = 0;
    for entry in fs::read_dir(directory.join("instances/multimodal-v5")).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        let row: Value = serde_json::from_slice(&text).unwrap();
        let spec = GradingSpec {
            eval_script: row["eval_script"].as_str().unwrap().to_owned(),
            log_parser: "tap".to_owned(),
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
