//! Where a recording was made: its repository and the commit that it started from.

use std::path::{Path, PathBuf};

use crate::cli::arguments::Replay;
use crate::cli::error::Error;
use crate::cli::source::Source;
use crate::layers::Options;
use crate::replay::Recording;
use crate::store::RunDirectory;
use crate::ui::Printer;

/// The repository of a recording, and the commit that it started from.
pub(super) fn repository(
    command: &Replay,
    options: &Options,
    recording: &Recording,
    printer: &Printer,
) -> Result<(PathBuf, Option<String>), Error> {
    let recorded = &recording.trajectory.header.start_commit;
    let recorded = (!recorded.is_empty()).then(|| recorded.clone());
    if let Some(path) = &command.repo {
        return Ok((path.clone(), recorded));
    }
    let of_run = dataset_of_run(&recording.path);
    let (dataset, repos) = match (&options.selection.dataset, of_run) {
        (Some(dataset), _) => (dataset.clone(), options.selection.repos.clone()),
        (None, Some((dataset, repos))) => (dataset, options.selection.repos.clone().or(repos)),
        (None, None) => {
            return Err(Error::usage(
                format!(
                    "nothing says which repository `{}` was recorded in",
                    recording.path.display()
                ),
                "name it with --repo, or the dataset that holds its instance with --dataset",
            ));
        }
    };
    let id = &recording.trajectory.header.instance_id;
    let source = Source::find_now(&dataset, &options.selection, printer)?;
    let rows = source.all_of(|row| row.instance.id == *id)?;
    let Some(row) = rows.first() else {
        return Err(Error::usage(
            format!("no row for {id}"),
            "name another --dataset",
        ));
    };
    let path = dataset::repository_path(row, source.directory(), repos.as_deref())?;
    Ok((path, row.instance.base_commit.clone().or(recorded)))
}

/// The dataset and the repositories of the run that a trajectory lies in.
fn dataset_of_run(trajectory: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let absolute = std::path::absolute(trajectory).ok()?;
    let mut roots = absolute.ancestors().skip(1).take(4);
    let file = roots.find_map(|root| RunDirectory::new(root).read_run_file().ok().flatten())?;
    Some((file.operation.dataset?, file.operation.repositories))
}
