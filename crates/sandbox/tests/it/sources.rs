//! Where repositories come from, and what is left out of them.

use std::path::Path;

use sandbox::repository::prepare;

use crate::support::{BackendKind, Ground, ask, commit, git, remove, repository, run};

/// A repository whose future must not be seen: branches, tags, remotes, reflogs, stashes, notes, replacements, loose and packed objects.
fn repository_with_a_future(ground: &Ground) -> (std::path::PathBuf, String, String) {
    let path = repository(ground.path());
    let base = git(&path, &["rev-parse", "HEAD"]).trim().to_owned();
    std::fs::write(path.join("fix.py"), "SECRET_FIX = 1\n").unwrap();
    let future = commit(&path, "the fix");
    git(&path, &["tag", "-a", "v2", "-m", "two"]);
    git(&path, &["branch", "fixed"]);
    git(&path, &["update-ref", "refs/remotes/origin/main", &future]);
    git(
        &path,
        &["remote", "add", "origin", "https://example.invalid/x.git"],
    );
    git(&path, &["notes", "add", "-m", "SECRET_NOTE", &base]);
    std::fs::write(path.join("README.md"), "stashed SECRET_STASH\n").unwrap();
    git(&path, &["stash"]);
    git(&path, &["replace", &base, &future]);
    git(&path, &["gc", "-q"]);
    std::fs::write(path.join("loose.py"), "SECRET_LOOSE\n").unwrap();
    commit(&path, "loose");
    (path, base, future)
}

#[tokio::test]
async fn nothing_beyond_the_base_commit_can_be_read() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let (path, base, future) = repository_with_a_future(&ground);
        let prepared = ground.prepare(&path, Some(&base));
        let sandbox = ground.start_prepared(kind, prepared).await;
        let seal = sandbox.seal().clone();
        assert!(seal.verified);
        assert_eq!(
            (seal.start_commit.as_str(), seal.commits),
            (base.as_str(), 2)
        );
        assert_eq!(
            (
                seal.left_out.branches,
                seal.left_out.tags,
                seal.left_out.remotes
            ),
            (2, 1, 1)
        );
        assert!(
            seal.left_out.references_beyond >= 4 && seal.left_out.objects >= 8,
            "{seal:?}"
        );
        assert!(seal.left_out.reflogs >= 2 && seal.left_out.other_references >= 3);
        let (output, _) = ask(
            &sandbox,
            &format!("git cat-file -e {future} && echo READABLE; git for-each-ref; git remote; git stash list; git reflog; git log --all --format=%H; git tag; git branch -a; git fsck --full --strict 2>&1 | grep -v '^notice'"),
        )
        .await;
        let first = git(
            &path,
            &["--no-replace-objects", "rev-parse", &format!("{base}~1")],
        );
        assert!(output.contains(&format!("{base}\n{first}")), "{output}");
        assert!(
            !output.contains("READABLE") && !output.contains(&future) && !output.contains("refs/"),
            "{output}"
        );
        let (objects, _) = ask(&sandbox, "git cat-file --batch-all-objects --batch-check | wc -l; git cat-file --batch-all-objects --batch | grep -ac SECRET; git status --short; git rev-parse --is-shallow-repository").await;
        assert_eq!(objects, format!("{}\n0\nfalse\n", seal.objects));
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn work_trees_bare_repositories_bundles_and_shallow_clones_give_the_same_start() {
    let ground = Ground::new();
    let source = repository(ground.path());
    let head = git(&source, &["rev-parse", "HEAD"]).trim().to_owned();
    let at = |name: &str| ground.path().join(name).display().to_string();
    git(&source, &["clone", "-q", "--bare", ".", &at("bare.git")]);
    git(
        &source,
        &["bundle", "create", "-q", &at("two.bundle"), "--all"],
    );
    git(
        &source,
        &[
            "bundle",
            "create",
            "-q",
            "--version=3",
            &at("three.bundle"),
            "HEAD",
        ],
    );
    git(
        &source,
        &[
            "clone",
            "-q",
            "--depth=1",
            &format!("file://{}", source.display()),
            &at("shallow"),
        ],
    );
    git(
        &source,
        &["worktree", "add", "-q", "--detach", &at("linked")],
    );
    git(
        &source,
        &["clone", "-q", "--shared", ".", &at("alternates")],
    );
    let sources = [
        "source",
        "bare.git",
        "three.bundle",
        "shallow",
        "linked",
        "alternates",
    ];
    for name in sources {
        let sandbox = ground
            .start_from(BackendKind::Local, &ground.path().join(name))
            .await;
        assert_eq!(sandbox.start_commit(), head, "{name}");
        assert_eq!(
            sandbox.seal().shallow_boundary,
            u64::from(name == "shallow"),
            "{name}"
        );
        let (output, _) = ask(
            &sandbox,
            "git fsck 2>&1 | grep -v '^notice'; git status --short; git log --format=tformat:x; ./run.sh",
        )
        .await;
        let commits = if name == "shallow" { "x\n" } else { "x\nx\n" };
        assert_eq!(output, format!("{commits}run\n"), "{name}");
        assert!(sandbox.diff().await.unwrap().full.is_empty());
        remove(&sandbox).await;
    }
    let prepared = ground.prepare(&ground.path().join("two.bundle"), Some(&head));
    assert_eq!(prepared.start_commit(), head);
}

