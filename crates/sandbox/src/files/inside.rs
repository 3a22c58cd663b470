//! Files by way of a shell inside: what it sees is what the agent sees, and no link leads out.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Entry;
use super::host::too_big;
use crate::error::Error;
use crate::shell::{Captured, End, Kept, RunOptions, Shell, absent};

/// How long one operation may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What errors may say.
const MESSAGE: usize = 4096;
/// Bytes that one request carries as octal escapes: the shell reads its requests byte by byte.
const CHUNK: usize = 24 << 10;

/// Exit codes of the scripts below, beside 0.
const DIRECTORY: i32 = 21;
const SPECIAL: i32 = 22;
const ABSENT: i32 = 23;
const TOO_BIG: i32 = 24;

/// Operations on one sandbox's control shell.
pub(crate) struct InsideFiles<'a>(pub(crate) &'a Shell);

impl InsideFiles<'_> {
    pub(crate) async fn entry(&self, path: &str) -> Result<Option<Entry>, Error> {
        let script = format!(
            "p={}; if [ -f \"$p\" ]; then (exit 0); elif [ -d \"$p\" ]; then (exit {DIRECTORY}); elif [ -e \"$p\" ] || [ -L \"$p\" ]; then (exit {SPECIAL}); else (exit {ABSENT}); fi",
            quoted(path)?
        );
        match self.run(&script, MESSAGE).await?.end {
            End::Exited(0) => Ok(Some(Entry::File)),
            End::Exited(DIRECTORY) => Ok(Some(Entry::Directory)),
            End::Exited(SPECIAL) => Ok(Some(Entry::Other)),
            _ => Ok(None),
        }
    }

    pub(crate) async fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let script = format!(
            "p={}; {KIND} elif [ \"$(wc -c <\"$p\")\" -gt {limit} ]; then (exit {TOO_BIG}); else cat <\"$p\"; fi",
            quoted(path)?
        );
        let room = usize::try_from(limit).unwrap_or(usize::MAX).max(MESSAGE);
        let captured = self.run(&script, room).await?;
        if captured.end == End::Exited(0) && captured.is_whole() && captured.total <= limit {
            return Ok(captured.head);
        }
        if captured.end == End::Exited(TOO_BIG) || captured.end == End::Exited(0) {
            return Err(too_big(
                Path::new(path),
                captured.total.max(limit + 1),
                limit,
            ));
        }
        Err(refused(path, &captured))
    }

    pub(crate) async fn write(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        // `readlink -f` follows links as the agent's own write would.
        let names = format!(
            "t=$(readlink -f -- \"$p\"; echo x) && t=${{t%?x}} && n=${{t%/*}}/.patchmill-{:016x}",
            fastrand::u64(..)
        );
        let written = self.write_beside(path, &names, content).await;
        if written.is_err() {
            // The shell may be another by now, which knows no names.
            let clean = format!("p={}; {names} && rm -f -- \"$n\"", quoted(path)?);
            let _ = self.run(&clean, MESSAGE).await;
        }
        written
    }

    /// Writes a file of its own beside the one that is written, and puts it in its place: that is whole or nothing.
    async fn write_beside(&self, path: &str, names: &str, content: &[u8]) -> Result<(), Error> {
        // The copy keeps mode and owner; who may not give files away keeps the mode.
        let open = format!(
            "p={}; if [ -d \"$p\" ]; then (exit {DIRECTORY}); elif [ -e \"$p\" ] && [ ! -f \"$p\" ]; then (exit {SPECIAL}); else \
             d=${{p%/*}}; mkdir -p -- \"${{d:-/}}\" && {names} && if [ -e \"$t\" ]; then cp -p -- \"$t\" \"$n\" 2>/dev/null || \
             {{ cp -- \"$t\" \"$n\" && chmod \"$(stat -c %a -- \"$t\")\" \"$n\"; }}; fi && : >\"$n\"; fi",
            quoted(path)?
        );
        self.step(path, &open).await?;
        for chunk in content.chunks(CHUNK) {
            let mut text = String::with_capacity(chunk.len() * 4 + 32);
            text.push_str("printf '%b' '");
            for &byte in chunk {
                escape(byte, &mut text);
            }
            text.push_str("' >>\"$n\"");
            self.step(path, &text).await?;
        }
        self.step(path, "mv -f -- \"$n\" \"$t\"").await
    }

    pub(crate) async fn remove(&self, path: &str) -> Result<(), Error> {
        let script = format!(
            "p={}; if [ -d \"$p\" ] && [ ! -L \"$p\" ]; then (exit {DIRECTORY}); elif [ ! -e \"$p\" ] && [ ! -L \"$p\" ]; then (exit {ABSENT}); else rm -f -- \"$p\"; fi",
            quoted(path)?
        );
        self.step(path, &script).await
    }

    async fn step(&self, path: &str, script: &str) -> Result<(), Error> {
        let captured = self.run(script, MESSAGE).await?;
        match captured.end {
            End::Exited(0) if captured.shell_note.is_none() => Ok(()),
            _ => Err(refused(path, &captured)),
        }
    }

    async fn run(&self, script: &str, room: usize) -> Result<Captured, Error> {
        let options = RunOptions {
            timeout: TIMEOUT,
            idle: None,
            max_output: u64::MAX,
            kept: Kept {
                memory: room.saturating_mul(2),
                stored: 2,
            },
        };
        let captured = self
            .0
            .run(script, &options, &CancellationToken::new())
            .await?;
        match captured.end {
            // No script here ends so by itself: the shell, or a program that it needs, is not there any more.
            end if absent::is_told_by(end) => Err(Error::NotStarted {
                said: String::from_utf8_lossy(&captured.head).trim().to_owned(),
            }),
            End::Exited(_) | End::ShellEnded(_) => Ok(captured),
            // Somebody inside stopped the shell, or what it needs.
            End::TimedOut | End::Idle => Err(Error::NotStarted {
                said: format!("it took more than {TIMEOUT:?}"),
            }),
            End::OutputLimit | End::Cancelled => Err(Error::lost(
                "reach a file in the sandbox",
                std::io::Error::from(std::io::ErrorKind::TimedOut),
            )),
        }
    }
}

