//! Packs with exactly the objects that are wanted: what the source has packed is copied as it is, which costs a fraction of packing it again.

mod source;
mod writer;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::{Odb, Oid};

use super::source::lines;
use source::SourcePack;
use writer::PackWriter;

/// How deep object directories may borrow from each other, as git itself allows.
const MAX_DEPTH: usize = 5;

/// Why a pack was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum PackError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Git(#[from] git2::Error),
}

/// Puts the wanted objects into packs in `target`; returns their names without what `pack-` and the endings add.
pub(super) fn pack(
    objects: &Path,
    odb: &Odb<'_>,
    wanted: &HashSet<Oid>,
    target: &Path,
) -> Result<Vec<String>, PackError> {
    let mut names = Vec::new();
    let mut covered: HashSet<Oid> = HashSet::new();
    let mut mixed = Vec::new();
    for path in indexes(objects) {
        // What cannot be read so is read object by object.
        let Ok(source) = SourcePack::open(&path) else {
            continue;
        };
        let whole = source
            .ids()
            .all(|id| wanted.contains(&id) && !covered.contains(&id));
        if whole && source.len() > 0 {
            names.push(copy(&path, target)?);
            covered.extend(source.ids());
        } else {
            mixed.push(source);
        }
    }
    let left: Vec<Oid> = wanted
        .iter()
        .filter(|id| !covered.contains(*id))
        .copied()
        .collect();
    if left.is_empty() {
        return Ok(names);
    }
    let mut writer = PackWriter::new(target, left.len())?;
    let is_wanted = |id: &Oid| wanted.contains(id) && !covered.contains(id);
    for source in mixed {
        source.copy_into(&mut writer, odb, is_wanted)?;
    }
    for id in left {
        if !writer.has(&id) {
            writer.object(odb, id)?;
        }
    }
    names.push(writer.finish()?);
    Ok(names)
}

/// Copies a whole pack and its index.
fn copy(index: &Path, target: &Path) -> io::Result<String> {
    let name = index
        .file_stem()
        .and_then(|stem| stem.to_str()?.strip_prefix("pack-"))
        .ok_or(io::ErrorKind::InvalidInput)?;
    for kind in ["pack", "idx"] {
        let to = target.join(format!("pack-{name}.{kind}"));
        fs::copy(index.with_extension(kind), &to)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o444))?;
    }
    Ok(name.to_owned())
}

/// Indexes of all packs of an object directory and of those that it borrows from.
fn indexes(objects: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut pending = vec![(objects.to_owned(), 0)];
    while let Some((directory, depth)) = pending.pop() {
        let Ok(real) = directory.canonicalize() else {
            continue;
        };
        if depth > MAX_DEPTH || !seen.insert(real) {
            continue;
        }
        let names = fs::read_dir(directory.join("pack"));
        let mut here: Vec<PathBuf> = names
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|kind| kind == "idx"))
            .collect();
        here.sort();
        found.append(&mut here);
        let borrowed = lines(directory.join("info/alternates"));
        pending.extend(
            borrowed
                .iter()
                .map(|line| (directory.join(line), depth + 1)),
        );
    }
    found
}
