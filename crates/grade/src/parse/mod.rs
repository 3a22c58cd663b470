//! Parsers that find the tests in a log, by name.
//!
//! A family of rules is a file of its own, and says where its rules are from. Each gives the results as the official parser names them, to the
//! letter, and beside them those with whole names where the official ones are cut.

mod context;
mod lines;
mod pattern;
mod registry;
mod result;
mod suites;
mod text;

mod c;
mod elsewhere;
mod go;
mod java;
mod javascript;
mod php;
mod python;
mod ruby;
mod rust;
mod tap;

pub use context::Context;
pub(crate) use elsewhere::r2e_gym::compared as r2e_gym_names;
pub use registry::{Parser, UnknownParser, known, parser};
pub use result::{Parsed, TestResult, Word};
