//! A model whose answers are known beforehand: what scripts and recordings share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::ports::{Fragment, Head, Model, Request, Shape};
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::{InstanceId, ModelFailureKind, Reply, Turn};

use crate::choice::Choice;
use crate::error::Error;
use crate::openai_chat::{Format, turn};
use crate::provider::Provider;

/// The answers in order.
pub(crate) type Answers = Arc<[Result<Reply, ModelFailure>]>;

/// Answers request `n` with answer `n`. It keeps no position of its own, so that a resumed attempt goes on where it stood.
struct Canned {
    format: Format,
    answers: Answers,
    source: PathBuf,
}

impl Canned {
    fn new(name: &str, answers: Answers, source: PathBuf) -> Self {
        Self {
            format: Format::plain(name),
            answers,
            source,
        }
    }

    fn answer(&self, request: &Request) -> Result<Reply, ModelFailure> {
        if request.cancel.is_cancelled() {
            return Err(failure(ModelFailureKind::Timeout, "cancelled".to_owned()));
        }
        let position = usize::try_from(request.index).unwrap_or(usize::MAX);
        self.answers.get(position).cloned().unwrap_or_else(|| {
            Err(failure(
                ModelFailureKind::BadRequest,
                format!(
                    "{} has {} {} and was asked for number {}; add replies up to a `task_done` call that is accepted",
                    self.source.display(),
                    self.answers.len(),
                    if self.answers.len() == 1 { "reply" } else { "replies" },
                    request.index + 1
                ),
            ))
        })
    }
}

fn failure(kind: ModelFailureKind, message: String) -> ModelFailure {
    ModelFailure {
        kind: Some(kind),
        message,
        retries: Vec::new(),
        waited_ms: 0,
    }
}

impl Model for Canned {
    fn head(&self, head: &Head) -> Fragment {
        self.format.head(head)
    }

    fn turn(&self, content: &Turn, shape: Shape) -> Fragment {
        turn(content, shape)
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn max_output(&self) -> Option<u64> {
        None
    }

    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(std::future::ready(self.answer(&request)))
    }
}

/// A provider that answers from files.
pub(crate) struct Files {
    name: String,
    kind: Kind,
    source: Source,
}

impl Files {
    /// Finds out what `path` is, and reads it when it serves all instances.
    pub(crate) fn open(choice: &Choice, path: &Path, kind: Kind) -> Result<Self, Error> {
        let source = if path.is_dir() {
            Source::Directory(path.to_owned())
        } else {
            Source::File(path.to_owned(), kind.load(path)?)
        };
        Ok(Self {
            name: choice.to_string(),
            kind,
            source,
        })
    }
}

impl Provider for Files {
    fn name(&self) -> &str {
        &self.name
    }

    fn price_known(&self) -> bool {
        true
    }

    fn model(&self, instance: &InstanceId, sample: u32) -> Result<Arc<dyn Model>, Error> {
        let (path, answers) = self.kind.answers(&self.source, instance, sample)?;
        Ok(Arc::new(Canned::new(self.kind.name, answers, path)))
    }
}

/// Where the answers for an instance are.
enum Source {
    /// One file for all instances, read at the start.
    File(PathBuf, Answers),
    /// A directory with a file for each, read when its attempt starts.
    Directory(PathBuf),
}

/// How a kind of file is named and read.
pub(crate) struct Kind {
    /// What the model is called in requests.
    pub(crate) name: &'static str,
    /// Endings that are looked for, in order, with the dot.
    pub(crate) endings: &'static [&'static str],
    /// Reads a file's content; the path is for messages.
    pub(crate) read: fn(&Path, &str) -> Result<Answers, Error>,
}

impl Kind {
    /// The answers for one sample of an instance, and the file that holds them.
    fn answers(
        &self,
        source: &Source,
        instance: &InstanceId,
        sample: u32,
    ) -> Result<(PathBuf, Answers), Error> {
        match source {
            Source::File(path, answers) => Ok((path.clone(), Arc::clone(answers))),
            Source::Directory(directory) => {
                let path = self.find(directory, instance, sample)?;
                let answers = self.load(&path)?;
                Ok((path, answers))
            }
        }
    }

    /// `<id>.s<k><ending>` for sample k > 1, then `<id><ending>`; also in a run directory's `trajectories/`.
    fn find(&self, directory: &Path, instance: &InstanceId, sample: u32) -> Result<PathBuf, Error> {
        let name = instance.file_name();
        let mut stems = Vec::new();
        if sample > 1 {
            stems.push(format!("{name}.s{sample}"));
        }
        stems.push(name.clone());
        let inner = directory.join("trajectories");
        for stem in &stems {
            for place in [directory, &inner] {
                for ending in self.endings {
                    let path = place.join(format!("{stem}{ending}"));
                    if path.is_file() {
                        return Ok(path);
                    }
                }
            }
        }
        Err(Error::NoFile {
            instance: instance.to_string(),
            directory: directory.to_owned(),
            wanted: format!("{name}{}", self.endings.first().unwrap_or(&"")),
        })
    }

    fn load(&self, path: &Path) -> Result<Answers, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        let answers = (self.read)(path, &text)?;
        if answers.is_empty() {
            return Err(Error::NoReplies {
                path: path.to_owned(),
            });
        }
        Ok(answers)
    }
}
