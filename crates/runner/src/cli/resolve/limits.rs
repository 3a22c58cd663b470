//! Limits of each sandbox, out of the options.

use sandbox::limits::{Limit, Limits};

use crate::cli::error::Error;
use crate::layers::Resolved;
use crate::layers::options::Sandbox;
use crate::layers::values::{Amount, Cap, Count, Size};

/// What engines give a container at least (Docker's documentation of `--memory`).
const MEMORY: Least<u64> = Least(6 << 20, "6MiB");
/// Engines take 0 for no limit.
const CPUS: Least<f64> = Least(0.01, "0.01");
/// Two shells of our own, each with its keeper, what ends commands, and a command.
const PIDS: Least<u64> = Least(16, "16");
/// Room for a repository's own files.
const DISK: Least<u64> = Least(1 << 20, "1MiB");

/// The smallest limit that a sandbox can live with, and how people write it.
struct Least<T>(T, &'static str);

/// Those that the user set must be enforced, defaults need not.
pub(super) fn limits(resolved: &Resolved, sandbox: &Sandbox) -> Result<Limits, Error> {
    let size = |size: Size| size.0;
    Ok(Limits {
        memory: limit(resolved, "memory", value(sandbox.memory, size), MEMORY)?,
        cpus: limit(
            resolved,
            "cpus",
            value(sandbox.cpus, |amount: Amount| amount.0),
            CPUS,
        )?,
        pids: limit(
            resolved,
            "pids",
            value(sandbox.pids, |count: Count| count.0),
            PIDS,
        )?,
        disk: limit(resolved, "disk", value(sandbox.disk, size), DISK)?,
    })
}

fn value<T, U>(cap: Option<Cap<T>>, value: impl Fn(T) -> U) -> Option<U> {
    cap.and_then(Cap::limit).map(value)
}

fn limit<T: PartialOrd>(
    resolved: &Resolved,
    flag: &'static str,
    value: Option<T>,
    least: Least<T>,
) -> Result<Option<Limit<T>>, Error> {
    let Least(smallest, written) = least;
    match value {
        Some(value) if value < smallest => Err(Error::usage(
            format!("--{flag} is less than a sandbox can live with, which is {written}"),
            format!("give more, or `--{flag} none` for no limit"),
        )),
        value => Ok(value.map(|value| Limit {
            value,
            explicit: resolved.is_explicit(flag),
        })),
    }
}
