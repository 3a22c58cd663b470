//! Apptainer's command line, on a stand-in that reads it strictly and runs programs in namespaces of bubblewrap's.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandbox::limits::{Limit, Network};
use sandbox::place::apptainer::{Apptainer, ApptainerSettings};
use sandbox::place::docker::Pull;
use sandbox::place::{Backend, PlaceSpec, PlaceState};
use sandbox::{End, Error, Sandbox, SandboxSpec};
use schema::FailureKind;

use crate::support::{
    BackendKind, Ground, ask, bubblewrap_works, eventually, is_running, place_spec, remove,
    repository, run, spec, unique_seconds,
};

const LIMIT: Duration = Duration::from_mins(1);

/// An image in the stand-in's registry.
struct Registry(PathBuf);

impl Registry {
    fn new(ground: &Ground) -> Self {
        let registry = Self(ground.path().join("standin/registry"));
        std::fs::create_dir_all(&registry.0).unwrap();
        registry.offer(ground, "a_b_1");
        registry
    }

    fn offer(&self, ground: &Ground, name: &str) {
        testkit::apptainer_file(ground.unpacked().as_ref(), &self.0.join(name));
    }

    fn pulls(&self) -> String {
        std::fs::read_to_string(self.0.join("pulls")).unwrap_or_default()
    }
}

async fn probe(settings: ApptainerSettings) -> Arc<Apptainer> {
    Arc::new(Apptainer::probe(settings).await.unwrap())
}

fn of_image(name: &str) -> PlaceSpec {
    let mut spec = place_spec();
    spec.image = Some(name.to_owned());
    spec
}

async fn refusal(backend: &Apptainer, image: &str) -> Error {
    let started = backend.start(&of_image(image), LIMIT).await;
    started.map(|_| ()).unwrap_err()
}

#[tokio::test]
async fn a_repository_is_worked_on_in_an_images_own_files() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let source = repository(ground.path());
    let mut spec: SandboxSpec = spec(ground.prepare(&source, None));
    spec.place.image = Some(ground.unpacked());
    spec.place.environment = vec![("ANSWER".to_owned(), "it's $4 2\n".to_owned())];
    let backend = probe(ground.apptainer()).await;
    assert_eq!(backend.capabilities().backend, "apptainer");
    let sandbox = Sandbox::start(backend.clone(), spec, LIMIT).await.unwrap();
    assert!(sandbox.seal().verified);
    assert_eq!(sandbox.applied().network, Network::None);
    assert_eq!(sandbox.applied().enforced, ["filesystem", "network"]);
    for (command, said) in [
        ("git status --short; pwd", "/workspace\n"),
        ("echo \"$HOME $ANSWER\"", "/root it's $4 2\n\n"),
        (
            "id -u; ls /sys/class/net 2>/dev/null; echo $PATCHMILL_KEY$PAGER",
            "0\ncat\n",
        ),
        ("ls -d /home /work /tmp 2>/dev/null; :", "/tmp\n"),
        (
            "echo x >/usr-own; echo y >/root/z; echo w >/tmp/v; cat /usr-own",
            "x\n",
        ),
        ("cd /tmp; X=1", ""),
        ("echo $X $PWD; cd /workspace", "1 /tmp\n"),
    ] {
        assert_eq!(
            ask(&sandbox, command).await,
            (said.to_owned(), End::Exited(0)),
            "{command}"
        );
    }
    let work = "printf 'new\\n' >new.txt; rm README.md; ln -s /etc/shadow link; mkfifo pipe; git add -A; git commit -qm work; rm -rf .git";
    assert_eq!(run(&sandbox, work).await.end, End::Exited(0));
    let seconds = unique_seconds();
    run(
        &sandbox,
        &format!("setsid sleep {seconds} >/dev/null 2>&1 &"),
    )
    .await;
    let sleeps = format!("sleep\0{seconds}");
    eventually("it sleeps", || is_running(&sleeps)).await;
    sandbox.stop_processes(LIMIT).await.unwrap();
    eventually("it is ended", || !is_running(&sleeps)).await;
    let diff = sandbox.diff().await.unwrap();
    let full = String::from_utf8(diff.full).unwrap();
    assert!(
        full.contains("+++ b/new.txt") && full.contains("--- a/README.md"),
        "{full}"
    );
    assert!(
        full.contains("new file mode 120000") && full.contains("+/etc/shadow"),
        "{full}"
    );
    assert_eq!(diff.omissions.len(), 1);
    assert_eq!(ask(&sandbox, "cat new.txt /usr-own").await.0, "new\nx\n");
    sandbox
        .write("/workspace/deep/er.txt", b"by the tool")
        .await
        .unwrap();
    assert_eq!(
        sandbox.read("/workspace/deep/er.txt", 100).await.unwrap(),
        b"by the tool"
    );
    remove(&sandbox).await;
    let left = std::fs::read_dir(ground.root()).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(
        !left
            .iter()
            .any(|name| name.to_string_lossy().starts_with("run-")),
        "{left:?}"
    );
}

