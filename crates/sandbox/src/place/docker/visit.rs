//! A shell for people in a container that was kept.

use std::sync::Arc;
use std::time::Duration;

use bollard::errors::Error as Answer;
use bollard::exec::{CreateExecOptions, ResizeExecOptions, StartExecOptions, StartExecResults};
use bollard::query_parameters::{InspectContainerOptions, KillContainerOptions};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};
use tokio_util::io::StreamReader;

use super::container;
use super::main_process::Main;
use super::{Docker, call};
use crate::error::Error;
use crate::place::terminal::{Resize, Size, Terminal, Visit, shell};
use crate::place::{Ended, PlaceId};

/// How long the engine may take for one answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a container may take to start.
const START: Duration = Duration::from_mins(1);
/// How often it is asked whether the shell has ended, once its stream has.
const ASK: Duration = Duration::from_millis(20);
/// Keys that leave the shell running, which nobody types: the engine's own would hold back a key that shells use.
const DETACH: &str = "ctrl-@,ctrl-],ctrl-^,ctrl-_";

impl Docker {
    /// Whether a container of that name is there.
    pub(super) async fn find(&self, id: &PlaceId) -> Result<bool, Error> {
        let inspected = self
            .engine
            .inspect_container(&id.0, None::<InspectContainerOptions>);
        match call::within(ANSWER, inspected).await {
            Ok(_) => Ok(true),
            Err(failure) if failure.status() == Some(404) => Ok(false),
            Err(failure) => Err(failure.losing(format!("look for the container {}", id.0))),
        }
    }

    /// Opens a shell in a container, which is started first where it is stopped, and then ends with that shell.
    pub(super) async fn visit_container(
        &self,
        id: &PlaceId,
        visit: &Visit,
    ) -> Result<Terminal, Error> {
        let operation = || format!("open a shell in the container {}", id.0);
        let inspected = self
            .engine
            .inspect_container(&id.0, None::<InspectContainerOptions>);
        let found = call::within(ANSWER, inspected)
            .await
            .map_err(|failure| failure.losing(operation()))?;
        let running = found.state.and_then(|state| state.running) == Some(true);
        let main = if running {
            None
        } else {
            let until = Instant::now() + START;
            let up = container::bring_up(&self.engine, &id.0, until).await;
            Some(up.map_err(|not_up| not_up.of(&id.0))?.0)
        };
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(true),
            detach_keys: Some(DETACH.to_owned()),
            env: Some(vec![format!("TERM={}", visit.terminal)]),
            cmd: Some(shell(&visit.init)),
            ..CreateExecOptions::default()
        };
        let exec = call::within(ANSWER, self.engine.create_exec(&id.0, options))
            .await
            .map_err(|failure| failure.losing(operation()))?
            .id;
        let options = StartExecOptions {
            tty: true,
            ..StartExecOptions::default()
        };
        let started = call::within(ANSWER, self.engine.start_exec(&exec, Some(options)))
            .await
            .map_err(|failure| failure.losing(operation()))?;
        let StartExecResults::Attached { output, input } = started else {
            return Err(Error::lost(operation(), "the engine does not show it"));
        };
        let sizes = Arc::new(Exec {
            engine: self.engine.clone(),
            id: exec,
        });
        sizes.resize(visit.size).await;
        let (over, heard) = oneshot::channel();
        let output = output.chain(futures_util::stream::once(async move {
            // The shell's stream ends with it.
            let _ = over.send(());
            Ok::<_, Answer>(bollard::container::LogOutput::Console {
                message: bytes::Bytes::new(),
            })
        }));
        let output = output
            .map_ok(bollard::container::LogOutput::into_bytes)
            .try_filter(|piece| std::future::ready(!piece.is_empty()))
            .map_err(std::io::Error::other)
            .boxed();
        Ok(Terminal {
            input: Box::new(input),
            output: Box::new(StreamReader::new(output)),
            ended: Box::pin(end(Arc::clone(&sizes), id.0.clone(), main, heard)),
            sizes,
        })
    }
}

/// The engine's number of the shell.
struct Exec {
    engine: bollard::Docker,
    id: String,
}

impl Resize for Exec {
    fn resize(&self, size: Size) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let options = ResizeExecOptions {
                height: size.rows,
                width: size.columns,
            };
            let _ = call::within(ANSWER, self.engine.resize_exec(&self.id, options)).await;
        })
    }
}

/// Waits for the shell's end, and puts the container to rest where this visit has started it. One that is dropped does that too: nobody holds the
/// main process's input any more.
async fn end(
    exec: Arc<Exec>,
    container: String,
    main: Option<Main>,
    heard: oneshot::Receiver<()>,
) -> Ended {
    let _ = heard.await;
    let until = Instant::now() + ANSWER;
    let mut code = None;
    while let Ok(found) = call::by(until, exec.engine.inspect_exec(&exec.id)).await {
        if found.running != Some(true) {
            code = found.exit_code.and_then(|code| i32::try_from(code).ok());
            break;
        }
        sleep(ASK).await;
    }
    if main.is_some() {
        let kill = exec
            .engine
            .kill_container(&container, None::<KillContainerOptions>);
        let _ = call::within(ANSWER, kill).await;
    }
    Ended { code }
}
