//! Tries: what failed before the reply is told with it, and a refused key ends all. Waits and cancelling are tested with chat completions.

use schema::ModelFailureKind::Auth;
use serde_json::{Value, json};
use testkit::{Answer, FakeServer};

use super::{event, message, model_at, response};
use crate::support::{ask, attempt, provider_of, request, settings};

fn completed() -> String {
    let response = response(&json!([message("hello")]));
    event("response.completed", json!({ "response": response }))
}

fn failed(code: &str) -> String {
    let error: Value = json!({ "code": code, "message": "m" });
    event(
        "response.failed",
        json!({ "response": { "status": "failed", "error": error } }),
    )
}

#[tokio::test]
async fn failed_tries_are_recorded_with_the_reply() {
    let server = FakeServer::scripted([
        Answer::new(429, &[("retry-after-ms", "20")], "{}"),
        Answer::events(&[failed("server_error")]),
        Answer::events(&[completed()]),
    ]);
    let model = model_at(server.base_url(), true);
    let reply = model.query(request(&model, &[], 0)).await.unwrap();
    let statuses: Vec<_> = reply.retries.iter().map(|retry| retry.status).collect();
    assert_eq!(statuses, [Some(429), Some(200)]);
    assert!(reply.retries[0].waited_ms >= 20);
    assert_eq!(reply.text, "hello");
    let requests = server.requests();
    assert_eq!(
        requests[0].body, requests[2].body,
        "a try repeats the request"
    );
}

#[tokio::test]
async fn a_refused_key_ends_all() {
    let body = json!({ "error": { "message": "no", "code": "invalid_api_key" } });
    let server = FakeServer::start(move |_| Answer::json_with(401, &body));
    let provider = provider_of("openai-responses:test-model", &settings(server.base_url()));
    for _ in 0..3 {
        let failure = ask(&attempt(&provider)).await.unwrap_err();
        assert_eq!(failure.kind, Some(Auth));
    }
    assert_eq!(server.requests().len(), 1, "nothing was sent after it");
}
