//! Takes the changes to tests out of a patch.

use std::collections::BTreeMap;

use crate::classes::{PathClass, PathClasses};
use crate::error::ParseError;
use crate::file::{Change, FilePatch, Patch};
use crate::parse::parse;
use crate::path::PatchPath;

/// A patch in two: what changes the product, and what changes its tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// The patch without its changes to tests; every byte that stays is as it was. Empty when no file stays.
    pub model: Vec<u8>,
    /// Files of the model patch that are source.
    pub source_files: Vec<PatchPath>,
    /// Files of the model patch that configure the test runner: kept, since a fix may need them, and named, since they may tamper.
    pub runner_config_files: Vec<PatchPath>,
    /// Files that were taken out.
    pub test_files: Vec<PatchPath>,
}

/// Takes the changes to tests out of a patch.
///
/// A section is kept or dropped whole, so a rename is never torn: see [`PathClasses::classify_file`] for how its two sides count. A deleted
/// test (or one that is renamed) stays in the patch when a kept file takes its place, its place as a directory, or its directory's place, since the
/// kept one could not be created otherwise.
///
/// # Errors
/// Those of [`parse`].
pub fn split(input: &[u8], classes: &PathClasses) -> Result<Split, ParseError> {
    let patch = parse(input)?;
    Ok(split_parsed(input, &patch, classes))
}

fn split_parsed(input: &[u8], patch: &Patch, classes: &PathClasses) -> Split {
    let mut split = Split::default();
    let mut copied_up_to = 0;
    for (file, class) in patch.files.iter().zip(section_classes(patch, classes)) {
        let path = file.path().clone();
        match class {
            PathClass::Source => split.source_files.push(path),
            PathClass::RunnerConfig => split.runner_config_files.push(path),
            PathClass::Test => {
                split.test_files.push(path);
                let kept = input.get(copied_up_to..file.range.start);
                split.model.extend(kept.unwrap_or_default());
                copied_up_to = file.range.end;
            }
        }
    }
    if split.source_files.is_empty() && split.runner_config_files.is_empty() {
        split.model.clear();
    } else {
        let rest = input.get(copied_up_to..);
        split.model.extend(rest.unwrap_or_default());
    }
    split
}

/// The class of each section; a test that must go for a kept file's sake counts as source.
fn section_classes(patch: &Patch, classes: &PathClasses) -> Vec<PathClass> {
    let mut sections: Vec<PathClass> = patch
        .files
        .iter()
        .map(|file| classes.classify_file(file))
        .collect();
    let all = || patch.files.iter().enumerate();
    let mut created: Vec<&[u8]> = all()
        .filter(|(at, _)| sections[*at] != PathClass::Test)
        .filter_map(|(_, file)| created(file))
        .collect();
    let mut leaving: BTreeMap<&[u8], usize> = all()
        .filter(|(at, _)| sections[*at] == PathClass::Test)
        .filter_map(|(at, file)| Some((vacated(file)?, at)))
        .collect();
    // A renamed test that is kept needs its own new place free too.
    while let Some(path) = created.pop() {
        for at in take_blocking(path, &mut leaving) {
            sections[at] = PathClass::Source;
            created.extend(patch.files.get(at).and_then(self::created));
        }
    }
    sections
}

/// The path that exists after and not before.
fn created(file: &FilePatch) -> Option<&[u8]> {
    match file.change {
        Change::Added | Change::Renamed | Change::Copied => {
            file.new_path().map(PatchPath::as_bytes)
        }
        Change::Deleted | Change::Modified | Change::ModeChanged => None,
    }
}

/// The path that exists before and not after.
fn vacated(file: &FilePatch) -> Option<&[u8]> {
    match file.change {
        Change::Deleted | Change::Renamed => file.old_path().map(PatchPath::as_bytes),
        Change::Added | Change::Copied | Change::Modified | Change::ModeChanged => None,
    }
}

/// Takes out the paths beside which `path` cannot exist: itself, its directories, and what is below it.
fn take_blocking(path: &[u8], leaving: &mut BTreeMap<&[u8], usize>) -> Vec<usize> {
    let is_slash = |(_, byte): &(usize, &u8)| **byte == b'/';
    let above = path
        .iter()
        .enumerate()
        .filter(is_slash)
        .filter_map(|(at, _)| path.get(..at));
    let mut taken: Vec<usize> = above
        .chain([path])
        .filter_map(|path| leaving.remove(path))
        .collect();
    let directory = [path, b"/"].concat();
    while let Some((&below, _)) = leaving
        .range(directory.as_slice()..)
        .next()
        .filter(|(below, _)| below.starts_with(&directory))
    {
        taken.extend(leaving.remove(below));
    }
    taken
}
