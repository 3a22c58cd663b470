//! Engines elsewhere: by TCP and TLS, by contexts, and all the ways in which they cannot be reached.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::{EngineOptions, PrivateEngine};

use crate::command::{Place, Said, permitted};
use crate::engines::containers;
use crate::fixture::Fixture;

fn run(directory: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// An authority in `directory`, as `ca.pem`.
fn authority(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let subject = [
        "-days",
        "2",
        "-subj",
        "/CN=authority",
        "-keyout",
        "ca-key.pem",
        "-out",
        "ca.pem",
    ];
    run(
        directory,
        "openssl",
        &[&["req", "-x509"], &key[..], &subject].concat(),
    );
}

/// A certificate for `use_as` signed by the authority in `signer`, with its key and the authority's own, in `directory`.
fn certificate(signer: &Path, directory: &Path, use_as: &str) -> PathBuf {
    std::fs::create_dir_all(directory).unwrap();
    let extensions = format!("subjectAltName=IP:127.0.0.1\nextendedKeyUsage={use_as}\n");
    std::fs::write(directory.join("extensions"), extensions).unwrap();
    let key = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ];
    let subject = [
        "-subj",
        "/CN=somebody",
        "-keyout",
        "key.pem",
        "-out",
        "request.pem",
    ];
    run(
        directory,
        "openssl",
        &[&["req"], &key[..], &subject].concat(),
    );
    let ca = signer.join("ca.pem").display().to_string();
    let ca_key = signer.join("ca-key.pem").display().to_string();
    let sign = [
        "x509",
        "-req",
        "-in",
        "request.pem",
        "-CA",
        &ca,
        "-CAkey",
        &ca_key,
        "-CAcreateserial",
    ];
    let out = ["-days", "2", "-extfile", "extensions", "-out", "cert.pem"];
    run(directory, "openssl", &[&sign[..], &out].concat());
    std::fs::copy(signer.join("ca.pem"), directory.join("ca.pem")).unwrap();
    directory.to_owned()
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn place(variables: &[(&str, &str)]) -> Place {
    let set = |place: Place, (name, value): &(&str, &str)| place.variable(name, value);
    variables.iter().fold(Place::new(), set)
}

fn ask(variables: &[(&str, &str)]) -> Said {
    place(variables).run(&["images", "list"])
}

/// What no other engine here calls an image.
const FAR_IMAGE: &str = "patchmill-far:1";

/// Gives the engine an image under that name.
fn load(engine: &PrivateEngine) {
    let image = testkit::docker_image("busybox").unwrap();
    engine.load(image);
    engine.docker(&["tag", image, FAR_IMAGE]);
}

/// Solves and grades two instances in containers of the engine that this place leads to.
fn solve_and_grade(place: Place, engine: &PrivateEngine) {
    let mut fixture = Fixture::at(place, 2);
    for index in 0..2 {
        fixture.change(index, "image", json!(FAR_IMAGE));
    }
    // State between commands, a death of the shell, and an archive that is worth the name, both ways.
    fixture.script(&[
        "export WORD=good; head -c 3000000 /dev/zero | tr '\\0' x",
        "kill -9 $$",
        "echo $WORD > value.txt; head -c 3000000 /dev/zero | tr '\\0' x | fold -w 1000 > long.txt",
    ]);
    let flags = [
        "--sandbox",
        "docker",
        "--pull=never",
        "--grade",
        "--fail-under=1",
    ];
    let said = fixture.run(&[&flags[..], &["--min-free-disk=none"]].concat());
    assert_eq!(said.code, 0, "{}", said.all());
    let predictions = fixture.predictions();
    assert_eq!(predictions.len(), 2);
    for prediction in predictions {
        assert!(prediction.model_patch.len() > 3_000_000);
    }
    assert_eq!(containers(engine), Vec::<String>::new());
    fixture.assert_swept();
}

/// One error with one hint, holding these words.
fn assert_says(said: &Said, problem: &str, hint: &str) {
    assert_eq!(said.code, 2, "{}", said.all());
    assert_eq!(said.err.matches("error:").count(), 1, "{}", said.all());
    assert_eq!(said.err.matches("hint:").count(), 1, "{}", said.all());
    assert!(said.err.contains(problem), "`{problem}`: {}", said.all());
    let (_, advice) = said.err.split_once("hint:").unwrap();
    assert!(advice.contains(hint), "`{hint}`: {}", said.all());
}

#[test]
fn an_engine_is_spoken_to_by_tls_and_what_is_wrong_is_said() {
    if testkit::docker_image("busybox").is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let text = |name: &str| path(name).display().to_string();
    authority(&path("authority"));
    authority(&path("stranger"));
    let server = certificate(&path("authority"), &path("server"), "serverAuth");
    certificate(&path("authority"), &path("client"), "clientAuth");
    certificate(&path("stranger"), &path("unknown"), "clientAuth");
    let address = format!("127.0.0.1:{}", free_port());
    let options = EngineOptions {
        tcp: Some(address.clone()),
        keys: Some(server),
        ..EngineOptions::default()
    };
    let Some(engine) = PrivateEngine::start_with(options) else {
        return;
    };
    let host = format!("tcp://{address}");
    let with = |keys: &str| {
        place(&[
            ("DOCKER_HOST", &host),
            ("DOCKER_TLS_VERIFY", "1"),
            ("DOCKER_CERT_PATH", &text(keys)),
        ])
    };
    let by = |keys: &str| with(keys).run(&["images", "list"]);
    let said = by("client");
    assert_eq!(
        (said.code, said.out.as_str()),
        (0, "the engine has no images\n"),
        "{}",
        said.all()
    );
    load(&engine);
    solve_and_grade(with("client"), &engine);

    // The engine's certificate is signed by somebody else.
    assert_says(
        &by("unknown"),
        "invalid peer certificate",
        "ca.pem is the authority",
    );
    // So is the client's.
    std::fs::copy(path("client/ca.pem"), path("unknown/ca.pem")).unwrap();
    assert_says(
        &by("unknown"),
        "does not take this client's certificate",
        "signed by the authority",
    );
    std::fs::remove_file(path("unknown/cert.pem")).unwrap();
    assert_says(
        &by("unknown"),
        "cert.pem`: No such file",
        "DOCKER_CERT_PATH",
    );
    std::fs::write(path("unknown/cert.pem"), "nothing").unwrap();
    assert_says(&by("unknown"), "nothing in PEM form", "DOCKER_CERT_PATH");
    let said = ask(&[("DOCKER_HOST", &host)]);
    assert_says(&said, "it speaks TLS alone", "DOCKER_TLS_VERIFY=1");

    // A context knows its own keys.
    let far = || Place::new().variable("DOCKER_CONTEXT", "far");
    let keys =
        ["ca", "cert", "key"].map(|name| format!("{name}={}", text(&format!("client/{name}.pem"))));
    let docker = format!("host={host},{}", keys.join(","));
    let create = |place: &Place| {
        let created = Command::new("docker")
            .args(["context", "create", "far", "--docker", &docker])
            .env("HOME", place.path().join("home"))
            .env_remove("DOCKER_HOST")
            .env_remove("DOCKER_CONFIG")
            .output();
        assert!(created.unwrap().status.success());
    };
    let place = far();
    create(&place);
    solve_and_grade(place, &engine);
    let place = far();
    create(&place);
    let said = place.run(&["images", "list"]);
    assert_eq!(said.code, 0, "{}", said.all());
    drop(engine);
    let said = place.run(&["images", "list"]);
    assert_says(
        &said,
        "(context far) cannot be asked: nothing listens there",
        "docker context ls",
    );
}

#[test]
fn an_engine_by_tcp_and_one_that_is_not_there() {
    if testkit::docker_image("busybox").is_none() {
        return;
    }
    let address = format!("127.0.0.1:{}", free_port());
    let options = EngineOptions {
        tcp: Some(address.clone()),
        ..EngineOptions::default()
    };
    let Some(engine) = PrivateEngine::start_with(options) else {
        return;
    };
    let host = format!("tcp://{address}");
    load(&engine);
    solve_and_grade(place(&[("DOCKER_HOST", &host)]), &engine);

    let directory = tempfile::tempdir().unwrap();
    authority(&directory.path().join("authority"));
    let keys = certificate(
        &directory.path().join("authority"),
        &directory.path().join("client"),
        "clientAuth",
    );
    let keys = keys.display().to_string();
    let said = ask(&[
        ("DOCKER_HOST", &host),
        ("DOCKER_TLS_VERIFY", "1"),
        ("DOCKER_CERT_PATH", &keys),
    ]);
    assert_says(&said, "it does not speak TLS", "unset DOCKER_TLS_VERIFY");

    let user = "65534";
    let change = [
        "setpriv",
        "--reuid",
        user,
        "--regid",
        user,
        "--clear-groups",
    ];
    if permitted("setpriv", &[&change[..], &["true"]].concat()) {
        let place = Place::new().variable("DOCKER_HOST", &engine.host());
        std::fs::copy(env!("CARGO_BIN_EXE_runner"), place.path().join("runner")).unwrap();
        run(place.path(), "chmod", &["-R", "a+rwx", "."]);
        let wrapper = [
            &change[..],
            &["sh", "-c", "shift; exec ./runner \"$@\"", "sh"],
        ]
        .concat();
        let said = place.run_under(&wrapper, &["images", "list"]);
        assert_says(
            &said,
            "this user may not use its socket",
            "usermod -aG docker",
        );
    }
    drop(engine);
    let said = ask(&[("DOCKER_HOST", &host)]);
    assert_says(
        &said,
        &format!("at {host} (DOCKER_HOST) cannot be asked: nothing listens there"),
        "the port are right",
    );
}

#[test]
fn addresses_that_lead_nowhere_are_named() {
    let said = ask(&[("DOCKER_HOST", "unix:///nowhere/docker.sock")]);
    assert_says(&said, "there is no such socket", "systemctl start docker");
    let said = ask(&[("DOCKER_HOST", "ssh://somewhere")]);
    assert_says(&said, "of no kind that is spoken here", "ssh -L");
    let said = ask(&[("DOCKER_HOST", "tcp://engine.invalid:2375")]);
    assert_says(&said, "engine.invalid", "the name and the port are right");
    let said = ask(&[("DOCKER_CONTEXT", "absent")]);
    assert_says(
        &said,
        "the Docker context cannot be used",
        "docker context ls",
    );
}
