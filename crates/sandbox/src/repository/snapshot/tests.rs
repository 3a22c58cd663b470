//! The same tree, looked at on the host and through an archive, gives the same.

use std::collections::HashSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use git2::{Index, ObjectType, Repository, Signature};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{Keep, Reader, Snapshot};
use crate::repository::archive::{self, ArchiveError};
use crate::repository::baseline::Baseline;
use crate::repository::checkout::Start;
use crate::repository::diff::entry;
use crate::repository::prepare::{Prepared, mode, prepare};
use crate::repository::seal::SealRecord;
use crate::repository::survey::{Survey, Want, survey, survey_until};
use crate::repository::worktree::Worktree;

const FILES: [(&str, u32, &str); 8] = [
    (".gitignore", mode::FILE, "*.log\nbuild/\n"),
    ("a.txt", mode::FILE, "one\ntwo\n"),
    ("build/kept", mode::FILE, "kept\n"),
    ("d/.gitignore", mode::FILE, "!keep.log\n"),
    ("d/x.py", mode::FILE, "x = 1\n"),
    ("forced.log", mode::FILE, "forced\n"),
    ("link", mode::LINK, "a.txt"),
    ("run.sh", mode::EXECUTABLE, "#!/bin/sh\n"),
];

struct Ground {
    directory: TempDir,
    prepared: Arc<Prepared>,
    start: Start,
}

impl Ground {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        let repository = Repository::init(&source).unwrap();
        let odb = repository.odb().unwrap();
        let mut index = Index::new().unwrap();
        for (path, mode, content) in FILES {
            let id = odb.write(ObjectType::Blob, content.as_bytes()).unwrap();
            index
                .add(&entry(path.as_bytes().to_vec(), mode, id))
                .unwrap();
        }
        let commit = git2::Oid::from_str(&"1".repeat(40)).unwrap();
        index
            .add(&entry(b"sub".to_vec(), mode::SUBMODULE, commit))
            .unwrap();
        let tree = index.write_tree_to(&repository).unwrap();
        let tree = repository.find_tree(tree).unwrap();
        let who = Signature::now("t", "t@example.invalid").unwrap();
        repository
            .commit(Some("HEAD"), &who, &who, "start", &tree, &[])
            .unwrap();
        let prepared = prepare(&source, None, &directory.path().join("root")).unwrap();
        let start = Start::new(SealRecord::new(&prepared, true), Arc::default());
        let ground = Self {
            directory,
            prepared,
            start,
        };
        ground.check_out();
        ground
    }

    fn tree(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    fn check_out(&self) {
        let tree = self.tree();
        let _ = fs::remove_dir_all(&tree);
        fs::create_dir_all(tree.join("sub")).unwrap();
        for (path, mode, content) in FILES {
            let path = tree.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match mode {
                mode::LINK => std::os::unix::fs::symlink(content, path).unwrap(),
                mode => {
                    fs::write(&path, content).unwrap();
                    let permissions = if mode == mode::EXECUTABLE {
                        0o755
                    } else {
                        0o644
                    };
                    fs::set_permissions(path, fs::Permissions::from_mode(permissions)).unwrap();
                }
            }
        }
    }

    fn on_the_host(&self, want: Want) -> Survey {
        let tree = Worktree::open(&self.tree()).unwrap();
        survey(&self.prepared, &self.start, &tree, want).unwrap()
    }

    fn archive(&self, format: &str) -> Vec<u8> {
        let output = Command::new("tar")
            .args(["--sort=name", format, "-C"])
            .arg(self.directory.path())
            .args(["-cf", "-", "tree"])
            .output()
            .unwrap();
        output.stdout
    }

    fn read(&self, bytes: &[u8], keep: Keep) -> Result<Snapshot, ArchiveError> {
        let mut reader = Reader::new(
            &self.prepared.files,
            &self.start.baseline,
            keep,
            self.directory.path(),
        )
        .unwrap();
        archive::read(bytes, 1 << 30, |entry, content| {
            reader.entry(&entry, content)
        })?;
        Ok(reader.finish())
    }

    fn through_an_archive(&self, format: &str, want: Want) -> Survey {
        let bytes = self.archive(format);
        let mut keep = Keep::Differing;
        for _ in 0..4 {
            let snapshot = self.read(&bytes, keep).unwrap();
            let found = survey(&self.prepared, &self.start, &snapshot, want).unwrap();
            match snapshot.lacking() {
                None => return found,
                Some(paths) => keep = Keep::Only(paths),
            }
        }
        panic!("the survey never has all that it asks for");
    }

    /// Both ways see the same.
    fn compare(&self) {
        let host = shown(&self.on_the_host(Want::Contents));
        for format in ["--format=gnu", "--format=posix"] {
            let archive = shown(&self.through_an_archive(format, Want::Contents));
            assert_eq!(archive, host, "{format}");
        }
    }
}

