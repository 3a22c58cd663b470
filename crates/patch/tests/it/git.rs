//! Against git itself: what it writes, and what it reads.

use std::io::Write;
use std::process::{Command, Stdio};

use patch::{FilePatch, parse};

/// Git without anybody's configuration.
pub(crate) fn git(directory: &std::path::Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", "/")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org");
    git
}

/// One file as `git apply --numstat` tells it: its path, and its lines unless it is binary.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Count {
    path: Vec<u8>,
    lines: Option<(usize, usize)>,
}

/// How git reads a patch; `None` when it refuses it.
pub(crate) fn read_by_git(patch: &[u8]) -> Option<Vec<Count>> {
    let directory = tempfile::tempdir().unwrap();
    let mut child = git(directory.path())
        .args(["apply", "--numstat", "-z", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Git may stop reading at what it refuses.
    let _ = child.stdin.take().unwrap().write_all(patch);
    let output = child.wait_with_output().unwrap();
    output.status.success().then(|| {
        let records = output.stdout.split(|byte| *byte == 0);
        records
            .filter(|record| !record.is_empty())
            .map(|record| count(record).unwrap())
            .collect()
    })
}

fn count(record: &[u8]) -> Option<Count> {
    let mut fields = record.splitn(3, |byte| *byte == b'\t');
    let mut number = || std::str::from_utf8(fields.next()?).ok();
    let (added, removed) = (number()?, number()?);
    Some(Count {
        path: fields.next()?.to_vec(),
        lines: added.parse().ok().zip(removed.parse().ok()),
    })
}

fn as_git_counts(file: &FilePatch) -> Count {
    Count {
        path: file.path().as_bytes().to_vec(),
        lines: (!file.is_binary()).then_some((file.added, file.removed)),
    }
}

/// What we read, in git's words; `None` when we refuse it.
pub(crate) fn read_by_us(patch: &[u8]) -> Option<Vec<Count>> {
    let patch = parse(patch).ok()?;
    Some(patch.files.iter().map(as_git_counts).collect())
}

/// Paths that git must quote or that are easily misread.
const PATHS: &[&str] = &[
    "plain.txt",
    "with space",
    " lead",
    "trail ",
    "x b/y",
    "a b/a b/a",
    "déjà/vu.txt",
    "tab\there",
    "new\nline",
    "quo\"te",
    "back\\slash",
    "carriage\r",
    "-dash",
    "diff --git a/x b/x",
    "日本語/テスト.txt",
    "dev/null",
    "rename from x",
];

pub(crate) struct Repository(pub(crate) tempfile::TempDir);

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.run(&["init", "-q"]);
        repository
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Vec<u8> {
        let output = git(self.0.path()).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        output.stdout
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self) {
        self.run(&["add", "-A"]);
        self.run(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    /// The last commit as a patch.
    pub(crate) fn last(&self, options: &[&str]) -> Vec<u8> {
        self.run(
            &[
                &[
                    "diff-tree",
                    "-r",
                    "-p",
                    "--root",
                    "--no-commit-id",
                    "--full-index",
                ],
                options,
                &["HEAD"],
            ]
            .concat(),
        )
    }

    /// The paths that the last commit touches, old and new, as git tells them without quoting.
    fn touched(&self, options: &[&str]) -> Vec<(char, Vec<Vec<u8>>)> {
        let arguments = [
            &[
                "diff-tree",
                "-r",
                "-z",
                "--root",
                "--no-commit-id",
                "--name-status",
            ],
            options,
            &["HEAD"],
        ]
        .concat();
        let output = self.run(&arguments);
        let mut fields = output
            .split(|byte| *byte == 0)
            .filter(|field| !field.is_empty());
        let mut touched = Vec::new();
        while let Some(status) = fields.next() {
            let paths = if matches!(status[0], b'R' | b'C') {
                2
            } else {
                1
            };
            let paths = fields.by_ref().take(paths).map(<[u8]>::to_vec).collect();
            touched.push((char::from(status[0]), paths));
        }
        touched
    }
}

fn as_git_touches(file: &FilePatch) -> (char, Vec<Vec<u8>>) {
    use patch::Change::{Added, Copied, Deleted, ModeChanged, Modified, Renamed};
    let letter = match file.change {
        Added => 'A',
        Deleted => 'D',
        Modified | ModeChanged => 'M',
        Renamed => 'R',
        Copied => 'C',
    };
    let mut paths: Vec<_> = [file.old_path(), file.new_path()]
        .into_iter()
        .flatten()
        .map(|path| path.as_bytes().to_vec())
        .collect();
    paths.dedup();
    (letter, paths)
}

fn assert_read(repository: &Repository, options: &[&str]) {
    let text = repository.last(options);
    let patch =
        parse(&text).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text)));
    let ours: Vec<_> = patch.files.iter().map(as_git_touches).collect();
    assert_eq!(ours, repository.touched(options), "{options:?}");
}

