//! The edit tool: looks at files and changes them, byte for byte.

mod nearest;
mod text;
mod undo;

use std::fmt::Write as _;

use self::text::{MAX_PLACES, Text, numbered, numbered_range};
pub(crate) use self::undo::Undo;
use super::action::{Edit, EditCommand};
use super::{CallLimits, Said, Toolbox, Trouble};
use crate::ports::{EntryKind, WorkspaceError};

/// Largest file that is read: beyond it a model needs a search, not a view.
const MAX_FILE: u64 = 2 * 1024 * 1024;

/// Lines shown around a change.
const CONTEXT: usize = 4;

/// Entries of a directory that are listed.
const MAX_ENTRIES: usize = 400;

/// Line numbers that an error names.
const NAMED_LINES: usize = 20;

/// A path, absolute for the workspace and as the model wrote it for what it reads: where a repository lies may differ from run to run, and
/// the same script must give the same requests.
struct Place<'a> {
    absolute: String,
    written: &'a str,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.written)
    }
}

impl Toolbox {
    pub(super) async fn edit(&mut self, edit: &Edit, limits: CallLimits) -> Result<Said, Trouble> {
        let path = &Place {
            absolute: self.absolute(&edit.path),
            written: &edit.path,
        };
        match &edit.command {
            EditCommand::View { range } => self.view(path, *range, limits).await,
            EditCommand::Create { text } => self.create(path, text).await,
            EditCommand::Replace { old, new } => self.replace(path, old, new).await,
            EditCommand::Insert { after, text } => self.insert(path, *after, text).await,
            EditCommand::Undo => self.undo(path).await,
        }
    }

    async fn view(
        &self,
        path: &Place<'_>,
        range: Option<(u64, Option<u64>)>,
        limits: CallLimits,
    ) -> Result<Said, Trouble> {
        if self.workspace.entry(&path.absolute).await? == Some(EntryKind::Directory) {
            if range.is_some() {
                return Err(Trouble::Refused(format!(
                    "{path} is a directory; `view_range` is for files."
                )));
            }
            return self.list(path, limits).await;
        }
        let text = self.open(path).await?;
        let count = text.lines().count();
        let first = range.map_or(1, |(first, _)| first);
        let last = range.and_then(|(_, last)| last);
        if count == 0 {
            return Ok(Said::done(format!("{path} is empty.")));
        }
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        if first > count {
            return Err(Trouble::Refused(format!(
                "`view_range` starts at line {first}, but {path} has {count} lines."
            )));
        }
        let last = last.map_or(count, |last| {
            usize::try_from(last).unwrap_or(usize::MAX).min(count)
        });
        let (mut shown, end) =
            numbered_range(text.lines(), first, last, self.limits.max_observation_bytes);
        if end < last {
            let _ = write!(
                shown,
                "[lines {first} to {end} of {count} are shown; go on with `view_range` [{}, {last}]]",
                end + 1
            );
        } else if first > 1 || last < count {
            let _ = write!(shown, "[lines {first} to {last} of {count}]");
        }
        for note in text.notes() {
            let _ = write!(shown, "[{note}]");
        }
        Ok(Said::done(shown.trim_end_matches('\n')))
    }

    async fn list(&self, path: &Place<'_>, limits: CallLimits) -> Result<Said, Trouble> {
        let script = format!(
            "cd -- {} && find . -maxdepth 2 ! -name . -name '.*' -prune -o -type d -exec printf '%s/\\n' {{}} + -o -print | LC_ALL=C sort | head -n {}",
            super::search::quoted(&path.absolute),
            MAX_ENTRIES + 2
        );
        let command = self.command(script, self.limits.command_timeout, limits);
        let output = self.workspace.exec(&command).await?;
        if output.end != crate::ports::CommandEnd::Exited(0) {
            return self.said(&output, &command).await;
        }
        let held = output.head.len() + output.tail.len();
        let mut is_whole = output.total == held as u64;
        let listing = if is_whole {
            [output.head, output.tail].concat()
        } else {
            output.head
        };
        let listing = String::from_utf8_lossy(&listing);
        let entries: Vec<&str> = listing
            .lines()
            .map(|line| line.strip_prefix("./").unwrap_or(line))
            .filter(|line| !line.is_empty() && *line != "/")
            .collect();
        let mut shown = format!("{path}, two levels deep, hidden entries left out:\n");
        is_whole &= entries.len() <= MAX_ENTRIES;
        for entry in entries.iter().take(MAX_ENTRIES) {
            if shown.len() + entry.len() > self.limits.max_observation_bytes {
                is_whole = false;
                break;
            }
            let _ = writeln!(shown, "{entry}");
        }
        if entries.is_empty() {
            shown.push_str("[nothing]");
        } else if !is_whole {
            shown.push_str("[… more entries are left out; view a directory below]");
        }
        Ok(Said::done(shown.trim_end_matches('\n')))
    }

