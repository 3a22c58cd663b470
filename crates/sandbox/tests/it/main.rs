//! Sandboxes as they are used: real repositories, real shells, real processes.

mod basics;
mod support;
