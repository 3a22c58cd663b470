//! `.gitignore` rules, matched here so that a hostile file can neither block nor blow up: no backtracking over more than one star.

use std::rc::Rc;

/// Most rules that one file may have, and the longest; what is beyond is left out.
const MAX_RULES: usize = 10_000;
const MAX_PATTERN: usize = 4096;

/// One line of a file.
#[derive(Debug)]
struct Rule {
    negated: bool,
    directories_only: bool,
    /// Whether it is matched against the path below the file's directory, and not against the name alone.
    anchored: bool,
    /// Split at `/`.
    segments: Vec<Vec<u8>>,
}

/// The rules of one directory and of those above it.
#[derive(Debug)]
pub(super) struct Level {
    parent: Option<Rc<Level>>,
    /// Length of the directory's path with its slash; 0 at the top.
    prefix: usize,
    rules: Vec<Rule>,
}

impl Level {
    /// Rules of the `.gitignore` in a directory, on top of those above. `prefix` is the length of the directory's path with its slash.
    pub(super) fn below(parent: Option<Rc<Self>>, prefix: usize, text: &[u8]) -> Rc<Self> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let rules = text
            .split(|&byte| byte == b'\n')
            .filter_map(Rule::parse)
            .take(MAX_RULES)
            .collect();
        Rc::new(Self {
            parent,
            prefix,
            rules,
        })
    }

    /// Whether a path is ignored, none of the directories above it being so. The last rule that matches, of the nearest file, decides.
    pub(super) fn ignores(&self, path: &[u8], directory: bool) -> bool {
        let mut level = Some(self);
        while let Some(current) = level {
            let below = path.get(current.prefix..).unwrap_or_default();
            let rule = current
                .rules
                .iter()
                .rev()
                .find(|rule| rule.matches(below, directory));
            if let Some(rule) = rule {
                return !rule.negated;
            }
            level = current.parent.as_deref();
        }
        false
    }
}

impl Rule {
    fn parse(line: &[u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mut pattern = trim_spaces(line);
        if pattern.is_empty() || pattern.starts_with(b"#") || pattern.len() > MAX_PATTERN {
            return None;
        }
        let negated = pattern.starts_with(b"!");
        if negated {
            pattern = &pattern[1..];
        }
        let directories_only = pattern.ends_with(b"/");
        if directories_only {
            pattern = &pattern[..pattern.len() - 1];
        }
        let anchored = pattern.contains(&b'/');
        let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
        if pattern.is_empty() {
            return None;
        }
        Some(Self {
            negated,
            directories_only,
            anchored,
            segments: pattern
                .split(|&byte| byte == b'/')
                .map(<[u8]>::to_vec)
                .collect(),
        })
    }

    fn matches(&self, path: &[u8], directory: bool) -> bool {
        if self.directories_only && !directory {
            return false;
        }
        let parts: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        match (self.anchored, parts.last()) {
            (true, _) => segments_match(&self.segments, &parts),
            (false, Some(name)) => self
                .segments
                .first()
                .is_some_and(|pattern| name_matches(pattern, name)),
            (false, None) => false,
        }
    }
}

/// Spaces at the end do not count unless they are escaped.
fn trim_spaces(line: &[u8]) -> &[u8] {
    let mut end = line.len();
    while end > 0 && line[end - 1] == b' ' {
        let backslashes = line[..end - 1]
            .iter()
            .rev()
            .take_while(|&&byte| byte == b'\\')
            .count();
        if backslashes % 2 == 1 {
            break;
        }
        end -= 1;
    }
    &line[..end]
}

/// `**` stands for any number of directories; at the end it needs at least one name.
fn segments_match(pattern: &[Vec<u8>], path: &[&[u8]]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let wild = pattern.get(at).is_some_and(|segment| segment == b"**");
        if wild && at + 1 == pattern.len() {
            return part < path.len();
        }
        if wild {
            star = Some((at, part));
            at += 1;
            continue;
        }
        let matched = match (pattern.get(at), path.get(part)) {
            (Some(segment), Some(name)) => name_matches(segment, name),
            (None, None) => return true,
            _ => false,
        };
        if matched {
            at += 1;
            part += 1;
            continue;
        }
        // One more directory for the last `**`: earlier ones need no other length.
        match star {
            Some((back, from)) if from < path.len() => {
                star = Some((back, from + 1));
                at = back + 1;
                part = from + 1;
            }
            _ => return false,
        }
    }
}

