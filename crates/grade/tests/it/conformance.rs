//! Real logs with the official harness's verdicts, where they lie beside the checkout.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use grade::{Context, Evidence, Reading, log, official, official::TestsStatus, parser, verdict};
use schema::grading::{
    EvalType, GradingSpec, Harness, LogShape, PatchApplication, TestTally, Verdict,
};
use schema::instance::InstanceId;
use serde_json::Value;

/// The parser of each project's logs.
const PARSERS: &[(&str, &str)] = &[
    ("astropy__", "astropy"),
    ("django__", "django"),
    ("matplotlib__", "matplotlib"),
    ("mwaskom__", "seaborn"),
    ("pallets__", "flask"),
    ("psf__", "requests"),
    ("pydata__", "xarray"),
    ("pylint-dev__", "pylint"),
    ("pytest-dev__", "pytest"),
    ("scikit-learn__", "scikit"),
    ("sphinx-doc__", "sphinx"),
    ("sympy__", "sympy"),
];

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

/// A log, and what the official harness made of it.
struct Pair {
    name: String,
    parser: &'static str,
    log: Vec<u8>,
    /// The report of the instance.
    report: Value,
    /// The map of each generation.
    maps: Vec<(Harness, BTreeMap<String, String>)>,
}

impl Pair {
    fn read(directory: &Path, parser: &'static str, maps: &[(Harness, &str)]) -> Self {
        let log = ["eval.log", "test_output.txt"]
            .into_iter()
            .find_map(|name| fs::read(directory.join(name)).ok())
            .unwrap();
        let report: Value =
            serde_json::from_slice(&fs::read(directory.join("report.json")).unwrap()).unwrap();
        let maps = maps.iter().filter_map(|(harness, name)| {
            let text = fs::read(directory.join(name)).ok()?;
            Some((*harness, serde_json::from_slice(&text).unwrap()))
        });
        Self {
            name: directory
                .file_name()
                .unwrap()
                .to_string_lossy()
                .into_owned(),
            parser,
            log,
            maps: maps.collect(),
            report: match report.get("resolved") {
                Some(_) => report,
                None => report.as_object().unwrap().values().next().unwrap().clone(),
            },
        }
    }

    fn tests_status(&self) -> TestsStatus {
        serde_json::from_value(self.report["tests_status"].clone()).unwrap()
    }

    /// The verdict on the log, the tests expected that the report knows.
    fn judge(&self, harness: Harness) -> Verdict {
        let status = self.tests_status();
        let expected = |tally: &TestTally| [tally.success.clone(), tally.failure.clone()].concat();
        let spec = GradingSpec {
            log_parser: self.parser.to_owned(),
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

/// Directories below one that hold a report.
fn directories(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).unwrap();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("report.json").is_file())
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{}", parent.display());
    found
}

fn pairs(directory: &Path) -> Vec<Pair> {
    let logs = directory.join("eval-logs");
    let both = [
        (Harness::V4, "status-map.4.1.0.json"),
        (Harness::V5, "status-map.5.0.2.json"),
    ];
    let harness = ["v1-gold", "v2-official"].into_iter();
    let mut pairs: Vec<Pair> = harness
        .flat_map(|folder| directories(&logs.join(folder)))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            let known = PARSERS.iter().find(|(start, _)| name.starts_with(start));
            Pair::read(&path, known.unwrap().1, &both)
        })
        .collect();
    for pair in &pairs {
        assert_eq!(pair.maps.len(), 2, "{}", pair.name);
    }
    // SWE-smith has one map, whatever the generation.
    let smith = [
        (Harness::V4, "status-map.json"),
        (Harness::V5, "status-map.json"),
    ];
    let smiths = directories(&logs.join("v2-swesmith")).into_iter();
    pairs.extend(
        smiths
            .filter(|path| path.join("status-map.json").is_file())
            .map(|path| Pair::read(&path, "swe_smith", &smith)),
    );
    pairs
}

/// The last word on each test.
fn map(pair: &Pair, harness: Harness) -> BTreeMap<String, String> {
    let context = Context {
        harness,
        ..Context::default()
    };
    let parts = log::read_official(&pair.log);
    let reading = Reading::new(&parts, parser(pair.parser).unwrap(), &context);
    let map = reading.map();
    map.iter()
        .map(|(name, word)| (name.to_owned(), word.to_string()))
        .collect()
}

#[test]
fn logs_are_read_as_the_official_parsers_read_them() {
    let Some(directory) = directory() else { return };
    let mut tests = 0;
    for pair in pairs(&directory) {
        for (harness, theirs) in &pair.maps {
            let ours = map(&pair, *harness);
            pretty_assertions::assert_eq!(&ours, theirs, "{} {harness:?}", pair.name);
            tests += theirs.len();
        }
    }
    println!("{tests} tests agree");
    assert!(tests > 0);
}

#[test]
fn verdicts_are_the_official_ones() {
    let Some(directory) = directory() else { return };
    for pair in pairs(&directory) {
        let expected = pair.tests_status();
        for harness in [Harness::V4, Harness::V5] {
            let name = format!("{} {harness:?}", pair.name);
            let verdict = pair.judge(harness);
            let marked = pair.parser == "swe_smith";
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
                pair.report["resolved"].as_bool(),
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

#[test]
fn go_logs_of_pro_are_read_as_their_own_parser_reads_them() {
    let Some(directory) = directory() else { return };
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
    let Some(directory) = directory() else { return };
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
