//! karma's failures, as Chart.js prints them: `Chrome 99.0 (Linux x86_64) name FAILED`.
//!
//! Rules of `parse_log_chart_js`, the same in SWE-bench 4.1.0 and 5.0.2, terminal sequences taken out first. Graded as `fail_only`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::failures::{Form, read};
use crate::parse::context::Context;
use crate::parse::result::Parsed;
use crate::parse::text::without_escapes;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    static FORMS: LazyLock<[Form; 1]> = LazyLock::new(|| {
        // Between the parts is white space that ends no line.
        let gap = r"[\s&&[^\r\n]]";
        let pattern = format!(r"(?m)Chrome\s[\d.]+{gap}\(.+?\){gap}(.*)FAILED$");
        [Form::new("FAILED", 1, &pattern)]
    });
    match without_escapes(log) {
        Cow::Borrowed(log) => read(log, &*FORMS, false),
        Cow::Owned(log) => read(&log, &*FORMS, false).into_owned(),
    }
}
