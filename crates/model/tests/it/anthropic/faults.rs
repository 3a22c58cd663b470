//! Servers that fail: class, tries, message, and no secret anywhere.

use model::Settings;
use schema::ModelFailureKind::{self, Auth, BadRequest, Billing, Overloaded, Timeout};
use schema::event::ModelFailure;
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use super::{error, model_at, model_of};
use crate::support::{KEY, ask, request, settings};

const JSON: (&str, &str) = ("content-type", "application/json");

/// The failure at a server that always answers so, and how often it was asked.
async fn failure(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    stream: bool,
) -> (ModelFailure, usize) {
    let server = FakeServer::start(move |_| answer());
    let failure = ask(&model_at(&server, stream)).await.unwrap_err();
    let label = format!("{}/v1/messages", server.address());
    assert!(failure.message.starts_with(&label), "{}", failure.message);
    assert!(failure.message.len() < 600, "{}", failure.message);
    (failure, server.requests().len())
}

#[tokio::test]
async fn statuses_and_types_decide() {
    let spent = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "m",
        "details": { "error_code": "enforced_spend_limit_reached" } } });
    let long = "prompt is too long: 205668 tokens > 200000 maximum";
    let both = "input length and `max_tokens` exceed context limit: 195102 + 8192 > 200000, decrease input length or `max_tokens` and try again";
    let table: Vec<(u16, Value, Option<ModelFailureKind>, usize)> = vec![
        (
            400,
            error("invalid_request_error", "m"),
            Some(BadRequest),
            1,
        ),
        (400, error("invalid_request_error", long), None, 1),
        (400, error("invalid_request_error", both), None, 1),
        (
            400,
            error("invalid_request_error", &format!("{long}, it says")),
            Some(BadRequest),
            1,
        ),
        (400, spent, Some(Billing), 1),
        (401, error("authentication_error", "m"), Some(Auth), 1),
        (402, error("billing_error", "m"), Some(Billing), 1),
        (403, error("permission_error", "m"), Some(Auth), 1),
        (404, error("not_found_error", "m"), Some(BadRequest), 1),
        (408, error("timeout_error", "m"), Some(Timeout), 3),
        (409, error("conflict_error", "m"), Some(Overloaded), 3),
        (413, error("request_too_large", "m"), None, 1),
        (429, error("rate_limit_error", "m"), Some(Overloaded), 3),
        (500, error("api_error", "m"), Some(Overloaded), 3),
        (503, json!({}), Some(Overloaded), 3),
        (504, error("timeout_error", "m"), Some(Overloaded), 3),
        (529, error("overloaded_error", "m"), Some(Overloaded), 3),
    ];
    for stream in [false, true] {
        for (status, body, kind, tries) in &table {
            let (status, sent) = (*status, body.clone());
            let (failure, asked) = failure(move || Answer::json_with(status, &sent), stream).await;
            assert_eq!(failure.kind, *kind, "{status} {body}");
            assert_eq!(
                (failure.retries.len(), asked),
                (*tries, *tries),
                "{status} {body}"
            );
            assert_eq!(failure.retries[0].status, Some(status));
        }
    }
}

#[tokio::test]
async fn a_refused_request_beyond_the_known_window_is_an_overflow() {
    let body = error("invalid_request_error", "no");
    let server = FakeServer::start(move |_| Answer::json_with(400, &body));
    let settings = Settings {
        window: Some(10),
        ..settings(format!("http://{}", server.address()))
    };
    let model = model_of(&settings);
    let failure = model.query(request(&model, &[], 0)).await.unwrap_err();
    assert_eq!(failure.kind, None);
}

#[tokio::test]
async fn unreadable_answers_are_tried_again_and_then_told() {
    let whole = |body: &'static str| move || Answer::new(200, &[JSON], body);
    for (answer, told) in [
        (whole("{\"content\": [{\"type\": \"text\""), "not JSON"),
        (whole("[1, 2]"), "no message"),
        (whole("{\"content\": null}"), "no content"),
        (whole("{\"content\": [7]}"), "content that cannot be read"),
        (
            whole(
                "{\"type\": \"error\", \"error\": {\"type\": \"api_error\", \"message\": \"odd\"}}",
            ),
            "(api_error): \"odd\"",
        ),
        (whole(""), "an empty body"),
    ] {
        let (failure, asked) = failure(answer, false).await;
        assert!(failure.message.contains(told), "{}", failure.message);
        assert_eq!(
            (failure.kind, asked),
            (Some(Overloaded), 3),
            "{}",
            failure.message
        );
    }
    let cut = || {
        Answer::head(200, &[JSON, ("content-length", "500")])
            .send(b"{\"con".to_vec())
            .close()
    };
    let (broken, asked) = failure(cut, false).await;
    assert!(
        broken
            .message
            .contains("broke off its answer after 5 bytes"),
        "{}",
        broken.message
    );
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn the_key_is_nowhere() {
    let body = error("invalid_request_error", &format!("bad key {KEY} in {KEY}"));
    let (failure, _) = failure(move || Answer::json_with(400, &body), false).await;
    assert!(!format!("{failure:?}").contains(KEY), "{failure:?}");
    assert!(
        failure.message.contains("[redacted]"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn the_users_headers_win() {
    let server = FakeServer::start(|_| Answer::json(&super::hello()));
    let settings = Settings {
        headers: vec![
            ("anthropic-version".into(), "2026-10-21".into()),
            ("anthropic-beta".into(), "something-2026".into()),
        ],
        ..settings(format!("http://{}", server.address()))
    };
    ask(&model_of(&settings)).await.unwrap();
    let request = &server.requests()[0];
    assert_eq!(request.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(request.header("anthropic-beta"), Some("something-2026"));
}
