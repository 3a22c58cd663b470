//! Names of a dataset that look like one that is not there.

/// Likeness from which a name is worth a mention: ids of one repository share most of their letters.
const ALIKE: f64 = 0.75;

/// The names most like `wanted`, at most `count`, the likest first; names that are not alike are left out.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    count: usize,
) -> Vec<String> {
    schema::near::nearest(wanted, names, ALIKE, count)
}
