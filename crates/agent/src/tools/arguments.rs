//! Reading the arguments of a call: what models mean although they wrote it a little wrong.
//!
//! Leniency ends where two readings are possible. Whatever is not understood is said back to the model, all of it at once.

use serde_json::{Map, Value};

/// Why the arguments are no JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// The text ends in the middle of a value.
    Truncated,
    /// It is not JSON.
    Malformed(String),
    /// It is JSON of another type.
    NotAnObject(&'static str),
}

/// Parses the text of the arguments into an object.
///
/// Nothing at all and `null` are an empty object; an object inside a JSON string is unwrapped; raw line feeds and tabs inside strings are
/// taken as what they are.
pub(crate) fn read(text: &str) -> Result<Map<String, Value>, Unreadable> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match parse(text)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        Value::String(inner) => match parse(&inner) {
            Ok(Value::Object(map)) => Ok(map),
            Ok(_) => Err(Unreadable::NotAnObject("a string")),
            Err(_) if !inner.trim_start().starts_with('{') => {
                Err(Unreadable::NotAnObject("a string"))
            }
            Err(error) => Err(error),
        },
        other @ (Value::Array(_) | Value::Bool(_) | Value::Number(_)) => {
            Err(Unreadable::NotAnObject(type_name(&other)))
        }
    }
}

fn parse(text: &str) -> Result<Value, Unreadable> {
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if error.is_eof() {
        return Err(Unreadable::Truncated);
    }
    match serde_json::from_str(&escape_control_characters(text)) {
        Ok(value) => Ok(value),
        Err(second) if second.is_eof() => Err(Unreadable::Truncated),
        Err(_) => Err(Unreadable::Malformed(error.to_string())),
    }
}

/// Escapes control characters that stand raw inside JSON strings.
fn escape_control_characters(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let (mut in_string, mut after_backslash) = (false, false);
    for c in text.chars() {
        match c {
            '\n' if in_string && !after_backslash => escaped.push_str("\\n"),
            '\r' if in_string && !after_backslash => escaped.push_str("\\r"),
            '\t' if in_string && !after_backslash => escaped.push_str("\\t"),
            _ => escaped.push(c),
        }
        if c == '"' && !after_backslash {
            in_string = !in_string;
        }
        after_backslash = in_string && c == '\\' && !after_backslash;
    }
    escaped
}

/// The type of a value in words.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Takes fields out of the arguments one by one and collects what is wrong with them.
#[derive(Debug)]
pub(crate) struct Fields {
    map: Map<String, Value>,
    problems: Vec<String>,
}

impl Fields {
    /// Over an object whose nulls count as absent: some providers make models send every optional field.
    pub(crate) fn new(mut map: Map<String, Value>) -> Self {
        map.retain(|_, value| !value.is_null());
        Self {
            map,
            problems: Vec::new(),
        }
    }

    /// Notes a problem that is not one field's type.
    pub(crate) fn complain(&mut self, problem: impl Into<String>) {
        self.problems.push(problem.into());
    }

    fn missing(&mut self, name: &str) {
        self.complain(format!("`{name}` is missing"));
    }

    fn wrong(&mut self, name: &str, wanted: &str, value: &Value) {
        self.complain(format!(
            "`{name}` must be {wanted}, not {}",
            type_name(value)
        ));
    }

    /// A text. Numbers are taken as their digits.
    pub(crate) fn optional_text(&mut self, name: &str) -> Option<String> {
        match self.map.remove(name)? {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            value @ (Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                self.wrong(name, "a string", &value);
                None
            }
        }
    }

    /// A text that must be there.
    pub(crate) fn text(&mut self, name: &str) -> String {
        if !self.map.contains_key(name) {
            self.missing(name);
        }
        self.optional_text(name).unwrap_or_default()
    }

    /// A text for the shell or the file system: no NUL.
    pub(crate) fn plain_text(&mut self, name: &str) -> String {
        let text = self.text(name);
        self.refuse_nul(name, &text);
        text
    }

    /// As [`Self::plain_text`], but it may be absent.
    pub(crate) fn optional_plain_text(&mut self, name: &str) -> Option<String> {
        let text = self.optional_text(name)?;
        self.refuse_nul(name, &text);
        Some(text)
    }

    fn refuse_nul(&mut self, name: &str, text: &str) {
        if text.contains('\0') {
            self.complain(format!("`{name}` holds a NUL character, which cannot be passed on; write it as an escape instead"));
        }
    }

    /// A whole number that is not negative. Digits in a string and `3.0` are taken as numbers.
    pub(crate) fn optional_whole(&mut self, name: &str) -> Option<u64> {
        let value = self.map.remove(name)?;
        let whole = whole(&value).and_then(|number| u64::try_from(number).ok());
        if whole.is_none() {
            self.wrong_number(name, "a whole number of at least 0", &value);
        }
        whole
    }

