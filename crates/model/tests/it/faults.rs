//! Servers that fail in every way: class, tries, message, and no secret anywhere.

use std::time::{Duration, Instant};

use model::{Deadlines, Settings};
use schema::ModelFailureKind::{self, Auth, BadRequest, Billing, Overloaded, Refused, Timeout};
use schema::event::ModelFailure;
use serde_json::json;
use testkit::{Answer, FakeServer, refused_url};

use crate::support::{KEY, ask, attempt, hello, model_at, provider, settings};

const JSON: (&str, &str) = ("content-type", "application/json");

/// How long a server that stalls is waited for.
const STALL: Duration = Duration::from_millis(150);

/// The failure at a server that always answers so, and how often it was asked.
async fn failure(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    stream: bool,
) -> (ModelFailure, usize) {
    failure_within(Deadlines::default(), answer, stream).await
}

/// The same with a server that stalls after its head, which may take as long as a busy machine needs.
async fn stalled(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    stream: bool,
) -> ModelFailure {
    let deadlines = Deadlines {
        idle: STALL,
        ..Deadlines::default()
    };
    failure_within(deadlines, answer, stream).await.0
}

async fn failure_within(
    deadlines: Deadlines,
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    stream: bool,
) -> (ModelFailure, usize) {
    let server = FakeServer::start(move |_| answer());
    let settings = Settings {
        stream,
        deadlines,
        ..settings(server.base_url())
    };
    let failure = ask(&attempt(&provider(&settings))).await.unwrap_err();
    let label = format!("{}/v1/chat/completions", server.address());
    assert!(failure.message.starts_with(&label), "{}", failure.message);
    assert!(failure.message.len() < 600, "{}", failure.message);
    (failure, server.requests().len())
}

#[tokio::test]
async fn statuses_and_codes_decide() {
    let typed = |code: &str| json!({ "error": { "message": "m", "code": code } });
    let table: Vec<(u16, serde_json::Value, Option<ModelFailureKind>, usize)> = vec![
        (401, typed("invalid_api_key"), Some(Auth), 1),
        (403, json!({}), Some(Auth), 1),
        (402, json!({}), Some(Billing), 1),
        (429, typed("insufficient_quota"), Some(Billing), 1),
        (400, typed("whatever"), Some(BadRequest), 1),
        (404, typed("model_not_found"), Some(BadRequest), 1),
        (
            422,
            json!({ "detail": [{ "msg": "no" }] }),
            Some(BadRequest),
            1,
        ),
        (400, typed("context_length_exceeded"), None, 1),
        (
            400,
            json!({ "error": { "type": "exceed_context_size_error" } }),
            None,
            1,
        ),
        (413, json!({}), None, 1),
        (400, typed("content_filter"), Some(Refused), 1),
        (429, json!({}), Some(Overloaded), 3),
        (500, json!({}), Some(Overloaded), 3),
        (503, json!({}), Some(Overloaded), 3),
        (529, typed("overloaded_error"), Some(Overloaded), 3),
        (408, json!({}), Some(Timeout), 3),
    ];
    for (status, body, kind, tries) in table {
        let sent = body.clone();
        let (failure, asked) = failure(move || Answer::json_with(status, &sent), false).await;
        assert_eq!(failure.kind, kind, "{status} {body}");
        assert_eq!(
            (failure.retries.len(), asked),
            (tries, tries),
            "{status} {body}"
        );
        assert_eq!(failure.retries[0].status, Some(status));
        assert!(
            failure.message.contains(&status.to_string()),
            "{}",
            failure.message
        );
    }
}

