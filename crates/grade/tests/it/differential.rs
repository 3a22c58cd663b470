//! What `scripts/differential` keeps of the official harness's answers to generated cases: eight bytes of a digest for each.
//!
//! The cases themselves are made anew by the same generator, which needs Python alone. `scripts/differential/run` shows what the official
//! answers are where one differs.

use std::process::Command;

use schema::grading::Harness;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The start of a digest.
pub(crate) type Digest = [u8; 8];

/// Digest of text that the generator printed, or of an answer.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let whole = Sha256::digest(bytes);
    std::array::from_fn(|at| whole[at])
}

/// Digest of an answer, as Python's `json` writes it without white space.
pub(crate) fn digest_of(answer: &impl Serialize) -> Digest {
    digest(&serde_json::to_vec(answer).unwrap())
}

/// What a fixture begins with, as one line of JSON.
#[derive(Deserialize)]
pub(crate) struct Head {
    pub(crate) seed: String,
    pub(crate) columns: Vec<Column>,
}

/// Answers of one kind. Those of generation 5 come first, then those of generation 4 that are others, each after its number.
#[derive(Clone, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// How many cases there are.
    count: usize,
    /// Digest of the cases, in hexadecimal.
    cases: String,
    /// How many answers of generation 4 are others; `None` where it has none.
    others: Option<usize>,
}

/// Answers to the cases of one column.
pub(crate) struct Answers {
    pub(crate) column: Column,
    five: Vec<Digest>,
    four: Option<Vec<Digest>>,
}

impl Answers {
    /// The official answer to a case, where there is one.
    pub(crate) fn of(&self, case: usize, harness: Harness) -> Option<Digest> {
        match harness {
            Harness::V5 => self.five.get(case).copied(),
            Harness::V4 => self.four.as_ref()?.get(case).copied(),
        }
    }

    /// The cases, made by a script of `scripts/differential`.
    pub(crate) fn cases<T: for<'de> Deserialize<'de>>(&self, script: &str, seed: &str) -> Vec<T> {
        let column = &self.column;
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/differential");
        let output = Command::new("python3")
            .arg(format!("{path}/{script}"))
            .args([&*column.count.to_string(), seed, &*column.name])
            .env("PYTHONUTF8", "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        let made = schema::hex(&digest(&output.stdout));
        assert_eq!(
            made, column.cases,
            "{}: this Python makes other cases than those that were asked about, or the generator was changed: run scripts/differential/run",
            column.name
        );
        let lines = output.stdout.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

/// Takes a fixture apart.
pub(crate) fn read(fixture: &[u8]) -> (String, Vec<Answers>) {
    let end = fixture.iter().position(|byte| *byte == b'\n').unwrap();
    let head: Head = serde_json::from_slice(&fixture[..end]).unwrap();
    let mut rest = &fixture[end + 1..];
    let answers = head.columns.into_iter().map(|column| {
        let five: Vec<Digest> = (0..column.count).map(|_| take(&mut rest)).collect();
        let four = column.others.map(|others| {
            let mut four = five.clone();
            for _ in 0..others {
                let number = usize::from(u16::from_le_bytes(take(&mut rest)));
                four[number] = take(&mut rest);
            }
            four
        });
        Answers { column, five, four }
    });
    let answers = answers.collect();
    assert!(rest.is_empty());
    (head.seed, answers)
}

fn take<const N: usize>(rest: &mut &[u8]) -> [u8; N] {
    let (taken, after) = rest.split_first_chunk::<N>().unwrap();
    *rest = after;
    *taken
}