/// One name against one pattern with `*`, `?`, `[…]` and `\`.
fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut byte) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, byte));
                at += 1;
                continue;
            }
            Some(_) if byte < name.len() => one_matches(&pattern[at..], name[byte]),
            None if byte == name.len() => return true,
            _ => None,
        };
        if let Some(length) = step {
            at += length;
            byte += 1;
            continue;
        }
        match star {
            Some((back, from)) if from < name.len() => {
                star = Some((back, from + 1));
                at = back + 1;
                byte = from + 1;
            }
            _ => return false,
        }
    }
}

/// Whether the first element of a pattern matches a byte, and how long that element is.
fn one_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', ..] => class_matches(pattern, byte),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [literal, ..] => (*literal == byte).then_some(1),
        [] => None,
    }
}

/// A bracket expression. One that does not end matches nothing.
fn class_matches(pattern: &[u8], byte: u8) -> Option<usize> {
    let mut at = 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    if negated {
        at += 1;
    }
    let first = at;
    let mut found = false;
    loop {
        match pattern.get(at)? {
            b']' if at > first => break,
            b'[' if pattern.get(at + 1) == Some(&b':') => {
                let end = at + 2 + memchr::memmem::find(&pattern[at + 2..], b":]")?;
                found |= named_class(&pattern[at + 2..end], byte)?;
                at = end + 2;
            }
            _ => {
                let (low, next) = literal(pattern, at)?;
                let ranged = pattern.get(next) == Some(&b'-')
                    && !matches!(pattern.get(next + 1), Some(b']') | None);
                if ranged {
                    let (high, end) = literal(pattern, next + 1)?;
                    found |= (low..=high).contains(&byte);
                    at = end;
                } else {
                    found |= low == byte;
                    at = next;
                }
            }
        }
    }
    (found != negated).then_some(at + 1)
}

fn literal(pattern: &[u8], at: usize) -> Option<(u8, usize)> {
    match pattern.get(at)? {
        b'\\' => Some((*pattern.get(at + 1)?, at + 2)),
        byte => Some((*byte, at + 1)),
    }
}

fn named_class(name: &[u8], byte: u8) -> Option<bool> {
    Some(match name {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ignored(rules: &str, path: &str) -> bool {
        let directory = path.ends_with('/');
        let path = path.trim_end_matches('/');
        Level::below(None, 0, rules.as_bytes()).ignores(path.as_bytes(), directory)
    }

    #[test]
    fn rules_match_as_git_matches_them() {
        let table = [
            ("*.pyc", "a/b.pyc", true),
            ("*.pyc", "a/b.py", false),
            ("/a", "a", true),
            ("/a", "b/a", false),
            ("a/b", "c/a/b", false),
            ("**/a/b", "c/a/b", true),
            ("**/a/b", "a/b", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a/", false),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("build/", "build/", true),
            ("build/", "build", false),
            ("*\n!keep", "keep", false),
            ("!keep\n*", "keep", true),
            ("\\#x", "#x", true),
            ("# x", "# x", false),
            ("\\!x", "!x", true),
            ("x\\ ", "x ", true),
            ("x   ", "x", true),
            ("x\r", "x", true),
            ("[a-c]?", "bz", true),
            ("[!a-c]?", "bz", false),
            ("[[:digit:]]x", "7x", true),
            ("[]]", "]", true),
            ("[", "[", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXbYd", false),
            ("*/x", "a/x", true),
            ("*/x", "a/b/x", false),
            ("\u{feff}x", "x", true),
            ("/", "x", false),
            ("**", "x", true),
            ("**/", "x", false),
            ("foo**bar", "foozbar", true),
        ];
        for (rules, path, expected) in table {
            assert_eq!(ignored(rules, path), expected, "{rules:?} on {path:?}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_is_no_trap() {
        let stars = "a*".repeat(2000) + "b";
        assert!(!ignored(&stars, &"a".repeat(4000)));
        let deep = "**/a/".repeat(700) + "b";
        assert!(!ignored(&deep, &"a/".repeat(1500)));
    }

    #[test]
    fn the_nearest_file_decides() {
        let top = Level::below(None, 0, b"*.log\n");
        let below = Level::below(Some(top), 2, b"!keep.log\n/own\n");
        assert!(!below.ignores(b"d/keep.log", false));
        assert!(below.ignores(b"d/other.log", false));
        assert!(below.ignores(b"d/own", false));
        assert!(!below.ignores(b"d/e/own", false));
    }
}
