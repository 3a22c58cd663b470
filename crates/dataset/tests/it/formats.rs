//! JSON lines, arrays, objects: by content and extension.

use dataset::{Error, LoadOptions, Location, Rows, Wanted};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{Fixture, ids, plain};

#[test]
fn every_shape_of_json_is_read() {
    let (a, b) = (plain("a"), plain("b"));
    let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    let cases: Vec<(&str, String)> = vec![
        ("lines.jsonl", format!("{a}\n{b}\n")),
        ("lines.ndjson", format!("{a}\n{b}")),
        ("lines.json", format!("{a}\n{b}\n")),
        ("lines", format!("{a}\r\n\r\n{b}\r\n")),
        ("mark.jsonl", format!("\u{feff}{a}\n{b}")),
        ("blank.jsonl", format!("\n  \n\t{a}  \n\n {b}\n\n")),
        ("array.json", json!([a, b]).to_string()),
        ("array.jsonl", json!([a, b]).to_string()),
        ("mark.json", format!("\u{feff} [{a} , {b} ] \n")),
        ("pretty.json", pretty(&json!([a, b]))),
        ("pretty.jsonl", format!("{}\n{}\n", pretty(&a), pretty(&b))),
        (
            "pretty-rows.json",
            format!("{}\n{}\n", pretty(&a), pretty(&b)),
        ),
        ("keyed.json", pretty(&json!({"a": a, "b": b}))),
        ("keyed-one-line.json", json!({"a": a, "b": b}).to_string()),
        (
            "keyed-without-ids.json",
            json!({"a": {"problem_statement": "x"}, "b": {"problem_statement": "y"}}).to_string(),
        ),
        (
            "under-a-key.json",
            pretty(&json!({"version": 2, "rows": [a, b]})),
        ),
        ("split.json", json!({"test": [a, b]}).to_string()),
    ];
    for (name, content) in cases {
        let fixture = Fixture::new(name, content);
        let dataset = fixture
            .load()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ids(&dataset), ["a", "b"], "{name}");
        assert_eq!(dataset.directory, fixture.directory(), "{name}");
    }
}

#[test]
fn a_file_may_be_one_row() {
    for name in ["row.json", "row.jsonl", "row"] {
        for content in [
            plain("one").to_string(),
            serde_json::to_string_pretty(&plain("one")).unwrap(),
        ] {
            assert_eq!(
                ids(&Fixture::new(name, content).load().unwrap()),
                ["one"],
                "{name}"
            );
        }
    }
}

#[test]
fn rows_know_their_lines() {
    let lines = |name: &str, content: String| -> Vec<u64> {
        Fixture::new(name, content)
            .load()
            .unwrap()
            .rows
            .iter()
            .map(|row| match row.at {
                Location::Line(line) => line,
                other @ Location::Row { .. } => panic!("{other}"),
            })
            .collect()
    };
    let (a, b) = (plain("a"), plain("b"));
    assert_eq!(lines("x.jsonl", format!("\n{a}\n\n{b}")), [2, 4]);
    assert_eq!(lines("x.json", format!("\n[\n{a},\n\n{b}]")), [3, 5]);
    assert_eq!(
        lines("x.json", format!("{{\"a\":\n{a},\n\"b\": {b}}}")),
        [2, 3]
    );
    assert_eq!(
        lines("x.json", format!("{{\"rows\":\n[{a},\n{b}]}}")),
        [2, 3]
    );
}

#[test]
fn a_split_is_chosen_by_name() {
    let fixture = Fixture::new(
        "x.json",
        json!({"dev": [plain("a")], "test": [plain("b")]}).to_string(),
    );
    let load = |split: Option<&str>| {
        dataset::load(
            fixture.path(),
            &LoadOptions {
                wanted: Wanted {
                    split: split.map(str::to_owned),
                    subset: None,
                },
                ..LoadOptions::default()
            },
        )
    };
    assert_eq!(ids(&load(Some("test")).unwrap()), ["b"]);
    assert_eq!(
        ids(&load(None).unwrap()),
        ["b"],
        "as in the official harness"
    );
    assert_eq!(ids(&load(Some("dev")).unwrap()), ["a"]);
    assert!(
        load(Some("train"))
            .unwrap_err()
            .to_string()
            .ends_with("holds the splits dev, test, not \"train\"")
    );
}

#[test]
fn rows_come_one_at_a_time_up_to_the_first_broken_one() {
    let fixture = Fixture::new(
        "x.jsonl",
        format!("{}\n{}\nnonsense\n{}", plain("a"), plain("b"), plain("c")),
    );
    let mut rows = Rows::open(fixture.path(), &LoadOptions::default()).unwrap();
    assert_eq!(rows.next().unwrap().unwrap().instance.id.as_str(), "a");
    assert_eq!(rows.next().unwrap().unwrap().instance.id.as_str(), "b");
    assert!(matches!(
        rows.next(),
        Some(Err(Error::Malformed { line: 3, .. }))
    ));
    assert!(rows.next().is_none());
}

#[test]
fn the_digest_ignores_layout_only() {
    let digest = |text: &str| {
        Fixture::new("x.json", text).load().unwrap().rows[0]
            .sha256
            .clone()
    };
    let base = digest(r#"{"instance_id":"a","problem_statement":"x","meta":{"b":1,"a":[1,2]}}"#);
    assert_eq!(base.len(), 64);
    assert_eq!(
        base,
        digest(
            "{ \"meta\": {\"a\": [1, 2], \"b\": 1},\n \"problem_statement\": \"\\u0078\", \"instance_id\": \"a\" }"
        )
    );
    assert_ne!(
        base,
        digest(r#"{"instance_id":"a","problem_statement":"x","meta":{"b":1,"a":[2,1]}}"#)
    );
    assert_ne!(
        base,
        digest(r#"{"instance_id":"a","problem_statement":"y","meta":{"b":1,"a":[1,2]}}"#)
    );
}
