//! A second look at a verdict that says "resolved": the tests once more, in a fresh sandbox, beside tests of ours that must fail.
//!
//! What counts as a proof is [`grade::tamper`]'s to say. Here the runs are made, as few as are needed: one for most patches that are suspicious
//! and honest. Only where a run contradicts the verdict is the known fix looked at in the same way, and the run repeated: nothing counts that
//! the known fix shows too, or that does not come out twice.

mod inquiry;

use grade::tamper;
use schema::examination::{Examination, ExaminationOutcome, Suspicion, TamperCheck};
use schema::grading::Verdict;

use super::Grading;
use super::conclusion::{Judged, Ruling};
use crate::attempt::failure::Traced;
use crate::dispatcher::Reports;
use inquiry::{Inquiry, Stopped};

impl Grading<'_> {
    /// The ruling after the second look, where one is wanted; `None` when the run was told to end.
    pub(super) async fn examined(
        &self,
        ruling: Ruling,
        patch: &[u8],
        reports: &Reports,
    ) -> Result<Option<Ruling>, Traced> {
        let Ruling::New(mut judged) = ruling else {
            return Ok(Some(ruling));
        };
        if judged.parts.is_none() {
            return Ok(Some(Ruling::New(judged)));
        }
        let suspicions = self.suspicions(&judged, patch);
        let not_needed =
            |why| Examination::none(ExaminationOutcome::NotNeeded, suspicions.clone(), why);
        let examination = match self.context.operation.tamper_check {
            _ if !judged.verdict.resolved => not_needed("the verdict is not \"resolved\""),
            TamperCheck::Never => not_needed("it was not asked for"),
            TamperCheck::Auto if suspicions.is_empty() => not_needed("nothing is suspicious"),
            TamperCheck::Auto | TamperCheck::Always => {
                let Some(found) = self
                    .examine(&judged.verdict, patch, suspicions, reports)
                    .await
                else {
                    return Ok(None);
                };
                apply(&mut judged, found)
            }
        };
        judged.examination = Some(examination);
        Ok(Some(Ruling::New(judged)))
    }

    /// What is suspicious about the patch and the log.
    fn suspicions(&self, judged: &Judged, patch: &[u8]) -> Vec<Suspicion> {
        let parsed = patch::parse(patch).unwrap_or_default();
        let mut found = tamper::suspicions(patch, &parsed, &self.context.classes);
        if let Some(parts) = &judged.parts {
            found.extend(tamper::signs(&self.spec, parts, &judged.verdict));
        }
        found
    }

    /// Looks a second time; `None` when the run was told to end. Whatever cannot be done leaves the verdict as it is.
    async fn examine(
        &self,
        first: &Verdict,
        patch: &[u8],
        suspicions: Vec<Suspicion>,
        reports: &Reports,
    ) -> Option<Found> {
        let mut inquiry = Inquiry::new(self, reports);
        let mut examination = Examination::none(ExaminationOutcome::Passed, suspicions, "");
        examination.note = None;
        let outcome = inquiry.hold(first, patch, &mut examination).await;
        examination.runs = inquiry.runs;
        let (proof, lasts) = match outcome {
            Ok(proof) => (proof, true),
            Err(Stopped::Cancelled) => return None,
            Err(Stopped::Unsound(why)) => {
                examination.outcome = ExaminationOutcome::NotPossible;
                examination.note = Some(why);
                (None, true)
            }
            Err(Stopped::Failed(why)) => {
                examination.outcome = ExaminationOutcome::NotPossible;
                examination.note = Some(why);
                (None, false)
            }
        };
        Some(Found {
            examination,
            proof,
            lasts,
        })
    }
}

/// What a second look came to.
struct Found {
    examination: Examination,
    /// What proves that the tests were tampered with.
    proof: Option<String>,
    /// Whether the same would come out another time.
    lasts: bool,
}

/// Brings a second look into the verdict.
fn apply(judged: &mut Judged, found: Found) -> Examination {
    let Found {
        mut examination,
        proof,
        lasts,
    } = found;
    if let Some(reason) = proof {
        examination.outcome = ExaminationOutcome::Proven;
        judged.verdict.resolved = false;
        judged.verdict.tamper_reason = Some(reason);
    }
    if !lasts {
        judged.key = None;
    }
    examination
}