fn shown(found: &Survey) -> Vec<String> {
    let changes = found.changes.iter().map(|change| format!("{change:?}"));
    let omissions = found.omissions.iter().map(|omission| {
        // How a system says that it cannot read something differs.
        format!("{} {}", omission.path, &omission.reason[..10])
    });
    let mut omissions: Vec<String> = omissions.collect();
    omissions.sort();
    changes.chain(omissions).collect()
}

/// What may happen to a path.
fn change(tree: &Path, what: u8, name: &[u8], other: &[u8]) {
    let path = tree.join(std::ffi::OsStr::from_bytes(name));
    let other = tree.join(std::ffi::OsStr::from_bytes(other));
    if let Some(parent) = path.parent() {
        let _ = fs::create_dir_all(parent);
    }
    // Whoever opens a pipe waits for its other end.
    let pipe =
        |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo());
    if [0, 9, 10, 12].contains(&what) && (pipe(&path) || pipe(&path.join(".gitignore"))) {
        return;
    }
    let _ = match what {
        0 => fs::write(&path, "changed\n"),
        1 => fs::remove_file(&path),
        2 => fs::remove_dir_all(&path),
        3 => fs::set_permissions(&path, fs::Permissions::from_mode(0o755)),
        4 => fs::set_permissions(&path, fs::Permissions::from_mode(0o644)),
        5 => fs::hard_link(&other, &path),
        6 => std::os::unix::fs::symlink("a.txt", &path),
        7 => fs::rename(&other, &path),
        8 => Command::new("mkfifo").arg(&path).output().map(drop),
        9 => fs::write(path.join(".gitignore"), "*\n!keep.log\n"),
        10 => fs::write(path.join(".gitignore"), "/build\n*.txt\n"),
        11 => fs::create_dir_all(path.join(".git/refs/heads"))
            .and_then(|()| fs::write(path.join(".git/HEAD"), "2".repeat(40))),
        _ => fs::write(&path, vec![b'x'; 1_100_000]),
    };
}

const NAMES: [&[u8]; 16] = [
    b"a.txt",
    b"build",
    b"build/kept",
    b"build/out",
    b"d",
    b"d/x.py",
    b"d/keep.log",
    b"d/deep/er/keep.log",
    b"!first",
    b"link",
    b"new\nline \xff",
    b".cache/x",
    b"sub",
    b"sub/file",
    b"run.sh",
    b".git/objects/x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        std::env::var("PATCHMILL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
    ))]

    #[test]
    fn host_and_archive_agree(steps in prop::collection::vec((0_u8..13, 0..NAMES.len(), 0..NAMES.len()), 1..12)) {
        static GROUND: std::sync::LazyLock<std::sync::Mutex<Ground>> =
            std::sync::LazyLock::new(|| std::sync::Mutex::new(Ground::new()));
        let ground = GROUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ground.check_out();
        for (what, name, other) in steps {
            change(&ground.tree(), what, NAMES[name], NAMES[other]);
        }
        ground.compare();
    }
}

