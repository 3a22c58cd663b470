//! Tries, waits, cancelling, the stop after a refused key, and many requests at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent::ports::Request;
use schema::ModelFailureKind::{Auth, Timeout};
use serde_json::json;
use testkit::{Answer, FakeServer};
use tokio::task::JoinSet;

use crate::support::{ask, attempt, hello, model_at, provider, request, settings};

#[tokio::test]
async fn failed_tries_are_recorded_with_the_reply() {
    let server = FakeServer::scripted([
        Answer::json_with(503, &json!({})),
        Answer::json_with(429, &json!({})),
        Answer::json(&hello()).after(Duration::from_millis(30)),
    ]);
    let model = model_at(server.base_url());
    let asked = request(&model, &[], 0);
    let waits = asked.waits.clone();
    let reply = model.query(asked).await.unwrap();
    let statuses: Vec<_> = reply.retries.iter().map(|retry| retry.status).collect();
    assert_eq!(statuses, [Some(503), Some(429)]);
    assert!(reply.elapsed_ms >= 30 && reply.elapsed_ms < 5000);
    assert!(waits.total() > Duration::ZERO && !waits.is_waiting());
    let bodies = server.requests();
    assert_eq!(bodies[0].body, bodies[2].body, "a try repeats the request");
}

#[tokio::test]
async fn the_server_says_when_to_return() {
    let limited = |headers: &[(&str, &str)]| Answer::new(429, headers, "{}");
    for headers in [
        vec![("retry-after", "0.2")],
        vec![("retry-after-ms", "200")],
    ] {
        let server = FakeServer::scripted([limited(&headers), Answer::json(&hello())]);
        let started = Instant::now();
        let reply = ask(&model_at(server.base_url())).await.unwrap();
        assert!(started.elapsed() >= Duration::from_millis(200));
        assert!(reply.retries[0].waited_ms >= 200);
    }
    // A date is read against the server's own clock; an absurd wish is cut.
    let server = FakeServer::scripted([
        limited(&[
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:49:36 GMT"),
        ]),
        limited(&[("retry-after", "86400")]),
        Answer::json(&hello()),
    ]);
    let mut settings = settings(server.base_url());
    settings.retry.server_cap = Duration::from_millis(50);
    let reply = ask(&attempt(&provider(&settings))).await.unwrap();
    assert!(reply.retries[0].waited_ms < 50);
    assert!((50..1000).contains(&reply.retries[1].waited_ms));
}

#[tokio::test]
async fn cancelling_ends_a_request_at_any_point() {
    let stalling = FakeServer::start(|_| Answer::default().stall());
    let limiting = FakeServer::start(|_| Answer::new(429, &[("retry-after", "100")], "{}"));
    for server in [&stalling, &limiting] {
        let model = model_at(server.base_url());
        let asked = request(&model, &[], 0);
        let cancel = asked.cancel.clone();
        let query = model.query(asked);
        let cancelling = async {
            while server.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(query, cancelling);
        let failure = result.unwrap_err();
        assert_eq!(failure.kind, Some(Timeout));
        assert!(failure.message.contains("cancelled"), "{}", failure.message);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_attempts_own_time_is_a_deadline() {
    let server = FakeServer::start(|_| Answer::default().stall());
    let model = model_at(server.base_url());
    let asked = Request {
        time_left: Some(Duration::from_millis(80)),
        ..request(&model, &[], 0)
    };
    let started = Instant::now();
    let failure = model.query(asked).await.unwrap_err();
    assert_eq!(failure.kind, Some(Timeout));
    assert!(
        failure.message.contains("time was up"),
        "{}",
        failure.message
    );
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(server.requests().len(), 1, "no time for another try");
}

#[tokio::test]
async fn after_a_refused_key_no_request_starts() {
    let count = AtomicUsize::new(0);
    let server = FakeServer::start(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            Answer::new(429, &[("retry-after", "100")], "{}")
        } else {
            Answer::json_with(
                401,
                &json!({ "error": { "message": "no", "code": "invalid_api_key" } }),
            )
        }
    });
    let provider = provider(&settings(server.base_url()));
    let (first, second) = (attempt(&provider), attempt(&provider));
    let waiting = ask(&first);
    let refused = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        ask(&second).await
    };
    let (waiting, refused) = tokio::join!(waiting, refused);
    let (waiting, refused) = (waiting.unwrap_err(), refused.unwrap_err());
    assert_eq!((waiting.kind, refused.kind), (Some(Auth), Some(Auth)));
    assert_eq!(waiting.message, refused.message);
    assert_eq!(
        waiting.retries[0].status,
        Some(429),
        "its own tries stay its own"
    );
    let later = ask(&attempt(&provider)).await.unwrap_err();
    assert_eq!(later.kind, Some(Auth));
    assert_eq!(server.requests().len(), 2, "nothing was sent for the third");
}

#[tokio::test]
async fn a_healthy_server_sees_all_workers_at_once() {
    let server = FakeServer::start(|_| Answer::json(&hello()).after(Duration::from_millis(200)));
    let provider = provider(&settings(server.base_url()));
    let mut workers = JoinSet::new();
    for _ in 0..64 {
        let model = attempt(&provider);
        workers.spawn(async move {
            for _ in 0..3 {
                ask(&model).await.unwrap();
            }
        });
    }
    let started = Instant::now();
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    assert_eq!(server.most_in_flight(), 64);
    assert!(
        started.elapsed() < Duration::from_secs(6),
        "{:?}",
        started.elapsed()
    );
    let connections = server
        .requests()
        .iter()
        .map(|request| request.connection)
        .max();
    assert!(connections.unwrap() < 64, "connections are kept");
}

#[tokio::test]
async fn the_users_limit_of_connections_holds() {
    let server = FakeServer::start(|_| Answer::json(&hello()).after(Duration::from_millis(5)));
    let mut settings = settings(server.base_url());
    settings.max_connections = Some(3);
    let provider = provider(&settings);
    let mut workers = JoinSet::new();
    for _ in 0..20 {
        let model = attempt(&provider);
        workers.spawn(async move { ask(&model).await.unwrap() });
    }
    while let Some(worker) = workers.join_next().await {
        worker.unwrap();
    }
    assert_eq!(server.most_in_flight(), 3);
}
