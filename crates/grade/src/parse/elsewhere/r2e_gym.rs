//! R2E-Gym: the short summary of pytest, of which the parts of a name after the file count, joined by dots.
//!
//! Rules of `parse_log_pytest` and of the comparison in R2E-Gym (`src/r2egym`): only what stands between the first heading of the summary and
//! the next counts, colours of one number are taken out of names, a reason too.

use std::borrow::Cow;

use schema::grading::TestStatus;

use crate::parse::context::Context;
use crate::parse::lines::Places;
use crate::parse::result::Parsed;
use crate::parse::text::strip;

const HEADING: &str = "short test summary info";

pub(in crate::parse) fn parse<'a>(log: &'a str, _: &Context<'_>) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    let Some(summary) = log.split(HEADING).nth(1) else {
        return parsed;
    };
    let summary = strip(summary);
    let first = Places::of(log).line(summary.as_ptr() as usize - log.as_ptr() as usize);
    let found = [
        ("PASSED", TestStatus::Passed),
        ("FAILED", TestStatus::Failed),
        ("ERROR", TestStatus::Error),
    ];
    for (at, line) in summary.split('\n').enumerate() {
        if let Some((_, status)) = found.into_iter().find(|(word, _)| line.contains(word)) {
            parsed.found(name(line), status, first + at);
        }
    }
    parsed
}

fn name(line: &str) -> Cow<'_, str> {
    let parts = line.split_once("::").map_or("", |(_, parts)| parts);
    if !parts.contains("::") {
        return plain(parts);
    }
    Cow::Owned(plain(&parts.replace("::", ".")).into_owned())
}

/// A name as it is compared: without colours of one number, up to the reason.
pub(crate) fn plain(name: &str) -> Cow<'_, str> {
    let cut = |name: &str| name.find(" - ").unwrap_or(name.len());
    if !name.contains('\u{1b}') {
        return Cow::Borrowed(name.get(..cut(name)).unwrap_or(name));
    }
    let mut plain = String::new();
    let mut pieces = name.split('\u{1b}');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.strip_prefix('[');
        let rest = digits.and_then(crate::parse::text::after_digits);
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('m')) {
            plain.push_str(rest);
        } else {
            plain.push('\u{1b}');
            plain.push_str(piece);
        }
    }
    plain.truncate(cut(&plain));
    Cow::Owned(plain)
}
