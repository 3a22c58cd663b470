//! Where the dataset of a command is: on this machine, or on the hub.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dataset::hub::{Hub, Id, Settings};
use dataset::select::Candidate;
use dataset::{LoadOptions, Located, Row};

use super::error::Error;
use super::{earlier, resolve};
use crate::layers::options::Selection;
use crate::settings::Operation;
use crate::ui::{self, Printer};

/// Longest time to connect to the hub.
const CONNECT: Duration = Duration::from_secs(30);

/// A dataset that was found, and which of its instances are meant.
pub(super) struct Source {
    located: Located,
    id: Option<Id>,
    load: LoadOptions,
    selection: dataset::Selection,
}

impl Source {
    /// Finds the dataset at `path`, in the hub where nothing of that name is here, and downloads what is not in the cache.
    pub(super) async fn find(
        path: &Path,
        options: &Selection,
        printer: &Printer,
    ) -> Result<Self, Error> {
        let load = LoadOptions {
            wanted: resolve::wanted(options),
            ..LoadOptions::default()
        };
        let id = Id::of_path(path);
        if let (None, Some(note)) = (&id, in_the_way(path)) {
            printer.note(&note);
        }
        let located = match &id {
            None => dataset::locate(path, &load.wanted)?,
            Some(id) => {
                let hub = hub(options.offline == Some(true), printer)?;
                hub.locate(id, &load.wanted).await?
            }
        };
        if let (Some(split), None) = (&located.split, &load.wanted.split) {
            printer.note(&format!(
                "dataset {}, split {}",
                ui::escape::line(&located.shown.display().to_string()),
                ui::escape::line(split)
            ));
        }
        Ok(Self {
            located,
            id,
            load,
            selection: selection(options)?,
        })
    }

    /// The same, for a command that has no runtime yet.
    pub(super) fn find_now(
        path: &Path,
        options: &Selection,
        printer: &Printer,
    ) -> Result<Self, Error> {
        super::block_on(Self::find(path, options, printer))
    }

    /// The same for rows of which only the tests count: they need not say what is asked.
    pub(super) fn without_statements(mut self) -> Self {
        self.load.needs_statement = false;
        self
    }

    /// The selected rows.
    pub(super) fn rows(&self) -> Result<Vec<Row>, Error> {
        self.keep(|row| row)
    }

    /// What `keep` makes of each selected row; nothing else is held.
    pub(super) fn keep<T>(&self, keep: impl FnMut(Row) -> T) -> Result<Vec<T>, Error> {
        Ok(self.located.select(&self.load, &self.selection, keep)?)
    }

    /// What a selection looks at of every row, selected or not; nothing else is held.
    pub(super) fn candidates(&self) -> Result<Vec<Candidate>, Error> {
        let everything = dataset::Selection::default();
        let of = |row: Row| Candidate::of(&row);
        Ok(self.located.select(&self.load, &everything, of)?)
    }

    /// The rows that `wanted` says, selected or not.
    pub(super) fn all_of(&self, wanted: impl Fn(&Row) -> bool) -> Result<Vec<Row>, Error> {
        let everything = dataset::Selection::default();
        let keep = |row: Row| wanted(&row).then_some(row);
        let rows = self.located.select(&self.load, &everything, keep)?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Which of its instances are meant.
    pub(super) fn selection(&self) -> &dataset::Selection {
        &self.selection
    }

    /// What a row's `repo_path` is relative to.
    pub(super) fn directory(&self) -> &Path {
        &self.located.directory
    }

    /// Notes the dataset in the settings of a run, at the commit that it was read at.
    pub(super) fn record(&self, operation: &mut Operation) {
        if let (Some(id), Some(commit)) = (&self.id, &self.located.revision) {
            operation.dataset = Some(PathBuf::from(id.at(commit).to_string()));
        }
        let wanted = &self.load.wanted;
        operation
            .dataset_directory
            .clone_from(&self.located.directory);
        operation.split.clone_from(&wanted.split);
        operation.subset.clone_from(&wanted.subset);
    }
}

/// A word on a path that has the short name of a dataset of the hub: what lies here goes before it.
fn in_the_way(path: &Path) -> Option<String> {
    let alias = path.to_str()?;
    let name = Id::of_alias(alias)?;
    Some(format!(
        "`{alias}` is read from here, where something of that name lies; the dataset of the hub is hf://datasets/{name}"
    ))
}

/// Which instances, with what became of them in earlier runs looked up.
pub(super) fn selection(options: &Selection) -> Result<dataset::Selection, Error> {
    let asked = options.where_status.iter().flatten();
    Ok(dataset::Selection {
        earlier: asked
            .map(|text| earlier::look_up(text))
            .collect::<Result<_, _>>()?,
        ..resolve::selection(options)?
    })
}

fn hub(offline: bool, printer: &Printer) -> Result<Hub, Error> {
    let mut settings =
        Settings::of(|name| std::env::var(name).ok()).map_err(dataset::Error::from)?;
    settings.offline |= offline;
    Ok(Hub::new(
        model::client(CONNECT)?,
        settings,
        ui::downloads(printer),
    ))
}
