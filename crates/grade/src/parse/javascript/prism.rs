//! mocha's JSON reporter, as Prism's tests print it.
//!
//! Rules of `parse_log_prismjs` of SWE-bench 5.0.2 (there is none in 4.1.0). A report that is cut breaks the official parser off.

use super::mocha_json;
use crate::parse::context::Context;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    mocha_json::read(
        log,
        "./node_modules/.bin/mocha tests/run.js --reporter json",
    )
}
