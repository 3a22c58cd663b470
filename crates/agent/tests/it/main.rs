//! The agent against in-process fakes of its ports.

#![expect(
    clippy::unwrap_used,
    reason = "a test binary: what cannot be had fails the test"
)]

mod acceptance;
mod arguments;
mod directory;
mod driver;
mod fakes;
mod resume;
mod tools;
