//! Counted nouns.

/// `1 instance`, `2 instances`.
pub fn count(number: usize, noun: &str) -> String {
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o']) => format!("{number} {stem}ies"),
        _ if noun.ends_with("ch") => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(count(0, "instance"), "0 instances");
        assert_eq!(count(1, "patch"), "1 patch");
        assert_eq!(count(2, "patch"), "2 patches");
        assert_eq!(count(3, "retry"), "3 retries");
        assert_eq!(count(2, "day"), "2 days");
    }
}
