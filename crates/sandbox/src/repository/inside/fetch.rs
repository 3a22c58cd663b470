//! Bringing an image's repository to the host: what a commit's history needs, and nothing that could speak for itself.

use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use tokio_util::io::SyncIoBridge;

use super::{BUFFER, Inside};
use crate::error::{Cause, Error};
use crate::repository::archive::{self, ArchiveError, Entry, EntryKind};
use crate::repository::seal::LeftOut;
use crate::repository::work;

/// Longest file of a repository that is kept in memory.
const MAX_TEXT: u64 = 1 << 20;
/// How many object directories may borrow from each other in a row.
const MAX_ALTERNATES: usize = 16;

/// Other checkouts of a repository that are looked for.
const MAX_CHECKOUTS: usize = 64;
/// Directories of a system, which no checkout makes one's own.
const SYSTEM: [&str; 15] = [
    "/", "/bin", "/boot", "/home", "/lib", "/media", "/mnt", "/opt", "/root", "/run", "/sbin",
    "/srv", "/tmp", "/usr", "/var",
];
/// Those of which nothing is anybody's.
const MACHINE: [&str; 4] = ["/dev", "/etc", "/proc", "/sys"];

/// An image's repository on the host, as far as it is of use.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    /// A bare repository.
    pub(super) directory: PathBuf,
    /// Directories of the place, beside `.git`, that hold some of its history, or a checkout of it.
    pub(super) elsewhere: Vec<String>,
    /// What is not in the directory any more and still counts.
    pub(super) left_out: LeftOut,
    /// Repositories of submodules in it.
    pub(super) modules: u64,
}

/// What an archive of a repository showed.
#[derive(Debug, Default)]
struct Seen {
    /// What a file in its place says.
    pointer: Option<String>,
    common: Option<String>,
    alternates: Vec<String>,
    configuration: String,
    reflogs: u64,
    worktrees: u64,
    /// What each of them says of where it is: the path of its `.git`.
    checkouts: Vec<String>,
    modules: u64,
}

impl Inside<'_> {
    /// Fetches the repository of the workspace into `directory`, which does not exist; `None` when there is none.
    pub(super) async fn fetch(&self, directory: PathBuf) -> Result<Option<Fetched>, Error> {
        let workdir = self.place.workdir();
        let mut at = format!("{workdir}/.git");
        let mut fetched = Fetched {
            directory,
            ..Fetched::default()
        };
        let Some(mut seen) = self.take(&at, &fetched.directory, Part::Repository).await? else {
            return Ok(None);
        };
        if let Some(pointer) = seen.pointer.take() {
            at = resolve(workdir, &pointer);
            fetched.elsewhere.push(at.clone());
            let Some(found) = self.take(&at, &fetched.directory, Part::Repository).await? else {
                return Ok(None);
            };
            seen = found;
        }
        fetched.count(&seen);
        if let Some(common) = seen.common.take() {
            at = resolve(&at, &common);
            fetched.elsewhere.push(at.clone());
            if let Some(found) = self.take(&at, &fetched.directory, Part::Common).await? {
                fetched.count(&found);
                seen = found;
            }
        }
        self.fetch_alternates(&format!("{at}/objects"), &seen, &mut fetched)
            .await?;
        // The main checkout of a repository that has others is one of them.
        seen.checkouts.push(at);
        for checkout in &seen.checkouts {
            let checkout = resolve("", checkout.trim());
            let checkout = checkout.strip_suffix("/.git").unwrap_or_default();
            if is_apart(checkout, workdir) && self.get(checkout).await?.is_some() {
                fetched.elsewhere.push(checkout.to_owned());
            }
        }
        let directory = fetched.directory.clone();
        let written = work(move || {
            finish(&directory, &seen.configuration)
                .map_err(|error| Error::start("read the image's repository", error))
        });
        written.await?;
        Ok(Some(fetched))
    }

    async fn fetch_alternates(
        &self,
        objects: &str,
        seen: &Seen,
        fetched: &mut Fetched,
    ) -> Result<(), Error> {
        let mut pending: Vec<String> = seen
            .alternates
            .iter()
            .map(|line| resolve(objects, line))
            .collect();
        while let Some(at) = pending.pop() {
            if fetched.elsewhere.contains(&at) || fetched.elsewhere.len() > MAX_ALTERNATES {
                continue;
            }
            let Some(more) = self.take(&at, &fetched.directory, Part::Objects).await? else {
                continue;
            };
            pending.extend(more.alternates.iter().map(|line| resolve(&at, line)));
            fetched.left_out.alternates += 1;
            fetched.elsewhere.push(at);
        }
        Ok(())
    }

    /// Takes in one directory of the place; `None` when nothing is there.
    async fn take(&self, at: &str, directory: &Path, part: Part) -> Result<Option<Seen>, Error> {
        let Some(archive) = self.get(at).await? else {
            return Ok(None);
        };
        let (at, directory) = (at.to_owned(), directory.to_owned());
        let archive = SyncIoBridge::new(archive);
        work(move || {
            let mut taker = Taker {
                directory,
                part,
                seen: Seen::default(),
            };
            let buffered = BufReader::with_capacity(BUFFER, archive);
            archive::read(buffered, archive::MAX_STREAM, |entry, content| {
                taker.entry(&entry, content)
            })
            .map_err(|error| Error::start(format!("read {at} in the image"), error))?;
            Ok(Some(taker.seen))
        })
        .await
    }
}

