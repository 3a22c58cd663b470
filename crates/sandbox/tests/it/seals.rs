//! Sealed repositories, looked at with real git: nothing beyond the start commit can be read, however it was kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use sandbox::repository::{BaseCommit, ImageRepositories, Origin, StartChange, prepare_changed};
use sandbox::{Sandbox, SandboxSpec};

use crate::archived::Archived;
use crate::docker_support::docker;
use crate::support::{BackendKind, Ground, ask, git, place_spec, remove, run};

const ZOO: &str = include_str!("zoo.sh");

/// The zoo on the host; its base commit.
fn zoo(directory: &Path) -> (PathBuf, String) {
    let path = directory.join("zoo");
    let status = Command::new("sh")
        .args(["-c", ZOO, "zoo"])
        .arg(&path)
        .status()
        .unwrap();
    assert!(status.success());
    let base = git(&path, &["--no-replace-objects", "rev-parse", "HEAD"]);
    (path, base.trim().to_owned())
}

/// Everything that git can tell about what is there.
const LOOK: &str = r"
git cat-file --batch-all-objects --batch 2>&1 | grep -a FORBIDDEN
git for-each-ref
git stash list
git reflog --all
git notes list
git tag -l; git branch -r; git remote
git fsck --full --unreachable --no-reflogs 2>&1 | grep -v '^notice\|^Checking'
git log --all --format=%s | grep FORBIDDEN
git log --reflog --format=%s 2>/dev/null | grep FORBIDDEN
grep -ra FORBIDDEN . 2>/dev/null
find . -name alternates -o -name grafts -o -name worktrees -o -name modules -o -name FETCH_HEAD -o -name packed-refs -o -name hooks -o -name logs
find .git/objects -type f | grep -v '/pack/pack-[0-9a-f]*\.\(pack\|idx\)$'
git rev-parse --abbrev-ref HEAD
git log --format=%s
";

async fn check(sandbox: &Sandbox, name: &str) {
    let seal = sandbox.seal();
    assert!(seal.verified, "{name}: {seal:?}");
    let (output, _) = ask(sandbox, LOOK).await;
    assert_eq!(output, "HEAD\nbase\nwith a submodule\nfirst\n", "{name}");
    // The agent can work on.
    let (output, _) = ask(
        sandbox,
        "echo x >new.txt && git add new.txt && git commit -q -m work && git status --short new.txt && git log -1 --format=%s && git rm -qf new.txt && git reset -q --soft HEAD~1",
    )
    .await;
    assert_eq!(output, "work\n", "{name}");
}

#[tokio::test]
async fn nothing_of_a_hosts_repository_is_left_but_its_history() {
    for kind in BackendKind::all().await {
        let ground = Ground::new();
        let (path, base) = zoo(ground.path());
        for commit in [None, Some(base.as_str())] {
            let sandbox = ground
                .start_prepared(kind, ground.prepare(&path, commit))
                .await;
            check(&sandbox, &format!("{kind:?}")).await;
            assert_eq!(sandbox.start_commit(), base);
            let left = &sandbox.seal().left_out;
            assert!(left.objects >= 12 && left.alternates == 1 && left.worktrees == 1);
            assert_eq!(ask(&sandbox, "git status --short").await.0, "");
            assert!(sandbox.diff().await.unwrap().full.is_empty());
            remove(&sandbox).await;
        }
    }
}

/// A sandbox of an image's own repository.
pub(crate) async fn start_image(
    ground: &Ground,
    kind: BackendKind,
    image: &Image,
    repositories: &Arc<ImageRepositories>,
    base: Option<&str>,
    change: Option<Arc<StartChange>>,
) -> Sandbox {
    let mut place = place_spec();
    place.image = Some(image.name.clone());
    place.workdir.clone_from(&image.workdir);
    let spec = SandboxSpec {
        place,
        repository: Origin::Image {
            repositories: Arc::clone(repositories),
            base_commit: base.map(str::to_owned),
            change,
            fallback: None,
        },
        setup_commands: Vec::new(),
        setup_timeout: Duration::from_secs(10),
    };
    let backend = match &image.directory {
        Some(directory) => Arc::new(Archived {
            inner: ground.local(),
            image: Some(directory.clone()),
        }),
        None => kind.backend(ground).await,
    };
    let sandbox = Sandbox::start(backend, spec, Duration::from_mins(1))
        .await
        .unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
    ground.remember(&sandbox);
    sandbox
}

