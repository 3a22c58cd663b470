//! What a run says about itself, derived from its journals: `results.csv`, the table, the summary.
//!
//! All of it can be rebuilt: after a kill, and by `runner grade`.

mod live;
mod results;
mod row;
mod summary;
mod table;

use std::collections::BTreeMap;

use schema::InstanceId;

pub use live::LiveResults;
pub use results::write as write_results;
pub use row::{Row, rows};
pub use summary::{Span, summarize, write as write_summary};
pub use table::table;

#[cfg(test)]
mod tests;

/// `owner/name` of each instance's repository, as its dataset says.
pub type Repositories = BTreeMap<InstanceId, String>;
