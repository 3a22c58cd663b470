//! Sandboxes that reach some hosts and no others.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandbox::limits::Network;
use sandbox::network::{Interpreter, Outside};
use sandbox::place::Backend;
use sandbox::{End, Error, RunOptions, Sandbox, SandboxSpec};
use tokio_util::sync::CancellationToken;

use crate::docker_support::{Engine, LIMIT};
use crate::origin::Origin;
use crate::support::{Ground, ask, remove, repository, run, spec};

/// What clients inside are written with: each prints one line.
const CLIENT: &str = r"cat >/tmp/client.py <<'END'
import hashlib, sys, urllib.request, urllib.error
def get(url, data=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=60) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except urllib.error.URLError as error:
        return 0, str(error.reason).encode()
def sha(data):
    return hashlib.sha256(data).hexdigest()
END";

async fn start(engine: &Engine, ground: &Ground, network: &str) -> Result<Sandbox, Error> {
    let source = repository(ground.path());
    let mut spec: SandboxSpec = spec(ground.prepare(&source, None));
    spec.place = engine.spec();
    spec.place.network = network.parse().unwrap();
    let backend: Arc<dyn Backend> = engine.backend.clone();
    let sandbox = Sandbox::start(backend, spec, LIMIT).await?;
    ground.remember(&sandbox);
    Ok(sandbox)
}

/// Runs Python after the client's definitions.
async fn python(sandbox: &Sandbox, text: &str) -> String {
    let command = format!("cd /tmp && python3 -c 'from client import *\n{text}'");
    let (said, end) = ask(sandbox, &command).await;
    assert_eq!(end, End::Exited(0), "{said}");
    said.trim_end().to_owned()
}

#[tokio::test]
async fn docker_network_lets_allowed_hosts_pass_and_counts_them() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let origin = Origin::start().await;
    let network = format!(
        "allow={},localhost:{}",
        origin.address,
        origin.address.port()
    );
    let sandbox = start(&engine, &ground, &network).await.unwrap();
    let applied = sandbox.applied();
    assert_eq!(applied.network, network.parse().unwrap());
    assert_eq!(applied.enforced, ["filesystem", "network"]);
    assert_eq!(applied.probe.interfaces, ["lo"]);
    assert_eq!(applied.probe.routes, Some(0));
    assert_eq!(applied.probe.outside, Some(Outside::Unreachable));
    assert_eq!(applied.probe.refusal, Some(403));
    assert_eq!(applied.probe.listener, Some(Interpreter::Python));
    run(&sandbox, CLIENT).await;
    let at = origin.address;

    let said = python(&sandbox, &format!("print(get(\"http://{at}/hello?x=1\"))")).await;
    assert_eq!(said, format!("(200, b'GET /hello?x=1 {at}')"));
    // Both ways, more than all windows hold.
    let said = python(
        &sandbox,
        &format!("print(sha(get(\"http://{at}/bytes/20000000\")[1]))"),
    )
    .await;
    assert_eq!(said, Origin::sha256_of_bytes(20_000_000));
    let upload = format!(
        "data = bytes(i % 251 for i in range(5000000))\nprint(get(\"http://{at}/sha256\", data)[1].decode() == sha(data))"
    );
    assert_eq!(python(&sandbox, &upload).await, "True");
    // By way of a tunnel, as for TLS, which the far end answers in the clear here.
    let tunnel = format!(
        "import http.client\nc = http.client.HTTPConnection(\"127.0.0.1\", 3128)\nc.set_tunnel(\"{}\", {})\nc.request(\"GET\", \"/tunnelled\")\nprint(c.getresponse().read())",
        at.ip(),
        at.port()
    );
    assert_eq!(
        python(&sandbox, &tunnel).await,
        format!("b'GET /tunnelled {at}'")
    );
    let use_so_far = sandbox.network_use().unwrap();
    assert_eq!(use_so_far.connections, 4);
    assert!(use_so_far.sent > 5_000_000 && use_so_far.received > 20_000_000);
    // Nor is the start's own question counted.
    assert_eq!(use_so_far.refused.len(), 0);

    for (asked, named) in [
        (format!("http://{}:1/", at.ip()), format!("{}:1", at.ip())),
        (
            String::from("http://Example.ORG./"),
            String::from("example.org:80"),
        ),
        // The name is allowed, and leads to this machine.
        (
            format!("http://LOCALHOST.:{}/", at.port()),
            format!("localhost:{}", at.port()),
        ),
    ] {
        // Python lets no proxy have `localhost` while the environment says so.
        let text = format!("import os\nos.environ[\"no_proxy\"] = \"\"\nprint(get(\"{asked}\"))");
        let said = python(&sandbox, &text).await;
        assert!(said.starts_with("(403, "), "{asked}: {said}");
        assert!(said.contains(&format!("`{named}`")), "{asked}: {said}");
        assert!(
            said.contains(&format!("--network {}", applied.network)),
            "{said}"
        );
        let refused = sandbox.network_use().unwrap().refused;
        assert_eq!(refused.get(&named), Some(&1), "{refused:?}");
    }
    // Without the proxy there is nothing.
    let said = python(
        &sandbox,
        &format!("import os\nos.environ[\"no_proxy\"] = \"*\"\nprint(get(\"http://{at}/\")[0])"),
    )
    .await;
    assert_eq!(said, "0");
    remove(&sandbox).await;
}

