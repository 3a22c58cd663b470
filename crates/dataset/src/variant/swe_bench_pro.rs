//! SWE-bench Pro.

use std::io::Read;

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// Bytes of a script; published ones have at most some thousand.
const MAX_SCRIPT_BYTES: u64 = 1 << 20;

/// SWE-bench Pro: the scripts that run and read the tests of a row are not in the dataset but in its repository, as `run_scripts/<id>/`. Where
/// that directory lies beside the dataset, they are the row's.
pub(super) fn normalise(fields: &mut Fields<'_>) -> Result<(), Error> {
    for (name, other, file) in [
        ("run_script", "run_script.sh", "run_script.sh"),
        ("parser_script", "parsing_script", "parser.py"),
    ] {
        if fields.get(name).is_some() {
            continue;
        }
        if let Some(text) = fields.get(other).and_then(Value::as_str) {
            let text = text.to_owned();
            fields.set(name, Value::String(text));
        } else if let Some(text) = beside(fields, file)? {
            fields.set(name, Value::String(text));
        }
    }
    Ok(())
}

fn beside(fields: &Fields<'_>, file: &str) -> Result<Option<String>, Error> {
    let id = fields.get("instance_id").and_then(Value::as_str);
    let Some(id) = id.filter(|id| id.starts_with("instance_") && !id.contains(['/', '\\'])) else {
        return Ok(None);
    };
    let path = fields.directory().join("run_scripts").join(id).join(file);
    let read = std::fs::File::open(&path).and_then(|script| {
        let mut text = String::new();
        script
            .take(MAX_SCRIPT_BYTES + 1)
            .read_to_string(&mut text)?;
        Ok(text)
    });
    match read {
        Ok(text) if text.len() as u64 <= MAX_SCRIPT_BYTES => Ok(Some(text)),
        Ok(_) => Err(fields.bad(
            "run_script",
            format!(
                "in {} has more than {MAX_SCRIPT_BYTES} bytes",
                path.display()
            ),
        )),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fields.bad(
            "run_script",
            format!("in {} cannot be read: {error}", path.display()),
        )),
    }
}
