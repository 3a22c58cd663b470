//! The dataset of the demo, as a file: its repositories are checked by `scripts/check-demo.py`.

use std::collections::BTreeSet;
use std::path::Path;

use dataset::LoadOptions;

#[test]
fn every_row_of_the_demo_can_be_run_and_graded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/demo.jsonl");
    let demo = dataset::load(&path, &LoadOptions::default()).unwrap();
    assert!(demo.rows.len() >= 6);
    let mut languages = BTreeSet::new();
    for row in &demo.rows {
        let (id, instance, answer) = (&row.instance.id, &row.instance, &row.answer);
        assert_eq!(
            id.file_name(),
            id.as_str(),
            "trajectories are named after the id"
        );
        assert!(
            instance
                .base_commit
                .as_ref()
                .is_some_and(|commit| commit.len() == 40),
            "{id}"
        );
        let (_, name) = instance.repo.split_once('/').unwrap();
        let stream = demo.directory.join(format!("demo/{name}.fast-import"));
        assert!(stream.is_file(), "{id}: no {}", stream.display());
        assert_eq!(
            instance.repo_path,
            Some(format!("../target/demo/repos/{name}.git"))
        );
        assert!(
            answer.patch.is_some() && answer.test_patch.is_some() && answer.eval_script.is_some(),
            "{id}"
        );
        assert!(
            matches!(answer.log_parser.as_deref(), Some("pytest" | "tap")),
            "{id}"
        );
        assert!(
            !answer.fail_to_pass.is_empty() && !answer.pass_to_pass.is_empty(),
            "{id}"
        );
        languages.insert(answer.extra["language"].as_str().unwrap().to_owned());
    }
    assert!(languages.len() >= 3, "{languages:?}");
}
