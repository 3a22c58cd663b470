//! The runs of a second look, and what they come to.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use grade::tamper::{self, Look, Rerun, Restoration};
use patch::PatchPath;
use sandbox::{End, RunOptions, Sandbox};
use schema::examination::Examination;
use schema::grading::Verdict;

use crate::attempt::context::Purpose;
use crate::attempt::failure::Failure;
use crate::dispatcher::Reports;
use crate::grading::Grading;
use crate::grading::conclusion::GradingDirectory;

/// Bytes that a file of results may have.
const MAX_RESULTS: u64 = 64 << 20;

/// Why a second look came to no end.
pub(super) enum Stopped {
    /// The run was told to end.
    Cancelled,
    /// Nothing can be concluded from such a look at this instance.
    Unsound(String),
    /// It failed this time, for a reason that is not the patch's.
    Failed(String),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.message)
    }
}

/// The second look at one verdict.
pub(super) struct Inquiry<'a> {
    grading: &'a Grading<'a>,
    reports: &'a Reports,
    /// What the canaries' names are made of: the same in all runs, so that these can be compared.
    seed: u64,
    /// What the directory of results is called: it is seen by whoever runs, so it must not tell the names.
    place: u64,
    /// How often the tests were run.
    pub(super) runs: u32,
    known_fix: String,
    /// The same look at the known fix.
    control: Option<Look>,
}

impl<'a> Inquiry<'a> {
    pub(super) fn new(grading: &'a Grading<'a>, reports: &'a Reports) -> Self {
        Self {
            grading,
            reports,
            seed: 0,
            place: 0,
            runs: 0,
            known_fix: grade::known_fix(&grading.entry.row.answer).unwrap_or_default(),
            control: None,
        }
    }

    /// Looks at the patch, then at the patch without what configures the test runner, until something is proven.
    pub(super) async fn hold(
        &mut self,
        first: &Verdict,
        patch: &[u8],
        examination: &mut Examination,
    ) -> Result<Option<String>, Stopped> {
        let random = random().map_err(|error| Stopped::Failed(format!("no random bytes: {error}")));
        [self.seed, self.place] = random?;
        // Before a sandbox is started for nothing.
        self.rerun("/")?;
        let look = self.look(patch).await?;
        examination.canaries = look.canaries();
        let shown = tamper::unsound(&look);
        if let Some(proof) = self.proof(first, patch, &[], look).await? {
            return Ok(Some(proof));
        }
        let restoration = self.restoration(patch);
        if !restoration.files.is_empty() {
            examination.restored.clone_from(&restoration.files);
            let look = self.look(&restoration.patch).await?;
            if let Some(proof) = self
                .proof(first, &restoration.patch, &restoration.files, look)
                .await?
            {
                return Ok(Some(proof));
            }
        }
        shown.map_or(Ok(None), |why| Err(Stopped::Unsound(why.to_owned())))
    }

    /// What a look proves: it is no proof where the known fix shows the same, or where it does not come out twice.
    async fn proof(
        &mut self,
        first: &Verdict,
        patch: &[u8],
        restored: &[String],
        look: Look,
    ) -> Result<Option<String>, Stopped> {
        if tamper::contradiction(first, &look, None, restored).is_none() {
            return Ok(None);
        }
        if self.control.is_none() {
            let known_fix = self.known_fix.clone();
            self.control = Some(self.look(known_fix.as_bytes()).await?);
        }
        if let Some(why) = self.control.as_ref().and_then(tamper::unsound) {
            return Err(Stopped::Unsound(why.to_owned()));
        }
        let Some(found) = tamper::contradiction(first, &look, self.control.as_ref(), restored)
        else {
            return Ok(None);
        };
        let again = self.look(patch).await?;
        let same = tamper::contradiction(first, &again, self.control.as_ref(), restored);
        Ok(same
            .filter(|same| same.is_like(&found))
            .map(|_| found.to_string()))
    }

