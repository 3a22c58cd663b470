//! What a run says about itself, derived from its journals: `results.csv`, the table, the summary, `report.json`, `report.md`, the official summary.
//!
//! All of it can be rebuilt: after a kill, and by `runner grade`.

mod live;
pub mod markdown;
pub mod official;
mod rebuild;
mod results;
mod row;
mod summary;
mod table;
mod verdicts;

use std::collections::BTreeMap;

use schema::InstanceId;

pub use live::LiveResults;
pub use rebuild::{Rebuilt, rebuild, repositories};
pub use results::write as write_results;
pub use row::{Row, rows};
pub use summary::{Span, summarize};
pub use table::table;
pub use verdicts::instances;

#[cfg(test)]
mod tests;

/// `owner/name` of each instance's repository, as its dataset says.
pub type Repositories = BTreeMap<InstanceId, String>;