#[test]
fn what_cannot_be_used_is_named_with_a_hint() {
    let ground = Ground::new();
    let source = repository(ground.path());
    let path = |name: &str| ground.path().join(name);
    std::fs::create_dir(path("plain")).unwrap();
    std::fs::create_dir(source.join("inside")).unwrap();
    std::fs::write(path("text"), "hello\n").unwrap();
    std::fs::write(path("empty"), "").unwrap();
    git(
        &source,
        &[
            "bundle",
            "create",
            "-q",
            &path("thin.bundle").display().to_string(),
            "HEAD~1..HEAD",
            "main",
        ],
    );
    git(
        &source,
        &[
            "bundle",
            "create",
            "-q",
            &path("cut.bundle").display().to_string(),
            "HEAD",
        ],
    );
    let bundle = std::fs::read(path("cut.bundle")).unwrap();
    std::fs::write(path("cut.bundle"), &bundle[..bundle.len() - 40]).unwrap();
    std::fs::create_dir(path("unborn")).unwrap();
    git(&path("unborn"), &["init", "-q"]);
    let absent = "1".repeat(40);
    let table: [(&Path, Option<&str>, &str); 10] = [
        (&path("nowhere"), None, "cannot be reached"),
        (&path("plain"), None, "not a git repository"),
        (&source.join("inside"), None, "not a git repository"),
        (&path("text"), None, "neither a directory nor a git bundle"),
        (&path("empty"), None, "neither a directory nor a git bundle"),
        (&path("thin.bundle"), None, "incremental"),
        (&path("cut.bundle"), None, "pack cannot be read"),
        (&path("unborn"), None, "no commit yet"),
        (&source, Some(&absent), "has no commit `1111"),
        (&source, Some("--help"), "has no commit `--help`"),
    ];
    for (source, base, expected) in table {
        let error = prepare(source, base, &ground.root()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(expected) && text.contains(&source.display().to_string()),
            "{text}"
        );
        assert!(error.hint().is_some(), "{text}");
    }
    assert_eq!(
        std::fs::read_dir(ground.root()).unwrap().count(),
        0,
        "nothing is left of what failed"
    );
}

#[tokio::test]
async fn files_are_checked_out_as_they_are() {
    let ground = Ground::new();
    let source = repository(ground.path());
    std::fs::write(
        source.join(".gitattributes"),
        "* text=auto eol=crlf\n*.bin filter=lfs\n*.id ident\n",
    )
    .unwrap();
    std::fs::write(source.join("lf.txt"), "a\nb\n").unwrap();
    std::fs::write(source.join("x.id"), "$Id$\n").unwrap();
    std::os::unix::fs::symlink("pkg/a.py", source.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("absolute")).unwrap();
    commit(&source, "attributes");
    let sandbox = ground.start_from(BackendKind::Local, &source).await;
    let (output, _) = ask(&sandbox, "od -c lf.txt | head -1; cat x.id; readlink link absolute; stat -c %a run.sh lf.txt; git status --short").await;
    assert_eq!(
        output,
        "0000000   a  \\n   b  \\n\n$Id$\npkg/a.py\n/etc/passwd\n755\n644\n"
    );
    // The sandbox's copy of the objects is its own.
    run(
        &sandbox,
        "chmod -R u+w .git && : >.git/objects/pack/*.pack; rm -rf .git",
    )
    .await;
    git(&source, &["fsck"]);
    assert!(sandbox.diff().await.unwrap().full.is_empty());
    remove(&sandbox).await;
}

#[tokio::test]
async fn in_bubblewrap_the_source_is_not_seen() {
    if !crate::support::bubblewrap_works().await {
        return;
    }
    // Not below /tmp, which the inside has its own of.
    let ground = Ground::at(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let (path, base, _) = repository_with_a_future(&ground);
    let look = format!(
        "ls {0}/README.md {0}/.git/HEAD 2>/dev/null; ls {0}/fix.py 2>/dev/null",
        path.display()
    );
    let sandbox = ground
        .start_prepared(BackendKind::Bubblewrap, ground.prepare(&path, Some(&base)))
        .await;
    assert_eq!(ask(&sandbox, &look).await.0, "");
    remove(&sandbox).await;
    let sandbox = ground
        .start_prepared(BackendKind::Bubblewrap, ground.prepare(&path, None))
        .await;
    let (output, _) = ask(&sandbox, &look).await;
    assert!(
        output.contains("README.md") && !output.contains("HEAD"),
        "{output}"
    );
    remove(&sandbox).await;
}
