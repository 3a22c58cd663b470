//! `search`: `git grep` where there is a repository, `grep` elsewhere.

use super::action::Search;
use super::{CallLimits, Said, Toolbox, Trouble, output};
use crate::ports::CommandEnd;

/// Bytes of one line that are shown: a minified file is one line.
const LINE_BYTES: usize = 400;

impl Toolbox {
    pub(super) async fn search(
        &mut self,
        search: &Search,
        limits: CallLimits,
    ) -> Result<Said, Trouble> {
        let path = self.absolute(search.path.as_deref().unwrap_or(""));
        if self.workspace.entry(&path).await?.is_none() {
            return Ok(Said::refused(format!(
                "{} does not exist.",
                search.path.as_deref().unwrap_or_default()
            )));
        }
        let script = script(search, &path, &self.workdir);
        let command = self.command(script, self.limits.command_timeout, limits);
        let found = self.workspace.exec(&command).await?;
        if found.total == 0 && found.end == CommandEnd::Exited(0) {
            return Ok(Said::done(format!("No line matches `{}`.", search.pattern)));
        }
        if found.end != CommandEnd::Exited(0)
            || found.total > self.limits.max_observation_bytes as u64
        {
            return self.said(&found, &command).await;
        }
        let text = output::cut(
            &found.head,
            &found.tail,
            found.total,
            self.limits.max_observation_bytes,
        );
        let lines = text.lines().count();
        let max_results = search.max_results as usize;
        if lines > max_results {
            let kept: Vec<&str> = text.lines().take(max_results).collect();
            return Ok(Said::done(format!(
                "{}\n[more than {max_results} lines match; narrow the search]",
                kept.join("\n")
            )));
        }
        Ok(Said {
            output_bytes: Some(found.total),
            ..Said::done(text.trim_end_matches('\n'))
        })
    }
}

/// Shell text that prints at most one line more than wanted. What goes wrong is printed too.
///
/// Where git is no help, `find` chooses the files and `grep` their lines, since what other greps than GNU's know of directories, names and binary files
/// differs: a file with a NUL among its first bytes is binary, as for git.
fn script(search: &Search, path: &str, workdir: &str) -> String {
    let pattern = quoted(&with_classes(&search.pattern));
    let inside = path
        .strip_prefix(workdir)
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .map(|rest| rest.trim_matches('/'));
    let limit = search.max_results.saturating_add(1);
    let cut = format!("| head -n {limit} | cut -b 1-{LINE_BYTES}");
    let plain = plain(search, path, inside, &pattern);
    let Some(inside) = inside else {
        return plain.printed(&cut);
    };
    let tracked = format!(
        "git --no-pager -c core.quotePath=false grep --no-color --untracked -nIE -e {pattern} -- {}",
        quoted(&pathspec(inside, search.glob.as_deref()))
    );
    format!(
        "if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then {{ {tracked}; }} 2>&1 {cut}; else {} fi",
        plain.printed(&cut)
    )
}

/// A search without git.
struct Plain(String);

/// Paths below the repository are printed as git prints them.
fn plain(search: &Search, path: &str, inside: Option<&str>, pattern: &str) -> Plain {
    let top = match inside {
        None => path.to_owned(),
        Some("") => ".".to_owned(),
        Some(below) => format!("./{below}"),
    };
    let name = search
        .glob
        .as_deref()
        .map(|glob| quoted(glob.rsplit('/').next().unwrap_or(glob)))
        .map(|name| format!(" -name {name}"))
        .unwrap_or_default();
    Plain(format!(
        "grep -E -e {pattern} /dev/null; if [ $? -le 1 ]; then \
         find {} -name .git -prune -o -type f{name} -exec grep -lE -e {pattern} -- {{}} + | while IFS= read -r f; do \
         [ \"$(head -c 8000 -- \"$f\" | wc -c)\" -eq \"$(head -c 8000 -- \"$f\" | tr -d '\\000' | wc -c)\" ] && grep -nHE -e {pattern} -- \"$f\"; \
         done | sed 's|^\\./||'; fi",
        quoted(&top)
    ))
}

impl Plain {
    /// The statement that runs it and cuts what it prints, or says what is missing.
    fn printed(&self, cut: &str) -> String {
        format!(
            "if command -v grep >/dev/null && command -v find >/dev/null; then {{ {}; }} 2>&1 {cut}; \
             else echo 'search needs grep and find, and this sandbox does not have both'; (exit 127); fi;",
            self.0
        )
    }
}

