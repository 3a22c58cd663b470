//! Pictures in a problem statement.

use serde_json::Value;

use crate::error::Error;
use crate::fields::Fields;

/// Addresses of the images of a statement: those that the row lists, then those that the text shows, each once.
pub(crate) fn of_statement(fields: &Fields<'_>, statement: &str) -> Result<Vec<String>, Error> {
    let mut found = listed(fields)?;
    for address in shown(statement) {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}

/// `image_assets`: an object, or text that holds one, with a list under `problem_statement`.
fn listed(fields: &Fields<'_>) -> Result<Vec<String>, Error> {
    const FIELD: &str = "image_assets";
    let bad = |problem: &str| fields.bad(FIELD, problem.into());
    let decoded;
    let assets = match fields.get(FIELD) {
        None => return Ok(Vec::new()),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(Vec::new()),
        Some(Value::String(text)) => {
            decoded = serde_json::from_str::<Value>(text)
                .map_err(|error| fields.bad(FIELD, format!("is text that is not JSON: {error}")))?;
            &decoded
        }
        Some(value) => value,
    };
    let Value::Object(assets) = assets else {
        return Err(bad("must be an object with lists of images"));
    };
    match assets.get("problem_statement") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => entries
            .iter()
            .map(|entry| address(entry).ok_or_else(|| bad("lists an image without an address")))
            .collect(),
        Some(Value::String(one)) => Ok(vec![one.clone()]),
        Some(_) => Err(bad("must list the images of the problem statement")),
    }
}

/// An entry is an address, or an object with `url` or `path`.
fn address(entry: &Value) -> Option<String> {
    let text = match entry {
        Value::Object(members) => members.get("url").or_else(|| members.get("path"))?,
        other => other,
    };
    text.as_str().map(str::to_owned)
}

/// Addresses in Markdown images and HTML `img` tags.
fn shown(statement: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = statement;
    while let Some(at) = rest.find(['!', '<']) {
        let (_, from) = rest.split_at(at);
        let address = markdown(from).or_else(|| html(from));
        if let Some(address) = address.filter(|address| is_remote(address)) {
            found.push(address.to_owned());
        }
        rest = from.get(1..).unwrap_or_default();
    }
    found
}

fn is_remote(address: &str) -> bool {
    ["http://", "https://", "data:image/"].iter().any(|scheme| {
        address
            .get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

/// `![text](address "title")`, the text without brackets in it.
fn markdown(text: &str) -> Option<&str> {
    let inside = text.strip_prefix("![")?;
    let (alternative, after) = inside.split_once("](")?;
    if alternative.contains(['\n', '[']) {
        return None;
    }
    let after = after.trim_start().trim_start_matches('<');
    let end = after.find([')', ' ', '\n', '>', '\t'])?;
    after.get(..end).filter(|address| !address.is_empty())
}

/// `<img … src="address" …>`.
fn html(text: &str) -> Option<&str> {
    let start = text.get(..5)?;
    if !start.eq_ignore_ascii_case("<img ") && !start.eq_ignore_ascii_case("<img\n") {
        return None;
    }
    let (tag, _) = text.split_once('>')?;
    let at = tag.to_ascii_lowercase().find("src=")?;
    if !tag
        .as_bytes()
        .get(at.checked_sub(1)?)?
        .is_ascii_whitespace()
    {
        return None;
    }
    let value = tag.get(at + 4..)?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    match quote {
        Some(quote) => value
            .get(1..)?
            .split_once(quote)
            .map(|(address, _)| address),
        None => value.split_ascii_whitespace().next(),
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn markdown_and_html_images_are_found() {
        let statement = "See ![a shot](https://x.test/a.png \"title\") and\n<img width=\"6\" alt=\"a > b\" src='https://x.test/b.png'>\n\
            <IMG src=https://x.test/c.png />, a [link](https://x.test/no.png), ![](<https://x.test/d.png>), ![local](./e.png), <imgx src=\"https://x.test/f\">";
        // A `>` inside an attribute ends the tag for us: that image is missed rather than guessed.
        assert_eq!(
            shown(statement),
            [
                "https://x.test/a.png",
                "https://x.test/c.png",
                "https://x.test/d.png"
            ]
        );
    }

    #[test]
    fn no_text_confuses_it() {
        for text in [
            "!",
            "![",
            "![](",
            "![]()",
            "<img",
            "<img src",
            "<img src=",
            "<img src=\"",
            "é!é<é",
            "<img src=é>",
        ] {
            assert!(shown(text).is_empty(), "{text}");
        }
    }
}
