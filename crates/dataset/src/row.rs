//! One row: from its text to what is asked and what only the grader may know.

use std::path::Path;

use schema::{AnswerKey, Instance, InstanceId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::fields::Fields;
use crate::source::RawRow;
use crate::unique::Unique;
use crate::{pictures, syntax, variant};

/// One row of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Where the work happens and what is asked.
    pub instance: Instance,
    /// What the agent must never see.
    pub answer: AnswerKey,
    /// Field that the instance's image is from, as the row spells it.
    pub image_field: Option<&'static str>,
    /// Hexadecimal SHA-256 of the row as compact JSON with its keys sorted: white space and the order of keys do not count, everything else does.
    pub sha256: String,
    /// Line of the file where the row starts, from 1.
    pub line: u64,
}

/// Fields that may hold the name of a row's image.
const IMAGE: [&str; 3] = ["image", "image_name", "docker_image"];

/// Whether an object with these keys is a row, rather than a container of rows.
pub(crate) fn is_row<'a>(keys: impl Iterator<Item = &'a str>) -> bool {
    keys.into_iter().any(|key| {
        matches!(
            key,
            "instance_id" | "problem_statement" | "base_commit" | "repo" | "org" | "commit_hash"
        )
    })
}

pub(crate) fn read(path: &Path, raw: &RawRow) -> Result<Row, Error> {
    let line = raw.start.line;
    let text = syntax::utf8(path, raw.start, &raw.bytes)?;
    let mut map = match serde_json::from_str(text) {
        Ok(Unique(Value::Object(map))) => map,
        Ok(Unique(_)) => {
            let first = raw.bytes.first().copied().unwrap_or_default();
            return Err(Error::NotARow {
                path: path.into(),
                line,
                found: crate::array::kind_of(first),
            });
        }
        Err(error) => return Err(syntax::malformed(path, raw.start, text, &error)),
    };
    if let Some(key) = &raw.key {
        map.entry("instance_id")
            .or_insert_with(|| Value::String(key.clone()));
    }
    let sha256 = digest(&map);
    keep_number_as_written(&mut map, text);
    let mut fields = Fields::new(path, line, map);
    let image_field = IMAGE
        .iter()
        .find(|name| fields.get(name).is_some())
        .copied();
    let (instance, answer) = typed(&mut fields)?;
    Ok(Row {
        instance,
        answer,
        image_field,
        sha256,
        line,
    })
}

/// Takes the typed fields; what is left goes to the answer key as it came.
fn typed(fields: &mut Fields<'_>) -> Result<(Instance, AnswerKey), Error> {
    variant::normalise(fields)?;
    let patch_names = variant::patch_names(fields);
    let id = fields.take_id(&["instance_id"])?;
    let statement = variant::statement(fields)?;
    let instance = Instance {
        id: InstanceId::new(id),
        repo: fields
            .take_text(&["repo", "repo_name"])?
            .unwrap_or_default(),
        base_commit: fields.take_word(&["base_commit"])?,
        repo_path: fields.take_word(&["repo_path"])?,
        workdir: fields.take_word(&["workdir", "repo_directory"])?,
        image: fields.take_word(&IMAGE)?,
        version: fields.take_version("version")?,
        statement_images: pictures::of_statement(fields, &statement)?,
        statement,
    };
    let answer = AnswerKey {
        patch: fields.take_text(patch_names)?,
        test_patch: fields.take_text(&["test_patch"])?,
        hints: fields.take_text(&["hints_text", "hints"])?,
        fail_to_pass: fields.take_list(&["FAIL_TO_PASS", "fail_to_pass"])?,
        pass_to_pass: fields.take_list(&["PASS_TO_PASS", "pass_to_pass"])?,
        eval_script: fields.take_text(&["eval_script"])?,
        log_parser: fields.take_word(&["log_parser"])?,
        eval_timeout: fields.take_seconds(&["eval_timeout", "eval_timeout_seconds"])?,
        extra: Map::new(),
    };
    let extra = fields.take_rest();
    Ok((instance, AnswerKey { extra, ..answer }))
}

fn digest(map: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(map.clone());
    sorted.sort_all_objects();
    schema::hex(&Sha256::digest(sorted.to_string()))
}

/// A version that was written as a number keeps its digits: 4.10 is not 4.1.
fn keep_number_as_written(map: &mut Map<String, Value>, text: &str) {
    #[derive(serde::Deserialize)]
    struct Version<'a> {
        #[serde(borrow)]
        version: &'a RawValue,
    }

    if let Some(version @ Value::Number(_)) = map.get_mut("version")
        && let Ok(written) = serde_json::from_str::<Version<'_>>(text)
    {
        *version = Value::String(written.version.get().to_owned());
    }
}
