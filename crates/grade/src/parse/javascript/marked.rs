//! jasmine's list of failures, as marked prints it: `1) name`.
//!
//! Rules of `parse_log_marked`, the same in SWE-bench 4.1.0 and 5.0.2. Graded as `fail_only`.

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::numbered;
use crate::parse::result::Parsed;
use crate::parse::text::{after_digits, after_space, strip};

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    for (number, line) in numbered(log) {
        let rest = after_digits(line).and_then(|rest| rest.strip_prefix(')'));
        if let Some(name) = rest.and_then(after_space) {
            parsed.found(strip(name), TestStatus::Failed, number);
        }
    }
    parsed
}
