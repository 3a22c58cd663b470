//! Lists of names, in every encoding that the datasets use.

use serde_json::{Map, Value};

use crate::fields::kind;
use crate::python;

/// Reads a list of names: a JSON list, text that holds a JSON or a Python list, text with one name a line, or an object, whose keys are the names.
/// The error is the end of a sentence that starts with the field.
pub(crate) fn read(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| name(index, item))
            .collect(),
        Value::Object(members) => from_object(members),
        Value::String(text) => from_text(text),
        Value::Bool(_) | Value::Number(_) => {
            Err(format!("must be a list of names, not {}", kind(value)))
        }
    }
}

/// Multi-SWE-bench has an object with a member for each test. Tables that were written as JSON may hold a list as an object: with its items under
/// their numbers, or under the one name that Parquet gives them.
fn from_object(members: &Map<String, Value>) -> Result<Vec<String>, String> {
    let numbered = |(at, (key, value)): (usize, (&String, &Value))| {
        value.is_string() && *key == at.to_string()
    };
    if members.iter().enumerate().all(numbered) {
        let items = members.values().enumerate();
        return items.map(|(index, item)| name(index, item)).collect();
    }
    let mut only = members.iter();
    if let (Some((key, Value::Array(items))), None) = (only.next(), only.next())
        && ["list", "array", "bag", "items", "elements"].contains(&key.as_str())
    {
        let items = items.iter().map(unwrapped).enumerate();
        return items.map(|(index, item)| name(index, item)).collect();
    }
    Ok(members.keys().cloned().collect())
}

/// `{"element": "a"}` is `"a"`.
fn unwrapped(item: &Value) -> &Value {
    let Value::Object(members) = item else {
        return item;
    };
    let mut only = members.iter();
    match (only.next(), only.next()) {
        (Some((key, value)), None)
            if ["element", "item", "array_element"].contains(&key.as_str()) =>
        {
            value
        }
        _ => item,
    }
}

fn name(index: usize, item: &Value) -> Result<String, String> {
    match item {
        Value::String(name) => Ok(name.clone()),
        other => Err(format!(
            "must be a list of names, but item {} is {}",
            index + 1,
            kind(other)
        )),
    }
}

fn from_text(text: &str) -> Result<Vec<String>, String> {
    let trimmed = text.trim();
    if let Some(list) = printed_array(trimmed) {
        return from_text(list);
    }
    if !trimmed.starts_with(['[', '{', '(', '"']) {
        return Ok(one_a_line(trimmed));
    }
    let json = match serde_json::from_str(trimmed) {
        // Encoded twice: text that holds text that holds the list.
        Ok(Value::String(inner)) if inner.trim_start().starts_with(['[', '{', '(']) => {
            return from_text(&inner);
        }
        Ok(Value::String(one)) => return Ok(vec![one]),
        Ok(value) => return read(&value),
        Err(error) => error,
    };
    python::list(trimmed).map_err(|python| {
        format!("is text that is neither a JSON list ({json}) nor a Python list ({python})")
    })
}

/// The list in `array([…], dtype=object)`, as `NumPy` prints it inside of other things.
fn printed_array(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("array(")?.strip_suffix(')')?;
    let end = inside.rfind(']')?;
    let rest = inside.get(end + 1..)?.trim();
    (rest.is_empty()
        || rest
            .trim_start_matches(',')
            .trim_start()
            .starts_with("dtype="))
    .then(|| inside.get(..=end))?
}

fn one_a_line(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.trim_end_matches('\r'))
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(value: &Value) -> Vec<String> {
        read(value).unwrap()
    }

    #[test]
    fn every_encoding_gives_the_same_names() {
        let expected = vec!["a.py::t[x y]".to_owned(), "b's".to_owned()];
        for value in [
            json!(["a.py::t[x y]", "b's"]),
            json!("[\"a.py::t[x y]\", \"b's\"]"),
            json!("['a.py::t[x y]', \"b's\"]"),
            json!("('a.py::t[x y]', 'b\\'s')"),
            json!("['a.py::t[x y]'\n \"b's\"]"),
            json!("\"[\\\"a.py::t[x y]\\\", \\\"b's\\\"]\""),
            json!("a.py::t[x y]\r\nb's\n"),
            json!({"a.py::t[x y]": {"run": "PASS"}, "b's": {}}),
            json!("array(['a.py::t[x y]', \"b's\"], dtype=object)"),
            json!("array(['a.py::t[x y]',\n       \"b's\"],\n      dtype='<U12')"),
            json!({"0": "a.py::t[x y]", "1": "b's"}),
            json!({"list": [{"element": "a.py::t[x y]"}, {"element": "b's"}]}),
            json!("{\"list\": [\"a.py::t[x y]\", \"b's\"]}"),
        ] {
            assert_eq!(names(&value), expected, "{value}");
        }
    }

    #[test]
    fn nothing_is_no_name() {
        for value in [
            json!(null),
            json!([]),
            json!(""),
            json!("[]"),
            json!("  \n"),
            json!({}),
            json!("()"),
        ] {
            assert!(names(&value).is_empty(), "{value}");
        }
    }

    #[test]
    fn one_name_alone_is_a_list_of_one() {
        assert_eq!(names(&json!("test_sparse_matrix")), ["test_sparse_matrix"]);
        assert_eq!(names(&json!("\"quoted\"")), ["quoted"]);
    }

    #[test]
    fn broken_lists_say_where() {
        let problem = |value| read(&value).unwrap_err();
        assert_eq!(problem(json!(3)), "must be a list of names, not a number");
        assert_eq!(
            problem(json!(["a", null])),
            "must be a list of names, but item 2 is null"
        );
        assert!(problem(json!("['a', 'b")).contains("not closed"));
        assert!(problem(json!("array(['a' ... 'b'], dtype=object)")).contains("left items out"));
        assert!(problem(json!({"list": [{"element": 3}]})).contains("item 1 is a number"));
    }
}
