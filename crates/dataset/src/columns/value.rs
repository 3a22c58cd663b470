//! One cell of a column as a JSON value.
//!
//! Lists are lists, structs objects, maps with text keys objects and other maps lists of pairs; absent is null. What JSON has no type for
//! is text: binary data in base64, points in time as RFC 3339 writes them, decimals by their digits. Numbers that are no number are null.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Number, Value};

use super::time;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Bytes that a row may still take.
pub(super) struct Room(pub(super) usize);

/// Why a cell cannot be shown.
pub(super) enum Wrong {
    /// The row is larger than it may be.
    Huge,
    /// The value is none that the type has, as the end of a sentence.
    Odd(String),
}

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), Wrong> {
        self.0 = self.0.checked_sub(bytes).ok_or(Wrong::Huge)?;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<Value, Wrong> {
        self.take(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn binary(&mut self, bytes: &[u8]) -> Result<Value, Wrong> {
        self.take(bytes.len() / 3 * 4)?;
        Ok(Value::String(BASE64_STANDARD.encode(bytes)))
    }

    fn list(&mut self, items: &ArrayRef) -> Result<Value, Wrong> {
        let items = (0..items.len()).map(|item| of(items.as_ref(), item, self));
        items.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }
}

/// Name of the type in `kind` that rows cannot hold, where there is one.
pub(super) fn unsupported(kind: &DataType) -> Option<String> {
    use DataType as T;
    match kind {
        T::Duration(_) | T::Interval(_) | T::Union(..) | T::RunEndEncoded(..) => {
            Some(self::kind(kind))
        }
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => unsupported(item.data_type()),
        T::Struct(fields) => fields.iter().find_map(|f| unsupported(f.data_type())),
        T::Dictionary(_, value) => unsupported(value),
        T::Null
        | T::Boolean
        | T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64
        | T::Float16
        | T::Float32
        | T::Float64
        | T::Timestamp(..)
        | T::Date32
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
        | T::Binary
        | T::FixedSizeBinary(_)
        | T::LargeBinary
        | T::BinaryView
        | T::Utf8
        | T::LargeUtf8
        | T::Utf8View
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..)
        | T::Decimal256(..) => None,
    }
}

/// Name of a type, for people and for comparisons: what is read alike has one name.
pub(super) fn kind(kind: &DataType) -> String {
    use DataType as T;
    match kind {
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "text".into(),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => "binary".into(),
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => format!("list of {}", self::kind(item.data_type())),
        T::Struct(fields) => {
            let fields = fields.iter();
            let named: Vec<String> = fields
                .map(|f| format!("{}: {}", f.name(), self::kind(f.data_type())))
                .collect();
            format!("struct of {}", named.join(", "))
        }
        T::Dictionary(_, value) => self::kind(value),
        other => other.to_string().to_lowercase(),
    }
}

/// The value of `array` at `row`.
pub(super) fn of(array: &dyn Array, row: usize, room: &mut Room) -> Result<Value, Wrong> {
    use DataType as T;
    room.take(1)?;
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    if let Some(whole) = integer(array, row) {
        return Ok(whole);
    }
    let kind = array.data_type();
    Ok(match kind {
        T::Boolean => Value::Bool(array.as_boolean().value(row)),
        T::Float16 => float(f64::from(at::<Float16Type>(array, row))),
        T::Float32 => single(at::<Float32Type>(array, row)),
        T::Float64 => float(at::<Float64Type>(array, row)),
        T::Utf8 => room.text(array.as_string::<i32>().value(row))?,
        T::LargeUtf8 => room.text(array.as_string::<i64>().value(row))?,
        T::Utf8View => room.text(array.as_string_view().value(row))?,
        T::Binary => room.binary(array.as_binary::<i32>().value(row))?,
        T::LargeBinary => room.binary(array.as_binary::<i64>().value(row))?,
        T::BinaryView => room.binary(array.as_binary_view().value(row))?,
        T::FixedSizeBinary(_) => room.binary(array.as_fixed_size_binary().value(row))?,
        T::List(_) => room.list(&array.as_list::<i32>().value(row))?,
        T::LargeList(_) => room.list(&array.as_list::<i64>().value(row))?,
        T::ListView(_) => room.list(&array.as_list_view::<i32>().value(row))?,
        T::LargeListView(_) => room.list(&array.as_list_view::<i64>().value(row))?,
        T::FixedSizeList(..) => room.list(&array.as_fixed_size_list().value(row))?,
        T::Struct(fields) => {
            let columns = array.as_struct().columns();
            let mut map = Map::new();
            for (field, column) in fields.iter().zip(columns) {
                map.insert(field.name().clone(), of(column.as_ref(), row, room)?);
            }
            Value::Object(map)
        }
        T::Map(..) => pairs(&array.as_map().value(row), room)?,
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = integer(dictionary.keys(), row).and_then(|key| key.as_u64());
            let values = dictionary.values();
            let key = key.and_then(|key| usize::try_from(key).ok());
            match key.filter(|key| *key < values.len()) {
                Some(key) => of(values.as_ref(), key, room)?,
                None => return Err(Wrong::Odd("points outside its dictionary".into())),
            }
        }
        T::Decimal128(..) => {
            Value::String(array.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        T::Decimal256(..) => {
            Value::String(array.as_primitive::<Decimal256Type>().value_as_string(row))
        }
        _ => {
            let unshown =
                || Wrong::Odd(format!("holds a {} that cannot be shown", self::kind(kind)));
            Value::String(moment(array, row).ok_or_else(unshown)?)
        }
    })
}

fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The shortest digits that mean this number: 0.1, not 0.10000000149011612.
fn single(value: f32) -> Value {
    value.to_string().parse().map_or(Value::Null, float)
}

fn integer(array: &dyn Array, row: usize) -> Option<Value> {
    use DataType as T;
    Some(match array.data_type() {
        T::Int8 => at::<Int8Type>(array, row).into(),
        T::Int16 => at::<Int16Type>(array, row).into(),
        T::Int32 => at::<Int32Type>(array, row).into(),
        T::Int64 => at::<Int64Type>(array, row).into(),
        T::UInt8 => at::<UInt8Type>(array, row).into(),
        T::UInt16 => at::<UInt16Type>(array, row).into(),
        T::UInt32 => at::<UInt32Type>(array, row).into(),
        T::UInt64 => at::<UInt64Type>(array, row).into(),
        _ => return None,
    })
}

fn moment(array: &dyn Array, row: usize) -> Option<String> {
    use DataType as T;
    match array.data_type() {
        T::Timestamp(unit, zone) => {
            let value = match unit {
                TimeUnit::Second => at::<TimestampSecondType>(array, row),
                TimeUnit::Millisecond => at::<TimestampMillisecondType>(array, row),
                TimeUnit::Microsecond => at::<TimestampMicrosecondType>(array, row),
                TimeUnit::Nanosecond => at::<TimestampNanosecondType>(array, row),
            };
            time::timestamp(value, *unit, zone.is_some())
        }
        T::Date32 => time::date(at::<Date32Type>(array, row).into()),
        T::Date64 => time::date(at::<Date64Type>(array, row).div_euclid(DAY)),
        T::Time32(unit @ TimeUnit::Second) => {
            time::time(at::<Time32SecondType>(array, row).into(), *unit)
        }
        T::Time32(unit) => time::time(at::<Time32MillisecondType>(array, row).into(), *unit),
        T::Time64(unit @ TimeUnit::Microsecond) => {
            time::time(at::<Time64MicrosecondType>(array, row), *unit)
        }
        T::Time64(unit) => time::time(at::<Time64NanosecondType>(array, row), *unit),
        _ => None,
    }
}

/// The entries of a map, which are structs of a key and a value.
fn pairs(entries: &arrow_array::StructArray, room: &mut Room) -> Result<Value, Wrong> {
    let [keys, values] = entries.columns() else {
        return Err(Wrong::Odd("is a map without keys and values".into()));
    };
    let mut list = Vec::new();
    for entry in 0..entries.len() {
        let key = of(keys.as_ref(), entry, room)?;
        list.push((key, of(values.as_ref(), entry, room)?));
    }
    if list.iter().all(|(key, _)| key.is_string()) {
        let members = list.into_iter().filter_map(|(key, value)| match key {
            Value::String(key) => Some((key, value)),
            _ => None,
        });
        return Ok(Value::Object(members.collect()));
    }
    let pairs = list
        .into_iter()
        .map(|(key, value)| Value::Array(vec![key, value]));
    Ok(Value::Array(pairs.collect()))
}
