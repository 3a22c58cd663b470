//! What a row asks for.

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// What is asked, in the words of the row, where it says that.
pub(crate) fn statement(fields: &mut Fields<'_>) -> Result<Option<String>, Error> {
    let statement = fields.take_text(&["problem_statement", "statement", "prompt"])?;
    Ok(match statement {
        Some(statement) => Some(with_interface(fields, without_frame(fields, statement))),
        None => issues(fields),
    })
}

/// R2E-Gym frames its issues.
fn without_frame(fields: &Fields<'_>, statement: String) -> String {
    if fields.get(super::r2e_gym::EXPECTED).is_none() {
        return statement;
    }
    let issue = statement
        .split_once("[ISSUE]")
        .and_then(|(_, rest)| rest.rsplit_once("[/ISSUE]"))
        .map(|(issue, _)| issue.trim().to_owned());
    issue.unwrap_or(statement)
}

/// SWE-bench Pro: the tests call what the issue never names, so the requirements and the interface are part of what is asked. Rows of others have
/// `requirements` that are packages, and no `interface`.
fn with_interface(fields: &Fields<'_>, statement: String) -> String {
    let text = |name: &str| {
        fields
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    };
    let mut statement = statement;
    if !fields.has("interface") || fields.has("install_config") {
        return statement;
    }
    for (heading, part) in [
        ("Requirements", text("requirements")),
        ("New interfaces introduced", text("interface")),
    ] {
        if let Some(part) = part {
            statement = format!("{statement}\n\n{heading}:\n{part}");
        }
    }
    statement
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
