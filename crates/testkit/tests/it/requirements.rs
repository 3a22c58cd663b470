//! `.ci/requirements` on machines that are made up: programs that are there, that work, and that do not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Output};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.ci/requirements");
/// What the script tries.
const PROGRAMS: [&str; 9] = [
    "bwrap",
    "docker",
    "dockerd",
    "docker-registry",
    "losetup",
    "mkfs.btrfs",
    "podman",
    "unshare",
    "setpriv",
];

/// A machine where these programs work, and these are there and do not.
struct Machine {
    programs: tempfile::TempDir,
}

impl Machine {
    fn new(root: bool, works: &[&str], broken: &[&str]) -> Self {
        let machine = Self {
            programs: tempfile::tempdir().unwrap(),
        };
        let user = if root { "0" } else { "1000" };
        machine.program("id", &format!("echo {user}"));
        machine.program("timeout", "shift; \"$@\"");
        // A kernel that knows every file system that is looked for.
        machine.program("grep", "exit 0");
        // What `docker info` says of limits is what it says of all.
        for name in works {
            machine.program(name, "echo 'true true'");
        }
        for name in broken {
            machine.program(name, "echo 'out of order' >&2; exit 1");
        }
        symlink("/bin/bash", machine.programs.path().join("bash")).unwrap();
        machine
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.programs.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Whether all is well, what is required, and what was said.
    fn ask(&self, without: &str) -> (bool, String, String) {
        let output: Output = Command::new("/bin/bash")
            .arg(SCRIPT)
            .env_clear()
            .env("PATH", self.programs.path())
            .env("CONTAINER_HOST", "unix:///podman.sock")
            .env("PATCHMILL_CI_WITHOUT", without)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (
            output.status.success(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

#[test]
fn root_with_docker_must_have_everything() {
    let machine = Machine::new(true, &PROGRAMS, &[]);
    let all = "bwrap,docker,limits,dockerd,btrfs,bridge,registry,podman,mount,setpriv";
    assert_eq!(machine.ask(""), (true, all.to_owned(), String::new()));
}

#[test]
fn what_a_kernel_lacks_is_left_out_and_told() {
    let machine = Machine::new(true, &PROGRAMS, &[]);
    machine.program("grep", "exit 1");
    let (ok, required, said) = machine.ask("");
    assert!(ok && !required.contains("btrfs"), "{required}: {said}");
    assert!(said.contains("btrfs is left out"), "{said}");
}

#[test]
fn what_is_broken_or_gone_fails_there_and_is_named() {
    for (program, name) in [
        ("bwrap", "bwrap"),
        ("dockerd", "dockerd"),
        ("losetup", "btrfs"),
        ("mkfs.btrfs", "btrfs"),
        ("docker-registry", "registry"),
        ("podman", "podman"),
        ("unshare", "mount"),
        ("setpriv", "setpriv"),
    ] {
        let others: Vec<_> = PROGRAMS.into_iter().filter(|one| *one != program).collect();
        for broken in [&[program][..], &[]] {
            let (ok, required, said) = Machine::new(true, &others, broken).ask("");
            assert!(!ok && required.is_empty(), "{program}: {required}");
            for told in [
                format!("{name} does not work here"),
                String::from("leave it out: PATCHMILL_CI_WITHOUT="),
            ] {
                assert!(said.contains(&told), "{told}: {said}");
            }
        }
    }
}

#[test]
fn an_engine_that_is_there_and_does_not_answer_fails() {
    let others: Vec<_> = PROGRAMS
        .into_iter()
        .filter(|one| *one != "docker")
        .collect();
    let machine = Machine::new(true, &others, &["docker"]);
    let (ok, _, said) = machine.ask("");
    assert!(
        !ok && said.contains("docker does not work here: out of order"),
        "{said}"
    );
    // Nor is it enough that it answers, where it limits nothing.
    machine.program("docker", "echo 'true false'");
    let (ok, _, said) = machine.ask("");
    assert!(
        !ok && said.contains("PATCHMILL_CI_WITHOUT=limits"),
        "{said}"
    );
}

#[test]
fn what_is_left_out_is_told() {
    let others: Vec<_> = PROGRAMS
        .into_iter()
        .filter(|one| *one != "podman")
        .collect();
    let machine = Machine::new(true, &others, &["podman"]);
    let (ok, required, said) = machine.ask("podman,mount");
    assert!(ok, "{said}");
    assert_eq!(
        required,
        "bwrap,docker,limits,dockerd,btrfs,bridge,registry,setpriv"
    );
    for name in ["podman", "mount"] {
        let told = format!("{name} is left out by PATCHMILL_CI_WITHOUT");
        assert!(said.contains(&told), "{said}");
    }
    let (ok, _, said) = machine.ask("pod");
    assert!(
        !ok && said.contains("names pod; there are: bwrap"),
        "{said}"
    );
}

#[test]
fn elsewhere_what_works_is_required_and_the_rest_is_told() {
    // Without root's rights, and where there is no Docker at all.
    let some = ["bwrap", "setpriv"];
    for machine in [
        Machine::new(false, &some, &["docker"]),
        Machine::new(true, &some, &[]),
    ] {
        let (ok, required, said) = machine.ask("");
        assert_eq!((ok, required.as_str()), (true, "bwrap,setpriv"), "{said}");
        assert!(said.contains("docker does not work here: its tests are skipped"));
    }
}
