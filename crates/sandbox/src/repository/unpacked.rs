//! A bundle whose pack was indexed ahead, once for all that is prepared from it.

use std::path::{Path, PathBuf};

use super::bundle;
use super::prepare::find_base;
use super::source::Source;
use crate::error::Error;
use crate::place::{directory, removal};

/// A bundle, unpacked into a directory that goes with this value.
#[derive(Debug)]
pub struct Unpacked {
    pub(super) bundle: PathBuf,
    directory: PathBuf,
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // What stays is found again as an orphan.
        let _ = removal::remove_tree(&self.directory);
    }
}

impl Unpacked {
    /// Indexes the pack of `bundle` below `root`, the directory of the sandboxes. Blocks.
    ///
    /// # Errors
    /// When the bundle cannot be read, or its pack is broken.
    pub fn of(bundle: &Path, root: &Path) -> Result<Self, Error> {
        let failed = |error| Error::start(format!("unpack {}", bundle.display()), error);
        let root = std::fs::create_dir_all(root)
            .and_then(|()| root.canonicalize())
            .map_err(failed)?;
        let unpacked = Self {
            bundle: bundle.to_owned(),
            directory: directory::create_kin(&root).map_err(failed)?,
        };
        bundle::unpack(bundle, &unpacked.directory)?;
        Ok(unpacked)
    }

    /// Looks whether it has `base_commit`, or says which of its tips is meant where none is named.
    ///
    /// # Errors
    /// When it has not, or does not.
    pub fn check(&self, base_commit: Option<&str>) -> Result<(), Error> {
        find_base(&self.bundle, &self.open()?, base_commit).map(drop)
    }

    pub(super) fn open(&self) -> Result<Source, Error> {
        bundle::open_unpacked(&self.bundle, &self.directory).map(Source::Bundle)
    }
}
