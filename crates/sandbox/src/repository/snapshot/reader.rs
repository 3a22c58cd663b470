//! Making a snapshot of a stream of entries.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use git2::Oid;
use sha1::{Digest, Sha1};

use super::spool::{Piece, Spool};
use super::{File, Node, Owner, Snapshot};
use crate::repository::archive::{ArchiveError, Entry, EntryKind};
use crate::repository::baseline::Baseline;
use crate::repository::ignore::Level;
use crate::repository::prepare::{Tracked, mode};
use crate::repository::survey::{MAX_FILE, MAX_IGNORE_FILE};
use crate::repository::worktree::split;

/// Bytes that the spool may have, 1 GiB.
const MAX_SPOOL: u64 = 1 << 30;
/// Files up to this length are compared before anything is written, 1 MiB.
const SMALL: u64 = 1 << 20;
/// Longest file of a submodule's repository that is of interest: one that holds a commit's name.
const MAX_HEAD: u64 = 4096;
/// Entries that a stream may have, those of repositories included.
const MAX_ENTRIES: u64 = 8_000_000;
/// Memory that names and kinds may take, about 600 MiB for 2 million files.
const MAX_INDEX: u64 = 600 << 20;
/// Memory of one entry beside its name.
const NODE: u64 = 200;

/// What is kept of contents.
pub(in crate::repository) enum Keep {
    /// Nothing: only names are wanted.
    Nothing,
    /// What differs from the start, as far as a patch may hold it.
    Differing,
    /// These paths, and nothing is passed over because it seems to be ignored.
    Only(HashSet<Vec<u8>>),
}

/// What is known about a directory while its entries come.
#[derive(Clone, Default)]
struct Rules {
    level: Option<Rc<Level>>,
    ignored: bool,
    /// Whether it lies in a submodule.
    foreign: bool,
}

/// Takes entries in.
pub(in crate::repository) struct Reader<'a> {
    files: &'a [Tracked],
    baseline: &'a Baseline,
    keep: Keep,
    rules: HashMap<Vec<u8>, Rules>,
    /// What lies inside repositories and another name outside stands for.
    sources: HashMap<Vec<u8>, Node>,
    snapshot: Snapshot,
    entries: u64,
    index: u64,
}

impl<'a> Reader<'a> {
    /// A reader whose spool lies in `directory`.
    pub(in crate::repository) fn new(
        files: &'a [Tracked],
        baseline: &'a Baseline,
        keep: Keep,
        directory: &Path,
    ) -> io::Result<Self> {
        Ok(Self {
            files,
            baseline,
            keep,
            rules: HashMap::new(),
            sources: HashMap::new(),
            snapshot: Snapshot::new(Spool::new(directory)?),
            entries: 0,
            index: 0,
        })
    }

    pub(in crate::repository) fn finish(self) -> Snapshot {
        self.snapshot
    }