    async fn create(&mut self, path: &Place<'_>, content: &str) -> Result<Said, Trouble> {
        let before = match self.workspace.entry(&path.absolute).await? {
            None => None,
            Some(EntryKind::Directory) => {
                return Err(Trouble::Refused(format!("{path} is a directory.")));
            }
            Some(EntryKind::File | EntryKind::Other) => {
                match self.workspace.read(&path.absolute, 0).await {
                    // An empty file is as good as none.
                    Ok(_) => Some(Vec::new()),
                    Err(WorkspaceError::Refused(_)) => {
                        return Err(Trouble::Refused(format!(
                            "{path} exists already and was not changed. Use `str_replace` or `insert` to change it; to replace all of it, remove it first."
                        )));
                    }
                    Err(error @ WorkspaceError::Failed { .. }) => return Err(error.into()),
                }
            }
        };
        self.write(path, before, content.as_bytes()).await?;
        let lines = content.lines().count();
        Ok(Said::done(format!("Created {path} ({lines} lines).")))
    }

    async fn replace(&mut self, path: &Place<'_>, old: &str, new: &str) -> Result<Said, Trouble> {
        if old.is_empty() {
            return Err(Trouble::Refused(
                "`old_str` is empty; use `insert` to add text, `create` to make a file.".to_owned(),
            ));
        }
        if old == new {
            return Err(Trouble::Refused(
                "`old_str` and `new_str` are the same; nothing was changed.".to_owned(),
            ));
        }
        let text = self.open(path).await?;
        let (old, new) = text.in_its_line_ends(old, new);
        let places = text.places(&old);
        let [place] = places[..] else {
            return Err(Trouble::Refused(if places.is_empty() {
                not_found(path, &text, &old)
            } else {
                several(path, &text, &places)
            }));
        };
        let changed = text.replaced(place, old.len(), &new);
        let line = text.line_of(place);
        let lines = new.lines().count().max(1);
        self.store(path, text, &changed).await?;
        Ok(Said::done(changed_snippet(path, &changed, line, lines)))
    }

    async fn insert(&mut self, path: &Place<'_>, after: u64, new: &str) -> Result<Said, Trouble> {
        let text = self.open(path).await?;
        let count = text.lines().count();
        let after = usize::try_from(after).unwrap_or(usize::MAX);
        if after > count {
            return Err(Trouble::Refused(format!(
                "`insert_line` is {after}, but {path} has {count} lines; it must be between 0 and {count}."
            )));
        }
        if new.is_empty() {
            return Err(Trouble::Refused(
                "The text to insert is empty; nothing was changed.".to_owned(),
            ));
        }
        let changed = text.inserted(after, new);
        let lines = new.lines().count().max(1);
        self.store(path, text, &changed).await?;
        Ok(Said::done(changed_snippet(
            path,
            &changed,
            after + 1,
            lines,
        )))
    }