#[test]
fn names_of_every_length_and_links_into_a_repository_are_seen() {
    let ground = Ground::new();
    let tree = ground.tree();
    let long = "n".repeat(200);
    let deep = tree.join(format!("{long}/{long}"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "x\n").unwrap();
    std::os::unix::fs::symlink("t".repeat(300), deep.join("link")).unwrap();
    fs::create_dir_all(tree.join(".git/objects")).unwrap();
    fs::write(tree.join(".git/objects/secret"), "linked\n").unwrap();
    fs::hard_link(tree.join(".git/objects/secret"), tree.join("same")).unwrap();
    fs::write(tree.join("build/first"), "ignored, and linked\n").unwrap();
    fs::hard_link(tree.join("build/first"), tree.join("zlast")).unwrap();
    ground.compare();
    let found = ground.through_an_archive("--format=posix", Want::Contents);
    assert_eq!(found.changes.len(), 4, "{:?}", found.changes);
}

#[test]
fn what_was_there_at_the_start_is_no_change() {
    let mut ground = Ground::new();
    let tree = ground.tree();
    fs::write(tree.join("a.txt"), "dirty\n").unwrap();
    fs::write(tree.join("untracked"), "before\n").unwrap();
    fs::remove_file(tree.join("forced.log")).unwrap();
    std::os::unix::fs::symlink("x", tree.join("pointer")).unwrap();
    fs::write(tree.join("sub/module.py"), "m\n").unwrap();
    let bytes = ground.archive("--format=posix");
    let snapshot = ground.read(&bytes, Keep::Nothing).unwrap();
    let found = survey(&ground.prepared, &ground.start, &snapshot, Want::Names).unwrap();
    let submodule = super::Tree::fingerprint(&snapshot, b"sub").unwrap();
    let submodules = [(b"sub".to_vec(), submodule)].into_iter().collect();
    ground.start.baseline = Arc::new(Baseline::new(found, submodules));
    assert_eq!(ground.start.baseline.len(), 4);

    let found = ground.through_an_archive("--format=posix", Want::Contents);
    assert!(
        found.changes.is_empty() && found.omissions.is_empty(),
        "{found:?}"
    );
    fs::write(tree.join("untracked"), "after\n").unwrap();
    fs::write(tree.join("forced.log"), "back, and different\n").unwrap();
    fs::write(tree.join("sub/module.py"), "changed\n").unwrap();
    let found = ground.through_an_archive("--format=posix", Want::Contents);
    let paths: Vec<_> = found
        .changes
        .iter()
        .map(|change| &change.path[..])
        .collect();
    assert_eq!(paths, [&b"forced.log"[..], b"untracked"]);
    assert_eq!(found.omissions.len(), 1, "{:?}", found.omissions);
}

/// An entry as an archive holds it, its sum right.
fn raw(name: &[u8], kind: u8, link: &[u8], size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn directory() -> Vec<u8> {
    raw(b"tree/", b'5', b"", 0, b"")
}

const END: [u8; 1024] = [0; 1024];

#[test]
fn a_hostile_archive_is_refused_in_words() {
    let ground = Ground::new();
    let pax = |record: &[u8]| raw(b"x", b'x', b"", record.len() as u64, record);
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        (
            "absolute",
            raw(b"/etc/passwd", b'0', b"", 0, b""),
            "leads out",
        ),
        (
            "parent",
            raw(b"tree/../../x", b'0', b"", 0, b""),
            "leads out",
        ),
        (
            "other root",
            raw(b"other/x", b'0', b"", 0, b""),
            "leads out",
        ),
        (
            "hard link out",
            raw(b"tree/x", b'1', b"/etc/passwd", 0, b""),
            "leads out",
        ),
        (
            "hard link up",
            raw(b"tree/x", b'1', b"tree/../../x", 0, b""),
            "leads out",
        ),
        (
            "long by extension",
            [
                raw(b"l", b'L', b"", 12, b"tree/../../x"),
                raw(b"s", b'0', b"", 0, b""),
            ]
            .concat(),
            "leads out",
        ),
        (
            "path by record",
            [pax(b"21 path=tree/../../x\n"), raw(b"s", b'0', b"", 0, b"")].concat(),
            "leads out",
        ),
        (
            "endless name",
            raw(b"l", b'L', b"", 1 << 33, b""),
            "too long",
        ),
        (
            "huge",
            raw(b"tree/x", b'0', b"", 1 << 40, b""),
            "1099511627776 bytes",
        ),
        (
            "huge by record",
            [
                pax(b"19 size=2000000000\n"),
                raw(b"tree/x", b'0', b"", 0, b""),
            ]
            .concat(),
            "2000000000 bytes",
        ),
        ("bad record", pax(b"99 path=x\n"), "extended header"),
        ("sparse", raw(b"tree/x", b'S', b"", 0, b""), "sparse"),
        (
            "cut",
            raw(b"tree/x", b'0', b"", 4096, b"abc"),
            "within a file",
        ),
        (
            "below a link",
            [
                raw(b"tree/l", b'2', b"/etc", 0, b""),
                raw(b"tree/l/passwd", b'0', b"", 0, b""),
            ]
            .concat(),
            "no directory",
        ),
        ("garbage", vec![b'x'; 512], "sum is wrong"),
    ];
    for (name, entries, expected) in table {
        let bytes = if name == "cut" {
            [directory(), entries].concat()
        } else {
            [directory(), entries, END.to_vec()].concat()
        };
        let error = ground.read(&bytes, Keep::Differing).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(expected), "{name}: {text}");
    }
    let cut = ground.read(&directory(), Keep::Differing).err().unwrap();
    assert!(cut.to_string().contains("breaks off"), "{cut}");
}

