//! What flags give a container: recorded in the head of the trajectory, and found inside.

use std::net::TcpListener;

use serde_json::{Value, json};
use testkit::{EngineOptions, PrivateEngine, Registry};

use crate::command::Place;
use crate::fixture::Fixture;
use crate::images::OwnImage;

/// What a container is, said by itself: user, capabilities, bytes of `/tmp`, of memory and of a file, processes, and a hundredth of the processors.
const LOOK: &str = r#"{
id -u; id -g
while read -r name value; do [ "$name" = CapBnd: ] && echo "$value"; done </proc/self/status
df -B1 --output=size /tmp | tail -n 1 | tr -d ' '
cat /sys/fs/cgroup/memory/memory.limit_in_bytes || cat /sys/fs/cgroup/memory.max
cat /sys/fs/cgroup/pids/pids.max || cat /sys/fs/cgroup/pids.max
cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us || cut -d ' ' -f 1 /sys/fs/cgroup/cpu.max
echo $(($(ulimit -f) * 1024))
} 2>/dev/null >seen.txt"#;

const FLAGS: [&str; 18] = [
    "--sandbox",
    "docker",
    "--max-attempts",
    "1",
    "--sandbox-user",
    "1000:1001",
    "--cap-add",
    "KILL,CAP_CHOWN",
    "--tmpfs",
    "32MiB",
    "--memory",
    "256MiB",
    "--pids",
    "77",
    "--cpus",
    "0.5",
    "--disk",
    "64MiB",
];

