//! One row: from its text to what is asked and what only the grader may know.

use std::path::Path;

use schema::{AnswerKey, Instance, InstanceId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::fields::Fields;
use crate::location::Location;
use crate::position::Position;
use crate::source::{Content, RawRow};
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
    /// Where the row stands in its file.
    pub at: Location,
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

impl Row {
    /// The row that these fields of the file at `path` make, which need not say what is asked.
    ///
    /// # Errors
    /// They are not what a row must be.
    pub fn of_fields(path: &Path, fields: Map<String, Value>) -> Result<Self, Error> {
        read(path, RawRow::object(Location::Line(1), fields), false)
    }
}

/// Bytes of a text in a field without a type that may tell where the work happens.
const SHORT: usize = 1000;

impl Row {
    /// The row as far as solving it goes: of what only a grader looks at there is nothing left but the names of the fields, and the tests that
    /// a change at the start is about.
    #[must_use]
    pub fn to_solve(self) -> Self {
        let answer = self.answer;
        let tests = |tests: Vec<String>| match &answer.start_patch {
            Some(_) => tests,
            None => Vec::new(),
        };
        let extra = answer.extra.into_iter();
        Self {
            answer: AnswerKey {
                fail_to_pass: tests(answer.fail_to_pass),
                pass_to_pass: tests(answer.pass_to_pass),
                extra: extra
                    .map(|(name, value)| (name, shortened(value)))
                    .collect(),
                start_patch: answer.start_patch,
                ..AnswerKey::default()
            },
            ..self
        }
    }
}

/// A value that says where the work happens, else only that there is one.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) if text.len() > SHORT => Value::Bool(true),
        Value::Array(_) | Value::Object(_) => Value::Bool(true),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Reads one row of the file at `path`.
pub(crate) fn read(path: &Path, raw: RawRow, needs_statement: bool) -> Result<Row, Error> {
    let RawRow { at, content, key } = raw;
    let (mut map, version) = match content {
        Content::Text { start, bytes } => parse(path, at, start, &bytes)?,
        Content::Object(map) => (map, None),
    };
    if let Some(key) = key {
        map.entry("instance_id").or_insert(Value::String(key));
    }
    let sha256 = digest(&map);
    if let Some(number @ Value::Number(_)) = map.get_mut("version") {
        let written = version.unwrap_or_else(|| number.to_string());
        *number = Value::String(written);
    }
    let mut fields = Fields::new(path, at, map);
    let image_field = IMAGE
        .iter()
        .find(|name| fields.get(name).is_some())
        .copied();
    let (instance, answer) = typed(&mut fields, needs_statement)?;
    Ok(Row {
        instance,
        answer,
        image_field,
        sha256,
        at,
    })
}

/// The object that this text is, and its version as it is written there.
fn parse(
    path: &Path,
    at: Location,
    start: Position,
    bytes: &[u8],
) -> Result<(Map<String, Value>, Option<String>), Error> {
    let text = syntax::utf8(path, start, bytes)?;
    match serde_json::from_str(text) {
        Ok(Unique(Value::Object(map))) => {
            let version = map.get("version").is_some_and(Value::is_number);
            let written = version.then(|| written_version(text)).flatten();
            Ok((map, written))
        }
        Ok(Unique(_)) => Err(Error::NotARow {
            path: path.into(),
            at,
            found: crate::array::kind_of(bytes.first().copied().unwrap_or_default()),
        }),
        Err(error) => Err(syntax::malformed(path, start, text, &error)),
    }
}

/// Takes the typed fields; what is left goes to the answer key as it came.
fn typed(fields: &mut Fields<'_>, needs_statement: bool) -> Result<(Instance, AnswerKey), Error> {
    variant::normalise(fields)?;
    let patch_names = variant::patch_names(fields);
    let id = fields.take_id(&["instance_id"])?;
    let statement = match variant::statement(fields)? {
        None if needs_statement => return Err(fields.missing("problem_statement")),
        statement => statement.unwrap_or_default(),
    };
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
        patch: fields.take_text(patch_names.fix)?,
        start_patch: fields.take_text(patch_names.start)?,
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
fn written_version(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Version<'a> {
        #[serde(borrow)]
        version: &'a RawValue,
    }

    let found = serde_json::from_str::<Version<'_>>(text).ok()?;
    Some(found.version.get().to_owned())
}
