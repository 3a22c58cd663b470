//! Files as the edit tool sees them.

use std::path::Path;

use sandbox::{Entry, Error};

use crate::support::{BackendKind, Ground, ask, remove, run};

fn refused<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Refused(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn bytes_modes_and_links_survive() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        let every: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        for content in [&b""[..], b"x", b"a\r\n\tb", b"%s\\n'\"$x`", &every] {
            let path = format!("{}/new dir/it's a \"file\"\n", sandbox.workdir());
            sandbox.write(&path, content).await.unwrap();
            assert_eq!(sandbox.read(&path, 100_000).await.unwrap(), content);
            assert_eq!(sandbox.entry(&path).await.unwrap(), Some(Entry::File));
        }
        run(
            &sandbox,
            "chmod 754 run.sh; ln -s run.sh link; ln -s nowhere dangling; mkfifo pipe",
        )
        .await;
        sandbox
            .write("link", b"#!/bin/sh\necho new\n")
            .await
            .unwrap();
        sandbox.write("dangling", b"made").await.unwrap();
        sandbox.write("-dash", b"1").await.unwrap();
        let (output, _) = ask(&sandbox, "stat -c %a run.sh; ./link; readlink link dangling; cat nowhere; ls -A | grep -c patchmill").await;
        assert_eq!(output, "754\nnew\nrun.sh\nnowhere\nmade0\n", "{kind:?}");
        assert_eq!(sandbox.entry("pkg").await.unwrap(), Some(Entry::Directory));
        assert_eq!(sandbox.entry("pipe").await.unwrap(), Some(Entry::Other));
        assert_eq!(sandbox.entry("absent").await.unwrap(), None);
        assert_eq!(sandbox.entry("run.sh/x").await.unwrap(), None);
        for (path, word) in [
            ("pkg", "is a directory"),
            ("absent", "does not exist"),
            ("pipe", "not a regular file"),
        ] {
            assert!(
                refused(sandbox.read(path, 10).await).contains(word),
                "{kind:?} {path}"
            );
        }
        assert!(refused(sandbox.read("README.md", 3).await).contains("more than the 3"));
        assert_eq!(sandbox.read("README.md", 6).await.unwrap(), b"# one\n");
        assert!(refused(sandbox.write("pkg", b"x").await).contains("is a directory"));
        refused(sandbox.write("pipe", b"x").await);
        refused(sandbox.write("README.md/below", b"x").await);
        refused(sandbox.read("nul\0", 1).await);
        sandbox.remove_file("-dash").await.unwrap();
        assert_eq!(sandbox.entry("-dash").await.unwrap(), None);
        refused(sandbox.remove_file("-dash").await);
        refused(sandbox.remove_file("pkg").await);
        remove(&sandbox).await;
    }
}

#[tokio::test]
async fn in_bubblewrap_no_link_leads_out() {
    if !crate::support::bubblewrap_works().await {
        return;
    }
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Bubblewrap).await;
    let secret = ground.path().join("secret");
    std::fs::write(&secret, "host").unwrap();
    run(
        &sandbox,
        &format!(
            "ln -s {} secret; mkdir -p {1} && echo inside >{0}",
            secret.display(),
            ground.path().display()
        ),
    )
    .await;
    // The same path leads to the sandbox's own file system.
    assert_eq!(sandbox.read("secret", 100).await.unwrap(), b"inside\n");
    sandbox.write("secret", b"changed").await.unwrap();
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "host");
    run(
        &sandbox,
        "ln -s /etc/hostname etc; ln -s /usr/share/made-by-test usr",
    )
    .await;
    refused(sandbox.write("etc", b"x").await);
    refused(sandbox.write("usr", b"x").await);
    refused(sandbox.write("/etc/made-by-test", b"x").await);
    assert!(!Path::new("/etc/made-by-test").exists());
    remove(&sandbox).await;
}