/// An image of an engine, or a directory that stands for one.
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) workdir: Option<String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) base: String,
}

/// The zoo as an image, `None` where the kind has none.
fn image(ground: &Ground, kind: BackendKind) -> Option<Image> {
    let (path, base) = zoo(ground.path());
    match kind {
        BackendKind::Archived => Some(Image {
            name: String::from("zoo"),
            workdir: None,
            directory: Some(path),
            base,
        }),
        BackendKind::Apptainer => {
            let name = ground.unpacked();
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(path).arg(format!("{name}/testbed"));
            assert!(copy.status().unwrap().success());
            Some(Image {
                name,
                workdir: Some(String::from("/testbed")),
                directory: None,
                base,
            })
        }
        BackendKind::Docker => {
            // It stays, as the other images of tests do: built again, it costs nothing.
            let name = String::from("patchmill-zoo:1");
            let context = ground.path().join("context");
            std::fs::create_dir(&context).unwrap();
            std::fs::write(context.join("zoo.sh"), ZOO).unwrap();
            std::fs::write(
                context.join("Dockerfile"),
                "FROM patchmill-base:bookworm\nCOPY zoo.sh /zoo.sh\nRUN sh /zoo.sh /testbed && rm /zoo.sh\nWORKDIR /testbed\n",
            )
            .unwrap();
            let status = Command::new("docker")
                .args(["build", "-q", "--network=none", "--force-rm", "-t", &name])
                .arg(&context)
                .stdout(std::process::Stdio::null())
                .status()
                .unwrap();
            assert!(status.success());
            // The submodule's address differs, and with it every name.
            let base = docker(&[
                "run",
                "--rm",
                "--network=none",
                &name,
                "git",
                "--no-replace-objects",
                "rev-parse",
                "HEAD",
            ]);
            Some(Image {
                name,
                workdir: None,
                directory: None,
                base,
            })
        }
        BackendKind::Local | BackendKind::Bubblewrap => None,
    }
}

#[tokio::test]
async fn nothing_of_an_images_repository_is_left_but_its_history() {
    for kind in BackendKind::all().await {
        let ground = Ground::new();
        let Some(image) = image(&ground, kind) else {
            continue;
        };
        let repositories = Arc::new(ImageRepositories::new(ground.root(), 4));
        let sandbox = start_image(
            &ground,
            kind,
            &image,
            &repositories,
            Some(&image.base),
            None,
        )
        .await;
        let seal = sandbox.seal().clone();
        assert_eq!(seal.start_commit, image.base, "{kind:?}");
        let state = seal.image.clone().unwrap();
        assert_eq!(state.base_commit, Some(BaseCommit::Start));
        assert_eq!(
            state.differing_at_start, 4,
            "changed, missing, and two new ones"
        );
        assert!(state.histories_removed >= 2, "{state:?}");
        assert!(
            seal.left_out.reflogs > 0 && seal.left_out.remotes == 1,
            "{seal:?}"
        );
        assert!(sandbox.diff().await.unwrap().full.is_empty());
        let (status, _) = ask(&sandbox, "git status --short; cat build/out").await;
        assert_eq!(
            status, " M a.txt\n D gone.txt\n?? staged.txt\n?? untracked.txt\nout\n",
            "{kind:?}: the work tree is as the image has it"
        );
        check(&sandbox, &format!("{kind:?}")).await;
        if matches!(kind, BackendKind::Docker) {
            let (linked, _) = ask(&sandbox, "ls -A /testbed.beside/linked").await;
            assert_eq!(linked, "", "another checkout is empty");
        }

        run(
            &sandbox,
            "echo y >>dir/deep.txt; echo z >>untracked.txt; git add -A; git commit -qm all",
        )
        .await;
        let diff = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
        let changed: Vec<&str> = diff
            .lines()
            .filter_map(|line| line.strip_prefix("diff --git "))
            .collect();
        assert_eq!(
            changed,
            [
                "a/dir/deep.txt b/dir/deep.txt",
                "a/untracked.txt b/untracked.txt"
            ],
            "{kind:?}: only what the agent did"
        );
        remove(&sandbox).await;

        // The next one of the image pays nothing, and one with another base says where that is.
        let next = start_image(
            &ground,
            kind,
            &image,
            &repositories,
            Some(&image.base),
            None,
        )
        .await;
        assert_eq!(next.seal(), &seal);
        remove(&next).await;
        for (base, expected) in [
            ("v1", BaseCommit::InHistory),
            ("future", BaseCommit::Beyond),
            (
                "0123456789012345678901234567890123456789",
                BaseCommit::Missing,
            ),
        ] {
            let sandbox = start_image(&ground, kind, &image, &repositories, Some(base), None).await;
            let state = sandbox.seal().image.clone().unwrap();
            assert_eq!(state.base_commit, Some(expected), "{kind:?} {base}");
            remove(&sandbox).await;
        }
        repositories.clear();
    }
}

