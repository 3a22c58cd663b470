//! Signs of faults that are not the patch's, as generation 5 of the official harness looks for them. They advise; they decide nothing.

use schema::grading::Harness;
use serde::{Deserialize, Serialize};

/// What a log shows. The order is that in which the signs are looked for: the first one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signature {
    /// A browser did not start.
    BrowserLaunchFailed,
    /// There is no display.
    DisplayUnavailable,
    /// Memory ran out.
    OutOfMemory,
    /// The container engine failed.
    ContainerUnavailable,
    /// A name could not be resolved.
    NetworkUnreachable,
    /// A module is not there.
    MissingModule,
    /// The test framework found no test.
    NoTestsCollected,
    /// The time was over.
    TestsTimedOut,
}

/// How much a sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// No change of the project's source is likely to cause it.
    Environment,
    /// A broken environment or a bad patch.
    Ambiguous,
}

impl Signature {
    const ALL: [Self; 8] = [
        Self::BrowserLaunchFailed,
        Self::DisplayUnavailable,
        Self::OutOfMemory,
        Self::ContainerUnavailable,
        Self::NetworkUnreachable,
        Self::MissingModule,
        Self::NoTestsCollected,
        Self::TestsTimedOut,
    ];

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::BrowserLaunchFailed => "browser_launch_failed",
            Self::DisplayUnavailable => "display_unavailable",
            Self::OutOfMemory => "out_of_memory",
            Self::ContainerUnavailable => "container_unavailable",
            Self::NetworkUnreachable => "network_unreachable",
            Self::MissingModule => "missing_module",
            Self::NoTestsCollected => "no_tests_collected",
            Self::TestsTimedOut => "tests_timed_out",
        }
    }

    /// The one of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sign| sign.name() == name)
    }

    /// How much it says.
    pub fn tier(self) -> Tier {
        match self {
            Self::BrowserLaunchFailed
            | Self::DisplayUnavailable
            | Self::OutOfMemory
            | Self::ContainerUnavailable
            | Self::NetworkUnreachable => Tier::Environment,
            Self::MissingModule | Self::NoTestsCollected | Self::TestsTimedOut => Tier::Ambiguous,
        }
    }

    fn is_in(self, log: &str) -> bool {
        let any = |words: &[&str]| words.iter().any(|word| log.contains(word));
        match self {
            Self::BrowserLaunchFailed => any(&["Failed to launch", "Failed to connect to the bus"]),
            Self::DisplayUnavailable => any(&[
                "cannot open display",
                "Missing X server",
                "unable to open X display",
            ]),
            Self::OutOfMemory => {
                any(&["Cannot allocate memory", "OutOfMemoryError"])
                    || log.split('\n').any(|line| line == "Killed")
            }
            Self::ContainerUnavailable => any(&[
                "Error response from daemon",
                "Cannot connect to the Docker daemon",
            ]),
            Self::NetworkUnreachable => any(&[
                "Could not resolve host",
                "Temporary failure in name resolution",
            ]),
            Self::MissingModule => any(&[
                "Cannot find module",
                "MODULE_NOT_FOUND",
                "ModuleNotFoundError",
            ]),
            Self::NoTestsCollected => any(&["no tests ran", "collected 0 items"]),
            Self::TestsTimedOut => timed_out(log),
        }
    }
}

/// `Timeout error: N seconds exceeded`, as the official harness ends the log of a script that it stopped.
fn timed_out(log: &str) -> bool {
    log.match_indices("Timeout error: ").any(|(at, found)| {
        let rest = log.get(at + found.len()..).unwrap_or_default();
        let after = rest.trim_start_matches(char::is_numeric);
        after.len() < rest.len() && after.starts_with(" seconds exceeded")
    })
}

/// What a log shows of faults that are not the patch's; nothing before generation 5, which does not look. The log is taken as it came, terminal
/// sequences included, but for line ends.
pub fn signature(log: &[u8], harness: Harness) -> Option<Signature> {
    match harness {
        Harness::V4 => None,
        Harness::V5 => {
            let text = String::from_utf8_lossy(log);
            let text = if text.contains('\r') {
                text.replace("\r\n", "\n").replace('\r', "\n").into()
            } else {
                text
            };
            Signature::ALL.into_iter().find(|sign| sign.is_in(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sign_counts_and_only_whole_lines_are_killed() {
        for (log, sign) in [
            ("", None),
            ("Killed by hand\nnot Killed\n", None),
            ("a\r\nKilled\r\nb", Some(Signature::OutOfMemory)),
            (
                "ModuleNotFoundError: x\nCould not resolve host: y",
                Some(Signature::NetworkUnreachable),
            ),
            ("collected 0 items", Some(Signature::NoTestsCollected)),
            (
                "\n\nTimeout error: 1800 seconds exceeded.",
                Some(Signature::TestsTimedOut),
            ),
            ("Timeout error:  seconds exceeded.", None),
            ("Timeout error: soon seconds exceeded.", None),
        ] {
            assert_eq!(signature(log.as_bytes(), Harness::V5), sign, "{log:?}");
            assert_eq!(signature(log.as_bytes(), Harness::V4), None);
        }
    }

    #[test]
    fn names_are_those_of_the_files() {
        for sign in Signature::ALL {
            assert_eq!(serde_json::to_value(sign).unwrap(), sign.name());
        }
    }
}
