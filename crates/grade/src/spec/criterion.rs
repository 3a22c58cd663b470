//! By whose rules a row is judged: those of the harness of its dataset, which its fields tell.

use std::collections::BTreeMap;

use schema::grading::{Criterion, Earlier, Origin, TestStatus};
use schema::instance::AnswerKey;
use serde_json::{Map, Value};

use super::{Case, row};
use crate::rules::Shape;

/// Lists of tests in Multi-SWE-bench, each test with its results.
const CLASSES: [&str; 5] = [
    "p2p_tests",
    "f2p_tests",
    "s2p_tests",
    "n2p_tests",
    "fixed_tests",
];

/// The rules for a row. Where somebody says how its results count, they count as in SWE-bench: nothing else has that choice.
pub(super) fn criterion(case: &Case<'_>, eval_type: &Origin) -> Criterion {
    if *eval_type != Origin::Default {
        return Criterion::SweBench;
    }
    match row::shape(case.instance, case.answer) {
        Some(Shape::MultiSweBench) => return Criterion::MultiSweBench,
        Some(Shape::R2eGym) => return Criterion::R2eGym,
        Some(Shape::SweSmith) => return Criterion::SweSmith,
        None => {}
    }
    let has = |field: &str| {
        let value = case.answer.extra.get(field);
        value.is_some_and(|value| !value.is_null())
    };
    if row::is_of_pro(case.instance, case.answer) || has("run_script") {
        Criterion::SweBenchPro
    } else if has("test_cmds") && !has("install_config") {
        Criterion::SweBenchLive
    } else {
        Criterion::SweBench
    }
}

/// Multi-SWE-bench: what each test did without the fix. The whole results, where the row has them, go before what the lists of tests repeat.
pub(super) fn earlier(answer: &AnswerKey) -> BTreeMap<String, Earlier> {
    let mut earlier: BTreeMap<String, Earlier> = BTreeMap::new();
    for class in CLASSES {
        for (name, results) in members(answer, class).into_iter().flatten() {
            let status = |stage: &str| results.get(stage).and_then(Value::as_str).and_then(status);
            earlier.insert(
                name,
                Earlier {
                    run: status("run"),
                    test: status("test"),
                },
            );
        }
    }
    for (name, status) in results(answer, "run_result") {
        earlier.entry(name).or_default().run = Some(status);
    }
    for (name, status) in results(answer, "test_patch_result") {
        earlier.entry(name).or_default().test = Some(status);
    }
    earlier
}

/// The members of a field that is an object, or text that holds one: some copies of the dataset have it so.
fn members(answer: &AnswerKey, field: &str) -> Option<Map<String, Value>> {
    match answer.extra.get(field)? {
        Value::Object(members) => Some(members.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

fn status(word: &str) -> Option<TestStatus> {
    match word {
        "PASS" => Some(TestStatus::Passed),
        "FAIL" => Some(TestStatus::Failed),
        "SKIP" => Some(TestStatus::Skipped),
        // `NONE`: it did not run.
        _ => None,
    }
}

/// All tests of one result, with what they did.
fn results(answer: &AnswerKey, field: &str) -> Vec<(String, TestStatus)> {
    let lists = [
        ("passed_tests", TestStatus::Passed),
        ("skipped_tests", TestStatus::Skipped),
        ("failed_tests", TestStatus::Failed),
    ];
    let Some(result) = members(answer, field) else {
        return Vec::new();
    };
    let names = lists.into_iter().flat_map(|(list, status)| {
        let names = result.get(list).and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(move |name| (name.to_owned(), status))
    });
    names.collect()
}
