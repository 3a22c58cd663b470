//! Which files a dataset has at a revision.

use std::path::{Component, Path};

use reqwest::Method;
use serde::Deserialize;

use super::cache::is_commit;
use super::digest::Expected;
use super::error::Error;
use super::exchange::{Exchange, Request};
use super::id::Id;

/// Files of a commit.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) files: Vec<Listed>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Listed {
    /// Its path, which stays below the repository.
    pub(super) name: String,
    pub(super) size: Option<u64>,
    /// What its content must have; a mirror may leave that for the answer that brings the file.
    pub(super) expected: Option<Expected>,
}

#[derive(Deserialize)]
struct Info {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sibling {
    rfilename: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    blob_id: Option<String>,
    #[serde(default)]
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    sha256: String,
    #[serde(default)]
    size: Option<u64>,
}

/// Asks for the commit of a revision and its files, with their sizes and digests.
pub(super) async fn ask(exchange: &Exchange, id: &Id) -> Result<Listing, Error> {
    let (org, name) = id.name.split_once('/').unwrap_or((&id.name, ""));
    let mut url = exchange.url(&["api", "datasets", org, name, "revision", &id.revision])?;
    url.set_query(Some("blobs=true"));
    let request = Request {
        page: exchange.url(&["datasets", org, name])?.to_string(),
        url,
        method: Method::GET,
        from: 0,
        subject: &id.to_string(),
    };
    let body = exchange.body(&request).await?;
    let broken = |problem: String| Error::Protocol {
        url: request.url.to_string(),
        problem,
    };
    let info: Info = serde_json::from_slice(&body).map_err(|error| {
        let html = body.trim_ascii_start().starts_with(b"<");
        broken(if html {
            "with a web page instead of the list of files".into()
        } else {
            format!("with something that is no list of files: {error}")
        })
    })?;
    if !is_commit(&info.sha) {
        return Err(broken("without the commit of the revision".into()));
    }
    let siblings = info.siblings.into_iter();
    Ok(Listing {
        commit: info.sha,
        files: siblings.filter_map(listed).collect(),
    })
}

/// A file whose path leads nowhere else.
fn listed(sibling: Sibling) -> Option<Listed> {
    let path = Path::new(&sibling.rfilename);
    let inside = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !inside || sibling.rfilename.len() > 1024 || sibling.rfilename.contains(['\\', '\0']) {
        return None;
    }
    let expected = match &sibling.lfs {
        Some(lfs) => Expected::of_etag(&lfs.sha256),
        None => sibling.blob_id.as_deref().and_then(Expected::of_etag),
    };
    Some(Listed {
        size: sibling.lfs.and_then(|lfs| lfs.size).or(sibling.size),
        name: sibling.rfilename,
        expected,
    })
}
