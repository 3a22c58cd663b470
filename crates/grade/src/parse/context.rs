//! What parsers know beside the log.

use schema::grading::{GradingSpec, Harness};

/// What some parsers choose their rules by.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// Generation of the official harness.
    pub harness: Harness,
    /// Id of the instance.
    pub instance_id: &'a str,
    /// Version of the project.
    pub version: &'a str,
}

impl<'a> From<&'a GradingSpec> for Context<'a> {
    fn from(spec: &'a GradingSpec) -> Self {
        Self {
            harness: spec.harness,
            instance_id: &spec.instance_id,
            version: &spec.version,
        }
    }
}
