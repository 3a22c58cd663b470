//! Which objects a commit's history is made of, read from the objects alone: grafts and replacements have no say.

use std::collections::HashSet;
use std::path::Path;

use git2::{ObjectType, Odb, Oid};

use super::odb::disk;

/// Length of a name in an object.
const NAME: usize = 20;

/// All that a commit reaches.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) objects: HashSet<Oid>,
    pub(super) commits: u64,
    /// Commits whose parents are not there.
    pub(super) boundary: Vec<Oid>,
}

impl History {
    /// Takes out what is not `there`, unless it is `needed`; how many there were.
    pub(super) fn leave_out_absent(&mut self, there: &HashSet<Oid>, needed: &HashSet<Oid>) -> u64 {
        let before = self.objects.len();
        self.objects
            .retain(|id| needed.contains(id) || there.contains(id));
        (before - self.objects.len()) as u64
    }
}

/// Objects after whose reading the database is opened anew: libgit2 keeps what it reads, up to 256 MiB.
const READINGS: u32 = 16_384;

/// An object database that forgets from time to time.
struct Objects<'a> {
    directory: &'a Path,
    odb: Odb<'static>,
    readings: u32,
}

impl<'a> Objects<'a> {
    fn open(directory: &'a Path) -> Result<Self, git2::Error> {
        Ok(Self {
            directory,
            odb: disk(directory)?,
            readings: 0,
        })
    }

    fn read(&mut self, id: Oid, kind: ObjectType) -> Result<git2::OdbObject<'_>, git2::Error> {
        self.readings += 1;
        if self.readings > READINGS {
            self.odb = disk(self.directory)?;
            self.readings = 0;
        }
        let object = self.odb.read(id)?;
        if object.kind() == kind {
            Ok(object)
        } else {
            Err(git2::Error::from_str(&format!("{id} is no {kind}")))
        }
    }
}

/// Walks from a commit over the objects of a directory. At the commits of `shallow` the history ends.
pub(super) fn walk(
    directory: &Path,
    start: Oid,
    shallow: &HashSet<Oid>,
) -> Result<History, git2::Error> {
    let mut odb = Objects::open(directory)?;
    let mut history = History::default();
    let mut commits = vec![start];
    let mut trees = Vec::new();
    history.objects.insert(start);
    while let Some(id) = commits.pop() {
        history.commits += 1;
        let (tree, parents) = commit(odb.read(id, ObjectType::Commit)?.data())?;
        if history.objects.insert(tree) {
            trees.push(tree);
        }
        if shallow.contains(&id) {
            history.boundary.push(id);
        } else {
            let new = parents.into_iter().filter(|id| history.objects.insert(*id));
            commits.extend(new);
        }
        // Trees of neighbours are stored as differences from each other: read at once, they are still at hand.
        while let Some(id) = trees.pop() {
            let object = odb.read(id, ObjectType::Tree)?;
            tree_entries(object.data(), |mode, id| match mode {
                Mode::Submodule => {}
                Mode::Tree => {
                    if history.objects.insert(id) {
                        trees.push(id);
                    }
                }
                Mode::Blob => {
                    history.objects.insert(id);
                }
            })?;
        }
    }
    Ok(history)
}

/// The tree and the parents of a commit.
fn commit(data: &[u8]) -> Result<(Oid, Vec<Oid>), git2::Error> {
    let mut lines = data.split(|&byte| byte == b'\n');
    let tree = lines
        .next()
        .and_then(|line| name(line, b"tree "))
        .ok_or_else(|| git2::Error::from_str("a commit has no tree"))?;
    let parents = lines.map_while(|line| name(line, b"parent ")).collect();
    Ok((tree, parents))
}

fn name(line: &[u8], start: &[u8]) -> Option<Oid> {
    let text = std::str::from_utf8(line.strip_prefix(start)?).ok()?;
    Oid::from_str(text).ok()
}

enum Mode {
    Blob,
    Tree,
    Submodule,
}

fn tree_entries(mut data: &[u8], mut each: impl FnMut(Mode, Oid)) -> Result<(), git2::Error> {
    while !data.is_empty() {
        // Old tools wrote zeros before a tree's mode.
        let zeros = data.iter().take_while(|&&byte| byte == b'0').count();
        let mode = match &data[zeros..] {
            digits if digits.starts_with(b"40000 ") => Mode::Tree,
            digits if digits.starts_with(b"160000 ") => Mode::Submodule,
            _ => Mode::Blob,
        };
        let entry = memchr::memchr(0, data)
            .and_then(|end| Some((end + 1 + NAME, data.get(end + 1..end + 1 + NAME)?)));
        let Some((length, id)) = entry else {
            return Err(git2::Error::from_str("a tree is damaged"));
        };
        each(mode, Oid::from_bytes(id)?);
        data = &data[length..];
    }
    Ok(())
}
