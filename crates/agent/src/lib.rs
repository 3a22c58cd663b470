//! The agent: a pure state machine, its driver, its tools.
//!
//! [`machine`] decides, [`driver`] does. The machine knows no I/O, no clock and no runtime; everything from outside comes through [`ports`].

pub mod budget;
pub mod completion;
pub mod condense;
pub mod driver;
pub mod history;
pub mod limits;
pub mod machine;
pub mod ports;
pub mod prompt;
pub mod stuck;
pub mod tools;

pub use completion::Check;
pub use driver::{Attempt, Ending};
pub use limits::Limits;
pub use machine::{Effect, Input, Machine, Settings};
pub use tools::catalog::{self, Catalog, Complaint, ToolName};
