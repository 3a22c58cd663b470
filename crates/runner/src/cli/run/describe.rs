//! `--dry-run`: what would be done, and where image, script and parser of each instance come from.

use dataset::Row;
use dataset::images::Image;
use schema::grading::{Criterion, EvalType, Provenance};
use serde_json::{Value, json};

use super::Error;
use crate::batch::{image_of, preview};
use crate::error::chain;
use crate::plan::{Job, Plan, PlanRow};
use crate::profile::{self, Chosen};
use crate::rules;
use crate::settings::RunSettings;
use crate::ui;

/// What a dry run keeps of a row: nothing large, so that datasets of any size can be looked at.
pub(super) struct Sketch {
    row: PlanRow,
    conditions: Result<Conditions, crate::error::Error>,
    /// How it would be graded, or why it cannot be.
    grading: Result<Graded, grade::SpecError>,
    /// What it was taken for without the row saying so.
    guess: Option<String>,
}

/// What an instance would be worked on in.
struct Conditions {
    image: Option<Image>,
    /// Under which conditions it would be graded.
    profile: Chosen,
}

/// How an instance would be graded.
struct Graded {
    log_parser: String,
    eval_type: EvalType,
    criterion: Criterion,
    provenance: Provenance,
    notes: Vec<String>,
}

/// An attempt that would be made.
struct Attempt<'a> {
    job: &'a Job,
    conditions: &'a Conditions,
    grading: &'a Result<Graded, grade::SpecError>,
    guess: Option<&'a str>,
}

/// Makes sketches of the rows of a run with these settings.
pub(super) fn sketcher(settings: &RunSettings) -> Result<impl Fn(Row) -> Sketch, Error> {
    let rules = rules::read(settings.operation.repository_rules.as_deref())?;
    Ok(move |row: Row| Sketch {
        conditions: image_of(settings, &row).map(|image| Conditions {
            profile: profile::choose(
                settings.operation.grade_profile,
                settings.operation.dataset.as_deref(),
                &row,
                image.as_ref(),
            ),
            image,
        }),
        grading: grade::resolve(&row.instance, &row.answer, &rules).map(|resolved| Graded {
            log_parser: resolved.spec.log_parser,
            eval_type: resolved.spec.eval_type,
            criterion: resolved.spec.criterion,
            provenance: resolved.provenance,
            notes: resolved.notes,
        }),
        guess: row.family().guess(),
        row: PlanRow {
            id: row.instance.id,
            sha256: row.sha256,
        },
    })
}

/// One object, or lines for people.
pub(super) fn describe(
    settings: &RunSettings,
    sketches: Vec<Sketch>,
    as_json: bool,
) -> Result<String, Error> {
    let mut rows = Vec::new();
    let mut parts = Vec::new();
    for sketch in sketches {
        rows.push(sketch.row);
        parts.push((sketch.conditions?, sketch.grading, sketch.guess));
    }
    let plan = preview(settings, &rows)?;
    let attempts = plan.jobs.iter().filter_map(|job| {
        let (conditions, grading, guess) = parts.get(job.row)?;
        Some(Attempt {
            job,
            conditions,
            grading,
            guess: guess.as_deref(),
        })
    });
    if as_json {
        let attempts: Vec<Value> = attempts.map(|attempt| attempt.json()).collect();
        return Ok(format!("{:#}", object(settings, &plan, &attempts)));
    }
    let graded = settings.operation.grade;
    let mut lines = vec![head(settings, &plan)];
    lines.extend(attempts.map(|attempt| attempt.line(graded)));
    if !plan.gradings.is_empty() {
        lines.push(format!(
            "would grade {}",
            ui::count(plan.gradings.len(), "finished patch")
        ));
    }
    Ok(lines.join("\n"))
}

fn object(settings: &RunSettings, plan: &Plan, attempts: &[Value]) -> Value {
    let reasons = plan.reasons();
    let named = reasons.iter().map(|(reason, count)| (reason.name(), count));
    json!({
        "run_directory": settings.run_directory,
        "dataset": settings.operation.dataset,
        "done": plan.done,
        "gradings": plan.gradings.len(),
        "reasons": named.collect::<std::collections::BTreeMap<_, _>>(),
        "attempts": attempts,
    })
}

fn head(settings: &RunSettings, plan: &Plan) -> String {
    let reasons = plan.reasons();
    let named: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{count} {}", reason.name()))
        .collect();
    format!(
        "would make {} in {}{}; {} done",
        ui::count(plan.jobs.len(), "attempt"),
        settings.run_directory.display(),
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
        let Conditions { image, profile } = self.conditions;
        let grading = match &self.grading {
            Ok(resolved) => json!({
                "eval_script_origin": resolved.provenance.eval_script.to_string(),
                "log_parser": resolved.log_parser,
                "log_parser_origin": resolved.provenance.log_parser.to_string(),
                "eval_type": resolved.eval_type,
                "eval_type_origin": resolved.provenance.eval_type.to_string(),
                "criterion": resolved.criterion,
                "profile": profile.profile,
                "profile_origin": profile.origin.to_string(),
                "notes": resolved.notes,
            }),
            Err(error) => json!({ "error": chain(error) }),
        };
        json!({
            "instance_id": self.job.key.instance_id, "sample": self.job.key.sample,
            "attempt": self.job.key.attempt, "reason": self.job.reason.name(),
            "image": image.as_ref().map(|image| &image.name),
            "image_origin": image.as_ref().map(|image| image.origin.to_string()),
            "guess": self.guess,
            "grading": grading,
        })
    }

    fn line(&self, graded: bool) -> String {
        let key = self.job.key.to_string();
        let Conditions { image, profile } = self.conditions;
        let image = image.as_ref().map_or_else(String::new, |image| {
            format!(", image {} {}", image.name, image.origin)
        });
        let guess = self
            .guess
            .map_or_else(String::new, |guess| format!(", {guess}"));
        let grading = match &self.grading {
            _ if !graded => String::new(),
            Ok(resolved) => {
                let provenance = &resolved.provenance;
                let notes: String = resolved
                    .notes
                    .iter()
                    .flat_map(|note| [", ", note])
                    .collect();
                format!(
                    ", script {}, parser {} {}, judged as {} does, profile {} {}{notes}",
                    provenance.eval_script,
                    resolved.log_parser,
                    provenance.log_parser,
                    resolved.criterion.dataset(),
                    profile.profile,
                    profile.origin,
                )
            }
            Err(error) => format!(", not graded: {}", chain(error)),
        };
        format!(
            "  {} ({}{image}{guess}{})",
            ui::escape::line(&key),
            self.job.reason.name(),
            ui::escape::line(&grading)
        )
    }
}
