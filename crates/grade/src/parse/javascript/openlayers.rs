//! The failures of `OpenLayers`' three suites: karma's, mocha's and those of rendered images.
//!
//! Rules of `parse_log_openlayers` of SWE-bench 5.0.2 (there is none in 4.1.0). Graded as `fail_only`.

use std::sync::LazyLock;

use super::failures::{Form, read};
use crate::parse::context::Context;
use crate::parse::result::Parsed;

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    static FORMS: LazyLock<[Form; 4]> = LazyLock::new(|| {
        let system = r"\(Linux\s[^\s]+\)";
        [
            Form::new(
                "FAILED\n",
                1,
                &format!(r"Chrome\sHeadless\s[\d.]+\s{system}\s(.*)\sFAILED\n"),
            ),
            Form::new(
                "FAILED\n",
                1,
                &format!(r"Chrome\s[\d.]+\s{system}\s(.*)FAILED\n"),
            ),
            Form::new("Error:", 1, r"(?m)^\s{2}\d+\)((?s:.*?))Error:"),
            Form::new("mismatch", 1, r"(?m)^case\s(.*):\smismatch"),
        ]
    });
    read(log, &*FORMS, true)
}
