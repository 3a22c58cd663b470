//! Test runners of Ruby projects.

pub(super) mod cucumber;
pub(super) mod jekyll;
pub(super) mod minitest;
pub(super) mod rspec;
pub(super) mod test_unit;
