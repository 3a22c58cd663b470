//! Noticing that an agent goes round in circles.
//!
//! What counts is the call *and* its result: a call that brings something new each time is progress, whatever it looks like. Cycles of up to
//! six calls are seen, so that neither `a a a` nor `a b a b` nor `a b c a b c` goes on for ever. Results that differ only in
//! durations, clock times, addresses and temporary names count as equal too, but only after twice as many rounds.

mod loosen;

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use schema::ToolCall;
use serde_json::Value;

/// Longest cycle that is looked for, in calls.
const LONGEST_CYCLE: usize = 6;

/// Calls kept: enough for the longest cycle at the largest threshold.
const KEPT: usize = LONGEST_CYCLE * 16;

/// Failures of one kind in a row after which the model is told.
const SAME_ERRORS: u32 = 8;

/// Rounds after which the model is told, and after which the attempt stops.
#[derive(Debug, Clone, Copy)]
struct Threshold {
    note: usize,
    stop: usize,
}

impl Threshold {
    /// For a cycle of `length` calls; `patience` is 2 where results are only nearly equal.
    fn of(length: usize, patience: usize) -> Self {
        let (note, stop) = if length == 1 { (3, 6) } else { (4, 8) };
        Self {
            note: note * patience,
            stop: stop * patience,
        }
    }
}

/// What was seen in the last calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// Nothing.
    #[default]
    Fine,
    /// The model should be told.
    Note,
    /// The attempt should stop.
    Stop,
}

/// The last calls and their results, as digests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stuck {
    exact: VecDeque<u64>,
    loose: VecDeque<u64>,
    sign: Sign,
    /// Whether the present circle was noted before.
    noted: bool,
    error_class: u64,
    same_errors: u32,
}

/// What an observation asks to tell the model, once for each streak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// It repeats itself.
    Repeating,
    /// It fails in the same way again and again.
    SameError,
}

impl Stuck {
    /// Takes in a call and its result.
    pub fn observe(&mut self, call: &ToolCall, content: &str, failed: bool) -> Option<Note> {
        let call_digest = digest_call(call);
        let exact = digest(&(call_digest, content));
        let loose = digest(&(call_digest, loosen::digest(content)));
        remember(&mut self.exact, exact);
        remember(&mut self.loose, loose);
        let now = sign(&self.exact, 1).max(sign(&self.loose, 2));
        // Once it has to stop it has to stop, whatever still comes in.
        self.sign = now.max(if self.sign == Sign::Stop {
            Sign::Stop
        } else {
            Sign::Fine
        });
        let repeating = now >= Sign::Note;
        let note = (repeating && !self.noted).then_some(Note::Repeating);
        self.noted = repeating;
        let same_error = self.observe_error(&call.name, content, failed);
        note.or(same_error)
    }

    fn observe_error(&mut self, tool: &str, content: &str, failed: bool) -> Option<Note> {
        if !failed {
            self.same_errors = 0;
            return None;
        }
        let class = digest(&(tool, loosen::error_class(content)));
        if class == self.error_class {
            self.same_errors += 1;
        } else {
            self.error_class = class;
            self.same_errors = 1;
        }
        (self.same_errors.is_multiple_of(SAME_ERRORS)).then_some(Note::SameError)
    }

    /// What the last calls look like.
    pub fn sign(&self) -> Sign {
        self.sign
    }
}

fn remember(recent: &mut VecDeque<u64>, digest: u64) {
    if recent.len() == KEPT {
        recent.pop_front();
    }
    recent.push_back(digest);
}

fn sign(recent: &VecDeque<u64>, patience: usize) -> Sign {
    (1..=LONGEST_CYCLE)
        .map(|length| {
            let threshold = Threshold::of(length, patience);
            let rounds = rounds(recent, length);
            if rounds >= threshold.stop {
                Sign::Stop
            } else if rounds >= threshold.note {
                Sign::Note
            } else {
                Sign::Fine
            }
        })
        .max()
        .unwrap_or_default()
}

