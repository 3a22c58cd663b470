//! What a patch holds.

use std::ops::Range;

use crate::path::PatchPath;

/// Mode of a symbolic link.
const SYMLINK: u32 = 0o120_000;
/// Mode of a submodule.
const SUBMODULE: u32 = 0o160_000;

/// A patch: its files in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// One for each section of the patch. A path may appear twice (a file that became a link is deleted, then added).
    pub files: Vec<FilePatch>,
}

impl Patch {
    /// Lines added over all files.
    pub fn added(&self) -> usize {
        self.files.iter().map(|file| file.added).sum()
    }

    /// Lines removed over all files.
    pub fn removed(&self) -> usize {
        self.files.iter().map(|file| file.removed).sum()
    }
}

/// What happens to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    /// Where the file is before and after.
    pub paths: Paths,
    /// What happens.
    pub change: Change,
    /// Mode before, where the patch tells.
    pub old_mode: Option<u32>,
    /// Mode after, where the patch tells.
    pub new_mode: Option<u32>,
    /// What kind of content the section carries.
    pub content: Content,
    /// The hunks of a text.
    pub hunks: Vec<Hunk>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// The section's bytes in the input, from its first header line to the end of its last line.
    pub range: Range<usize>,
}

impl FilePatch {
    /// The path to name the file by: after the change, or before it for a deleted file.
    pub fn path(&self) -> &PatchPath {
        match &self.paths {
            Paths::Added(path) | Paths::Deleted(path) | Paths::Both { new: path, .. } => path,
        }
    }

    /// The path before; `None` for an added file.
    pub fn old_path(&self) -> Option<&PatchPath> {
        match &self.paths {
            Paths::Added(_) => None,
            Paths::Deleted(path) | Paths::Both { old: path, .. } => Some(path),
        }
    }

    /// The path after; `None` for a deleted file.
    pub fn new_path(&self) -> Option<&PatchPath> {
        match &self.paths {
            Paths::Deleted(_) => None,
            Paths::Added(path) | Paths::Both { new: path, .. } => Some(path),
        }
    }

    /// Whether the content is binary.
    pub fn is_binary(&self) -> bool {
        match self.content {
            Content::BinaryData | Content::BinaryNotice => true,
            Content::None | Content::Text => false,
        }
    }

    /// Whether the file is a symbolic link before or after.
    pub fn is_symlink(&self) -> bool {
        self.has_type(SYMLINK)
    }

    /// Whether the file is a submodule before or after.
    pub fn is_submodule(&self) -> bool {
        self.has_type(SUBMODULE)
    }

    fn has_type(&self, file_type: u32) -> bool {
        [self.old_mode, self.new_mode]
            .into_iter()
            .flatten()
            .any(|mode| mode & 0o170_000 == file_type)
    }
}

/// Where a file is before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paths {
    /// Only after.
    Added(PatchPath),
    /// Only before.
    Deleted(PatchPath),
    /// On both sides; the two differ for a rename or a copy.
    Both {
        /// Before.
        old: PatchPath,
        /// After.
        new: PatchPath,
    },
}

/// The kinds of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A new file.
    Added,
    /// A file that goes.
    Deleted,
    /// Other content, perhaps another mode too.
    Modified,
    /// Another path, perhaps other content too.
    Renamed,
    /// A new file that starts as a copy of another.
    Copied,
    /// Another mode and nothing else.
    ModeChanged,
}

/// The kinds of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// Headers only: an empty file, a mode, a pure rename.
    None,
    /// Hunks of lines.
    Text,
    /// `GIT binary patch`: it can be applied.
    BinaryData,
    /// `Binary files differ`: a notice that cannot be applied.
    BinaryNotice,
}

/// One run of changed lines. Lines are counted from 1, as in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line before.
    pub old_start: u32,
    /// Number of lines before.
    pub old_lines: u32,
    /// First line after.
    pub new_start: u32,
    /// Number of lines after.
    pub new_lines: u32,
    /// The hunk's bytes in the input, header included.
    pub range: Range<usize>,
}
