//! The dataset of the demo, as a file: its repositories are checked by `scripts/check-demo.py`.

use std::collections::BTreeSet;
use std::path::Path;

use dataset::{Dataset, LoadOptions};
use schema::event::CheckVerdict;
use schema::{Event, Outcome, Trajectory};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn demo() -> Dataset {
    let path = root().join("datasets/demo.jsonl");
    dataset::load(&path, &LoadOptions::default()).unwrap()
}

#[test]
fn every_row_has_a_trajectory_that_completes() {
    let mut rejected = 0;
    let mut failing_commands = 0;
    for row in demo().rows {
        let id = row.instance.id;
        let path = root().join(format!("trajectories/demo/{}.json", id.file_name()));
        let text = std::fs::read_to_string(&path).unwrap();
        let trajectory: Trajectory = serde_json::from_str(&text).unwrap();
        assert_eq!(trajectory.header.instance_id, id);
        assert_eq!(
            trajectory.header.start_commit,
            row.instance.base_commit.unwrap()
        );
        assert_eq!(trajectory.outcome(), Some(&Outcome::Completed), "{id}");
        for record in &trajectory.events {
            match &record.event {
                Event::Checked { verdicts, .. } => {
                    let reject = |verdict: &CheckVerdict| matches!(verdict, CheckVerdict::Reject { message } if message.contains("only tests"));
                    rejected += usize::from(verdicts.iter().any(reject));
                }
                Event::ToolDone { run, .. } => {
                    failing_commands += usize::from(run.exit_code.is_some_and(|code| code != 0));
                }
                _ => {}
            }
        }
    }
    assert!(rejected > 0, "no trajectory shows a rejected task_done");
    assert!(
        failing_commands > 0,
        "no trajectory shows a failing command"
    );
}

#[test]
fn every_row_of_the_demo_can_be_run_and_graded() {
    let demo = demo();
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
