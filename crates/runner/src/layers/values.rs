//! Values as people write them: lengths of time, sizes, counts, limits that can be switched off, pairs.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use sandbox::limits::Network;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A length of time: `90`, `90s`, `1h30m`. A bare number is seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a length of time such as `90`, `90s` or `1h30m`");
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds)
                .map(Self)
                .map_err(|_| wrong());
        }
        let mut total = Duration::ZERO;
        let mut rest = text.trim();
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let (number, after) = rest.split_at(digits);
            let letters = after
                .find(|c: char| !c.is_ascii_alphabetic())
                .unwrap_or(after.len());
            let (unit, after) = after.split_at(letters);
            let milliseconds = match unit {
                "ms" => 1,
                "s" => 1_000,
                "m" | "min" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(wrong()),
            };
            let part = number
                .parse::<u64>()
                .ok()
                .and_then(|number| number.checked_mul(milliseconds))
                .ok_or_else(wrong)?;
            total = total
                .checked_add(Duration::from_millis(part))
                .ok_or_else(wrong)?;
            rest = after.trim_start();
        }
        if text.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self(total))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        if milliseconds == 0 {
            return f.write_str("0s");
        }
        let parts = [
            (milliseconds / 3_600_000, "h"),
            (milliseconds / 60_000 % 60, "m"),
            (milliseconds / 1_000 % 60, "s"),
            (milliseconds % 1_000, "ms"),
        ];
        for (number, unit) in parts.into_iter().filter(|(number, _)| *number > 0) {
            write!(f, "{number}{unit}")?;
        }
        Ok(())
    }
}

/// A size in bytes: `1048576`, `512MiB`, `8g`. One letter, and `iB`, count in powers of 1024; `kB`, `MB`, `GB` in powers of 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a size such as `512MiB` or `8GiB`");
        let text = text.trim();
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let factor: u64 = match unit.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(wrong()),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Self)
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        let unit = units
            .into_iter()
            .find(|(shift, _)| self.0 != 0 && self.0.is_multiple_of(1 << shift));
        match unit {
            Some((shift, name)) => write!(f, "{}{name}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A count: `200000`, `200k`, `2m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub u64);

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a count such as `100`, `200k` or `2m`");
        let lower = text.trim().to_ascii_lowercase();
        let (number, factor) = match lower.strip_suffix(['k', 'm']) {
            Some(number) if lower.ends_with('k') => (number, 1_000),
            Some(number) => (number, 1_000_000),
            None => (lower.as_str(), 1),
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .map(Self)
            .ok_or_else(wrong)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A number of dollars, or of processors: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount(pub f64);

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|amount| amount.is_finite() && *amount >= 0.0)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is not a number of 0 or more"))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A limit that can be switched off with `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap<T> {
    /// No limit.
    Off,
    /// At most this.
    At(T),
}

impl<T> Cap<T> {
    /// The limit, `None` where there is none.
    pub fn limit(self) -> Option<T> {
        match self {
            Self::Off => None,
            Self::At(value) => Some(value),
        }
    }
}

impl<T: FromStr<Err = String>> FromStr for Cap<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::Off);
        }
        text.parse()
            .map(Self::At)
            .map_err(|reason: String| format!("{reason}, nor `none`"))
    }
}

impl<T: fmt::Display> fmt::Display for Cap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("none"),
            Self::At(value) => value.fmt(f),
        }
    }
}

/// Reads a value from text or from a number; writing gives a number where the text is one.
struct Scalar<T>(PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for Scalar<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! scalar {
    ($($type:ty $(where $parameter:ident)?),*) => {$(
        impl<'de $(, $parameter: FromStr<Err = String>)?> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Scalar(PhantomData))
            }
        }
        impl $(<$parameter: fmt::Display>)? Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text = self.to_string();
                match (text.parse::<u64>(), text.parse::<f64>()) {
                    (Ok(number), _) => serializer.serialize_u64(number),
                    (Err(_), Ok(number)) => serializer.serialize_f64(number),
                    (Err(_), Err(_)) => serializer.serialize_str(&text),
                }
            }
        }
    )*};
}
scalar!(Span, Size, Count, Amount, Reach, Cap<T> where T);

/// A network: `none`, `full`, `allow=HOST,…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach(pub Network);

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Before the first `=`.
    pub name: String,
    /// After it.
    pub value: String,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("expected NAME=VALUE".to_owned()),
        }
    }
}

/// Pairs as a table, so that layers merge name by name.
pub(crate) mod pairs {
    use super::{BTreeMap, Deserialize, Deserializer, Pair, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(crate) fn serialize<S: Serializer>(
        pairs: &Option<Vec<Pair>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pairs = pairs.iter().flatten();
        serializer.collect_map(pairs.map(|pair| (&pair.name, &pair.value)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<Pair>>, D::Error> {
        let table = BTreeMap::<String, String>::deserialize(deserializer)?;
        let pairs = table.into_iter();
        Ok(Some(
            pairs.map(|(name, value)| Pair { name, value }).collect(),
        ))
    }
}

/// Text or a list of texts: `ids = "a"` and `ids = ["a", "b"]` are both fine.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    match value {
        serde_json::Value::String(text) => Ok(Some(vec![text])),
        serde_json::Value::Array(items) => items
            .into_iter()
            .map(|item| match item {
                serde_json::Value::String(text) => Ok(text),
                other => Err(D::Error::custom(format!(
                    "expected a string, found `{other}`"
                ))),
            })
            .collect::<Result<_, _>>()
            .map(Some),
        other => Err(D::Error::custom(format!(
            "expected a string or a list of strings, found `{other}`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let cases = [
            ("90", 90_000),
            ("1.5", 1_500),
            ("90s", 90_000),
            ("1h30m", 5_400_000),
            ("2m 5s", 125_000),
            ("250ms", 250),
        ];
        for (text, milliseconds) in cases {
            let span = text.parse::<Span>().unwrap();
            assert_eq!(span.0, Duration::from_millis(milliseconds), "{text}");
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
        for text in [
            "",
            "-1",
            "h",
            "3x",
            "1h30",
            "nan",
            "inf",
            "99999999999999999999h",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_and_counts_know_their_units() {
        assert_eq!("8g".parse::<Size>().unwrap().0, 8 << 30);
        assert_eq!("8GB".parse::<Size>().unwrap().0, 8_000_000_000);
        assert_eq!("512MiB".parse::<Size>().unwrap().to_string(), "512MiB");
        assert_eq!("0".parse::<Size>().unwrap().to_string(), "0");
        assert!("8 giga".parse::<Size>().is_err());
        assert_eq!("200k".parse::<Count>().unwrap().0, 200_000);
        assert_eq!("2M".parse::<Count>().unwrap().0, 2_000_000);
        assert!("k".parse::<Count>().is_err());
    }

    #[test]
    fn a_limit_can_be_switched_off() {
        assert_eq!("none".parse::<Cap<Count>>().unwrap().limit(), None);
        assert_eq!("5".parse::<Cap<Count>>().unwrap(), Cap::At(Count(5)));
        let error = "many".parse::<Cap<Count>>().unwrap_err();
        assert_eq!(
            error,
            "`many` is not a count such as `100`, `200k` or `2m`, nor `none`"
        );
    }
}
