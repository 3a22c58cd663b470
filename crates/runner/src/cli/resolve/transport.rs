//! The model's server: its address, its key, its price.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::operation::at_least_one;
use super::set;
use crate::cli::error::Error;
use crate::layers::options::Model;
use crate::layers::values::{Amount, Pair};
use crate::settings::{Price, Transport};

/// The key for the model's server, from the environment only. A server on this machine needs none.
pub(super) fn api_key(
    choice: &model::Choice,
    base_url: Option<&str>,
) -> Result<Option<SecretString>, Error> {
    let Some(custom) = choice.key_variable() else {
        return Ok(None);
    };
    let value = |name| std::env::var(name).ok().filter(|key| !key.is_empty());
    let key = value("PATCHMILL_API_KEY").or_else(|| value(custom));
    match (key, base_url) {
        (Some(key), _) => Ok(Some(key.into())),
        (None, Some(url)) if is_loopback(url) => Ok(None),
        (None, url) => Err(Error::Usage {
            message: format!(
                "no key for `{choice}` at {}",
                url.map_or_else(|| "the provider's own server".to_owned(), model::shown)
            ),
            hints: vec![
                format!("set {custom} or PATCHMILL_API_KEY"),
                "for a server that takes no key, set it to any text".to_owned(),
            ],
        }),
    }
}

/// The address in the provider's own variable, for where no layer of the settings names one.
pub(super) fn customary_url(choice: &model::Choice) -> Result<Option<String>, Error> {
    let Some(variable) = choice.base_url_variable() else {
        return Ok(None);
    };
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
    if let Some(url) = &url {
        check_address(variable, url)?;
    }
    Ok(url)
}

/// Refuses what is no address of a server; `source` says where it comes from.
fn check_address(source: &str, url: &str) -> Result<(), Error> {
    let usable = reqwest::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if usable {
        return Ok(());
    }
    Err(Error::usage(
        format!("{source} `{url}` is not an address"),
        "an address looks like `http://127.0.0.1:8000/v1`",
    ))
}

/// Whether a server is on this machine.
fn is_loopback(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host
            .parse::<std::net::Ipv4Addr>()
            .is_ok_and(|address| address.is_loopback()),
        None => false,
    })
}

/// How the server is spoken to.
pub(super) fn transport(model: &Model) -> Result<Transport, Error> {
    if let Some(url) = &model.base_url {
        check_address("--base-url", url)?;
    }
    Ok(Transport {
        base_url: model.base_url.clone(),
        prices: model.prices.clone(),
        stream: set("stream", model.stream)?,
        max_tries: at_least_one("max-tries", set("max_tries", model.max_tries)?)?,
        total_timeout: set("request_timeout", model.request_timeout)?.0,
        connect_timeout: set("connect_timeout", model.connect_timeout)?.0,
        first_byte_timeout: set("first_byte_timeout", model.first_byte_timeout)?.0,
        idle_timeout: set("idle_timeout", model.idle_timeout)?.0,
        price: price(model.price.as_deref().unwrap_or_default())?,
    })
}

fn price(pairs: &[Pair]) -> Result<Option<Price>, Error> {
    if pairs.is_empty() {
        return Ok(None);
    }
    let mut given: BTreeMap<&str, f64> = BTreeMap::new();
    for Pair { name, value } in pairs {
        let wrong = |problem: String| {
            Error::usage(
                format!("--price {name}={value}: {problem}"),
                "kinds are `input`, `cached`, `cache_write`, `output`, in US dollars for a million tokens",
            )
        };
        if !["input", "cached", "cache_write", "output"].contains(&name.as_str()) {
            return Err(wrong(format!("there is no price of kind `{name}`")));
        }
        let amount: Amount = value.parse().map_err(wrong)?;
        given.insert(name, amount.0);
    }
    match (given.get("input"), given.get("output")) {
        (Some(&input), Some(&output)) => Ok(Some(Price {
            input,
            cached: given.get("cached").copied(),
            cache_write: given.get("cache_write").copied(),
            output,
        })),
        _ => Err(Error::usage(
            "a price needs both `input` and `output`",
            "such as --price input=2.5 --price output=10",
        )),
    }
}
