//! Changes of submodules, as sections of a patch.

use std::collections::BTreeMap;

use git2::Oid;
use patch::{FilePatch, PatchPath};

use super::headers;
use super::prepare::{Prepared, mode};
use super::survey::{Change, Content};

/// Paths of the start commit's submodules.
pub(super) fn paths(prepared: &Prepared) -> impl Iterator<Item = &[u8]> {
    prepared
        .files
        .iter()
        .filter(|file| file.mode == mode::SUBMODULE)
        .map(|file| file.path.as_slice())
}

/// Whether the start commit has a submodule at a path.
pub(super) fn is_one(prepared: &Prepared, path: &[u8]) -> bool {
    commit(prepared, path).is_some()
}

fn commit(prepared: &Prepared, path: &[u8]) -> Option<Oid> {
    let at = prepared
        .files
        .binary_search_by(|file| file.path.as_slice().cmp(path))
        .ok()?;
    let file = &prepared.files[at];
    (file.mode == mode::SUBMODULE).then_some(file.id)
}

/// One section for each submodule that is gone, is at another commit, or has become something else.
pub(super) fn sections(prepared: &Prepared, changes: &[Change]) -> Vec<u8> {
    let mut output = Vec::new();
    for change in changes {
        if let Some(old) = commit(prepared, &change.path) {
            let new = match change.now {
                Some((_, Content::Submodule(id))) => Some(id),
                Some((_, Content::Bytes(_) | Content::Blob(_))) | None => None,
            };
            section(&change.path, old, new, &mut output);
        }
    }
    output
}

/// Makes of submodules, by path, what the sections of a patch say that are about them.
pub(super) fn apply(
    patch: &[u8],
    submodules: &mut BTreeMap<Vec<u8>, Oid>,
) -> Result<(), git2::Error> {
    let parsed = patch::parse(patch)
        .map_err(|error| git2::Error::from_str(&format!("the patch cannot be read: {error}")))?;
    for file in parsed.files.iter().filter(|file| file.is_submodule()) {
        apply_section(file, &patch[file.range.clone()], submodules)?;
    }
    Ok(())
}

fn apply_section(
    file: &FilePatch,
    section: &[u8],
    submodules: &mut BTreeMap<Vec<u8>, Oid>,
) -> Result<(), git2::Error> {
    let known = file
        .old_path()
        .and_then(|path| submodules.remove(path.as_bytes()));
    if known != commit_in(section, b"-Subproject commit ")? {
        return Err(git2::Error::from_str(&format!(
            "the submodule {} is not at the commit that the patch says",
            file.path()
        )));
    }
    let new = commit_in(section, b"+Subproject commit ")?;
    match (file.new_path().map(PatchPath::as_bytes), new) {
        (None, None) => Ok(()),
        (Some(path), Some(id)) => {
            submodules.insert(path.to_vec(), id);
            Ok(())
        }
        (Some(_), None) | (None, Some(_)) => Err(git2::Error::from_str(&format!(
            "the section of the submodule {} is not whole",
            file.path()
        ))),
    }
}

/// The commit on the line of a section that begins so.
fn commit_in(section: &[u8], start: &[u8]) -> Result<Option<Oid>, git2::Error> {
    let mut lines = section.split(|&byte| byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(start));
    let name = line.map(String::from_utf8_lossy);
    name.map(|name| Oid::from_str(name.trim())).transpose()
}

fn section(path: &[u8], old: Oid, new: Option<Oid>, output: &mut Vec<u8>) {
    let a = headers::quoted(b"a/", path);
    let b = headers::quoted(b"b/", path);
    let mut line = |parts: &[&[u8]]| {
        output.extend(parts.concat());
        output.push(b'\n');
    };
    let old = old.to_string();
    line(&[b"diff --git ", &a, b" ", &b]);
    if let Some(new) = new {
        let new = new.to_string();
        line(&[b"index ", old.as_bytes(), b"..", new.as_bytes(), b" 160000"]);
        line(&[b"--- ", &a]);
        line(&[b"+++ ", &b]);
        line(&[b"@@ -1 +1 @@"]);
        line(&[b"-Subproject commit ", old.as_bytes()]);
        line(&[b"+Subproject commit ", new.as_bytes()]);
    } else {
        line(&[b"deleted file mode 160000"]);
        line(&[b"index ", old.as_bytes(), b"..", &[b'0'; 40]]);
        line(&[b"--- ", &a]);
        line(&[b"+++ /dev/null"]);
        line(&[b"@@ -1 +0,0 @@"]);
        line(&[b"-Subproject commit ", old.as_bytes()]);
    }
}
