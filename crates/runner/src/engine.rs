//! Engines that go away: starts wait for them, and a run whose engine stays away ends.

use std::time::Duration;

use sandbox::place::{Backend, EngineState, EngineWatch};
use schema::{FailureKind, Outcome};
use tokio::time::{Instant, timeout};

use crate::dispatcher::{Cause, Reports};

/// Tells of the engine's outages as they come, and of one that lasts longer than `wait`, after which it tells nothing more.
pub async fn watch(mut engine: EngineWatch, wait: Duration, reports: Reports) {
    let name = engine.name.clone();
    while let Ok(problem) = away(&mut engine).await {
        let started = Instant::now();
        reports
            .warn(format!(
                "{name} does not answer ({problem}): no instance starts for now; it is asked again for {} s (--engine-wait)",
                wait.as_secs()
            ))
            .await;
        match timeout(wait, answers(&mut engine)).await {
            Ok(true) => {
                let seconds = started.elapsed().as_secs();
                // What is removed before starts go on takes its own time; an engine that goes away meanwhile is told of anew.
                if !settled(&mut engine).await {
                    continue;
                }
                reports
                    .warn(format!(
                        "{name} answers again after {seconds} s: instances start, and those that it lost are tried again"
                    ))
                    .await;
            }
            // Nobody looks after the engine any more: the run is over.
            Ok(false) => return,
            Err(_) => {
                let reason = format!("{name} did not answer for {} s: {problem}", wait.as_secs());
                return reports.engine_gone(reason, engine.hint).await;
            }
        }
    }
}

/// Waits until the engine is away; says why.
async fn away(engine: &mut EngineWatch) -> Result<String, tokio::sync::watch::error::RecvError> {
    let state = engine
        .state
        .wait_for(|state| state.problem().is_some())
        .await?;
    Ok(state.problem().unwrap_or_default().to_owned())
}

/// Waits until the engine answers; whether anybody still knows.
async fn answers(engine: &mut EngineWatch) -> bool {
    let state = engine.state.wait_for(|state| state.problem().is_none());
    state.await.is_ok()
}

/// Waits until an engine that answers is ready, or is away again; whether it is ready.
async fn settled(engine: &mut EngineWatch) -> bool {
    let settled = |state: &EngineState| state.is_ready() || state.problem().is_some();
    let state = engine.state.wait_for(settled).await;
    state.is_ok_and(|state| state.is_ready())
}

/// Waits until the backend's engine is ready; how many times it went away until now.
pub async fn up(backend: &dyn Backend) -> u64 {
    let Some(mut engine) = backend.engine() else {
        return 0;
    };
    let state = engine.state.wait_for(EngineState::is_ready).await;
    state.map_or(0, |state| state.outages)
}

/// The outage that a failure comes from, of something that began when the engine had gone away `before` times.
pub async fn outage(backend: &dyn Backend, before: u64, outcome: &Outcome) -> Option<Cause> {
    let Outcome::Failed { reason, .. } = outcome else {
        return None;
    };
    is_the_engines(*reason).then_some(())?;
    let EngineState { outages, .. } = backend.ask_engine().await;
    (outages > before).then_some(Cause::Outage(outages))
}

/// Whether an engine that goes away fails things in this way.
fn is_the_engines(kind: FailureKind) -> bool {
    match kind {
        FailureKind::EnvironmentStart | FailureKind::EnvironmentLost => true,
        FailureKind::Model(_)
        | FailureKind::EnvironmentImage
        | FailureKind::EnvironmentRegistry
        | FailureKind::EnvironmentDisk
        | FailureKind::Check
        | FailureKind::Internal => false,
    }
}
