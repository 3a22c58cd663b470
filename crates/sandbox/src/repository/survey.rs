//! Walking the workspace: which files differ from the start commit.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use git2::{ObjectType, Oid};

use super::checkout::Start;
use super::excess::{self, Excess};
use super::ignore::Level;
use super::prepare::{Prepared, Tracked, mode};
use super::tree::Tree;
use super::worktree::{Kind, Metadata, split};

/// Longest file whose content is compared, 64 MiB: one that the agent made bigger is left out, and said to be.
pub(super) const MAX_FILE: u64 = 64 << 20;
/// Content that all changed files may have together, 256 MiB.
const MAX_CONTENT: u64 = 256 << 20;
/// What of that only small files may fill, 64 MiB: what somebody wrote is not to be left out for what a build made.
const RESERVE: u64 = 64 << 20;
/// Longest file that counts as small.
const SMALL: u64 = 1 << 20;
/// Most omissions that are listed: a hostile workspace could make as many as it likes.
const MAX_OMISSIONS: usize = 1000;
/// Changed files that a patch may have.
const MAX_CHANGES: usize = 50_000;
/// Entries that are looked at.
pub(super) const MAX_ENTRIES: usize = 2_000_000;
/// How long a comparison may take: rules and names may be so many and so long that their product takes for ever.
const LIMIT: Duration = Duration::from_mins(1);
/// Longest `.gitignore` that is read.
pub(super) const MAX_IGNORE_FILE: u64 = 1 << 20;

/// Something that is not in the patch although it is in the workspace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Omission {
    /// Where; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A path that differs.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    /// Mode and what it holds now; `None` when it is gone.
    pub(super) now: Option<(u32, Content)>,
}

#[derive(Debug)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// What it is, without the bytes.
    Blob(Oid),
    Submodule(Oid),
}

/// What is wanted of files that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Their bytes, as far as a patch may hold them.
    Contents,
    /// Their names and what git calls their content, however many there are.
    Names,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) changes: Vec<Change>,
    pub(super) omissions: Vec<Omission>,
    /// How many more there were than are listed.
    pub(super) unlisted: u64,
}

/// Compares a workspace with its start.
pub(super) fn survey<T: Tree>(
    prepared: &Prepared,
    start: &Start,
    tree: &T,
    want: Want,
) -> io::Result<Survey> {
    survey_until(Instant::now() + LIMIT, prepared, start, tree, want)
}

/// The same, given up at `until`.
pub(super) fn survey_until<T: Tree>(
    until: Instant,
    prepared: &Prepared,
    start: &Start,
    tree: &T,
    want: Want,
) -> io::Result<Survey> {
    let mut surveyor = Surveyor {
        files: &prepared.files,
        start,
        tree,
        want,
        seen: vec![false; prepared.files.len()],
        content: 0,
        entries: 0,
        until,
        unread: Vec::new(),
        found: Survey::default(),
    };
    surveyor.walk()?;
    surveyor.gone();
    let mut found = surveyor.found;
    found.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

struct Surveyor<'a, T> {
    files: &'a [Tracked],
    start: &'a Start,
    tree: &'a T,
    want: Want,
    seen: Vec<bool>,
    content: u64,
    entries: usize,
    until: Instant,
    /// Directories that could not be read, each with its slash.
    unread: Vec<Vec<u8>>,
    found: Survey,
}

/// A directory still to be looked at.
struct Pending {
    path: Vec<u8>,
    rules: Option<Rc<Level>>,
    /// Whether only what the start commit has counts below it.
    ignored: bool,
}

