//! A workspace that is more than can be compared: that is its agent's doing, not the sandbox's.

use std::error::Error as StdError;
use std::io;

use super::archive::ArchiveError;
use crate::error::{Cause, Error};

/// What there is too much of.
#[derive(Debug, thiserror::Error)]
#[error("the workspace {0}")]
pub(super) struct Excess(pub(super) &'static str);

impl Excess {
    pub(super) fn error(what: &'static str) -> io::Error {
        io::Error::other(Self(what))
    }
}

/// Whether an error tells of one.
pub(super) fn is_told_by(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn StdError + Send + Sync>::is::<Excess>)
}

/// The failure of an operation on the workspace, which is refused where there is too much of it.
pub(super) fn failed(operation: String, cause: Cause) -> Error {
    match told(cause.as_ref()) {
        Some(excess) => Error::Refused(excess),
        None => Error::lost(operation, cause),
    }
}

fn told(cause: &(dyn StdError + 'static)) -> Option<String> {
    tells(cause).or_else(|| told(cause.source()?))
}

fn tells(cause: &(dyn StdError + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<io::Error>() {
        let excess = error.get_ref()?.downcast_ref::<Excess>()?;
        return Some(excess.to_string());
    }
    match cause.downcast_ref::<ArchiveError>()? {
        excess
        @ (ArchiveError::HugeFile { .. } | ArchiveError::TooMuch | ArchiveError::TooMany) => {
            Some(excess.to_string())
        }
        ArchiveError::Stream(_)
        | ArchiveError::Damaged(_)
        | ArchiveError::Name(_)
        | ArchiveError::Spool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_and_all_else_is_lost() {
        let failed = |cause: Cause| failed("read /testbed".to_owned(), cause);
        let huge = ArchiveError::HugeFile {
            name: "core".to_owned(),
            size: 9 << 30,
        };
        let Error::Refused(said) = failed(huge.into()) else {
            panic!("a huge file is no loss");
        };
        assert!(said.contains("`core`"), "{said}");
        let slow = failed(Excess::error("takes too long").into());
        assert!(matches!(slow, Error::Refused(_)), "{slow:?}");
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        let lost = failed(ArchiveError::Stream(broken).into());
        assert!(matches!(lost, Error::Lost { .. }), "{lost:?}");
    }
}