#[test]
fn every_change_to_every_path_is_read_back() {
    let repository = Repository::new();
    let content = |salt: usize| format!("{salt}\n{}", "line\n".repeat(20)).into_bytes();
    for (at, path) in PATHS.iter().enumerate() {
        repository.write(path, &content(at));
    }
    repository.commit();
    let all_options: &[&[&str]] = &[
        &[],
        &["--binary"],
        &["--no-prefix"],
        &["--src-prefix=old/", "--dst-prefix=new/"],
    ];
    let check = |extra: &[&str]| {
        for options in all_options {
            assert_read(&repository, &[options, extra].concat());
        }
    };
    check(&[]);
    for (at, path) in PATHS.iter().enumerate() {
        repository.write(path, &[content(at), b"more".to_vec()].concat());
    }
    repository.commit();
    check(&[]);
    for path in PATHS {
        repository.run(&["update-index", "--chmod=+x", "--", path]);
    }
    repository.run(&["commit", "-q", "-m", "x"]);
    check(&[]);
    for path in PATHS {
        repository.run(&[
            "mv",
            "--",
            path,
            &format!("moved {}", path.replace('/', "_")),
        ]);
    }
    repository.run(&["commit", "-q", "-m", "x"]);
    check(&["-M"]);
    check(&[]);
    repository.run(&["rm", "-q", "-f", "-r", "."]);
    repository.commit();
    check(&[]);
}

#[test]
fn contents_of_every_kind_are_read_back() {
    let repository = Repository::new();
    let blob: Vec<u8> = (0..=255_u8).cycle().take(5000).collect();
    let contents: &[&[u8]] = &[
        b"",
        b"no end",
        b"crlf\r\nlines\r\n",
        b"\r",
        b"\n\n\n",
        b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
        b"diff --git a/x b/x\n",
        b"latin \xe9\n",
        b"\x00",
        &blob,
    ];
    for shift in 0..contents.len() {
        for at in 0..contents.len() {
            let content = contents[(at + shift) % contents.len()];
            repository.write(&format!("file{at}"), content);
        }
        repository.commit();
        for options in [
            &["--binary"][..],
            &[],
            &["--binary", "-M", "-C", "--find-copies-harder"],
            &["--binary", "-U0"],
            &["-B"],
        ] {
            assert_read(&repository, options);
            let text = repository.last(options);
            if let Some(gits) = read_by_git(&text) {
                assert_eq!(
                    read_by_us(&text),
                    Some(gits),
                    "{}",
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }
}

#[test]
#[cfg(unix)]
fn links_and_submodules_are_read_back() {
    let repository = Repository::new();
    repository.write("file", b"x\n");
    std::os::unix::fs::symlink("file", repository.0.path().join("link")).unwrap();
    repository.commit();
    assert_read(&repository, &[]);
    let commit = repository.run(&["rev-parse", "HEAD"]);
    let commit = String::from_utf8(commit).unwrap();
    let entry = format!("160000,{},sub", commit.trim());
    repository.run(&["update-index", "--add", "--cacheinfo", &entry]);
    repository.run(&["commit", "-q", "-m", "x"]);
    let patch = parse(&repository.last(&[])).unwrap();
    assert!(patch.files[0].is_submodule());
    // A link that becomes a file is deleted and added.
    std::fs::remove_file(repository.0.path().join("link")).unwrap();
    repository.write("link", b"now a file\n");
    repository.run(&["add", "link"]);
    repository.run(&["commit", "-q", "-m", "x"]);
    let patch = parse(&repository.last(&[])).unwrap();
    assert_eq!(patch.files.len(), 2);
    assert!(patch.files[0].is_symlink());
}
