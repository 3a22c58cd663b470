//! Ending a command from inside, where the place has a process namespace of its own: by way of a second shell that runs nothing but its own
//! built-ins, so that it works where no process is free.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;

use super::deadline::{INTERRUPT, LOOK};
use crate::error::Error;
use crate::place::{Channel, Launch, Place};
use crate::processes;

/// What stands for the nonce and for [`CROWD`] in the source.
const NONCE: &str = "@N";
const NUMBER: &str = "@C";
/// More processes than that are taken for a bomb, where there are as many for no other reason that one can see.
const CROWD: u64 = 48;
/// How long the first control shell of a place may take to be there. Nothing has to be ended yet, so only a machine that is busy takes long.
const OPEN: Duration = Duration::from_mins(1);
/// The same for one that is opened while a command is to be ended: while processes are forked wildly this is slow, and somebody waits.
const OPEN_AGAIN: Duration = Duration::from_secs(5);
/// How long it may take over an answer.
const SILENCE: Duration = Duration::from_secs(1);
/// Answers "there are some left" before a sweep gives up; each stands for several rounds.
const SWEEPS: u32 = 15;
/// Longest line that it writes; more is not its own.
const LINE: usize = 4096;

/// What to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    /// The process that runs the command, as it numbers itself; `None` when there is none to be ended last.
    pub(crate) worker: Option<u32>,
    /// Ticks of the place at which the command was sent: what is older belongs to others.
    pub(crate) since: u64,
    /// Processes that are spared in any case, beside the place's first.
    pub(crate) spared: Vec<u32>,
    /// Whether they may first write out what they hold.
    pub(crate) interrupt: bool,
}

/// The control shell of one place.
pub(crate) struct Control {
    place: Arc<dyn Place>,
    line: Mutex<Option<Line>>,
    /// Ticks of the place at one moment.
    clock: OnceLock<(u64, Instant)>,
}

impl Control {
    pub(crate) fn new(place: Arc<dyn Place>) -> Self {
        Self {
            place,
            line: Mutex::default(),
            clock: OnceLock::new(),
        }
    }

    /// Opens the shell, so that it is there when it is needed. Opened before anything hostile runs, it needs no process then.
    pub(crate) async fn open(&self) -> Result<(), Error> {
        let mut line = self.line.lock().await;
        if line.is_none() {
            *line = Some(self.opened(OPEN).await?);
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        *self.line.lock().await = None;
    }

    /// The present, in the ticks by which the place counts; 0 before the first opening.
    pub(crate) fn ticks(&self) -> u64 {
        self.clock
            .get()
            .map_or(0, |(ticks, at)| ticks + processes::ticks(at.elapsed()))
    }

    async fn opened(&self, limit: Duration) -> Result<Line, Error> {
        let operation = "open the control shell";
        let opening = async {
            let nonce = super::nonce();
            let source = include_str!("control.sh")
                .replace(NONCE, &nonce)
                .replace(NUMBER, &CROWD.to_string());
            let launch = Launch {
                arguments: ["/bin/sh", "-c", &source, "control"]
                    .map(str::to_owned)
                    .to_vec(),
                directory: Some(String::from("/")),
                lasting: true,
            };
            let mut line = Line {
                channel: self.place.open(&launch).await?,
                buffer: BytesMut::new(),
                nonce,
                number: 0,
            };
            let now = async {
                line.answer("ready").await?;
                // Asked for once it is there, it is not older than the way back takes.
                ticks_of(&line.asked("now", &Target::default()).await?)
            };
            let now = now.await.map_err(|error| Error::lost(operation, error))?;
            self.clock.get_or_init(|| (now, Instant::now()));
            Ok(line)
        };
        match timeout(limit, opening).await {
            Ok(opened) => opened,
            Err(late) => Err(Error::lost(operation, late)),
        }
    }

    /// Makes sure that no program is on its way in while everything stands still. It is waited for no longer than for an answer.
    async fn alone(&self) -> Result<Option<OwnedMutexGuard<()>>, Error> {
        let Some(entrance) = self.place.entrance() else {
            return Ok(None);
        };
        match timeout(SILENCE, entrance.lock_owned()).await {
            Ok(guard) => Ok(Some(guard)),
            Err(late) => Err(Error::lost(
                "wait for a program that is being started",
                late,
            )),
        }
    }

    /// Whether a target has so many processes that there may be no room for another. Then they stand still until they are ended.
    pub(crate) async fn is_crowded(&self, target: &Target) -> Result<bool, Error> {
        let mut slot = self.line.lock().await;
        let mut line = match slot.take() {
            Some(line) => line,
            None => self.opened(OPEN_AGAIN).await?,
        };
        let alone = self.alone().await?;
        let count = line.number_of("crowd", target).await;
        drop(alone);
        let count = count.map_err(|error| Error::lost("count processes", error))?;
        *slot = Some(line);
        Ok(count > CROWD)
    }

    /// How many processes the kernel has killed for the place's memory; `None` where that cannot be seen inside.
    pub(crate) async fn memory_kills(&self) -> Option<u64> {
        let mut slot = self.line.lock().await;
        // The one that is open may have been killed.
        for _ in 0..2 {
            let mut line = match slot.take() {
                Some(line) => line,
                None => self.opened(OPEN_AGAIN).await.ok()?,
            };
            if let Ok(answer) = line.ask("memory", &Target::default()).await {
                *slot = Some(line);
                return answer.parse().ok();
            }
        }
        None
    }

    /// Ends a command's processes. The output is to be read meanwhile, or writers that are interrupted cannot finish.
    ///
    /// The agent may have killed or stopped the shell that is open; then a new one is opened, once.
    pub(crate) async fn end(&self, target: &Target) -> Result<(), Error> {
        let mut slot = self.line.lock().await;
        let mut failed = None;
        for _ in 0..2 {
            // While it works it is not in its place: a future that is dropped takes it along, with answers that nobody waits for.
            let mut line = match slot.take() {
                Some(line) => line,
                None => self.opened(OPEN_AGAIN).await?,
            };
            let alone = self.alone().await?;
            let ended = line.end(target).await;
            drop(alone);
            match ended {
                Ok(()) => {
                    *slot = Some(line);
                    return Ok(());
                }
                Err(error) => failed = Some(error),
            }
        }
        let error = failed.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        Err(Error::lost("end a command", error))
    }
}

/// `START UPTIME` of the control shell, the last in seconds: the later of the two moments is nearer to the present.
fn ticks_of(now: &str) -> io::Result<u64> {
    let mut words = now.split(' ');
    let start = words.next().and_then(|word| word.parse::<u64>().ok());
    let uptime = words.next().and_then(processes::uptime_ticks);
    // Some containers show an uptime of their own, which starts later than the clock of their processes.
    start.max(uptime).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the control shell said `{now}`"),
        )
    })
}

