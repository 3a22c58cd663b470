//! Where a row's repository is looked for.

use std::path::{Path, PathBuf};

use dataset::{Error, Row, repository_path};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Fixture, plain_with, told};

fn row(more: Value) -> Row {
    Fixture::of_rows(&[plain_with("a", more)])
        .load()
        .unwrap()
        .rows
        .remove(0)
}

fn directory_with(names: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::create_dir_all(directory.path().join(name)).unwrap();
    }
    directory
}

#[test]
fn the_path_of_the_row_comes_first() {
    let data = directory_with(&["sets", "repos/one"]);
    let repos = directory_with(&["octo__demo"]);
    let sets = data.path().join("sets");
    let found = repository_path(
        &row(json!({"repo_path": "../repos/one"})),
        &sets,
        Some(repos.path()),
    )
    .unwrap();
    assert_eq!(found, sets.join("../repos/one"));
    let absolute = data.path().join("repos/one");
    assert_eq!(
        repository_path(
            &row(json!({"repo_path": absolute})),
            Path::new("/nowhere"),
            None
        )
        .unwrap(),
        absolute
    );
    let elsewhere = repository_path(
        &row(json!({"repo_path": "missing"})),
        &sets,
        Some(repos.path()),
    )
    .unwrap();
    assert_eq!(elsewhere, repos.path().join("octo__demo"));
}

#[test]
fn repos_hold_work_trees_bare_repositories_and_bundles() {
    for name in ["octo__demo", "octo__demo.git", "octo__demo.bundle"] {
        let repos = directory_with(&[name]);
        assert_eq!(
            repository_path(&row(json!({})), Path::new("."), Some(repos.path())).unwrap(),
            repos.path().join(name)
        );
    }
}

#[test]
fn all_places_that_were_tried_are_named() {
    let error = repository_path(
        &row(json!({"repo_path": "r"})),
        Path::new("data"),
        Some(Path::new("repos")),
    )
    .unwrap_err();
    let (text, hints) = told(&error);
    assert_eq!(
        text,
        "instance \"a\": its repository is in none of 4 places: data/r, repos/octo__demo, repos/octo__demo.git, repos/octo__demo.bundle"
    );
    assert_eq!(hints.len(), 1);
    let Error::RepositoryMissing { tried, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(tried[0], PathBuf::from("data/r"));
}

#[test]
fn a_row_that_names_nothing_is_told_what_to_name() {
    let unnamed = |repo: &str| {
        told(&repository_path(&row(json!({"repo": repo})), Path::new("."), None).unwrap_err())
    };
    let (text, hints) = unnamed("octo/demo");
    assert_eq!(text, "instance \"a\": nothing says where its repository is");
    assert_eq!(
        hints,
        ["give the row a `repo_path`, or a directory that holds octo__demo with --repos"]
    );
    assert_eq!(
        unnamed("").1,
        ["give the row a `repo_path`, relative to the dataset file"]
    );
    let error = repository_path(
        &row(json!({"repo": ""})),
        Path::new("."),
        Some(Path::new("/")),
    )
    .unwrap_err();
    assert!(matches!(error, Error::RepositoryUnnamed { .. }));
}

#[test]
fn hostile_names_never_leave_the_directory() {
    let outside = directory_with(&["repos", "secret"]);
    let repos = outside.path().join("repos");
    for repo in [
        "../..",
        "../secret",
        "..",
        "/etc",
        "a/../../secret",
        "..\\x",
        "a\0/b",
    ] {
        let error =
            repository_path(&row(json!({"repo": repo})), Path::new("."), Some(&repos)).unwrap_err();
        assert!(
            matches!(error, Error::HostileRepository { .. }),
            "{repo}: {error}"
        );
        assert_eq!(error.hints().len(), 1);
    }
}