/// How often the last `length` calls stand at the end, one round after the other.
fn rounds(recent: &VecDeque<u64>, length: usize) -> usize {
    let newest_first = || recent.iter().rev();
    let matching = newest_first()
        .zip(newest_first().skip(length))
        .take_while(|(new, old)| new == old)
        .count();
    1 + matching / length
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Digest of the tool and its arguments; the order and spacing of the JSON do not matter.
fn digest_call(call: &ToolCall) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(value) => hash_value(&value, &mut hasher),
        Err(_) => call.arguments.hash(&mut hasher),
    }
    hasher.finish()
}

fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in fields {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                hash_value(item, hasher);
            }
        }
        Value::String(text) => text.hash(hasher),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall {
            id: "c".into(),
            name: "bash".into(),
            arguments: arguments.into(),
        }
    }

    /// Positions, from 1, of the first note and the first stop.
    fn run(
        steps: impl IntoIterator<Item = (&'static str, String)>,
    ) -> (Option<usize>, Option<usize>) {
        let mut stuck = Stuck::default();
        let (mut noted, mut stopped) = (None, None);
        for (position, (arguments, result)) in steps.into_iter().enumerate() {
            if stuck.observe(&call(arguments), &result, false).is_some() {
                noted = noted.or(Some(position + 1));
            }
            if stuck.sign() == Sign::Stop {
                stopped = stopped.or(Some(position + 1));
            }
        }
        (noted, stopped)
    }

    #[test]
    fn the_same_call_with_the_same_result() {
        assert_eq!(run((0..25).map(|_| ("{}", "x".into()))), (Some(3), Some(6)));
    }

    #[test]
    fn polling_with_changing_output_never_trips() {
        assert_eq!(
            run((0..200).map(|n| ("{}", format!("tick {n}")))),
            (None, None)
        );
    }

    #[test]
    fn different_calls_with_the_same_result_are_fine() {
        let arguments = [
            r#"{"a":1}"#,
            r#"{"a":2}"#,
            r#"{"a":3}"#,
            r#"{"a":4}"#,
            r#"{"a":5}"#,
            r#"{"a":6}"#,
            r#"{"a":7}"#,
        ];
        assert_eq!(
            run(arguments.into_iter().map(|a| (a, String::new()))),
            (None, None)
        );
    }

    #[test]
    fn spacing_and_order_of_arguments_do_not_matter() {
        let forms = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#];
        assert_eq!(
            run((0..12).map(|n| (forms[n % 2], String::new()))),
            (Some(3), Some(6))
        );
    }

    #[test]
    fn ping_pong_and_longer_cycles() {
        let pair = ["{\"a\":1}", "{\"b\":1}"];
        assert_eq!(
            run((0..40).map(|n| (pair[n % 2], String::new()))),
            (Some(8), Some(16))
        );
        let triple = ["{\"a\":1}", "{\"b\":1}", "{\"c\":1}"];
        assert_eq!(
            run((0..40).map(|n| (triple[n % 3], String::new()))),
            (Some(12), Some(24))
        );
    }

    #[test]
    fn results_that_differ_in_durations_only_trip_later() {
        let steps = (0..40).map(|n| ("{}", format!("1 failed in 0.{n}s at 12:00:{n:02}")));
        assert_eq!(run(steps), (Some(6), Some(12)));
    }

    #[test]
    fn the_same_kind_of_error_is_noted_whatever_the_arguments() {
        let mut stuck = Stuck::default();
        let notes: Vec<_> = (1..=16)
            .filter(|n| {
                let error = format!("cat: /no/such/{n}: No such file or directory\n[exit code 1]");
                stuck.observe(&call(&n.to_string()), &error, true) == Some(Note::SameError)
            })
            .collect();
        assert_eq!(notes, [8, 16]);
        assert_eq!(stuck.sign(), Sign::Fine);
    }
}
