//! mocha's list of failures, as `ESLint` prints it: `  1) suite name` up to the line of the error.
//!
//! Rules of `parse_log_eslint` of SWE-bench 5.0.2 (there is none in 4.1.0). Graded as `fail_only`.

use std::sync::LazyLock;

use super::failures::{Form, read};
use crate::parse::context::Context;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    static FORMS: LazyLock<[Form; 1]> =
        LazyLock::new(|| [Form::new("Error", 1, r"\s{2}\d+\)((?s:.*?))\s+.*Error")]);
    read(log, &*FORMS, true)
}
