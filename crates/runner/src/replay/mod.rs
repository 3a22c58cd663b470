//! `runner replay`: does again, in a fresh sandbox, what a trajectory recorded, and says where it first went another way.
//!
//! The recorded replies drive the real agent and its tools; what the tools and the checks answer, and what the agent makes of it, must be as
//! recorded. Durations and the sandbox's own paths differ from run to run, so they do not count.

mod acting;
mod compare;
mod model;
mod recording;
mod volatile;

pub use acting::{ACTING, Acting};
pub use compare::{Comparison, Divergence, Watch};
pub use model::Recorded;
pub use recording::{Recording, Unreadable};
pub use volatile::Volatile;
