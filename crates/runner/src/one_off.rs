//! One issue in one repository: `runner run --repo PATH --task FILE`, and `--apply`.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use dataset::Row;
use git2::{ApplyLocation, ApplyOptions, Diff, Repository};
use schema::{AnswerKey, Instance, InstanceId};
use sha2::{Digest, Sha256};

/// Longest issue text that is read.
const MAX_TASK_BYTES: u64 = 4 << 20;

/// Why one issue in one repository cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text cannot be read.
    #[error("could not read the task from {}", named(path))]
    Task {
        /// Where it was read.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The issue has no text.
    #[error("the task in {} is empty", named(path))]
    Empty {
        /// Where it was read.
        path: PathBuf,
    },
    /// The path holds no repository.
    #[error("`{}` is no git repository", path.display())]
    NoRepository {
        /// As given.
        path: PathBuf,
        /// Cause.
        #[source]
        source: git2::Error,
    },
    /// There is no work tree to put a patch into.
    #[error("`{}` has no work tree to put a patch into", path.display())]
    NoWorkTree {
        /// As given.
        path: PathBuf,
    },
    /// The patch would touch something that is not of the work tree.
    #[error("the patch touches `{}`, outside the work tree of `{}`; nothing was changed", outside.display(), path.display())]
    Outside {
        /// The work tree.
        path: PathBuf,
        /// What it would touch.
        outside: PathBuf,
    },
    /// The patch does not fit the work tree.
    #[error("the patch does not apply cleanly to `{}`; nothing was changed", path.display())]
    Apply {
        /// The work tree.
        path: PathBuf,
        /// Cause.
        #[source]
        source: git2::Error,
    },
}

impl Error {
    /// What the user can do.
    pub fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Outside { .. } => return Vec::new(),
            Self::Task { .. } => "--task names a file of UTF-8 text, or `-` for standard input",
            Self::Empty { .. } => "write what shall be changed into it",
            Self::NoRepository { .. } => "give a work tree, a bare repository or a bundle",
            Self::NoWorkTree { .. } => "leave out --apply; the patch is in the run's directory",
            Self::Apply { .. } => {
                "the patch is in the run's directory; `git apply --3way` may help"
            }
        };
        vec![hint.to_owned()]
    }
}

fn named(path: &Path) -> String {
    if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        format!("`{}`", path.display())
    }
}

/// Reads the issue from a file or, for `-`, from standard input.
///
/// # Errors
/// When it cannot be read, is not UTF-8, or is empty.
pub fn read_task(path: &Path) -> Result<String, Error> {
    let failed = |source| Error::Task {
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_TASK_BYTES + 1)
            .read_to_string(&mut text)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(MAX_TASK_BYTES + 1).read_to_string(&mut text))
    };
    let bytes = u64::try_from(read.map_err(failed)?).unwrap_or(u64::MAX);
    if bytes > MAX_TASK_BYTES {
        let message = format!("it is larger than {MAX_TASK_BYTES} bytes");
        return Err(failed(std::io::Error::other(message)));
    }
    if text.trim().is_empty() {
        return Err(Error::Empty {
            path: path.to_owned(),
        });
    }
    Ok(text)
}

/// The row for the issue: it starts from the repository's HEAD and has nothing to be graded by.
pub fn row(repository: &Path, statement: String) -> Row {
    let path = std::path::absolute(repository).unwrap_or_else(|_| repository.to_owned());
    let name = path.file_name().map(|name| name.to_string_lossy());
    let name = name.map(|name| {
        let name = name.trim_end_matches(".bundle").trim_end_matches(".git");
        name.to_owned()
    });
    let digest = schema::hex(&Sha256::digest(&statement));
    let short = digest.get(..8).unwrap_or_default();
    let id = format!("{}-{short}", name.as_deref().unwrap_or("task"));
    Row {
        instance: Instance {
            id: InstanceId::new(id),
            repo: String::new(),
            base_commit: None,
            statement,
            repo_path: Some(path.to_string_lossy().into_owned()),
            workdir: None,
            image: None,
            version: None,
            statement_images: Vec::new(),
        },
        answer: AnswerKey::default(),
        image_field: None,
        sha256: digest,
        at: dataset::Location::Line(1),
    }
}

/// Whether the work tree at `path` differs from its HEAD, which is what the agent sees. `false` where there is no work tree.
pub fn has_changes(path: &Path) -> bool {
    let Ok(repository) = Repository::open(path) else {
        return false;
    };
    let mut options = git2::StatusOptions::new();
    options.include_untracked(true).exclude_submodules(true);
    let statuses = repository.statuses(Some(&mut options));
    statuses.is_ok_and(|statuses| !statuses.is_empty())
}

/// Checks that `--apply` will have a work tree to put the patch into.
///
/// # Errors
/// When `path` is no repository, or has no work tree.
pub fn check_work_tree(path: &Path) -> Result<(), Error> {
    let is_file = path.is_file();
    match Repository::open(path) {
        Ok(repository) if repository.workdir().is_some() => Ok(()),
        Err(source) if !is_file => Err(Error::NoRepository {
            path: path.to_owned(),
            source,
        }),
        Ok(_) | Err(_) => Err(Error::NoWorkTree {
            path: path.to_owned(),
        }),
    }
}

