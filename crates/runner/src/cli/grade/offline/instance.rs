//! The row of one instance, out of a dataset in any form, or out of the directory of a task.

use std::path::{Path, PathBuf};

use dataset::Row;
use schema::InstanceId;

use super::task;
use crate::cli::arguments::Grade;
use crate::cli::error::Error;
use crate::cli::source::Source;
use crate::layers::options::Selection;
use crate::ui::{Printer, count, escape};

/// How many directories above a log may name its instance: our own logs lie three below theirs.
const ABOVE: usize = 4;

/// Reads the row that the flags choose, else the only one, else the one that the log's path names.
pub(super) fn read(
    command: &Grade,
    path: &Path,
    log: &Path,
    printer: &Printer,
) -> Result<Row, Error> {
    if task::is_at(path) {
        return task::read(path);
    }
    let flags = &command.selection;
    let selection = match &command.offline.instance_id {
        Some(id) => Selection {
            ids: Some(vec![id.clone()]),
            split: flags.split.clone(),
            subset: flags.subset.clone(),
            offline: flags.offline,
            ..Selection::default()
        },
        None => flags.clone(),
    };
    let source = Source::find_now(path, &selection, printer)?.without_statements();
    let names = Names::of(log);
    let mut first = true;
    // Of a whole dataset only rows that may be meant are held.
    let rows = source.keep(|row| {
        let rank = names.rank(&row.instance.id);
        let kept = (first || rank.is_some()).then_some(row);
        first = false;
        (rank, kept)
    })?;
    if rows.len() == 1 {
        let only = rows.into_iter().find_map(|(_, row)| row);
        return only.ok_or_else(|| none_named(path, 1));
    }
    let all = rows.len();
    let named = rows
        .into_iter()
        .filter_map(|(rank, row)| Some((rank?, row?)));
    let (_, row) = named
        .min_by_key(|(rank, _)| *rank)
        .ok_or_else(|| none_named(path, all))?;
    let id = escape::line(row.instance.id.as_str());
    printer.note(&format!("the log's path names the instance `{id}`"));
    Ok(row)
}

fn none_named(path: &Path, all: usize) -> Error {
    let rows = count(all, "row");
    let path = path.display();
    Error::usage(
        format!("`{path}` holds {rows}, and the log's path names none of them"),
        "say which one with --instance-id",
    )
}

/// What may be an instance's id in the path of a log, the likeliest first.
struct Names(Vec<String>);

impl Names {
    /// `ID/test_output.txt`, `ID.eval.log`, `ID/s1-a1/grade-1/test_output.txt`.
    fn of(log: &Path) -> Self {
        let path = std::path::absolute(log).unwrap_or_else(|_| PathBuf::from(log));
        let name = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
        let file = name(&path).unwrap_or_default();
        let ends = file.match_indices('.').map(|(at, _)| at).rev();
        let shorter = ends.filter_map(|end| file.get(..end).map(str::to_owned));
        let mut names: Vec<String> = [file.clone()].into_iter().chain(shorter).collect();
        names.extend(path.ancestors().skip(1).take(ABOVE).filter_map(name));
        Self(names)
    }

    fn rank(&self, id: &InstanceId) -> Option<usize> {
        let file_name = id.file_name();
        let is_it = |name: &String| name == id.as_str() || *name == file_name;
        self.0.iter().position(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_paths() {
        for (path, rank) in [
            ("/x/a__b-1", Some(0)),
            ("/x/a__b-1.log", Some(1)),
            ("/x/a__b-1.gold.eval.log", Some(3)),
            ("/x/a__b-1/test_output.txt", Some(2)),
            ("/r/instances/a__b-1/s1-a1/grade-1/test_output.txt", Some(4)),
            ("/a__b-1/2/3/4/5/log", None),
            ("/x/a__b-11.log", None),
            ("/x/a__b-1x/log", None),
        ] {
            let names = Names::of(Path::new(path));
            assert_eq!(names.rank(&InstanceId::new("a__b-1")), rank, "{path}");
        }
    }
}
