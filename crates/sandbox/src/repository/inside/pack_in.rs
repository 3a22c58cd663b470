//! Writing a repository and its files as an archive.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::SystemTime;

use tar::{EntryType, Header};

use crate::error::Cause;
use crate::repository::checkout::{CONFIGURATION, DIRECTORIES, honest};
use crate::repository::odb::disk;
use crate::repository::prepare::{Prepared, Tracked, mode};
use crate::repository::snapshot::Owner;

/// Lets the agent's git take a file for untouched by its size and time alone: the rest of what git remembers is not known before the file is there.
const TRUST: &str = "[core]\n\tcheckStat = minimal\n\ttrustctime = false\n";
/// Seconds that the files are older than the index, so that git need not look into them.
const SETTLED: u64 = 10;

/// Where a repository is in its workspace.
pub(super) const REPOSITORY: &str = ".git";

/// Longest name that a header holds.
const NAME: usize = 100;

/// Seconds since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "the files of an archive bear the time of day, which decides nothing"
)]
fn now() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |elapsed| elapsed.as_secs())
}

/// The time that files of a checkout get.
pub(super) fn settled() -> u64 {
    now().saturating_sub(SETTLED)
}

/// Writes entries that all belong to one owner.
pub(crate) struct Packer<W: Write> {
    builder: tar::Builder<W>,
    owner: Owner,
    /// Seconds since 1970.
    modified: u64,
    /// The directory that was made last, with those above it.
    made: Vec<u8>,
    /// What every name starts with.
    prefix: Vec<u8>,
}

impl<W: Write> Packer<W> {
    pub(crate) fn new(writer: W, owner: Owner) -> Self {
        Self {
            builder: tar::Builder::new(writer),
            owner,
            modified: now(),
            made: Vec::new(),
            prefix: Vec::new(),
        }
    }

