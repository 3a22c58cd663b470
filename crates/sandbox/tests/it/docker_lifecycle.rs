//! Containers: started, used, stopped, lost, removed, left behind.

use std::time::Duration;

use sandbox::limits::Network;
use sandbox::place::{Backend, PlaceId, PlaceState};

use crate::docker_support::{Engine, LIMIT, ask, docker, finish, hold_main, launch, open, say};

#[tokio::test]
async fn the_first_program_is_the_main_process_and_others_run_beside_it() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let place = engine.start().await;
    assert_eq!(place.state().await.unwrap(), PlaceState::Running);
    assert_eq!(place.applied().network, Network::None);
    assert_eq!(place.applied().user, "0:0");
    assert!(place.applied().image.is_some());
    let mut main = hold_main(&place).await;
    assert_eq!(ask(&mut main, "echo hi").await, "hi");
    let (said, code) = say(&place, "echo out; echo err >&2; pwd; exit 3").await;
    assert_eq!((said.as_str(), code), ("out\nerr\n/workspace\n", Some(3)));
    assert_eq!(say(&place, "kill -9 $$").await.1, Some(137));
    // Nobody but the engine can end the main process.
    assert_eq!(say(&place, "kill -9 1; echo sent").await.0, "sent\n");
    assert_eq!(ask(&mut main, "echo there").await, "there");
    drop(main);
    assert_eq!(say(&place, "echo still").await.0, "still\n");
    engine.remove(&place).await;
    engine.remove(&place).await;
    assert_eq!(place.state().await.unwrap(), PlaceState::Gone);
}

#[tokio::test]
async fn input_reaches_a_program_and_ends() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let place = engine.start().await;
    let _main = hold_main(&place).await;
    let mut channel = open(&place, "read -r a; echo got $a; cat; echo end").await;
    assert_eq!(ask(&mut channel, "one").await, "got one");
    assert_eq!(ask(&mut channel, "two").await, "two");
    assert_eq!(finish(channel).await, ("end\n".to_owned(), Some(0)));
    engine.remove(&place).await;
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() {
    for image in ["base", "busybox"] {
        let Some(engine) = Engine::with(image).await else {
            return;
        };
        let place = engine.start().await;
        let mut main = hold_main(&place).await;
        ask(&mut main, "sleep 1111 & echo").await;
        let left = "(sleep 2222 &); (trap '' TERM INT HUP; sleep 2222 & sleep 2222) & echo done";
        let (said, code) = say(&place, left).await;
        assert_eq!((said.as_str(), code), ("done\n", Some(0)));
        let sleeps = "for p in /proc/[0-9]*; do read -r c 2>/dev/null <$p/comm && [ \"$c\" = sleep ] && tr '\\0' ' ' <$p/cmdline; done; true";
        assert_eq!(say(&place, sleeps).await.0, "sleep 1111 ");
        // A channel that is dropped ends its program too, before another one starts.
        let mut channel = open(&place, "sleep 3333 & echo; sleep 3333").await;
        ask(&mut channel, "").await;
        drop(channel);
        assert_eq!(say(&place, sleeps).await.0, "sleep 1111 ");
        engine.remove(&place).await;
    }
}

#[tokio::test]
async fn a_stopped_container_keeps_its_files_and_comes_back() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let place = engine.start().await;
    let mut main = hold_main(&place).await;
    ask(&mut main, "echo kept >file; (setsid sleep 1000 &); echo").await;
    place.stop(LIMIT).await.unwrap();
    assert!(matches!(
        place.state().await.unwrap(),
        PlaceState::Exited { .. }
    ));
    place.stop(LIMIT).await.unwrap();
    let mut main = hold_main(&place).await;
    assert_eq!(ask(&mut main, "cat file").await, "kept");
    assert_eq!(ask(&mut main, "set -- /proc/[0-9]*; echo $#").await, "1");
    engine.remove(&place).await;
}

#[tokio::test]
async fn a_container_that_goes_away_is_lost_and_says_why() {
    let Some(engine) = Engine::with("base").await else {
        return;
    };
    let place = engine.start().await;
    let main = hold_main(&place).await;
    docker(&["kill", &place.id().0]);
    let (said, _) = finish(main).await;
    assert_eq!(said, "");
    let error = place.open(&launch("echo")).await.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), schema::FailureKind::EnvironmentLost);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "its container ended with exit code 137");
    engine.remove(&place).await;
    let error = place.open(&launch("echo")).await.map(|_| ()).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "its container was removed");
}

#[tokio::test]
async fn a_dead_runners_container_is_an_orphan_and_a_living_ones_is_not() {
    let Some(engine) = Engine::with("busybox").await else {
        return;
    };
    let place = engine.start().await;
    let labels = docker(&[
        "inspect",
        "--format",
        "{{range $k, $v := .Config.Labels}}{{$k}}={{$v}}\n{{end}}",
        &place.id().0,
    ]);
    assert!(labels.contains("patchmill.run=run"), "{labels}");
    // The same labels, but of a process that started at another time.
    let mut create = vec!["create", "--network", "none"];
    let labels: Vec<String> = labels
        .lines()
        .filter(|line| line.starts_with("patchmill"))
        .map(|line| match line.split_once('=') {
            Some((key, _)) if key.ends_with(".started") => format!("--label={key}=1"),
            _ => format!("--label={line}"),
        })
        .collect();
    create.extend(labels.iter().map(String::as_str));
    create.extend([engine.image, "/bin/sh"]);
    let dead = PlaceId(docker(&create));
    let orphans = async || -> Vec<PlaceId> {
        let found = engine.backend.orphans().await.unwrap();
        found.into_iter().map(|orphan| orphan.id).collect()
    };
    let found = orphans().await;
    assert!(found.contains(&dead), "{found:?}");
    let living = docker(&["inspect", "--format", "{{.Id}}", &place.id().0]);
    assert!(!found.contains(&PlaceId(living)));
    engine
        .backend
        .remove(&dead, Duration::from_secs(30))
        .await
        .unwrap();
    assert!(!orphans().await.contains(&dead));
    assert_eq!(place.state().await.unwrap(), PlaceState::Running);
    engine.remove(&place).await;
}
