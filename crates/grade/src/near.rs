//! Names that look like one that is not there.

/// Likeness from which a name is worth a mention.
const ALIKE: f64 = 0.6;

/// Parsers whose names are like `name`, with or without the `parse_log_` that datasets put before it.
pub(crate) fn parsers_like(name: &str) -> Vec<String> {
    let bare = name.strip_prefix("parse_log_").unwrap_or(name);
    nearest(bare, crate::parse::known().into_iter(), 3)
}

/// The names most like `wanted`, at most `count`, the likest first; names that are not alike are left out.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<String> {
    schema::near::nearest(wanted, names, ALIKE, count)
}
