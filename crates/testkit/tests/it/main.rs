//! What continuous integration requires of the machine that it runs on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod requirements;