#[tokio::test]
async fn unreadable_answers_are_tried_again_and_then_told() {
    let whole = |body: &'static [u8]| move || Answer::new(200, &[JSON], body);
    let half = || {
        Answer::head(200, &[JSON, ("content-length", "500")])
            .send(b"{\"choices\": [".to_vec())
            .close()
    };
    let closed = || Answer::default().close();
    let html = || {
        Answer::new(
            200,
            &[("content-type", "text/html")],
            "<!DOCTYPE html><p>\x1b[31mhi",
        )
    };
    let (f, n) = failure(html, false).await;
    assert_told(&f, n, "HTML instead of JSON");
    assert!(!f.message.contains('\x1b'));
    let (f, n) = failure(half, false).await;
    assert_told(&f, n, "broke off its answer after 13 bytes");
    let (f, n) = failure(
        whole(b"{\"choices\":[{\"message\":{\"content\":\"\xff\xfe\"}}]}"),
        false,
    )
    .await;
    assert_told(&f, n, "invalid UTF-8 at byte 35");
    let (f, n) = failure(whole(b"{\"choices\": [{\"mess"), false).await;
    assert_told(&f, n, "not JSON");
    let (f, n) = failure(whole(b""), false).await;
    assert_told(&f, n, "an empty body");
    let (f, n) = failure(whole(b"{\"choices\": []}"), false).await;
    assert_told(&f, n, "no choices");
    let (f, n) = failure(whole(b"[1, 2]"), false).await;
    assert_told(&f, n, "no chat completion");
    let (f, n) = failure(whole(b"{\"choices\": [{\"index\": 0}]}"), false).await;
    assert_told(&f, n, "without a message");
    let (f, n) = failure(closed, false).await;
    assert_told(&f, n, "without an answer");
    let cut = || {
        Answer::chunked("text/event-stream")
            .chunk(b"data: {\"choices\": [{\"delta\": {\"content\": \"\xc3")
            .close()
    };
    let (f, n) = failure(cut, true).await;
    assert_told(&f, n, "broke off");
    let torn = || Answer::pieces("text/event-stream", [&b"data: \"\xc3\n\n"[..]]);
    let (f, n) = failure(torn, true).await;
    assert_told(&f, n, "invalid UTF-8");
}

