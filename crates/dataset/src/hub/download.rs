//! One file, from where an earlier try left it to its checked end.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap};
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, sleep, timeout};

use super::cache::{Repository, failed, make_parent};
use super::digest::Expected;
use super::error::Error;
use super::exchange::{Answer, Exchange, Request};
use super::id::Id;
use super::listing::Listed;
use super::settings::Deadlines;
use super::{Event, Listener};

/// How often another program's lock is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Gets files.
pub(super) struct Fetch<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) repository: &'a Repository,
    pub(super) listener: &'a Listener,
    pub(super) deadlines: Deadlines,
}

/// One file of a dataset at a commit.
struct Target<'a> {
    id: &'a Id,
    name: &'a str,
    size: Option<u64>,
    expected: Expected,
    request: Request<'a>,
}

impl Fetch<'_> {
    /// Sees to it that the file is in the snapshot of `commit`.
    pub(super) async fn file(&self, id: &Id, commit: &str, file: &Listed) -> Result<(), Error> {
        let at = id.at(commit);
        let subject = format!("{} of {at}", file.name);
        let target = self.target(id, commit, file, &subject).await?;
        let etag = target.expected.name().to_owned();
        let blob = self.repository.blob(&etag);
        if !is_whole(&blob, target.size) {
            let _lock = self.lock(&target).await?;
            // Whoever had the lock before may have brought it.
            if !is_whole(&blob, target.size) {
                self.download(target, &blob).await?;
            }
        }
        (self.listener)(Event::Cached {
            file: file.name.clone(),
        });
        self.repository.link(commit, &file.name, &etag)
    }

    async fn target<'b>(
        &self,
        id: &'b Id,
        commit: &str,
        file: &'b Listed,
        subject: &'b str,
    ) -> Result<Target<'b>, Error> {
        let (org, name) = id.name.split_once('/').unwrap_or((&id.name, ""));
        let mut parts = vec!["datasets", org, name, "resolve", commit];
        parts.extend(file.name.split('/'));
        let request = |method| -> Result<Request<'b>, Error> {
            Ok(Request {
                url: self.exchange.url(&parts)?,
                page: self.exchange.url(&["datasets", org, name])?.to_string(),
                method,
                from: 0,
                subject,
            })
        };
        let (expected, size) = if let Some(expected) = &file.expected {
            (expected.clone(), file.size)
        } else {
            let head = self.exchange.ask(&request(Method::HEAD)?).await?;
            let expected = etag(&head.hub).ok_or_else(|| Error::Protocol {
                url: head.response.url().origin().ascii_serialization(),
                problem: format!("without an ETag for {subject}"),
            })?;
            (expected, file.size.or_else(|| linked_size(&head.hub)))
        };
        Ok(Target {
            id,
            name: &file.name,
            size,
            expected,
            request: request(Method::GET)?,
        })
    }

    /// Waits for the lock of the blob.
    async fn lock(&self, target: &Target<'_>) -> Result<File, Error> {
        let start = Instant::now();
        let mut told = false;
        loop {
            match self.repository.lock(target.expected.name())? {
                Ok(lock) => return Ok(lock),
                Err(lock) if start.elapsed() > self.deadlines.lock => {
                    return Err(Error::Locked {
                        id: target.id.to_string(),
                        file: target.name.to_owned(),
                        lock,
                    });
                }
                Err(_) => {}
            }
            if !told {
                told = true;
                let file = target.name.to_owned();
                (self.listener)(Event::Waiting { file });
            }
            sleep(LOOK).await;
        }
    }

    /// Downloads a blob and checks it; one that is wrong is got once more from its start.
    async fn download(&self, mut target: Target<'_>, blob: &Path) -> Result<(), Error> {
        let partial = self.repository.partial(target.expected.name());
        make_parent(&partial)?;
        let mut again = false;
        loop {
            self.receive(&mut target, &partial).await?;
            let other = other(&target, &partial)?;
            let Some((expected, found)) = other else {
                break;
            };
            fs::remove_file(&partial).map_err(|source| failed("remove", &partial, source))?;
            if again {
                return Err(Error::Checksum {
                    id: target.id.to_string(),
                    file: target.name.to_owned(),
                    expected,
                    found,
                });
            }
            again = true;
        }
        fs::rename(&partial, blob).map_err(|source| failed("rename", &partial, source))?;
        (self.listener)(Event::Finished {
            file: target.name.to_owned(),
        });
        Ok(())
    }

    /// Receives what is missing of the file, in as many tries as bring something.
    async fn receive(&self, target: &mut Target<'_>, partial: &Path) -> Result<(), Error> {
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(partial)
            .map_err(|source| failed("open", partial, source))?;
        let mut pace = self.exchange.pace();
        loop {
            let length = file
                .seek(SeekFrom::End(0))
                .map_err(|source| failed("read", partial, source))?;
            if Some(length) == target.size {
                return Ok(());
            }
            // Of a file of unknown length nobody can say that it is not whole already.
            let from = target
                .size
                .map_or(0, |size| if length > size { 0 } else { length });
            target.request.from = from;
            let (reason, reached) = match self.part(target, &mut file, partial, from).await? {
                Ok(()) => return Ok(()),
                Err(stopped) => stopped,
            };
            if reached > from {
                pace.moved();
            }
            let Some(wait) = pace.next(None) else {
                return Err(Error::Unreachable {
                    url: target.request.url.to_string(),
                    tries: pace.tries,
                    source: reason.into(),
                });
            };
            self.exchange.wait(reason, wait).await;
        }
    }

    /// One request: the rest of the file, or why it stopped and how far it came.
    async fn part(
        &self,
        target: &Target<'_>,
        file: &mut File,
        partial: &Path,
        from: u64,
    ) -> Result<Result<(), (String, u64)>, Error> {
        let Answer { mut response, hub } = self.exchange.ask(&target.request).await?;
        refuse_page(target, response.headers())?;
        let size = target.size.or_else(|| linked_size(&hub));
        let mut at = start(response.status(), response.headers(), from);
        let write = |source| failed("write", partial, source);
        file.set_len(at).map_err(write)?;
        file.seek(SeekFrom::Start(at)).map_err(write)?;
        (self.listener)(Event::Started {
            file: target.name.to_owned(),
            from: at,
            size,
        });
        loop {
            let chunk = match timeout(self.deadlines.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Ok(Err((error.without_url().to_string(), at))),
                Err(_) => return Ok(Err(("nothing more comes".into(), at))),
            };
            at += chunk.len() as u64;
            if size.is_some_and(|size| at > size) {
                // More than there is: the check that follows says so.
                break;
            }
            file.write_all(&chunk).map_err(write)?;
            (self.listener)(Event::Received {
                file: target.name.to_owned(),
                bytes: at,
            });
        }
        match size {
            Some(size) if at < size => {
                let reason = format!("{} stops after {at} of {size} bytes", target.name);
                Ok(Err((reason, at)))
            }
            _ => {
                file.sync_all().map_err(write)?;
                Ok(Ok(()))
            }
        }
    }
}

