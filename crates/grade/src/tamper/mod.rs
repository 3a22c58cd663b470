//! Whether a log that says "resolved" may be believed.
//!
//! What runs the tests lies in the hands of whoever wrote the patch: a hook, a plugin, a start-up file or the tested code itself can make every
//! test pass. [`suspicions`] says where a second look pays. For that look the tests are run again, in a fresh sandbox, by a script that
//! [`second_look`] changes: it names tests of ours beside the instance's own, which must fail, and asks the framework for its results in a form
//! that machines read. [`contradiction`] compares what comes of it with the same look at the known fix. `docs/design/tampering.md` has the rules.

mod canary;
mod commands;
mod contradiction;
mod language;
mod look;
mod rerun;
mod restoration;
mod results_file;
mod signs;
mod suspicion;

pub use canary::{CanaryFile, CanaryTest, Neighbours, canaries};
pub use contradiction::{Contradiction, contradiction};
pub use language::Language;
pub use look::{Look, unsound};
pub use rerun::{Rerun, second_look};
pub use restoration::{Restoration, restoration};
pub use results_file::{CaseResult, ResultsFile};
pub use signs::{late_results, signs};
pub use suspicion::suspicions;
