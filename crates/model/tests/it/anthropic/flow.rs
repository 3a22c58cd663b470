//! Tries and waits, against the strict server.

use std::time::{Duration, Instant};

use model::Settings;
use schema::ModelFailureKind::{Auth, Overloaded};
use testkit::strict_anthropic::{Fault, Said};
use testkit::{Answer, FakeServer, StrictAnthropic};

use super::{error, hello, model_at, model_of};
use crate::support::{ask, attempt, provider_of, settings};

#[tokio::test]
async fn failed_tries_are_recorded_with_the_reply() {
    for stream in [false, true] {
        let server = StrictAnthropic::start(|_| {
            let faults = [
                Fault::Status(529, "overloaded_error"),
                Fault::InStream("overloaded_error"),
                Fault::Cut,
            ];
            vec![Said::text("at last").after(faults)]
        });
        let mut settings = Settings {
            stream,
            ..settings(server.base_url())
        };
        settings.retry.max_tries = 4;
        let reply = ask(&model_of(&settings)).await.unwrap();
        assert_eq!(reply.text, "at last");
        let statuses: Vec<_> = reply.retries.iter().map(|retry| retry.status).collect();
        let inside = if stream { 200 } else { 500 };
        assert_eq!(statuses, [Some(529), Some(inside), Some(200)]);
        let bodies = server.requests();
        assert!(
            bodies.iter().all(|sent| sent.body == bodies[0].body),
            "a try repeats the request"
        );
        assert_eq!(server.violations(), [""; 0]);
    }
}

#[tokio::test]
async fn the_server_says_when_to_return() {
    let limited = Answer::new(
        429,
        &[
            ("retry-after", "0.2"),
            ("anthropic-ratelimit-requests-remaining", "0"),
        ],
        error("rate_limit_error", "m").to_string(),
    );
    let server = FakeServer::scripted([limited, Answer::json(&hello())]);
    let started = Instant::now();
    let reply = ask(&model_at(&server, false)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert!(reply.retries[0].waited_ms >= 200);
}

#[tokio::test]
async fn a_refused_key_ends_the_endpoint() {
    let server = FakeServer::start(|_| Answer::json_with(401, &error("authentication_error", "m")));
    let provider = provider_of(
        "anthropic:claude-test-1",
        &settings(format!("http://{}", server.address())),
    );
    for _ in 0..3 {
        assert_eq!(ask(&attempt(&provider)).await.unwrap_err().kind, Some(Auth));
    }
    assert_eq!(
        server.requests().len(),
        1,
        "nothing was sent for the others"
    );
}

#[tokio::test]
async fn a_strict_server_wants_a_key() {
    let server = StrictAnthropic::start(|_| vec![Said::text("never")]);
    let failure = ask(&model_of(&Settings {
        api_key: None,
        ..settings(server.base_url())
    }))
    .await
    .unwrap_err();
    assert_eq!(failure.kind, Some(Auth), "{}", failure.message);
    let script_at_its_end = StrictAnthropic::start(|_| Vec::new());
    let failure = ask(&model_of(&settings(script_at_its_end.base_url())))
        .await
        .unwrap_err();
    assert_ne!(failure.kind, Some(Overloaded), "{}", failure.message);
}
