//! Rows that spell their fields in their own way, made to look like the others. What is renamed here is also kept as it came, unless a typed
//! field holds all of it.

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// Brings the variants to the common names.
pub(crate) fn normalise(fields: &mut Fields<'_>) -> Result<(), Error> {
    multi_swe_bench(fields)?;
    r2e_gym(fields);
    Ok(())
}

/// Multi-SWE-bench: `org` and `repo` apart, the base commit in `base`, tests as objects.
fn multi_swe_bench(fields: &mut Fields<'_>) -> Result<(), Error> {
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

/// R2E-Gym: no id; `commit_hash` is the fix itself, so the work starts from what the image holds.
fn r2e_gym(fields: &mut Fields<'_>) {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if text("instance_id").is_none()
        && let (Some(repo), Some(commit)) = (text("repo_name"), text("commit_hash"))
    {
        let id = format!("{repo}-{commit}");
        fields.set("instance_id", Value::String(id));
    }
}

/// Fields that may hold the known fix. In SWE-smith `patch` brings the bug in: it is not the fix and stays among the other fields.
pub(crate) fn patch_names(fields: &Fields<'_>) -> &'static [&'static str] {
    let repo = fields.get("repo").and_then(Value::as_str);
    if repo.is_some_and(|repo| repo.starts_with("swesmith/")) {
        return &["gold_patch", "fix_patch"];
    }
    &["patch", "gold_patch", "fix_patch"]
}

/// What is asked, in the words of the row.
pub(crate) fn statement(fields: &mut Fields<'_>) -> Result<String, Error> {
    match fields.take_text(&["problem_statement", "statement", "prompt"])? {
        Some(statement) => Ok(with_interface(fields, statement)),
        None => issues(fields).ok_or_else(|| fields.missing("problem_statement")),
    }
}

/// SWE-bench Pro: the tests call what the issue never names, so the requirements and the interface are part of what is asked.
fn with_interface(fields: &Fields<'_>, statement: String) -> String {
    let text = |name: &str| {
        fields
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    };
    match (text("requirements"), text("interface")) {
        (Some(requirements), Some(interface)) => {
            format!(
                "{statement}\n\nRequirements:\n{requirements}\n\nNew interfaces introduced:\n{interface}"
            )
        }
        _ => statement,
    }
}

/// Multi-SWE-bench: the issues that the pull request resolves. Its own title and text describe the fix and stay secret.
fn issues(fields: &Fields<'_>) -> Option<String> {
    let issues = fields.get("resolved_issues")?.as_array()?;
    let texts: Vec<_> = issues
        .iter()
        .map(|issue| {
            let part = |name: &str| {
                issue
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .trim_end()
            };
            format!("{}\n\n{}", part("title"), part("body"))
                .trim()
                .to_owned()
        })
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
