//! Putting patches on a workspace for grading.

use schema::grading::PatchApplication::{
    self, AlreadyApplied, Applied, AppliedWith3way, AppliedWithFuzz, Empty, Rejected,
};

use sandbox::repository::Staging;
use sandbox::{Error, Sandbox};

use crate::support::{BackendKind, Ground, ask, commit, git_bytes, remove, repository, run};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

/// A repository with a file of ten lines and a binary one.
fn source(ground: &Ground) -> std::path::PathBuf {
    let path = repository(ground.path());
    std::fs::write(path.join("lines"), LINES).unwrap();
    std::fs::write(path.join("a b.bin"), [0, 1, 2, 255]).unwrap();
    commit(&path, "lines");
    path
}

/// What becomes of a patch alone, by the ways of generation 5.
async fn apply(sandbox: &Sandbox, patch: &[u8]) -> Result<PatchApplication, Error> {
    let staging = Staging {
        patch: patch.to_vec(),
        ..Staging::default()
    };
    Ok(sandbox.stage(staging).await?.patch)
}

#[tokio::test]
async fn a_patch_of_git_is_applied_to_the_byte() {
    for kind in BackendKind::all().await {
        let ground = Ground::new();
        let path = source(&ground);
        let sandbox = ground.start_from(kind, &path).await;
        std::fs::write(path.join("lines"), LINES.replace("five", "FIVE")).unwrap();
        std::fs::write(path.join("a b.bin"), [0, 9, 2]).unwrap();
        std::fs::rename(path.join("pkg/a.py"), path.join("moved name.py")).unwrap();
        std::fs::write(path.join("run.sh"), "#!/bin/sh\r\necho caf\u{e9}").unwrap();
        std::os::unix::fs::symlink("lines", path.join("link")).unwrap();
        std::fs::create_dir_all(path.join("new/deep")).unwrap();
        std::fs::write(path.join("new/deep/tool"), "x").unwrap();
        crate::support::set_mode(&path.join("new/deep/tool"), 0o755);
        let commit = commit(&path, "all");
        let patch = git_bytes(&path, &["diff", "--binary", "-M", "HEAD~1", "HEAD"]);
        assert_eq!(apply(&sandbox, &patch).await.unwrap(), Applied);
        let (output, _) = ask(&sandbox, "cat lines | head -5 | tail -1; test -e pkg || echo gone; stat -c %a new/deep/tool; readlink link; stat -c %u:%g . new new/deep new/deep/tool lines link | sort -u | wc -l; git add -A; git write-tree").await;
        let tree = git_bytes(&path, &["rev-parse", &format!("{commit}^{{tree}}")]);
        assert_eq!(
            output,
            format!(
                "FIVE\ngone\n755\nlines\n1\n{}",
                String::from_utf8(tree).unwrap()
            )
        );
        assert_eq!(apply(&sandbox, b" \n").await.unwrap(), Empty);
        assert_eq!(apply(&sandbox, &patch).await.unwrap(), AlreadyApplied);
        remove(&sandbox).await;
    }
}

/// What the workspace's lines are, and the patch; what comes of it and what the lines are then.
async fn applied(workspace: &str, patch: &[u8]) -> (PatchApplication, String) {
    let ground = Ground::new();
    let path = source(&ground);
    let sandbox = ground.start_from(BackendKind::Local, &path).await;
    sandbox.write("lines", workspace.as_bytes()).await.unwrap();
    let application = apply(&sandbox, patch).await.unwrap();
    let (output, _) = ask(&sandbox, "cat lines; ls").await;
    remove(&sandbox).await;
    assert!(
        output.ends_with("README.md\na b.bin\nlines\npkg\nrun.sh\n"),
        "{output}"
    );
    (
        application,
        output
            .lines()
            .take(workspace.lines().count())
            .collect::<Vec<_>>()
            .join("\n")
            + "\n",
    )
}

fn patch_of(old: &str, new: &str, index: bool) -> Vec<u8> {
    let ground = Ground::new();
    let path = source(&ground);
    std::fs::write(path.join("lines"), old).unwrap();
    commit(&path, "old");
    std::fs::write(path.join("lines"), new).unwrap();
    let patch = String::from_utf8(git_bytes(&path, &["diff"])).unwrap();
    let keep = |line: &&str| index || !line.starts_with("index ");
    patch
        .split_inclusive('\n')
        .filter(keep)
        .collect::<String>()
        .into_bytes()
}

#[tokio::test]
async fn what_does_not_fit_is_merged_or_fitted_or_rejected_whole() {
    let changed = LINES.replace("five", "FIVE");
    let patch = patch_of(LINES, &changed, true);
    // The context differs, the change itself does not: only a merge with the named original knows.
    let near = LINES.replace("three\n", "THREE\n");
    assert_eq!(
        applied(&near, &patch).await,
        (AppliedWith3way, near.replace("five", "FIVE"))
    );
    let nameless = patch_of(LINES, &changed, false);
    assert_eq!(
        applied(&near, &nameless).await,
        (AppliedWithFuzz, near.replace("five", "FIVE"))
    );
    let other = LINES
        .replace("five\n", "cinq\n")
        .replace("four\n", "quatre\n");
    assert_eq!(applied(&other, &patch).await, (Rejected, other.clone()));
    let mut cut = patch.clone();
    cut.pop();
    assert_eq!(
        applied(LINES, &cut).await,
        (Applied, changed.clone()),
        "a missing last newline is mended"
    );
    for nonsense in [
        &b"nonsense"[..],
        b"diff --git a/lines b/lines\n",
        b"--- a/lines\n+++ b/lines\n@@ -1 +1 @@\n-x\n+y\n",
    ] {
        assert_eq!(applied(LINES, nonsense).await, (Rejected, LINES.to_owned()));
    }
}

#[tokio::test]
async fn no_patch_leads_out_of_the_workspace() {
    for kind in BackendKind::all().await {
        no_patch_leads_out(kind).await;
    }
}

async fn no_patch_leads_out(kind: BackendKind) {
    let ground = Ground::new();
    let sandbox = ground.start_from(kind, &source(&ground)).await;
    let target = ground.path().join("target");
    std::fs::create_dir(&target).unwrap();
    run(
        &sandbox,
        &format!(
            "ln -s {} out; ln -s {}/file direct",
            target.display(),
            target.display()
        ),
    )
    .await;
    let new = |path: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+owned\n"
        )
    };
    for path in [
        "out/file",
        "../escaped",
        ".git/hooks/x",
        ".git/config",
        "a/../../escaped",
        "/tmp/escaped-absolute",
    ] {
        let application = apply(&sandbox, new(path).as_bytes()).await;
        assert!(
            !matches!(application, Ok(Applied | AppliedWith3way)),
            "{path}: {application:?}"
        );
    }
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    assert!(
        !ground.root().join("escaped").exists()
            && !ground.root().join("run-instance-s1-a1/escaped").exists()
    );
    let (output, _) = ask(
        &sandbox,
        "ls .git/hooks 2>/dev/null; grep owned .git/config; readlink out",
    )
    .await;
    assert_eq!(output, format!("{}\n", target.display()));
    remove(&sandbox).await;
}