    /// The patch without its changes to runner configuration, but for what the tests or the known fix change too.
    fn restoration(&self, patch: &[u8]) -> Restoration {
        let of = |text: &str| patch::parse(text.as_bytes()).unwrap_or_default();
        let test_patch = self.test_patch();
        let spared: BTreeSet<PatchPath> = [of(test_patch), of(&self.known_fix)]
            .iter()
            .flat_map(|patch| &patch.files)
            .flat_map(|file| [file.old_path(), file.new_path()])
            .flatten()
            .cloned()
            .collect();
        let parsed = patch::parse(patch).unwrap_or_default();
        tamper::restoration(patch, &parsed, &self.grading.context.classes, &spared)
    }

    /// The script of a look, which has the framework write its results to `directory`.
    fn rerun(&self, directory: &str) -> Result<Rerun, Stopped> {
        tamper::second_look(&self.grading.spec, self.test_patch(), directory, self.seed)
            .map_err(|why| Stopped::Unsound(why.to_owned()))
    }

    fn test_patch(&self) -> &str {
        let answer = &self.grading.entry.row.answer;
        answer.test_patch.as_deref().unwrap_or_default()
    }

    /// Runs the tests with a patch in a fresh sandbox, by the script of a second look.
    async fn look(&mut self, patch: &[u8]) -> Result<Look, Stopped> {
        self.runs += 1;
        let grading = self.grading;
        let name = format!(
            "{}-g{}-x{}",
            grading.job.key.directory_name(),
            grading.job.grading,
            self.runs
        );
        let labels = grading.context.labels(&grading.job.key, name);
        let turn = &grading.context.permits.grade_start;
        let purpose = Purpose::Grade(grading.conditions());
        let started = tokio::select! {
            biased;
            () = grading.cancel.cancelled() => return Err(Stopped::Cancelled),
            started = grading.context.start_sandbox(grading.entry, labels, turn, purpose, self.reports) => started,
        };
        let lease = started.map_err(|traced| Stopped::from(traced.failure))?;
        let seen = self.look_in(lease.sandbox(), patch).await;
        lease.end().await;
        seen
    }

    async fn look_in(&self, sandbox: &Arc<Sandbox>, patch: &[u8]) -> Result<Look, Stopped> {
        let grading = self.grading;
        let directory = results_directory(sandbox, grading, self.place).await?;
        let rerun = self.rerun(&directory)?;
        let spec = grading.run_as(&rerun.script);
        let place = grading
            .directory
            .path()
            .join(format!("examination-{}", self.runs));
        let apart = Grading {
            directory: GradingDirectory::create(place)?,
            spec: grading.spec.clone(),
            cancel: grading.cancel.clone(),
            ..*grading
        };
        let judged = apart
            .try_out(sandbox, patch, &spec)
            .await?
            .ok_or(Stopped::Cancelled)?;
        let mut files = Vec::new();
        for path in &rerun.results {
            // By now everything is ended that the script started.
            files.push(match sandbox.read_apart(path, MAX_RESULTS).await {
                Ok(content) => Some(content),
                Err(sandbox::Error::Refused(_)) => None,
                Err(error) => return Err(Failure::from(error).into()),
            });
        }
        Ok(Look::new(&rerun, judged.verdict, &files))
    }
}

/// A directory outside of the repository that is not there yet, on a disk that this program can read without the sandbox's own programs.
async fn results_directory(
    sandbox: &Sandbox,
    grading: &Grading<'_>,
    place: u64,
) -> Result<String, Stopped> {
    let text = "printf %s \"${TMPDIR:-/var/tmp}\"";
    let told = sandbox
        .exec(text, &RunOptions::default(), &grading.cancel)
        .await
        .map_err(Failure::from)?;
    let root = String::from_utf8_lossy(&told.head).into_owned();
    match told.end {
        End::Cancelled => Err(Stopped::Cancelled),
        End::Exited(0) if root.starts_with('/') => {
            Ok(format!("{}/{place:016x}", root.trim_end_matches('/')))
        }
        End::Exited(_) | End::ShellEnded(_) | End::TimedOut | End::Idle | End::OutputLimit => Err(
            Stopped::Failed(String::from("the sandbox has no place for results")),
        ),
    }
}

/// Two numbers of 64 random bits.
fn random() -> std::io::Result<[u64; 2]> {
    let mut file = fs::File::open(Path::new("/dev/urandom"))?;
    let mut draw = || -> std::io::Result<u64> {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    };
    Ok([draw()?, draw()?])
}
