//! Every kind of change becomes a patch that git itself applies to the same bytes.

use std::path::{Path, PathBuf};

use patch::PathClasses;
use sandbox::Sandbox;
use sandbox::repository::{PatchParts, PatchProof, WorkspaceDiff};

use crate::support::{BackendKind, Ground, ask, commit, git, git_bytes, remove, repository, run};

/// A repository with a file of each kind.
fn zoo(ground: &Ground) -> PathBuf {
    let path = repository(ground.path());
    let write = |name: &str, content: &[u8]| std::fs::write(path.join(name), content).unwrap();
    write("text.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    write("crlf.txt", b"a\r\nb\r\n");
    write("nonl.txt", b"no newline");
    write("binary.bin", &(0..=255).collect::<Vec<u8>>());
    write("latin1.txt", b"caf\xe9\n");
    write("empty", b"");
    write("spaced name.txt", b"x\n");
    write("\u{e9}t\u{e9}.txt", b"x\n");
    write("forced.log", b"tracked although ignored\n");
    std::os::unix::fs::symlink("text.txt", path.join("link")).unwrap();
    std::fs::create_dir(path.join("build")).unwrap();
    write("build/kept", b"tracked below an ignored directory\n");
    std::fs::create_dir(path.join("tests")).unwrap();
    write("tests/test_kept.py", b"kept = 1\n");
    write("tests/test_gone.py", b"gone = 1\n");
    git(&path, &["add", "-f", "forced.log", "build/kept"]);
    commit(&path, "zoo");
    path
}

/// Applies the patch to a fresh clone with git and compares all bytes, modes and links with the workspace, whose listing is returned too.
async fn check(
    ground: &Ground,
    kind: BackendKind,
    source: &Path,
    sandbox: &Sandbox,
    name: &str,
) -> (WorkspaceDiff, Vec<u8>) {
    let diff = sandbox
        .diff()
        .await
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let applied = with_patch(ground, source, &diff.full);
    let end = as_added(ground, kind, source, sandbox, name);
    assert_eq!(
        text(&applied),
        text(&end),
        "{name}\n{}",
        String::from_utf8_lossy(&diff.full)
    );
    (diff, end)
}

/// What git makes of the start commit by a patch, a line for each file.
fn with_patch(ground: &Ground, source: &Path, patch: &[u8]) -> Vec<u8> {
    let clone = ground.path().join("clone");
    let _ = std::fs::remove_dir_all(&clone);
    git(source, &["clone", "-q", ".", &clone.display().to_string()]);
    let file = ground.path().join("patch");
    std::fs::write(&file, patch).unwrap();
    if !patch.is_empty() {
        git(
            &clone,
            &["apply", "--binary", "--index", &file.display().to_string()],
        );
    }
    git_bytes(&clone, &["ls-files", "-s", "-z"])
}

/// The workspace as git would add it, with the ignored files left out by the same rules.
fn as_added(
    ground: &Ground,
    kind: BackendKind,
    source: &Path,
    sandbox: &Sandbox,
    name: &str,
) -> Vec<u8> {
    let workspace = ground.workspace(kind, sandbox);
    let index = ground.path().join("index");
    let _ = std::fs::remove_file(&index);
    let outside = |arguments: &[&str]| {
        let index = format!("GIT_INDEX_FILE={}", index.display());
        let git_dir = format!("--git-dir={}", source.join(".git").display());
        let tree = format!("--work-tree={}", workspace.display());
        let output = std::process::Command::new("env")
            .args([
                index.as_str(),
                "GIT_CONFIG_GLOBAL=/dev/null",
                "git",
                "-c",
                "core.autocrlf=false",
                &git_dir,
                &tree,
            ])
            .args(arguments)
            .current_dir(&workspace)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    };
    outside(&["read-tree", sandbox.start_commit()]);
    outside(&["add", "-A"]);
    outside(&["ls-files", "-s", "-z"])
}

fn text(listing: &[u8]) -> String {
    listing.escape_ascii().to_string()
}

/// What an agent does to tests besides, with built-ins and plain programs alone: some rows leave no git behind.
const TESTS: &str = "echo 'more = 1' >>tests/test_kept.py; rm tests/test_gone.py; echo 'new = 1' >tests/test_new.py";

/// What is handed on makes everything of the workspace, `end`, but the changes to tests. Returns it.
async fn check_model(
    ground: &Ground,
    source: &Path,
    sandbox: &Sandbox,
    (full, end): (Vec<u8>, &[u8]),
    name: &str,
) -> Vec<u8> {
    let split = patch::split(&full, &PathClasses::default()).unwrap();
    assert_eq!(split.test_files.len(), 3, "{name}: {:?}", split.test_files);
    let parts = PatchParts {
        full,
        model: split.model,
        left_out: split.test_files,
    };
    let proof = sandbox.prove(parts.clone()).await.unwrap();
    let faultless = PatchProof {
        fault: None,
        on_base: None,
    };
    assert_eq!(proof, faultless, "{name}");
    let is_test = |line: &&[u8]| line.windows(7).any(|part| part == b"\ttests/");
    let listing = |of: &[u8], tests: bool| {
        let lines = of.split(|&byte| byte == 0);
        let kept = lines.filter(|line| is_test(line) == tests);
        text(&kept.collect::<Vec<_>>().join(&b'\n'))
    };
    let made = with_patch(ground, source, &parts.model);
    let start = git_bytes(source, &["ls-files", "-s", "-z"]);
    assert_eq!(listing(&made, false), listing(end, false), "{name}");
    assert_eq!(listing(&made, true), listing(&start, true), "{name}");
    // Nor is anything else taken for it.
    let all = PatchParts {
        model: parts.full.clone(),
        ..parts.clone()
    };
    let none = PatchParts {
        left_out: Vec::new(),
        ..parts.clone()
    };
    for wrong in [all, none] {
        let fault = sandbox.prove(wrong).await.unwrap().fault;
        assert!(
            fault.is_some_and(|fault| fault.contains("does not give the workspace")),
            "{name}"
        );
    }
    parts.model
}

/// What the agent did, and whether the patch must be empty.
const TABLE: &[(&str, &str, bool)] = &[
    ("nothing", ":", true),
    (
        "touched",
        "touch text.txt; cat text.txt >x; cat x >text.txt; rm x",
        true,
    ),
    ("modified", "sed -i s/5/five/ text.txt", false),
    (
        "same size",
        "printf '1\\n2\\n3\\n4\\nX\\n6\\n7\\n8\\n9\\n' >text.txt",
        false,
    ),
    ("new", "mkdir -p a/b; echo x >a/b/c; echo y >new.py", false),
    ("new empty", ": >void", false),
    ("deleted", "rm text.txt pkg/a.py", false),
    (
        "renamed",
        "git mv text.txt moved.txt; mv pkg/a.py pkg/b.py",
        false,
    ),
    (
        "copied",
        "cp text.txt copy.txt; cp -r pkg copied; cp run.sh run2.sh",
        false,
    ),
    (
        "hard links",
        "ln text.txt same.txt; ln .git/HEAD head; mkdir links; for i in 1 2 3 4 5; do ln run.sh links/$i; done; ln build/kept kept",
        false,
    ),
    (
        "binary",
        "printf '\\000\\001\\377' >>binary.bin; head -c 70000 /dev/urandom >big.bin",
        false,
    ),
    ("mode", "chmod +x text.txt; chmod -x run.sh", false),
    (
        "mode and content",
        "chmod +x text.txt; echo more >>text.txt",
        false,
    ),
    (
        "link",
        "ln -sf run.sh link; ln -s /etc/passwd outside; ln -s nowhere dangling",
        false,
    ),
    ("file to link", "rm text.txt; ln -s run.sh text.txt", false),
    ("link to file", "rm link; echo x >link", false),
    (
        "file to directory",
        "rm text.txt; mkdir text.txt; echo x >text.txt/in",
        false,
    ),
    ("directory to file", "rm -r pkg; echo x >pkg", false),
    ("directory to link", "rm -r pkg; ln -s build pkg", false),
    (
        "crlf",
        "printf 'a\\r\\nB\\r\\n' >crlf.txt; printf 'n\\r\\n' >newcrlf",
        false,
    ),
    (
        "no newline",
        "printf 'still no newline' >nonl.txt; printf x >nonl2; printf '1' >text.txt",
        false,
    ),
    ("newline added", "echo >>nonl.txt", false),
    ("invalid utf-8", "printf 'caf\\351s\\n' >latin1.txt", false),
    (
        "names",
        "echo x >'a b'; echo x >$'new\\nline'; echo x >'qu\"ote'; echo x >$'tab\\tx'; echo x >$'\\377bytes'; echo x >'back\\slash'; echo y >'spaced name.txt'; echo y >été.txt",
        false,
    ),
    (
        "leading",
        "echo x >-dash; echo x >' lead'; echo x >'trail '",
        false,
    ),
    (
        "ignored",
        "echo x >x.log; mkdir -p build; echo x >build/out",
        true,
    ),
    (
        "tracked and ignored",
        "echo y >forced.log; echo y >build/kept",
        false,
    ),
    (
        "ignore file",
        "echo '*.tmp' >>.gitignore; echo x >a.tmp; mkdir d; echo '!b.tmp' >d/.gitignore; echo x >d/b.tmp",
        false,
    ),
    (
        "committed",
        "echo y >>text.txt; git commit -qam work",
        false,
    ),
    (
        "staged",
        "echo y >>text.txt; echo n >staged; git add -A; echo z >>text.txt",
        false,
    ),
    (
        "staged and removed",
        "echo n >staged; git add staged; rm staged",
        true,
    ),
    (
        "reset away",
        "echo y >>text.txt; git commit -qam work; git reset -q --hard HEAD~1",
        true,
    ),
    (
        "other branch",
        "git checkout -qb other; git rm -q text.txt; git commit -qm gone; git checkout -q --orphan new; git commit -qm orphan",
        false,
    ),
    (
        "attributes",
        "echo '* -diff -text filter=evil diff=evil' >.gitattributes; git config diff.evil.command 'touch $HOME/owned'; git config filter.evil.clean 'echo evil'; git config core.autocrlf true; git config diff.external 'echo evil'; git config core.excludesFile /dev/stdin; echo y >>text.txt; echo pkg >>.git/info/exclude; echo x >pkg/new",
        false,
    ),
    (
        "hooks and index",
        "printf '#!/bin/sh\\ntouch $HOME/owned\\n' >.git/hooks/post-index-change 2>/dev/null; git config core.fsmonitor 'touch $HOME/owned'; git update-index --assume-unchanged text.txt; git update-index --skip-worktree crlf.txt; echo y >>text.txt; echo y >>crlf.txt",
        false,
    ),
    (
        "text conversion, hooks elsewhere and a git of one's own",
        "mkdir -p build/bin; printf '#!/bin/sh\\ntouch $HOME/owned\\n' >build/bin/git; chmod +x build/bin/git; cp build/bin/git build/bin/pre-commit; git config core.hooksPath $PWD/build/bin; git config diff.own.textconv \"touch $HOME/owned; cat\"; git config diff.external $PWD/build/bin/git; echo '* diff=own' >.git/info/attributes; echo '*.txt diff=own' >.gitattributes; export PATH=$PWD/build/bin:$PATH; echo y >>text.txt",
        false,
    ),
    (
        "repository behind a link",
        "mv .git build/git; ln -s build/git .git; echo y >>text.txt",
        false,
    ),
    (
        "repository that leads away",
        "rm -rf .git; echo 'gitdir: /etc' >.git; echo y >>text.txt",
        false,
    ),
    ("no repository", "rm -rf .git; echo y >>text.txt", false),
    (
        "broken repository",
        "echo garbage >.git/HEAD; echo garbage >.git/index; echo y >>text.txt",
        false,
    ),
    (
        "new repository",
        "rm -rf .git; git init -q; git add -A; git commit -qm all; echo y >>text.txt",
        false,
    ),
    (
        "closed",
        "chmod 000 pkg/a.py; chmod 000 pkg; echo y >>text.txt",
        false,
    ),
];

/// Parts of the table that run at the same time.
const PARTS: usize = 3;

async fn every_kind_of_change_is_in_the_patch(kind: BackendKind) {
    if !BackendKind::all().await.contains(&kind) {
        return;
    }
    let rows = TABLE.len().div_ceil(PARTS);
    let mut parts = tokio::task::JoinSet::new();
    for part in TABLE.chunks(rows) {
        parts.spawn(holds(kind, part));
    }
    parts.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_kind_of_change_is_in_the_patch_of_local() {
    every_kind_of_change_is_in_the_patch(BackendKind::Local).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_kind_of_change_is_in_the_patch_of_bubblewrap() {
    every_kind_of_change_is_in_the_patch(BackendKind::Bubblewrap).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_kind_of_change_is_in_the_patch_of_an_archive() {
    every_kind_of_change_is_in_the_patch(BackendKind::Archived).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_kind_of_change_is_in_the_patch_of_apptainer() {
    every_kind_of_change_is_in_the_patch(BackendKind::Apptainer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn every_kind_of_change_is_in_the_patch_of_docker() {
    every_kind_of_change_is_in_the_patch(BackendKind::Docker).await;
}

async fn holds(kind: BackendKind, table: &[(&str, &str, bool)]) {
    let ground = Ground::new();
    let source = zoo(&ground);
    for (name, command, empty) in table {
        let sandbox = ground.start_from(kind, &source).await;
        run(&sandbox, command).await;
        run(&sandbox, "rm -f $HOME/owned").await;
        if *empty {
            let full = sandbox.diff().await.unwrap().full;
            assert_eq!(String::from_utf8_lossy(&full), "", "{name}");
        }
        run(&sandbox, TESTS).await;
        let (diff, end) = check(&ground, kind, &source, &sandbox, name).await;
        let (owned, _) = ask(&sandbox, "ls $HOME/owned 2>/dev/null").await;
        assert_eq!(owned, "", "{kind:?} {name}");
        assert!(diff.omissions.is_empty(), "{name}: {:?}", diff.omissions);
        let full = diff.full.clone();
        let model = check_model(&ground, &source, &sandbox, (full, &end), name).await;
        assert_eq!(
            model.is_empty(),
            *empty,
            "{name}: {}",
            String::from_utf8_lossy(&model)
        );
        // However it is taken.
        let limit = std::time::Duration::from_secs(30);
        let last = sandbox.last_diff(limit).await.unwrap();
        assert_eq!(text(&last.full), text(&diff.full), "{kind:?} {name}");
        assert_eq!(last, diff, "{kind:?} {name}");
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn what_no_patch_can_hold_is_said() {
    for kind in BackendKind::all().await {
        no_patch_can_hold(kind).await;
    }
}

async fn no_patch_can_hold(kind: BackendKind) {
    let ground = Ground::new();
    let source = zoo(&ground);
    let sandbox = ground.start_from(kind, &source).await;
    run(
        &sandbox,
        "mkfifo pipe; mkdir sub; git init -q sub; echo x >sub/file; truncate -s 200M huge; mkdir .GIT; echo x >.GIT/config; rm text.txt; mkfifo text.txt; rm .gitignore; mkfifo .gitignore",
    )
    .await;
    let diff = sandbox.diff().await.unwrap();
    let text = String::from_utf8_lossy(&diff.full);
    assert!(
        text.contains("b/sub/file") && !text.contains("huge") && !text.contains(".GIT"),
        "{text}"
    );
    assert!(
        text.contains("deleted file mode 100644\nindex 07193989308c972f8a2d0f1b3a15c29ea4ac565b")
            || text.contains("--- a/text.txt")
    );
    let mut omitted: Vec<&str> = diff
        .omissions
        .iter()
        .map(|omission| omission.path.as_str())
        .collect();
    omitted.sort_unstable();
    assert_eq!(
        omitted,
        [".GIT", ".gitignore", "huge", "pipe", "sub/.git", "text.txt"]
    );
    remove(&sandbox).await;
}

#[tokio::test]
async fn submodules_are_compared_by_their_commit() {
    for kind in BackendKind::all().await {
        submodules_are_compared(kind).await;
    }
}

async fn submodules_are_compared(kind: BackendKind) {
    let ground = Ground::new();
    let source = zoo(&ground);
    let inner = "1234567890123456789012345678901234567890";
    git(
        &source,
        &[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{inner},vendor/lib"),
        ],
    );
    git(&source, &["commit", "-q", "-m", "submodule"]);
    let sandbox = ground.start_from(kind, &source).await;
    assert_eq!(sandbox.seal().submodules, 1);
    assert!(sandbox.diff().await.unwrap().full.is_empty());
    run(
        &sandbox,
        "cd vendor/lib; git init -q; echo x >f; git add f; git -c user.name=t -c user.email=t@example.invalid commit -qm inner",
    )
    .await;
    let diff = sandbox.diff().await.unwrap();
    let (head, _) = ask(&sandbox, "git rev-parse HEAD").await;
    let text = String::from_utf8_lossy(&diff.full);
    assert!(
        text.contains(&format!(
            "-Subproject commit {inner}\n+Subproject commit {head}"
        )),
        "{text}"
    );
    assert_eq!(diff.omissions.len(), 1, "{:?}", diff.omissions);
    let other = text.replace(head.trim(), inner);
    prove_submodule(&sandbox, &diff.full, other.as_bytes()).await;
    run(&sandbox, "cd ../..; rm -rf vendor; echo x >vendor").await;
    let full = sandbox.diff().await.unwrap().full;
    let text = String::from_utf8_lossy(&full);
    assert!(text.contains("deleted file mode 160000"), "{kind:?} {text}");
    let other = text.replace(inner, &head);
    prove_submodule(&sandbox, &full, other.as_bytes()).await;
    remove(&sandbox).await;
}

/// A patch of a submodule is seen to fit, one about another commit is not taken for it, and one may leave it out.
async fn prove_submodule(sandbox: &Sandbox, full: &[u8], other: &[u8]) {
    let whole = PatchParts {
        full: full.to_vec(),
        model: full.to_vec(),
        left_out: Vec::new(),
    };
    let wrong = PatchParts {
        model: other.to_vec(),
        ..whole.clone()
    };
    let paths = patch::parse(full).unwrap().files;
    let without = PatchParts {
        model: Vec::new(),
        left_out: paths.iter().map(|file| file.path().clone()).collect(),
        ..whole.clone()
    };
    for (parts, fits) in [(whole, true), (wrong, false), (without, true)] {
        let proof = sandbox.prove(parts).await.unwrap();
        assert_eq!(proof.fault.is_none(), fits, "{proof:?}");
    }
}

#[tokio::test]
async fn a_change_within_the_same_tick_is_seen() {
    let ground = Ground::new();
    let source = zoo(&ground);
    for _ in 0..10 {
        let sandbox = ground.start_from(BackendKind::Local, &source).await;
        run(
            &sandbox,
            "printf 'def a():\\n    return 7\\n' >pkg/a.py; touch -r README.md pkg/a.py",
        )
        .await;
        assert!(
            String::from_utf8(sandbox.diff().await.unwrap().full)
                .unwrap()
                .contains("return 7")
        );
        remove(&sandbox).await;
    }
}