    /// Takes one entry.
    pub(in crate::repository) fn entry(
        &mut self,
        entry: &Entry,
        content: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(ArchiveError::TooMany);
        }
        if entry.path.is_empty() {
            self.root(entry);
            return Ok(());
        }
        if let Some(end) = git_component(&entry.path) {
            return self.git(entry, end, content);
        }
        let (parent, _) = split(&entry.path);
        let parent = self.rules_of(parent);
        if parent.ignored && self.passes_over(&entry.path) {
            return Ok(());
        }
        let node = match &entry.kind {
            EntryKind::Directory => {
                self.directory(entry, &parent);
                Node::Directory
            }
            EntryKind::Link(target) => Node::Link(target.as_slice().into()),
            EntryKind::Special => Node::Special,
            EntryKind::HardLink(target) => self.hard_link(entry, target),
            EntryKind::File => Node::File(Box::new(self.file(entry, &parent, content)?)),
        };
        self.insert(&entry.path, node)
    }

    fn root(&mut self, entry: &Entry) {
        self.snapshot.owner = Owner {
            uid: entry.uid,
            gid: entry.gid,
        };
        if entry.kind == EntryKind::Directory {
            self.snapshot.directories.entry(Vec::new()).or_default();
        }
    }

    /// Whether something in an ignored directory is of no interest.
    fn passes_over(&self, path: &[u8]) -> bool {
        match &self.keep {
            Keep::Only(_) => false,
            Keep::Nothing | Keep::Differing => {
                self.position(path).is_none() && !self.has_tracked_below(path)
            }
        }
    }

    fn directory(&mut self, entry: &Entry, parent: &Rules) {
        let path = &entry.path;
        let foreign = parent.foreign || self.is_submodule(path);
        let ignored = !foreign
            && (parent.ignored
                || parent
                    .level
                    .as_ref()
                    .is_some_and(|level| level.ignores(path, true)));
        let rules = Rules {
            level: parent.level.clone(),
            ignored,
            foreign,
        };
        if ignored && self.passes_over(path) {
            self.snapshot.passed_over.insert(path.clone());
        }
        self.rules.insert(path.clone(), rules);
    }

    fn rules_of(&self, path: &[u8]) -> Rules {
        self.rules.get(path).cloned().unwrap_or_default()
    }

    fn file(
        &mut self,
        entry: &Entry,
        parent: &Rules,
        content: &mut dyn Read,
    ) -> Result<File, ArchiveError> {
        let path = &entry.path;
        let (_, name) = split(path);
        let is_rules = name == b".gitignore" && entry.size <= MAX_IGNORE_FILE && !parent.foreign;
        let forced = is_rules || self.is_asked_for(path, entry.size);
        let tracked = self.position(path).map(|at| self.files[at].id);
        let ignored = !parent.foreign
            && tracked.is_none()
            && !self.baseline.knows(path)
            && (parent.ignored
                || parent
                    .level
                    .as_ref()
                    .is_some_and(|level| level.ignores(path, false)));
        let mut file = File::new(entry);
        if ignored && !forced {
            return Ok(file);
        }
        let wanted = forced
            || (matches!(self.keep, Keep::Differing)
                && !parent.foreign
                && entry.size <= MAX_FILE
                && self.snapshot.spool.len() + entry.size <= MAX_SPOOL);
        let known =
            |id: Oid| !forced && (tracked == Some(id) || self.baseline.blob(path) == Some(id));
        let spool = wanted.then_some(&mut self.snapshot.spool);
        let (blob, piece) = take(content, entry.size, spool, known)?;
        file.blob = Some(blob);
        file.piece = piece;
        if let Some(piece) = piece.filter(|_| is_rules) {
            self.read_rules(path, piece)?;
        }
        Ok(file)
    }

    fn read_rules(&mut self, path: &[u8], piece: Piece) -> Result<(), ArchiveError> {
        let text = self
            .snapshot
            .spool
            .read(piece)
            .map_err(ArchiveError::Spool)?;
        let (directory, name) = split(path);
        let mut rules = self.rules_of(directory);
        if !rules.ignored {
            let prefix = path.len() - name.len();
            rules.level = Some(Level::below(rules.level.take(), prefix, &text));
            self.rules.insert(directory.to_vec(), rules);
        }
        Ok(())
    }

    /// Another name of what came before. Where that was not taken in, a survey that needs it asks for it.
    fn hard_link(&self, entry: &Entry, target: &[u8]) -> Node {
        let known = self.snapshot.node(target);
        let mut file = match known.or_else(|| self.sources.get(target)) {
            Some(Node::File(file)) => file.clone(),
            Some(node @ (Node::Link(_) | Node::Special)) => return node.clone(),
            Some(Node::Directory) | None => Box::new(File::new(entry)),
        };
        file.executable = is_executable(entry);
        file.source.get_or_insert_with(|| target.into());
        Node::File(file)
    }

    /// Of a repository inside, only that it is there counts, and for a submodule the commit that it is at.
    fn git(
        &mut self,
        entry: &Entry,
        end: usize,
        content: &mut dyn Read,
    ) -> Result<(), ArchiveError> {
        let (path, repository) = (&entry.path, &entry.path[..end]);
        let (parent, _) = split(repository);
        if self.snapshot.node(repository).is_none() {
            let node = if path.len() == end && entry.kind != EntryKind::Directory {
                Node::Special
            } else {
                Node::Directory
            };
            self.insert(repository, node)?;
        }
        let below = path.get(end + 1..).unwrap_or_default();
        let tells_commit = entry.kind == EntryKind::File
            && entry.size <= MAX_HEAD
            && (below == b"HEAD" || below.starts_with(b"refs/"))
            && self.is_submodule(parent);
        if !tells_commit && !self.is_asked_for(path, 0) {
            return Ok(());
        }
        let node = match &entry.kind {
            EntryKind::File if entry.size <= MAX_FILE => {
                let spool = Some(&mut self.snapshot.spool);
                let (blob, piece) = take(content, entry.size, spool, |_| false)?;
                let mut file = File::new(entry);
                file.blob = Some(blob);
                file.piece = piece;
                Node::File(Box::new(file))
            }
            EntryKind::File => Node::File(Box::new(File::new(entry))),
            EntryKind::HardLink(target) => self.hard_link(entry, target),
            EntryKind::Link(target) => Node::Link(target.as_slice().into()),
            EntryKind::Directory => Node::Directory,
            EntryKind::Special => Node::Special,
        };
        self.sources.insert(path.clone(), node.clone());
        if tells_commit {
            self.insert(path, node)?;
        }
        Ok(())
    }

    fn is_asked_for(&self, path: &[u8], size: u64) -> bool {
        matches!(&self.keep, Keep::Only(paths) if size <= MAX_FILE && paths.contains(path))
    }

    /// Puts a node in its place, instead of what stood there.
    fn insert(&mut self, path: &[u8], node: Node) -> Result<(), ArchiveError> {
        let (parent, name) = split(path);
        self.make_directory(parent)?;
        let is_directory = matches!(node, Node::Directory);
        let link = match &node {
            Node::Link(target) => target.len(),
            Node::File(_) | Node::Directory | Node::Special => 0,
        };
        self.index += NODE + (name.len() + link) as u64;
        if is_directory {
            self.index += path.len() as u64;
        }
        if self.index > MAX_INDEX {
            return Err(ArchiveError::TooMany);
        }
        let directories = &mut self.snapshot.directories;
        let names = directories.entry(parent.to_vec()).or_default();
        let old = names.insert(name.into(), node);
        if is_directory {
            directories.entry(path.to_vec()).or_default();
        } else if matches!(old, Some(Node::Directory)) {
            forget(directories, path);
        }
        Ok(())
    }

    /// Makes the directories that an archive left out.
    fn make_directory(&mut self, path: &[u8]) -> Result<(), ArchiveError> {
        if self.snapshot.directories.contains_key(path) {
            return Ok(());
        }
        if path.is_empty() {
            return Err(ArchiveError::Damaged("it does not start with a directory"));
        }
        match self.snapshot.node(path) {
            None | Some(Node::Directory) => self.insert(path, Node::Directory),
            Some(Node::File(_) | Node::Link(_) | Node::Special) => Err(ArchiveError::Damaged(
                "something lies below what is no directory",
            )),
        }
    }

    fn position(&self, path: &[u8]) -> Option<usize> {
        self.files
            .binary_search_by(|file| file.path.as_slice().cmp(path))
            .ok()
    }

    fn is_submodule(&self, path: &[u8]) -> bool {
        self.position(path)
            .is_some_and(|at| self.files[at].mode == mode::SUBMODULE)
    }

    fn has_tracked_below(&self, path: &[u8]) -> bool {
        let prefix = [path, b"/"].concat();
        let at = self.files.partition_point(|file| file.path < prefix);
        self.files
            .get(at)
            .is_some_and(|file| file.path.starts_with(&prefix))
    }
}

