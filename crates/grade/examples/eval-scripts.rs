//! Prints how the rows of datasets would be graded, one JSON object a line: `eval-scripts FILE…`.
//!
//! `scripts/conformance/eval_scripts.py` compares that with what the official harness would run.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::path::Path;

use dataset::LoadOptions;
use grade::Rules;
use serde_json::json;

fn main() -> Result<(), dataset::Error> {
    for path in std::env::args().skip(1) {
        for row in dataset::load(Path::new(&path), &LoadOptions::default())?.rows {
            let id = row.instance.id.as_str();
            let line = match grade::resolve(&row.instance, &row.answer, &Rules::default()) {
                Ok(resolved) => json!({
                    "instance_id": id,
                    "eval_script": resolved.spec.eval_script,
                    "log_parser": resolved.spec.log_parser,
                    "provenance": resolved.provenance,
                }),
                Err(error) => json!({"instance_id": id, "error": chain(&error)}),
            };
            println!("{line}");
        }
    }
    Ok(())
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
