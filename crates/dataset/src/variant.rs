//! Rows that spell their fields in their own way, made to look like the others. What is renamed here is also kept as it came, unless a typed
//! field holds all of it.

mod multi_swe_bench;
mod r2e_gym;
mod statement;
mod swe_bench_pro;

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

pub(crate) use statement::statement;

/// Brings the variants to the common names.
pub(crate) fn normalise(fields: &mut Fields<'_>) -> Result<(), Error> {
    multi_swe_bench::normalise(fields)?;
    r2e_gym::normalise(fields)?;
    swe_bench_pro::normalise(fields)?;
    for name in COMMANDS {
        decode_list(fields, name)?;
    }
    decode_object(fields, "install_config")
}

/// Fields with lists of commands, or of files that commands get. Where they are text that holds a list, they become the list: what runs them
/// reads no Python.
const COMMANDS: [&str; 4] = [
    "test_cmds",
    "rebuild_cmds",
    "print_cmds",
    "selected_test_files_to_run",
];

fn decode_list(fields: &mut Fields<'_>, name: &str) -> Result<(), Error> {
    let list = match fields.get(name) {
        Some(value @ Value::String(text)) if text.trim_start().starts_with(['[', '(']) => {
            crate::list::read(value).map_err(|problem| fields.bad(name, problem))?
        }
        _ => return Ok(()),
    };
    fields.set(name, list.into_iter().map(Value::String).collect());
    Ok(())
}

fn decode_object(fields: &mut Fields<'_>, name: &str) -> Result<(), Error> {
    let object = match fields.get(name) {
        Some(Value::String(text)) if text.trim_start().starts_with('{') => {
            serde_json::from_str(text)
                .map_err(|error| fields.bad(name, format!("is text that is not JSON: {error}")))?
        }
        _ => return Ok(()),
    };
    fields.set(name, object);
    Ok(())
}

/// Fields that may hold patches.
pub(crate) struct PatchNames {
    /// The known fix.
    pub(crate) fix: &'static [&'static str],
    /// What is done before anybody works.
    pub(crate) start: &'static [&'static str],
}

/// Which fields hold which patch. In SWE-smith `patch` brings the bug in.
pub(crate) fn patch_names(fields: &Fields<'_>) -> PatchNames {
    let repo = fields.get("repo").and_then(Value::as_str);
    if repo.is_some_and(|repo| repo.starts_with("swesmith/")) {
        return PatchNames {
            fix: &["gold_patch", "fix_patch"],
            start: &["start_patch", "patch"],
        };
    }
    PatchNames {
        fix: &["patch", "gold_patch", "fix_patch"],
        start: &["start_patch"],
    }
}
