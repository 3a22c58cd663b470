//! Start, run, edit, compare, remove.

use sandbox::End;

use crate::support::{BackendKind, Ground, ask, remove, run};

#[tokio::test]
async fn a_change_becomes_a_patch_and_nothing_is_left() {
    for kind in BackendKind::available().await {
        let ground = Ground::new();
        let sandbox = ground.start(kind).await;
        assert!(sandbox.seal().verified);
        assert!(sandbox.diff().await.unwrap().full.is_empty());
        let (output, end) = ask(&sandbox, "cat pkg/a.py; X=1; cd pkg; pwd").await;
        assert_eq!(end, End::Exited(0));
        assert_eq!(
            output,
            format!("def a():\n    return 1\n{}/pkg\n", sandbox.workdir())
        );
        let (output, _) = ask(&sandbox, "sed -i s/1/2/ a.py; echo $X; git status --short").await;
        assert_eq!(output, "1\n M a.py\n");
        let patch = sandbox.diff().await.unwrap();
        let text = String::from_utf8(patch.full).unwrap();
        assert!(text.contains("-    return 1\n+    return 2\n"), "{text}");
        assert!(patch.omissions.is_empty());
        remove(&sandbox).await;
        remove(&sandbox).await;
        drop(sandbox);
        let left: Vec<_> = std::fs::read_dir(ground.root()).unwrap().collect();
        assert!(left.is_empty(), "{kind:?}: {left:?}");
    }
}

#[tokio::test]
async fn errors_and_output_come_in_order() {
    let ground = Ground::new();
    let sandbox = ground.start(BackendKind::Local).await;
    let captured = run(
        &sandbox,
        "for i in 1 2 3; do echo o$i; echo e$i >&2; done; exit 3",
    )
    .await;
    assert_eq!(captured.head, b"o1\ne1\no2\ne2\no3\ne3\n");
    assert_eq!(captured.end, End::ShellEnded(3));
    assert!(captured.shell_note.unwrap().contains("restarted"));
    remove(&sandbox).await;
}
