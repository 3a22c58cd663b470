//! What holds for any log.

use std::collections::BTreeSet;

use grade::official::{Graded, report, signature};
use grade::{Context, Evidence, LogParts, log, parser, verdict};
use proptest::prelude::*;
use schema::grading::{EvalType, GradingSpec, Harness, PatchApplication, TestTally, Verdict};
use schema::instance::InstanceId;

/// What some parsers choose their rules by: instance and version.
const VARIANTS: &[(&str, &[(&str, &str)])] = &[
    ("immutable_js", &[("o__r-2006", ""), ("o__r-2005", "")]),
    (
        "jekyll",
        &[("jekyll__jekyll-9141", ""), ("jekyll__jekyll-8761", "")],
    ),
    ("next", &[("o__r-1", "1.27"), ("o__r-1", "1.20")]),
    (
        "lighthouse",
        &[
            ("o__r-1", "9.5"),
            ("o__r-1", "10.2"),
            ("o__r-1", "5.0"),
            ("o__r-1", "2.9"),
        ],
    ),
];

const HARNESSES: [Harness; 2] = [Harness::V4, Harness::V5];

/// All that a parser may be told beside the log.
pub(crate) fn contexts(name: &str) -> Vec<Context<'static>> {
    let variants = VARIANTS.iter().find(|(known, _)| *known == name);
    let variants = variants.map_or(&[][..], |(_, variants)| variants);
    let contexts =
        variants
            .iter()
            .chain(&[("o__r-1", "1.0")])
            .flat_map(|(instance_id, version)| {
                HARNESSES.map(|harness| Context {
                    harness,
                    instance_id,
                    version,
                })
            });
    contexts.collect()
}

/// Reads a log by every parser in every way.
fn read_by_all(text: &str) {
    for name in grade::parse::known() {
        for context in contexts(name) {
            parser(name).unwrap()(text, &context);
        }
    }
}

/// Pieces of lines that parsers look for, and what may stand between them.
fn line() -> impl Strategy<Value = String> {
    "(PASSED|FAILED|XPASS|SKIPPED|ok|not ok|\\[gw0\\]|    ok|  ---|  \\.\\.\\.|# Subtest:|\\}|\\{|\\[|1\\.\\.|✓|✕|  ✔|--- PASS:|test |<doctest>|<a>|1\\)|BUILD SUCCESS|-Dtest=|\\[ OK \\]|\\[smoke\\]|Starting browser|SUMMARY:|\u{1b}\\[32m)[ 0-9]{0,3}[a\\[\\] :\\-#{(%\\\\äT]{0,12}( \\.\\.\\. ok| PASSED| - passed|\\))?"
}

fn of_lines() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..60).prop_map(|lines| lines.join("\n"))
}

/// Whole logs, with marks in any order.
fn marked() -> impl Strategy<Value = String> {
    let mark = prop::sample::select(&[
        log::START,
        log::END,
        ">>>>> Test Exit Code: 1",
        ">>>>> Test Exit Code: 0",
        ">>>>> Tests Errored",
        "applied patch",
        "3 passing",
        "",
    ]);
    proptest::collection::vec((mark, of_lines()), 0..6).prop_map(|parts| {
        let lines = parts
            .iter()
            .map(|(mark, lines)| format!("{mark}\n{lines}\n"));
        lines.collect()
    })
}

fn check_parts(parts: &LogParts) -> Result<(), TestCaseError> {
    let has_controls = parts.whole().contains(['\r', '\u{1b}']);
    prop_assert!(!has_controls && !parts.official_whole().contains('\r'));
    for (part, whole) in [
        (parts.tests(), parts.whole()),
        (parts.official_tests(), parts.official_whole()),
    ] {
        prop_assert!(part.is_none_or(|part| whole.contains(part)));
    }
    prop_assert_eq!(parts.tests().is_some(), parts.official_tests().is_some());
    Ok(())
}

