//! `runner grade --test-output LOG --instance FILE`: the verdict on a log that somebody else's run left, without a sandbox.

mod instance;
mod task;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grade::Evidence;
use grade::official::{Graded, signature};
use schema::grading::{
    Criterion, GradingSpec, Harness, LogShape, OfficialVerdict, PatchApplication, Verdict,
};

use crate::cli::arguments::Grade;
use crate::cli::error::Error;
use crate::cli::resolve;
use crate::exit::Exit;
use crate::layers::Options;
use crate::rules;
use crate::ui::{Printer, escape};

/// Bytes that a log may have.
const MAX_LOG: u64 = 1 << 30;

/// Tests of each kind that the text names; JSON has them all.
const SHOWN: usize = 20;

/// Grades the log.
pub(super) fn grade(
    command: &Grade,
    log: &Path,
    options: &Options,
    printer: &Printer,
) -> Result<Exit, Error> {
    let Some(file) = &command.offline.instance else {
        return Err(Error::usage(
            "a log alone does not say what was to be tested",
            "name the file that holds the instance's row with --instance",
        ));
    };
    let row = instance::read(command, file, log, printer)?;
    let given = rules::read(options.grading.repository_rules.as_deref())?;
    let parser = command.offline.log_parser.as_deref();
    let spec = grade::spec::of_log(&row.instance, &row.answer, &given, parser);
    let spec = spec.map_err(|error| Error::Usage {
        message: format!(
            "the log of `{}` cannot be read: {}",
            row.instance.id,
            crate::error::chain(&error)
        ),
        hints: error.hints(),
    })?;
    let spec = GradingSpec {
        harness: resolve::harness(&options.grading)?,
        ..spec
    };
    let patch_exists = patch_exists(command.offline.patch.as_deref())?;
    let bytes = read(log)?;
    let verdict = judge(&spec, &bytes)?;
    let report = grade::official::report(&Graded {
        id: &row.instance.id,
        patch_exists,
        verdict: &verdict,
        signature: signature(&bytes, spec.harness),
    });
    if printer.is_json() {
        let text =
            grade::official::text(&report).map_err(|error| Error::usage(error.to_string(), ""))?;
        printer.data(&text);
    } else {
        printer.data(&text(&spec, &verdict));
    }
    Ok(Exit::Success)
}

/// Whether the prediction has a patch, which the report tells: `--patch none` says that it was `null`.
fn patch_exists(given: Option<&Path>) -> Result<bool, Error> {
    match given {
        None => Ok(true),
        Some(path) if path.as_os_str() == "none" => Ok(false),
        Some(path) => match std::fs::metadata(path) {
            Ok(_) => Ok(true),
            Err(source) => Err(Error::Read {
                what: "the patch",
                path: path.to_owned(),
                source,
            }),
        },
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_LOG + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(MAX_LOG + 1).read_to_end(&mut bytes))
    };
    read.map_err(|source| Error::Read {
        what: "the log",
        path: path.to_owned(),
        source,
    })?;
    if bytes.len() as u64 > MAX_LOG {
        return Err(Error::usage(
            format!("the log `{}` has more than {MAX_LOG} bytes", path.display()),
            "cut what is not between the marks of the tests' output",
        ));
    }
    Ok(bytes)
}

fn judge(spec: &GradingSpec, log: &[u8]) -> Result<Verdict, Error> {
    let parts = grade::log::read_foreign(log, spec.criterion);
    let evidence = Evidence {
        // Whatever the patch was: there is a log, and the dataset's harness reads it.
        application: PatchApplication::Applied,
        log: Some(&parts),
        timed_out: false,
        exit_code: None,
    };
    let verdict = grade::verdict(spec, &evidence).map_err(|error| {
        let told = crate::error::chain(&error);
        Error::usage(told, "name a parser with --log-parser")
    })?;
    Ok(Verdict {
        official: OfficialVerdict {
            harness: spec.harness,
            ..verdict.official
        },
        ..verdict
    })
}

/// The verdict for people.
fn text(spec: &GradingSpec, verdict: &Verdict) -> String {
    let bucket = grade::bucket::of(verdict);
    let official = if verdict.official_resolved {
        "resolved"
    } else {
        "not resolved"
    };
    let mut lines = vec![
        format!("{}: {bucket}", escape::line(&spec.instance_id)),
        format!(
            "official      {official} ({}, parser {})",
            harness(spec),
            spec.log_parser
        ),
        format!("log           {}", shape(verdict.log_shape)),
    ];
    for (name, tally) in [
        ("FAIL_TO_PASS", &verdict.fail_to_pass),
        ("PASS_TO_PASS", &verdict.pass_to_pass),
    ] {
        let all = tally.success.len() + tally.failure.len();
        lines.push(format!(
            "{name}  {} of {all} as they should",
            tally.success.len()
        ));
    }
    if let Some(share) = grade::bucket::partial(verdict) {
        lines.push(format!("partial       {share:.4}"));
    }
    let reason = verdict.tamper_reason.as_ref().or(verdict.note.as_ref());
    lines.extend(reason.map(|reason| format!("reason        {}", escape::line(reason))));
    let (failed, missing) = grade::bucket::failures(verdict);
    let told = |word: &str, tests: &[String]| -> Vec<String> {
        let line = |test: &String| format!("  {word}: {}", escape::short(test, 200));
        tests.iter().map(line).collect()
    };
    let failures = [told("failed", &failed), told("not in the log", &missing)].concat();
    let more = failures.len().saturating_sub(SHOWN);
    lines.extend(failures.into_iter().take(SHOWN));
    if more > 0 {
        lines.push(format!("  … and {more} more"));
    }
    lines.join("\n")
}

/// Whose word the official one is.
fn harness(spec: &GradingSpec) -> String {
    match (spec.criterion, spec.harness) {
        (Criterion::SweBench, Harness::V4) => "generation 4".to_owned(),
        (Criterion::SweBench, Harness::V5) => "generation 5".to_owned(),
        (
            Criterion::SweBenchLive
            | Criterion::SweBenchPro
            | Criterion::MultiSweBench
            | Criterion::SweSmith
            | Criterion::R2eGym,
            Harness::V4 | Harness::V5,
        ) => format!("by the rules of {}", spec.criterion.dataset()),
    }
}

fn shape(shape: LogShape) -> &'static str {
    match shape {
        LogShape::Absent => "absent",
        LogShape::Marked => "marked",
        LogShape::Unmarked => "unmarked: the whole of it counts",
        LogShape::Whole => "whole: those of its dataset have no marks",
        LogShape::Unreadable => "not one of a run of the tests",
    }
}