impl File {
    fn new(entry: &Entry) -> Self {
        Self {
            executable: is_executable(entry),
            size: entry.size,
            modified: entry.modified,
            blob: None,
            piece: None,
            source: None,
        }
    }
}

fn is_executable(entry: &Entry) -> bool {
    entry.mode & 0o100 != 0
}

/// Where the first component that names a repository ends.
pub(super) fn git_component(path: &[u8]) -> Option<usize> {
    let mut end = 0;
    for part in path.split(|&byte| byte == b'/') {
        end += part.len();
        if part.eq_ignore_ascii_case(b".git") {
            return Some(end);
        }
        end += 1;
    }
    None
}

/// Forgets all directories from a path downwards.
fn forget(directories: &mut BTreeMap<Vec<u8>, BTreeMap<Box<[u8]>, Node>>, path: &[u8]) {
    let below = [path, b"/"].concat();
    directories.remove(path);
    let gone: Vec<Vec<u8>> = directories
        .range(below.clone()..)
        .take_while(|(directory, _)| directory.starts_with(&below))
        .map(|(directory, _)| directory.clone())
        .collect();
    for directory in gone {
        directories.remove(&directory);
    }
}

/// Names a content as git does, and keeps it in the spool unless it is `known`.
fn take(
    content: &mut dyn Read,
    size: u64,
    spool: Option<&mut Spool>,
    known: impl Fn(Oid) -> bool,
) -> Result<(Oid, Option<Piece>), ArchiveError> {
    let mut hash = Sha1::new_with_prefix(format!("blob {size}\0"));
    let small = size <= SMALL;
    let mut buffer = vec![0; usize::try_from(size.clamp(1, SMALL)).unwrap_or(1)];
    let mut spool = spool.map(|spool| (spool.len(), spool));
    let mut filled = 0;
    loop {
        let read = content.read(&mut buffer[filled..])?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[filled..filled + read]);
        if small {
            filled += read;
            if filled == buffer.len() {
                break;
            }
        } else if let Some((_, spool)) = &mut spool {
            spool.push(&buffer[..read]).map_err(ArchiveError::Spool)?;
        }
    }
    let id = Oid::from_bytes(&hash.finalize())
        .map_err(|_| ArchiveError::Damaged("a content has no name"))?;
    let Some((start, spool)) = spool else {
        return Ok((id, None));
    };
    if known(id) {
        if !small {
            spool.rewind(start).map_err(ArchiveError::Spool)?;
        }
        return Ok((id, None));
    }
    if small {
        spool.push(&buffer[..filled]).map_err(ArchiveError::Spool)?;
    }
    Ok((id, Some(spool.since(start))))
}