/// Puts a patch into the work tree at `path`, all of it or nothing: it is checked before a file is touched.
///
/// # Errors
/// When the patch does not fit the work tree as it is now.
pub fn apply(path: &Path, patch: &[u8]) -> Result<(), Error> {
    let repository = Repository::open(path).map_err(|source| Error::NoRepository {
        path: path.to_owned(),
        source,
    })?;
    let failed = |source| Error::Apply {
        path: path.to_owned(),
        source,
    };
    let diff = Diff::from_buffer(patch).map_err(failed)?;
    let root = repository.workdir().unwrap_or(path);
    if let Some(outside) = outside(root, &diff) {
        return Err(Error::Outside {
            path: path.to_owned(),
            outside,
        });
    }
    let mut check = ApplyOptions::new();
    check.check(true);
    repository
        .apply(&diff, ApplyLocation::WorkDir, Some(&mut check))
        .map_err(failed)?;
    repository
        .apply(&diff, ApplyLocation::WorkDir, None)
        .map_err(failed)
}

/// The first path of a diff that is not a plain path inside the work tree: libgit2 would write through `..` and symbolic links.
fn outside(root: &Path, diff: &Diff<'_>) -> Option<PathBuf> {
    let both = |delta: git2::DiffDelta<'_>| {
        let paths = [delta.old_file().path(), delta.new_file().path()];
        paths.map(|path| path.map(Path::to_owned))
    };
    let paths = diff.deltas().flat_map(both).flatten();
    paths.into_iter().find(|path| !is_inside(root, path))
}

fn is_inside(root: &Path, path: &Path) -> bool {
    let plain = path.components().all(|component| match component {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        _ => false,
    });
    let through_link = path
        .ancestors()
        .skip(1)
        .any(|directory| root.join(directory).is_symlink() && directory != Path::new(""));
    plain && !through_link
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one file, committed.
    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(directory.path()).unwrap();
        std::fs::write(directory.path().join("a.txt"), "one\ntwo\n").unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("a.txt")).unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        index.write().unwrap();
        let who = git2::Signature::now("a", "a@example.invalid").unwrap();
        repository
            .commit(Some("HEAD"), &who, &who, "first", &tree, &[])
            .unwrap();
        directory
    }

    const PATCH: &str = "diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+TWO
diff --git a/new/b.txt b/new/b.txt
new file mode 100755
--- /dev/null
+++ b/new/b.txt
@@ -0,0 +1 @@
+b
";

    fn read(directory: &tempfile::TempDir, name: &str) -> Option<String> {
        std::fs::read_to_string(directory.path().join(name)).ok()
    }

    #[test]
    fn a_patch_that_fits_is_put_into_the_work_tree() {
        let directory = repository();
        assert!(!has_changes(directory.path()));
        apply(directory.path(), PATCH.as_bytes()).unwrap();
        assert_eq!(read(&directory, "a.txt").unwrap(), "one\nTWO\n");
        assert_eq!(read(&directory, "new/b.txt").unwrap(), "b\n");
        assert!(has_changes(directory.path()));
    }

    #[test]
    fn a_patch_that_does_not_fit_changes_nothing() {
        let directory = repository();
        std::fs::write(directory.path().join("a.txt"), "one\nmine\n").unwrap();
        let error = apply(directory.path(), PATCH.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("nothing was changed"));
        assert_eq!(read(&directory, "a.txt").unwrap(), "one\nmine\n");
        assert_eq!(read(&directory, "new/b.txt"), None);
    }

    #[test]
    fn a_new_file_does_not_replace_one_that_is_there() {
        let directory = repository();
        std::fs::create_dir(directory.path().join("new")).unwrap();
        std::fs::write(directory.path().join("new/b.txt"), "mine").unwrap();
        apply(directory.path(), PATCH.as_bytes()).unwrap_err();
        assert_eq!(read(&directory, "new/b.txt").unwrap(), "mine");
        assert_eq!(read(&directory, "a.txt").unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_patch_cannot_leave_the_work_tree() {
        let directory = repository();
        for path in ["../out.txt", ".git/hooks/post-checkout", "a/../../out.txt"] {
            let patch = format!(
                "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+b\n"
            );
            let error = apply(directory.path(), patch.as_bytes()).unwrap_err();
            assert!(matches!(error, Error::Outside { .. }), "{path}: {error}");
            assert!(!directory.path().join(path).exists(), "{path}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), directory.path().join("new")).unwrap();
        apply(directory.path(), PATCH.as_bytes()).unwrap_err();
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_a_work_tree_can_take_a_patch() {
        let directory = repository();
        check_work_tree(directory.path()).unwrap();
        let bare = tempfile::tempdir().unwrap();
        Repository::init_bare(bare.path()).unwrap();
        let error = check_work_tree(bare.path()).unwrap_err();
        assert!(matches!(error, Error::NoWorkTree { .. }));
        let empty = tempfile::tempdir().unwrap();
        let error = check_work_tree(empty.path()).unwrap_err();
        assert!(matches!(error, Error::NoRepository { .. }));
    }

    #[test]
    fn the_row_is_named_after_repository_and_task() {
        let row = row(Path::new("/x/tool.git"), "Fix it".to_owned());
        assert_eq!(row.instance.id.as_str(), "tool-8c6c8d92");
        assert_eq!(row.instance.repo_path.as_deref(), Some("/x/tool.git"));
        assert_eq!(row.instance.base_commit, None);
    }
}
