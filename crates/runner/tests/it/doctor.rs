//! `runner doctor`.

use serde_json::Value;

use crate::command::Place;

fn report(place: &Place) -> (i32, Value) {
    let said = place.run(&["doctor", "--format", "json"]);
    (said.code, serde_json::from_str(&said.out).unwrap())
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap()
}

#[test]
fn each_check_has_a_status_and_what_lacks_has_a_way_to_mend_it() {
    let (code, report) = report(&Place::new());
    assert_eq!(code, 0);
    for check in report["checks"].as_array().unwrap() {
        let status = check["status"].as_str().unwrap();
        assert!(["ok", "warn", "missing"].contains(&status), "{check}");
        assert_eq!(status == "ok", check["mend"].is_null(), "{check}");
    }
}

#[test]
fn keys_are_named_and_never_shown() {
    let place = Place::new().variable("OPENAI_API_KEY", "sk-very-secret");
    let said = place.run(&["doctor"]);
    assert!(said.out.contains("OPENAI_API_KEY is set"), "{}", said.out);
    assert!(!said.out.contains("very-secret"), "{}", said.out);
    assert_eq!(
        check(&report(&Place::new()).1, "model key")["status"],
        "warn"
    );
}

#[test]
fn runs_that_cannot_be_written_make_exit_code_1() {
    let place = Place::new();
    let said = place.run(&["doctor", "--out", "/proc/runs"]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("missing"), "{}", said.out);
    assert!(
        said.out.contains("choose another place with --out"),
        "{}",
        said.out
    );
}

#[test]
fn nothing_is_left_behind() {
    let place = Place::new();
    place.run(&["doctor"]);
    let mut left: Vec<_> = std::fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["tmp"]);
}
