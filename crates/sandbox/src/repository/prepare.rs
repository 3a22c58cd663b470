//! Preparing a repository: a pack with exactly the history of one commit, made once and copied for each sandbox.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ErrorCode, Index, ObjectType, Odb, Oid, Repository};

use super::apply::Step;
use super::base::Base;
use super::bundle;
use super::change::{Changed, StartChange, change};
use super::history;
use super::odb::disk;
use super::pack::{PackError, pack};
use super::seal::{BaseCommit, LeftOut};
use super::source::{Source, lines, unreadable};
use super::unpacked::Unpacked;
use crate::error::Error;
use crate::place::{directory, removal};

/// One file of the start commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracked {
    pub(crate) path: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) id: Oid,
}

/// Modes as git records them.
pub(crate) mod mode {
    pub(crate) const FILE: u32 = 0o100_644;
    pub(crate) const EXECUTABLE: u32 = 0o100_755;
    pub(crate) const LINK: u32 = 0o120_000;
    pub(crate) const SUBMODULE: u32 = 0o160_000;
}

/// A repository ready to be checked out: the history of its base commit and nothing else. Its directory goes with the last user.
#[derive(Debug)]
pub struct Prepared {
    pub(super) directory: PathBuf,
    /// Names of its packs, without what `pack-` and the endings add.
    pub(super) packs: Vec<String>,
    pub(super) start: Oid,
    pub(super) tree: Oid,
    pub(super) shallow: Vec<Oid>,
    pub(super) commits: u64,
    pub(super) objects: u64,
    pub(super) left_out: LeftOut,
    /// Files of its history that its source does not have.
    pub(super) absent: u64,
    pub(super) verified: bool,
    /// The commit that the row names, where it names one.
    pub(super) base: Option<Base>,
    /// Paths that a change of the start commit made, rewrote or removed.
    pub(super) changed: u64,
    hidden: Vec<PathBuf>,
    /// Sorted by path.
    pub(super) files: Vec<Tracked>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // What stays is found again as an orphan.
        let _ = removal::remove_tree(&self.directory);
    }
}

impl Prepared {
    fn empty(source: &Path, root: &Path) -> Result<Self, Error> {
        let made = std::fs::create_dir_all(root)
            .and_then(|()| root.canonicalize())
            .and_then(|root| directory::create_kin(&root));
        let directory = made.map_err(|error| {
            Error::start(
                format!("prepare the repository {}", source.display()),
                error,
            )
        })?;
        Ok(Self {
            directory,
            packs: Vec::new(),
            start: Oid::ZERO_SHA1,
            tree: Oid::ZERO_SHA1,
            shallow: Vec::new(),
            commits: 0,
            objects: 0,
            left_out: LeftOut::default(),
            absent: 0,
            verified: false,
            base: None,
            changed: 0,
            hidden: Vec::new(),
            files: Vec::new(),
        })
    }

    /// The commit that sandboxes start from.
    pub fn start_commit(&self) -> String {
        self.start.to_string()
    }

    /// What of the source must not be seen inside: its history, and all of it where its files are not those of the start commit.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    pub(super) fn objects_directory(&self) -> PathBuf {
        self.directory.join("objects")
    }

    /// Where the objects of the base commit's tree are that the start commit's history has not.
    pub(super) fn base_directory(&self) -> PathBuf {
        self.directory.join("base")
    }
}

/// What becomes of a history whose earlier files are not all there, as in a partial clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gaps {
    /// Somebody can fetch them.
    Refused,
    /// An image is as it is: what git cannot show in it, it cannot show in the sandbox either.
    Borne,
}

/// Prepares the repository at `source` (a work tree, a bare repository or a bundle file) at `base_commit`, or at its HEAD. Blocks. `root` is the directory
/// of the sandboxes; what is made there goes with the returned value, or is reaped as an orphan.
///
/// # Errors
/// When the repository cannot be read, has no such commit, or its history is incomplete.
pub fn prepare(
    source: &Path,
    base_commit: Option<&str>,
    root: &Path,
) -> Result<Arc<Prepared>, Error> {
    prepare_source(source, base_commit, root, |scratch| {
        Source::open(source, scratch)
    })
}

