//! Test runners of Java projects.

pub(super) mod ant;
pub(super) mod gradle;
pub(super) mod maven;
