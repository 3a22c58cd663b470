//! Parsers of datasets that the official harness does not grade.

pub(super) mod pro;
pub(in crate::parse) mod r2e_gym;
pub(super) mod swe_smith;
