//! How a file holds its predictions.

use serde_json::Value;

use super::Given;
use super::document::{self, Document};
use super::item::{self, Item};

/// How a file holds its predictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One object a line: SWE-bench, SWE-agent's `all_preds.jsonl`, Multi-SWE-bench.
    Lines,
    /// A list of objects: SWE-bench, SWE-bench Pro.
    List,
    /// An object by instance id: mini-swe-agent's `preds.json`, SWE-bench-Live.
    ById,
    /// One object alone: a `.pred` file of SWE-agent.
    Single,
    /// The known patches of the dataset.
    Gold,
}

impl Shape {
    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "JSON Lines",
            Self::List => "a JSON list",
            Self::ById => "a JSON object by id",
            Self::Single => "one JSON object",
            Self::Gold => "the dataset's known patches",
        }
    }
}

/// Takes a text apart.
pub(super) fn parse(text: &str) -> Result<(Shape, Vec<Given>), String> {
    let text = text.trim_start_matches('\u{feff}');
    // One value is a list, an object by id, or a file with a single line; more are lines.
    match Document::parse(text) {
        Ok(Document::List(items)) => {
            let given = items.into_iter().enumerate().map(|(index, item)| {
                let place = format!("prediction {}", index + 1);
                read(item, None, place)
            });
            Ok((Shape::List, given.collect::<Result<_, _>>()?))
        }
        Ok(Document::Object(members)) if item::is_prediction(&members) => {
            let item = Value::Object(document::map_of(members));
            let given = read(item, None, "the prediction".to_owned())?;
            Ok((Shape::Single, vec![given]))
        }
        Ok(Document::Object(members)) => {
            if let Some(what) = item::other_file(&members) {
                return Err(format!("it is {what}, not predictions"));
            }
            let given = members.into_iter().map(|(id, item)| {
                let place = format!("prediction {id:?}");
                read(item, Some(&id), place)
            });
            Ok((Shape::ById, given.collect::<Result<_, _>>()?))
        }
        Ok(Document::Plain) => Err("it holds no predictions".to_owned()),
        Err(whole) => lines(text, &whole),
    }
}

fn lines(text: &str, whole: &serde_json::Error) -> Result<(Shape, Vec<Given>), String> {
    let first = text.trim_start().chars().next();
    let single = text.lines().filter(|line| !line.trim().is_empty()).count() < 2;
    if first == Some('[') || (single && first.is_some()) {
        return Err(format!("line {}: {whole}", whole.line()));
    }
    let numbered = text.lines().enumerate();
    let given = numbered
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let place = format!("line {}", index + 1);
            match serde_json::from_str(line) {
                Ok(item) => read(item, None, place),
                Err(error) => Err(format!("{place}: {error}")),
            }
        });
    Ok((Shape::Lines, given.collect::<Result<_, _>>()?))
}

fn read(item: Value, key: Option<&str>, place: String) -> Result<Given, String> {
    match item::read(item, key) {
        Ok(Item { id, model, patch }) => Ok(Given {
            id,
            model,
            patch,
            place,
        }),
        Err(problem) => Err(format!("{place}: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"instance_id": "a", "model_name_or_path": "m", "model_patch": "p"}"#;
    const TWO: &str = r#"{"instance_id": "b", "model_patch": null, "cost": 3}"#;

    type Short = (String, Option<String>, Option<String>);

    fn short(text: &str) -> (Shape, Vec<Short>) {
        let (shape, given) = parse(text).unwrap();
        let given = given
            .into_iter()
            .map(|one| (one.id.to_string(), one.model, one.patch));
        (shape, given.collect())
    }

    fn made(id: &str, model: Option<&str>, patch: Option<&str>) -> Short {
        (
            id.to_owned(),
            model.map(str::to_owned),
            patch.map(str::to_owned),
        )
    }

    #[test]
    fn every_shape_is_read() {
        let both = vec![made("a", Some("m"), Some("p")), made("b", None, None)];
        assert_eq!(
            short(&format!("{ONE}\n\n{TWO}\n")),
            (Shape::Lines, both.clone())
        );
        assert_eq!(
            short(&format!("{ONE}\r\n{TWO}")),
            (Shape::Lines, both.clone())
        );
        assert_eq!(
            short(&format!("\u{feff}[{ONE}, {TWO}]")),
            (Shape::List, both.clone())
        );
        let by_id = format!(r#"{{"a": {ONE}, "b": {{"model_patch": null}}}}"#);
        assert_eq!(short(&by_id), (Shape::ById, both));
        assert_eq!(
            short(ONE),
            (Shape::Single, vec![made("a", Some("m"), Some("p"))])
        );
        let texts = r#"{"a": "p", "b": null}"#;
        let expected = vec![made("a", None, Some("p")), made("b", None, None)];
        assert_eq!(short(texts), (Shape::ById, expected));
    }

    #[test]
    fn an_id_that_stands_twice_in_an_object_is_two_predictions() {
        let twice = r#"{"a": "p", "b": "q", "a": "r"}"#;
        let expected = [("a", "p"), ("b", "q"), ("a", "r")];
        let expected = expected.map(|(id, patch)| made(id, None, Some(patch)));
        assert_eq!(short(twice), (Shape::ById, expected.to_vec()));
    }

    #[test]
    fn other_benchmarks_spellings_are_read() {
        let pro = r#"[{"instance_id": "a", "patch": "p", "prefix": "m"}]"#;
        assert_eq!(short(pro).1, [made("a", Some("m"), Some("p"))]);
        let both = r#"[{"instance_id": "a", "patch": "no", "model_patch": "p"}]"#;
        assert_eq!(short(both).1, [made("a", None, Some("p"))]);
        for number in ["7", "\"7\""] {
            let multi =
                format!(r#"{{"org": "o", "repo": "r", "number": {number}, "fix_patch": "p"}}"#);
            assert_eq!(short(&multi).1, [made("o__r-7", None, Some("p"))]);
            assert_eq!(short(&format!("{multi}\n{multi}")).0, Shape::Lines);
        }
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
        assert_eq!(
            broken(r#"{"a": 3}"#),
            "prediction \"a\": it is a number, not an object"
        );
        assert!(broken("{\"a\":\n").starts_with("line 2: EOF"));
        assert!(broken("[{\"a\":\n1},,]").starts_with("line 2: "));
        let number = r#"{"instance_id": "a", "model_patch": 3}"#;
        assert_eq!(
            broken(number),
            "the prediction: `model_patch` is a number, not text"
        );
        let key = r#"{"a": {"instance_id": "b", "model_patch": "p"}}"#;
        assert_eq!(broken(key), "prediction \"a\": its `instance_id` is \"b\"");
        let row = r#"{"instance_id": "a", "problem_statement": "x", "patch": "p"}"#;
        assert_eq!(
            broken(row),
            "the prediction: it is a row of a dataset, not a prediction"
        );
        let summary = r#"{"total_instances": 3, "resolved_ids": []}"#;
        assert_eq!(broken(summary), "it is a summary of a run, not predictions");
        let report = r#"{"a": {"patch_exists": true, "resolved": true}}"#;
        assert_eq!(
            broken(report),
            "it is a report of one instance, not predictions"
        );
        assert_eq!(broken("3"), "it holds no predictions");
        assert!(parse("").unwrap().1.is_empty());
    }
}
