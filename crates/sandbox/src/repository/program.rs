//! Programs of this machine that work on what somebody hostile wrote.

use std::io;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long one may take: a patch can be made so that trying it takes for ever.
const LIMIT: Duration = Duration::from_mins(1);
/// First pause between looks, which doubles up to the last one.
const FIRST_LOOK: Duration = Duration::from_micros(500);
const LAST_LOOK: Duration = Duration::from_millis(20);

/// Runs a program to its end; `None` when it took too long and was killed.
pub(super) fn run(command: &mut Command) -> io::Result<Option<ExitStatus>> {
    run_until(command, Instant::now() + LIMIT)
}

fn run_until(command: &mut Command, until: Instant) -> io::Result<Option<ExitStatus>> {
    let mut child = command.spawn()?;
    let mut look = FIRST_LOOK;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(look);
        look = (look * 2).min(LAST_LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_killed() {
        let now = Instant::now();
        let killed = run_until(Command::new("sleep").arg("1000"), now).unwrap();
        assert_eq!(killed, None);
        let ended = run(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        assert_eq!(ended.and_then(|status| status.code()), Some(3));
    }
}
