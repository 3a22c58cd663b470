//! Parsers of datasets that the official harness does not grade.

pub(in crate::parse) mod multi_swe;
pub(super) mod pro;
pub(in crate::parse) mod r2e_gym;
pub(in crate::parse) mod swe_smith;
