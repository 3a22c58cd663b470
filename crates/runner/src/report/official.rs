//! The run's summary as the official harness writes it, `<model>.<run>.json`, one for each sample.

use std::collections::BTreeSet;

use grade::official::{Entry, Leftovers, Signature, Standing, summarize};
use schema::bucket::OfficialClass;
use schema::grading::Harness;

use super::row::Row;
use crate::error::{At, Error};
use crate::store::selection::Selection;
use crate::store::{RunDirectory, RunFile, atomic};

/// Longest part of a file name that a model's name gives, in bytes.
const LONGEST: usize = 120;

/// What the summary is of.
#[derive(Debug, Clone, Copy)]
pub struct Summed<'a> {
    /// `run.json`.
    pub file: &'a RunFile,
    /// All selected instances.
    pub selection: &'a Selection,
    /// What became of them.
    pub rows: &'a [Row],
    /// Names of containers that were kept.
    pub kept: &'a BTreeSet<String>,
}

/// Writes the summaries; nothing where nothing was graded. Their names are returned.
///
/// # Errors
/// When one cannot be written.
pub fn write(run: &RunDirectory, summed: &Summed<'_>) -> Result<Vec<String>, Error> {
    let graded = |row: &Row| row.grade.is_some() || row.verdict == "error";
    let mut names = Vec::new();
    let samples = summed.rows.iter().map(|row| row.sample).max().unwrap_or(1);
    for sample in 1..=samples {
        let rows: Vec<&Row> = summed
            .rows
            .iter()
            .filter(|row| row.sample == sample)
            .collect();
        if !rows.iter().any(|row| graded(row)) {
            continue;
        }
        let name = file_name(&summed.file.identity.model, &summed.file.run, sample);
        let summary = summarize(
            &entries(summed, &rows),
            harness(summed),
            leftovers(summed, &rows).as_ref(),
        );
        let path = run.root().join(&name);
        let mut text = grade::official::text(&summary).map_err(|error| Error::Format {
            path: path.clone(),
            message: error.to_string(),
        })?;
        text.push('\n');
        atomic::replace_bytes(&path, text.as_bytes()).at("write", &path)?;
        names.push(name);
    }
    Ok(names)
}

fn harness(summed: &Summed<'_>) -> Harness {
    summed.file.operation.harness
}

/// `<model>.<run>.json`. Slashes become `__`, as officially; nothing else of the name reaches a path that could not be a part of it.
pub fn file_name(model: &str, run: &str, sample: u32) -> String {
    let sample = match sample {
        1 => String::new(),
        sample => format!(".s{sample}"),
    };
    format!("{}.{}{sample}.json", cleaned(model), cleaned(run))
}

fn cleaned(name: &str) -> String {
    let name = name.replace('/', "__");
    let safe = |c: char| if c.is_control() || c == '\\' { '_' } else { c };
    let mut cleaned: String = name.chars().map(safe).collect();
    while cleaned.len() > LONGEST {
        cleaned.pop();
    }
    match cleaned.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None if cleaned.is_empty() => "None".to_owned(),
        None => cleaned,
    }
}

fn entries(summed: &Summed<'_>, rows: &[&Row]) -> Vec<Entry> {
    let known: BTreeSet<_> = rows.iter().map(|row| &row.instance_id).collect();
    let absent = summed.selection.keys().filter(|id| !known.contains(id));
    let absent = absent.map(|id| Entry {
        id: id.clone(),
        submitted: false,
        standing: Standing::Incomplete,
        signature: None,
    });
    rows.iter().map(|row| entry(row)).chain(absent).collect()
}

fn entry(row: &Row) -> Entry {
    let standing = match row.bucket.map(schema::Bucket::official_class) {
        None => Standing::Incomplete,
        Some(OfficialClass::EmptyPatch) => Standing::EmptyPatch,
        Some(OfficialClass::Error) => Standing::Error,
        Some(OfficialClass::Completed) => Standing::Completed {
            resolved: row.official_resolved.unwrap_or_default(),
        },
    };
    let sign = row.grade.as_ref().and_then(|grade| grade.sign.as_deref());
    Entry {
        id: row.instance_id.clone(),
        submitted: standing != Standing::Incomplete,
        standing,
        signature: sign.and_then(Signature::of_name),
    }
}

/// Containers that were kept, and the images of the instances: they stay, until `runner images prune`. `None` where there were no containers.
fn leftovers(summed: &Summed<'_>, rows: &[&Row]) -> Option<Leftovers> {
    let images: BTreeSet<String> = rows
        .iter()
        .filter_map(|row| summed.selection.get(&row.instance_id)?.image.clone())
        .collect();
    (!images.is_empty()).then(|| Leftovers {
        containers: summed.kept.clone(),
        images,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_the_official_ones_and_stay_in_their_directory() {
        assert_eq!(file_name("org/model", "run", 1), "org__model.run.json");
        assert_eq!(
            file_name("openai:gpt-5", "run", 2),
            "openai:gpt-5.run.s2.json"
        );
        assert_eq!(file_name("../x\n", "r", 1), "_.__x_.r.json");
        assert_eq!(file_name("", "r", 1), "None.r.json");
        assert!(file_name(&"é".repeat(300), "r", 1).len() < 255);
    }
}
