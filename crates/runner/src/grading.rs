//! Grading: a patch alone, in a fresh sandbox, judged by the row's own tests.

mod cache;
mod conclusion;
mod examination;
mod rejudge;
mod test_log;

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use grade::Evidence;
use sandbox::repository::Staging;
use sandbox::{Captured, End, Kept, RunOptions, Sandbox};
use schema::FailureKind;
use schema::grading::{GradingSpec, PatchApplication, Profile, Verdict};
use schema::journal::GradeSummary;
use schema::report::GradingReport;
use tokio_util::sync::CancellationToken;

use self::cache::{Asked, Cache};
pub(crate) use self::conclusion::GRADER;
use self::conclusion::{GradingDirectory, Judged, Ruling};
pub(crate) use self::rejudge::Saved;
use self::test_log::TestLog;
use crate::attempt::context::{Context, Entry, Purpose, started_with};
use crate::attempt::failure::{Failure, Traced};
use crate::dispatcher::{Cause, GradeEnd, Reports};
use crate::engine;
use crate::error::chain;
use crate::plan::GradeJob;
use crate::profile::{self, Conditions};
use crate::settings::PatchKind;

/// Grades one patch.
pub async fn grade(context: &Context, job: &GradeJob, reports: &Reports) -> GradeEnd {
    let started = Instant::now();
    match Grading::judge(context, job, reports).await {
        Ok(Some(grade)) => GradeEnd::Finished {
            grade,
            seconds: started.elapsed().as_secs_f64(),
        },
        Ok(None) => GradeEnd::Cancelled,
        Err(Traced { failure, cause }) => GradeEnd::Failed {
            kind: failure.kind,
            message: failure.message,
            cause,
        },
    }
}

struct Grading<'a> {
    context: &'a Context,
    job: &'a GradeJob,
    entry: &'a Entry,
    spec: GradingSpec,
    profile: Profile,
    directory: GradingDirectory,
    started: Instant,
    cancel: CancellationToken,
}