/// The same for a bundle that was unpacked before.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_unpacked(
    unpacked: &Unpacked,
    base_commit: Option<&str>,
    root: &Path,
) -> Result<Arc<Prepared>, Error> {
    prepare_source(&unpacked.bundle, base_commit, root, |_| unpacked.open())
}

/// The same where something is done to the commit before anybody works: sandboxes start from what comes of it, which has no history. `unpacked` is
/// the bundle at `source`, where it was unpacked before.
///
/// # Errors
/// As [`prepare`], and when the change does not apply.
pub fn prepare_changed(
    source: &Path,
    unpacked: Option<&Unpacked>,
    base_commit: Option<&str>,
    change: &StartChange,
    root: &Path,
) -> Result<Arc<Prepared>, Error> {
    let mut prepared = Prepared::empty(source, root)?;
    let opened = match unpacked {
        Some(unpacked) => unpacked.open()?,
        None => Source::open(source, &prepared.directory)?,
    };
    let base = find_base(source, &opened, base_commit)?;
    prepared.fill_changed(&opened, base, change, source, Gaps::Refused)?;
    prepared.hidden = to_hide(source, &opened, prepared.start);
    drop(opened);
    let _ = removal::remove_tree(&prepared.directory.join(bundle::UNPACKED));
    Ok(Arc::new(prepared))
}

fn prepare_source(
    source: &Path,
    base_commit: Option<&str>,
    root: &Path,
    open: impl FnOnce(&Path) -> Result<Source, Error>,
) -> Result<Arc<Prepared>, Error> {
    let mut prepared = Prepared::empty(source, root)?;
    let opened = open(&prepared.directory)?;
    prepared.start = find_base(source, &opened, base_commit)?;
    prepared.base = base_commit.map(|_| Base::Start);
    prepared
        .fill(&opened, &opened, Gaps::Refused)
        .map_err(|error| incomplete(source, prepared.start, error))?;
    prepared.hidden = to_hide(source, &opened, prepared.start);
    drop(opened);
    // The unpacked bundle has served.
    let _ = removal::remove_tree(&prepared.directory.join(bundle::UNPACKED));
    Ok(Arc::new(prepared))
}

/// What was fetched out of an image, prepared.
pub(super) struct OfImage {
    pub(super) prepared: Arc<Prepared>,
    /// Where the row's base commit is.
    pub(super) base_commit: Option<BaseCommit>,
    /// What the change does to the image's files.
    pub(super) steps: Vec<Step>,
}

/// Prepares what was fetched out of an image, called `label` in messages, at its HEAD, with a change where there is one. `more` was left out besides.
pub(super) fn prepare_fetched(
    source: &Path,
    label: &Path,
    base_commit: Option<&str>,
    change: Option<&StartChange>,
    root: &Path,
    more: &LeftOut,
) -> Result<OfImage, Error> {
    let mut prepared = Prepared::empty(label, root)?;
    let opened = Source::open(source, &prepared.directory)?;
    prepared.start = find_base(label, &opened, None)?;
    let place = base_commit.map(|name| prepared.look_for_base(&opened, name));
    let steps = if let Some(change) = change {
        // Patches are for what the change makes of it.
        prepared.base = None;
        let head = prepared.start;
        prepared.fill_changed(&opened, head, change, label, Gaps::Borne)?
    } else {
        prepared
            .fill(&opened, &opened, Gaps::Borne)
            .map_err(|error| incomplete(label, prepared.start, error))?;
        Vec::new()
    };
    prepared.left_out.remotes += more.remotes;
    prepared.left_out.reflogs += more.reflogs;
    prepared.left_out.alternates += more.alternates;
    prepared.left_out.worktrees += more.worktrees;
    Ok(OfImage {
        prepared: Arc::new(prepared),
        base_commit: place,
        steps,
    })
}

fn to_hide(source: &Path, opened: &Source, start: Oid) -> Vec<PathBuf> {
    let Source::Directory(repository) = opened else {
        return vec![source.to_owned()];
    };
    let common = repository.commondir();
    let mut hidden = vec![common.to_owned(), repository.path().to_owned()];
    hidden.extend(
        lines(common.join("objects/info/alternates"))
            .iter()
            .map(|line| common.join("objects").join(line)),
    );
    // Someone's own checkout may hold the environment that the tests need; one of another commit holds the future.
    let current = repository.head().and_then(|head| head.peel_to_commit());
    if !current.is_ok_and(|commit| commit.id() == start) {
        hidden.push(source.to_owned());
    }
    hidden
}

