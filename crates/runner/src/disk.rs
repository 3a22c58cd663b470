//! The disk gate: sandboxes start only while there is room for them.
//!
//! It stands before everything else that a start waits for. A full disk would fail every instance at once, each with another error; a pause fails none,
//! since ending instances make room.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sandbox::place::Backend;
use schema::FailureKind;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::attempt::failure::Failure;
use crate::dispatcher::Reports;
use crate::error::chain;
use crate::prefetch::Needs;
use crate::ui::size;

/// Time between two looks while starts wait.
const LOOK: Duration = Duration::from_secs(2);

/// A file system's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Space {
    free: u64,
    size: u64,
}

/// Measures the file system that a path lies on; `None` where nobody can say.
type Measure = Box<dyn Fn(&Path) -> Option<Space> + Send + Sync>;

/// Lets starts pass while there is room.
pub struct DiskGate {
    minimum: Option<u64>,
    wait: Duration,
    paths: Vec<PathBuf>,
    measure: Measure,
    paused: AtomicBool,
    evictor: Option<Evictor>,
}

/// Makes room by removing images.
struct Evictor {
    backends: Vec<Arc<dyn Backend>>,
    needs: Arc<Needs>,
    /// Held while an image is removed: others look then whether that was enough.
    turn: Mutex<()>,
}

/// A place without enough room.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Full {
    path: PathBuf,
    free: u64,
    minimum: u64,
}

impl Full {
    fn short(&self) -> String {
        format!(
            "{} has {} free, less than {} (--min-free-disk)",
            self.path.display(),
            size(self.free),
            size(self.minimum),
        )
    }

    fn pause(&self) -> String {
        format!(
            "no instance starts for now: {}; make room, or remove images with `runner images prune`",
            self.short()
        )
    }
}

impl Evictor {
    /// Removes one image of a backend of which `suits` holds; whether there was one.
    async fn remove_one(&self, reports: &Reports, suits: impl Fn(&dyn Backend) -> bool) -> bool {
        for backend in self.backends.iter().filter(|one| suits(one.as_ref())) {
            match backend.evict(&self.needs.all()).await {
                Ok(Some(image)) => {
                    tracing::info!(image = image.name, bytes = image.bytes, "removed an image");
                    reports.image_removed(image).await;
                    return true;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(error = chain(&error), "no image was removed"),
            }
        }
        false
    }
}

impl DiskGate {
    /// A gate that keeps `minimum` bytes, but of a small file system only a tenth, free where `paths` lie, and lets a start wait for at most `wait`. Without a minimum it is always open.
    pub fn new(minimum: Option<u64>, wait: Duration, paths: Vec<PathBuf>) -> Self {
        Self::measured(minimum, wait, paths, Box::new(space))
    }

    fn measured(
        minimum: Option<u64>,
        wait: Duration,
        paths: Vec<PathBuf>,
        measure: Measure,
    ) -> Self {
        Self {
            minimum,
            wait,
            paths,
            measure,
            paused: AtomicBool::new(false),
            evictor: None,
        }
    }

    /// The same gate, which removes images of `backends` that are not among `needs` before it lets starts wait.
    #[must_use]
    pub fn evicting(self, backends: Vec<Arc<dyn Backend>>, needs: Arc<Needs>) -> Self {
        let evictor = Evictor {
            backends,
            needs,
            turn: Mutex::default(),
        };
        Self {
            evictor: Some(evictor),
            ..self
        }
    }

    /// Whether starts would have to wait now.
    pub fn is_full(&self) -> bool {
        self.full().is_some()
    }

    /// Waits until there is room. A pause and its end are told to `reports` by one of all that wait.
    ///
    /// # Errors
    /// A failure of the disk when there is still no room after the longest wait.
    pub async fn pass(&self, reports: &Reports) -> Result<(), Failure> {
        let deadline = Instant::now() + self.wait;
        while let Some(full) = self.full() {
            if self.make_room(&full, reports).await {
                continue;
            }
            if Instant::now() >= deadline {
                return Err(self.failure(&full));
            }
            if !self.paused.swap(true, Ordering::AcqRel) {
                reports.warn(full.pause()).await;
            }
            sleep(LOOK).await;
        }
        if self.paused.swap(false, Ordering::AcqRel) {
            let message = "there is room on the disk again: instances start";
            reports.warn(message).await;
        }
        Ok(())
    }

    /// Removes one image that lies where there is no room; whether it is worth looking again.
    async fn make_room(&self, full: &Full, reports: &Reports) -> bool {
        let Some(evictor) = &self.evictor else {
            return false;
        };
        let _turn = evictor.turn.lock().await;
        if !self.is_full() {
            return true;
        }
        let there = |directory: &PathBuf| same_disk(directory, &full.path);
        evictor
            .remove_one(reports, |backend| backend.storage().iter().any(there))
            .await
    }

