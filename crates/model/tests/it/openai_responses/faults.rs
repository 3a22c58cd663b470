//! Servers that fail: class, tries, message. What is the same for all protocols is tested with chat completions.

use model::Settings;
use schema::ModelFailureKind::{self, Auth, BadRequest, Billing, Overloaded, Refused, Timeout};
use schema::event::ModelFailure;
use serde_json::{Value, json};
use testkit::strict_openai_responses::Said;
use testkit::{Answer, FakeServer, StrictResponses};

use super::{event, message, model_at, model_with, response};
use crate::support::{KEY, ask, settings};

/// The failure at a server that always answers so, and how often it was asked.
async fn failure(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    stream: bool,
) -> (ModelFailure, usize) {
    let server = FakeServer::start(move |_| answer());
    let failure = ask(&model_at(server.base_url(), stream)).await.unwrap_err();
    let label = format!("{}/v1/responses", server.address());
    assert!(failure.message.starts_with(&label), "{}", failure.message);
    (failure, server.requests().len())
}

#[tokio::test]
async fn statuses_and_codes_decide() {
    let table: [(u16, &str, Option<ModelFailureKind>, usize); 12] = [
        (401, "invalid_api_key", Some(Auth), 1),
        (403, "unsupported_country_region_territory", Some(Auth), 1),
        (429, "insufficient_quota", Some(Billing), 1),
        (400, "invalid_encrypted_content", Some(BadRequest), 1),
        (404, "model_not_found", Some(BadRequest), 1),
        (400, "context_length_exceeded", None, 1),
        (413, "request_too_large", None, 1),
        (400, "invalid_prompt", Some(Refused), 1),
        (429, "rate_limit_exceeded", Some(Overloaded), 3),
        (500, "server_error", Some(Overloaded), 3),
        (503, "", Some(Overloaded), 3),
        (408, "", Some(Timeout), 3),
    ];
    for (status, code, kind, tries) in table {
        let server = StrictResponses::start(move |_| vec![Said::refused(status, code)]);
        let failure = ask(&model_at(server.base_url(), false)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{status} {code}");
        let asked = (failure.retries.len(), server.requests().len());
        assert_eq!(asked, (tries, tries), "{status} {code}");
        assert!(failure.message.contains(code), "{}", failure.message);
    }
}

#[tokio::test]
async fn responses_that_fail_have_classes() {
    for (code, kind, tries) in [
        ("server_error", Some(Overloaded), 3),
        ("rate_limit_exceeded", Some(Overloaded), 3),
        ("vector_store_timeout", Some(Overloaded), 3),
        ("something_new", Some(Overloaded), 3),
        ("insufficient_quota", Some(Billing), 1),
        ("context_length_exceeded", None, 1),
        ("invalid_prompt", Some(Refused), 1),
        ("bio_policy", Some(Refused), 1),
        ("invalid_image", Some(BadRequest), 1),
    ] {
        for stream in [false, true] {
            let server = StrictResponses::start(move |_| vec![Said::failed(code)]);
            let failure = ask(&model_at(server.base_url(), stream)).await.unwrap_err();
            assert_eq!(failure.kind, kind, "{code}");
            assert_eq!(failure.retries.len(), tries, "{code}");
            assert!(failure.message.contains(code), "{}", failure.message);
        }
    }
}

#[tokio::test]
async fn errors_inside_a_stream_have_classes() {
    let error =
        |code: Value| json!({ "type": "error", "code": code, "message": "m", "param": null });
    for (event, kind, tries) in [
        (error(json!("context_length_exceeded")), None, 1),
        (error(json!("rate_limit_exceeded")), Some(Overloaded), 3),
        (error(Value::Null), Some(Overloaded), 3),
        (
            json!({ "type": "error", "error": { "code": "insufficient_quota", "message": "pay" } }),
            Some(Billing),
            1,
        ),
        (
            json!({ "error": { "code": 429, "message": "slow" } }),
            Some(Overloaded),
            3,
        ),
        (json!({ "type": "response.failed" }), Some(Overloaded), 3),
        (
            json!({ "type": "response.failed", "response": { "error": null } }),
            Some(Overloaded),
            3,
        ),
    ] {
        let events = [super::done(0, &message("x")), event.to_string()];
        let (failure, asked) = failure(move || Answer::events(&events), true).await;
        assert_eq!(failure.kind, kind, "{event}");
        assert_eq!(asked, tries, "{event}");
    }
}

#[tokio::test]
async fn unreadable_answers_are_tried_again_and_then_told() {
    let with = |field: &str, value: Value| {
        let mut body = response(&json!([]));
        body[field] = value;
        body.to_string()
    };
    for (body, what) in [
        ("{\"output\": [{\"ty".to_owned(), "not JSON"),
        ("\"text\"".to_owned(), "no response"),
        (
            "{\"choices\": [{\"message\": {}}]}".to_owned(),
            "without output",
        ),
        (with("output", json!(["x"])), "output that cannot be read"),
        (with("output", Value::Null), "without output"),
        (with("status", json!("in_progress")), "is in_progress"),
        (with("status", json!("cancelled")), "is cancelled"),
    ] {
        let json = [("content-type", "application/json")];
        let (failure, asked) = failure(move || Answer::new(200, &json, &body), false).await;
        assert!(failure.message.contains(what), "{}", failure.message);
        assert_eq!((failure.kind, asked), (Some(Overloaded), 3), "{what}");
    }
}

#[tokio::test]
async fn a_stream_without_an_end_is_no_answer() {
    let item = super::done(0, &message("hi"));
    let delta = event("response.output_text.delta", json!({ "delta": "hi" }));
    for (events, what) in [
        (vec![item.clone()], "before the response was complete"),
        (vec![delta], "before the response was complete"),
        (vec![], "before the response was complete"),
        (vec!["[DONE]".to_owned()], "without a response"),
        (vec![item, "{\"type".to_owned()], "cannot be read"),
    ] {
        let (failure, asked) = failure(move || Answer::events(&events), true).await;
        assert!(failure.message.contains(what), "{}", failure.message);
        assert_eq!((failure.kind, asked), (Some(Overloaded), 3));
    }
}

#[tokio::test]
async fn secrets_are_nowhere() {
    let body =
        json!({ "error": { "message": format!("bad key {KEY}"), "code": "invalid_api_key" } });
    let server = FakeServer::start(move |_| Answer::json_with(401, &body));
    let model = model_with(&Settings {
        headers: vec![("openai-project".into(), "proj-value-of-header".into())],
        ..settings(server.base_url())
    });
    let failure = ask(&model).await.unwrap_err();
    assert!(!format!("{failure:?}").contains(KEY));
    assert!(failure.message.contains("[redacted]"));
    assert_eq!(
        server.requests()[0].header("openai-project"),
        Some("proj-value-of-header")
    );
}