/// Looks whether `source` can be read and has `base_commit`, so that a mistake shows before anything starts. A bundle is not unpacked for that: only
/// its header is read; what is in it shows when it is prepared, or [`Unpacked`].
///
/// # Errors
/// As [`prepare`], as far as it can be told.
pub fn check(source: &Path, base_commit: Option<&str>) -> Result<(), Error> {
    if source.is_file() {
        return bundle::check(source);
    }
    // Only bundles are unpacked, so no directory is needed.
    let opened = Source::open(source, Path::new(""))?;
    find_base(source, &opened, base_commit).map(drop)
}

pub(super) fn find_base(source: &Path, opened: &Source, base: Option<&str>) -> Result<Oid, Error> {
    let revision = base
        .map(str::to_owned)
        .or_else(|| opened.default_revision());
    let Some(revision) = revision else {
        return Err(Error::repository(
            source,
            "the bundle has several tips and none is called HEAD",
            "name the base commit",
        ));
    };
    opened
        .repository()
        .revparse_single(&revision)
        .and_then(|object| object.peel_to_commit())
        .map(|commit| commit.id())
        .map_err(|error| {
            unreadable(source).unwrap_or_else(|| Error::Repository {
                path: source.to_owned(),
                problem: match base {
                    Some(base) => format!("it has no commit `{base}`"),
                    None => String::from("it has no commit yet"),
                },
                hint: match base {
                    // People paste what a hint says: nothing of a row goes into a command but a commit's id.
                    Some(base) if base.bytes().all(|byte| byte.is_ascii_hexdigit()) => format!(
                        "fetch it (`git -C {} fetch origin {base}`), or point to another repository",
                        source.display()
                    ),
                    Some(_) => String::from("name a commit that it has, or point to another repository"),
                    None => String::from("commit something first"),
                },
                source: Some(error.into()),
            })
        })
}

fn incomplete(source: &Path, base: Oid, error: PackError) -> Error {
    let operation = format!("pack the history of {base} in {}", source.display());
    match error {
        PackError::Git(error) if error.code() == ErrorCode::NotFound => Error::Repository {
            path: source.to_owned(),
            problem: format!("the history of {base} is incomplete"),
            hint: String::from(
                "a partial clone needs its missing objects: `git fetch --refetch --no-filter`",
            ),
            source: Some(error.into()),
        },
        PackError::Git(error) => Error::start(operation, error),
        PackError::Io(error) => Error::start(operation, error),
    }
}

impl Prepared {
    /// Fills it with what a change makes of a commit; returns what that does to the files.
    fn fill_changed(
        &mut self,
        opened: &Source,
        base: Oid,
        asked: &StartChange,
        label: &Path,
        gaps: Gaps,
    ) -> Result<Vec<Step>, Error> {
        let scratch = tempfile::tempdir_in(&self.directory)
            .map_err(|error| Error::start(format!("change {}", label.display()), error))?;
        let Changed {
            source,
            start,
            steps,
        } = change(opened, base, asked, scratch.path(), label)?;
        self.start = start;
        self.changed = steps.len() as u64;
        self.fill(&source, opened, gaps)
            .map_err(|error| incomplete(label, base, error))?;
        Ok(steps)
    }

    /// Fills it with the history of the start commit in `source`; `named` has the references that are left out.
    fn fill(&mut self, source: &Source, named: &Source, gaps: Gaps) -> Result<(), PackError> {
        let repository = source.repository();
        let directory = repository.commondir();
        let shallow = lines(directory.join("shallow"))
            .iter()
            .filter_map(|line| Oid::from_str(line).ok())
            .collect();
        let objects = directory.join("objects");
        let mut history = history::walk(&objects, self.start, &shallow)?;
        self.list(repository)?;
        if gaps == Gaps::Borne {
            let needed = self.files.iter().map(|file| file.id).collect();
            self.absent = history.leave_out_absent(&everything(&disk(&objects)?)?, &needed);
        }
        self.commits = history.commits;
        self.objects = history.objects.len() as u64;
        self.shallow = history.boundary;
        let packs = self.objects_directory().join("pack");
        std::fs::create_dir_all(&packs)?;
        let odb = disk(&objects)?;
        self.packs = pack(&objects, &odb, &history.objects, &packs)?;
        self.left_out = count(named, &history.objects)?;
        let total = everything(&odb)?.len() as u64;
        self.left_out.objects = total.saturating_sub(self.objects);
        self.verified = self.verify(&history.objects)?;
        Ok(())
    }