impl<T: Tree> Surveyor<'_, T> {
    fn walk(&mut self) -> io::Result<()> {
        let mut pending = vec![Pending {
            path: Vec::new(),
            rules: None,
            ignored: false,
        }];
        while let Some(directory) = pending.pop() {
            match self.directory(&directory, &mut pending) {
                Ok(()) => {}
                // It was there a moment ago.
                Err(error)
                    if error.kind() == io::ErrorKind::NotFound && !directory.path.is_empty() => {}
                Err(error) if directory.path.is_empty() || excess::is_told_by(&error) => {
                    return Err(error);
                }
                Err(error) => {
                    self.omit(&directory.path, format!("it cannot be read: {error}"));
                    self.unread.push([&directory.path, &b"/"[..]].concat());
                }
            }
        }
        Ok(())
    }

    fn directory(&mut self, directory: &Pending, pending: &mut Vec<Pending>) -> io::Result<()> {
        let (handle, names) = self.tree.list(&directory.path)?;
        let prefix = if directory.path.is_empty() {
            Vec::new()
        } else {
            [directory.path.as_slice(), b"/"].concat()
        };
        let rules = self.rules(directory, &prefix, &names);
        for name in names {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(Excess::error("has too many files"));
            }
            if Instant::now() >= self.until {
                return Err(Excess::error(
                    "takes more than a minute to compare: it has very many files, or a `.gitignore` with very many or long rules",
                ));
            }
            let path = [prefix.as_slice(), &name].concat();
            if name.eq_ignore_ascii_case(b".git") {
                self.git(&name, &path);
                continue;
            }
            let metadata = match self.tree.metadata_in(&handle, &name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let below = self.entry(path, &metadata, directory.ignored, rules.as_ref());
            pending.extend(below);
        }
        Ok(())
    }

    /// The rules for what lies in a directory.
    fn rules(&self, directory: &Pending, prefix: &[u8], names: &[Vec<u8>]) -> Option<Rc<Level>> {
        let name = b".gitignore".to_vec();
        if directory.ignored || names.binary_search(&name).is_err() {
            return directory.rules.clone();
        }
        let path = [prefix, name.as_slice()].concat();
        match self.tree.read(&path, MAX_IGNORE_FILE) {
            Ok(Some(text)) => Some(Level::below(directory.rules.clone(), prefix.len(), &text)),
            // Longer than any honest one, a link or a pipe: git does not read links either.
            Ok(None) | Err(_) => directory.rules.clone(),
        }
    }

    /// The agent's own repository counts for nothing; one below it is noted, since its files go into the patch as ordinary files.
    fn git(&mut self, name: &[u8], path: &[u8]) {
        let (parent, _) = split(path);
        if name != b".git" {
            self.omit(path, "git reserves this name");
        } else if !parent.is_empty() && self.position(parent).is_none() {
            self.omit(path, "a repository inside the repository: its files are in the patch, its history is not");
        }
    }

    /// Looks at one entry; returns the directory that it is, when its content counts.
    fn entry(
        &mut self,
        path: Vec<u8>,
        metadata: &Metadata,
        ignored: bool,
        rules: Option<&Rc<Level>>,
    ) -> Option<Pending> {
        let position = self.position(&path);
        let is_ignored =
            |directory| ignored || rules.is_some_and(|rules| rules.ignores(&path, directory));
        match (metadata.kind, position) {
            (Kind::Directory, Some(at)) if self.files[at].mode == mode::SUBMODULE => {
                self.submodule(at);
                None
            }
            (Kind::Directory, _) => {
                let ignored = is_ignored(true);
                let counts = !ignored || self.has_tracked_below(&path);
                counts.then(|| Pending {
                    path,
                    rules: rules.cloned(),
                    ignored,
                })
            }
            (Kind::File { executable }, Some(at)) => {
                self.tracked_file(at, executable, metadata);
                None
            }
            (Kind::Link, Some(at)) => {
                self.link(path, Some(at));
                None
            }
            (_, None) if is_ignored(false) => None,
            (Kind::File { executable }, None) => {
                self.file(path, executable, metadata.stamp.size, None);
                None
            }
            (Kind::Link, None) => {
                self.link(path, None);
                None
            }
            // The start commit's file counts as deleted.
            (Kind::Special, _) => {
                self.omit(&path, "neither a file nor a link nor a directory");
                None
            }
        }
    }

    fn tracked_file(&mut self, at: usize, executable: bool, metadata: &Metadata) {
        self.seen[at] = true;
        let file = &self.files[at];
        let same_mode = file.mode == file_mode(executable);
        if same_mode && self.start.stamps.get(at) == Some(&metadata.stamp) {
            return;
        }
        let (path, id) = (file.path.clone(), file.id);
        self.file(
            path,
            executable,
            metadata.stamp.size,
            same_mode.then_some(id),
        );
    }

    /// Reads a file and notes it unless it has the `known` content.
    fn file(&mut self, path: Vec<u8>, executable: bool, size: u64, known: Option<Oid>) {
        let mode = file_mode(executable);
        if let Some(id) = self.tree.blob(&path) {
            if known == Some(id) || self.start.baseline.has(&path, mode, id) {
                return;
            }
            if self.want == Want::Names {
                return self.change(path, Some((mode, Content::Blob(id))));
            }
        }
        let reserve = if size > SMALL { RESERVE } else { 0 };
        let room = MAX_FILE.min(MAX_CONTENT.saturating_sub(reserve + self.content));
        if size > room {
            self.omit(&path, format!("too big for a patch: {size} bytes"));
            return;
        }
        let bytes = match self.tree.read(&path, room) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return self.omit(&path, "too big for a patch: it grew"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.omit(&path, format!("it cannot be read: {error}")),
        };
        let baseline = &self.start.baseline;
        let same = (known.is_some() || baseline.knows(&path))
            && Oid::hash_object(ObjectType::Blob, &bytes)
                .is_ok_and(|id| known == Some(id) || baseline.has(&path, mode, id));
        if !same {
            self.content += bytes.len() as u64;
            self.change(path, Some((mode, Content::Bytes(bytes))));
        }
    }

    fn link(&mut self, path: Vec<u8>, at: Option<usize>) {
        let target = match self.tree.read_link(&path) {
            Ok(target) => target,
            Err(error) => return self.omit(&path, format!("it cannot be read: {error}")),
        };
        let id = Oid::hash_object(ObjectType::Blob, &target);
        if let Some(at) = at {
            self.seen[at] = true;
            let file = &self.files[at];
            if file.mode == mode::LINK && id.as_ref().is_ok_and(|id| *id == file.id) {
                return;
            }
        }
        if id.is_ok_and(|id| self.start.baseline.has(&path, mode::LINK, id)) {
            return;
        }
        self.change(path, Some((mode::LINK, Content::Bytes(target))));
    }

    /// A submodule's directory: empty as it was, at another commit, or with files that no patch of this repository can hold.
    fn submodule(&mut self, at: usize) {
        self.seen[at] = true;
        let path = self.files[at].path.clone();
        let Ok((_, names)) = self.tree.list(&path) else {
            return;
        };
        if let Some(head) = self
            .submodule_head(&path)
            .filter(|id| *id != self.files[at].id)
        {
            self.change(
                path.clone(),
                Some((mode::SUBMODULE, Content::Submodule(head))),
            );
        }
        let before = self.start.baseline.submodule(&path);
        let untouched = before.is_some() && self.tree.fingerprint(&path) == before;
        if !untouched && names.iter().any(|name| name != b".git") {
            self.omit(
                &path,
                "files in a submodule: the patch can only say which commit it is at",
            );
        }
    }

    /// The commit that a repository in a submodule's directory is at, read without trusting it.
    fn submodule_head(&self, path: &[u8]) -> Option<Oid> {
        let read = |name: &str| {
            let path = [path, b"/.git/", name.as_bytes()].concat();
            let bytes = self.tree.read(&path, 4096).ok()??;
            Some(String::from_utf8(bytes).ok()?.trim().to_owned())
        };
        let head = read("HEAD")?;
        let id = match head.strip_prefix("ref: ") {
            Some(name) => read(name)?,
            None => head,
        };
        Oid::from_str(&id).ok().filter(|_| id.len() == 40)
    }

    /// Whatever of the start commit was not met is gone, apart from what is inside something that could not be read.
    fn gone(&mut self) {
        for at in 0..self.files.len() {
            let path = &self.files[at].path;
            let unread = self
                .unread
                .iter()
                .any(|directory| path.starts_with(directory));
            if !self.seen[at] && !unread && !self.start.baseline.was_missing(path) {
                let path = path.clone();
                self.change(path, None);
            }
        }
    }

    fn change(&mut self, path: Vec<u8>, now: Option<(u32, Content)>) {
        if self.found.changes.len() < MAX_CHANGES || self.want == Want::Names {
            self.found.changes.push(Change { path, now });
        } else {
            self.omit(&path, "too many changed files for a patch");
        }
    }

    fn omit(&mut self, path: &[u8], reason: impl Into<String>) {
        let path = String::from_utf8_lossy(path).into_owned();
        if self.start.baseline.was_omitted(&path) {
            return;
        }
        if self.found.omissions.len() >= MAX_OMISSIONS {
            self.found.unlisted += 1;
            return;
        }
        self.found.omissions.push(Omission {
            path,
            reason: reason.into(),
        });
    }

    fn position(&self, path: &[u8]) -> Option<usize> {
        self.files
            .binary_search_by(|file| file.path.as_slice().cmp(path))
            .ok()
    }

    fn has_tracked_below(&self, directory: &[u8]) -> bool {
        let prefix = [directory, b"/"].concat();
        let at = self.files.partition_point(|file| file.path < prefix);
        self.files
            .get(at)
            .is_some_and(|file| file.path.starts_with(&prefix))
    }
}

fn file_mode(executable: bool) -> u32 {
    if executable {
        mode::EXECUTABLE
    } else {
        mode::FILE
    }
}
