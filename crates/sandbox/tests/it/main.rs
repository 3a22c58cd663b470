//! Sandboxes as they are used: real repositories, real shells, real processes.

#![expect(
    clippy::unwrap_used,
    reason = "a failure in a helper is the test's failure"
)]

mod apptainer;
mod archived;
mod bases;
mod basics;
mod deaf;
mod diffs;
mod docker_escapes;
mod docker_images;
mod docker_lifecycle;
mod docker_limits;
mod docker_network;
mod docker_pulls;
mod docker_ruins;
mod docker_sandbox;
mod docker_shell;
mod docker_support;
mod docker_tunnel;
mod files;
mod hostile;
mod lifecycle;
mod limits;
mod origin;
mod patches;
mod podman;
mod seals;
mod shell_table;
mod shells;
mod sources;
mod support;
