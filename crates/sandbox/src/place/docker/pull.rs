//! Pulls: tried again where that can help, each answer of a registry named.

use std::collections::HashMap;
use std::time::Duration;

use bollard::auth::DockerCredentials;
use bollard::errors::Error as Answer;
use bollard::models::CreateImageInfo;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use super::call::Failure;
use super::credentials::{self, Registry};
use super::image::{Source, Trouble};

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
const MEGA: i64 = 1_000_000;

/// The registry's host in an image's name, where there is one.
fn host(name: &str) -> Option<&str> {
    let (host, _) = name.split_once('/')?;
    (host.contains(['.', ':']) || host == "localhost").then_some(host)
}

/// The name with a tag: without one the engine would pull all there are.
fn tagged(name: &str) -> String {
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
    let mut waits = WAITS.iter();
    loop {
        let started = Instant::now();
        tracing::info!(image = name, "pulling");
        let problem = match once(source, name, found.clone()).await {
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
            return Err(Trouble::Failed {
                problem: format!("{}, {} times in a row", said(&problem), WAITS.len() + 1),
            });
        };
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
) -> Result<(), Failure> {
    let options = CreateImageOptionsBuilder::default()
        .from_image(&tagged(name))
        .platform(&source.platform)
        .build();
    let docker = source.docker.clone().with_timeout(SILENCE);
    let mut lines = docker.create_image(Some(options), None, credentials);
    let mut progress = Progress::default();
    loop {
        match timeout(SILENCE, lines.next()).await {
            Err(_) => return Err(Failure::Late),
            Ok(None) => return Ok(()),
            // Several lines at once are more than the decoder takes; whether the image came is asked afterwards.
            Ok(Some(Err(Answer::JsonDataError { .. } | Answer::JsonSerdeError { .. }))) => {}
            Ok(Some(Err(error))) => return Err(Failure::Engine(error)),
            Ok(Some(Ok(line))) => progress.hear(name, &line),
        }
    }
}

/// How far the layers are.
struct Progress {
    layers: HashMap<String, (i64, i64)>,
    told: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            layers: HashMap::new(),
            told: Instant::now(),
        }
    }
}

impl Progress {
    fn hear(&mut self, image: &str, line: &CreateImageInfo) {
        let (Some(layer), Some(status)) = (&line.id, &line.status) else {
            return;
        };
        let detail = line.progress_detail.as_ref();
        let both = detail.and_then(|detail| detail.current.zip(detail.total));
        if status == "Downloading"
            && let Some(both) = both
        {
            self.layers.insert(layer.clone(), both);
        } else if let Some(layer) = self.layers.get_mut(layer) {
            layer.0 = layer.1;
        }
        if self.told.elapsed() >= TELL {
            self.told = Instant::now();
            let (done, all) = self
                .layers
                .values()
                .fold((0, 0), |(done, all), layer| (done + layer.0, all + layer.1));
            tracing::info!(image, megabytes = done / MEGA, of = all / MEGA, "pulling");
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
    if has(&["toomanyrequests", "too many requests", "429"]) {
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
