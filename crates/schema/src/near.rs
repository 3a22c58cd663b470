//! Names that look like one that is not there, for errors that suggest what may be meant.

/// The names most like `wanted`, at most `count`, the likest first; those whose likeness, from 0 to 1, is below `alike` are left out.
/// Case does not matter, and a name that holds the whole of `wanted` is alike however much longer it is.
pub fn nearest<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    alike: f64,
    count: usize,
) -> Vec<String> {
    let lower = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (likeness(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= alike)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    let names = scored.into_iter().take(count);
    names.map(|(_, name)| name.to_owned()).collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(wanted, name);
    if wanted.len() >= 3 && name.contains(wanted) {
        return edits.max(0.9);
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn likest_first_once_each_and_only_what_is_alike() {
        let names = ["pytest_v2", "pytest", "pytest", "cargo"];
        let near = nearest("PyTset", names.into_iter(), 0.5, 5);
        assert_eq!(near, ["pytest", "pytest_v2"]);
        assert_eq!(nearest("v2", names.into_iter(), 0.9, 5), [""; 0]);
        assert_eq!(nearest("test_v2", names.into_iter(), 0.9, 1), ["pytest_v2"]);
    }
}
