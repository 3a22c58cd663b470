//! Files of images: each made once, however many wait for it and in however many runs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use super::arguments;
use super::program::{Failed, Program, is_full};
use super::reference::Reference;
use crate::error::Error;
use crate::place::docker::Pull;

/// Where they are, in the sandboxes' directory.
pub(super) const DIRECTORY: &str = "apptainer";
/// How long making one may take, and waiting for another run that makes it.
const MAKE: Duration = Duration::from_hours(1);
/// How often it is looked whether another run is done.
const LOOK: Duration = Duration::from_millis(200);
/// Waits before a registry is asked again.
const WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];
/// What a registry, or the program, says of an image that cannot be had whoever asks again.
const FINAL: [&str; 9] = [
    "manifest unknown",
    "not found",
    "unauthorized",
    "denied",
    "forbidden",
    "no such",
    "invalid reference",
    "no image satisfies requested platform",
    "unsupported",
];

/// An image that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// A file, or a directory.
    pub(super) path: PathBuf,
    /// `sha256:` of the file.
    pub(super) digest: Option<String>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Image>>>;

/// The images of one backend.
pub(super) struct Images {
    program: Arc<Program>,
    directory: PathBuf,
    pull: Pull,
    platform: Option<String>,
    slots: Mutex<HashMap<String, Slot>>,
}

impl Images {
    pub(super) fn new(
        program: Arc<Program>,
        directory: PathBuf,
        pull: Pull,
        platform: Option<String>,
    ) -> Self {
        Self {
            program,
            directory,
            pull,
            platform,
            slots: Mutex::default(),
        }
    }

    fn slot(&self, name: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(name.to_owned()).or_default())
    }

    /// The image of a name, made where that is needed.
    pub(super) async fn get(&self, name: &str) -> Result<Image, Error> {
        let slot = self.slot(name);
        let mut known = slot.lock().await;
        if let Some(image) = known.as_ref().filter(|image| image.path.exists()) {
            return Ok(image.clone());
        }
        let path = self.obtain(name).await?;
        let image = digested(path).await?;
        *known = Some(image.clone());
        Ok(image)
    }

    /// One that was got before.
    pub(super) fn known(&self, name: &str) -> Result<Image, Error> {
        let known = self
            .slot(name)
            .try_lock()
            .ok()
            .and_then(|known| known.clone());
        known.ok_or_else(|| {
            refused(
                name,
                "it was not got ready",
                "this is a fault of Patchmill's",
            )
        })
    }

    async fn obtain(&self, name: &str) -> Result<PathBuf, Error> {
        let (uri, path, remote) = match Reference::parse(name) {
            Reference::Ready(path) => return ready(name, &path),
            Reference::Local { uri, path } => (uri, path, false),
            Reference::Remote(uri) => (uri, None, true),
        };
        let stamp = path.as_deref().map(|path| stamp(name, path)).transpose()?;
        let platform = self.platform.as_deref().unwrap_or_default();
        let key = [&uri, platform, stamp.as_deref().unwrap_or_default()].join("\n");
        let file = self.directory.join(schema::hex(&Sha256::digest(key)[..16]));
        let file = file.with_extension("sif");
        // What its archive's time and size are part of the name of needs no policy.
        let policy = if stamp.is_some() {
            Pull::Missing
        } else {
            self.pull
        };
        match policy {
            Pull::Never | Pull::Missing if file.is_file() => return Ok(file),
            Pull::Never => {
                let at = self.directory.display();
                let problem = format!("it is not in {at}, and it is not to be pulled");
                let hint = "give --pull missing to have it pulled";
                return Err(refused(name, problem, hint));
            }
            Pull::Missing | Pull::Always => {}
        }
        let failed = |error| Error::start(format!("get the image `{name}` ready"), error);
        fs::create_dir_all(&self.directory).map_err(failed)?;
        let lock = File::create(file.with_extension("lock")).map_err(failed)?;
        let waited = wait(&lock, name).await.map_err(failed)?;
        // Another run may have made it since.
        if !file.is_file() || (policy == Pull::Always && !waited) {
            self.make(name, &uri, remote, &file).await?;
        }
        Ok(file)
    }

    async fn make(&self, name: &str, uri: &str, remote: bool, file: &Path) -> Result<(), Error> {
        // What a run that was killed left is overwritten.
        let partial = file.with_extension("partial");
        let words = if remote {
            let architecture = self.platform.as_deref().map(architecture);
            arguments::pull(uri, architecture, &partial)
        } else {
            arguments::build(uri, &partial)
        };
        let made = self.run(name, &words, remote).await;
        if made.is_err() {
            let _ = fs::remove_file(&partial);
        }
        made?;
        fs::rename(&partial, file)
            .map_err(|error| Error::start(format!("get the image `{name}` ready"), error))
    }

    /// Runs what makes it, again where a registry may have another answer.
    async fn run(&self, name: &str, words: &[OsString], remote: bool) -> Result<(), Error> {
        let waits = if remote { &WAITS[..] } else { &[] };
        let mut waits = waits.iter();
        loop {
            tracing::info!(image = name, "getting it ready for Apptainer");
            let problem = match self.program.run(words, MAKE).await {
                Ok(_) => return Ok(()),
                Err(Failed::Said(said)) if is_full(&said) => {
                    return Err(Error::Disk {
                        operation: format!("get the image `{name}` ready"),
                    });
                }
                Err(failed) => failed.to_string(),
            };
            let lower = problem.to_ascii_lowercase();
            let is_final = FINAL.iter().any(|word| lower.contains(word));
            match waits.next() {
                Some(&wait) if !is_final => {
                    tracing::warn!(image = name, problem, "this failed; it is tried again");
                    sleep(wait).await;
                }
                _ if is_final => {
                    let hint = "look at its name, or get it beforehand with `apptainer pull` and give the file";
                    return Err(refused(name, problem, hint));
                }
                Some(_) | None => {
                    return Err(Error::start(
                        format!("get the image `{name}` ready"),
                        problem,
                    ));
                }
            }
        }
    }
}