#[tokio::test]
async fn docker_network_comes_back_when_the_agent_kills_everything() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let origin = Origin::start().await;
    let network = format!("allow={}", origin.address);
    let sandbox = start(&engine, &ground, &network).await.unwrap();
    run(&sandbox, CLIENT).await;
    run(&sandbox, "export KEPT=yes").await;
    let get = format!("print(get(\"http://{}/\")[0])", origin.address);
    assert_eq!(python(&sandbox, &get).await, "200");
    for killer in [
        "kill -9 -1",
        "for p in /proc/[0-9]*; do grep -q listen $p/cmdline && kill -9 ${p#/proc/}; done; true",
    ] {
        run(&sandbox, killer).await;
        let killed = Instant::now();
        while python(&sandbox, &get).await != "200" {
            assert!(killed.elapsed() < LIMIT, "{killer}");
        }
        assert_eq!(ask(&sandbox, "echo $KEPT").await.0, "yes\n", "{killer}");
    }
    // A command that is ended at its deadline takes nothing along that was there before.
    let options = RunOptions {
        timeout: Duration::from_millis(300),
        ..RunOptions::default()
    };
    let ended = sandbox
        .run("sleep 1000", &options, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(ended.end, End::TimedOut);
    assert_eq!(python(&sandbox, &get).await, "200");
    // Nor is anything left when all is ended, until somebody works there again.
    sandbox.stop_processes(LIMIT).await.unwrap();
    assert_eq!(python(&sandbox, &get).await, "200");
    remove(&sandbox).await;
}

#[tokio::test]
async fn docker_network_needs_something_that_listens() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let ground = Ground::new();
    let refused = start(&engine, &ground, "allow=example.org").await;
    let error = refused.map(|_| ()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("needs python3 or perl in the image"),
        "{error}"
    );
}

#[tokio::test]
async fn docker_network_none_is_seen_from_inside() {
    for (image, outside) in [("base", Some(Outside::Unreachable)), ("busybox", None)] {
        let Some(engine) = Engine::with(image).await else {
            return;
        };
        let ground = Ground::new();
        let sandbox = start(&engine, &ground, "none").await.unwrap();
        let probe = &sandbox.applied().probe;
        assert_eq!(probe.interfaces, ["lo"]);
        assert_eq!((probe.routes, probe.outside), (Some(0), outside));
        assert_eq!(sandbox.applied().network, Network::None);
        assert_eq!(sandbox.network_use(), None);
        remove(&sandbox).await;
    }
}

/// What an engine has for a network is its own matter: where its own command line gets one there is a way out, elsewhere a word about it.
#[tokio::test]
async fn docker_network_full_has_a_route_or_says_why_not() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let ground = Ground::new();
    let look = "grep -c : /proc/net/dev";
    let plain = ["run", "--rm", engine.image, "sh", "-c", look];
    let seen = Command::new("docker").args(plain).output().unwrap();
    let interfaces = String::from_utf8_lossy(&seen.stdout).trim().to_owned();
    let bridged = seen.status.success() && interfaces != "1";
    match start(&engine, &ground, "full").await {
        Ok(sandbox) => {
            assert!(bridged, "{seen:?}");
            let applied = sandbox.applied().clone();
            remove(&sandbox).await;
            assert_eq!(applied.network, Network::Full);
            assert!(applied.probe.routes.unwrap() > 0);
            assert!(applied.probe.interfaces.len() > 1, "{applied:?}");
            assert_eq!(applied.probe.outside, Some(Outside::Routed));
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!bridged, "{seen:?}: {said}");
            assert!(said.contains("--network full"), "{said}");
        }
    }
}
