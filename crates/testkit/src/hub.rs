//! A hub of datasets: the part of its protocol that clients need to read, with large files on a server of their own as the real one has them.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::server::{Captured, FakeServer};

/// A file of a dataset.
#[derive(Debug, Clone)]
pub struct HubFile {
    /// Its path in the repository.
    pub path: String,
    /// Its bytes.
    pub content: Vec<u8>,
    /// Whether it is kept as a large file, on the storage's server.
    pub large: bool,
}

impl HubFile {
    /// SHA-256 of a large file, else git's name of it: its `ETag`.
    pub fn etag(&self) -> String {
        if self.large {
            return hex(&Sha256::digest(&self.content));
        }
        let start = format!("blob {}\0", self.content.len());
        hex(&Sha1::new()
            .chain_update(start)
            .chain_update(&self.content)
            .finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    let pairs = bytes
        .iter()
        .map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.flatten().collect()
}

/// A dataset with one commit, which is `main`.
#[derive(Debug, Clone)]
pub struct HubDataset {
    /// `org/name`.
    pub name: String,
    /// 40 hexadecimal digits.
    pub commit: String,
    /// Its files.
    pub files: Vec<HubFile>,
    /// Token that one must show to see it.
    pub token: Option<String>,
    /// Whether it is gated: its files are refused even to those who show the token.
    pub gated: bool,
}

/// Answers instead of the hub or its storage where it gives an answer.
pub type Fault = Box<dyn Fn(&Captured) -> Option<Answer> + Send + Sync>;

/// The two servers.
pub struct FakeHub {
    hub: FakeServer,
    storage: FakeServer,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    hub: Mutex<Option<Fault>>,
    storage: Mutex<Option<Fault>>,
}

fn fault(slot: &Mutex<Option<Fault>>, request: &Captured) -> Option<Answer> {
    let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    slot.as_ref().and_then(|fault| fault(request))
}

impl FakeHub {
    /// Starts a hub with one dataset.
    pub fn start(dataset: HubDataset) -> Self {
        let faults = Arc::<Faults>::default();
        let (of_storage, of_hub) = (Arc::clone(&faults), Arc::clone(&faults));
        let files = dataset.files.clone();
        let storage = FakeServer::start(move |request| {
            fault(&of_storage.storage, request).unwrap_or_else(|| stored(&files, request))
        });
        let base = format!("http://{}", storage.address());
        let hub = FakeServer::start(move |request| {
            fault(&of_hub.hub, request).unwrap_or_else(|| answer(&dataset, &base, request))
        });
        Self {
            hub,
            storage,
            faults,
        }
    }

    /// What `HF_ENDPOINT` must be.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.hub.address())
    }

    /// Requests to the hub itself.
    pub fn requests(&self) -> Vec<Captured> {
        self.hub.requests()
    }

    /// Requests to its storage.
    pub fn storage_requests(&self) -> Vec<Captured> {
        self.storage.requests()
    }

    /// Lets `fault` answer before the hub does.
    pub fn break_hub(&self, fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static) {
        *self
            .faults
            .hub
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(Box::new(fault));
    }

    /// Lets `fault` answer before the storage does.
    pub fn break_storage(
        &self,
        fault: impl Fn(&Captured) -> Option<Answer> + Send + Sync + 'static,
    ) {
        let slot = &self.faults.storage;
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(fault));
    }
}

fn answer(dataset: &HubDataset, storage: &str, request: &Captured) -> Answer {
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let path = path.replace("%2F", "/");
    let shown = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let api = format!("/api/datasets/{}", dataset.name);
    let page = format!("/datasets/{}/resolve/", dataset.name);
    let asked = match (path.strip_prefix(&api), path.strip_prefix(&page)) {
        (Some(rest), _) => Asked::About(rest.to_owned()),
        (None, Some(rest)) => Asked::File(rest.to_owned()),
        (None, None) => return refused(request, 401, "RepoNotFound", "Repository not found"),
    };
    if dataset.token.is_some() && shown != dataset.token.as_deref() {
        let code = if shown.is_some() { "" } else { "RepoNotFound" };
        return refused(request, 401, code, "Invalid username or password.");
    }
    match asked {
        Asked::About(rest) => about(dataset, &rest, request),
        Asked::File(_) if dataset.gated => refused(
            request,
            403,
            "GatedRepo",
            "Access to this dataset is restricted.",
        ),
        Asked::File(rest) => file(dataset, storage, &rest, request),
    }
}

enum Asked {
    About(String),
    File(String),
}

fn is_known(dataset: &HubDataset, revision: &str) -> bool {
    revision == "main" || revision == dataset.commit
}