/// Whether both lists hold the expected tests, each once as often, in order.
fn is_split(expected: &[String], tally: &TestTally) -> bool {
    let mut success = tally.success.iter().peekable();
    let mut failure = tally.failure.iter().peekable();
    let next =
        |test: &String| success.next_if_eq(&test).is_some() || failure.next_if_eq(&test).is_some();
    expected.iter().all(next) && success.next().is_none() && failure.next().is_none()
}

fn check_verdict(
    spec: &GradingSpec,
    evidence: &Evidence<'_>,
    verdict: &Verdict,
) -> Result<(), TestCaseError> {
    prop_assert!(is_split(&spec.fail_to_pass, &verdict.fail_to_pass));
    prop_assert!(is_split(&spec.pass_to_pass, &verdict.pass_to_pass));
    let failures = [&verdict.fail_to_pass, &verdict.pass_to_pass].map(|tally| tally.failure.len());
    if verdict.resolved {
        prop_assert_eq!(failures, [0, 0]);
        prop_assert!(verdict.log_readable && !evidence.timed_out);
        prop_assert_eq!(&verdict.tamper_reason, &None);
    }
    let official = [
        &verdict.official.fail_to_pass,
        &verdict.official.pass_to_pass,
    ];
    prop_assert!(
        !verdict.official_resolved || official.iter().all(|tally| tally.failure.is_empty())
    );
    let counted = |tests: &[String], tally: &TestTally| {
        let told = tally.success.iter().chain(&tally.failure);
        let told: BTreeSet<&String> = told.collect();
        told.is_subset(&tests.iter().collect())
    };
    prop_assert!(counted(&spec.fail_to_pass, official[0]));
    prop_assert!(counted(&spec.pass_to_pass, official[1]));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_log_is_read(log in proptest::collection::vec(any::<u8>(), 0..3000), nonce in "[a-z0-9]{1,8}") {
        check_parts(&log::read(&log, &nonce))?;
        let parts = log::read_official(&log);
        check_parts(&parts)?;
        read_by_all(parts.whole());
        read_by_all(parts.official_whole());
    }

    #[test]
    fn any_line_that_looks_like_a_result_is_read(log in of_lines()) {
        read_by_all(&log);
    }

    #[test]
    fn any_log_gets_a_verdict_that_adds_up(
        text in marked(),
        lists in [proptest::collection::vec("[at: \\[]{0,6}", 0..4), proptest::collection::vec("[at: \\[]{0,6}", 0..4)],
        fail_only in any::<bool>(),
        timed_out in any::<bool>(),
        exit_code in prop::option::of(0..3_i32),
    ) {
        let parts = log::read_official(text.as_bytes());
        let [fail_to_pass, pass_to_pass] = lists;
        for (name, context) in grade::parse::known().into_iter().flat_map(|name| contexts(name).into_iter().map(move |context| (name, context))) {
            let spec = GradingSpec {
                instance_id: context.instance_id.to_owned(),
                version: context.version.to_owned(),
                harness: context.harness,
                log_parser: name.to_owned(),
                // Names that the log has, and others.
                fail_to_pass: parser(name).unwrap()(parts.official_whole(), &context).tests().iter().take(3).map(|test| test.name.to_string()).chain(fail_to_pass.clone()).collect(),
                pass_to_pass: pass_to_pass.clone(),
                eval_type: if fail_only { EvalType::FailOnly } else { EvalType::PassAndFail },
                ..GradingSpec::default()
            };
            let evidence = Evidence { application: PatchApplication::Applied, log: Some(&parts), timed_out, exit_code };
            let verdict = verdict(&spec, &evidence).unwrap();
            check_verdict(&spec, &evidence, &verdict)?;
            let graded = Graded { id: &InstanceId::new("i"), patch_exists: true, verdict: &verdict, signature: signature(text.as_bytes(), spec.harness) };
            let report = report(&graded).remove("i").unwrap();
            prop_assert_eq!(report.resolved, verdict.official_resolved);
            prop_assert_eq!(report.tests_status.is_some(), report.patch_successfully_applied);
        }
    }

    #[test]
    fn text_without_controls_stays_as_it_is(text in "[^\\x1b\\r]{0,100}") {
        prop_assert_eq!(log::clean(text.as_bytes()), text);
    }
}
