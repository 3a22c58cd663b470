//! Broken datasets: one clear error with the place, the subject and a hint.

use dataset::{Error, LoadOptions, Location};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::{Fixture, plain, plain_with, told};

fn error(name: &str, content: impl AsRef<[u8]>) -> (Error, String, Vec<String>) {
    let fixture = Fixture::new(name, content);
    let error = fixture.load().unwrap_err();
    let (text, hints) = told(&error);
    let text = text.replace(&format!("{}/", fixture.directory().display()), "");
    assert!(!hints.is_empty(), "nothing says what to do about: {text}");
    (error, text, hints)
}

fn text(name: &str, content: impl AsRef<[u8]>) -> String {
    error(name, content).1
}

#[test]
fn a_missing_file_is_named() {
    let error = dataset::load("no/such.jsonl".as_ref(), &LoadOptions::default()).unwrap_err();
    let (text, hints) = told(&error);
    assert_eq!(
        text,
        "cannot read dataset no/such.jsonl: No such file or directory (os error 2)"
    );
    assert_eq!(hints, ["check the path given to --dataset"]);
}

#[test]
fn a_file_without_rows_is_empty() {
    for content in ["", "\n \n", "\u{feff}", "[]", " [ ] ", "{\"rows\": []}"] {
        assert!(
            matches!(error("x.json", content).0, Error::Empty { .. }),
            "{content:?}"
        );
    }
}

#[test]
fn malformed_text_has_a_line_and_a_column() {
    let good = plain("a");
    assert_eq!(
        text("x.jsonl", format!("{good}\n{{\"instance_id\": }}\n")),
        "dataset x.jsonl, line 2, column 17: expected value"
    );
    assert_eq!(
        text("x.jsonl", format!("{good}\n  nonsense")),
        "dataset x.jsonl, line 2, column 4: expected ident"
    );
    assert_eq!(
        text("x.json", "nonsense"),
        "dataset x.json, line 1, column 1: expected a JSON object or array"
    );
    assert_eq!(
        text("x.json", format!("[\n{good},\n  {{\"a\" 1}}]")),
        "dataset x.json, line 3, column 8: expected `:`"
    );
    assert_eq!(
        text("x.json", format!("[{good}\n{good}]")),
        "dataset x.json, line 2, column 1: expected `,` or `]` after a row"
    );
    assert_eq!(
        text("x.json", format!("[{good},\n]")),
        "dataset x.json, line 2, column 1: trailing comma before `]`"
    );
    assert_eq!(
        text("x.json", format!("[{good}]\n x")),
        "dataset x.json, line 2, column 2: trailing characters after the array"
    );
    assert_eq!(
        text("x.json", "{\n  \"instance_id\": \"a\",\n  x\n}"),
        "dataset x.json, line 3, column 3: key must be a string"
    );
}

#[test]
fn text_that_stops_short_is_told_apart() {
    let row = plain("a").to_string();
    let (_, message, hints) = error("x.jsonl", format!("{row}\n{}", &row[..20]));
    assert!(
        message.starts_with("dataset x.jsonl, line 2, column 20: EOF while parsing"),
        "{message}"
    );
    assert!(hints[0].starts_with("the row stops short"), "{hints:?}");
    let message = text("x.json", format!("[{row},\n{}", &row[..20]));
    assert_eq!(
        message,
        "dataset x.json, line 2, column 21: the file ends inside the row that starts on line 2"
    );
    assert_eq!(
        text("x.json", format!("[{row}\n")),
        "dataset x.json, line 2, column 1: the file ends before the array is closed"
    );
}

#[test]
fn a_key_that_stands_twice_is_refused_where_it_stands() {
    let good = plain("a");
    let twice = "{\"instance_id\": \"b\", \"problem_statement\": \"x\", \"instance_id\": \"c\"}";
    let (_, message, hints) = error("x.jsonl", format!("{good}\n{twice}\n"));
    assert_eq!(
        message,
        "dataset x.jsonl, line 2, column 60: the key \"instance_id\" stands twice in one object"
    );
    assert!(hints[0].starts_with("keep one of the two"), "{hints:?}");
    let deep = "[{\"instance_id\": \"b\",\n \"problem_statement\": \"x\",\n \"more\": {\"k\": 1, \"k\": 2}}]";
    let message = text("x.json", deep);
    assert!(message.starts_with("dataset x.json, line 3, "), "{message}");
}

#[test]
fn a_row_that_nests_too_deep_is_told_what_to_do() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let row = format!("{{\"instance_id\": \"b\", \"problem_statement\": \"x\", \"more\": {deep}}}");
    let (_, message, hints) = error("x.jsonl", row);
    assert!(message.contains("recursion limit"), "{message}");
    assert!(hints[0].contains("127 deep"), "{hints:?}");
}

