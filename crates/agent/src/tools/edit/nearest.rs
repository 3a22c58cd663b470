//! Where a text that was not found may have been meant to be.

use std::collections::HashSet;

use super::text::numbered;

/// Lines longer than this are not compared: it would take long and help nobody.
const MAX_LINE: usize = 200;

/// Lines that share the most words are the only ones that are compared letter by letter.
const CANDIDATES: usize = 20;

/// Likeness below which a line is no help.
const LIKE: f64 = 0.6;

/// Describes the place that is most like `old`, with its lines.
pub(super) fn describe(text: &str, old: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<&str> = old.lines().map(str::trim).collect();
    if let Some(first) = same_but_for_white_space(&lines, &wanted) {
        let last = first + significant(&wanted).len() - 1;
        let shown = numbered(text, first + 1, last + 1, 2_000);
        return Some(
            format!("These lines differ from it only in white space:\n{shown}")
                .trim_end()
                .to_owned(),
        );
    }
    let anchor = wanted
        .iter()
        .filter(|line| line.len() <= MAX_LINE)
        .max_by_key(|line| line.len())
        .filter(|line| !line.is_empty())?;
    let (line, _) = most_like(&lines, anchor)?;
    let shown = numbered(text, (line + 1).saturating_sub(2).max(1), line + 3, 2_000);
    Some(
        format!("The nearest lines are:\n{shown}")
            .trim_end()
            .to_owned(),
    )
}

/// Without blank lines at both ends.
fn significant<'a>(lines: &'a [&'a str]) -> &'a [&'a str] {
    let first = lines.iter().position(|line| !line.is_empty());
    let last = lines.iter().rposition(|line| !line.is_empty());
    match (first, last) {
        (Some(first), Some(last)) => &lines[first..=last],
        _ => &[],
    }
}

fn same_but_for_white_space(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let wanted = significant(wanted);
    if wanted.is_empty() {
        return None;
    }
    let squeezed = |line: &&str| line.split_whitespace().collect::<String>();
    let wanted: Vec<String> = wanted.iter().map(squeezed).collect();
    find(lines.iter().map(squeezed), &wanted)
}

/// Where `wanted` first stands in `lines`. Each line is looked at once (Knuth, Morris and Pratt), however often parts of `wanted` stand there.
fn find(lines: impl Iterator<Item = String>, wanted: &[String]) -> Option<usize> {
    let same = |length: usize, line: &str| wanted.get(length).is_some_and(|next| next == line);
    // For each prefix of `wanted`, the length of its longest proper prefix that is its end too.
    let mut borders = vec![0_usize; wanted.len()];
    let mut length = 0;
    for (index, line) in wanted.iter().enumerate().skip(1) {
        while length > 0 && !same(length, line) {
            length = borders[length - 1];
        }
        length += usize::from(same(length, line));
        borders[index] = length;
    }
    let mut length = 0;
    for (index, line) in lines.enumerate() {
        while length > 0 && !same(length, &line) {
            length = borders[length - 1];
        }
        length += usize::from(same(length, &line));
        if length == wanted.len() {
            return Some(index + 1 - length);
        }
    }
    None
}

fn most_like(lines: &[&str], anchor: &str) -> Option<(usize, f64)> {
    let words: HashSet<&str> = words(anchor).collect();
    let mut candidates: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.len() <= MAX_LINE * 2)
        .map(|(position, line)| {
            let shared = self::words(line)
                .filter(|word| words.contains(word))
                .count();
            (shared, position)
        })
        .filter(|(shared, _)| *shared > 0)
        .collect();
    candidates.sort_unstable_by_key(|(shared, position)| (std::cmp::Reverse(*shared), *position));
    candidates
        .into_iter()
        .take(CANDIDATES)
        .map(|(_, position)| {
            let likeness = strsim::normalized_levenshtein(lines[position].trim(), anchor);
            (position, likeness)
        })
        .filter(|(_, likeness)| *likeness >= LIKE)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "def first(a):\n\treturn a\n\ndef second(b, c):\n    return b + c\n";

    #[test]
    fn white_space_is_named_as_the_difference() {
        let said = describe(TEXT, "def first(a):\n    return a\n").unwrap();
        assert!(said.contains("only in white space"), "{said}");
        assert!(said.contains("     2\t\treturn a"), "{said}");
    }

    #[test]
    fn the_nearest_line_is_shown() {
        let said = describe(TEXT, "def second(b, d):").unwrap();
        assert!(said.contains("     4\tdef second(b, c):"), "{said}");
    }

    #[test]
    fn a_place_is_found_behind_its_own_beginning() {
        let said = describe("a\n a\na\nb\n", "a\na\n  b\n").unwrap();
        assert!(said.contains("     2\t a\n     3\ta\n     4\tb"), "{said}");
        assert!(!said.contains("     1\t"), "{said}");
    }

    #[test]
    fn a_long_text_of_the_same_lines_takes_no_longer_than_any_other() {
        // With every window compared line by line these would be 2,500 million comparisons.
        let text = "}\n".repeat(100_000);
        let old = "}\n".repeat(50_000) + "x\n";
        assert_eq!(describe(&text, &old), None);
    }

    #[test]
    fn nothing_is_better_than_nonsense() {
        assert_eq!(describe(TEXT, "class Unrelated {"), None);
        assert_eq!(describe("", "x"), None);
        assert_eq!(describe(TEXT, "\n\n"), None);
    }
}
