//! Cutting an output to what the model should read: head and tail, with what is missing said.

use std::fmt::Write as _;
use std::time::Duration;

use crate::ports::{Command, CommandEnd, CommandOutput};

/// A command's output and its end as text of at most about `limit` bytes, notes not counted.
pub fn render(output: &CommandOutput, command: &Command, limit: usize) -> String {
    let mut text = cut(&output.head, &output.tail, output.total, limit);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("[no output]\n");
    }
    let _ = match output.end {
        CommandEnd::Exited(code) => write!(text, "[exit code {code}]"),
        CommandEnd::ShellEnded(code) => write!(text, "[exit code {code}; the shell ended]"),
        CommandEnd::TimedOut => write!(
            text,
            "[killed after {}: the time limit. Give a longer `timeout`, or run it in the background with its output in a file]",
            seconds(command.timeout)
        ),
        CommandEnd::Idle => write!(
            text,
            "[killed: it printed nothing for {}, the limit. Let it say how far it is, or run it in the background with its output in a file]",
            seconds(command.idle.unwrap_or(command.timeout))
        ),
        CommandEnd::OutputLimit => write!(text, "[killed: it printed too much]"),
        CommandEnd::Cancelled => write!(text, "[interrupted]"),
    };
    if let Some(note) = &output.shell_note {
        let _ = write!(text, "\n[{}]", note.trim().trim_matches(['[', ']']));
    }
    text
}