    /// Removes one image that nobody needs from `backend`, whose disk had no room for another, however full it is; whether there was one.
    pub async fn evict(&self, backend: &dyn Backend, reports: &Reports) -> bool {
        let Some(evictor) = &self.evictor else {
            return false;
        };
        let _turn = evictor.turn.lock().await;
        evictor
            .remove_one(reports, |one| std::ptr::addr_eq(one, backend))
            .await
    }

    fn full(&self) -> Option<Full> {
        let minimum = self.minimum?;
        self.paths.iter().find_map(|path| {
            let Space { free, size } = (self.measure)(path)?;
            let minimum = minimum.min(size / 10);
            (free < minimum).then(|| Full {
                path: path.clone(),
                free,
                minimum,
            })
        })
    }

    fn failure(&self, full: &Full) -> Failure {
        Failure {
            kind: FailureKind::EnvironmentDisk,
            message: format!(
                "there was no room for a sandbox within {} s: {}",
                self.wait.as_secs(),
                full.short()
            ),
        }
    }
}

/// Whether two paths lie on one file system.
fn same_disk(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| {
        std::fs::metadata(existing(path)?)
            .ok()
            .map(|found| found.dev())
    };
    device(one).is_some_and(|one| device(other) == Some(one))
}

/// The nearest directory that exists.
fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let found = path.ancestors().find(|ancestor| ancestor.exists())?;
    Some(found.to_owned())
}

/// Bytes, the free ones for this user, where `path`, or its nearest directory that exists, lies.
fn space(path: &Path) -> Option<Space> {
    let state = rustix::fs::statvfs(existing(path)?).ok()?;
    Some(Space {
        free: state.f_bavail.saturating_mul(state.f_frsize),
        size: state.f_blocks.saturating_mul(state.f_frsize),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use tokio::sync::mpsc;

    use super::*;
    use crate::dispatcher::Message;

    /// A gate whose disk has these bytes free, one for each look, then the last for ever.
    fn gate(free: &[u64]) -> DiskGate {
        let left = Mutex::new(VecDeque::from(free.to_vec()));
        let measure = move |_: &Path| {
            let mut left = left.lock().unwrap();
            let free = if left.len() > 1 {
                left.pop_front()
            } else {
                left.front().copied()
            };
            let size = 100 << 30;
            free.map(|free| Space { free, size })
        };
        let paths = vec![PathBuf::from("/disk")];
        let minimum = Some(2 << 30);
        DiskGate::measured(minimum, Duration::from_mins(10), paths, Box::new(measure))
    }

    /// Reports that nobody hears.
    fn nobody() -> Reports {
        let (sender, _) = mpsc::channel(1);
        Reports { sender }
    }

    fn said(receiver: &mut mpsc::Receiver<Message>) -> Vec<String> {
        let mut said = Vec::new();
        while let Ok(message) = receiver.try_recv() {
            let Message::Warning(line) = message else {
                panic!("{message:?}");
            };
            said.push(line);
        }
        said
    }

    #[tokio::test(start_paused = true)]
    async fn starts_wait_for_room_and_say_so_once() {
        let (sender, mut receiver) = mpsc::channel(8);
        let reports = Reports { sender };
        let gate = gate(&[3 << 30, 1 << 30, 1 << 30, 1 << 30, 3 << 30]);
        gate.pass(&reports).await.unwrap();
        assert!(said(&mut receiver).is_empty());
        let both = tokio::join!(gate.pass(&reports), gate.pass(&reports));
        assert_eq!(both, (Ok(()), Ok(())));
        assert_eq!(
            said(&mut receiver),
            [
                "no instance starts for now: /disk has 1.0 GiB free, less than 2.0 GiB (--min-free-disk); make room, or remove images with `runner images prune`",
                "there is room on the disk again: instances start",
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_disk_that_stays_full_fails_the_start() {
        let started = Instant::now();
        let failure = gate(&[5 << 20]).pass(&nobody()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::EnvironmentDisk);
        assert_eq!(
            failure.message,
            "there was no room for a sandbox within 600 s: /disk has 5.0 MiB free, less than 2.0 GiB (--min-free-disk)"
        );
        assert_eq!(started.elapsed(), Duration::from_mins(10));
    }

    #[tokio::test]
    async fn without_a_minimum_or_an_answer_nothing_waits() {
        let paths = || vec![PathBuf::from("/not/there/yet")];
        let always = DiskGate::new(None, Duration::ZERO, paths());
        always.pass(&nobody()).await.unwrap();
        let unknown = Box::new(|_: &Path| None);
        let unknown = DiskGate::measured(Some(u64::MAX), Duration::ZERO, paths(), unknown);
        unknown.pass(&nobody()).await.unwrap();
        let small = Box::new(|_: &Path| Some(Space { free: 3, size: 30 }));
        let small = DiskGate::measured(Some(2 << 30), Duration::ZERO, paths(), small);
        small.pass(&nobody()).await.unwrap();
        let real = DiskGate::new(Some(1), Duration::ZERO, paths());
        real.pass(&nobody()).await.unwrap();
    }
}
