//! The runner: plans a batch, runs attempts, grades patches, reports.

pub mod clock;
pub mod dispatcher;
pub mod error;
pub mod settings;
pub mod store;