/// The engine's own platform.
fn platform() -> String {
    let output = std::process::Command::new("docker")
        .args(["version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// One instance in an image.
fn instance(place: Place, image: &str) -> Fixture {
    let mut fixture = Fixture::at(place, 1);
    fixture.change(0, "image", json!(image));
    fixture
}

fn environment(fixture: &Fixture) -> Value {
    let header = serde_json::to_value(fixture.trajectory(0).header).unwrap();
    header["environment"].clone()
}

/// Lines that a patch adds.
fn added(fixture: &Fixture) -> Vec<String> {
    let patch = &fixture.predictions()[0].model_patch;
    let lines = patch.lines().filter(|line| !line.starts_with("+++"));
    let lines = lines.filter_map(|line| line.strip_prefix('+'));
    lines.map(str::to_owned).collect()
}

#[test]
fn limits_and_rights_asked_for_are_recorded_and_hold_inside() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let fixture = instance(Place::new(), image);
    fixture.script(&[LOOK]);
    let platform = platform();
    let flags = [&FLAGS[..], &["--platform", &platform]].concat();
    // What an engine cannot limit is refused, or recorded where that is enough.
    let mut said = fixture.run(&flags);
    let limits_disk = said.code == 0;
    if !limits_disk {
        assert_eq!(said.code, 2, "{}", said.all());
        assert!(said.err.contains("cannot limit disk"), "{}", said.all());
        assert!(!fixture.file("run.json").exists());
        said = fixture.run(&[&flags[..], &["--best-effort-limits"]].concat());
    }
    assert_eq!(said.code, 0, "{}", said.all());

    let applied = &environment(&fixture)["applied"];
    assert_eq!(applied["user"], "1000:1001");
    assert_eq!(applied["capabilities"], json!(["CHOWN", "KILL"]));
    assert_eq!(applied["tmpfs"], 32 << 20);
    assert_eq!(applied["network"], "none");
    let names = |field: &str| {
        let listed = applied[field].as_array().unwrap();
        let mut names: Vec<_> = listed.iter().map(|name| name.as_str().unwrap()).collect();
        names.sort_unstable();
        names
    };
    let (bound, unenforced): (_, &[&str]) = if limits_disk {
        ("disk", &[])
    } else {
        ("file_size", &["disk"])
    };
    let mut enforced = vec!["cpus", "filesystem", "memory", "network", "pids", bound];
    enforced.sort_unstable();
    assert_eq!(
        (names("enforced"), names("unenforced").as_slice()),
        (enforced, unenforced)
    );

    let mut expected = vec![
        "1000",
        "1001",
        "0000000000000021",
        "33554432",
        "268435456",
        "77",
        "50000",
    ];
    if !limits_disk {
        expected.push("67108864");
    }
    assert_eq!(added(&fixture)[..expected.len()], expected);
    fixture.assert_swept();
}

#[test]
fn nothing_is_given_that_was_not_asked_for() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let fixture = instance(Place::new(), image);
    fixture.script(&[LOOK]);
    let flags = [
        "--sandbox",
        "docker",
        "--cap-add=none",
        "--memory=none",
        "--pids=none",
    ];
    let said = fixture.run(&[&flags[..], &["--cpus=none", "--disk=none"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    let applied = &environment(&fixture)["applied"];
    assert_eq!(applied["user"], "0:0");
    assert_eq!(applied["capabilities"], Value::Null);
    assert_eq!(applied["tmpfs"], Value::Null);
    assert_eq!(applied["enforced"], json!(["filesystem", "network"]));
    assert_eq!(applied["unenforced"], json!([]));
    assert_eq!(added(&fixture)[..3], ["0", "0", "0000000000000000"]);
}

#[test]
fn another_platform_than_the_images_is_a_failure_of_the_image() {
    let Some(image) = testkit::docker_image("busybox") else {
        return;
    };
    let fixture = instance(Place::new(), image);
    fixture.script(&["echo good > value.txt"]);
    let said = fixture.run(&["--sandbox", "docker", "--platform", "linux/s390x"]);
    assert_eq!(said.code, 3, "{}", said.all());
    let (_, outcome) = &fixture.outcomes()[0];
    let outcome = serde_json::to_string(outcome).unwrap();
    assert!(outcome.contains("environment:image"), "{outcome}");
    assert!(outcome.contains("linux/s390x"), "{outcome}");
    assert_eq!(fixture.outcomes().len(), 1, "it is not tried again");
}

#[test]
fn images_are_pulled_in_each_run_where_that_is_asked_for_and_their_digest_is_recorded() {
    let Some(busybox) = testkit::docker_image("busybox") else {
        return;
    };
    let Some(registry) = Registry::start(|_| None) else {
        return;
    };
    let Some(engine) = PrivateEngine::start() else {
        return;
    };
    registry.push_copy(busybox, "good:1");
    let name = registry.name("good:1");
    let manifests =
        || registry.asked("GET", "/good/manifests/") + registry.asked("HEAD", "/good/manifests/");
    let digest = || {
        engine.docker(&[
            "image",
            "inspect",
            "--format",
            "{{index .RepoDigests 0}}",
            &name,
        ])
    };
    let at = || Place::new().variable("DOCKER_HOST", &engine.host());
    let solved = |image: &str, pull: &str| {
        let fixture = instance(at(), image);
        fixture.script(&["echo good > value.txt"]);
        let flags = [
            "--sandbox",
            "docker",
            "--min-free-disk=none",
            "--pull",
            pull,
        ];
        let said = fixture.run(&[&flags[..], &["--grade", "--fail-under=1"]].concat());
        assert_eq!(said.code, 0, "{}", said.all());
        environment(&fixture)["applied"]["image"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(solved(&name, "missing"), digest());
    let asked = manifests();
    assert_eq!(solved(&name, "missing"), digest());
    assert_eq!(manifests(), asked, "it is there");
    assert_eq!(solved(&name, "always"), digest());
    let again = manifests();
    assert!(again > asked);
    // The name comes to mean another image.
    let before = digest();
    registry.push_copy(&OwnImage::new(busybox).0, "good:1");
    assert_eq!(solved(&name, "never"), before);
    let after = solved(&name, "always");
    assert_ne!(after, before);
    assert!(after.starts_with(&registry.name("good@sha256:")), "{after}");
    // An image that is named by its digest is that one for good.
    assert_eq!(solved(&before, "missing"), before);
}

#[test]
fn a_full_network_leads_out_and_none_does_not_in_the_same_engine() {
    let Some(image) = testkit::docker_image("base") else {
        return;
    };
    let options = EngineOptions {
        bridge: true,
        ..EngineOptions::default()
    };
    let Some(engine) = PrivateEngine::start_with(options) else {
        return;
    };
    engine.load(image);
    // This machine's end of the bridge. Nobody need answer for a connection to stand.
    let listener = TcpListener::bind((engine.gateway().unwrap(), 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let ask = format!(
        "if (exec 3<>/dev/tcp/{}/{}); then echo good; else echo none; fi >value.txt 2>/dev/null",
        address.ip(),
        address.port()
    );
    for (network, interfaces, outside, value) in [
        ("full", json!(["lo", "eth0"]), "routed", "good"),
        ("none", json!(["lo"]), "unreachable", "none"),
    ] {
        let fixture = instance(Place::new().variable("DOCKER_HOST", &engine.host()), image);
        fixture.script(&[&ask]);
        let flags = [
            "--sandbox",
            "docker",
            "--min-free-disk=none",
            "--network",
            network,
        ];
        let said = fixture.run(&flags);
        assert_eq!(said.code, 0, "{}", said.all());
        let applied = &environment(&fixture)["applied"];
        let probe = &applied["probe"];
        assert_eq!(applied["network"], network);
        assert_eq!(probe["outside"], outside, "{probe}");
        assert_eq!(probe["routes"].as_u64().unwrap() > 0, network == "full");
        let mut seen = probe["interfaces"].as_array().unwrap().clone();
        seen.sort_by_key(|name| name != "lo");
        assert_eq!(Value::Array(seen), interfaces);
        assert_eq!(added(&fixture), [value]);
        assert_eq!(listener.accept().is_ok(), network == "full");
    }
}
