//! Where the repository of a row lies on this machine.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::row::Row;

/// Path of the repository of `row`: its `repo_path` relative to `directory`, the directory of the dataset, else `<owner>__<name>` in `repos`: a
/// work tree, a bare repository (`.git`) or a bundle (`.bundle`). It exists; whether it is a repository is for its reader to say.
///
/// # Errors
/// When it is in none of these places (all are named), when nothing says where it is, or when its name would lead out of `repos`.
pub fn repository_path(
    row: &Row,
    directory: &Path,
    repos: Option<&Path>,
) -> Result<PathBuf, Error> {
    let instance = &row.instance;
    let mut tried = Vec::new();
    if let Some(path) = &instance.repo_path {
        tried.push(directory.join(path));
    }
    if let Some(repos) = repos.filter(|_| !instance.repo.is_empty()) {
        match directory_name(&instance.repo) {
            Some(name) => tried.extend(
                ["", ".git", ".bundle"].map(|suffix| repos.join(format!("{name}{suffix}"))),
            ),
            None if tried.is_empty() => {
                return Err(Error::HostileRepository {
                    id: instance.id.to_string(),
                    repo: instance.repo.clone(),
                });
            }
            None => {}
        }
    }
    if tried.is_empty() {
        return Err(Error::RepositoryUnnamed {
            id: instance.id.to_string(),
            repo: instance.repo.clone(),
        });
    }
    match tried.iter().find(|path| path.exists()) {
        Some(found) => Ok(found.clone()),
        None => Err(Error::RepositoryMissing {
            id: instance.id.to_string(),
            repo: instance.repo.clone(),
            tried,
        }),
    }
}

/// `owner/name` as one path component, `None` when it cannot be one.
fn directory_name(repo: &str) -> Option<String> {
    let safe = |part: &str| {
        let dots_only = part.chars().all(|c| c == '.');
        !dots_only && !part.contains(|c: char| c == '\\' || c.is_control())
    };
    let name = repo.replace('/', "__");
    (repo.split('/').all(safe) && name.len() <= 240).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::directory_name;

    #[test]
    fn names_become_one_component() {
        assert_eq!(directory_name("pallets/flask").unwrap(), "pallets__flask");
        assert_eq!(directory_name("flask").unwrap(), "flask");
        assert_eq!(directory_name("a/b/c.d").unwrap(), "a__b__c.d");
        assert_eq!(directory_name("..a/b").unwrap(), "..a__b");
    }

    #[test]
    fn hostile_names_are_refused() {
        for repo in [
            "../..", "..", ".", "", "/", "/etc", "a/", "a//b", "a/../b", "a\\b", "a\0b", "a/\nb",
        ] {
            assert_eq!(directory_name(repo), None, "{repo:?}");
        }
        assert_eq!(directory_name(&"x".repeat(300)), None);
    }
}