fn assert_told(failure: &ModelFailure, asked: usize, what: &str) {
    assert!(failure.message.contains(what), "{}", failure.message);
    assert_eq!(failure.kind, Some(Overloaded), "{}", failure.message);
    assert_eq!(
        (failure.retries.len(), asked),
        (3, 3),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn stalls_end_at_their_deadlines() {
    let silent = || Answer::default().stall();
    let deadlines = Deadlines {
        first_byte: STALL,
        ..Deadlines::default()
    };
    let (f, _) = failure_within(deadlines, silent, false).await;
    assert!(
        f.message.contains("no answer within 150ms"),
        "{}",
        f.message
    );
    assert_eq!(f.kind, Some(Timeout));
    let mid_body = || {
        Answer::head(200, &[JSON, ("content-length", "50")])
            .send(b"{".to_vec())
            .stall()
    };
    let f = stalled(mid_body, false).await;
    assert!(
        f.message.contains("stalled for 150ms after 1 bytes"),
        "{}",
        f.message
    );
    assert_eq!((f.kind, f.retries.len()), (Some(Timeout), 3));
    let mid_stream = || {
        Answer::chunked("text/event-stream")
            .chunk(b"data: {\"cho")
            .stall()
    };
    let f = stalled(mid_stream, true).await;
    assert!(f.message.contains("stalled"), "{}", f.message);
}

#[tokio::test]
async fn a_drip_ends_at_the_total_deadline() {
    let server = FakeServer::start(|_| {
        let mut answer = Answer::chunked("text/event-stream");
        for _ in 0..200 {
            answer = answer.chunk(b": ping\n\n").pause(Duration::from_millis(10));
        }
        answer
    });
    let mut settings = settings(server.base_url());
    settings.deadlines.total = Duration::from_millis(100);
    settings.retry.max_tries = 1;
    let failure = ask(&attempt(&provider(&settings))).await.unwrap_err();
    assert!(
        failure.message.contains("no whole answer within 100ms"),
        "{}",
        failure.message
    );
    assert_eq!(failure.kind, Some(Timeout));
}

#[tokio::test]
async fn nobody_there() {
    let base = refused_url();
    let (host, _) = base.trim_start_matches("http://").split_once('/').unwrap();
    let failure = ask(&model_at(base.clone())).await.unwrap_err();
    assert!(failure.message.starts_with(host), "{}", failure.message);
    assert!(failure.message.contains("refused"), "{}", failure.message);
    assert_eq!((failure.kind, failure.retries.len()), (Some(Overloaded), 3));
    let unknown = "http://no-such-host.invalid/v1".to_owned();
    let failure = ask(&model_at(unknown)).await.unwrap_err();
    assert!(
        failure.message.contains("cannot be reached"),
        "{}",
        failure.message
    );
    let server = FakeServer::start(|_| Answer::json(&hello()));
    let tls = format!("https://{}/v1", server.address());
    let failure = ask(&model_at(tls)).await.unwrap_err();
    assert_eq!(failure.kind, Some(Overloaded), "{}", failure.message);
}

#[tokio::test]
async fn a_wrong_address_shows_soon_and_an_outage_is_waited_out() {
    let mut settings = settings(refused_url());
    settings.retry.max_tries = 8;
    let failure = ask(&attempt(&provider(&settings))).await.unwrap_err();
    assert_eq!(failure.retries.len(), 3);
}

#[tokio::test]
async fn a_huge_reply_is_cut_off() {
    let endless = |length: Option<u64>| {
        move || {
            let total = 300 << 20;
            let head = match length {
                Some(length) => Answer::head(200, &[JSON, ("content-length", &length.to_string())]),
                None => Answer::head(
                    200,
                    &[
                        ("content-type", "text/event-stream"),
                        ("connection", "close"),
                    ],
                ),
            };
            head.send(b"data: ".to_vec())
                .repeat(vec![b'x'; 1 << 16], total)
                .close()
        }
    };
    for (length, stream) in [(Some((300 << 20) + 6), false), (None, true)] {
        let started = Instant::now();
        let before = peak_memory();
        let (failure, asked) = failure(endless(length), stream).await;
        assert!(
            failure.message.contains("more than 64 MiB"),
            "{}",
            failure.message
        );
        assert_eq!(
            (failure.kind, asked),
            (Some(Overloaded), 1),
            "not worth a second try"
        );
        let grown = peak_memory().saturating_sub(before);
        assert!(grown < 200 << 20, "grew by {grown} bytes");
        assert!(started.elapsed() < Duration::from_mins(1));
    }
}

/// Peak resident memory of this process in bytes; the fake server's buffers are part of it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes << 10
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let elsewhere = FakeServer::scripted([]);
    let target = format!("{}/chat/completions", elsewhere.base_url());
    for status in [301, 302, 303, 307, 308] {
        let location = target.clone();
        let answer = move || Answer::new(status, &[("location", &location)], "");
        let (failure, asked) = failure(answer, false).await;
        assert_eq!((failure.kind, asked), (Some(BadRequest), 1), "{status}");
        assert!(failure.message.contains(&target), "{}", failure.message);
    }
    assert!(elsewhere.requests().is_empty(), "no key went there");
}

#[tokio::test]
async fn secrets_are_nowhere() {
    let echo = format!("bad key {KEY} and header value-of-header");
    let body = json!({ "error": { "message": echo, "code": "nope" } });
    let server = FakeServer::start(move |_| Answer::json_with(400, &body));
    let (_, rest) = server
        .base_url()
        .split_once("//")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let settings = Settings {
        headers: vec![("x-team".into(), "value-of-header".into())],
        ..settings(format!(
            "http://user:password-of-mine@{rest}?token=query-secret"
        ))
    };
    let provider = provider(&settings);
    let failure = ask(&attempt(&provider)).await.unwrap_err();
    let shown = format!("{failure:?} {} {settings:?}", provider.name());
    for secret in [KEY, "value-of-header", "password-of-mine", "query-secret"] {
        assert!(!failure.message.contains(secret), "{}", failure.message);
        assert!(!format!("{failure:?}").contains(secret));
    }
    assert!(
        !shown.contains(KEY) && !shown.contains("value-of-header"),
        "{shown}"
    );
    assert!(
        failure.message.contains("[redacted]"),
        "{}",
        failure.message
    );
    let request = &server.requests()[0];
    assert_eq!(request.header("x-team"), Some("value-of-header"));
    assert!(
        request.path.ends_with("?token=query-secret"),
        "{}",
        request.path
    );
}
