//! Patches on the commit that a row names, where an image's repository has set-up commits on top of it, or is somewhere else altogether.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use patch::PathClasses;
use sandbox::Sandbox;
use sandbox::repository::{BaseCommit, ImageRepositories, PatchParts};
use schema::journal::OnBase;

use crate::docker_support::docker;
use crate::seals::{Image, start_image};
use crate::support::{BackendKind, Ground, commit, git, remove, repository, run};

/// Names of commits in relation to HEAD.
const BASES: [&str; 4] = ["HEAD", "HEAD~1", "beside", "nowhere"];

/// A repository whose HEAD is a set-up commit on top of the base; `beside` is a commit that HEAD does not reach.
fn set_up(directory: &Path) -> PathBuf {
    let path = repository(directory);
    let write = |name: &str, content: &str| std::fs::write(path.join(name), content).unwrap();
    write("both.txt", "1\n2\n3\n");
    write("changed.txt", "1\n2\n3\n");
    std::fs::create_dir(path.join("tests")).unwrap();
    write("tests/test_both.py", "1\n");
    commit(&path, "base");
    git(&path, &["branch", "beside"]);
    write("changed.txt", "1\n2 set up\n3\n");
    write("tests/test_set_up.py", "1\n");
    commit(&path, "set up");
    git(&path, &["checkout", "-q", "beside"]);
    write("beside.txt", "1\n");
    commit(&path, "beside");
    git(&path, &["checkout", "-q", "--detach", "main"]);
    path
}

/// What the agent does; whether the full and the model patch apply to the base, which has nothing of the set-up.
const TABLE: [(&str, bool, bool); 6] = [
    ("echo 4 >>both.txt; echo x >new.txt", true, true),
    ("echo 4 >>both.txt; echo 2 >>tests/test_both.py", true, true),
    (
        "echo 4 >>both.txt; echo 2 >>tests/test_set_up.py",
        false,
        true,
    ),
    ("sed -i 's/3/three/' changed.txt", false, false),
    ("echo 4 >>both.txt; rm tests/test_set_up.py", false, true),
    ("rm -r pkg; ln -s tests pkg", true, true),
];

/// How the two patches of the workspace fare on the base.
async fn on_base(sandbox: &Sandbox) -> Option<OnBase> {
    let full = sandbox.diff().await.unwrap().full;
    let split = patch::split(&full, &PathClasses::default()).unwrap();
    let parts = PatchParts {
        full,
        model: split.model,
        left_out: split.test_files,
    };
    let proof = sandbox.prove(parts).await.unwrap();
    assert_eq!(proof.fault, None);
    proof.on_base
}

/// An image of an engine, which goes with this value.
struct Built<'a>(&'a str);

impl Drop for Built<'_> {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rmi", self.0]).output();
    }
}

/// The repository as an image, `None` where the kind has none.
fn image(ground: &Ground, kind: BackendKind) -> Option<Image> {
    let path = set_up(ground.path());
    let (name, directory) = match kind {
        BackendKind::Archived => (String::from("set-up"), Some(path)),
        BackendKind::Docker => {
            let name = format!("patchmill-set-up:{}", std::process::id());
            let dockerfile = ground.path().join("Dockerfile");
            let text = "FROM patchmill-base:bookworm\nCOPY source /testbed\nWORKDIR /testbed\n";
            std::fs::write(&dockerfile, text).unwrap();
            let (file, context) = (dockerfile.display(), ground.path().display());
            let arguments =
                format!("build -q --network=none --force-rm -t {name} -f {file} {context}");
            docker(&arguments.split(' ').collect::<Vec<_>>());
            (name, None)
        }
        BackendKind::Apptainer => {
            let name = ground.unpacked();
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(path).arg(format!("{name}/testbed"));
            assert!(copy.status().unwrap().success());
            (name, None)
        }
        BackendKind::Local | BackendKind::Bubblewrap => return None,
    };
    Some(Image {
        workdir: (kind == BackendKind::Apptainer).then(|| String::from("/testbed")),
        name,
        directory,
        base: String::new(),
    })
}

#[tokio::test]
async fn patches_are_tried_on_the_base_commit_too() {
    for kind in BackendKind::all().await {
        let ground = Ground::new();
        let Some(image) = image(&ground, kind) else {
            continue;
        };
        let _built = (kind == BackendKind::Docker).then(|| Built(&image.name));
        let repositories = Arc::new(ImageRepositories::new(ground.root(), 0));
        for (base, place) in BASES.into_iter().zip([
            BaseCommit::Start,
            BaseCommit::InHistory,
            BaseCommit::Beyond,
            BaseCommit::Missing,
        ]) {
            let sandbox = start_image(&ground, kind, &image, &repositories, Some(base), None).await;
            let seal = sandbox.seal();
            assert_eq!(seal.image.as_ref().unwrap().base_commit, Some(place));
            assert!(seal.verified, "{kind:?} {base}");
            let differs = matches!(place, BaseCommit::InHistory | BaseCommit::Beyond);
            let rows = if differs { TABLE.len() } else { 1 };
            for (command, full, model) in TABLE.into_iter().take(rows) {
                run(&sandbox, "git reset -q --hard; git clean -qfd").await;
                run(&sandbox, command).await;
                let expected = match place {
                    BaseCommit::Start => OnBase::Start,
                    BaseCommit::Missing => OnBase::Missing,
                    BaseCommit::InHistory | BaseCommit::Beyond => OnBase::Other { full, model },
                };
                assert_eq!(
                    on_base(&sandbox).await,
                    Some(expected),
                    "{kind:?} {base} {command}"
                );
            }
            remove(&sandbox).await;
        }
        let sandbox = start_image(&ground, kind, &image, &repositories, None, None).await;
        run(&sandbox, TABLE[0].0).await;
        assert_eq!(on_base(&sandbox).await, None, "the row names no base");
        remove(&sandbox).await;
        repositories.clear();
    }
}

/// On the host the start is the base.
#[tokio::test]
async fn a_repository_of_the_users_starts_at_the_base() {
    let ground = Ground::new();
    let source = set_up(ground.path());
    for (base, expected) in [(Some("HEAD~1"), Some(OnBase::Start)), (None, None)] {
        let prepared = ground.prepare(&source, base);
        let sandbox = ground.start_prepared(BackendKind::Local, prepared).await;
        run(&sandbox, TABLE[0].0).await;
        assert_eq!(on_base(&sandbox).await, expected);
        remove(&sandbox).await;
    }
}
