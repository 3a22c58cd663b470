//! A trajectory to be replayed, and the patch that lies beside it.

use std::io;
use std::path::{Path, PathBuf};

use schema::{Event, Reply, Task, Trajectory};

use crate::store::trajectory;

/// A file that is no trajectory.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It cannot be read.
    #[error("could not read the trajectory `{}`", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// It is something else.
    #[error("`{}` is not a trajectory: {problem}", path.display())]
    Format {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

impl Unreadable {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("check the path"),
                io::ErrorKind::PermissionDenied => Some("make it readable for this user"),
                _ => None,
            },
            Self::Format { .. } => Some(
                "a run keeps them as `trajectories/<id>.json` and `instances/<id>/s<k>-a<n>/trajectory.jsonl`",
            ),
        }
    }
}

/// What was recorded.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Where it was read.
    pub path: PathBuf,
    /// The record.
    pub trajectory: Trajectory,
    /// What the agent was told.
    pub task: Task,
    /// System prompt as rendered.
    pub system: String,
    /// First user message as rendered.
    pub prompt: String,
}

impl Recording {
    /// Reads a document (`.json`) or a log (`.jsonl`).
    ///
    /// # Errors
    /// When the file cannot be read or is no trajectory.
    pub fn read(path: &Path) -> Result<Self, Unreadable> {
        let format = |problem: String| Unreadable::Format {
            path: path.to_owned(),
            problem,
        };
        let read = |source| Unreadable::Read {
            path: path.to_owned(),
            source,
        };
        let trajectory = if path.extension().is_some_and(|ending| ending == "jsonl") {
            match trajectory::read(path) {
                Ok(found) => {
                    found.ok_or_else(|| format("not even its first line is whole".to_owned()))?
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(format(error.to_string()));
                }
                Err(source) => return Err(read(source)),
            }
        } else {
            let text = std::fs::read(path).map_err(read)?;
            serde_json::from_slice(&text).map_err(|error| format(error.to_string()))?
        };
        if !schema::FormatVersion::TRAJECTORY.reads(trajectory.header.schema_version) {
            let found = trajectory.header.schema_version;
            return Err(format(format!(
                "it has format {found}, this version reads {}",
                schema::FormatVersion::TRAJECTORY
            )));
        }
        let started = trajectory
            .events
            .iter()
            .find_map(|record| match &record.event {
                Event::Started {
                    task,
                    system,
                    prompt,
                } => Some((task.clone(), system.clone(), prompt.clone())),
                _ => None,
            });
        let (task, system, prompt) =
            started.ok_or_else(|| format("nothing in it was started".to_owned()))?;
        Ok(Self {
            path: path.to_owned(),
            trajectory,
            task,
            system,
            prompt,
        })
    }

    /// The model's replies, in order.
    pub fn replies(&self) -> impl Iterator<Item = &Reply> {
        self.trajectory
            .events
            .iter()
            .filter_map(|record| match &record.event {
                Event::Replied { reply, .. } => Some(reply),
                _ => None,
            })
    }

    /// The full patch that the run wrote for this attempt, where it lies where runs put it: `full.patch` beside a log.
    pub fn patch(&self) -> Option<PathBuf> {
        let beside = self.path.parent()?.join("full.patch");
        let is_log = self
            .path
            .file_name()
            .is_some_and(|name| name == "trajectory.jsonl");
        (is_log && beside.is_file()).then_some(beside)
    }

    /// The model patch that the run published for this instance: `patches/<id>.patch` beside `trajectories/<id>.json`.
    pub fn model_patch(&self) -> Option<PathBuf> {
        let directory = self.path.parent()?;
        let name = self.path.file_stem()?;
        let mut file = name.to_owned();
        file.push(".patch");
        let published = directory.parent()?.join("patches").join(file);
        let in_run = directory
            .file_name()
            .is_some_and(|name| name == "trajectories");
        (in_run && published.is_file()).then_some(published)
    }
}