#[tokio::test]
async fn a_linked_work_tree_and_a_shallow_clone_are_repositories_of_images_too() {
    let ground = Ground::new();
    let (path, base) = zoo(ground.path());
    let beside = ground.path().join("zoo.beside");
    let copy = ground.path().join("shallow");
    git(&path, &["replace", "-d", &base]);
    std::fs::remove_file(path.join(".git/info/grafts")).unwrap();
    let url = format!("file://{}", path.display());
    let target = copy.display().to_string();
    git(
        &path,
        &[
            "clone", "-q", "--depth", "1", "--branch", "main", &url, &target,
        ],
    );
    let linked = beside.join("linked");
    git(&linked, &["checkout", "-q", &base]);
    for (name, directory) in [("linked", linked), ("shallow", copy)] {
        let image = Image {
            name: name.to_owned(),
            workdir: None,
            directory: Some(directory),
            base: base.clone(),
        };
        let repositories = Arc::new(ImageRepositories::new(ground.root(), 0));
        let sandbox = start_image(
            &ground,
            BackendKind::Archived,
            &image,
            &repositories,
            None,
            None,
        )
        .await;
        let seal = sandbox.seal();
        assert!(seal.verified, "{name}");
        assert_eq!(seal.start_commit, base, "{name}");
        assert_eq!(seal.shallow_boundary, u64::from(name == "shallow"));
        let (output, _) = ask(
            &sandbox,
            "git cat-file --batch-all-objects --batch | grep -a FORBIDDEN; git fsck 2>&1 | grep -v '^notice\\|^Checking'; git status --short; git log --format=%s",
        )
        .await;
        let history = if name == "shallow" {
            "base\n"
        } else {
            "base\nwith a submodule\nfirst\n"
        };
        assert_eq!(output, history, "{name}");
        // Where the history came from, nothing is left either.
        if name == "linked" {
            assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        }
        remove(&sandbox).await;
    }
}

/// Makes of the zoo in /zoo a linked work tree, a shallow clone and a partial one, each at the base commit.
const CLONES: &str = r"set -e
cd /zoo
base=$(git --no-replace-objects rev-parse HEAD)
git replace -d $base >/dev/null
rm .git/info/grafts
git -C /zoo.beside/linked checkout -q $base
git clone -q --depth 1 --branch main file:///zoo /shallow
git config uploadpack.allowFilter true
git clone -q --filter=blob:none --branch main file:///zoo /partial
# What HEAD does not have and its history has is not there.
test $(git -C /partial rev-list --objects --missing=print HEAD | grep -c '^?') -gt 0
";