    async fn undo(&mut self, path: &Place<'_>) -> Result<Said, Trouble> {
        let Some(change) = self.undo.last(&path.absolute) else {
            return Err(Trouble::Refused(format!(
                "This tool has no change of {path} left to take back."
            )));
        };
        let now = match self.workspace.entry(&path.absolute).await? {
            None => None,
            Some(EntryKind::File | EntryKind::Directory | EntryKind::Other) => {
                Some(self.workspace.read(&path.absolute, MAX_FILE).await?)
            }
        };
        if !change.left(now.as_deref()) {
            return Err(Trouble::Refused(format!(
                "{path} was changed by something else since; nothing was taken back."
            )));
        }
        let said = if let Some(before) = &change.before {
            self.workspace.write(&path.absolute, before).await?;
            format!("{path} is as it was before the last change.")
        } else {
            self.workspace.remove(&path.absolute).await?;
            format!("{path} is removed; it did not exist before.")
        };
        self.undo.forget_last(&path.absolute);
        Ok(Said::done(said))
    }

    /// Reads a text file, or says in the model's terms why it cannot be.
    async fn open(&self, path: &Place<'_>) -> Result<Text, Trouble> {
        let bytes = match self.workspace.read(&path.absolute, MAX_FILE).await {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.unreadable(path, error.into()).await),
        };
        Text::read(bytes).map_err(|why| Trouble::Refused(format!("{path} {why}")))
    }

    async fn unreadable(&self, path: &Place<'_>, trouble: Trouble) -> Trouble {
        let Trouble::Refused(message) = trouble else {
            return trouble;
        };
        match self.workspace.entry(&path.absolute).await {
            Ok(None) => Trouble::Refused(format!(
                "{path} does not exist. The repository is at {}.",
                self.workdir
            )),
            Ok(Some(EntryKind::Directory)) => {
                Trouble::Refused(format!("{path} is a directory, not a file."))
            }
            Ok(Some(EntryKind::File | EntryKind::Other)) => Trouble::Refused(format!(
                "{message}\nFiles of more than {} MiB are not opened here; use `search`, or `sed -n` in the shell.",
                MAX_FILE / 1024 / 1024
            )),
            Err(error) => error.into(),
        }
    }

    async fn store(&mut self, path: &Place<'_>, text: Text, changed: &str) -> Result<(), Trouble> {
        let bytes = text.encode(changed).ok_or_else(|| {
            Trouble::Refused(format!(
                "{path} is not in UTF-8 but in an encoding of one byte a character, which has no place for some character of the new text; nothing was changed."
            ))
        })?;
        self.write(path, Some(text.into_bytes()), &bytes).await
    }

    async fn write(
        &mut self,
        path: &Place<'_>,
        before: Option<Vec<u8>>,
        after: &[u8],
    ) -> Result<(), Trouble> {
        self.workspace.write(&path.absolute, after).await?;
        self.undo.remember(&path.absolute, before, after);
        Ok(())
    }
}

fn changed_snippet(path: &Place<'_>, changed: &str, line: usize, lines: usize) -> String {
    let first = line.saturating_sub(CONTEXT).max(1);
    let last = line.saturating_add(lines - 1).saturating_add(CONTEXT);
    let snippet = numbered(changed, first, last, 4_000);
    if snippet.is_empty() {
        return format!("Changed {path}; it is empty now.");
    }
    format!("Changed {path}. It now reads there:\n{snippet}")
        .trim_end_matches('\n')
        .to_owned()
}

fn not_found(path: &Place<'_>, text: &Text, old: &str) -> String {
    let near = nearest::describe(text.as_str(), old);
    format!(
        "`old_str` does not occur in {path}; nothing was changed. White space must match exactly.{}",
        near.map(|near| format!("\n{near}")).unwrap_or_default()
    )
}

fn several(path: &Place<'_>, text: &Text, places: &[usize]) -> String {
    let lines: Vec<String> = places
        .iter()
        .take(NAMED_LINES)
        .map(|place| text.line_of(*place).to_string())
        .collect();
    let more = if places.len() > NAMED_LINES {
        " and more"
    } else {
        ""
    };
    let at_least = if places.len() < MAX_PLACES {
        ""
    } else {
        "at least "
    };
    format!(
        "`old_str` occurs {at_least}{} times in {path}, at lines {}{more}; nothing was changed. Add lines around it until it is the only one.",
        places.len(),
        lines.join(", ")
    )
}
