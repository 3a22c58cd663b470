//! The log of an evaluation script, whole: one that has lost a part says nothing of the tests in it.

use std::time::Duration;

use sandbox::{Captured, End};
use schema::FailureKind;

use crate::attempt::failure::Failure;
use crate::layers::values::Size;

/// Bytes that a log may have; a script that prints more is stopped. Logs of 200 MB are known.
pub(super) const LIMIT: u64 = 512 << 20;

/// Bytes of it that memory holds before it goes to a file.
pub(super) const IN_MEMORY: usize = 64 << 10;

/// A log, and how its script ended.
pub(super) struct TestLog {
    pub(super) end: End,
    pub(super) text: Vec<u8>,
    /// What of it is missing; then it cannot be judged.
    pub(super) lost: Option<Lost>,
}

/// Why a part of a log is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// The script printed more than a log may have.
    TooLong,
    /// There was no room to store it.
    NotStored {
        /// Bytes printed.
        printed: u64,
        /// Bytes there.
        stored: u64,
    },
}

impl TestLog {
    /// What was captured; where the script was stopped, its end says so as the official harness does.
    pub(super) fn of(captured: Captured, timeout: Duration) -> std::io::Result<Self> {
        let mut text = Vec::new();
        if let Some(mut spool) = captured.spool {
            spool.copy_to(&mut text)?;
        } else {
            text.extend_from_slice(&captured.head);
            text.extend_from_slice(&captured.tail);
        }
        let stored = text.len() as u64;
        let lost = if captured.end == End::OutputLimit {
            Some(Lost::TooLong)
        } else {
            (stored < captured.total).then_some(Lost::NotStored {
                printed: captured.total,
                stored,
            })
        };
        if captured.end == End::TimedOut {
            let seconds = timeout.as_secs();
            let words = format!("\n\nTimeout error: {seconds} seconds exceeded.");
            text.extend_from_slice(words.as_bytes());
        }
        Ok(Self {
            end: captured.end,
            text,
            lost,
        })
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::TooLong => Self {
                kind: FailureKind::Check,
                message: format!(
                    "the tests printed more than {}, and were stopped: what a log says that is not whole is not known",
                    Size(LIMIT)
                ),
            },
            Lost::NotStored { printed, stored } => Self {
                kind: FailureKind::EnvironmentDisk,
                message: format!(
                    "of {printed} bytes that the tests printed only {stored} could be stored: the disk is full"
                ),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(head: &[u8], tail: &[u8], total: u64, end: End) -> Captured {
        Captured {
            head: head.to_vec(),
            tail: tail.to_vec(),
            total,
            sha256: String::new(),
            spool: None,
            end,
            shell_note: None,
            elapsed: Duration::ZERO,
        }
    }

    fn of(head: &[u8], tail: &[u8], total: u64, end: End) -> TestLog {
        TestLog::of(captured(head, tail, total, end), Duration::from_secs(7)).unwrap()
    }

    #[test]
    fn a_log_that_lost_a_part_is_no_log() {
        let whole = of(b"ok 1", b" a", 6, End::Exited(0));
        assert_eq!((&*whole.text, whole.lost), (&b"ok 1 a"[..], None));
        let cut = of(b"ok 1", b" a", 7, End::Exited(0));
        let lost = Lost::NotStored {
            printed: 7,
            stored: 6,
        };
        assert_eq!(cut.lost, Some(lost));
        assert_eq!(Failure::from(lost).kind, FailureKind::EnvironmentDisk);
        let long = of(b"ok 1", b" a", 6, End::OutputLimit);
        assert_eq!(long.lost, Some(Lost::TooLong));
        let told = Failure::from(Lost::TooLong).message;
        assert!(told.contains("more than 512MiB"), "{told}");
    }

    #[test]
    fn a_script_that_was_stopped_has_said_all_that_counts() {
        let late = of(b"ok 1 a", b"", 6, End::TimedOut);
        assert_eq!(late.lost, None);
        assert_eq!(
            late.text,
            b"ok 1 a\n\nTimeout error: 7 seconds exceeded.".to_vec()
        );
    }
}
