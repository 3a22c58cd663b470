//! A JSON document with the members of its outermost object as they are written: a name may occur twice there, and none may get lost.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON document.
#[derive(Debug, PartialEq)]
pub(super) enum Document {
    /// An object, with its members in order.
    Object(Vec<(String, Value)>),
    /// A list.
    List(Vec<Value>),
    /// Text, a number, `true`, `false` or `null`.
    Plain,
}

impl Document {
    /// Reads a whole text.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The members as a map, in which the last one of a name counts.
pub(super) fn map_of(members: Vec<(String, Value)>) -> Map<String, Value> {
    members.into_iter().collect()
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Document;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Document, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Document::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Document, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Document::List(items))
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Plain)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Document, E> {
        Ok(Document::Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Document, E> {
        Ok(Document::Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Document, E> {
        Ok(Document::Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Document, E> {
        Ok(Document::Plain)
    }

    fn visit_str<E>(self, _: &str) -> Result<Document, E> {
        Ok(Document::Plain)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_member_gets_lost() {
        let members = |text: &str| Document::parse(text).unwrap();
        assert_eq!(
            members(r#"{"a": 1, "b": {}, "a": 2}"#),
            Document::Object(vec![
                ("a".to_owned(), json!(1)),
                ("b".to_owned(), json!({})),
                ("a".to_owned(), json!(2)),
            ])
        );
        assert_eq!(
            members("[1, null]"),
            Document::List(vec![json!(1), json!(null)])
        );
        for plain in ["null", "true", "-1", "1", "1.5", "\"a\"", "\"\\n\""] {
            assert_eq!(members(plain), Document::Plain, "{plain}");
        }
        assert!(Document::parse("{} {}").is_err());
    }
}
