//! `runner shell`.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use sandbox::place::docker::{Docker, DockerSettings, Engine};
use sandbox::place::host::HostSettings;
use sandbox::place::local::Local;
use sandbox::place::terminal::Visit;
use sandbox::place::{Backend, PlaceId};
use schema::AttemptKey;
use schema::journal::RunEvent;
use serde_json::json;

use super::arguments::Shell;
use super::error::Error;
use crate::backends;
use crate::error::chain;
use crate::exit::Exit;
use crate::store::{RunDirectory, journal};
use crate::ui::terminal::{End, Raw};
use crate::ui::{self, Printer, escape};

/// A sandbox that a run says it kept.
struct Kept {
    key: AttemptKey,
    grading: Option<u32>,
    backend: String,
    place: PlaceId,
    init: String,
}

impl Kept {
    fn whose(&self) -> String {
        match self.grading {
            None => self.key.to_string(),
            Some(number) => format!("{}, grading {number}", self.key),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        self.key.instance_id.as_str() == name || self.place.0 == name
    }
}

/// Runs the command.
pub(super) fn shell(command: &Shell, printer: &Printer) -> Result<Exit, Error> {
    let run = RunDirectory::new(&command.run);
    let Some(file) = run.read_run_file()? else {
        return Err(Error::usage(
            format!("`{}` is no directory of a run", command.run.display()),
            "give the directory that holds run.json: runs/NAME",
        ));
    };
    let scratch = command.scratch.clone().or(file.operation.scratch);
    let root = backends::root(scratch.as_ref());
    let kept = kept(&run)?;
    let runtime = super::runtime()?;
    let done = runtime.block_on(async {
        match &command.id {
            None => list(&kept, &root, printer).await,
            Some(id) => enter(find(&kept, id, &run)?, &root).await,
        }
    });
    // Reading the terminal must not hold up the end.
    runtime.shutdown_background();
    done
}

/// What the run says that it kept, oldest first.
fn kept(run: &RunDirectory) -> Result<Vec<Kept>, Error> {
    let lines = journal::read(run)?.lines;
    let kept = lines.into_iter().filter_map(|line| match line.event {
        RunEvent::SandboxKept {
            key,
            grading,
            backend,
            place,
            shell_init,
            ..
        } => Some(Kept {
            key,
            grading,
            backend,
            place: PlaceId(place),
            init: shell_init,
        }),
        _ => None,
    });
    Ok(kept.collect())
}

/// The newest of an instance, or the one that is named.
fn find<'a>(kept: &'a [Kept], name: &str, run: &RunDirectory) -> Result<&'a Kept, Error> {
    if let Some(found) = kept.iter().rev().find(|kept| kept.is_called(name)) {
        return Ok(found);
    }
    let names = kept
        .iter()
        .flat_map(|kept| [kept.key.instance_id.as_str(), kept.place.0.as_str()]);
    let near = crate::layers::nearest(name, names);
    let journal = journal::read(run)?;
    let running = journal.lines.iter().any(|line| {
        matches!(&line.event, RunEvent::AttemptStarted { key, .. } if key.instance_id.as_str() == name)
    });
    let hint = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if kept.is_empty() => {
            String::from("`runner run --keep-sandbox on-failure` keeps those of what failed")
        }
        None => format!(
            "`runner shell {}` lists those that are",
            run.root().display()
        ),
    };
    let name = escape::short(name, 80);
    let message = if running {
        format!(
            "no sandbox of {name} is kept; those of attempts that go on belong to their agents alone"
        )
    } else {
        format!("no sandbox of {name} is kept")
    };
    Err(Error::usage(message, hint))
}

async fn backend(kept: &Kept, root: &Path) -> Result<Arc<dyn Backend>, Error> {
    let engine = match kept.backend.as_str() {
        "docker" => Engine::Usual,
        "podman" => Engine::Podman,
        "local" | "bubblewrap" | "apptainer" => {
            // What the directories of others say would run here, with this user's rights.
            refuse_others(root)?;
            // What they need is kept with the place.
            return Ok(Arc::new(Local::new(HostSettings::new(root))?));
        }
        other => {
            let (name, place) = (escape::short(other, 80), escape::short(&kept.place.0, 80));
            return Err(Error::usage(
                format!(
                    "the sandbox {place} is said to be of the backend {name}, which there is not"
                ),
                "use the version that wrote the run, and see that journal.jsonl is whole",
            ));
        }
    };
    let settings = DockerSettings {
        engine,
        ..DockerSettings::new(root)
    };
    Ok(Arc::new(Docker::connect(settings).await?))
}

