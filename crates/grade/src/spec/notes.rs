//! What is particular about how a row is graded.

use serde_json::{Map, Value};

use super::{Case, SpecError, assets, row};

/// Keys of `install_config` that say how the environment is made, which nothing here does.
const ENVIRONMENT: [&str; 7] = [
    "python",
    "pre_install",
    "packages",
    "pip_packages",
    "env_yml_path",
    "reqs_path",
    "no_use_env",
];

/// One sentence each.
pub(super) fn notes(case: &Case<'_>) -> Result<Vec<String>, SpecError> {
    let mut notes = Vec::new();
    let own_script = case.answer.eval_script.as_deref().unwrap_or_default();
    if own_script.trim().is_empty() {
        let assets = assets::assets(case.answer)?.len();
        if assets > 0 {
            notes.push(format!(
                "{assets} files of the tests are fetched when it is graded: that needs a network and curl"
            ));
        }
        if let Some(config) = row::object(case.answer, "install_config")? {
            notes.extend(environment(config, case.instance.image.is_some()));
        }
    }
    Ok(notes)
}

/// What `install_config` asks for and is not done.
fn environment(config: &Map<String, Value>, image: bool) -> Option<String> {
    let says = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    };
    let asked = ENVIRONMENT
        .iter()
        .filter(|key| config.get(**key).is_some_and(says));
    let asked: Vec<String> = asked.map(|key| format!("`{key}`")).collect();
    if asked.is_empty() {
        return None;
    }
    let asked = asked.join(", ");
    Some(if image {
        format!("install_config: {asked} are taken to be done in the image")
    } else {
        format!(
            "install_config: {asked} are not done: the row names no image, and no environment is made"
        )
    })
}
