//! Everything that can be wrong with a dataset or a selection.

mod hints;

use std::path::{Path, PathBuf};

use crate::location::Location;

/// An id that was asked for and is not there, with the ids that look most like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// As it was asked for.
    pub id: String,
    /// Ids of the dataset that look like it, the likest first.
    pub nearest: Vec<String>,
}

/// What is wrong with a dataset or a selection: a mistake of its author or of the person who named it, never of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("cannot read dataset {}", path.display())]
    Read {
        /// The dataset.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The hub does not give it.
    #[error(transparent)]
    Hub(Box<crate::hub::Error>),
    /// Standard input is asked for, and a person sits there.
    #[error("the dataset is to come from standard input, which is a terminal")]
    Terminal,
    /// A directory without a file that looks like data.
    #[error("directory {} holds no data", path.display())]
    NoData {
        /// The directory.
        path: PathBuf,
    },
    /// A directory with more files than any dataset has.
    #[error("directory {} holds more than {most} files", path.display())]
    TooManyFiles {
        /// The directory.
        path: PathBuf,
        /// How many are looked at.
        most: usize,
    },
    /// Files of one split in several formats.
    #[error("split {split:?} of dataset {} comes in several formats: {}", path.display(), files.join(", "))]
    MixedFormats {
        /// The dataset.
        path: PathBuf,
        /// The split.
        split: String,
        /// Its files, relative to the dataset.
        files: Vec<String>,
    },
    /// Parts of a split that do not make a whole.
    #[error("split {split:?} of dataset {} is not whole: {problem}", path.display())]
    Shards {
        /// The dataset.
        path: PathBuf,
        /// The split.
        split: String,
        /// What is wrong.
        problem: String,
    },
    /// A list of files that `save_to_disk` wrote cannot be followed.
    #[error("{} {problem}", path.display())]
    Saved {
        /// The list.
        path: PathBuf,
        /// What is wrong, as the end of a sentence.
        problem: String,
    },
    /// Several subsets and none was chosen, or one that is not there.
    #[error("dataset {} {}{}", path.display(), subsets_held(subsets), match wanted { Some(wanted) => format!(", not {wanted:?}"), None => String::new() })]
    Subset {
        /// The dataset.
        path: PathBuf,
        /// What it holds.
        subsets: Vec<String>,
        /// What was asked for.
        wanted: Option<String>,
    },
    /// Compressed data that cannot be unpacked.
    #[error("cannot read dataset {}", path.display())]
    Damaged {
        /// The dataset.
        path: PathBuf,
        /// What the unpacker said.
        source: Box<std::io::Error>,
    },
    /// A file of columns that cannot be decoded.
    #[error("cannot read dataset {} as {kind}{}", path.display(), at.map(|at| format!(" at {at}")).unwrap_or_default())]
    Columns {
        /// The file.
        path: PathBuf,
        /// What it was read as.
        kind: &'static str,
        /// The row that could not be had, where the file could be opened.
        at: Option<Location>,
        /// What the decoder said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A column that rows cannot hold.
    #[error("dataset {}: column `{column}` {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// What is wrong, as the end of a sentence.
        problem: String,
    },
    /// Two files of one dataset with other columns.
    #[error("dataset {}: its columns are not those of {}: {problem}", path.display(), first.display())]
    Schemas {
        /// The file.
        path: PathBuf,
        /// The file that was read first.
        first: PathBuf,
        /// The first difference.
        problem: String,
    },
    /// A table of text that cannot be read.
    #[error("dataset {}, {at}: {problem}", path.display())]
    BadTable {
        /// The file.
        path: PathBuf,
        /// Where the row starts.
        at: Location,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        hint: &'static str,
    },
    /// There is no row.
    #[error("dataset {} holds no rows", path.display())]
    Empty {
        /// The dataset.
        path: PathBuf,
    },
    /// The file is of a kind that is not read.
    #[error("dataset {} is {found}, not a dataset", path.display())]
    UnsupportedFormat {
        /// The dataset.
        path: PathBuf,
        /// What it is, such as `a ZIP archive`.
        found: &'static str,
        /// How to get at its rows.
        hint: &'static str,
    },
    /// Bytes that are not UTF-8.
    #[error("dataset {}, line {line}, byte {column}: not UTF-8", path.display())]
    NotUtf8 {
        /// The dataset.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: u64,
    },
    /// Text that is not JSON.
    #[error("dataset {}, line {line}, column {column}: {problem}", path.display())]
    Malformed {
        /// The dataset.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: u64,
        /// What the parser met.
        problem: String,
        /// How such a thing comes about, where it is known.
        hint: Option<&'static str>,
    },
    /// A row over the limit.
    #[error("dataset {}, {at}: the row is larger than {limit} bytes", path.display())]
    HugeRow {
        /// The dataset.
        path: PathBuf,
        /// Where the row stands.
        at: Location,
        /// The limit.
        limit: usize,
    },
    /// A value where a row should be.
    #[error("dataset {}, {at}: a row must be a JSON object, found {found}", path.display())]
    NotARow {
        /// The dataset.
        path: PathBuf,
        /// Where the row stands.
        at: Location,
        /// What is there, such as `a number`.
        found: &'static str,
    },
    /// A field that every row must have is absent or null.
    #[error("dataset {}, {at}{}: the row has no `{field}`", path.display(), of(id.as_ref()))]
    MissingField {
        /// The dataset.
        path: PathBuf,
        /// Where the row stands.
        at: Location,
        /// The row's id, where it is known.
        id: Option<String>,
        /// The field.
        field: &'static str,
        /// The fields that the row has.
        present: Vec<String>,
    },
    /// A field whose value is not what it must be.
    #[error("dataset {}, {at}{}: field `{field}` {problem}", path.display(), of(id.as_ref()))]
    BadField {
        /// The dataset.
        path: PathBuf,
        /// Where the row stands.
        at: Location,
        /// The row's id, where it is known.
        id: Option<String>,
        /// The field, as the row spells it.
        field: String,
        /// What is wrong, as the end of a sentence.
        problem: String,
    },
    /// Two rows with one id.
    #[error("dataset {}: instance {id:?} is on {first}{} and again on {second}", path.display(), in_file(first_path, path))]
    DuplicateId {
        /// The file of the second row.
        path: PathBuf,
        /// The id.
        id: String,
        /// The file of the first row.
        first_path: PathBuf,
        /// Where the first row stands.
        first: Location,
        /// Where the second does.
        second: Location,
    },
    /// Two ids that would share one file name.
    #[error("dataset {}, {at}: instances {id:?} and {other:?} would share one file name", path.display())]
    FileNameClash {
        /// The dataset.
        path: PathBuf,
        /// Where the row stands.
        at: Location,
        /// Its id.
        id: String,
        /// The id that came first.
        other: String,
    },
    /// The file holds several splits and none was chosen, or one that it does not hold.
    #[error("dataset {} holds the splits {}{}", path.display(), splits.join(", "), match wanted { Some(wanted) => format!(", not {wanted:?}"), None => String::new() })]
    Split {
        /// The dataset.
        path: PathBuf,
        /// What it holds.
        splits: Vec<String>,
        /// What was asked for.
        wanted: Option<String>,
    },

    /// Ids that the dataset does not hold.
    #[error("{}", unknown_ids(unknown))]
    UnknownIds {
        /// Each with its nearest names.
        unknown: Vec<Unknown>,
        /// Instances in the dataset.
        total: usize,
    },
    /// Repositories that the dataset does not name.
    #[error("the dataset has no instance of {}", unknown.iter().take(5).map(|one| format!("{:?}", one.id)).collect::<Vec<_>>().join(", "))]
    UnknownRepositories {
        /// Each with its nearest names.
        unknown: Vec<Unknown>,
        /// Those that it names.
        known: Vec<String>,
    },
    /// The pattern is no glob.
    #[error("{pattern:?} is not a glob pattern")]
    Glob {
        /// As given.
        pattern: String,
        /// Where it breaks.
        source: Box<globset::Error>,
    },
    /// The id file cannot be read.
    #[error("cannot read id file {}", path.display())]
    IdFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The filter is not a regular expression.
    #[error("filter {pattern:?} is not a regular expression")]
    Filter {
        /// As given.
        pattern: String,
        /// Where it breaks.
        source: Box<regex::Error>,
    },
    /// The slice cannot be read.
    #[error("slice {text:?} {problem}")]
    Slice {
        /// As given.
        text: String,
        /// What is wrong, as the end of a sentence.
        problem: &'static str,
    },
    /// The shard cannot be read.
    #[error("shard {text:?} {problem}")]
    Shard {
        /// As given.
        text: String,
        /// What is wrong, as the end of a sentence.
        problem: &'static str,
    },
    /// Nothing is left.
    #[error("no instance is left after {step}: {before} before it")]
    EmptySelection {
        /// The step that left nothing, such as `--filter "django.*"`.
        step: String,
        /// Instances before that step.
        before: usize,
    },

    /// What a row or a template makes is no name of an image.
    #[error("instance {id:?}: {image:?} is no image: {problem}")]
    BadImage {
        /// The instance.
        id: String,
        /// The name.
        image: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A template of image names that a row cannot fill.
    #[error("instance {id:?} cannot fill {{{placeholder}}} of the image {template:?}")]
    BadTemplate {
        /// The instance.
        id: String,
        /// As given.
        template: String,
        /// The placeholder.
        placeholder: String,
        /// The placeholders that there are, with braces between them.
        known: String,
    },

    /// The repository of a row is nowhere.
    #[error("instance {id:?}: its repository is in none of {} places: {}", tried.len(), list(tried))]
    RepositoryMissing {
        /// The instance.
        id: String,
        /// Its `repo`, possibly empty.
        repo: String,
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// Nothing says where the repository of a row is.
    #[error("instance {id:?}: nothing says where its repository is")]
    RepositoryUnnamed {
        /// The instance.
        id: String,
        /// Its `repo`, possibly empty.
        repo: String,
    },
    /// A repository name that would lead out of the directory of repositories.
    #[error("instance {id:?}: repository name {repo:?} cannot be used as a directory name")]
    HostileRepository {
        /// The instance.
        id: String,
        /// Its `repo`.
        repo: String,
    },
}

impl From<crate::hub::Error> for Error {
    fn from(error: crate::hub::Error) -> Self {
        Self::Hub(Box::new(error))
    }
}

fn of(id: Option<&String>) -> String {
    id.map(|id| format!(", instance {id:?}"))
        .unwrap_or_default()
}

/// Names the file of the first of two rows, where it is another one.
fn in_file(first: &Path, second: &Path) -> String {
    if first == second {
        return String::new();
    }
    format!(" of {}", first.display())
}

fn subsets_held(subsets: &[String]) -> String {
    if subsets.is_empty() {
        return "has no subsets".to_owned();
    }
    format!("holds the subsets {}", subsets.join(", "))
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(", ")
}

fn unknown_ids(unknown: &[Unknown]) -> String {
    let shown: Vec<_> = unknown
        .iter()
        .take(5)
        .map(|one| format!("{:?}", one.id))
        .collect();
    let more = match unknown.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the dataset has no instance {}{more}", shown.join(", "))
}
