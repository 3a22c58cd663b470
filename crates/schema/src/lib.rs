//! What things are: instances, tasks, messages, events, outcomes, predictions, verdicts.
//!
//! Pure data and the rules that belong to the data alone. Nothing here does I/O, knows a clock or a runtime.
//! Every file format that Patchmill writes is one of these types; [`version`] holds their format versions.

pub mod bucket;
pub mod event;
pub mod examination;
pub mod failure;
pub mod grading;
mod hex;
pub mod instance;
pub mod journal;
pub mod message;
pub mod near;
pub mod outcome;
pub mod prediction;
pub mod quarantine;
pub mod raw;
pub mod report;
pub mod seconds;
pub mod task;
pub mod trajectory;
pub mod validation;
pub mod version;

pub use bucket::Bucket;
pub use event::{Elapsed, Event, Record};
pub use examination::{Examination, TamperCheck};
pub use failure::{FailureKind, ModelFailureKind};
pub use grading::{EvalType, GradingSpec, TestStatus, Verdict};
pub use hex::hex;
pub use instance::{AnswerKey, Instance, InstanceId};
pub use journal::{AttemptKey, RunEvent};
pub use message::{FinishReason, Reply, ToolCall, ToolResult, Turn, Usage};
pub use outcome::{Outcome, StopReason};
pub use prediction::Prediction;
pub use raw::RawJson;
pub use task::Task;
pub use trajectory::{Header, Trajectory};
pub use version::FormatVersion;
