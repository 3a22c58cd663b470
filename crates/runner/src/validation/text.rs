//! A validation for people.

use schema::validation::{Finding, InstanceValidation, Validation};

use crate::ui::{self, escape};

/// Tests of a finding that the text names; `validation.json` has them all.
const SHOWN: usize = 5;

/// The text: a line for each reason why an instance is not validated, then the counts.
pub fn text(validation: &Validation) -> String {
    let mut lines = Vec::new();
    for one in validation.instances.iter().filter(|one| !one.validated) {
        lines.extend(instance(one));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(counts(validation));
    lines.extend(validation.unmet.iter().map(|(profile, unmet)| {
        let names: Vec<&str> = unmet.iter().map(String::as_str).collect();
        format!(
            "{:<13} without its {} here",
            profile.name(),
            names.join(" and ")
        )
    }));
    lines.push(format!(
        "validation    {}/validation.json",
        validation.run_directory
    ));
    lines.join("\n")
}

fn counts(validation: &Validation) -> String {
    let all = validation.instances.len();
    let reasons = validation.reasons.iter();
    let mut parts = vec![format!(
        "{} of {} validated",
        validation.validated,
        ui::count(all, "instance")
    )];
    parts.extend(reasons.map(|(reason, count)| format!("{count} {reason}")));
    let times = usize::try_from(validation.times).unwrap_or(usize::MAX);
    format!(
        "{} (profiles: {}; {})",
        parts.join(", "),
        validation.profiles.join(", "),
        ui::count(times, "repetition"),
    )
}

fn instance(one: &InstanceValidation) -> Vec<String> {
    let id = escape::short(one.instance_id.as_str(), 60);
    one.findings
        .iter()
        .map(|finding| format!("{id}: {}", told(finding)))
        .collect()
}

fn told(finding: &Finding) -> String {
    let mut text = finding.reason.text().to_owned();
    if let Some(profile) = &finding.profile {
        text.push_str(" under ");
        text.push_str(&escape::line(profile));
    }
    if let Some(detail) = &finding.detail {
        text.push_str(": ");
        text.push_str(&escape::short(detail, 300));
    }
    for (word, names) in [("", &finding.tests), ("not in the log: ", &finding.missing)] {
        if !names.is_empty() {
            text.push_str("; ");
            text.push_str(word);
            text.push_str(&listed(names));
        }
    }
    text
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN);
    let mut shown: Vec<String> = shown.map(|name| escape::short(name, 120)).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    shown.join(", ")
}
