//! Generated logs with marks, exit codes and lists of tests, and generated runs: the official harness's reports and summaries of them.

use grade::official::{Entry, Graded, Standing, report, signature, summarize};
use grade::{Evidence, log, verdict};
use schema::grading::{EvalType, GradingSpec, Harness, PatchApplication};
use schema::instance::InstanceId;
use serde::Deserialize;
use serde_json::Value;

use crate::differential::{self, Answers, digest_of};

const ANSWERS: &[u8] = include_bytes!("../fixtures/official-verdicts.digests");

const HARNESSES: [Harness; 2] = [Harness::V4, Harness::V5];

#[derive(Debug, Deserialize)]
struct Case {
    parser: String,
    fail_only: bool,
    log: String,
    fail_to_pass: Vec<String>,
    pass_to_pass: Vec<String>,
    patch_exists: bool,
}

/// An instance, what became of it, and its log.
type Instance = (String, Option<String>, String);

/// The answers of one kind.
fn answers(kind: &str) -> (String, Answers) {
    let (seed, all) = differential::read(ANSWERS);
    let answers = all.into_iter().find(|one| one.column.name == kind);
    (seed, answers.unwrap())
}

fn our_report(case: &Case, harness: Harness) -> Value {
    let spec = GradingSpec {
        instance_id: "i".to_owned(),
        log_parser: case.parser.clone(),
        fail_to_pass: case.fail_to_pass.clone(),
        pass_to_pass: case.pass_to_pass.clone(),
        eval_type: if case.fail_only {
            EvalType::FailOnly
        } else {
            EvalType::PassAndFail
        },
        harness,
        ..GradingSpec::default()
    };
    let parts = log::read_official(case.log.as_bytes());
    let evidence = Evidence {
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    let report = report(&Graded {
        id: &InstanceId::new("i"),
        patch_exists: case.patch_exists,
        verdict: &verdict(&spec, &evidence).unwrap(),
        signature: signature(case.log.as_bytes(), harness),
    });
    serde_json::to_value(&report["i"]).unwrap()
}

fn our_summary(instances: &[Instance], harness: Harness) -> Value {
    let entry = |(id, standing, log): &Instance| Entry {
        id: InstanceId::new(id.clone()),
        submitted: standing.is_some(),
        standing: match standing.as_deref() {
            None => Standing::Incomplete,
            Some("empty") => Standing::EmptyPatch,
            Some("error") => Standing::Error,
            Some(report) => Standing::Completed {
                resolved: report == "resolved",
            },
        },
        signature: signature(log.as_bytes(), harness),
    };
    let entries: Vec<Entry> = instances.iter().map(entry).collect();
    serde_json::to_value(summarize(&entries, harness, None)).unwrap()
}

fn check<C: for<'de> Deserialize<'de> + std::fmt::Debug>(
    kind: &str,
    ours: impl Fn(&C, Harness) -> Value,
) {
    let (seed, answers) = answers(kind);
    let cases: Vec<C> = answers.cases("verdicts.py", &seed);
    let mut different = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        for harness in HARNESSES {
            let ours = ours(case, harness);
            if Some(digest_of(&ours)) != answers.of(number, harness) {
                different.push(format!("{number} {harness:?}: {ours:#} of {case:#?}"));
            }
        }
    }
    let shown = different.iter().take(3).cloned().collect::<Vec<_>>();
    assert!(
        different.is_empty(),
        "{} differ: {}",
        different.len(),
        shown.join("\n")
    );
    assert_eq!(cases.len(), 2000);
}

#[test]
fn reports_are_the_official_ones() {
    check("verdicts", our_report);
}

#[test]
fn summaries_are_the_official_ones() {
    check("runs", |instances: &Vec<Instance>, harness| {
        our_summary(instances, harness)
    });
}
