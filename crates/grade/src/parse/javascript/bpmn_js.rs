//! karma's failures, as bpmn-js prints them in several browsers.
//!
//! Rules of `parse_log_bpmn_js` of SWE-bench 5.0.2 (there is none in 4.1.0). Names keep the space before `FAILED`. Graded as `fail_only`.

use std::sync::LazyLock;

use super::failures::{Form, read};
use crate::parse::context::Context;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    static FORMS: LazyLock<[Form; 4]> = LazyLock::new(|| {
        let form = |group, browser: &str, system: &str| {
            let pattern = format!(r"{browser}\s\(Linux{system}\)\s(.*)FAILED\n");
            Form::new("FAILED\n", group, &pattern)
        };
        [
            form(1, r"2KPhantomJS\s[\d.]+", r"\s[\d.]+"),
            form(1, r"2KPhantomJS\s[\d.]+", r"\sx86_64"),
            form(2, r"Chrome\sHeadless\s(.*)", r"\sx86_64"),
            form(1, r"HeadlessChrome\s[\d.]+", r"\s[\d.]+"),
        ]
    });
    read(log, &*FORMS, false)
}
