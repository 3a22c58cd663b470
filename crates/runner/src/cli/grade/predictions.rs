//! Predictions files: JSON Lines, a JSON array, or an object by instance id.

use std::path::Path;

use schema::{InstanceId, Prediction};
use serde_json::{Map, Value};

use crate::cli::error::Error;

/// Reads all predictions of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Prediction>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        what: "the predictions",
        path: path.to_owned(),
        source,
    })?;
    let wrong = |problem: String| {
        Error::usage(
            format!("`{}`: {problem}", path.display()),
            "each prediction is an object with `instance_id`, `model_name_or_path` and `model_patch`",
        )
    };
    let predictions = parse(&text).map_err(wrong)?;
    if predictions.is_empty() {
        return Err(wrong("there are no predictions in it".to_owned()));
    }
    Ok(predictions)
}

/// The model that all of them are by.
pub(super) fn model(path: &Path, predictions: &[Prediction]) -> Result<String, Error> {
    let mut names: Vec<&str> = predictions
        .iter()
        .map(|prediction| prediction.model_name_or_path.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [name] => Ok((*name).to_owned()),
        _ => Err(Error::usage(
            format!(
                "`{}` holds predictions of several models: {}",
                path.display(),
                names.join(", ")
            ),
            "grade one file for each model",
        )),
    }
}

fn parse(text: &str) -> Result<Vec<Prediction>, String> {
    let text = text.trim_start_matches('\u{feff}');
    // One value is an array, an object by id, or a file with a single line; more are lines.
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                prediction(item, None)
                    .map_err(|problem| format!("prediction {}: {problem}", index + 1))
            })
            .collect(),
        Ok(Value::Object(map)) if map.contains_key("instance_id") => {
            Ok(vec![prediction(Value::Object(map), None)?])
        }
        Ok(Value::Object(map)) => map
            .into_iter()
            .map(|(id, item)| {
                prediction(item, Some(&id))
                    .map_err(|problem| format!("prediction {id:?}: {problem}"))
            })
            .collect(),
        Ok(_) => Err("not predictions".to_owned()),
        Err(_) => lines(text),
    }
}

fn lines(text: &str) -> Result<Vec<Prediction>, String> {
    let numbered = text.lines().enumerate();
    numbered
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line)
                .map_err(|error| error.to_string())
                .and_then(|item| prediction(item, None))
                .map_err(|problem| format!("line {}: {problem}", index + 1))
        })
        .collect()
}

/// One prediction. A patch of `null` is an empty one; fields that other tools add are left alone.
fn prediction(item: Value, id: Option<&str>) -> Result<Prediction, String> {
    let Value::Object(map) = item else {
        return Err("not an object".to_owned());
    };
    let instance_id = match (text(&map, "instance_id")?, id) {
        (Some(id), _) => id,
        (None, Some(id)) => id.to_owned(),
        (None, None) => return Err("it has no `instance_id`".to_owned()),
    };
    if !map.contains_key("model_patch") {
        return Err("it has no `model_patch`".to_owned());
    }
    Ok(Prediction {
        instance_id: InstanceId::new(instance_id),
        model_name_or_path: text(&map, "model_name_or_path")?.unwrap_or_default(),
        model_patch: text(&map, "model_patch")?.unwrap_or_default(),
    })
}

fn text(map: &Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{field}` is not text")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    const ONE: &str = r#"{"instance_id": "a", "model_name_or_path": "m", "model_patch": "p"}"#;
    const TWO: &str = r#"{"instance_id": "b", "model_patch": null, "cost": 3}"#;

    #[test]
    fn all_three_shapes_are_read() {
        let shapes = [
            format!("{ONE}\n\n{TWO}\n"),
            format!("\u{feff}[{ONE}, {TWO}]"),
            format!(r#"{{"a": {ONE}, "b": {{"model_patch": ""}}}}"#),
        ];
        for shape in shapes {
            let read = parse(&shape).unwrap();
            let ids: Vec<_> = read.iter().map(|one| one.instance_id.as_str()).collect();
            assert_eq!(ids, ["a", "b"], "{shape}");
            assert_eq!(read[1].model_patch, "");
        }
        assert_eq!(parse(ONE).unwrap().len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let broken = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            broken(&format!("{ONE}\n{{\"x\": 1}}")),
            "line 2: it has no `instance_id`"
        );
        assert_eq!(
            broken(r#"[{"instance_id": "a"}]"#),
            "prediction 1: it has no `model_patch`"
        );
        assert_eq!(broken(r#"{"a": 3}"#), "prediction \"a\": not an object");
        assert!(broken("{\"a\":\n").starts_with("line 1: EOF"));
        let number = r#"{"instance_id": "a", "model_patch": 3}"#;
        assert_eq!(broken(number), "`model_patch` is not text");
    }
}