#[test]
fn a_stream_without_end_ends_with_an_error() {
    let ground = Ground::new();
    let mut reader = Reader::new(
        &ground.prepared.files,
        &ground.start.baseline,
        Keep::Differing,
        ground.directory.path(),
    )
    .unwrap();
    let limit = 3 << 20;
    let head = [directory(), END.to_vec()].concat();
    let endless = std::io::Read::chain(&head[..], std::io::repeat(0));
    let error = archive::read(endless, limit, |entry, content| {
        reader.entry(&entry, content)
    });
    assert!(matches!(error, Err(ArchiveError::TooMuch)), "{error:?}");
}

#[test]
fn a_comparison_that_takes_too_long_is_given_up_whole() {
    let ground = Ground::new();
    let bytes = ground.archive("--format=posix");
    let snapshot = ground.read(&bytes, Keep::Nothing).unwrap();
    let now = std::time::Instant::now();
    let found = survey_until(now, &ground.prepared, &ground.start, &snapshot, Want::Names);
    let error = found.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("more than a minute"), "{error}");
}

#[test]
fn what_comes_twice_counts_as_it_came_last() {
    let ground = Ground::new();
    let file = |content: &[u8]| raw(b"tree/a.txt", b'0', b"", content.len() as u64, content);
    let device = raw(b"tree/null", b'3', b"", 0, b"");
    let bytes = [
        directory(),
        file(b"first\n"),
        raw(b"tree/a.txt/", b'5', b"", 0, b""),
        raw(b"tree/a.txt/x", b'0', b"", 0, b""),
        file(b"last\n"),
        device,
        END.to_vec(),
    ]
    .concat();
    let snapshot = ground.read(&bytes, Keep::Differing).unwrap();
    let found = survey(&ground.prepared, &ground.start, &snapshot, Want::Contents).unwrap();
    let changed: HashSet<String> = found
        .changes
        .iter()
        .filter(|change| change.now.is_some())
        .map(|change| format!("{change:?}"))
        .collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(found.omissions[0].path, "null");
}