impl Fetched {
    fn count(&mut self, seen: &Seen) {
        self.left_out.reflogs += seen.reflogs;
        self.left_out.worktrees += seen.worktrees;
        self.left_out.remotes += seen
            .configuration
            .lines()
            .filter(|line| line.trim_start().starts_with("[remote \""))
            .count() as u64;
        self.modules += seen.modules;
    }
}

/// What a directory of the place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Repository,
    /// The repository that a linked work tree belongs to: it has another HEAD.
    Common,
    /// Objects alone.
    Objects,
}

struct Taker {
    directory: PathBuf,
    part: Part,
    seen: Seen,
}

impl Taker {
    fn entry(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<(), ArchiveError> {
        if entry.path.is_empty() {
            if entry.kind == EntryKind::File {
                let said = text(content)?;
                self.seen.pointer = said
                    .trim()
                    .strip_prefix("gitdir:")
                    .map(|path| path.trim().to_owned());
            }
            return Ok(());
        }
        let Ok(path) = std::str::from_utf8(&entry.path) else {
            return Ok(());
        };
        let path = if self.part == Part::Objects {
            format!("objects/{path}")
        } else {
            path.to_owned()
        };
        let parts: Vec<&str> = path.split('/').collect();
        match (&entry.kind, parts.as_slice()) {
            (EntryKind::Directory, ["worktrees", _]) => self.seen.worktrees += 1,
            (EntryKind::File, ["modules", .., "HEAD"]) => self.seen.modules += 1,
            (EntryKind::File, ["worktrees", _, "gitdir"])
                if self.seen.checkouts.len() < MAX_CHECKOUTS =>
            {
                self.seen.checkouts.push(text(content)?);
            }
            (EntryKind::File, ["logs", ..]) => self.seen.reflogs += 1,
            (EntryKind::File, ["config"]) => self.seen.configuration = text(content)?,
            (EntryKind::File, ["commondir"]) => {
                self.seen.common = Some(text(content)?.trim().to_owned());
            }
            (EntryKind::File, ["objects", "info", "alternates"]) => {
                self.seen.alternates = text(content)?
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.is_empty() && !line.starts_with('#'))
                    .map(str::to_owned)
                    .collect();
            }
            (EntryKind::File, parts) if self.is_wanted(parts) => self.keep(&path, content)?,
            (EntryKind::HardLink(target), parts) if self.is_wanted(parts) => {
                self.link(&path, target)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Files that a commit's history is made of, and the names of commits.
    fn is_wanted(&self, parts: &[&str]) -> bool {
        match parts {
            ["HEAD"] => self.part == Part::Repository,
            ["packed-refs" | "shallow"] | ["refs", _, ..] => true,
            ["objects", "pack", name] => name.strip_prefix("pack-").is_some_and(|rest| {
                rest.strip_suffix(".pack")
                    .or_else(|| rest.strip_suffix(".idx"))
                    .is_some_and(is_hexadecimal)
            }),
            ["objects", fan, rest] => {
                fan.len() == 2 && rest.len() == 38 && is_hexadecimal(fan) && is_hexadecimal(rest)
            }
            _ => false,
        }
    }

    fn keep(&self, path: &str, content: &mut dyn Read) -> Result<(), ArchiveError> {
        let target = self.directory.join(path);
        let kept = make_parent(&target).and_then(|()| fs::File::create(&target));
        let mut file = kept.map_err(ArchiveError::Spool)?;
        io::copy(content, &mut file)?;
        Ok(())
    }

    fn link(&self, path: &str, target: &[u8]) -> Result<(), ArchiveError> {
        let Ok(known) = std::str::from_utf8(target) else {
            return Ok(());
        };
        let known = match self.part {
            Part::Objects => self.directory.join("objects").join(known),
            Part::Repository | Part::Common => self.directory.join(known),
        };
        if known.is_file() {
            let path = self.directory.join(path);
            make_parent(&path)
                .and_then(|()| fs::hard_link(known, path))
                .map_err(ArchiveError::Spool)?;
        }
        Ok(())
    }
}

/// Whether a directory may be emptied without touching the workspace or the system's own.
fn is_apart(directory: &str, workdir: &str) -> bool {
    let [directory, workdir] = [directory, workdir].map(Path::new);
    let is = |system: &&str| Path::new(system) == directory;
    let holds = |system: &&str| directory.starts_with(system);
    directory.is_absolute()
        && !SYSTEM.iter().any(is)
        && !MACHINE.iter().any(holds)
        && !workdir.starts_with(directory)
        && !directory.starts_with(workdir)
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn text(content: &mut dyn Read) -> Result<String, ArchiveError> {
    let mut bytes = Vec::new();
    content.take(MAX_TEXT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A path of the place, taken from a directory of it, without `.` and `..`.
fn resolve(from: &str, path: &str) -> String {
    let whole = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{from}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Makes a repository of what was taken in, with a configuration of our own.
fn finish(directory: &Path, configuration: &str) -> Result<(), Cause> {
    for line in configuration.lines() {
        let line: String = line.to_ascii_lowercase().split_whitespace().collect();
        match line.as_str() {
            "objectformat=sha256" => return Err("it has the object format sha256".into()),
            "refstorage=reftable" => {
                return Err("it keeps its references in the format reftable".into());
            }
            _ => {}
        }
    }
    for name in ["objects/pack", "objects/info", "refs/heads"] {
        fs::create_dir_all(directory.join(name))?;
    }
    fs::write(
        directory.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{is_apart, resolve};

    #[test]
    fn paths_of_the_place_are_resolved_without_looking() {
        for (from, path, expected) in [
            ("/w", "/a/b", "/a/b"),
            ("/w/.git", "../..", "/"),
            ("/w/.git/worktrees/x", "../..", "/w/.git"),
            (
                "/w/.git/objects",
                "../../../cache/./objects/",
                "/cache/objects",
            ),
            ("/w", "../../../..", "/"),
        ] {
            assert_eq!(resolve(from, path), expected, "{from} {path}");
        }
    }

    #[test]
    fn only_what_is_nobody_elses_is_emptied() {
        for (directory, apart) in [
            ("/linked", true),
            ("/opt/wt", true),
            ("/testbed-2", true),
            ("/testbed", false),
            ("/testbed/inner", false),
            ("/", false),
            ("", false),
            ("/opt", false),
            ("/etc/x", false),
            ("/proc/self/cwd", false),
        ] {
            assert_eq!(is_apart(directory, "/testbed"), apart, "{directory}");
        }
        assert!(!is_apart("/zoo", "/zoo/tree"));
    }
}
