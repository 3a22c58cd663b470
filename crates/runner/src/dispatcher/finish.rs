//! The end of a run: sandboxes removed, derived files whole, the exit code known.

use std::time::Instant;

use schema::{Outcome, RunEvent};
use tokio::time::timeout;

use super::ending::{Facts, Tally, exit_code, gates_met};
use super::live::RunEnd;
use super::{CLEAN_LIMIT, Dispatcher, NOW_LIMIT};
use crate::error::Error;
use crate::store::derived;

impl Dispatcher {
    pub(super) fn write_derived(&mut self) {
        self.sync();
        if self.broken.is_some() {
            return;
        }
        let started = Instant::now();
        let written = derived::write_predictions(
            &self.store.run,
            &self.store.ledger,
            &self.policy.predictions,
        );
        self.schedule.wrote(started.elapsed());
        self.check(written);
    }

    pub(super) async fn end(mut self) -> Result<RunEnd, Error> {
        // What they hold is given back as they are torn down, and only then is it seen what is left.
        let _ = timeout(NOW_LIMIT, self.tasks.shutdown()).await;
        self.executor.clean(CLEAN_LIMIT).await;
        self.write_derived();
        let settled = derived::settle(&self.store.run, &self.ended);
        self.check(settled);
        let facts = self.facts();
        let exit_code = exit_code(&facts);
        self.emit(RunEvent::RunFinished { exit_code });
        self.sync();
        self.audience.live.send_modify(|live| live.running.clear());
        if let Some(error) = self.broken {
            return Err(error);
        }
        self.store.writer.finish()?;
        let outcomes = outcomes(&self.store.ledger, &self.selected);
        Ok(RunEnd {
            exit_code,
            aborted: self.aborted,
            advice: self.advice,
            interrupted: self.signal.map(crate::signals::Signal::name),
            outcomes,
            kept: self.kept,
        })
    }

    fn facts(&self) -> Facts {
        let tally = Tally::of(&self.store.ledger, |id, sample| {
            self.selected.contains(&(id.clone(), sample))
        });
        Facts {
            signal: self.signal,
            bug: self.bug || tally.bugs > 0,
            aborted: self.aborted.is_some(),
            infra_failures: tally.infra_failures,
            max_infra_failures: self.policy.max_infra_failures,
            gates_met: gates_met(&self.policy, &tally, self.selected.len()),
        }
    }
}

fn outcomes(
    ledger: &crate::store::ledger::Ledger,
    selected: &std::collections::HashSet<(schema::InstanceId, u32)>,
) -> Vec<(schema::AttemptKey, Outcome)> {
    ledger
        .samples()
        .filter(|(id, number, _)| selected.contains(&((*id).clone(), *number)))
        .filter_map(|(id, sample, attempts)| {
            let (attempt, _, end) = attempts.counting()?;
            let key = schema::AttemptKey {
                instance_id: id.clone(),
                sample,
                attempt,
            };
            Some((key, end.outcome.clone()))
        })
        .collect()
}
