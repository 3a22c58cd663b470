//! The only place that prints. stdout is data, stderr is everything else.

pub mod display;
mod downloads;
pub mod escape;
mod log;
mod plural;
mod printer;
pub mod pulls;
mod size;
pub mod terminal;

pub use downloads::downloads;
pub use log::{log, report_panics};
pub use plural::count;
pub use printer::{Printer, Style, clap_error};
pub use size::size;