/// What every reading operation refuses first.
const KIND: &str = "if [ -d \"$p\" ]; then (exit 21); elif [ ! -e \"$p\" ]; then (exit 23); elif [ ! -f \"$p\" ]; then (exit 22);";

fn quoted(path: &str) -> Result<String, Error> {
    if path.contains('\0') {
        return Err(Error::Refused(String::from(
            "a path cannot hold a NUL character",
        )));
    }
    Ok(format!("'{}'", path.replace('\'', r"'\''")))
}

/// Printable bytes stand for themselves in `%b`, the rest as octal numbers.
fn escape(byte: u8, text: &mut String) {
    use std::fmt::Write;
    match byte {
        b'\\' | b'\'' | b'%' => {
            let _ = write!(text, "\\0{byte:03o}");
        }
        b' '..=b'~' => text.push(char::from(byte)),
        _ => {
            let _ = write!(text, "\\0{byte:03o}");
        }
    }
}

fn refused(path: &str, captured: &Captured) -> Error {
    let text = String::from_utf8_lossy(&captured.head);
    match captured.end {
        End::Exited(DIRECTORY) => Error::Refused(format!("{path} is a directory")),
        End::Exited(SPECIAL) => Error::Refused(format!("{path} is not a regular file")),
        End::Exited(ABSENT) => Error::Refused(format!("{path} does not exist")),
        _ if text.contains("No space left on device") => Error::Disk {
            operation: format!("write {path}"),
        },
        _ => Error::Refused(format!("{path}: {}", text.trim())),
    }
}
