//! Files that are one JSON object, or several spread over many lines: a single row, rows keyed by id, a list under one key, splits.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{BufRead, Read};

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::array::Elements;
use crate::error::Error;
use crate::location::Location;
use crate::position::Position;
use crate::source::{Place, RawRow};
use crate::syntax;
use crate::{layout, row};

/// Bytes that such a file may have: it is held as a whole. Large datasets come as arrays or as lines, which are not.
const MAX_DOCUMENT_BYTES: u64 = 1 << 30;

/// The rows of the document in `input`, which starts at `start`.
pub(crate) fn rows(
    input: impl BufRead,
    place: &Place,
    start: Position,
    split: Option<&str>,
) -> Result<Vec<RawRow>, Error> {
    let mut bytes = Vec::new();
    input
        .take(MAX_DOCUMENT_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| place.read(source))?;
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(Error::HugeRow {
            path: place.path.clone(),
            at: Location::Line(start.line),
            limit: 1 << 30,
        });
    }
    let document = Document {
        text: syntax::utf8(&place.path, start, &bytes)?,
        start,
        found: Cell::new((0, start)),
        place,
    };
    let values = document.values()?;
    match values.as_slice() {
        [only] => document.members(only, split),
        _ => values
            .into_iter()
            .map(|value| document.row(value, None))
            .collect(),
    }
}

struct Document<'a> {
    text: &'a str,
    start: Position,
    /// Offset and position of the value that was looked for last: values come in their order, so each byte is counted once.
    found: Cell<(usize, Position)>,
    place: &'a Place,
}

impl<'a> Document<'a> {
    fn values(&self) -> Result<Vec<&'a RawValue>, Error> {
        serde_json::Deserializer::from_str(self.text)
            .into_iter::<&RawValue>()
            .map(|value| {
                value.map_err(|error| {
                    syntax::malformed(&self.place.path, self.start, self.text, &error)
                })
            })
            .collect()
    }

    /// Rows inside the one object of the file.
    fn members(&self, object: &'a RawValue, split: Option<&str>) -> Result<Vec<RawRow>, Error> {
        let whole = || self.row(object, None).map(|row| vec![row]);
        let Ok(Members(members)) = serde_json::from_str::<Members<'a>>(object.get()) else {
            return whole();
        };
        if row::is_row(members.iter().map(|(key, _)| key.as_str())) {
            return whole();
        }
        if !members.is_empty()
            && members
                .iter()
                .all(|(_, value)| value.get().starts_with('{'))
        {
            return members
                .into_iter()
                .map(|(key, value)| self.row(value, Some(key)))
                .collect();
        }
        let lists: Vec<_> = members
            .iter()
            .filter(|(_, value)| is_list_of_objects(value))
            .collect();
        if lists.is_empty() {
            return whole();
        }
        let names: BTreeSet<&str> = lists.iter().map(|(key, _)| key.as_str()).collect();
        let name = layout::pick_split(&names, split);
        let Some((_, chosen)) = lists.iter().find(|(key, _)| Some(key.as_str()) == name) else {
            return Err(Error::Split {
                path: self.place.path.clone(),
                splits: lists.iter().map(|(key, _)| key.clone()).collect(),
                wanted: split.map(str::to_owned),
            });
        };
        let place = Place {
            path: self.place.path.clone(),
            limit: self.place.limit,
        };
        Elements::new(chosen.get().as_bytes(), place, self.position(chosen)).collect()
    }

    fn row(&self, value: &RawValue, key: Option<String>) -> Result<RawRow, Error> {
        let start = self.position(value);
        if value.get().len() > self.place.limit {
            return Err(self.place.huge(Location::Line(start.line)));
        }
        let bytes = value.get().as_bytes().to_vec();
        Ok(RawRow::text(start, bytes, key))
    }

    /// Where a value of this document starts.
    fn position(&self, value: &RawValue) -> Position {
        let offset = (value.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let (mut from, mut position) = self.found.get();
        if offset < from {
            (from, position) = (0, self.start);
        }
        let between = self.text.as_bytes().get(from..offset).unwrap_or_default();
        let position = position.after(between);
        self.found.set((offset, position));
        position
    }
}

fn is_list_of_objects(value: &RawValue) -> bool {
    value
        .get()
        .strip_prefix('[')
        .is_some_and(|rest| rest.trim_start().starts_with(['{', ']']))
}

/// The members of an object, in their order, values untouched.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
