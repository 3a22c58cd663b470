//! What can be wrong with a patch or a pattern.

/// Why a text is not a patch that could be applied. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There is text, but no change to any file in it.
    #[error("parse patch: no diff found in the text")]
    NoDiff,
    /// A header that says nothing usable.
    #[error("parse patch, line {line}: {reason}")]
    Header {
        /// Where it is.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A hunk whose lines do not add up to what its header announces.
    #[error("parse patch, line {line}: {reason}")]
    Hunk {
        /// Where it breaks off.
        line: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Binary content that is not what git writes.
    #[error("parse patch, line {line}: corrupt binary content")]
    Binary {
        /// Where it is.
        line: usize,
    },
    /// The diff of a merge against several parents, which cannot be applied.
    #[error("parse patch, line {line}: a combined diff cannot be applied")]
    Combined {
        /// Where it is.
        line: usize,
    },
}

/// Why a patch cannot be turned round.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReverseError {
    /// It cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A section does not say what it takes away.
    #[error("turn the patch round: the change to `{path}` is {reason}")]
    Lossy {
        /// The section's file.
        path: String,
        /// What it is.
        reason: &'static str,
    },
}

/// A path pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read path pattern `{pattern}`")]
pub struct PatternError {
    /// The pattern as given.
    pub pattern: String,
    /// What the pattern reader says.
    #[source]
    pub source: globset::Error,
}