/// Refuses a directory that is there and belongs to another user.
fn refuse_others(directory: &Path) -> Result<(), Error> {
    let Ok(found) = std::fs::metadata(directory) else {
        return Ok(());
    };
    if found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "`{}` belongs to another user (uid {}), whose sandboxes run programs of theirs as you",
            directory.display(),
            found.uid()
        ),
        "open the shell as that user, or name a directory of your own with --scratch",
    ))
}

/// The backends of what was kept; each is asked for once. `None` stands for one that cannot be used, which was said.
struct Backends<'a> {
    root: &'a Path,
    printer: &'a Printer,
    opened: BTreeMap<&'a str, Option<Arc<dyn Backend>>>,
}

impl<'a> Backends<'a> {
    /// Whether a sandbox is still there; `None` where that cannot be told.
    async fn has(&mut self, kept: &'a Kept) -> Option<bool> {
        let name = kept.backend.as_str();
        let opened = if let Some(opened) = self.opened.get(name) {
            opened.clone()
        } else {
            let opened = backend(kept, self.root).await;
            let opened = opened.map_err(|error| self.tell(name, &error)).ok();
            self.opened.insert(name, opened.clone());
            opened
        };
        let found = opened?.has(&kept.place).await;
        found.map_err(|error| self.tell(name, &error)).ok()
    }

    fn tell(&self, name: &str, error: &(dyn std::error::Error + 'static)) {
        let name = escape::short(name, 80);
        let problem = chain(error);
        self.printer.warn(&format!(
            "what was kept by the backend {name} cannot be looked for: {problem}"
        ));
    }
}

/// A line for each, and whether it is still there.
async fn list(kept: &[Kept], root: &Path, printer: &Printer) -> Result<Exit, Error> {
    let mut backends = Backends {
        root,
        printer,
        opened: BTreeMap::new(),
    };
    let mut found = Vec::new();
    for one in kept {
        found.push((one, backends.has(one).await));
    }
    if printer.is_json() {
        let found: Vec<_> = found
            .iter()
            .map(|(kept, there)| {
                json!({
                    "instance": kept.key.instance_id.as_str(), "sample": kept.key.sample, "attempt": kept.key.attempt,
                    "grading": kept.grading, "backend": kept.backend, "sandbox": kept.place.0, "there": there,
                })
            })
            .collect();
        printer.data(&format!("{:#}", json!({"kept": found})));
        return Ok(Exit::Success);
    }
    if found.is_empty() {
        printer.data("no sandbox is kept");
    }
    for (kept, there) in found {
        let gone = match there {
            Some(true) => "",
            Some(false) => " (gone)",
            None => " (not known)",
        };
        let line = format!("{}  {}  {}{gone}", kept.whose(), kept.backend, kept.place.0);
        printer.data(&escape::line(&line));
    }
    Ok(Exit::Success)
}

async fn enter(kept: &Kept, root: &Path) -> Result<Exit, Error> {
    if !ui::terminal::is_there() {
        return Err(Error::usage(
            "a shell needs a terminal, and this command has none",
            "start it at a terminal, its input and output not redirected",
        ));
    }
    let backend = backend(kept, root).await?;
    if !backend.has(&kept.place).await? {
        return Err(Error::usage(
            format!(
                "the sandbox of {} is gone: {} was removed",
                escape::line(&kept.whose()),
                escape::line(&kept.place.0)
            ),
            "`runner clean --kept` removes those that were kept; run it again with --keep-sandbox",
        ));
    }
    let broken = |source| Error::Read {
        what: "the terminal",
        path: "/dev/tty".into(),
        source,
    };
    let visit = Visit {
        init: kept.init.clone(),
        terminal: std::env::var("TERM").unwrap_or_else(|_| String::from("xterm")),
        size: ui::terminal::size().map_err(broken)?,
    };
    let shell = backend.visit(&kept.place, &visit).await?;
    // Not before: until there is a shell to take the keys, they are this command's, and one of them ends it.
    let raw = Raw::take().map_err(broken)?;
    let ended = raw.hand_to(shell).await.map_err(broken)?;
    drop(raw);
    Ok(match ended {
        End::Shell(ended) => Exit::of_program(ended.code),
        End::Signal(number) => Exit::of_program(Some(128 + number)),
    })
}