/// Where the bytes that come belong: a server that does not know ranges begins anew.
fn start(status: StatusCode, headers: &HeaderMap, from: u64) -> u64 {
    let range = headers
        .get(CONTENT_RANGE)
        .and_then(|range| range.to_str().ok());
    let begins = range.and_then(|range| {
        let rest = range.trim().strip_prefix("bytes ")?;
        rest.split_once('-')?.0.trim().parse::<u64>().ok()
    });
    match begins {
        Some(begins) if status == StatusCode::PARTIAL_CONTENT && begins <= from => begins,
        _ => 0,
    }
}

/// Login pages and error pages come with status 200.
fn refuse_page(target: &Target<'_>, headers: &HeaderMap) -> Result<(), Error> {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.starts_with("text/html")) {
        return Err(Error::Protocol {
            url: target.request.url.to_string(),
            problem: format!("with a web page instead of {}", target.name),
        });
    }
    Ok(())
}

/// What the file must have and what it has, where that differs.
fn other(target: &Target<'_>, partial: &Path) -> Result<Option<(String, String)>, Error> {
    let read = |source| failed("read", partial, source);
    let length = fs::metadata(partial).map_err(read)?.len();
    if let Some(size) = target.size.filter(|size| *size != length) {
        return Ok(Some((format!("{size} bytes"), format!("{length} bytes"))));
    }
    let found = target.expected.other(partial).map_err(read)?;
    Ok(found.map(|found| (target.expected.name().to_owned(), found)))
}

fn is_whole(blob: &Path, size: Option<u64>) -> bool {
    let fits =
        |found: &fs::Metadata| found.is_file() && size.is_none_or(|size| size == found.len());
    fs::metadata(blob).as_ref().is_ok_and(fits)
}

fn etag(headers: &HeaderMap) -> Option<Expected> {
    let linked = headers.get("x-linked-etag").or_else(|| headers.get(ETAG))?;
    Expected::of_etag(linked.to_str().ok()?)
}

fn linked_size(headers: &HeaderMap) -> Option<u64> {
    headers.get("x-linked-size")?.to_str().ok()?.parse().ok()
}
