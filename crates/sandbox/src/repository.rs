//! The repository of an instance: prepared once, checked out sealed for each attempt, compared with its start, patched for grading.

mod apply;
pub(crate) mod archive;
mod base;
mod baseline;
mod bundle;
mod chain;
mod change;
mod checkout;
mod diff;
mod excess;
mod fuzzy;
mod git_program;
mod headers;
mod history;
mod ignore;
mod inside;
mod odb;
mod pack;
mod prepare;
mod program;
mod proof;
mod seal;
mod snapshot;
mod source;
mod submodules;
mod survey;
mod tree;
mod unified;
mod unpacked;
mod worktree;

use tokio::sync::Semaphore;

use crate::error::Error;

pub use apply::{Staged, Staging};
pub use change::StartChange;
pub use diff::{Omission, WorkspaceDiff};
pub use inside::{Fallback, ImageRepositories, Origin};
pub use prepare::{Prepared, check, prepare, prepare_changed, prepare_unpacked};
pub use proof::{PatchParts, PatchProof};
pub use seal::{BaseCommit, ImageState, LeftOut, SealRecord};
pub use source::Source;
pub use unpacked::Unpacked;

pub(crate) use apply::{stage, stage_in};
pub(crate) use checkout::{Start, checkout};
pub(crate) use diff::{diff, diff_of};
pub(crate) use inside::{ImageNames, Inside, Packer, Started, start};
pub(crate) use proof::prove;
pub(crate) use snapshot::Owner;
pub(crate) use worktree::{Worktree, split};

/// Checkouts and comparisons that run at once: more only take memory from each other.
static WORK: Semaphore = Semaphore::const_new(4);

/// Runs work on a repository, which blocks, when it is its turn.
pub(crate) async fn work<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // The semaphore is never closed.
    let _permit = WORK.acquire().await;
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|panic| Err(Error::lost("work on the sandbox's repository", panic)))
}
