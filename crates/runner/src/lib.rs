//! The runner: plans a batch, runs attempts, grades patches, reports.

pub mod cli;
pub mod clock;
pub mod dispatcher;
pub mod error;
pub mod exit;
pub mod layers;
pub mod report;
pub mod settings;
pub mod store;
pub mod ui;
