//! Checking a prepared repository out into a fresh directory: byte for byte, sealed by construction.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{Index, IndexEntry, IndexTime, Odb};

use super::baseline::Baseline;
use super::inside::ImageRepository;
use super::odb::disk;
use super::prepare::{Prepared, Tracked, mode};
use super::seal::SealRecord;
use crate::error::{Cause, Error};

/// What a file's metadata says about whether it was touched. The time of the last change of the inode cannot be set by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Nanoseconds; 0 never matches.
    pub(crate) changed: i64,
}

/// How the workspace looked when the agent got it.
pub(crate) struct Start {
    pub(crate) seal: SealRecord,
    /// One for each file of the start commit, in the same order.
    pub(super) stamps: Vec<Stamp>,
    /// How the workspace differed from the start commit even then.
    pub(super) baseline: Arc<Baseline>,
    /// The image's repository that it was made of: it is kept as long as anybody uses it.
    pub(super) image: Option<Arc<ImageRepository>>,
    /// Files of an image that a change of the start commit takes away, and that still lie there.
    pub(super) to_remove: Vec<Vec<u8>>,
}

impl Start {
    /// A start of which only the commit is known.
    pub(super) fn new(seal: SealRecord, baseline: Arc<Baseline>) -> Self {
        Self {
            seal,
            stamps: Vec::new(),
            baseline,
            image: None,
            to_remove: Vec::new(),
        }
    }

    /// Whether looking at names, modes and contents tells all that differs: what else is in a submodule's directory is known by what an archive says.
    pub(crate) fn is_seen_whole(&self) -> bool {
        !self.baseline.has_submodules()
    }

    /// Directories in it that held other repositories, and are empty now.
    pub(super) fn emptied(&self) -> &[Vec<u8>] {
        self.image
            .as_ref()
            .map_or(&[], |image| image.submodules.as_slice())
    }
}

/// A coarse file clock may give a write after the checkout the same time as the checkout's own; such files are always read again.
const COARSE_CLOCK: i64 = 20_000_000;

/// Configuration of the agent's repository: nothing of the source's, and an identity so that it can commit.
pub(super) const CONFIGURATION: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
     [user]\n\tname = Agent\n\temail = agent@localhost\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n";

/// Directories of a repository.
pub(super) const DIRECTORIES: [&str; 7] = [
    "objects",
    "objects/pack",
    "objects/info",
    "refs",
    "refs/heads",
    "refs/tags",
    "info",
];

/// Writes the repository into `workdir`, which exists and is empty.
pub(crate) fn checkout(prepared: &Prepared, workdir: &Path) -> Result<Start, Error> {
    let mut writer = Writer {
        prepared,
        workdir,
        last_directory: Vec::new(),
    };
    writer.checkout().map_err(|error| {
        Error::start(
            format!("check out {} in {}", prepared.start, workdir.display()),
            error,
        )
    })
}

struct Writer<'a> {
    prepared: &'a Prepared,
    workdir: &'a Path,
    last_directory: Vec<u8>,
}