/// What is known of the dataset, or the tree of its files.
fn about(dataset: &HubDataset, rest: &str, request: &Captured) -> Answer {
    let (kind, revision) = match rest.trim_start_matches('/').split_once('/') {
        Some((kind, revision)) => (kind, revision),
        None => ("revision", "main"),
    };
    if !is_known(dataset, revision) {
        return refused(request, 404, "RevisionNotFound", "Invalid rev id");
    }
    let large = |file: &HubFile| file.large.then(|| file.etag());
    if kind == "tree" {
        let entries = dataset.files.iter().map(|file| {
            let mut entry = json!({"type": "file", "path": file.path, "size": file.content.len(), "oid": file.etag()});
            if let Some(oid) = large(file) {
                entry["lfs"] = json!({"oid": oid, "size": file.content.len(), "pointerSize": 130});
            }
            entry
        });
        return Answer::json(&Value::Array(entries.collect()));
    }
    let with_blobs = request.path.contains("blobs=");
    let siblings = dataset.files.iter().map(|file| {
        let mut sibling = json!({"rfilename": file.path});
        if with_blobs {
            sibling["size"] = file.content.len().into();
            sibling["blobId"] = if file.large {
                "0".repeat(40).into()
            } else {
                file.etag().into()
            };
            if let Some(oid) = large(file) {
                sibling["lfs"] =
                    json!({"sha256": oid, "size": file.content.len(), "pointerSize": 130});
            }
        }
        sibling
    });
    Answer::json(&json!({
        "_id": "0", "id": dataset.name, "sha": dataset.commit, "private": dataset.token.is_some(), "gated": dataset.gated,
        "disabled": false, "downloads": 0, "likes": 0, "tags": [], "siblings": siblings.collect::<Vec<_>>(),
    }))
}

fn file(dataset: &HubDataset, storage: &str, rest: &str, request: &Captured) -> Answer {
    let (revision, path) = rest.split_once('/').unwrap_or((rest, ""));
    if !is_known(dataset, revision) {
        return refused(request, 404, "RevisionNotFound", "Invalid rev id");
    }
    let Some(file) = dataset.files.iter().find(|file| file.path == path) else {
        return refused(request, 404, "EntryNotFound", "Entry not found");
    };
    let etag = format!("\"{}\"", file.etag());
    if !file.large {
        let headers = [("x-repo-commit", dataset.commit.as_str()), ("etag", &etag)];
        return content(file, request, &headers);
    }
    let location = format!("{storage}/large/{}?signature=secret", file.etag());
    let size = file.content.len().to_string();
    Answer::head(
        302,
        &[
            ("location", &location),
            ("x-repo-commit", &dataset.commit),
            ("x-linked-etag", &etag),
            ("x-linked-size", &size),
            ("accept-ranges", "bytes"),
            ("content-length", "0"),
        ],
    )
}

fn stored(files: &[HubFile], request: &Captured) -> Answer {
    let wanted = request.path.trim_start_matches("/large/");
    let wanted = wanted.split('?').next().unwrap_or_default();
    match files
        .iter()
        .find(|file| file.large && file.etag() == wanted)
    {
        Some(file) => content(file, request, &[("etag", "\"the-storages-own\"")]),
        None => Answer::new(404, &[], "no such object"),
    }
}

/// A file, or the part of it that is asked for.
fn content(file: &HubFile, request: &Captured, headers: &[(&str, &str)]) -> Answer {
    let whole = &file.content;
    let range = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="));
    let from = range.and_then(|range| range.split('-').next()?.parse::<usize>().ok());
    let (status, part) = match from {
        Some(from) if from >= whole.len() => return Answer::new(416, headers, ""),
        Some(from) => (206, &whole[from..]),
        None => (200, whole.as_slice()),
    };
    let position = format!(
        "bytes {}-{}/{}",
        from.unwrap_or(0),
        whole.len().saturating_sub(1),
        whole.len()
    );
    let mut all = headers.to_vec();
    all.extend([
        ("content-type", "binary/octet-stream"),
        ("accept-ranges", "bytes"),
    ]);
    if status == 206 {
        all.push(("content-range", &position));
    }
    if request.method == "HEAD" {
        let length = part.len().to_string();
        all.push(("content-length", &length));
        return Answer::head(status, &all);
    }
    Answer::new(status, &all, part)
}

fn refused(request: &Captured, status: u16, code: &str, message: &str) -> Answer {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("x-error-message", message),
    ];
    if !code.is_empty() {
        headers.push(("x-error-code", code));
    }
    if request.method == "HEAD" {
        headers.push(("content-length", "0"));
        return Answer::head(status, &headers);
    }
    Answer::new(status, &headers, json!({"error": message}).to_string())
}
