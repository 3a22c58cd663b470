//! What is odd about the text of a patch, and the repairs that change no line of it.

use std::borrow::Cow;

/// What is odd about a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Oddity {
    /// It is `null`.
    Null,
    /// It has no character.
    Empty,
    /// It has nothing but white space.
    Blank,
    /// It is no diff that can be read.
    Corrupt,
    /// All its lines, those of git too, end with a carriage return: something on its way turned the line ends.
    CarriageReturns,
    /// Its last line has no end.
    Unterminated,
    /// It says that a binary file differs, but not how.
    BinaryWithoutData,
}

impl Oddity {
    /// What is said of predictions that have it, and what comes of it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Null => "is null: nothing is run",
            Self::Empty => "is empty: nothing is run",
            Self::Blank => "has nothing but white space: it does not apply",
            Self::Corrupt => "is no diff that can be read: it is tried all the same",
            Self::CarriageReturns => {
                "has carriage returns at the ends of all lines: they are taken off"
            }
            Self::Unterminated => "ends within a line: a line feed is added",
            Self::BinaryWithoutData => {
                "says that binary files differ, but not how: those files are left out"
            }
        }
    }
}

/// A patch as it is applied, and what is odd about it.
pub fn repaired(patch: Option<&str>) -> (Cow<'_, str>, Vec<Oddity>) {
    let Some(text) = patch else {
        return (Cow::Borrowed(""), vec![Oddity::Null]);
    };
    if text.is_empty() {
        return (Cow::Borrowed(text), vec![Oddity::Empty]);
    }
    if text.trim().is_empty() {
        return (Cow::Borrowed(text), vec![Oddity::Blank]);
    }
    let mut odd = Vec::new();
    let mut text = Cow::Borrowed(text);
    if turned(&text) {
        odd.push(Oddity::CarriageReturns);
        text = Cow::Owned(text.replace("\r\n", "\n"));
    }
    if !text.ends_with('\n') {
        odd.push(Oddity::Unterminated);
        text.to_mut().push('\n');
    }
    match patch::parse(text.as_bytes()) {
        Err(_) => odd.push(Oddity::Corrupt),
        Ok(parsed) if parsed.files.is_empty() => odd.push(Oddity::Corrupt),
        Ok(parsed) => {
            let kept = with_data(&text, &parsed);
            if kept.len() < text.len() {
                odd.push(Oddity::BinaryWithoutData);
                text = Cow::Owned(kept);
            }
        }
    }
    (text, odd)
}

/// Whether every line ends with a carriage return, those that git writes too: those never do by themselves.
fn turned(text: &str) -> bool {
    let mut lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    text.contains("\r\n") && lines.all(|line| line.ends_with("\r\n"))
}

/// The patch without the binary files that it holds no data of.
fn with_data(text: &str, parsed: &patch::Patch) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for file in parsed.files.iter().filter(|file| lacks_data(text, file)) {
        kept.push_str(text.get(from..file.range.start).unwrap_or_default());
        from = file.range.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

fn lacks_data(text: &str, file: &patch::FilePatch) -> bool {
    let own = text.get(file.range.clone()).unwrap_or_default();
    file.is_binary() && !own.contains("\nGIT binary patch\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    const BINARY: &str = "diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\nBinary files a/x.png and b/x.png differ\n";

    fn repair(text: &str) -> (String, Vec<Oddity>) {
        let (text, odd) = repaired(Some(text));
        (text.into_owned(), odd)
    }

    #[test]
    fn a_sound_patch_is_left_alone() {
        assert_eq!(repair(DIFF), (DIFF.to_owned(), vec![]));
        // A file whose own lines end with carriage returns.
        let theirs = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+b\r\n";
        assert_eq!(repair(theirs), (theirs.to_owned(), vec![]));
    }

    #[test]
    fn what_can_be_repaired_is() {
        let turned = DIFF.replace('\n', "\r\n");
        assert_eq!(
            repair(&turned),
            (DIFF.to_owned(), vec![Oddity::CarriageReturns])
        );
        let cut = DIFF.trim_end();
        assert_eq!(repair(cut), (DIFF.to_owned(), vec![Oddity::Unterminated]));
        let with_picture = format!("{BINARY}{DIFF}{BINARY}");
        assert_eq!(
            repair(&with_picture),
            (DIFF.to_owned(), vec![Oddity::BinaryWithoutData])
        );
    }

    #[test]
    fn what_cannot_be_repaired_is_named() {
        assert_eq!(repaired(None).1, [Oddity::Null]);
        assert_eq!(repair("").1, [Oddity::Empty]);
        assert_eq!(repair(" \n\t\n").1, [Oddity::Blank]);
        assert_eq!(repair("nonsense\n").1, [Oddity::Corrupt]);
        let short = DIFF.replace("@@ -1 +1 @@", "@@ -1,9 +1 @@");
        assert_eq!(repair(&short).1, [Oddity::Corrupt]);
    }
}