impl Writer<'_> {
    fn checkout(&mut self) -> Result<Start, Cause> {
        self.git_directory()?;
        let odb = disk(&self.prepared.objects_directory())?;
        let mut index = Index::open(&self.workdir.join(".git/index"))?;
        let mut stamps = Vec::with_capacity(self.prepared.files.len());
        for file in &self.prepared.files {
            let metadata = self.write(file, &odb)?;
            index.add(&entry(file, &metadata))?;
            stamps.push(Stamp {
                inode: metadata.ino(),
                size: metadata.size(),
                changed: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
            });
        }
        index.write()?;
        let last = stamps.iter().map(|stamp| stamp.changed).max().unwrap_or(0);
        for stamp in &mut stamps {
            if stamp.changed + COARSE_CLOCK > last {
                stamp.changed = 0;
            }
        }
        let verified = self.prepared.verified && self.is_sealed()?;
        Ok(Start {
            stamps,
            ..Start::new(SealRecord::new(self.prepared, verified), Arc::default())
        })
    }

    fn git_directory(&self) -> io::Result<()> {
        let git = self.workdir.join(".git");
        fs::create_dir(&git)?;
        for name in DIRECTORIES {
            fs::create_dir(git.join(name))?;
        }
        fs::write(git.join("HEAD"), format!("{}\n", self.prepared.start))?;
        fs::write(git.join("config"), CONFIGURATION)?;
        if let Some(text) = self.prepared.shallow_file() {
            fs::write(git.join("shallow"), text)?;
        }
        for name in self.prepared.pack_files() {
            let from = self.prepared.objects_directory().join("pack").join(&name);
            fs::copy(from, git.join("objects/pack").join(&name))?;
        }
        Ok(())
    }

    /// Writes one file of the tree, whose paths are sorted.
    fn write(&mut self, file: &Tracked, odb: &Odb<'_>) -> Result<fs::Metadata, Cause> {
        let path = self.path(&file.path)?;
        match file.mode {
            mode::SUBMODULE => fs::create_dir_all(&path)?,
            mode::LINK => {
                let blob = odb.read(file.id)?;
                std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(blob.data()), &path)?;
            }
            other => {
                let blob = odb.read(file.id)?;
                let permissions = if other == mode::EXECUTABLE {
                    0o755
                } else {
                    0o644
                };
                let mut target = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(permissions)
                    .open(&path)?;
                target.write_all(blob.data())?;
                return Ok(settled(&target, permissions)?);
            }
        }
        Ok(fs::symlink_metadata(&path)?)
    }

    /// The path of a file whose directory exists when this returns. git never lets such a path leave the tree; a hostile tree might.
    fn path(&mut self, path: &[u8]) -> Result<PathBuf, Cause> {
        honest(path)?;
        let directory = memchr::memrchr(b'/', path).map_or(&[][..], |slash| &path[..slash]);
        if directory != self.last_directory {
            fs::create_dir_all(self.workdir.join(std::ffi::OsStr::from_bytes(directory)))?;
            self.last_directory = directory.to_vec();
        }
        Ok(self.workdir.join(std::ffi::OsStr::from_bytes(path)))
    }

    /// Looks again at what lies there: one pack of the right size, no loose object, no reference.
    fn is_sealed(&self) -> io::Result<bool> {
        let git = self.workdir.join(".git");
        let names = |path: &str| -> io::Result<Vec<String>> {
            let mut names = fs::read_dir(git.join(path))?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<_>>>()?;
            names.sort();
            Ok(names)
        };
        let mut files = self.prepared.pack_files();
        files.sort();
        let mut same_size = true;
        for name in &files {
            let size = |directory: &Path| {
                fs::metadata(directory.join("pack").join(name)).map(|metadata| metadata.len())
            };
            same_size &= size(&git.join("objects"))? == size(&self.prepared.objects_directory())?;
        }
        Ok(names("objects/pack")? == files
            && names("objects")? == ["info", "pack"]
            && names("objects/info")?.is_empty()
            && names("refs/heads")?.is_empty()
            && names("refs/tags")?.is_empty()
            && same_size)
    }
}

/// The agent's index: what lets its `git status` skip files that nobody touched. git itself cuts these numbers to 32 bits.
fn entry(file: &Tracked, metadata: &fs::Metadata) -> IndexEntry {
    let time = |seconds: i64, nanoseconds: i64| {
        IndexTime::new(low_signed(seconds), low(nanoseconds.unsigned_abs()))
    };
    IndexEntry {
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        dev: low(metadata.dev()),
        ino: low(metadata.ino()),
        mode: file.mode,
        uid: metadata.uid(),
        gid: metadata.gid(),
        file_size: low(metadata.size()),
        id: file.id,
        flags: 0,
        flags_extended: 0,
        path: file.path.clone(),
    }
}

/// The metadata after the user's file creation mask has been undone.
fn settled(file: &File, permissions: u32) -> io::Result<fs::Metadata> {
    let metadata = file.metadata()?;
    if metadata.mode() & 0o111 == permissions & 0o111 {
        return Ok(metadata);
    }
    file.set_permissions(fs::Permissions::from_mode(permissions))?;
    file.metadata()
}

/// Refuses a path that would lead out of the tree or into its repository.
pub(super) fn honest(path: &[u8]) -> Result<(), Cause> {
    let strange = path.split(|&byte| byte == b'/').any(|part| {
        part.is_empty() || part == b"." || part == b".." || part.eq_ignore_ascii_case(b".git")
    });
    if strange {
        return Err(format!("its tree has the path `{}`", path.escape_ascii()).into());
    }
    Ok(())
}

pub(super) fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

pub(super) fn low_signed(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
