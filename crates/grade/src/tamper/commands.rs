//! The lines of a script, and which of them run tests.

use std::sync::LazyLock;

use regex::Regex;

use crate::log::START;

/// Programs whose lines name tests without running any.
const BYSTANDERS: &[&str] = &[
    "git", "cp", "mv", "rm", "ls", "cat", "sed", "awk", "grep", "echo", "printf", ":", "#", "pip",
    "pip3", "apt", "apt-get", "conda", "set", "chmod", "chown", "mkdir", "touch", "tar", "curl",
    "wget", "unzip", "ln", "patch", "tee", "find", "true", "exit",
];

/// One line of a script.
pub(super) struct Line<'s> {
    pub(super) text: &'s str,
    /// Whether it goes on where the line before it ended.
    pub(super) continues: bool,
    /// Where it names a test, and which.
    pub(super) test: Option<NamedTest<'s>>,
    /// Behind which byte options for pytest can stand.
    pub(super) options: Option<usize>,
}

/// A test that is named on a command line.
pub(super) struct NamedTest<'s> {
    pub(super) at: usize,
    pub(super) file: &'s str,
    /// What is to be written there for another file in the same directory, whose path is given.
    pub(super) form: Form,
}

/// How a command names a file of tests.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// By its path without that many first parts.
    Path { dropped: usize },
    /// By the module's name without that many first parts.
    Module { dropped: usize },
}

impl Form {
    pub(super) fn write(self, path: &str) -> String {
        let without = |dropped| path.split('/').skip(dropped).collect::<Vec<_>>();
        match self {
            Self::Path { dropped } => without(dropped).join("/"),
            Self::Module { dropped } => {
                let module = without(dropped).join(".");
                module
                    .strip_suffix(".py")
                    .map_or(module.clone(), str::to_owned)
            }
        }
    }
}

/// The lines of a script; those of here-documents are text, whatever they look like.
pub(super) fn lines<'s>(script: &'s str, files: &'s [String]) -> Vec<Line<'s>> {
    let mut delimiter: Option<String> = None;
    let mut continues = false;
    let mut lines = Vec::new();
    for text in script.split_inclusive('\n') {
        let plain = |continues| Line {
            text,
            continues,
            test: None,
            options: None,
        };
        if let Some(end) = &delimiter {
            if text.trim() == end {
                delimiter = None;
            }
            lines.push(plain(true));
            continue;
        }
        let line = if runs_something(text) {
            Line {
                test: named_test(text, files),
                options: options_place(text),
                ..plain(continues)
            }
        } else {
            plain(continues)
        };
        delimiter = here_document_end(text);
        continues = text.trim_end().ends_with('\\');
        lines.push(line);
    }
    lines
}

fn runs_something(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    !first.starts_with('#')
        && !BYSTANDERS.contains(&first)
        && !line.contains("pip install")
        && !line.contains(START)
}

fn here_document_end(line: &str) -> Option<String> {
    static START: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"<<-?\s*['"\\]?([A-Za-z_0-9]+)"#).ok());
    let found = START.as_ref()?.captures(line)?;
    Some(found.get(1)?.as_str().to_owned())
}

/// Behind the word `pytest` of a command.
fn options_place(line: &str) -> Option<usize> {
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:^|[\s/;&|(])(?:pytest|py\.test)(?:\s|$)").ok());
    let found = WORD.as_ref()?.find(line)?;
    Some(found.start() + found.as_str().trim_end().len())
}

/// The first word of a command that names one of the files of tests, by its path or as a module, or something in one.
fn named_test<'s>(line: &str, files: &'s [String]) -> Option<NamedTest<'s>> {
    let mut from = 0;
    for word in line.split_whitespace() {
        let at = from + line.get(from..)?.find(word)?;
        from = at + word.len();
        let bare = word.trim_matches(['\'', '"', ')', ';']);
        let found = files
            .iter()
            .find_map(|file| Some((file, form_of(bare, file)?)));
        if let Some((file, form)) = found {
            return Some(NamedTest { at, file, form });
        }
    }
    None
}

/// How a word names a file, where it does.
fn form_of(word: &str, file: &str) -> Option<Form> {
    let path = word.split("::").next()?.trim_start_matches("./");
    let parts: Vec<&str> = file.split('/').collect();
    for dropped in 0..parts.len() {
        let left = parts.get(dropped..)?;
        if path == left.join("/") {
            return Some(Form::Path { dropped });
        }
        let module = left.join(".");
        let Some(module) = module.strip_suffix(".py") else {
            continue;
        };
        let rest = path.strip_prefix(module);
        // A name of one part is too short to tell a module by.
        if left.len() > 1 && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
            return Some(Form::Module { dropped });
        }
    }
    None
}