fn refused(image: &str, problem: impl Into<String>, hint: &str) -> Error {
    Error::Image {
        image: image.to_owned(),
        problem: problem.into(),
        hint: hint.to_owned(),
    }
}

/// `amd64` of `linux/amd64`.
fn architecture(platform: &str) -> &str {
    let mut parts = platform.split('/');
    parts.nth(1).unwrap_or(platform)
}

fn ready(name: &str, path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(|error| {
        refused(
            name,
            format!("{}: {error}", path.display()),
            "name a file that is there, or an image of a registry",
        )
    })
}

/// What tells an archive from a later one at the same path.
fn stamp(name: &str, path: &Path) -> Result<String, Error> {
    use std::os::unix::fs::MetadataExt;

    let path = ready(name, path)?;
    let metadata = fs::metadata(&path)
        .map_err(|error| Error::start(format!("look at {}", path.display()), error))?;
    let (seconds, rest) = (metadata.mtime(), metadata.mtime_nsec());
    Ok(format!(
        "{}\n{}\n{seconds}.{rest}",
        path.display(),
        metadata.len()
    ))
}

/// Takes a lock, for as long as the file is open; tells whether it had to wait.
async fn wait(lock: &File, name: &str) -> io::Result<bool> {
    let until = Instant::now() + MAKE;
    let mut waited = false;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(waited),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                if !waited {
                    tracing::info!(image = name, "another run is getting it ready");
                }
                waited = true;
                sleep(LOOK).await;
            }
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::TimedOut.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Reads a file through once, to say which it is; a directory has no digest.
async fn digested(path: PathBuf) -> Result<Image, Error> {
    let operation = format!("read {}", path.display());
    let work = tokio::task::spawn_blocking(move || {
        if path.is_dir() {
            return Ok(Image { path, digest: None });
        }
        let mut hash = Sha256::new();
        io::copy(&mut File::open(&path)?, &mut hash)?;
        let digest = format!("sha256:{}", schema::hex(&hash.finalize()));
        Ok(Image {
            path,
            digest: Some(digest),
        })
    });
    let image = work
        .await
        .unwrap_or_else(|panic| Err(io::Error::other(panic)));
    image.map_err(|error| Error::start(operation, error))
}
