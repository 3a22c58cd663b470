//! One command in a process of its own, apart from any shell that lives on.

use std::path::Path;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::control::{Control, Target};
use super::patience::Patience;
use super::renewal::Turn;
use super::{Captured, End, Means, RunOptions, absent, deadline};
use crate::error::Error;
use crate::place::{Channel, Launch, Place};

/// Longest text that travels as an argument: the kernel allows 128 KiB for one.
const ARGUMENT_LIMIT: usize = 96 << 10;
/// Runs its second argument with bash where there is one, else sh.
const RUN: &str = r#"if command -v bash >/dev/null; then exec bash --noprofile --norc -c "$1" bash; else exec sh -c "$1" sh; fi"#;
/// The same for text that comes by the input.
const RUN_INPUT: &str = "c=$(cat); exec </dev/null; eval \"$c\"";
/// How long after the kill the end of the output is waited for.
const DRAIN: Duration = Duration::from_secs(1);
/// The same with the exit code.
const END: Duration = Duration::from_millis(1850);
const BUFFER: usize = 64 << 10;

/// Runs shell text in a fresh process in the repository's directory. When its main process ends, so does everything that it started.
pub(crate) async fn run(
    place: &dyn Place,
    means: &Means,
    text: &str,
    options: &RunOptions,
    cancel: &CancellationToken,
) -> Result<Captured, Error> {
    if text.contains('\0') {
        return Err(Error::Refused(String::from(
            "a command cannot hold a NUL character",
        )));
    }
    let (argument, input) = if text.len() <= ARGUMENT_LIMIT {
        (text, "")
    } else {
        (RUN_INPUT, text)
    };
    let launch = Launch {
        arguments: ["/bin/sh", "-c", RUN, "sh", argument]
            .map(str::to_owned)
            .to_vec(),
        directory: None,
        lasting: false,
    };
    let spool = place.private_directory();
    let started = Instant::now();
    let patience = Patience {
        until: started + options.timeout,
        cancel,
    };
    let opened = async {
        let since = match means {
            Means::Host => 0,
            Means::Inside(control) => {
                control.open().await?;
                control.ticks()
            }
        };
        Ok((since, place.open(&launch).await?))
    };
    let (since, channel) = match patience.wait(opened).await {
        Ok(Ok(opened)) => opened,
        Err(End::Cancelled) => {
            let nothing = Capture::new(options.kept, &spool).finish();
            return Ok(Captured::new(
                nothing,
                End::Cancelled,
                None,
                started.elapsed(),
            ));
        }
        // What never began says nothing of what it would have done.
        Err(_) => {
            return Err(Error::lost(
                "start a program in the sandbox",
                "it did not start before its deadline",
            ));
        }
        Ok(Err(Error::NotStarted { said })) => {
            return Ok(absent::captured(
                &said,
                Turn::Later,
                options,
                &spool,
                started.elapsed(),
            ));
        }
        Ok(Err(error)) => return Err(error),
    };
    let everything = match means {
        Means::Host => Everything::Below(channel.keeper),
        Means::Inside(control) => Everything::Since(control.as_ref(), since),
    };
    follow(
        channel,
        everything,
        input.as_bytes(),
        options,
        patience,
        started,
        &spool,
    )
    .await
}

/// All that a program started, the program among them.
enum Everything<'a> {
    /// The descendants of a process of the host.
    Below(Option<u32>),
    /// What a place has started since then.
    Since(&'a Control, u64),
}

async fn follow(
    channel: Channel,
    everything: Everything<'_>,
    mut input: &[u8],
    options: &RunOptions,
    patience: Patience<'_>,
    started: Instant,
    spool: &Path,
) -> Result<Captured, Error> {
    let Channel {
        input: writer,
        mut output,
        mut ended,
        guard,
        keeper: _,
    } = channel;
    let deadline = patience.until;
    let mut capture = Capture::new(options.kept, spool);
    let mut buffer = BytesMut::with_capacity(BUFFER);
    let mut writer = Some(writer);
    let mut heard = Instant::now();
    let mut reason = None;
    let mut code = None;
    let mut broken = None;
    loop {
        if input.is_empty() {
            writer = None;
        }
        let (limit, until) = match options.idle {
            Some(idle) if heard + idle < deadline => (End::Idle, heard + idle),
            _ => (End::TimedOut, deadline),
        };
        // A flood is always ready: without this look it would outrun every timer.
        if Instant::now() >= until {
            reason = Some(limit);
            break;
        }
        tokio::select! {
            biased;
            () = patience.cancel.cancelled() => {
                reason = Some(End::Cancelled);
                break;
            }
            read = output.read_buf(&mut buffer) => match read {
                Ok(0) => break,
                Err(error) => {
                    broken = Some(error);
                    break;
                }
                Ok(_) => {
                    heard = Instant::now();
                    capture.push(&buffer);
                    buffer.clear();
                    if capture.total() > options.max_output {
                        reason = Some(End::OutputLimit);
                        break;
                    }
                }
            },
            written = async {
                match writer.as_mut() {
                    Some(writer) => writer.write(input).await,
                    None => std::future::pending().await,
                }
            } => match written {
                Ok(written) => input = &input[written..],
                Err(_) => input = &[],
            },
            // What it started may hold the stream open.
            end = &mut ended => {
                code = Some(end.code);
                break;
            }
            () = sleep_until(until) => {
                reason = Some(limit);
                break;
            }
        }
    }
    let last = Instant::now() + END;
    let both = async {
        let ending = async {
            everything.end(reason.is_some()).await;
            drop(guard);
        };
        tokio::join!(ending, drain(&mut output, &mut capture));
    };
    let _ = timeout(DRAIN, both).await;
    let code = match code {
        Some(code) => code,
        None => timeout_at(last, ended)
            .await
            .ok()
            .and_then(|ended| ended.code),
    };
    let end = match (reason, code, broken) {
        (Some(end), ..) => end,
        (None, Some(code), _) => End::Exited(code),
        // Nobody knows what became of the program.
        (None, None, Some(error)) => return Err(Error::lost("hear of a program", error)),
        (None, None, None) => End::ShellEnded(137),
    };
    Ok(Captured::new(
        capture.finish(),
        end,
        None,
        started.elapsed(),
    ))
}

impl Everything<'_> {
    /// Ends what has not ended by itself.
    async fn end(self, overdue: bool) {
        match self {
            // The place has ended everything with the program.
            _ if !overdue => {}
            Self::Below(None) => {}
            Self::Below(Some(keeper)) => {
                let everything = deadline::Command {
                    keeper,
                    worker: None,
                    since: 0,
                };
                everything.end().await;
            }
            Self::Since(control, since) => {
                let target = Target {
                    since,
                    interrupt: true,
                    ..Target::default()
                };
                if let Err(error) = control.end(&target).await {
                    tracing::debug!(%error, "a program's processes were not ended");
                }
            }
        }
    }
}

/// Takes what still comes.
async fn drain(output: &mut (dyn AsyncRead + Send + Unpin), capture: &mut Capture<'_>) {
    let mut buffer = BytesMut::with_capacity(BUFFER);
    while matches!(output.read_buf(&mut buffer).await, Ok(read) if read > 0) {
        capture.push(&buffer);
        buffer.clear();
    }
}
