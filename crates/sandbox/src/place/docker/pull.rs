//! Pulls: tried again where that can help, each answer of a registry named.

use std::sync::Arc;
use std::time::Duration;

use bollard::auth::DockerCredentials;
use bollard::errors::Error as Answer;
use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, timeout};

use super::answers::{Class, class, said};
use super::call::Failure;
use super::credentials;
use super::image::{Source, Trouble};
use super::progress::{Listed, PullPhase};
use super::registries::{Registry, Standing, Turn};

/// Waits before another try, before jitter of up to half of it. What lasts longer is an outage of the registry.
const WAITS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(10),
];
/// Wait before an image is tried again whose registry gives others.
const ALONE: Duration = Duration::from_secs(15);
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

/// Pulls an image, again and again while that can help.
pub(super) async fn run(source: &Source, name: &str) -> Result<(), Trouble> {
    let place = credentials::Registry {
        host: host(name),
        default: &source.default_registry,
    };
    let found = credentials::find(source.configuration.as_deref(), place).await;
    let (credentials, warning) = match found {
        Ok(found) => (found, None),
        Err(problem) => (None, Some(problem)),
    };
    if let Some(problem) = &warning {
        tracing::warn!(image = name, problem, "pulling without credentials");
    }
    let pull = Pull {
        source,
        name,
        credentials,
        warning,
        listed: source.pulls.begin(name),
        registry: source.registries.at(place.label()),
    };
    pull.get().await
}

/// The pull of one image.
struct Pull<'a> {
    source: &'a Source,
    name: &'a str,
    credentials: Option<DockerCredentials>,
    /// Why there are no credentials, where there should be some.
    warning: Option<String>,
    listed: Listed,
    registry: Arc<Registry>,
}

impl Pull<'_> {
    async fn get(&self) -> Result<(), Trouble> {
        let mut lacking = None;
        loop {
            let turn = self.registry.turn().await;
            let waits = match &turn {
                Turn::Free => &WAITS[..],
                Turn::ForAll { .. } => &[],
                Turn::Refused(problem) => return Err(self.away(problem.clone())),
            };
            let began = Instant::now();
            let Err(failure) = self.tries(waits).await else {
                self.registry.gave();
                return Ok(());
            };
            let problem = said(&failure);
            let pause = match class(&failure) {
                Class::Full => return Err(Trouble::Full),
                Class::Permanent(hint) => {
                    self.registry.gave();
                    return Err(self.refused(problem, hint));
                }
                Class::Unclear => return Err(given_up(&failure, waits.len() + 1)),
                Class::Away { pause } => pause,
            };
            self.listed.enter(PullPhase::Pausing);
            match self.registry.gave_nothing(began, &problem, pause) {
                Standing::GivenUp => return Err(self.away(problem)),
                Standing::Away => {}
                Standing::Giving => {
                    let since: Instant = *lacking.get_or_insert_with(Instant::now);
                    let left = self.registry.patience().saturating_sub(since.elapsed());
                    if left.is_zero() {
                        return Err(self.away(problem));
                    }
                    sleep(pause.unwrap_or_default().max(ALONE).min(left)).await;
                }
            }
        }
    }

    /// Tries once, and after each of these waits again while that can help.
    async fn tries(&self, waits: &[Duration]) -> Result<(), Failure> {
        let mut waits = waits.iter();
        loop {
            let Err(failure) = self.turn().await else {
                return Ok(());
            };
            let wait = match (class(&failure), waits.next()) {
                (Class::Away { .. } | Class::Unclear, Some(wait)) => wait,
                (Class::Away { .. } | Class::Unclear | Class::Full | Class::Permanent(_), _) => {
                    return Err(failure);
                }
            };
            self.listed.enter(PullPhase::Pausing);
            let wait = wait.mul_f64(1.0 + fastrand::f64() / 2.0);
            tracing::info!(
                image = self.name,
                problem = said(&failure),
                seconds = wait.as_secs(),
                "the pull failed; it is tried again"
            );
            sleep(wait).await;
        }
    }

    /// One try, when it is its turn. Who waits before another one holds nobody up.
    async fn turn(&self) -> Result<(), Failure> {
        // The semaphore is never closed.
        let _turn = self.source.turns.acquire().await;
        self.listed.enter(PullPhase::Pulling);
        let started = Instant::now();
        tracing::info!(image = self.name, "pulling");
        self.once().await?;
        let seconds = started.elapsed().as_secs();
        tracing::info!(image = self.name, seconds, "pulled");
        Ok(())
    }

    async fn once(&self) -> Result<(), Failure> {
        let options = CreateImageOptionsBuilder::default()
            .from_image(&tagged(self.name))
            .platform(&self.source.platform)
            .build();
        let docker = self.source.docker.clone().with_timeout(SILENCE);
        let mut lines = docker.create_image(Some(options), None, self.credentials.clone());
        let mut told = Instant::now();
        loop {
            match timeout(SILENCE, lines.next()).await {
                Err(_) => return Err(Failure::Late),
                Ok(None) => return Ok(()),
                // Several lines at once are more than the decoder takes; whether the image came is asked afterwards.
                Ok(Some(Err(Answer::JsonDataError { .. } | Answer::JsonSerdeError { .. }))) => {}
                Ok(Some(Err(error))) => return Err(Failure::Engine(error)),
                Ok(Some(Ok(line))) => self.listed.hear(&line),
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                log(&self.listed);
            }
        }
    }

    fn refused(&self, problem: String, hint: &str) -> Trouble {
        let hint = match &self.warning {
            Some(warning) => format!("{hint}; {warning}"),
            None => hint.to_owned(),
        };
        Trouble::Refused { problem, hint }
    }

    fn away(&self, problem: String) -> Trouble {
        Trouble::Away {
            registry: self.registry.host.clone(),
            problem,
        }
    }
}

/// How far it is, for the log.
fn log(listed: &Listed) {
    if let Some(progress) = listed.progress() {
        let (megabytes, of) = (progress.bytes / MEGA, progress.total / MEGA);
        tracing::info!(image = progress.image, megabytes, of, "pulling");
    }
}

/// After the last of so many tries.
fn given_up(failure: &Failure, tries: usize) -> Trouble {
    let problem = format!("{}, {tries} times in a row", said(failure));
    if failure.is_unanswered() {
        return Trouble::Engine { problem };
    }
    Trouble::Failed { problem }
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
}
