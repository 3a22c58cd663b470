//! What a person can do about each mistake in a dataset or a selection.

use super::{Error, Unknown};
use crate::near::nearest;

impl Error {
    /// What a person can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Read { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound => vec!["check the path given to --dataset".into()],
                std::io::ErrorKind::PermissionDenied => vec!["make the file readable for this user".into()],
                _ => vec![],
            },
            Self::Hub(error) => error.hints(),
            Self::Terminal => vec!["pipe the rows in, or name a file".into()],
            Self::NoData { .. } => vec!["a directory holds .json, .jsonl, .csv, .parquet or .arrow files, below `data` or a subset's name, or what save_to_disk wrote".into()],
            Self::TooManyFiles { .. } => vec!["name the dataset's own directory, or the one file that is meant".into()],
            Self::MixedFormats { .. } => vec!["name the one file that is meant, or move the others away".into()],
            Self::Shards { .. } => vec!["get the dataset again whole: parts are numbered from 00000".into()],
            Self::Saved { .. } => vec!["save the dataset again with save_to_disk, or name its files themselves".into()],
            Self::Subset { subsets, .. } if subsets.is_empty() => vec!["a single file has no subsets: leave --subset out".into()],
            Self::Subset { .. } => vec!["choose one that it holds with --subset".into()],
            Self::Damaged { .. } | Self::Columns { at: Some(_), .. } => vec!["the file was cut off or damaged, or its download was: get it again whole".into()],
            Self::Columns { .. } => vec!["the file was cut off, or it is no such file: get it again whole".into()],
            Self::Column { .. } => vec!["write the rows as JSON lines instead, for example with pandas: to_json(orient=\"records\", lines=True)".into()],
            Self::Schemas { .. } => vec!["files of different revisions may lie together: get the dataset again whole".into()],
            Self::Empty { .. } => vec!["a dataset has one JSON object for each issue: an array in .json, one a line in .jsonl".into()],
            Self::BadTable { hint, .. } | Self::UnsupportedFormat { hint, .. } => vec![(*hint).into()],
            Self::NotUtf8 { .. } => vec!["convert the file to UTF-8, for example with iconv".into()],
            Self::Malformed { hint, .. } => hint.iter().map(|hint| (*hint).into()).collect(),
            Self::HugeRow { .. } => vec!["a row holds text and patches only: is a file or a log inside it?".into()],
            Self::NotARow { .. } => vec!["each row is an object such as {\"instance_id\": …, \"problem_statement\": …}".into()],
            Self::MissingField { field, present, .. } => missing_field(field, present),
            Self::BadField { field, .. } => vec![bad_field(field)],
            Self::FileNameClash { .. } => vec!["rename one of them: an id names the files of its instance".into()],
            Self::DuplicateId { .. } => vec!["remove or rename one of the two rows".into()],
            Self::Split { wanted: None, .. } => vec!["choose one with --split".into()],
            Self::Split { .. } => vec!["choose one that it holds with --split".into()],
            Self::UnknownIds { unknown, total } => unknown_hints(unknown, *total),
            Self::UnknownRepositories { unknown, known } => unknown_repositories(unknown, known),
            Self::Glob { .. } => vec!["`*` stands for any text, `?` for one character, `[ab]` for one of some, `{a,b}` for one of several".into()],
            Self::IdFile { .. } => vec!["an id file has one instance id a line".into()],
            Self::Filter { .. } => vec!["the filter must match a whole instance id; escape special characters with a backslash".into()],
            Self::Slice { .. } => vec!["a slice is START:END or START:END:STEP as in Python, such as 0:10, -5: or ::2".into()],
            Self::Shard { .. } => vec!["a shard is I/N with I from 1 to N, such as 1/4".into()],
            Self::EmptySelection { .. } => vec!["loosen it; filters match whole ids, so end a prefix with .*".into()],
            Self::BadImage { .. } => vec!["an image is `[HOST/]REPOSITORY[:TAG]`; {instance_id_lower} and {instance_id_1776} are in lower case".into()],
            Self::BadTemplate { known, .. } => vec![format!("there are {{{known}}}, and the row's own fields that are text or a number")],
            Self::RepositoryMissing { .. } => vec!["a repository may be a work tree, a bare repository (NAME.git) or a bundle (NAME.bundle)".into()],
            Self::RepositoryUnnamed { repo, .. } if repo.is_empty() => vec!["give the row a `repo_path`, relative to the dataset file".into()],
            Self::RepositoryUnnamed { repo, .. } => vec![format!("give the row a `repo_path`, or a directory that holds {} with --repos", repo.replace('/', "__"))],
            Self::HostileRepository { .. } => vec!["`repo` is owner/name".into()],
        }
    }
}

fn missing_field(field: &str, present: &[String]) -> Vec<String> {
    let near = nearest(field, present.iter().map(String::as_str), 1);
    match near.first() {
        Some(near) if *near == field => {
            vec![format!("`{field}` is null in this row: give it a value")]
        }
        Some(near) => vec![format!("the row has `{near}`: is it meant?")],
        None => vec![format!(
            "the row has {}",
            if present.is_empty() {
                "no field at all".into()
            } else {
                present.join(", ")
            }
        )],
    }
}

fn bad_field(field: &str) -> String {
    match field.to_ascii_lowercase().as_str() {
        "instance_id" => {
            "each row needs an id of its own, such as `owner__name-123`; it names the instance's files".into()
        }
        "fail_to_pass" | "pass_to_pass" => {
            "test names are a list such as [\"test_a\", \"test_b\"], or text that holds one".into()
        }
        "eval_timeout" | "eval_timeout_seconds" => "such as 1800".into(),
        _ => format!("change `{field}` in this row, or remove it where it is not needed"),
    }
}

fn unknown_hints(unknown: &[Unknown], total: usize) -> Vec<String> {
    let near = unknown.iter().take(5).filter(|one| !one.nearest.is_empty());
    let mut hints: Vec<_> = near
        .map(|one| format!("instead of {:?}: {}", one.id, one.nearest.join(", ")))
        .collect();
    if hints.is_empty() {
        hints.push(format!(
            "none of its {total} ids looks like it; ids are compared exactly"
        ));
    }
    hints
}

fn unknown_repositories(unknown: &[Unknown], known: &[String]) -> Vec<String> {
    let near = unknown.iter().take(5).filter(|one| !one.nearest.is_empty());
    let hints: Vec<_> = near
        .map(|one| format!("instead of {:?}: {}", one.id, one.nearest.join(", ")))
        .collect();
    if !hints.is_empty() {
        return hints;
    }
    let shown: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
    vec![format!("it has instances of {}", shown.join(", "))]
}
