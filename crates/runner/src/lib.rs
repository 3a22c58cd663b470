//! The runner: plans a batch, runs attempts, grades patches, reports.

pub mod settings;
