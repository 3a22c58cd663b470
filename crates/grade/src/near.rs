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
    let lower = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| {
            let likeness = strsim::normalized_damerau_levenshtein(&lower, &name.to_lowercase());
            (likeness, name)
        })
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    let names = scored.into_iter().take(count);
    names.map(|(_, name)| name.to_owned()).collect()
}
