//! What a container is doing.

use std::time::Duration;

use bollard::Docker;
use bollard::models::{ContainerState, ContainerStateStatusEnum as Status};
use bollard::query_parameters::InspectContainerOptions;

use super::call;
use crate::error::Error;
use crate::place::PlaceState;

/// How long the engine may take to say.
const ANSWER: Duration = Duration::from_secs(20);

/// Exit code of a process that was killed.
const KILLED: i64 = 137;

/// Asks the engine; `killed` says whether something in the container was killed for memory, which the engine's own flag says only of some.
pub(super) async fn ask(
    docker: &Docker,
    container: &str,
    killed: bool,
) -> Result<PlaceState, Error> {
    let inspected = call::within(
        ANSWER,
        docker.inspect_container(container, None::<InspectContainerOptions>),
    )
    .await;
    match inspected {
        Ok(found) => Ok(found
            .state
            .map_or(PlaceState::Gone, |state| told(&state, killed))),
        Err(failure) if failure.status() == Some(404) => Ok(PlaceState::Gone),
        Err(failure) => Err(failure.losing(format!("ask for the state of {container}"))),
    }
}

fn told(state: &ContainerState, killed: bool) -> PlaceState {
    match state.status {
        Some(Status::RUNNING | Status::RESTARTING) => PlaceState::Running,
        Some(Status::PAUSED) => PlaceState::Paused,
        Some(Status::REMOVING) => PlaceState::Gone,
        _ => PlaceState::Exited {
            code: state.exit_code.and_then(|code| i32::try_from(code).ok()),
            out_of_memory: state.oom_killed == Some(true)
                || (killed && state.exit_code == Some(KILLED)),
        },
    }
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