#[tokio::test]
async fn linked_work_trees_and_clones_that_hold_less_are_sealed_in_a_real_image() {
    if testkit::docker_image("base").is_none() {
        return;
    }
    let ground = Ground::new();
    let context = ground.path().join("context");
    std::fs::create_dir(&context).unwrap();
    std::fs::write(context.join("zoo.sh"), ZOO).unwrap();
    std::fs::write(context.join("clones.sh"), CLONES).unwrap();
    let text = "FROM patchmill-base:bookworm\nCOPY zoo.sh clones.sh /\nRUN sh /zoo.sh /zoo && sh /clones.sh && rm /zoo.sh /clones.sh\n";
    std::fs::write(context.join("Dockerfile"), text).unwrap();
    let name = "patchmill-clones:1";
    let path = context.display().to_string();
    docker(&[
        "build",
        "-q",
        "--network=none",
        "--force-rm",
        "-t",
        name,
        &path,
    ]);
    let head = "git -C /zoo rev-parse HEAD";
    let base = docker(&["run", "--rm", "--network=none", name, "sh", "-c", head]);
    for (workdir, boundary, history) in [
        ("/zoo.beside/linked", 0, "base\nwith a submodule\nfirst\n"),
        ("/shallow", 1, "base\n"),
        ("/partial", 0, "base\nwith a submodule\nfirst\n"),
    ] {
        let image = Image {
            name: name.to_owned(),
            workdir: Some(workdir.to_owned()),
            directory: None,
            base: base.clone(),
        };
        let repositories = Arc::new(ImageRepositories::new(ground.root(), 0));
        let sandbox = start_image(
            &ground,
            BackendKind::Docker,
            &image,
            &repositories,
            Some(&base),
            None,
        )
        .await;
        let seal = sandbox.seal().clone();
        assert!(seal.verified, "{workdir}: {seal:?}");
        assert_eq!(seal.start_commit, base, "{workdir}");
        assert_eq!(seal.shallow_boundary, boundary, "{workdir}");
        assert_eq!(seal.absent > 0, workdir == "/partial", "{seal:?}");
        assert_eq!(seal.image.unwrap().base_commit, Some(BaseCommit::Start));
        let (output, _) = ask(
            &sandbox,
            "git cat-file --batch-all-objects --batch | grep -a FORBIDDEN; git status --short; git log --format=%s; grep -ra FORBIDDEN .",
        )
        .await;
        assert_eq!(output, history, "{workdir}");
        run(&sandbox, "echo x >>a.txt; git add -A; git commit -qm work").await;
        let diff = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
        assert!(
            diff.starts_with("diff --git a/a.txt b/a.txt"),
            "{workdir} {diff}"
        );
        assert_eq!(diff.matches("diff --git").count(), 1, "{workdir} {diff}");
        if workdir == "/zoo.beside/linked" {
            let (left, _) = ask(&sandbox, "ls -A /zoo").await;
            assert_eq!(left, "", "where the history came from, nothing is left");
        }
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn a_user_other_than_root_owns_what_is_put_in_and_can_commit() {
    let Some(name) = testkit::docker_image("layout-user") else {
        return;
    };
    let ground = Ground::new();
    let (path, _) = zoo(ground.path());
    let repositories = Arc::new(ImageRepositories::new(ground.root(), 0));
    let prepared = ground.prepare(&path, None);
    // The image's own repository; a directory that the engine makes, as root's; one that only root may make.
    for workdir in ["/testbed", "/workspace", "/srv/deep/er"] {
        let image = Image {
            name: name.to_owned(),
            workdir: Some(workdir.to_owned()),
            directory: None,
            base: String::new(),
        };
        let fallback = Arc::clone(&prepared);
        let spec = SandboxSpec {
            place: sandbox::place::PlaceSpec {
                image: Some(image.name.clone()),
                workdir: image.workdir.clone(),
                ..place_spec()
            },
            repository: Origin::Image {
                repositories: Arc::clone(&repositories),
                base_commit: None,
                change: None,
                fallback: Some(Arc::new(move || {
                    let prepared = Arc::clone(&fallback);
                    Box::pin(async move { Ok(prepared) })
                })),
            },
            setup_commands: Vec::new(),
            setup_timeout: Duration::from_secs(10),
        };
        let backend = BackendKind::Docker.backend(&ground).await;
        let sandbox = Sandbox::start(backend, spec, Duration::from_mins(1))
            .await
            .unwrap_or_else(|error| panic!("{workdir}: {error:?}"));
        ground.remember(&sandbox);
        assert!(sandbox.seal().verified, "{workdir}");
        assert_eq!(sandbox.seal().image.is_some(), workdir == "/testbed");
        let (output, _) = ask(
            &sandbox,
            "pwd; id -u; git status --short; echo x >new.txt && git add -A && git commit -qm work && git log -1 --format=%s",
        )
        .await;
        assert_eq!(output, format!("{workdir}\n1000\nwork\n"));
        // A container that is dead can still be read.
        sandbox
            .stop_processes(Duration::from_secs(20))
            .await
            .unwrap();
        let diff = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
        assert!(diff.contains("+++ b/new.txt"), "{workdir} {diff}");
        remove(&sandbox).await;
    }
}

/// Looks at a changed start: the tree, one commit, and no object of what was before.
const CHANGED: &str = r"
cat a.txt new/file.txt; ls dir 2>/dev/null
git status --short a.txt new dir
git log --format=%s
git cat-file --batch-all-objects --batch 2>&1 | grep -aE 'FORBIDDEN|^two$|^deep$|^base$'
git rev-list --all --objects HEAD | wc -l
";

fn change() -> StartChange {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+broken\n--- /dev/null\n+++ b/new/file.txt\n@@ -0,0 +1 @@\n+new\n";
    StartChange {
        patch: patch.as_bytes().to_vec(),
        removed: vec!["dir/deep.txt".to_owned(), "dir/absent.txt".to_owned()],
    }
}

/// What is changed before anybody works is the start: it is in no patch, and undoing it is.
async fn check_changed(sandbox: &Sandbox, name: &str) {
    let seal = sandbox.seal();
    assert!(
        seal.verified && seal.changed_at_start == 3 && seal.commits == 1,
        "{name}: {seal:?}"
    );
    let (output, _) = ask(sandbox, CHANGED).await;
    let expected = "one\nbroken\nnew\nStart\n";
    assert!(output.starts_with(expected), "{name}: {output}");
    let rest = output.strip_prefix(expected).unwrap().trim();
    let (there, _) = ask(sandbox, "find .git -maxdepth 3; git worktree list").await;
    assert!(
        rest.parse::<u32>().is_ok_and(|objects| objects > 4),
        "{name}: {rest}\n{there}"
    );
    assert!(sandbox.diff().await.unwrap().full.is_empty(), "{name}");
    run(sandbox, "printf 'one\\ntwo\\n' >a.txt").await;
    let diff = sandbox.diff().await.unwrap().full;
    let diff = String::from_utf8_lossy(&diff);
    assert!(
        diff.contains("-broken\n+two\n") && !diff.contains("new/file.txt"),
        "{name}: {diff}"
    );
}

#[tokio::test]
async fn a_changed_start_has_no_history_and_nothing_of_what_was_before() {
    for kind in BackendKind::all().await {
        let ground = Ground::new();
        let host = ground.path().join("host");
        std::fs::create_dir(&host).unwrap();
        let (path, base) = zoo(&host);
        let changed = || prepare_changed(&path, None, Some(&base), &change(), &ground.root());
        let prepared = changed().unwrap();
        // The same change gives the same commit.
        assert_eq!(prepared.start_commit(), changed().unwrap().start_commit());
        let sandbox = ground.start_prepared(kind, prepared).await;
        check_changed(&sandbox, &format!("{kind:?}")).await;
        remove(&sandbox).await;
        let Some(image) = image(&ground, kind) else {
            continue;
        };
        let repositories = Arc::new(ImageRepositories::new(ground.root(), 4));
        let changed = Some(Arc::new(change()));
        let sandbox = start_image(&ground, kind, &image, &repositories, None, changed).await;
        check_changed(&sandbox, &format!("image of {kind:?}")).await;
        remove(&sandbox).await;
        // Others of the same image are not changed.
        let sandbox = start_image(&ground, kind, &image, &repositories, None, None).await;
        assert_eq!(sandbox.start_commit(), image.base, "{kind:?}");
        remove(&sandbox).await;
    }
}

#[test]
fn a_change_that_does_not_apply_is_told() {
    let ground = Ground::new();
    let (path, _) = zoo(ground.path());
    let wrong = StartChange {
        patch: b"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-never\n+x\n".to_vec(),
        removed: Vec::new(),
    };
    let error = prepare_changed(&path, None, None, &wrong, &ground.root()).unwrap_err();
    assert!(error.to_string().contains("does not apply"), "{error}");
}
