//! `--dry-run`: what would be done, and where image, script and parser of each instance come from.

use dataset::Row;
use dataset::images::Image;
use serde_json::{Value, json};

use super::{Error, Work};
use crate::batch::image_of;
use crate::error::chain;
use crate::plan::{Job, Plan};
use crate::rules;
use crate::ui;

/// An attempt that would be made.
struct Attempt<'a> {
    job: &'a Job,
    image: Option<Image>,
    /// How it would be graded, or why it cannot be.
    grading: Result<grade::Resolved, grade::SpecError>,
}

/// One object, or lines for people.
pub(super) fn describe(work: &Work, plan: &Plan, as_json: bool) -> Result<String, Error> {
    let rules = rules::read(work.settings.operation.repository_rules.as_deref())?;
    let attempts = plan.jobs.iter().filter_map(|job| {
        let row = work.rows.get(job.row)?;
        Some(attempt(work, job, row, &rules))
    });
    if as_json {
        let attempts = attempts
            .map(|attempt| Ok(attempt?.json()))
            .collect::<Result<Vec<_>, Error>>()?;
        return Ok(format!("{:#}", object(work, plan, &attempts)));
    }
    let graded = work.settings.operation.grade;
    let mut lines = vec![head(work, plan)];
    for attempt in attempts {
        lines.push(attempt?.line(graded));
    }
    if !plan.gradings.is_empty() {
        lines.push(format!(
            "would grade {}",
            ui::count(plan.gradings.len(), "finished patch")
        ));
    }
    Ok(lines.join("\n"))
}

fn attempt<'a>(
    work: &Work,
    job: &'a Job,
    row: &Row,
    rules: &grade::Rules,
) -> Result<Attempt<'a>, Error> {
    Ok(Attempt {
        job,
        image: image_of(&work.settings, row)?,
        grading: grade::resolve(&row.instance, &row.answer, rules),
    })
}

fn object(work: &Work, plan: &Plan, attempts: &[Value]) -> Value {
    let reasons = plan.reasons();
    let named = reasons.iter().map(|(reason, count)| (reason.name(), count));
    json!({
        "run_directory": work.settings.run_directory,
        "done": plan.done,
        "gradings": plan.gradings.len(),
        "reasons": named.collect::<std::collections::BTreeMap<_, _>>(),
        "attempts": attempts,
    })
}

fn head(work: &Work, plan: &Plan) -> String {
    let reasons = plan.reasons();
    let named: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.name()))
        .collect();
    format!(
        "would make {} in {}{}; {} done",
        ui::count(plan.jobs.len(), "attempt"),
        work.settings.run_directory.display(),
        if named.is_empty() {
            String::new()
        } else {
            format!(" ({})", named.join(", "))
        },
        plan.done,
    )
}

impl Attempt<'_> {
    fn json(&self) -> Value {
        let grading = match &self.grading {
            Ok(resolved) => json!({
                "eval_script_origin": resolved.provenance.eval_script.to_string(),
                "log_parser": resolved.spec.log_parser,
                "log_parser_origin": resolved.provenance.log_parser.to_string(),
                "eval_type": resolved.spec.eval_type,
                "eval_type_origin": resolved.provenance.eval_type.to_string(),
            }),
            Err(error) => json!({ "error": chain(error) }),
        };
        json!({
            "instance_id": self.job.key.instance_id, "sample": self.job.key.sample,
            "attempt": self.job.key.attempt, "reason": self.job.reason.name(),
            "image": self.image.as_ref().map(|image| &image.name),
            "image_origin": self.image.as_ref().map(|image| image.origin.to_string()),
            "grading": grading,
        })
    }

    fn line(&self, graded: bool) -> String {
        let key = self.job.key.to_string();
        let image = self.image.as_ref().map_or_else(String::new, |image| {
            format!(", image {} {}", image.name, image.origin)
        });
        let grading = match &self.grading {
            _ if !graded => String::new(),
            Ok(resolved) => {
                let (spec, provenance) = (&resolved.spec, &resolved.provenance);
                format!(
                    ", script {}, parser {} {}",
                    provenance.eval_script, spec.log_parser, provenance.log_parser
                )
            }
            Err(error) => format!(", not graded: {}", chain(error)),
        };
        format!(
            "  {} ({}{image}{})",
            ui::escape::line(&key),
            self.job.reason.name(),
            ui::escape::line(&grading)
        )
    }
}