struct Line {
    channel: Channel,
    buffer: BytesMut,
    nonce: String,
    number: u64,
}

impl Line {
    async fn end(&mut self, target: &Target) -> io::Result<()> {
        if target.interrupt && self.number_of("int", target).await? > 0 {
            let started = Instant::now();
            while started.elapsed() < INTERRUPT && self.number_of("left", target).await? > 0 {
                tokio::time::sleep(LOOK).await;
            }
        }
        let mut sweeps = 0;
        while self.number_of("kill", target).await? > 0 && sweeps < SWEEPS {
            sweeps += 1;
        }
        // The worker goes last, so that its end is told after all output.
        self.ask("done", target).await.map(drop)
    }

    /// Asks for one step that finds processes: how many.
    async fn number_of(&mut self, verb: &str, target: &Target) -> io::Result<u64> {
        let answer = self.ask(verb, target).await?;
        answer.parse().map_err(io::Error::other)
    }

    /// Asks for one step, which must not take long.
    async fn ask(&mut self, verb: &str, target: &Target) -> io::Result<String> {
        timeout(SILENCE, self.asked(verb, target)).await?
    }

    /// Asks for one step.
    async fn asked(&mut self, verb: &str, target: &Target) -> io::Result<String> {
        self.number += 1;
        let number = self.number.to_string();
        let spared = target
            .spared
            .iter()
            .fold(String::new(), |list, pid| format!("{list} {pid}"));
        let request = format!(
            "{} {number} {verb} {} {}{spared}\n",
            self.nonce,
            target.since,
            target.worker.unwrap_or(0)
        );
        self.channel.input.write_all(request.as_bytes()).await?;
        self.channel.input.flush().await?;
        self.answer(&number).await
    }

    /// What the shell says under a name. Other lines are not its own.
    async fn answer(&mut self, name: &str) -> io::Result<String> {
        let start = format!("{} {name} ", self.nonce);
        loop {
            while let Some(end) = memchr::memchr(b'\n', &self.buffer) {
                let line = self.buffer.split_to(end);
                self.buffer.advance(1);
                if let Some(answer) = line.strip_prefix(start.as_bytes()) {
                    return String::from_utf8(answer.to_vec()).map_err(io::Error::other);
                }
            }
            if self.buffer.len() > LINE {
                self.buffer.clear();
            }
            if self.channel.output.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
