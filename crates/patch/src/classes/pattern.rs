//! Patterns for one name: text with at most one `*`.

/// Whether one of the patterns fits the whole name. A `*` stands for one or more characters.
pub(super) fn fits_any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_needs_something_to_stand_for() {
        assert!(fits("*Test", "UserTest"));
        assert!(!fits("*Test", "Test"));
        assert!(fits("a*a", "aba"));
        assert!(!fits("a*a", "aa"));
        assert!(fits("tests", "tests"));
    }
}
