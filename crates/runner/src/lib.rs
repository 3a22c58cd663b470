//! The runner: plans a batch, runs attempts, grades patches, reports.
