//! A repository in memory over prepared objects: no configuration, no attributes, no hooks, and what is written into it is never on disk.

use std::path::Path;

use git2::{Config, Odb, Repository};

/// Runs `work` on such a repository over the objects of some directories.
pub(super) fn with_memory_repository<T>(
    objects: &[&Path],
    work: impl FnOnce(&Repository) -> Result<T, git2::Error>,
) -> Result<T, git2::Error> {
    let odb = Odb::new()?;
    for directory in objects {
        odb.add_disk_alternate(text(directory)?)?;
    }
    odb.add_new_mempack_backend(1000)?;
    let repository = Repository::from_odb(odb)?;
    repository.set_config(&Config::new()?)?;
    work(&repository)
}

/// The objects of a directory and of those that it borrows from.
pub(super) fn disk(objects: &Path) -> Result<Odb<'static>, git2::Error> {
    let odb = Odb::new()?;
    odb.add_disk_alternate(text(objects)?)?;
    Ok(odb)
}

fn text(path: &Path) -> Result<&str, git2::Error> {
    path.to_str()
        .ok_or_else(|| git2::Error::from_str("the path of the objects is not UTF-8"))
}
