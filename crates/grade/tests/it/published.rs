//! Rows that other people published, where they lie beside the checkout: each can be graded, or what it lacks is named.

use std::collections::BTreeMap;
use std::path::Path;

use dataset::LoadOptions;
use grade::{Rules, resolve};
use schema::grading::Origin;

fn rows(path: &Path) -> Vec<dataset::Row> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        return entries
            .flat_map(|entry| rows(&entry.unwrap().path()))
            .collect();
    }
    let dataset = dataset::load(path, &LoadOptions::default());
    dataset.unwrap_or_else(|error| panic!("{error}")).rows
}

/// What is known of a file's rows: where the script comes from, or the piece that all of them lack.
fn told(path: &Path) -> BTreeMap<String, usize> {
    let mut told = BTreeMap::new();
    for row in rows(path) {
        let said = match resolve(&row.instance, &row.answer, &Rules::default()) {
            Ok(resolved) => {
                let spec = &resolved.spec;
                // Some parsers choose their rules by these.
                assert_eq!(spec.instance_id, row.instance.id.as_str());
                assert_eq!(spec.version, row.instance.version.unwrap_or_default());
                assert!(grade::parser(&spec.log_parser).is_ok(), "{spec:?}");
                bash_reads(&grade::wrap(spec, "n0nce"), row.instance.id.as_str());
                match resolved.provenance.eval_script {
                    Origin::Rules { .. } => "rules".to_owned(),
                    other => other.to_string(),
                }
            }
            Err(error) => error.to_string(),
        };
        *told.entry(said).or_default() += 1;
    }
    told
}

/// Every script is one that bash can read, with its marks once.
fn bash_reads(script: &str, id: &str) {
    for mark in ["Start Test Output n0nce", "End Test Output n0nce"] {
        assert_eq!(script.matches(mark).count(), 1, "{id}");
    }
    let mut child = std::process::Command::new("bash")
        .arg("-n")
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes()).unwrap();
    let checked = child.wait_with_output().unwrap();
    assert!(checked.status.success(), "{id}: {checked:?}");
}

#[test]
fn every_published_row_is_resolved_or_its_missing_piece_named() {
    let Some(directory) = testkit::conformance() else {
        return;
    };
    let all = |name: &str| told(&directory.join("instances").join(name));
    let only = |name: &str, said: &str| {
        let told = all(name);
        assert!(
            !told.is_empty() && told.keys().all(|key| key == said),
            "{name}: {told:?}"
        );
    };
    only("swe-bench-lite-sample.jsonl", "rules");
    only("multimodal-v5", "by the row's `eval_script`");
    only("swe-smith", "rules");
    only("multi-swe-bench/expressjs__express-3695.json", "rules");
    only("multi-swe-bench/BurntSushi__ripgrep-2626.json", "rules");
    only("multi-swe-bench/tokio-rs__bytes-732.json", "rules");
    only("multi-swe-bench/jqlang__jq_dataset.jsonl", "rules");
    only("multi-swe-bench/serde-rs__serde_dataset.jsonl", "rules");
    // Its scripts are in a repository of its own.
    only(
        "swe-bench-pro-sample.jsonl",
        "read grading data: the row has no run_script",
    );
    only("swe-agent-fixtures.jsonl", "rules");
}
