//! Test runners of C and C++ projects.

pub(super) mod doctest;
pub(super) mod googletest;
pub(super) mod jq;
pub(super) mod micropython;
pub(super) mod redis;