#[test]
fn what_python_writes_by_mistake_is_recognised() {
    let (_, message, hints) = error("x.jsonl", "{\"instance_id\": \"a\", \"created_at\": NaN}");
    assert!(
        message.starts_with("dataset x.jsonl, line 1, column 3"),
        "{message}"
    );
    assert!(hints[0].starts_with("NaN and Infinity"), "{hints:?}");
    assert!(error("x.jsonl", "{'instance_id': 'a'}").2[0].contains("repr"));
    assert!(error("x.jsonl", "{\"instance_id\": None}").2[0].contains("repr"));
    assert!(error("x.jsonl", r#"{"instance_id": "\ud800"}"#).2[0].contains("surrogate"));
}

#[test]
fn bytes_that_are_not_utf8_have_a_place() {
    let mut content = format!("{}\n{{\"instance_id\": \"", plain("a")).into_bytes();
    content.extend(b"\xe9\"}\n");
    assert_eq!(
        text("x.jsonl", &content),
        "dataset x.jsonl, line 2, byte 18: not UTF-8"
    );
    content.splice(0..0, *b"[");
    assert!(text("x.json", b"{\n\"a\": \"\xff\"\n}").starts_with("dataset x.json, line 2, byte 7"));
    assert!(matches!(
        error("x.json", b"[\n{\n\"a\": \"\xff\"\n}]").0,
        Error::NotUtf8 {
            line: 3,
            column: 7,
            ..
        }
    ));
}

#[test]
fn other_formats_are_named() {
    for (start, found) in [
        (b"PK\x03\x04".as_slice(), "a ZIP archive"),
        (b"\xff\xfe{\x00", "UTF-16 text"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid x\n",
            "a Git LFS pointer",
        ),
        (b"<!DOCTYPE html>\n", "HTML or XML"),
    ] {
        let (error, message, hints) = error("x.jsonl", start);
        assert!(
            matches!(error, Error::UnsupportedFormat { .. }),
            "{message}"
        );
        assert_eq!(
            message,
            format!("dataset x.jsonl is {found}, not a dataset")
        );
        assert_eq!(hints.len(), 1);
    }
}

#[test]
fn a_huge_row_is_refused_before_it_is_held() {
    let huge = plain_with("b", json!({"patch": "x".repeat(5000)}));
    let options = LoadOptions {
        max_row_bytes: 4000,
        ..LoadOptions::default()
    };
    let line_of = |name: &str, content: String| match dataset::load(
        Fixture::new(name, content).path(),
        &options,
    ) {
        Err(Error::HugeRow {
            at: Location::Line(line),
            limit: 4000,
            ..
        }) => line,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(
        line_of("x.jsonl", format!("{}\n{huge}\n{}", plain("a"), plain("c"))),
        2
    );
    assert_eq!(line_of("x.jsonl", format!("{huge}\n")), 1);
    assert_eq!(line_of("x.json", format!("[{},\n{huge}]", plain("a"))), 2);
    assert_eq!(line_of("x.json", format!("[{huge}]")), 1);
    assert_eq!(
        line_of("x.json", serde_json::to_string_pretty(&huge).unwrap()),
        1
    );
    let exact = plain_with(
        "b",
        json!({"patch": "x".repeat(4000 - plain("b").to_string().len() - 11)}),
    )
    .to_string();
    assert_eq!(exact.len(), 4000);
    for (name, content) in [
        ("x.jsonl", format!("{exact}\r\n")),
        ("x.json", format!("[{exact}]")),
    ] {
        assert!(
            dataset::load(Fixture::new(name, content).path(), &options).is_ok(),
            "{name}"
        );
    }
}

#[test]
fn duplicates_name_both_lines() {
    let content = format!(
        "{}\n{}\n\n{}",
        plain("a"),
        plain("b"),
        plain_with("a", json!({"version": "2"}))
    );
    let (_, message, hints) = error("x.jsonl", content);
    assert_eq!(
        message,
        "dataset x.jsonl: instance \"a\" is on line 1 and again on line 4"
    );
    assert_eq!(hints.len(), 1);
}

#[test]
fn a_missing_field_names_the_row_and_what_it_has() {
    let (_, message, hints) = error(
        "x.jsonl",
        format!(
            "{}\n{{\"instanceid\": \"b\", \"repo\": \"o/r\"}}",
            plain("a")
        ),
    );
    assert_eq!(
        message,
        "dataset x.jsonl, line 2: the row has no `instance_id`"
    );
    assert_eq!(hints, ["the row has `instanceid`: is it meant?"]);
    let (_, _, hints) = error(
        "x.jsonl",
        "{\"instance_id\": \"a\", \"problem_statement\": null}",
    );
    assert_eq!(
        hints,
        ["`problem_statement` is null in this row: give it a value"]
    );
    let (_, message, hints) = error(
        "x.jsonl",
        "{\"instance_id\": \"b\", \"problem_statement\": null, \"repo\": \"o/r\"}",
    );
    assert_eq!(
        message,
        "dataset x.jsonl, line 1, instance \"b\": the row has no `problem_statement`"
    );
    assert_eq!(hints.len(), 1);
    assert!(text("x.jsonl", "{}").contains("no `instance_id`"));
}

#[test]
fn a_bad_field_names_row_and_field() {
    let of = |more| text("x.jsonl", plain_with("a", more).to_string());
    let start = "dataset x.jsonl, line 1, instance \"a\": field";
    assert_eq!(
        of(json!({"base_commit": 5})),
        format!("{start} `base_commit` must be text, not a number")
    );
    assert_eq!(
        of(json!({"problem_statement": ["x"]})),
        format!("{start} `problem_statement` must be text, not a list")
    );
    assert_eq!(
        of(json!({"FAIL_TO_PASS": 5})),
        format!("{start} `FAIL_TO_PASS` must be a list of names, not a number")
    );
    assert_eq!(
        of(json!({"pass_to_pass": ["x", 1]})),
        format!("{start} `pass_to_pass` must be a list of names, but item 2 is a number")
    );
    assert!(of(json!({"FAIL_TO_PASS": "['a"})).starts_with(&format!(
        "{start} `FAIL_TO_PASS` is text that is neither a JSON list"
    )));
    assert_eq!(
        of(json!({"eval_timeout": -1})),
        format!("{start} `eval_timeout` must be a whole number of seconds above 0, not -1")
    );
    assert!(
        of(json!({"image_assets": "{"}))
            .starts_with(&format!("{start} `image_assets` is text that is not JSON"))
    );
    assert_eq!(
        text("x.jsonl", plain(" ").to_string()),
        "dataset x.jsonl, line 1, instance \" \": field `instance_id` is blank"
    );
    assert!(
        text("x.jsonl", plain(&"x".repeat(5000)).to_string())
            .ends_with("has 5000 bytes, at most 4096 are allowed")
    );
}

#[test]
fn values_that_are_no_rows_are_refused() {
    assert_eq!(
        text("x.jsonl", format!("{}\n[1]", plain("a"))),
        "dataset x.jsonl, line 2: a row must be a JSON object, found an array"
    );
    assert_eq!(
        text("x.jsonl", format!("{}\n\"x\"", plain("a"))),
        "dataset x.jsonl, line 2: a row must be a JSON object, found a string"
    );
    assert_eq!(
        text("x.json", "[1, 2]"),
        "dataset x.json, line 1: a row must be a JSON object, found a number"
    );
    assert_eq!(
        text("x.json", format!("[{},\n[]]", plain("a"))),
        "dataset x.json, line 2: a row must be a JSON object, found an array"
    );
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(text("x.jsonl", format!("{deep}\n{deep}")).contains("recursion limit"));
    assert!(text("x.json", format!("[{deep}]")).contains("recursion limit"));
    assert!(text("x.json", format!("{{\n\"x\": {deep}}}")).contains("recursion limit"));
}

#[test]
fn two_ids_never_share_a_file_name() {
    let upper = schema::InstanceId::new("A");
    let content = format!(
        "{}\n{}",
        plain("A"),
        plain(&upper.file_name().to_lowercase())
    );
    // The name made for "A" keeps its case, so that a lower-case id cannot take it.
    assert!(Fixture::new("x.jsonl", content).load().is_ok());
    let hostile = [
        "../x",
        "a/b",
        "a\0b",
        "A/b",
        "a/B",
        "..",
        "-x",
        &"y".repeat(300),
        &"y".repeat(301),
    ];
    let rows: Vec<_> = hostile.iter().map(|id| plain(id)).collect();
    assert_eq!(
        Fixture::of_rows(&rows).load().unwrap().rows.len(),
        hostile.len()
    );
}

mod never_panics {
    use proptest::prelude::*;

    use crate::Fixture;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn on_any_bytes(content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Fixture::new("x.json", content).load();
        }

        #[test]
        fn on_almost_json(content in "([\\[\\]{}:,\"\\\\ \na0]|\"instance_id\"|\"problem_statement\"|NaN|'){0,40}") {
            let _ = Fixture::new("x.json", &content).load();
            let _ = Fixture::new("x.jsonl", &content).load();
        }
    }
}