/// A pathspec of git's that holds the path, and the name pattern below it.
fn pathspec(inside: &str, glob: Option<&str>) -> String {
    let literal = || inside.replace(['\\', '*', '?', '['], "?");
    match glob {
        None if inside.is_empty() => ".".to_owned(),
        None => format!(":(literal){inside}"),
        Some(glob) => {
            let below = if glob.contains('/') { "" } else { "**/" };
            let glob = glob.trim_start_matches('/');
            if inside.is_empty() {
                format!(":(glob){below}{glob}")
            } else {
                format!(":(glob){}/{below}{glob}", literal())
            }
        }
    }
}

/// Extended regular expressions know no `\d`, and no escapes within brackets; models do.
fn with_classes(pattern: &str) -> String {
    let mut written = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        if c == '[' {
            rest = bracket(rest, &mut written);
            continue;
        }
        let (taken, put) = match rest.get(..2) {
            Some(r"\d") => (2, "[0-9]"),
            Some(r"\D") => (2, "[^0-9]"),
            _ if c == '\\' => {
                let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
                (1 + escaped, &rest[..=escaped])
            }
            _ => (c.len_utf8(), &rest[..c.len_utf8()]),
        };
        written.push_str(put);
        rest = &rest[taken..];
    }
    written
}

/// Writes the bracket expression that `pattern` starts with, and gives back what follows it. In the written one a backslash stands for itself, and
/// `]`, `^` and `-` do only in certain places.
fn bracket<'a>(pattern: &'a str, written: &mut String) -> &'a str {
    // A closing bracket that comes first stands for itself.
    let (start, mut closing) = [("[^]", true), ("[]", true), ("[^", false), ("[", false)]
        .into_iter()
        .find(|(start, _)| pattern.starts_with(start))
        .unwrap_or_default();
    let (mut inner, mut last) = (String::new(), String::new());
    let mut rest = &pattern[start.len()..];
    loop {
        let mut characters = rest.chars();
        let class = ["[:", "[.", "[="]
            .into_iter()
            .find(|open| rest.starts_with(open))
            .and_then(|open| rest[2..].find(&format!("{}]", &open[1..])))
            .map(|length| &rest[..length + 4]);
        let taken = match (class, characters.next(), characters.next()) {
            (Some(class), ..) => {
                inner.push_str(class);
                class.len()
            }
            // It never closes: whoever runs it will say so.
            (None, None, _) => {
                written.push_str(pattern);
                return "";
            }
            (None, Some(']'), _) => break,
            (None, Some('\\'), Some(escaped)) => {
                match escaped {
                    'd' => inner.push_str("0-9"),
                    'w' => inner.push_str("[:alnum:]_"),
                    's' => inner.push_str("[:space:]"),
                    't' => inner.push('\t'),
                    ']' => closing = true,
                    '^' => last.insert(0, '^'),
                    '-' => last.push('-'),
                    other if other.is_alphanumeric() => inner.extend(['\\', other]),
                    other => inner.push(other),
                }
                1 + escaped.len_utf8()
            }
            (None, Some(plain), _) => {
                inner.push(plain);
                plain.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    written.push_str(start.trim_end_matches(']'));
    written.push_str(if closing { "]" } else { "" });
    written.push_str(&inner);
    written.push_str(&last);
    written.push(']');
    &rest[1..]
}

/// One word for the shell, whatever it holds.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_pattern_reaches_the_shell() {
        let search = Search {
            pattern: "'; rm -rf /; $(x) `y` \\".into(),
            path: None,
            glob: Some("*'.py".into()),
            max_results: 5,
        };
        let script = script(&search, "/w", "/w");
        assert!(
            script.contains(r"-e ''\''; rm -rf /; $(x) `y` \'"),
            "{script}"
        );
        assert!(script.contains("head -n 6"), "{script}");
    }

    #[test]
    fn classes() {
        for (given, wanted) in [
            (r"v\d+\.[\d.]+\\d", r"v[0-9]+\.[0-9.]+\\d"),
            (r"\D\w[\w-]+", r"[^0-9]\w[[:alnum:]_-]+"),
            (r"[^\s\]]*]", r"[^][:space:]]*]"),
            (r"[]\d]x[^]\d]", r"[]0-9]x[^]0-9]"),
            (r"[[:alpha:]\d_]\[\d", r"[[:alpha:]0-9_]\[[0-9]"),
            (r"[\^\-\.a]", r"[.a^-]"),
            (r"[a\", r"[a\"),
            ("[é\\d]é", "[é0-9]é"),
        ] {
            assert_eq!(with_classes(given), wanted, "{given}");
        }
    }

    #[test]
    fn pathspecs() {
        assert_eq!(pathspec("", None), ".");
        assert_eq!(pathspec("a b", None), ":(literal)a b");
        assert_eq!(pathspec("", Some("*.py")), ":(glob)**/*.py");
        assert_eq!(pathspec("src", Some("*.py")), ":(glob)src/**/*.py");
        assert_eq!(pathspec("src", Some("a/*.py")), ":(glob)src/a/*.py");
    }
}
