//! Grading: evaluation scripts, log parsers, verdicts. Pure.
//!
//! The runner puts a patch on a clean tree and runs [`eval_script::wrap`]'s script; [`log::read`] takes its output apart, a parser from
//! [`parse`] finds the tests in it, [`verdict::verdict`] says what they mean, and [`official`] says it in the official harness's words.

pub mod bucket;
mod criterion;
pub mod directives;
pub mod eval_script;
pub mod evaluation;
pub mod log;
mod near;
pub mod official;
pub mod parse;
pub mod reading;
mod results;
pub mod rules;
pub mod spec;
pub mod stats;
pub mod status_map;
pub mod tamper;
pub mod verdict;

pub use eval_script::wrap;
pub use evaluation::{Expected, evaluate};
pub use log::LogParts;
pub use parse::{Context, Parsed, Parser, TestResult, UnknownParser, Word, parser};
pub use reading::Reading;
pub use rules::{Rules, RulesError};
pub use spec::{Resolved, SpecError, TestPaths, known_fix, resolve, test_paths, withheld_tests};
pub use status_map::StatusMap;
pub use verdict::{Evidence, verdict};
