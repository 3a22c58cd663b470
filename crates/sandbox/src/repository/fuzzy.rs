//! The last resort for a patch: the `patch` program, which lets lines of context differ.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use git2::{Index, ObjectType, Oid, Repository};

use super::chain::Refusal;
use super::diff::entry;
use super::prepare::mode;
use super::program;
use super::survey::MAX_FILE;
use super::unified;
use super::worktree::{Kind, Worktree, as_path};
use crate::error::Cause;
use crate::space;

/// Lines of context that may differ, as the official harness allows.
const FUZZ: &str = "--fuzz=5";

/// What the program ends with when it could not do its work; it says so too of a patch in which it finds none.
const TROUBLE: i32 = 2;

/// What the program did.
pub(super) struct Fuzzed {
    /// Whether all of the patch fitted.
    pub(super) fitted: bool,
    /// The tree with what did.
    pub(super) tree: Oid,
}

/// Lets the program work on copies of the files that the patch names, in a directory where nothing else is.
pub(super) fn fuzzy(repository: &Repository, now: Oid, patch: &[u8]) -> Result<Fuzzed, Refusal> {
    let private = repository.path();
    let paths = paths(patch);
    let mut index = Index::new().map_err(Cause::from)?;
    let tree = repository.find_tree(now).map_err(Cause::from)?;
    index.read_tree(&tree).map_err(Cause::from)?;
    let (scratch, copies) = copied(repository, &index, &paths, private)?;
    let status = run(scratch.path(), patch).map_err(|error| Refusal::NotTried(not_run(&error)))?;
    let Some(status) = status else {
        // It would fit, perhaps, but nobody has the time.
        return Ok(Fuzzed {
            fitted: false,
            tree: now,
        });
    };
    if status.code() == Some(TROUBLE) && space::is_full(private) {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        return Err(Refusal::NotTried(full.into()));
    }
    let tree = collected(repository, &mut index, &paths, &copies)?;
    Ok(Fuzzed {
        fitted: status.success(),
        tree,
    })
}

/// Copies of those of the files that the tree has, below `tree` of a directory that goes with the first part.
fn copied(
    repository: &Repository,
    index: &Index,
    paths: &BTreeSet<Vec<u8>>,
    private: &Path,
) -> Result<(tempfile::TempDir, Worktree), Cause> {
    let scratch = tempfile::tempdir_in(private)?;
    let directory = scratch.path().join("tree");
    std::fs::create_dir(&directory)?;
    let copies = Worktree::open(&directory)?;
    for path in paths {
        let Some(entry) = index.get_path(&as_path(path), 0) else {
            continue;
        };
        if matches!(entry.mode, mode::FILE | mode::EXECUTABLE) {
            let blob = repository.find_blob(entry.id)?;
            copies.write(path, entry.mode, blob.content())?;
        }
    }
    Ok((scratch, copies))
}

fn run(scratch: &Path, patch: &[u8]) -> io::Result<Option<ExitStatus>> {
    let file = scratch.join("patch");
    std::fs::write(&file, unified::alone(patch))?;
    let mut command = Command::new("patch");
    command
        .args([
            "--batch",
            // Else it turns round what looks as if it had been applied: a patch the wrong way round would mend what it breaks.
            "--forward",
            "--silent",
            "-p1",
            "--no-backup-if-mismatch",
            "--reject-file=-",
            FUZZ,
        ])
        .arg("--directory")
        .arg(scratch.join("tree"))
        .arg("--input")
        .arg(&file)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    program::run(&mut command)
}

/// Why the program did not run. A full disk stays one.
fn not_run(error: &io::Error) -> Cause {
    io::Error::new(
        error.kind(),
        format!(
            "the program `patch`, for patches that fit with fuzz alone, cannot be run: {error}"
        ),
    )
    .into()
}

/// The tree with what the copies have become.
fn collected(
    repository: &Repository,
    index: &mut Index,
    paths: &BTreeSet<Vec<u8>>,
    copies: &Worktree,
) -> Result<Oid, Cause> {
    let odb = repository.odb()?;
    for path in paths {
        match metadata(copies, path)? {
            Some(Kind::File { executable }) => {
                let content = copies.read(path, MAX_FILE)?.ok_or("a file grew too big")?;
                let mode = if executable {
                    mode::EXECUTABLE
                } else {
                    mode::FILE
                };
                let id = odb.write(ObjectType::Blob, &content)?;
                index.add(&entry(path.clone(), mode, id))?;
            }
            _ if index
                .get_path(&as_path(path), 0)
                .is_some_and(|entry| entry.mode != mode::LINK) =>
            {
                index.remove(&as_path(path), 0)?;
            }
            _ => {}
        }
    }
    Ok(index.write_tree_to(repository)?)
}

/// What stands at a path that a patch names. One that no file system takes is no trouble of this one.
fn metadata(copies: &Worktree, path: &[u8]) -> Result<Option<Kind>, Cause> {
    match copies.metadata(path) {
        Ok(found) => Ok(found.map(|metadata| metadata.kind)),
        Err(error) => match error.kind() {
            io::ErrorKind::InvalidFilename
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput => Err("a path is none that files have".into()),
            _ => Err(error.into()),
        },
    }
}

/// Paths in the patch's headers, without their first component.
pub(super) fn paths(patch: &[u8]) -> BTreeSet<Vec<u8>> {
    let parsed = patch::parse(patch).unwrap_or_default();
    let sections = parsed.files.iter();
    let known = sections.flat_map(|file| [file.old_path(), file.new_path()]);
    let known = known.flatten().map(|path| path.as_bytes().to_vec());
    // What is broken may still be one for the program: it reads on line by line.
    known
        .filter(|path| is_honest(path))
        .chain(header_names(patch))
        .collect()
}

fn header_names(patch: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    patch.split(|&byte| byte == b'\n').filter_map(|line| {
        let name = line
            .strip_prefix(b"--- ")
            .or_else(|| line.strip_prefix(b"+++ "))?;
        let name = name.split(|&byte| byte == b'\t').next()?;
        let name = name.strip_suffix(b"\r").unwrap_or(name);
        let slash = memchr::memchr(b'/', name)?;
        let path = &name[slash + 1..];
        (name != b"/dev/null" && is_honest(path)).then(|| path.to_vec())
    })
}

fn is_honest(path: &[u8]) -> bool {
    path.split(|&byte| byte == b'/')
        .all(|part| !part.is_empty() && part != b".." && !part.eq_ignore_ascii_case(b".git"))
}
