//! What a container is doing.

use std::time::Duration;

use bollard::Docker;
use bollard::models::{ContainerState, ContainerStateStatusEnum as Status};
use bollard::query_parameters::InspectContainerOptions;

use super::call;
use super::memory::Heard;
use crate::error::Error;
use crate::place::PlaceState;

/// How long the engine may take to say.
const ANSWER: Duration = Duration::from_secs(20);

/// Exit code of a process that was killed.
const KILLED: i64 = 137;
/// How far apart the engine may date a kill for memory and the end that it was, in nanoseconds: it hears of the two in different ways.
const NEAR: i64 = 2_000_000_000;

/// Asks the engine; `heard` is what it said of kills for memory in the container.
pub(super) async fn ask(
    docker: &Docker,
    container: &str,
    heard: Heard,
) -> Result<PlaceState, Error> {
    let inspected = call::within(
        ANSWER,
        docker.inspect_container(container, None::<InspectContainerOptions>),
    )
    .await;
    match inspected {
        Ok(found) => Ok(found
            .state
            .map_or(PlaceState::Gone, |state| told(&state, heard))),
        Err(failure) if failure.status() == Some(404) => Ok(PlaceState::Gone),
        Err(failure) => Err(failure.losing(format!("ask for the state of {container}"))),
    }
}

fn told(state: &ContainerState, heard: Heard) -> PlaceState {
    match state.status {
        Some(Status::RUNNING | Status::RESTARTING) => PlaceState::Running,
        Some(Status::PAUSED) => PlaceState::Paused,
        Some(Status::REMOVING) => PlaceState::Gone,
        _ => PlaceState::Exited {
            code: state.exit_code.and_then(|code| i32::try_from(code).ok()),
            out_of_memory: state.exit_code == Some(KILLED) && was_for_memory(state, heard),
        },
    }
}

/// Whether a kill was for memory. The engine's flag says that there was such a kill at some time, not that it was the last: when one was heard of, its
/// time decides.
fn was_for_memory(state: &ContainerState, heard: Heard) -> bool {
    let Some(last) = heard.last else {
        return state.oom_killed == Some(true);
    };
    let finished = state.finished_at.as_deref();
    let finished = finished.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    finished.is_some_and(|at| {
        let at = i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX);
        at.abs_diff(last) <= NEAR.unsigned_abs()
    })
}

/// What happened to a place in which nothing can be started any more, for people.
pub(super) fn explained(state: PlaceState) -> String {
    match state {
        PlaceState::Running => String::from("its container runs, but starts nothing"),
        PlaceState::Paused => String::from("its container is paused"),
        PlaceState::Exited {
            out_of_memory: true,
            ..
        } => String::from("its container ended: its main process was killed for memory"),
        PlaceState::Exited { code, .. } => match code {
            Some(code) => format!("its container ended with exit code {code}"),
            None => String::from("its container ended"),
        },
        PlaceState::Gone => String::from("its container was removed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a second before the end, in nanoseconds since 1970.
    const SHORTLY_BEFORE: i64 = 1_700_000_000_000_000_000;

    fn ended(code: i64, flag: bool, last: Option<i64>) -> bool {
        let state = ContainerState {
            status: Some(Status::EXITED),
            exit_code: Some(code),
            oom_killed: Some(flag),
            finished_at: Some("2023-11-14T22:13:20.5Z".to_owned()),
            ..ContainerState::default()
        };
        let heard = Heard {
            kills: u64::from(last.is_some()),
            last,
        };
        match told(&state, heard) {
            PlaceState::Exited { out_of_memory, .. } => out_of_memory,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn memory_is_named_only_where_a_kill_for_it_was_the_end() {
        assert!(ended(137, true, Some(SHORTLY_BEFORE)));
        assert!(ended(137, false, Some(SHORTLY_BEFORE)));
        assert!(ended(137, true, None));
        assert!(!ended(137, false, None));
        // An earlier kill, after which somebody killed the container.
        assert!(!ended(137, true, Some(SHORTLY_BEFORE - 60_000_000_000)));
        assert!(!ended(137, false, Some(SHORTLY_BEFORE - 60_000_000_000)));
        // The main process ended by itself.
        assert!(!ended(0, true, Some(SHORTLY_BEFORE)));
        assert!(!ended(1, true, None));
    }
}
