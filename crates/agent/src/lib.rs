//! The agent: a pure state machine, its driver, its tools.

pub mod ports;