#[tokio::test]
async fn files_are_reached_when_no_program_starts_and_never_outside() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Apptainer).await;
    let secret = ground.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    let secret = secret.to_str().unwrap().to_owned();
    let ruin = format!(
        "ln -s {secret} absolute; ln -s ../../../../../../../../../../..{secret} relative; ln -s / top; rm /bin; mkdir /bin"
    );
    run(&sandbox, &ruin).await;
    sandbox.stop_processes(LIMIT).await.unwrap();
    for path in ["absolute", "relative", &format!("top{secret}")] {
        let error = sandbox.read(&format!("/workspace/{path}"), 100).await;
        assert!(matches!(error, Err(Error::Refused(_))), "{path}: {error:?}");
    }
    assert_eq!(
        sandbox.read("/workspace/run.sh", 100).await.unwrap(),
        b"#!/bin/sh\necho run\n"
    );
    sandbox
        .write("/workspace/top/written", b"inside")
        .await
        .unwrap();
    assert_eq!(sandbox.read("/written", 100).await.unwrap(), b"inside");
    assert!(!std::path::Path::new("/written").exists());
    let full = String::from_utf8(sandbox.diff().await.unwrap().full).unwrap();
    assert!(
        full.contains("b/absolute") && !full.contains("+secret\n"),
        "{full}"
    );
    remove(&sandbox).await;
}

#[tokio::test]
async fn an_image_is_pulled_once_for_all_who_wait_and_again_where_that_helps() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let registry = Registry::new(&ground);
    std::fs::write(registry.0.join("a_b_1.busy"), "").unwrap();
    let (one, other) = (
        probe(ground.apptainer()).await,
        probe(ground.apptainer()).await,
    );
    let spec = of_image("a/b:1");
    let (first, second, third) =
        tokio::join!(one.prepare(&spec), one.prepare(&spec), other.prepare(&spec));
    first.and(second).and(third).unwrap();
    // The first attempt was answered badly.
    assert_eq!(registry.pulls(), "docker://a/b:1 \ndocker://a/b:1 \n");
    let place = one.start(&spec, LIMIT).await.unwrap();
    let digest = place.applied().image.clone().unwrap();
    assert!(
        digest.starts_with("sha256:") && digest.len() == 71,
        "{digest}"
    );
    assert_eq!(place.state().await.unwrap(), PlaceState::Running);
    one.remove(place.id(), LIMIT).await.unwrap();
    // A later run has it, also one that must not pull.
    let mut never = ground.apptainer();
    never.pull = Pull::Never;
    let never = probe(never).await;
    never.prepare(&spec).await.unwrap();
    let error = refusal(&never, "a/b:2").await;
    assert_eq!(error.kind(), FailureKind::EnvironmentImage);
    assert!(error.hint().unwrap().contains("--pull missing"));
    let mut always = ground.apptainer();
    always.pull = Pull::Always;
    always.platform = Some(String::from("linux/arm64"));
    let always = probe(always).await;
    always.prepare(&spec).await.unwrap();
    always.prepare(&spec).await.unwrap();
    assert_eq!(
        registry.pulls().lines().last(),
        Some("docker://a/b:1 arm64")
    );
    assert_eq!(registry.pulls().lines().count(), 3);
}

#[tokio::test]
async fn images_that_cannot_be_had_or_used_are_told_apart() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let registry = Registry::new(&ground);
    let backend = probe(ground.apptainer()).await;
    let error = refusal(&backend, "none/such:1").await;
    assert_eq!(error.kind(), FailureKind::EnvironmentImage);
    assert_eq!(
        error.to_string(),
        "cannot use the image `none/such:1`: While making image from oci registry: reading manifest: manifest unknown"
    );
    assert_eq!(registry.pulls().lines().count(), 1);
    for absent in ["/none/such.sif", "docker-archive:/none/such.tar"] {
        let error = refusal(&backend, absent).await;
        assert_eq!(
            error.kind(),
            FailureKind::EnvironmentImage,
            "{absent}: {error}"
        );
    }
    let archive = registry.0.join("a_b_1");
    backend
        .prepare(&of_image(&format!("docker-archive:{}", archive.display())))
        .await
        .unwrap();
    let empty = ground.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let error = refusal(&backend, empty.to_str().unwrap()).await;
    assert_eq!(error.kind(), FailureKind::EnvironmentImage);
    assert!(error.to_string().contains("no /bin/sh"), "{error}");
    let error = backend
        .start(&place_spec(), LIMIT)
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("--image"), "{error}");
    let left = std::fs::read_dir(ground.root()).unwrap().flatten();
    assert_eq!(
        left.map(|entry| entry.file_name()).collect::<Vec<_>>(),
        ["apptainer"]
    );
}

#[tokio::test]
async fn limits_and_rights_are_refused_or_recorded() {
    if !bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let mut spec = of_image(&ground.unpacked());
    spec.limits.memory = Some(Limit {
        value: 64 << 20,
        explicit: true,
    });
    let strict = probe(ground.apptainer()).await;
    let error = strict.start(&spec, LIMIT).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot limit memory"), "{error}");
    let mut settings = ground.apptainer();
    settings.host.best_effort_limits = true;
    let lenient = probe(settings).await;
    spec.rights.user = Some(String::from("1000"));
    let place = lenient.start(&spec, LIMIT).await.unwrap();
    assert_eq!(place.applied().unenforced, ["memory", "user"]);
    lenient.remove(place.id(), LIMIT).await.unwrap();
}

#[tokio::test]
async fn a_program_that_is_missing_or_does_not_work_is_one_clear_error() {
    let ground = Ground::new();
    let mut settings = ApptainerSettings::new(ground.settings());
    settings.program = Some(ground.path().join("none"));
    let error = Apptainer::probe(settings.clone())
        .await
        .map(|_| ())
        .unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("Apptainer is not to be had here") && said.contains("install it"),
        "{said}"
    );
    let broken = ground.path().join("broken");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'apptainer version 9' && exit\necho 'FATAL:   no user namespaces' >&2; exit 255\n";
    std::fs::write(&broken, script).unwrap();
    crate::support::set_mode(&broken, 0o755);
    settings.program = Some(broken);
    let said = Apptainer::probe(settings)
        .await
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("apptainer version 9 starts no container here (no user namespaces)"),
        "{said}"
    );
}
