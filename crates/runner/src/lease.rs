//! The lease table: sandboxes belong to it, not to the attempts that use them, so that every ending of an attempt ends its sandbox too.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::place::{Backend, KeptPlace};
use sandbox::{Error, Sandbox, SandboxSpec};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Time for removing one sandbox.
pub const REMOVAL_LIMIT: Duration = Duration::from_secs(30);

/// All sandboxes of this runner that stand or are being started or removed.
#[derive(Default)]
pub struct Leases {
    tasks: Mutex<JoinSet<()>>,
    /// Sandboxes whose lease ended where no task could be started.
    left: Mutex<Vec<Arc<Sandbox>>>,
}

impl Leases {
    /// Starts a sandbox. Whoever stops waiting for it need not care: it is then removed as soon as it stands.
    ///
    /// # Errors
    /// When it cannot be started; nothing is left behind.
    pub async fn start(
        self: &Arc<Self>,
        backend: Arc<dyn Backend>,
        spec: SandboxSpec,
        limit: Duration,
    ) -> Result<Lease, Error> {
        let (sender, receiver) = oneshot::channel();
        let table = Arc::clone(self);
        self.spawn(async move {
            let started = Sandbox::start(backend, spec, limit).await;
            // When nobody waits any more, the lease comes back and ends here.
            let _ = sender.send(started.map(|sandbox| Lease {
                sandbox: Arc::new(sandbox),
                table,
                removed: false,
            }));
        });
        receiver.await.unwrap_or_else(|gone| {
            Err(Error::Start {
                operation: "start the sandbox".to_owned(),
                source: Box::new(gone),
            })
        })
    }

    /// Waits until all sandboxes whose leases ended are gone, up to `limit`. What is left then is found as an orphan by the next runner.
    pub async fn clean(&self, limit: Duration) {
        for sandbox in std::mem::take(&mut *lock(&self.left)) {
            self.spawn(remove(sandbox));
        }
        let all = async {
            loop {
                // Tasks may end leases, which adds tasks.
                let mut tasks = std::mem::take(&mut *lock(&self.tasks));
                if tasks.is_empty() {
                    return;
                }
                while tasks.join_next().await.is_some() {}
            }
        };
        if tokio::time::timeout(limit, all).await.is_err() {
            tracing::warn!(
                "some sandboxes were not removed in time; the next run will remove them"
            );
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

/// The right to use one sandbox. Dropping it removes the sandbox in the background.
pub struct Lease {
    sandbox: Arc<Sandbox>,
    table: Arc<Leases>,
    removed: bool,
}

impl Lease {
    /// The sandbox.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Ends what runs in the sandbox and leaves it for people to look at. One that cannot be kept is removed.
    pub async fn keep(mut self) -> Option<KeptPlace> {
        match self.sandbox.keep(REMOVAL_LIMIT).await {
            Ok(kept) => {
                self.removed = true;
                Some(kept)
            }
            Err(error) => {
                tracing::warn!(
                    sandbox = self.sandbox.id().0,
                    error = crate::error::chain(&error),
                    "a sandbox could not be kept and is removed"
                );
                self.end().await;
                None
            }
        }
    }

    /// Removes the sandbox and waits until it is gone.
    pub async fn end(mut self) {
        remove(Arc::clone(&self.sandbox)).await;
        self.removed = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        let sandbox = Arc::clone(&self.sandbox);
        if Handle::try_current().is_ok() {
            self.table.spawn(remove(sandbox));
        } else {
            lock(&self.table.left).push(sandbox);
        }
    }
}

async fn remove(sandbox: Arc<Sandbox>) {
    if let Err(error) = sandbox.remove(REMOVAL_LIMIT).await {
        tracing::warn!(
            sandbox = sandbox.id().0,
            error = crate::error::chain(&error),
            "a sandbox was not removed; the next run will remove it"
        );
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
