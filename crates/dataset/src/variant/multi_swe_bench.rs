//! Multi-SWE-bench.

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// Multi-SWE-bench: `org` and `repo` apart, the base commit in `base`, tests as objects.
pub(super) fn normalise(fields: &mut Fields<'_>) -> Result<(), Error> {
    let text = |fields: &Fields<'_>, name: &str| {
        fields.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let (Some(org), Some(repo)) = (text(fields, "org"), text(fields, "repo")) else {
        return Ok(());
    };
    if fields.get("instance_id").is_none()
        && let Some(number) = fields.get("number").and_then(Value::as_u64)
    {
        fields.set(
            "instance_id",
            Value::String(format!("{org}__{repo}-{number}")),
        );
    }
    if !repo.contains('/') {
        fields.remove("org");
        fields.set("repo", Value::String(format!("{org}/{repo}")));
    }
    if fields.get("base_commit").is_none()
        && let Some(sha) = fields
            .get("base")
            .and_then(|base| base.get("sha"))
            .and_then(Value::as_str)
    {
        let sha = sha.to_owned();
        fields.set("base_commit", Value::String(sha));
    }
    if fields.get("FAIL_TO_PASS").is_none() {
        // All that must turn: tests that failed, were skipped, or did not exist (or not compile) before.
        let names = tests_of(fields, &["f2p_tests", "s2p_tests", "n2p_tests"])?;
        fields.set("FAIL_TO_PASS", names);
    }
    if fields.get("PASS_TO_PASS").is_none() {
        let names = tests_of(fields, &["p2p_tests"])?;
        fields.set("PASS_TO_PASS", names);
    }
    Ok(())
}

fn tests_of(fields: &Fields<'_>, names: &[&str]) -> Result<Value, Error> {
    let mut tests = Vec::new();
    for name in names {
        if let Some(value) = fields.get(name) {
            let read = crate::list::read(value).map_err(|problem| fields.bad(name, problem))?;
            tests.extend(read.into_iter().map(Value::String));
        }
    }
    Ok(Value::Array(tests))
}