impl Grading<'_> {
    /// Grades; `None` when the run was told to end.
    async fn judge(
        context: &Context,
        job: &GradeJob,
        reports: &Reports,
    ) -> Result<Option<GradeSummary>, Traced> {
        let started = Instant::now();
        let entry = context.entry(job.row)?;
        let row = &entry.row;
        let resolved = grade::resolve(&row.instance, &row.answer, &context.rules)
            .map_err(|error| ungradable(&error))?;
        let spec = GradingSpec {
            harness: context.operation.harness,
            ..resolved.spec
        };
        let directory =
            GradingDirectory::create(context.run.attempt(&job.key).grading(job.grading))?;
        let grading = Grading {
            context,
            job,
            entry,
            spec,
            profile: context.profile(entry, job.key.sample).profile,
            directory,
            started,
            cancel: context.stop.cancel.clone(),
        };
        grading.start(reports).await
    }

    async fn start(&self, reports: &Reports) -> Result<Option<GradeSummary>, Traced> {
        let patch = self.patch()?;
        if patch.is_empty() && !self.context.tries_empty_patches() {
            let verdict = self.verdict(PatchApplication::Empty, None)?;
            return Ok(Some(self.conclude(Judged::from(verdict).into())?));
        }
        if !patch.is_empty() && patch.trim_ascii().is_empty() {
            // For the official harness too this is a patch, and one that does not apply.
            let mut verdict = self.verdict(PatchApplication::Rejected, None)?;
            verdict.note = Some("the patch has nothing but white space".to_owned());
            return Ok(Some(self.conclude(Judged::from(verdict).into())?));
        }
        let room = self.context.disk.pass(reports);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(None),
            room = room => room?,
        }
        let backend = self.context.backend(self.entry).as_ref();
        let outages = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(None),
            outages = engine::up(backend) => outages,
        };
        let graded = self.grade(&patch, reports).await;
        let Err(mut traced) = graded else {
            return graded;
        };
        if traced.cause.is_none() {
            let outcome = traced.failure.clone().into();
            traced.cause = engine::outage(backend, outages, &outcome).await;
        }
        Err(traced)
    }

    async fn grade(&self, patch: &[u8], reports: &Reports) -> Result<Option<GradeSummary>, Traced> {
        let purpose = format!("{}-g{}", self.job.key.directory_name(), self.job.grading);
        let labels = self.context.labels(&self.job.key, purpose);
        let turn = &self.context.permits.grade_start;
        let started = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Ok(None),
            started = self.context.start_sandbox(self.entry, labels, turn, Purpose::Grade(self.conditions()), reports) => started,
        };
        let lease = started?;
        let ruling = self.run(lease.sandbox(), patch).await;
        let failed = match &ruling {
            Ok(Some(ruling)) => !ruling.is_resolved(),
            Ok(None) => false,
            Err(_) => true,
        };
        let whose = (&self.job.key, Some(self.job.grading));
        self.context.give_back(lease, failed, whose, reports).await;
        match ruling? {
            Some(ruling) => match self.examined(ruling, patch, reports).await? {
                Some(ruling) => Ok(Some(self.conclude(ruling)?)),
                None => Ok(None),
            },
            None => Ok(None),
        }
    }

    /// The patch that goes into predictions.
    fn patch(&self) -> Result<Vec<u8>, Failure> {
        let attempt = self.context.run.attempt(&self.job.key);
        let path = match self.context.identity.patch {
            PatchKind::Model => attempt.model_patch(),
            PatchKind::Full => attempt.full_patch(),
        };
        fs::read(&path).map_err(|error| Failure::file("read", &path, &error))
    }

    /// The verdict on a patch in a fresh sandbox: an earlier one, where all that it depends on is the same.
    async fn run(&self, sandbox: &Arc<Sandbox>, patch: &[u8]) -> Result<Option<Ruling>, Failure> {
        let spec = self.run_as(&self.spec.eval_script);
        let asked = Asked {
            patch,
            spec: &spec,
            profile: self.profile,
            tamper_check: self.context.operation.tamper_check,
            limits: &self.context.grading_limits(self.conditions()),
            identity: &self.context.identity,
            timeout: self.options().timeout,
        };
        let key = self.cache().and_then(|_| cache::key(&asked, sandbox));
        let known = self.cache().zip(key.as_deref());
        if let Some(known) = known.and_then(|(cache, key)| cache.find(key)) {
            return Ok(Some(Ruling::Known(Box::new(known))));
        }
        let judged = self.try_out(sandbox, patch, &spec).await?;
        let unmet = profile::unmet(self.profile, sandbox.applied());
        Ok(judged.map(|judged| {
            Judged {
                key,
                unmet,
                ..judged
            }
            .into()
        }))
    }

    /// The specification with a script that begins as every shell of the sandbox and the profile have it.
    fn run_as(&self, script: &str) -> GradingSpec {
        let init = self.context.shell_init(self.entry);
        let preamble = profile::preamble(self.profile, &self.context.environment);
        GradingSpec {
            eval_script: preamble + &started_with(init, script),
            ..self.spec.clone()
        }
    }

    fn conditions(&self) -> Conditions<'_> {
        Conditions {
            profile: self.profile,
            spec: &self.spec,
        }
    }

    fn cache(&self) -> Option<Cache> {
        Cache::of_user().filter(|_| self.context.operation.grade_cache)
    }

    async fn try_out(
        &self,
        sandbox: &Arc<Sandbox>,
        patch: &[u8],
        spec: &GradingSpec,
    ) -> Result<Option<Judged>, Failure> {
        let application = self.stage(sandbox, patch).await?;
        if application == PatchApplication::Rejected {
            return self.verdict(application, None).map(|it| Some(it.into()));
        }
        let nonce = nonce().map_err(|error| Failure {
            kind: FailureKind::Internal,
            message: format!("no random bytes: {error}"),
        })?;
        let script = grade::wrap(spec, &nonce);
        self.directory.write("eval.sh", script.as_bytes())?;
        let options = self.options();
        let captured = sandbox.exec(&script, &options, &self.cancel).await?;
        let log = self.keep_log(captured, options.timeout)?;
        match log.end {
            End::Cancelled => Ok(None),
            End::ShellEnded(code) => Err(Failure {
                kind: FailureKind::EnvironmentLost,
                message: format!("the evaluation script was lost (status {code})"),
            }),
            End::Exited(_) | End::TimedOut | End::Idle | End::OutputLimit => {
                // Tests that found no space say nothing of the patch, however the script ended.
                if let Some(error) = sandbox.out_of_space(&log.text) {
                    return Err(error.into());
                }
                if let Some(lost) = log.lost {
                    return Err(lost.into());
                }
                let ran = Ran {
                    parts: grade::log::read(&log.text, &nonce),
                    end: log.end,
                };
                let verdict = self.verdict(application, Some(&ran))?;
                let sign = grade::official::signature(&log.text, self.spec.harness);
                Ok(Some(Judged {
                    sign,
                    log: log.text,
                    parts: Some(ran.parts),
                    ..Judged::from(verdict)
                }))
            }
        }
    }

    /// Puts the patch on the workspace, and the tests in their own state after it.
    async fn stage(&self, sandbox: &Sandbox, patch: &[u8]) -> Result<PatchApplication, Failure> {
        let check = |message| Failure {
            kind: FailureKind::Check,
            message,
        };
        let paths = grade::test_paths(&self.entry.row.answer).map_err(|error| {
            check(format!(
                "the row's test patch cannot be read: {}",
                chain(&error)
            ))
        })?;
        let staging = Staging {
            patch: patch.to_vec(),
            harness: self.spec.harness,
            restored: paths.restore.into_iter().collect(),
            removed: paths.remove.into_iter().collect(),
            test_patch: self
                .spec
                .test_patch
                .as_ref()
                .map(|tests| tests.clone().into_bytes()),
        };
        let staged = sandbox.stage(staging).await?;
        match staged.tests {
            Some(PatchApplication::Rejected) => {
                Err(check("the row's test patch does not apply".to_owned()))
            }
            Some(_) | None => Ok(staged.patch),
        }
    }

    fn options(&self) -> RunOptions {
        let timeout = self
            .spec
            .timeout_seconds
            .map_or(self.context.operation.grade_timeout, Duration::from_secs);
        RunOptions {
            timeout,
            max_output: test_log::LIMIT,
            kept: Kept {
                memory: test_log::IN_MEMORY,
                stored: test_log::LIMIT,
            },
            ..RunOptions::default()
        }
    }

    /// Keeps what the script printed.
    fn keep_log(&self, captured: Captured, timeout: Duration) -> Result<TestLog, Failure> {
        let log = TestLog::of(captured, timeout).map_err(|error| {
            Failure::file("read the test log of", self.directory.path(), &error)
        })?;
        self.directory.write("test_output.txt", &log.text)?;
        Ok(log)
    }

    fn verdict(
        &self,
        application: PatchApplication,
        ran: Option<&Ran>,
    ) -> Result<Verdict, Failure> {
        let evidence = Evidence {
            application,
            log: ran.map(|ran| &ran.parts),
            timed_out: ran.is_some_and(|ran| ran.end == End::TimedOut),
            exit_code: ran.and_then(|ran| match ran.end {
                End::Exited(code) => Some(code),
                End::ShellEnded(_)
                | End::TimedOut
                | End::Idle
                | End::OutputLimit
                | End::Cancelled => None,
            }),
        };
        let mut verdict = grade::verdict(&self.spec, &evidence).map_err(|error| Failure {
            kind: FailureKind::Check,
            message: chain(&error),
        })?;
        verdict.official.harness = self.spec.harness;
        Ok(verdict)
    }

    fn conclude(&self, ruling: Ruling) -> Result<GradeSummary, Failure> {
        let report = match ruling {
            Ruling::Known(known) => {
                self.directory.write("test_output.txt", &known.log)?;
                GradingReport {
                    cached: true,
                    ..known.report
                }
            }
            Ruling::New(mut judged) => {
                let log = std::mem::take(&mut judged.log);
                let seconds = self.started.elapsed().as_secs_f64();
                let report = conclusion::report(*judged, &self.spec, self.profile, seconds);
                if let Some(cache) = self.cache() {
                    cache.keep(&report, &log);
                }
                report
            }
        };
        conclusion::write(&self.directory, &self.job.key.instance_id, &report)?;
        Ok(conclusion::summary(&report))
    }
}

/// An evaluation script that ran.
struct Ran {
    parts: grade::LogParts,
    end: End,
}

/// The row lacks what grading needs, and will.
fn ungradable(error: &grade::SpecError) -> Traced {
    Traced {
        failure: Failure {
            kind: FailureKind::Check,
            message: chain(error),
        },
        cause: Some(Cause::Hopeless),
    }
}

/// 96 random bits as text: what the tests would have to guess to forge a mark.
fn nonce() -> io::Result<String> {
    let mut bytes = [0; 12];
    fs::File::open(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(schema::hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_differ() {
        let (one, other) = (nonce().unwrap(), nonce().unwrap());
        assert_eq!(one.len(), 24);
        assert_ne!(one, other);
    }
}
