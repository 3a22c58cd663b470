//! Model servers that fail in every way: one clear error, the right failure class, the right exit code, nothing lost.

use std::time::Duration;

use testkit::{Answer, FakeServer, refused_url};

use crate::command::{Place, Said};

/// A run against a server, with few tries and short deadlines.
fn run_against(base_url: &str) -> (Place, Said) {
    let place = Place::new();
    let base = place.repository("repo");
    place.dataset(&base);
    let said = place.run(&[
        "run",
        "--dataset",
        "dataset.jsonl",
        "--out",
        "out",
        "--sandbox",
        "local",
        "--quiet",
        "--model",
        "openai:m",
        "--base-url",
        base_url,
        "--max-tries",
        "1",
        "--max-attempts",
        "1",
        "--first-byte-timeout",
        "1s",
        "--idle-timeout",
        "1s",
        "--request-timeout",
        "20s",
    ]);
    (place, said)
}

/// Outcome, reason and error of the only row of `results.csv`.
fn result(place: &Place) -> [String; 3] {
    let mut csv = csv::Reader::from_path(place.path().join("out/results.csv")).unwrap();
    let columns = csv.headers().unwrap().clone();
    let row = csv.records().next().unwrap().unwrap();
    ["outcome", "reason", "error"].map(|name| {
        let index = columns.iter().position(|column| column == name).unwrap();
        row[index].replace(&*place.path().to_string_lossy(), "[DIR]")
    })
}

/// Exit code, then what `results.csv` says, with ports taken out.
fn check(answer: impl Fn() -> Answer + Send + Sync + 'static) -> String {
    let server = FakeServer::start(move |_| answer());
    let (place, said) = run_against(&server.base_url());
    // A failure of the infrastructure is never an empty prediction.
    let predictions = std::fs::read_to_string(place.path().join("out/predictions.jsonl"));
    assert_eq!(predictions.unwrap(), "");
    told(&place, &said)
}

/// Exit code, outcome and error, with ports taken out.
fn told(place: &Place, said: &Said) -> String {
    let [outcome, reason, error] = result(place);
    let port = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    let error = port.replace_all(&error, "[SERVER]");
    format!("code {}\n{outcome} {reason}\n{error}", said.code)
}

#[test]
fn a_server_that_refuses_the_connection() {
    let url = refused_url();
    let (place, said) = run_against(&url);
    insta::assert_snapshot!(told(&place, &said));
}

#[test]
fn a_server_that_refuses_the_key() {
    let body =
        serde_json::json!({"error": {"message": "Incorrect API key", "code": "invalid_api_key"}});
    insta::assert_snapshot!(check(move || Answer::json_with(401, &body)));
}

#[test]
fn a_server_that_stalls() {
    insta::assert_snapshot!(check(|| Answer::head(200, &[]).stall()));
}

#[test]
fn a_server_that_sends_half_a_body() {
    insta::assert_snapshot!(check(|| {
        let headers = [
            ("content-type", "application/json"),
            ("content-length", "1000"),
        ];
        Answer::head(200, &headers)
            .send(b"{\"choices\": [{\"mess".to_vec())
            .close()
    }));
}

#[test]
fn a_server_that_sends_html() {
    insta::assert_snapshot!(check(|| {
        let page = "<html><body>\x1b[31mWelcome to the proxy</body></html>";
        Answer::new(200, &[("content-type", "text/html")], page)
    }));
}

#[test]
fn a_server_that_sends_invalid_utf8() {
    insta::assert_snapshot!(check(|| {
        Answer::new(
            200,
            &[("content-type", "application/json")],
            b"{\"choices\": \"\xff\xfe\"}",
        )
    }));
}

#[test]
fn a_server_that_sends_three_hundred_megabytes() {
    insta::assert_snapshot!(check(|| {
        let headers = [("content-type", "application/json")];
        Answer::head(200, &headers).repeat(vec![b' '; 1 << 16], 300 << 20)
    }));
}

#[test]
fn a_server_that_is_busy() {
    insta::assert_snapshot!(check(|| {
        Answer::json_with(503, &serde_json::json!({"error": {"message": "busy"}}))
            .after(Duration::from_millis(1))
    }));
}
