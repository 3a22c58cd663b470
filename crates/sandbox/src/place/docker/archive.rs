//! Files in and out of a container, as archives.

use bollard::Docker;
use bollard::query_parameters::{
    DownloadFromContainerOptionsBuilder, UploadToContainerOptionsBuilder,
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use std::time::Duration;
use tokio_util::io::{ReaderStream, StreamReader};

use super::call::{self, Failure};
use crate::error::Error;
use crate::place::Archive;

/// How long a whole archive may take on its way in.
const PUT: Duration = Duration::from_mins(10);
/// How long the engine may take before the first piece of one comes, and then before each other.
const PIECE: Duration = Duration::from_mins(1);
/// Size of the pieces on the way in.
const CAPACITY: usize = 64 << 10;

/// Extracts an archive below a directory.
pub(super) async fn put(
    docker: &Docker,
    container: &str,
    at: &str,
    archive: Archive,
) -> Result<(), Error> {
    let options = UploadToContainerOptionsBuilder::default().path(at).build();
    let pieces = ReaderStream::with_capacity(archive, CAPACITY);
    let body = bollard::body_try_stream(pieces);
    call::within(
        PUT,
        docker
            .clone()
            .with_timeout(PUT)
            .upload_to_container(container, Some(options), body),
    )
    .await
    .map_err(|failure| refusal(failure, "put files into", at))
}

/// A file or directory with what is below it.
pub(super) async fn get(docker: &Docker, container: &str, at: &str) -> Result<Archive, Error> {
    let options = DownloadFromContainerOptionsBuilder::default()
        .path(at)
        .build();
    let mut pieces = docker
        .download_from_container(container, Some(options))
        .boxed();
    // An answer that is an error comes in the place of the first piece.
    let first = match call::within(PIECE, async { pieces.next().await.transpose() }).await {
        Ok(first) => first.unwrap_or_default(),
        Err(failure) => return Err(refusal(failure, "read the files of", at)),
    };
    let rest = futures_util::stream::unfold(Some(pieces), |pieces| async {
        let mut pieces = pieces?;
        match tokio::time::timeout(PIECE, pieces.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(pieces))),
            Ok(Some(Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(late) => Some((Err(late.into()), None)),
        }
    });
    let all = futures_util::stream::iter([Ok::<Bytes, std::io::Error>(first)])
        .chain(rest)
        .into_stream()
        .boxed();
    Ok(Box::new(StreamReader::new(all)))
}

/// Whoever asks for a path that is not there can act on it.
fn refusal(failure: Failure, operation: &str, at: &str) -> Error {
    if failure.is_missing_file() {
        return Error::Refused(format!("there is no {at} in the sandbox"));
    }
    failure.losing(format!("{operation} {at} in the sandbox"))
}
