//! What tokens cost.

use std::collections::BTreeMap;

use schema::Usage;
use serde::Deserialize;

use crate::error::Error;

/// The table that is built in; `configs/prices.toml` says how it is read.
const EMBEDDED: &str = include_str!("../../../configs/prices.toml");

/// Tokens that a price is for.
const UNIT: f64 = 1_000_000.0;

/// Price of a model in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens read from the cache; `None` costs as `input`.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Prompt tokens written to the cache; `None` costs as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Completion tokens, reasoning included.
    pub output: f64,
}

impl Price {
    /// Whether all parts are amounts of money: a limit on the cost means nothing with others.
    fn is_amount(&self) -> bool {
        [
            Some(self.input),
            self.cached,
            self.cache_write,
            Some(self.output),
        ]
        .into_iter()
        .flatten()
        .all(|part| part.is_finite() && part >= 0.0)
    }

    /// US dollars that `usage` costs. Its `input` includes the cached and the written tokens, so these are taken out first.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let plain = usage
            .input
            .saturating_sub(usage.cached)
            .saturating_sub(usage.cache_write);
        (tokens(plain) * self.input
            + tokens(usage.cached) * self.cached.unwrap_or(self.input)
            + tokens(usage.cache_write) * self.cache_write.unwrap_or(self.input)
            + tokens(usage.output) * self.output)
            / UNIT
    }
}

/// Exact up to 2⁵³ tokens.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn tokens(count: u64) -> f64 {
    count as f64
}

/// Prices by model name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceTable(BTreeMap<String, Price>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    model: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    output: f64,
}

impl Entry {
    fn named_price(self) -> Result<(String, Price), Error> {
        let price = Price {
            input: self.input,
            cached: self.cached,
            cache_write: self.cache_write,
            output: self.output,
        };
        if price.is_amount() {
            return Ok((self.name, price));
        }
        Err(Error::Setting {
            field: "prices",
            problem: format!(
                "a price of `{}` is negative or not a number",
                self.name.escape_debug()
            ),
        })
    }
}

impl PriceTable {
    /// The table that is built in.
    pub fn embedded() -> Self {
        Self::parse(EMBEDDED).unwrap_or_default()
    }

    /// Reads a table of the form of `configs/prices.toml`.
    ///
    /// # Errors
    /// When the text is not such a table, or a price is no amount of money.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let document: Document =
            toml::from_str(text).map_err(|error| Error::Prices(Box::new(error)))?;
        document
            .model
            .into_iter()
            .map(Entry::named_price)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Adds the prices of `other`, which win.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The price of a model: by its exact name, without its date, without its vendor.
    pub fn get(&self, model: &str) -> Option<Price> {
        let bare = model.rsplit('/').next().unwrap_or(model);
        [model, without_date(model), bare, without_date(bare)]
            .into_iter()
            .find_map(|name| self.0.get(name).copied())
    }
}

/// Cuts `-2025-04-14` or `-20250414` off the end of a name.
fn without_date(name: &str) -> &str {
    let digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts = name.rsplitn(4, '-');
    let (last, middle, first, rest) = (parts.next(), parts.next(), parts.next(), parts.next());
    match (last, middle, first, rest) {
        (Some(day), Some(month), Some(year), Some(rest))
            if digits(day, 2) && digits(month, 2) && digits(year, 4) =>
        {
            rest
        }
        (Some(date), Some(_), ..) if digits(date, 8) => &name[..name.len() - 9],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_table_reads() {
        let table = PriceTable::parse(EMBEDDED).unwrap();
        assert_eq!(table, PriceTable::embedded());
        assert!(table.0.len() > 15);
        for (name, price) in &table.0 {
            assert!(price.input > 0.0 && price.output >= price.input, "{name}");
            assert!(
                price.cached.is_none_or(|cached| cached < price.input),
                "{name}"
            );
        }
    }

    #[test]
    fn dates_and_vendors_are_left_out() {
        let table = PriceTable::embedded();
        let plain = table.get("gpt-4.1").unwrap();
        for name in [
            "gpt-4.1-2025-04-14",
            "openai/gpt-4.1",
            "openai/gpt-4.1-2025-04-14",
        ] {
            assert_eq!(table.get(name), Some(plain), "{name}");
        }
        assert!(table.get("anthropic/claude-sonnet-4-5-20250929").is_some());
        assert_ne!(table.get("gpt-4.1-mini"), Some(plain));
        assert_eq!(table.get("gpt-4.1-turbo"), None);
        assert_eq!(table.get("stub-s20-l200-o0"), None);
        assert_eq!(table.get(""), None);
    }

    #[test]
    fn cached_tokens_are_part_of_the_input() {
        let price = Price {
            input: 2.0,
            cached: Some(0.5),
            cache_write: Some(3.0),
            output: 8.0,
        };
        let usage = Usage {
            input: 1_000_000,
            cached: 400_000,
            cache_write: 100_000,
            output: 250_000,
            ..Usage::default()
        };
        assert!((price.cost(&usage) - (1.0 + 0.2 + 0.3 + 2.0)).abs() < 1e-9);
        let plain = Price {
            cached: None,
            cache_write: None,
            ..price
        };
        assert!((plain.cost(&usage) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_users_table_wins() {
        let mut table = PriceTable::embedded();
        table.extend(
            PriceTable::parse("[[model]]\nname = \"gpt-4.1\"\ninput = 1\noutput = 2").unwrap(),
        );
        assert!((table.get("gpt-4.1").unwrap().output - 2.0).abs() < f64::EPSILON);
        assert!(PriceTable::parse("[[model]]\nnmae = \"x\"").is_err());
        for wrong in ["nan", "inf", "-1"] {
            let table = format!("[[model]]\nname = \"x\"\ninput = {wrong}\noutput = 2");
            let error = PriceTable::parse(&table).unwrap_err();
            assert!(error.to_string().contains("`x`"), "{error}");
        }
    }
}
