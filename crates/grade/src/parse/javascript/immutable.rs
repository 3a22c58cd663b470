//! Immutable.js, whose instances use one of two forms of jest.
//!
//! Rules of `parse_log_immutable_js`, the same in SWE-bench 4.1.0 and 5.0.2: the number of the pull request decides. For another one the
//! official parser breaks off; we read both.

use super::jest;
use crate::parse::context::Context;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, context: &Context<'_>) -> Parsed<'a> {
    match context.instance_id.rsplit('-').next() {
        Some("2006") => jest::parse(log, context),
        Some("2005") => jest::parse_json(log, context),
        _ => {
            let mut parsed = jest::parse(log, context);
            let json = jest::parse_json(log, context);
            parsed
                .whole
                .get_or_insert_default()
                .extend(json.official.iter().cloned());
            parsed.official.extend(json.official);
            parsed.unknown_instance(context);
            parsed
        }
    }
}
