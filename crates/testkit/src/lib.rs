//! Fakes that speak wires, for tests only.
//!
//! [`FakeServer`] is an HTTP server that misbehaves as told; [`StrictChat`] is a chat-completions server that refuses what
//! the real service refuses and answers from a script, [`StrictAnthropic`] the same for Anthropic's messages,
//! [`StrictResponses`] for OpenAI's Responses. [`docker_image`] names real container images and builds them where needed;
//! [`PrivateEngine`] is a real engine of a test's own, to be killed and started again, [`Registry`] a real registry of images. [`conformance`] finds real files of other tools.
#![expect(
    clippy::expect_used,
    reason = "a fake that cannot do its work should fail the test that uses it"
)]

pub mod answer;
mod apptainer;
mod bridge;
mod conformance;
mod containers;
mod engine;
pub mod hub;
mod images;
mod kept;
mod permitted;
mod podman;
mod registry;
mod requirement;
mod server;
mod strict;
pub mod strict_anthropic;
pub mod strict_chat;
pub mod strict_openai_responses;

pub use answer::Answer;
pub use apptainer::{apptainer, apptainer_file, apptainer_image};
pub use conformance::{Pair, conformance, pairs};
pub use containers::remove_containers;
pub use engine::{EngineDisk, EngineOptions, PrivateEngine};
pub use images::docker_image;
pub use permitted::permitted;
pub use podman::podman_image;
pub use registry::{Registry, too_many_requests};
pub use requirement::missing;
pub use server::{Captured, FakeServer, refused_url};
pub use strict_anthropic::StrictAnthropic;
pub use strict_chat::{Said, StrictChat};
pub use strict_openai_responses::StrictResponses;
