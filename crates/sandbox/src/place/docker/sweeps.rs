//! Programs whose channel was dropped while they ran: each is ended before the next one starts, or soon.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bollard::Docker;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::exec::Entry;
use super::{call, exec};

/// How long a program whose input ended may take to end by itself: most do, and an exec for each of them would cost more than they do.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long the engine may take to say whether one still runs.
const ANSWER: Duration = Duration::from_secs(5);

/// A program to end.
struct Program {
    /// Number of its first process, as it sees itself.
    root: u32,
    /// Exec that it was started by; `None` for the container's main process, which stays.
    exec: Option<String>,
}

/// Those of one container.
pub(super) struct Sweeps {
    docker: Docker,
    container: String,
    entry: Arc<Entry>,
    waiting: Mutex<Vec<Program>>,
    /// One after the other, so that whoever waits for all waits for those under way.
    turn: tokio::sync::Mutex<()>,
    /// Held while a program is on its way into the container.
    entrance: Arc<tokio::sync::Mutex<()>>,
}

impl Sweeps {
    pub(super) fn new(
        docker: Docker,
        container: String,
        entry: Arc<Entry>,
        entrance: Arc<tokio::sync::Mutex<()>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            docker,
            container,
            entry,
            waiting: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            entrance,
        })
    }

    /// What a channel holds for as long as its program may run; `gone` says that it has ended.
    pub(super) fn guard(
        sweeps: &Arc<Self>,
        root: u32,
        exec: Option<String>,
        gone: Arc<AtomicBool>,
    ) -> Box<dyn Send + Sync> {
        Box::new(Guard {
            sweeps: Arc::clone(sweeps),
            program: Some(Program { root, exec }),
            gone,
        })
    }

    fn take(&self) -> Vec<Program> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Forgets them: something else has ended them.
    pub(super) fn forget(&self) {
        drop(self.take());
    }

    /// Ends all that wait.
    pub(super) async fn run(&self) {
        let _turn = self.turn.lock().await;
        for program in self.take() {
            if self.has_ended(&program).await {
                continue;
            }
            let _entrance = self.entrance.lock().await;
            if exec::sweep(&self.docker, &self.container, &self.entry, program.root)
                .await
                .is_err()
            {
                tracing::warn!(
                    container = self.container,
                    root = program.root,
                    "a program whose channel was dropped could not be ended"
                );
            }
        }
    }

    async fn has_ended(&self, program: &Program) -> bool {
        match &program.exec {
            None => false,
            Some(id) => match call::within(ANSWER, self.docker.inspect_exec(id)).await {
                Ok(exec) => exec.running == Some(false),
                Err(failure) => failure.status() == Some(404),
            },
        }
    }
}

struct Guard {
    sweeps: Arc<Sweeps>,
    program: Option<Program>,
    gone: Arc<AtomicBool>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(program) = self.program.take() else {
            return;
        };
        if self.gone.load(Ordering::Relaxed) {
            return;
        }
        self.sweeps
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(program);
        if let Ok(runtime) = Handle::try_current() {
            let sweeps = Arc::clone(&self.sweeps);
            runtime.spawn(async move {
                sleep(PATIENCE).await;
                sweeps.run().await;
            });
        }
    }
}
