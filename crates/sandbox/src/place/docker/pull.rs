//! Pulls: tried again where that can help, each answer of a registry named.

use std::time::Duration;

use bollard::auth::DockerCredentials;
use bollard::errors::Error as Answer;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use super::call::Failure;
use super::credentials::{self, Registry};
use super::image::{Source, Trouble};
use super::progress::{Listed, PullPhase};

/// Waits before another try, before jitter of up to half of it.
const WAITS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(10),
    Duration::from_secs(30),
];
/// How long a pull may say nothing: unpacking a large layer is silent.
const SILENCE: Duration = Duration::from_mins(5);
/// How often people are told how far it is.
const TELL: Duration = Duration::from_secs(10);
const MEGA: u64 = 1_000_000;

/// The registry's host in an image's name, where there is one.
fn host(name: &str) -> Option<&str> {
    let (host, _) = name.split_once('/')?;
    (host.contains(['.', ':']) || host == "localhost").then_some(host)
}

/// The name with a tag: without one the engine would pull all there are.
pub(super) fn tagged(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last.contains([':', '@']) {
        name.to_owned()
    } else {
        format!("{name}:latest")
    }
}

/// What can be done about a pull that brought nothing.
#[derive(Debug, PartialEq, Eq)]
enum Class {
    /// Nothing before something else changes.
    Permanent(&'static str),
    Full,
    /// Trying again.
    Transient,
}

/// Pulls an image, again and again while that can help.
pub(super) async fn run(source: &Source, name: &str) -> Result<(), Trouble> {
    let registry = Registry {
        host: host(name),
        default: &source.default_registry,
    };
    let found = credentials::find(source.configuration.as_deref(), registry).await;
    let (found, mut warning) = match found {
        Ok(found) => (found, None),
        Err(problem) => (None, Some(problem)),
    };
    if let Some(problem) = &warning {
        tracing::warn!(image = name, problem, "pulling without credentials");
    }
    let listed = source.pulls.begin(name);
    let mut waits = WAITS.iter();
    loop {
        // The semaphore is never closed. Who waits before another try holds nobody up.
        let turn = source.turns.acquire().await;
        listed.enter(PullPhase::Pulling);
        let started = Instant::now();
        tracing::info!(image = name, "pulling");
        let pulled = once(source, name, found.clone(), &listed).await;
        drop(turn);
        let problem = match pulled {
            Ok(()) => {
                let seconds = started.elapsed().as_secs();
                tracing::info!(image = name, seconds, "pulled");
                return Ok(());
            }
            Err(problem) => problem,
        };
        match class(&problem) {
            Class::Full => return Err(Trouble::Full),
            Class::Permanent(hint) => {
                let hint = match warning.take() {
                    Some(warning) => format!("{hint}; {warning}"),
                    None => hint.to_owned(),
                };
                let problem = said(&problem);
                return Err(Trouble::Refused { problem, hint });
            }
            Class::Transient => {}
        }
        let Some(wait) = waits.next() else {
            return Err(given_up(&problem));
        };
        listed.enter(PullPhase::Pausing);
        let wait = wait.mul_f64(1.0 + fastrand::f64() / 2.0);
        tracing::warn!(
            image = name,
            problem = said(&problem),
            seconds = wait.as_secs(),
            "the pull failed; it is tried again"
        );
        sleep(wait).await;
    }
}

/// How far it is, for the log.
fn log(listed: &Listed) {
    if let Some(progress) = listed.progress() {
        let (megabytes, of) = (progress.bytes / MEGA, progress.total / MEGA);
        tracing::info!(image = progress.image, megabytes, of, "pulling");
    }
}

/// After the last try.
fn given_up(failure: &Failure) -> Trouble {
    let problem = format!("{}, {} times in a row", said(failure), WAITS.len() + 1);
    if failure.is_unanswered() {
        return Trouble::Engine { problem };
    }
    Trouble::Failed { problem }
}

fn said(problem: &Failure) -> String {
    match problem.message() {
        "" => problem.to_string(),
        message => format!("the registry or the engine says: {}", message.trim()),
    }
}

async fn once(
    source: &Source,
    name: &str,
    credentials: Option<DockerCredentials>,
    listed: &Listed,
) -> Result<(), Failure> {
    let options = CreateImageOptionsBuilder::default()
        .from_image(&tagged(name))
        .platform(&source.platform)
        .build();
    let docker = source.docker.clone().with_timeout(SILENCE);
    let mut lines = docker.create_image(Some(options), None, credentials);
    let mut told = Instant::now();
    loop {
        match timeout(SILENCE, lines.next()).await {
            Err(_) => return Err(Failure::Late),
            Ok(None) => return Ok(()),
            // Several lines at once are more than the decoder takes; whether the image came is asked afterwards.
            Ok(Some(Err(Answer::JsonDataError { .. } | Answer::JsonSerdeError { .. }))) => {}
            Ok(Some(Err(error))) => return Err(Failure::Engine(error)),
            Ok(Some(Ok(line))) => listed.hear(&line),
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            log(listed);
        }
    }
}

/// Told by status and the registries' own words: the engine has no codes for them.
fn class(problem: &Failure) -> Class {
    const NAME: &str = "see that the image's name is right and that it can be had from there; a mirror or another name can be given";
    const LOGIN: &str =
        "see that the name is right, and log in with `docker login` where the registry asks for it";
    const PLATFORM: &str = "use an image for this platform, or ask for another with --platform where the engine emulates it";
    const TRUST: &str = "let the engine trust the registry: its certificate, or `insecure-registries` in the engine's configuration";
    let text = problem.message().to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["no space left on device"]) {
        return Class::Full;
    }
    // These say "denied" and "unauthorized" of things that pass.
    // The number 429 alone may as well be of a port or a digest.
    if has(&["toomanyrequests", "too many requests"]) {
        return Class::Transient;
    }
    if has(&[
        "no matching manifest",
        "does not match the specified platform",
        "no match for platform",
    ]) {
        return Class::Permanent(PLATFORM);
    }
    if has(&[
        "pull access denied",
        "unauthorized",
        "authentication required",
        "access forbidden",
        "no basic auth",
        "denied:",
    ]) {
        return Class::Permanent(LOGIN);
    }
    if has(&["x509:", "server gave http response to https client"]) {
        return Class::Permanent(TRUST);
    }
    if has(&[
        "manifest unknown",
        "name unknown",
        "invalid reference format",
        "repository does not exist",
    ]) || matches!(problem.status(), Some(400 | 404))
    {
        return Class::Permanent(NAME);
    }
    Class::Transient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_registries() {
        assert_eq!(host("python:3"), None);
        assert_eq!(host("swebench/x:latest"), None);
        assert_eq!(host("localhost/x"), Some("localhost"));
        assert_eq!(host("127.0.0.1:5000/a/b"), Some("127.0.0.1:5000"));
        let digest = "registry.example/a/b@sha256:00";
        assert_eq!(host(digest), Some("registry.example"));
        assert_eq!(tagged("127.0.0.1:5000/a"), "127.0.0.1:5000/a:latest");
        assert_eq!(tagged("a/b:1"), "a/b:1");
        assert_eq!(tagged("a@sha256:00"), "a@sha256:00");
    }

    fn streamed(text: &str) -> Class {
        class(&Failure::Engine(Answer::DockerStreamError {
            error: text.to_owned(),
        }))
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for text in [
            "toomanyrequests: You have reached your unauthenticated pull rate limit: denied:",
            "received unexpected HTTP status: 503 Service Unavailable",
            "Get \"http://r/v2/\": dial tcp 127.0.0.1:1: connect: connection refused",
            "unexpected EOF",
        ] {
            assert_eq!(streamed(text), Class::Transient, "{text}");
        }
        for text in [
            "manifest for r/x:tag not found: manifest unknown: manifest unknown",
            "pull access denied for x, repository does not exist or may require 'docker login'",
            "unauthorized: authentication required",
            "manifest for 127.0.0.1:42900/x:1 not found: manifest unknown: manifest unknown",
            "no matching manifest for linux/arm64 in the manifest list entries",
            "Get \"https://r/v2/\": http: server gave HTTP response to HTTPS client",
        ] {
            assert!(matches!(streamed(text), Class::Permanent(_)), "{text}");
        }
        assert_eq!(
            streamed("write /var/lib/docker/tmp/x: no space left on device"),
            Class::Full
        );
    }
}