fn seconds(time: Duration) -> String {
    if time.subsec_millis() == 0 {
        format!("{} s", time.as_secs())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// The first and the last bytes of an output as text; `total` counts the bytes that are in neither, too.
pub(crate) fn cut(head: &[u8], tail: &[u8], total: u64, limit: usize) -> String {
    let held = head.len() + tail.len();
    if total <= held as u64 && held <= limit {
        let mut whole = Vec::with_capacity(held);
        whole.extend_from_slice(head);
        whole.extend_from_slice(tail);
        let text = String::from_utf8_lossy(&whole);
        if text.len() <= limit {
            return text.into_owned();
        }
    }
    let first_budget = limit / 2;
    let last_budget = limit - first_budget;
    let (first, first_bytes) = front(head, first_budget);
    // A short output that is all in `head` ends there.
    let rest = if tail.is_empty() {
        &head[first_bytes..]
    } else {
        tail
    };
    let (last, last_bytes) = back(rest, last_budget);
    let dropped = total.saturating_sub((first_bytes + last_bytes) as u64);
    if dropped == 0 {
        return format!("{first}{last}");
    }
    let lines = dropped_lines(head, tail, total, first_bytes, last_bytes)
        .map(|lines| format!(", {lines} lines"))
        .unwrap_or_default();
    let joint = if first.ends_with('\n') { "" } else { "\n" };
    format!("{first}{joint}[… {dropped} bytes{lines} left out …]\n{last}")
}

/// Line ends in what was left out, where all of it is at hand.
fn dropped_lines(
    head: &[u8],
    tail: &[u8],
    total: u64,
    first_bytes: usize,
    last_bytes: usize,
) -> Option<usize> {
    if (head.len() + tail.len()) as u64 != total {
        return None;
    }
    let whole: Vec<u8> = [head, tail].concat();
    let middle = whole.get(first_bytes..whole.len().checked_sub(last_bytes)?)?;
    Some(middle.split(|byte| *byte == b'\n').count() - 1)
}

/// As much of the front as fits, as text, and how many bytes that is.
fn front(bytes: &[u8], budget: usize) -> (String, usize) {
    let mut text = String::new();
    let mut taken = 0;
    for chunk in bytes.utf8_chunks() {
        let room = budget - text.len();
        let end = floor_boundary(chunk.valid(), room);
        text.push_str(&chunk.valid()[..end]);
        taken += end;
        if end < chunk.valid().len() {
            break;
        }
        if !chunk.invalid().is_empty() {
            if text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > budget {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            taken += chunk.invalid().len();
        }
    }
    (text, taken)
}

/// As much of the back as fits, as text, and how many bytes that is.
fn back(bytes: &[u8], budget: usize) -> (String, usize) {
    let mut start = bytes.len().saturating_sub(budget);
    loop {
        // Not in the middle of a character.
        while start < bytes.len() && start > 0 && is_continuation(bytes[start]) {
            start += 1;
        }
        let text = String::from_utf8_lossy(&bytes[start..]);
        if text.len() <= budget {
            return (text.into_owned(), bytes.len() - start);
        }
        // Replacement characters are longer than what they replace.
        start += (text.len() - budget).div_ceil(3);
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(head: &[u8], end: CommandEnd) -> CommandOutput {
        CommandOutput {
            head: head.to_vec(),
            tail: vec![],
            total: head.len() as u64,
            sha256: String::new(),
            end,
            shell_note: None,
            elapsed: Duration::ZERO,
        }
    }

    fn command(timeout: u64, idle: Option<u64>) -> Command {
        Command {
            text: String::new(),
            timeout: Duration::from_secs(timeout),
            idle: idle.map(Duration::from_secs),
            cancel: tokio_util::sync::CancellationToken::new(),
        }
    }

    #[test]
    fn a_short_output_is_whole() {
        let any = command(0, None);
        let text = render(&output(b"a\nb\n", CommandEnd::Exited(0)), &any, 100);
        assert_eq!(text, "a\nb\n[exit code 0]");
        let text = render(&output(b"", CommandEnd::Exited(1)), &any, 100);
        assert_eq!(text, "[no output]\n[exit code 1]");
    }

    #[test]
    fn a_killed_command_keeps_its_output() {
        let limits = command(5, Some(2));
        let text = render(&output(b"half", CommandEnd::TimedOut), &limits, 100);
        assert!(text.starts_with("half\n[killed after 5 s"), "{text}");
        let text = render(&output(b"half", CommandEnd::Idle), &limits, 100);
        assert!(
            text.starts_with("half\n[killed: it printed nothing for 2 s, the limit"),
            "{text}"
        );
    }

    #[test]
    fn a_long_output_says_what_is_missing() {
        let lines: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let long = lines.join("\n") + "\n";
        let text = cut(long.as_bytes(), b"", long.len() as u64, 100);
        assert!(text.starts_with("0\n1\n"), "{text}");
        assert!(text.ends_with("998\n999\n"), "{text}");
        assert!(text.contains("bytes, "), "{text}");
        assert!(text.len() < 160, "{text}");
    }

    #[test]
    fn bytes_that_nobody_holds_count_as_missing() {
        let text = cut(b"start", b"end", 1_000_000, 100);
        assert_eq!(text, "start\n[… 999992 bytes left out …]\nend");
    }

    #[test]
    fn any_bytes_fit_and_are_text() {
        let noise: Vec<u8> = (0..=u8::MAX)
            .map(|n| n.wrapping_mul(7))
            .cycle()
            .take(5000)
            .collect();
        for limit in 0..200 {
            let text = cut(&noise, b"", noise.len() as u64, limit);
            assert!(text.len() <= limit + 60, "{limit}: {}", text.len());
        }
        let umlauts = "ä".repeat(100);
        for limit in 0..200 {
            let text = cut(umlauts.as_bytes(), b"", 200, limit);
            assert!(!text.contains('\u{fffd}'), "{limit}: {text}");
        }
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_breaks_the_cut(
            head in prop::collection::vec(any::<u8>(), 0..300),
            tail in prop::collection::vec(any::<u8>(), 0..300),
            between in prop_oneof![Just(0_u64), any::<u32>().prop_map(u64::from)],
            limit in 0..400_usize,
        ) {
            let held = (head.len() + tail.len()) as u64;
            let text = cut(&head, &tail, held + between, limit);
            prop_assert!(text.len() <= limit + 70);
            if between > 0 {
                prop_assert!(text.contains("left out"));
            }
        }
    }
}
