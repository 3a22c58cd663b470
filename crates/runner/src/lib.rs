//! The runner: plans a batch, runs attempts, grades patches, reports.

pub mod attempt;
pub mod backends;
pub mod batch;
pub mod breaker;
pub mod cli;
pub mod clock;
pub mod disk;
pub mod dispatcher;
pub mod doctor;
pub mod error;
pub mod exit;
pub mod grading;
pub mod hidden;
pub mod layers;
pub mod lease;
pub mod one_off;
pub mod plan;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod repositories;
pub mod settings;
pub mod signals;
pub mod store;
pub mod ui;
pub mod workspace;