    fn list(&mut self, repository: &Repository) -> Result<(), git2::Error> {
        let tree = repository.find_commit(self.start)?.tree()?;
        self.tree = tree.id();
        let mut index = Index::new()?;
        index.read_tree(&tree)?;
        self.files = index
            .iter()
            .map(|entry| Tracked {
                path: entry.path,
                mode: entry.mode,
                id: entry.id,
            })
            .collect();
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// Looks at the packs themselves: they hold what the start commit reaches, all of it and nothing else.
    fn verify(&self, history: &HashSet<Oid>) -> Result<bool, git2::Error> {
        let odb = disk(&self.objects_directory())?;
        let mut found = HashSet::with_capacity(history.len());
        odb.foreach(|id| {
            found.insert(*id);
            true
        })?;
        Ok(found == *history)
    }

    /// Names of the files of its packs.
    pub(super) fn pack_files(&self) -> Vec<String> {
        let files = |pack: &String| ["pack", "idx"].map(|kind| format!("pack-{pack}.{kind}"));
        self.packs.iter().flat_map(files).collect()
    }

    /// What a repository's file `shallow` says, where it has one.
    pub(super) fn shallow_file(&self) -> Option<String> {
        let lines = self.shallow.iter().map(|id| format!("{id}\n"));
        (!self.shallow.is_empty()).then(|| lines.collect())
    }

    pub(super) fn submodules(&self) -> u64 {
        let submodules = self
            .files
            .iter()
            .filter(|file| file.mode == mode::SUBMODULE);
        submodules.count() as u64
    }
}

fn everything(odb: &Odb<'_>) -> Result<HashSet<Oid>, git2::Error> {
    let mut all = HashSet::new();
    odb.foreach(|id| {
        all.insert(*id);
        true
    })?;
    Ok(all)
}

fn count(source: &Source, history: &HashSet<Oid>) -> Result<LeftOut, git2::Error> {
    let repository = source.repository();
    let mut left = LeftOut::default();
    let mut add = |name: &str, target: Option<Oid>| {
        match name
            .strip_prefix("refs/")
            .and_then(|rest| rest.split_once('/'))
        {
            Some(("heads", _)) => left.branches += 1,
            Some(("tags", _)) => left.tags += 1,
            Some(("remotes", _)) => left.remote_references += 1,
            _ => left.other_references += 1,
        }
        if target.is_some_and(|target| !history.contains(&target)) {
            left.references_beyond += 1;
        }
    };
    for reference in repository.references()?.filter_map(Result::ok) {
        let target = reference
            .peel(ObjectType::Commit)
            .ok()
            .map(|object| object.id());
        add(&String::from_utf8_lossy(reference.name_bytes()), target);
    }
    if let Some(header) = source.bundle_header() {
        for (id, name) in header.tips.iter().filter(|(_, name)| name != "HEAD") {
            let target = Oid::from_str(id)
                .and_then(|id| repository.find_object(id, None))
                .and_then(|object| object.peel_to_commit())
                .ok();
            add(name, target.map(|commit| commit.id()));
        }
    }
    let directory = repository.commondir();
    left.remotes = repository.remotes()?.len() as u64;
    left.reflogs = files_below(&directory.join("logs"));
    left.alternates = lines(directory.join("objects/info/alternates")).len() as u64;
    left.worktrees =
        std::fs::read_dir(directory.join("worktrees")).map_or(0, |entries| entries.count() as u64);
    Ok(left)
}

fn files_below(directory: &Path) -> u64 {
    let mut count = 0;
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => pending.push(entry.path()),
                Ok(kind) if kind.is_file() => count += 1,
                _ => {}
            }
        }
    }
    count
}
