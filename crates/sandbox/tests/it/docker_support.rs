//! Containers of a real engine, and questions to them.

use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::place::docker::{Docker, DockerSettings};
use sandbox::place::{Backend, Channel, Launch, Place, PlaceSpec};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::place_spec;

/// How long a start or an answer may take on a machine that does other things too.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

/// An engine, and a directory for what belongs to its places on the host.
pub(crate) struct Engine {
    pub(crate) backend: Arc<Docker>,
    pub(crate) image: &'static str,
    pub(crate) directory: TempDir,
    started: Mutex<Vec<String>>,
}

/// A test that failed leaves nothing either.
impl Drop for Engine {
    fn drop(&mut self) {
        let started = std::mem::take(
            self.started
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        testkit::remove_containers(started);
    }
}

impl Engine {
    /// With an image; `None`, loudly, where there is no engine and nobody requires one.
    pub(crate) async fn with(image: &str) -> Option<Self> {
        Self::settled(image, |_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn settled(
        image: &str,
        change: impl FnOnce(&mut DockerSettings),
    ) -> Option<Self> {
        let image = testkit::docker_image(image)?;
        let directory = tempfile::tempdir().unwrap();
        let mut settings = DockerSettings::new(directory.path());
        change(&mut settings);
        let backend = Arc::new(Docker::connect(settings).await.unwrap());
        Some(Self {
            backend,
            image,
            directory,
            started: Mutex::default(),
        })
    }

    pub(crate) fn spec(&self) -> PlaceSpec {
        PlaceSpec {
            image: Some(self.image.to_owned()),
            ..place_spec()
        }
    }

    pub(crate) async fn start(&self) -> Arc<dyn Place> {
        self.start_as(&self.spec()).await
    }

    pub(crate) async fn start_as(&self, spec: &PlaceSpec) -> Arc<dyn Place> {
        let place = self.backend.start(spec, LIMIT).await.unwrap();
        self.started.lock().unwrap().push(place.id().0.clone());
        place
    }

    pub(crate) async fn remove(&self, place: &Arc<dyn Place>) {
        self.backend.remove(place.id(), LIMIT).await.unwrap();
        self.started
            .lock()
            .unwrap()
            .retain(|name| *name != place.id().0);
        let left = std::fs::read_dir(self.directory.path()).unwrap();
        let names = left.map(|entry| entry.unwrap().file_name());
        // When images were used is remembered.
        assert_eq!(
            names
                .filter(|name| name != "images-used" && name != "images-pulled")
                .count(),
            0
        );
    }
}

/// Runs shell text in a process of its own; what it printed and its exit code.
pub(crate) async fn say(place: &Arc<dyn Place>, text: &str) -> (String, Option<i32>) {
    let channel = open(place, text).await;
    finish(channel).await
}

pub(crate) async fn open(place: &Arc<dyn Place>, text: &str) -> Channel {
    place.open(&launch(text)).await.unwrap()
}

pub(crate) fn launch(text: &str) -> Launch {
    Launch {
        arguments: ["/bin/sh", "-c", text].map(str::to_owned).to_vec(),
        directory: None,
        lasting: false,
    }
}

/// Closes the input and reads to the end.
pub(crate) async fn finish(channel: Channel) -> (String, Option<i32>) {
    let Channel {
        input,
        mut output,
        ended,
        guard,
        ..
    } = channel;
    drop(input);
    let mut printed = Vec::new();
    timeout(LIMIT, output.read_to_end(&mut printed))
        .await
        .unwrap()
        .unwrap();
    let ended = timeout(LIMIT, ended).await.unwrap();
    drop(guard);
    (String::from_utf8_lossy(&printed).into_owned(), ended.code)
}

/// Takes the main process with a shell that reads commands from its input, as the agent's shell does.
pub(crate) async fn hold_main(place: &Arc<dyn Place>) -> Channel {
    let mut channel = open(place, "while read -r line; do eval \"$line\"; done").await;
    assert_eq!(ask(&mut channel, "echo $$").await, "1");
    channel
}

/// Sends a line.
pub(crate) async fn send(channel: &mut Channel, line: &str) {
    channel
        .input
        .write_all(format!("{line}\n").as_bytes())
        .await
        .unwrap();
    channel.input.flush().await.unwrap();
}

/// Sends a line, and reads the line that comes back.
pub(crate) async fn ask(channel: &mut Channel, line: &str) -> String {
    send(channel, line).await;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\n") {
        answer.push(
            timeout(LIMIT, channel.output.read_u8())
                .await
                .unwrap()
                .unwrap(),
        );
    }
    String::from_utf8_lossy(&answer).trim_end().to_owned()
}

/// The engine's own command line, for what happens to containers from outside.
pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "docker {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
