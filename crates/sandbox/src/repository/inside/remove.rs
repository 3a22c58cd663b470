//! Removing files of a fresh workspace, by its own `rm`: nobody but the image's maker had a hand in that yet.

use std::fmt::Write;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::place::Place;
use crate::shell::{End, RunOptions, Shell};

/// Longest text of one command.
const CHUNK: usize = 64 << 10;
/// How long one command may take.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Removes the file `p`, and the directories above it that it leaves empty.
const FILE: &str = "r() { p=$(printf '%b.' \"$1\"); p=./${p%.}; rm -f -- \"$p\" || exit 1; \
    while p=${p%/*}; [ \"$p\" != . ]; do rmdir -- \"$p\" 2>/dev/null || break; done; }\n";

/// Removes the file `p`, and leaves its directory.
const FILE_ALONE: &str = "r() { p=$(printf '%b.' \"$1\"); rm -f -- \"./${p%.}\" || exit 1; }\n";

/// Removes the empty directory `p`.
const DIRECTORY: &str = "r() { p=$(printf '%b.' \"$1\"); rmdir -- \"./${p%.}\" || exit 1; }\n";

/// Removes files of the workspace, and the directories that it leaves empty.
pub(super) async fn files(
    place: &dyn Place,
    shell: &Shell,
    paths: &[Vec<u8>],
) -> Result<(), Error> {
    remove(place, shell, FILE, paths).await
}

/// Removes files of the workspace. Directories stay: fuse-overlayfs shows what lay below the repository again once a directory beside it is removed.
pub(super) async fn files_alone(
    place: &dyn Place,
    shell: &Shell,
    paths: &[Vec<u8>],
) -> Result<(), Error> {
    remove(place, shell, FILE_ALONE, paths).await
}

/// Removes empty directories of the workspace.
pub(super) async fn directories(
    place: &dyn Place,
    shell: &Shell,
    paths: &[Vec<u8>],
) -> Result<(), Error> {
    remove(place, shell, DIRECTORY, paths).await
}

async fn remove(
    place: &dyn Place,
    shell: &Shell,
    program: &str,
    paths: &[Vec<u8>],
) -> Result<(), Error> {
    let mut text = String::from(program);
    let mut pending = false;
    for path in paths {
        pending = true;
        text.push_str("r '");
        for &byte in path {
            if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "\\0{byte:03o}");
            }
        }
        text.push_str("'\n");
        if text.len() > CHUNK {
            run(place, shell, &text).await?;
            program.clone_into(&mut text);
            pending = false;
        }
    }
    if pending {
        run(place, shell, &text).await?;
    }
    Ok(())
}

async fn run(place: &dyn Place, shell: &Shell, text: &str) -> Result<(), Error> {
    let options = RunOptions {
        timeout: TIMEOUT,
        ..RunOptions::default()
    };
    let captured = shell
        .run_apart(text, &options, &CancellationToken::new())
        .await?;
    if captured.end == End::Exited(0) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&captured.head).trim().to_owned();
    Err(Error::lost(
        format!("remove files in {}", place.workdir()),
        format!("rm ended with {:?}: {said}", captured.end),
    ))
}