    /// Puts everything from now on into a directory.
    pub(super) fn below(&mut self, directory: &str) {
        if !directory.is_empty() {
            self.prefix = format!("{directory}/").into_bytes();
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.builder.into_inner()?.flush()
    }

    fn header(&self, kind: EntryType, permissions: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(permissions);
        header.set_uid(self.owner.uid);
        header.set_gid(self.owner.gid);
        header.set_mtime(self.modified);
        header.set_size(size);
        header
    }

    /// One entry. A target is what it is: nothing in it, or in a name, is made simpler.
    pub(crate) fn entry(
        &mut self,
        mut header: Header,
        path: &[u8],
        link: &[u8],
        content: impl Read,
    ) -> io::Result<()> {
        let path = [self.prefix.as_slice(), path].concat();
        self.long(b'L', &path)?;
        self.long(b'K', link)?;
        let old = header.as_old_mut();
        put(&mut old.name, &path);
        put(&mut old.linkname, link);
        header.set_cksum();
        self.builder.append(&header, content)
    }

    /// Says a name that is too long for a header before it.
    fn long(&mut self, kind: u8, name: &[u8]) -> io::Result<()> {
        if name.len() <= NAME {
            return Ok(());
        }
        let mut header = Header::new_gnu();
        put(&mut header.as_old_mut().name, b"././@LongLink");
        header.set_entry_type(EntryType::new(kind));
        header.set_size(name.len() as u64 + 1);
        header.set_cksum();
        self.builder.append(&header, name.chain(&b"\0"[..]))
    }

    /// Gives the directory that everything is extracted below to the owner.
    pub(super) fn root(&mut self) -> io::Result<()> {
        self.directory(if self.prefix.is_empty() { b"./" } else { b"" })
    }

    pub(super) fn directory(&mut self, path: &[u8]) -> io::Result<()> {
        let header = self.header(EntryType::Directory, 0o755, 0);
        self.entry(header, path, b"", io::empty())
    }

    /// The directories above a path that `missing` says are not there yet. Paths come sorted, or a directory may come twice.
    pub(crate) fn parents(
        &mut self,
        path: &[u8],
        missing: impl Fn(&[u8]) -> bool,
    ) -> io::Result<()> {
        for end in memchr::memchr_iter(b'/', path) {
            let directory = &path[..end];
            let made = self.made == directory
                || (self.made.starts_with(directory) && self.made.get(end) == Some(&b'/'));
            if !made && missing(directory) {
                self.directory(directory)?;
                self.made = directory.to_vec();
            }
        }
        Ok(())
    }

    pub(crate) fn file(&mut self, path: &[u8], permissions: u32, content: &[u8]) -> io::Result<()> {
        let header = self.header(EntryType::Regular, permissions, content.len() as u64);
        self.entry(header, path, b"", content)
    }

    /// A file of the given mode of git's.
    pub(super) fn tracked(&mut self, path: &[u8], git_mode: u32, content: &[u8]) -> io::Result<()> {
        match git_mode {
            mode::LINK => {
                let header = self.header(EntryType::Symlink, 0o777, 0);
                self.entry(header, path, content, io::empty())
            }
            mode::EXECUTABLE => self.file(path, 0o755, content),
            _ => self.file(path, 0o644, content),
        }
    }

    /// An empty directory in place of whatever stands at a path: a file takes its place first, since a directory would only be merged.
    pub(super) fn emptied(&mut self, path: &[u8]) -> io::Result<()> {
        self.file(path, 0o644, b"")?;
        self.directory(path)
    }

    /// The sealed repository without its index, in place of any other.
    pub(super) fn repository(&mut self, prepared: &Prepared) -> io::Result<()> {
        self.emptied(REPOSITORY.as_bytes())?;
        self.sealed(prepared)
    }

    /// What is in the sealed repository, without its index.
    fn sealed(&mut self, prepared: &Prepared) -> io::Result<()> {
        for name in DIRECTORIES {
            self.directory(&git(name))?;
        }
        let head = format!("{}\n", prepared.start);
        self.file(&git("HEAD"), 0o644, head.as_bytes())?;
        let configuration = [CONFIGURATION, TRUST].concat();
        self.file(&git("config"), 0o644, configuration.as_bytes())?;
        if let Some(text) = prepared.shallow_file() {
            self.file(&git("shallow"), 0o644, text.as_bytes())?;
        }
        for name in prepared.pack_files() {
            let from = prepared.objects_directory().join("pack").join(&name);
            let mut file = File::open(from)?;
            let header = self.header(EntryType::Regular, 0o444, file.metadata()?.len());
            let path = git(&format!("objects/pack/{name}"));
            self.entry(header, &path, b"", &mut file)?;
        }
        Ok(())
    }

    /// The sealed repository without its index, where none is.
    pub(super) fn first_repository(&mut self, prepared: &Prepared) -> io::Result<()> {
        self.directory(REPOSITORY.as_bytes())?;
        self.sealed(prepared)
    }

    /// The index of the sealed repository.
    pub(super) fn index(&mut self, index: &[u8]) -> io::Result<()> {
        self.modified = now();
        self.file(&git("index"), 0o644, index)
    }

    /// The files of the start commit, all changed at one time; returns their sizes.
    pub(super) fn checkout(
        &mut self,
        prepared: &Prepared,
        modified: u64,
    ) -> Result<Vec<u64>, Cause> {
        self.modified = modified;
        let mut sizes = Vec::with_capacity(prepared.files.len());
        let odb = disk(&prepared.objects_directory())?;
        for Tracked { path, mode, id } in &prepared.files {
            honest(path)?;
            self.parents(path, |_| true)?;
            if *mode == mode::SUBMODULE {
                self.directory(path)?;
                sizes.push(0);
            } else {
                let blob = odb.read(*id)?;
                self.tracked(path, *mode, blob.data())?;
                sizes.push(blob.len() as u64);
            }
        }
        Ok(sizes)
    }
}

fn git(name: &str) -> Vec<u8> {
    [b".git/", name.as_bytes()].concat()
}

fn put(slot: &mut [u8], bytes: &[u8]) {
    let length = bytes.len().min(slot.len());
    slot[..length].copy_from_slice(&bytes[..length]);
}
