//! The program that every container starts with, what it says, and how it is told what to become.

use crate::limits::Network;
use crate::place::quoted;

/// Source of the main process, for `/bin/sh -c`.
pub(super) fn source() -> String {
    bare(include_str!("boot.sh"))
}

/// A script without its comments: lists of processes show what is left.
pub(super) fn bare(script: &str) -> String {
    script
        .split_inclusive('\n')
        .filter(|line| !line.starts_with('#'))
        .collect()
}

/// First word of the line by which the main process says that it is there.
const GREETING: &str = "patchmill";

/// What the main process sees of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Report {
    user: i64,
    group: i64,
    /// Routes of version 4, -1 where that cannot be seen.
    routes: i64,
    /// Addresses of version 6 that do not belong to the loopback interface.
    addresses: i64,
}

impl Report {
    /// Finds the greeting in what was said: a shell may complain of its image's environment first.
    pub(super) fn find(said: &[u8]) -> Option<Self> {
        let lines = said.split_inclusive(|&byte| byte == b'\n');
        let mut whole = lines.filter(|line| line.ends_with(b"\n"));
        whole.find_map(|line| Self::parse(&String::from_utf8_lossy(line)))
    }

    /// Reads the greeting; `None` for anything else.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some(GREETING) {
            return None;
        }
        let mut number = || words.next()?.parse().ok();
        Some(Self {
            user: number()?,
            group: number()?,
            routes: number()?,
            addresses: number()?,
        })
    }

    /// `user:group` as numbers.
    pub(super) fn user(&self) -> String {
        format!("{}:{}", self.user, self.group)
    }

    /// How many ways there are to anywhere; `None` where that cannot be seen.
    pub(super) fn routes(&self) -> Option<u64> {
        let routes = u64::try_from(self.routes).ok()?;
        Some(routes + u64::try_from(self.addresses).unwrap_or_default())
    }

    /// The network as seen inside; `None` where it cannot be seen.
    pub(super) fn network(&self) -> Option<Network> {
        match (self.routes, self.addresses) {
            (..0, _) => None,
            (0, 0) => Some(Network::None),
            _ => Some(Network::Full),
        }
    }
}

/// The bytes that make the main process run shell text.
pub(super) fn program(text: &str) -> Vec<u8> {
    let lines = text.bytes().filter(|&byte| byte == b'\n').count();
    format!("{lines}\n{text}").into_bytes()
}

/// The bytes that make the main process run `arguments` in its place.
pub(super) fn successor(arguments: &[String], directory: Option<&str>) -> Vec<u8> {
    let mut text = String::new();
    if let Some(directory) = directory {
        text.push_str("cd -- ");
        text.push_str(&quoted(directory));
        text.push_str(" && ");
    }
    text.push_str("exec");
    for argument in arguments {
        text.push(' ');
        text.push_str(&quoted(argument));
    }
    text.push_str(" 2>&1\n");
    program(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_tells_user_and_network() {
        let report = Report::parse("patchmill 1000 100 0 0\n").unwrap();
        assert_eq!(report.user(), "1000:100");
        assert_eq!(report.network(), Some(Network::None));
        let report = Report::parse("patchmill 0 0 2 0").unwrap();
        assert_eq!(report.network(), Some(Network::Full));
        let report = Report::parse("patchmill 0 0 -1 0").unwrap();
        assert_eq!(report.network(), None);
        assert_eq!(Report::parse("sh: something else"), None);
        assert_eq!(Report::parse("patchmill 1"), None);
        let complaint =
            b"sh: warning: setlocale: LC_ALL: cannot change locale\npatchmill 0 0 2 0\n";
        assert!(Report::find(complaint).is_some());
        assert_eq!(Report::find(b"patchmill 0 0 2 0"), None, "it may go on");
    }

    #[test]
    fn a_program_counts_its_lines() {
        let program = successor(&["sh".to_owned(), "it's\ntwo".to_owned()], Some("/a b"));
        assert_eq!(
            String::from_utf8(program).unwrap(),
            "2\ncd -- '/a b' && exec 'sh' 'it'\\''s\ntwo' 2>&1\n"
        );
    }
}
