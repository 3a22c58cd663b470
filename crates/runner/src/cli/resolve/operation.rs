//! What does not change outcomes, out of the options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sandbox::place::docker::Pull;

use super::{set, transport};
use crate::cli::arguments::{Once, Resume};
use crate::cli::error::Error;
use crate::layers::Resolved;
use crate::layers::options::{Gates, Images, KeepName, Options, PartialName, PullName};
use crate::layers::values::{Amount, Cap};
use crate::settings::{
    KeepSandbox, Operation, PartialPatches, Processors, ResumeMode, RetrySelector,
};

/// Time that starts wait for room on the disk: for other instances to end, or for a person to make room.
const DISK_WAIT: Duration = Duration::from_mins(15);

/// Settings that do not change outcomes.
pub(super) fn operation(
    resolved: &Resolved,
    options: &Options,
    once: &Once,
) -> Result<Operation, Error> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let Options {
        selection,
        model,
        sandbox,
        keeping,
        patches,
        grading,
        batch,
        gates,
        ..
    } = options;
    let workers = at_least_one("workers", set("workers", batch.workers)?)?;
    let start_workers = batch.start_workers.unwrap_or(cores);
    let grade_workers = grading.grade_workers.unwrap_or(cores);
    Ok(Operation {
        dataset: selection.dataset.clone(),
        dataset_directory: directory_of(selection.dataset.as_deref()),
        split: selection.split.clone(),
        subset: selection.subset.clone(),
        repositories: selection.repos.clone(),
        scratch: sandbox.scratch.clone(),
        keep_sandbox: match set("keep_sandbox", keeping.keep_sandbox)? {
            KeepName::Never => KeepSandbox::Never,
            KeepName::OnFailure => KeepSandbox::OnFailure,
            KeepName::Always => KeepSandbox::Always,
        },
        pull: pull(&sandbox.images)?,
        pulls: pulls(&sandbox.images)?,
        prefetch: batch.prefetch.unwrap_or(workers),
        evict_images: set("evict_images", sandbox.evict_images)?,
        engine_wait: set("engine_wait", sandbox.engine_wait)?.0,
        registry_wait: set("registry_wait", sandbox.registry_wait)?.0,
        workers,
        start_workers: at_least_one("start-workers", start_workers)?,
        samples: at_least_one("samples", set("samples", batch.samples)?)?,
        trials: None,
        max_attempts: at_least_one("max-attempts", set("max_attempts", batch.max_attempts)?)?,
        transport: transport::transport(model)?,
        grade: set("grade", patches.grade)?,
        grade_workers: at_least_one("grade-workers", grade_workers)?,
        grade_timeout: set("grade_timeout", grading.grade_timeout)?.0,
        grade_cpus: grading.grade_cpus.map(|cap| match cap.limit() {
            Some(Amount(number)) => Processors::AtMost(number),
            None => Processors::All,
        }),
        grade_profile: set("grade_profile", grading.grade_profile)?.into(),
        tamper_check: set("tamper_check", grading.tamper_check)?.into(),
        repository_rules: grading.repository_rules.clone(),
        grade_cache: set("grade_cache", grading.grade_cache)?,
        harness: super::harness(grading)?,
        partial: match set("partial", patches.partial)? {
            PartialName::Include => PartialPatches::Include,
            PartialName::Exclude => PartialPatches::Exclude,
        },
        resume: match once.resume {
            None => ResumeMode::New,
            Some(Resume::Restart) => ResumeMode::Restart,
            Some(Resume::Replay) => ResumeMode::Replay,
        },
        retry: retry(&once.retry)?,
        grace: set("grace", batch.grace)?.0,
        max_infra_failures: set("max_infra_failures", gates.max_infra_failures)?,
        max_total_cost: batch.max_total_cost.and_then(Cap::limit).map(|cost| cost.0),
        max_empty_patches: max_empty_patches(gates)?,
        fail_under: fail_under(gates)?,
        durable: set("durable", batch.durable)?,
        image_mirror: sandbox.images.image_mirror.clone(),
        min_free_disk: sandbox
            .min_free_disk
            .and_then(Cap::limit)
            .map(|size| size.0),
        disk_wait: DISK_WAIT,
        start_timeout: set("start_timeout", sandbox.start_timeout)?.0,
        max_output_bytes: set("max_output_bytes", sandbox.max_output_bytes)?.0,
        network_explicit: resolved.is_explicit("network"),
        best_effort_limits: set("best_effort_limits", sandbox.best_effort_limits)?,
    })
}

/// When images are pulled.
pub(in crate::cli) fn pull(images: &Images) -> Result<Pull, Error> {
    Ok(match set("pull", images.pull)? {
        PullName::Never => Pull::Never,
        PullName::Missing => Pull::Missing,
        PullName::Always => Pull::Always,
    })
}

/// How many at the same time.
pub(in crate::cli) fn pulls(images: &Images) -> Result<usize, Error> {
    at_least_one("pulls", set("pulls", images.pulls)?)
}

fn retry(selectors: &[String]) -> Result<Vec<RetrySelector>, Error> {
    let parsed = selectors.iter().map(|text| {
        RetrySelector::parse(text).map_err(|problem| {
            Error::usage(
                format!("--retry {text}: {problem}"),
                "stop reasons are those that results.csv shows, such as `stuck` or `max_steps`",
            )
        })
    });
    parsed.collect()
}

fn max_empty_patches(gates: &Gates) -> Result<Option<usize>, Error> {
    let limit = gates.max_empty_patches.and_then(Cap::limit);
    limit
        .map(|count| {
            usize::try_from(count.0).map_err(|_| {
                Error::usage(
                    "--max-empty-patches is too large",
                    "`none` asks for no such gate",
                )
            })
        })
        .transpose()
}

fn fail_under(gates: &Gates) -> Result<Option<f64>, Error> {
    match gates.fail_under.and_then(Cap::limit) {
        Some(Amount(share)) if share > 1.0 => Err(Error::usage(
            format!("--fail-under {share} is not a share from 0 to 1"),
            format!("for {share} % give {}", share / 100.0),
        )),
        share => Ok(share.map(|share| share.0)),
    }
}

/// A count of which none would do nothing.
pub(in crate::cli) fn at_least_one<T: Default + PartialEq>(
    flag: &str,
    given: T,
) -> Result<T, Error> {
    if given == T::default() {
        return Err(Error::usage(
            format!("--{flag} 0 would do nothing"),
            "give 1 or more",
        ));
    }
    Ok(given)
}

/// The directory that paths in the dataset are relative to.
pub(in crate::cli) fn directory_of(dataset: Option<&Path>) -> PathBuf {
    match dataset.and_then(Path::parent) {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