    /// A whole number that must be there.
    pub(crate) fn whole(&mut self, name: &str) -> u64 {
        if !self.map.contains_key(name) {
            self.missing(name);
        }
        self.optional_whole(name).unwrap_or_default()
    }

    /// A positive number.
    pub(crate) fn optional_positive(&mut self, name: &str) -> Option<f64> {
        let value = self.map.remove(name)?;
        let number = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(digits) => digits.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
        if number.is_none() {
            self.wrong_number(name, "a number above 0", &value);
        }
        number
    }

    fn wrong_number(&mut self, name: &str, wanted: &str, value: &Value) {
        match value {
            Value::Number(number) => {
                self.complain(format!("`{name}` must be {wanted}, not {number}"));
            }
            Value::Null
            | Value::Bool(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => self.wrong(name, wanted, value),
        }
    }

    /// A truth value. `"true"` and `"false"` are taken as what they say.
    pub(crate) fn optional_flag(&mut self, name: &str) -> Option<bool> {
        let value = self.map.remove(name)?;
        let flag = match &value {
            Value::Bool(flag) => Some(*flag),
            Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            },
            Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if flag.is_none() {
            self.wrong(name, "true or false", &value);
        }
        flag
    }

    /// A truth value that must be there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        if !self.map.contains_key(name) {
            self.missing(name);
        }
        self.optional_flag(name).unwrap_or_default()
    }

    /// Two whole numbers. An array in a string is taken as the array.
    pub(crate) fn optional_pair(&mut self, name: &str) -> Option<(i64, i64)> {
        let value = self.map.remove(name)?;
        let unwrapped = match &value {
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => value.clone(),
        };
        let pair = match unwrapped.as_array().map(Vec::as_slice) {
            Some([first, last]) => whole(first).zip(whole(last)),
            Some(_) | None => None,
        };
        if pair.is_none() {
            self.complain(format!(
                "`{name}` must be an array of two whole numbers, such as [11, 40] or [11, -1]"
            ));
        }
        pair
    }

    /// Ends the reading: fields that are left are unknown.
    pub(crate) fn finish(mut self, known: &[&str]) -> Vec<String> {
        for name in self.map.keys() {
            let near = nearest(name, known);
            self.problems.push(match near {
                Some(near) => format!("`{name}` is not known (did you mean `{near}`?)"),
                None => format!("`{name}` is not known"),
            });
        }
        self.problems
    }

    /// Drops a field whatever it holds.
    pub(crate) fn ignore(&mut self, name: &str) {
        self.map.remove(name);
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            // Exact in both directions below 2^53; no line or time-out is larger.
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whole and in range as checked"
            )]
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
        Value::String(digits) => digits.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The known name most like `name`, when one is like it at all.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(name);
    known
        .iter()
        .map(|known| (strsim::jaro_winkler(&wanted, &plain(known)), *known))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<String>, Unreadable> {
        read(text).map(|map| map.keys().cloned().collect())
    }

    #[test]
    fn nothing_is_an_empty_object() {
        for text in ["", "  \n", "null", "{}", "\"{}\""] {
            assert_eq!(keys(text), Ok(vec![]), "{text:?}");
        }
    }

    #[test]
    fn an_object_in_a_string_is_unwrapped() {
        assert_eq!(
            keys(r#""{\"command\": \"ls\"}""#),
            Ok(vec!["command".into()])
        );
    }

    #[test]
    fn raw_line_feeds_in_strings_are_kept() {
        let map = read("{\"command\": \"a\n\tb\\\"\n\"}").unwrap();
        assert_eq!(map["command"], "a\n\tb\"\n");
    }

    #[test]
    fn cut_text_is_told_from_wrong_text() {
        for text in [
            "{",
            r#"{"command": "ls"#,
            r#"{"command": "#,
            r#""{\"command\": \"l""#,
        ] {
            assert_eq!(keys(text), Err(Unreadable::Truncated), "{text}");
        }
        for text in [
            "ls -la",
            "{'command': 1}",
            "{\"a\": 1}}",
            "{\"a\": 1}{\"a\": 1}",
        ] {
            assert!(
                matches!(keys(text), Err(Unreadable::Malformed(_))),
                "{text}"
            );
        }
        for text in ["[1]", "3", "true", "\"ls\""] {
            assert!(
                matches!(keys(text), Err(Unreadable::NotAnObject(_))),
                "{text}"
            );
        }
    }

    #[test]
    fn near_names_are_found_whatever_their_punctuation() {
        let known = ["bash", "str_replace_based_edit_tool", "task_done"];
        assert_eq!(nearest("Bash", &known), Some("bash"));
        assert_eq!(nearest("taskDone", &known), Some("task_done"));
        assert_eq!(
            nearest("str_replace_editor", &known),
            Some("str_replace_based_edit_tool")
        );
        assert_eq!(nearest("browser", &known), None);
    }
}
