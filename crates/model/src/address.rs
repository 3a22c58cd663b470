//! Addresses of servers that hold secrets: a password, or a key in the query, as some gateways want it.

use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

/// What stands in the place of a secret.
const REDACTED: &str = "redacted";

/// A version is no secret, and stands in many a message.
fn is_open(name: &str) -> bool {
    name.contains("version")
}

/// What of an address nobody else may know: its password and the values of its query, as they are meant and as they are written there.
pub(crate) fn secrets_of(url: &Url) -> Vec<SecretString> {
    let mut secrets: Vec<SecretString> = url.password().map(Into::into).into_iter().collect();
    let written = url.query().unwrap_or_default().split('&');
    for (pair, (name, value)) in written.zip(url.query_pairs()) {
        if !is_open(&name) {
            let written = pair.split_once('=').map_or("", |(_, value)| value);
            secrets.extend([written.into(), value.into_owned().into()]);
        }
    }
    secrets.retain(|secret| !secret.expose_secret().is_empty());
    secrets
}

/// An address as it may be shown and written down; one without secrets, or that cannot be read, is left as it is.
pub fn shown(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return address.to_owned();
    };
    if secrets_of(&url).is_empty() {
        return address.to_owned();
    }
    if url.password().is_some() {
        // An address that has a password can have another one.
        let _ = url.set_password(Some(REDACTED));
    }
    let query: Option<Vec<String>> = url.query().map(|query| {
        query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, value)) if !is_open(name) && !value.is_empty() => {
                    format!("{name}={REDACTED}")
                }
                _ => pair.to_owned(),
            })
            .collect()
    });
    url.set_query(query.map(|query| query.join("&")).as_deref());
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_taken_out() {
        for (address, wanted) in [
            ("http://h:8000/v1", "http://h:8000/v1"),
            (
                "https://h/v1?api-version=2024-02-01",
                "https://h/v1?api-version=2024-02-01",
            ),
            (
                "https://me:pass%20word@h/v1?api-version=1&code=a%2Bb==&empty=",
                "https://me:redacted@h/v1?api-version=1&code=redacted&empty=",
            ),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(shown(address), wanted);
        }
    }

    #[test]
    fn secrets_are_known_in_both_spellings() {
        let url = Url::parse("http://h/?code=a%2Bb&api-version=3").unwrap();
        let secrets = secrets_of(&url);
        let secrets: Vec<&str> = secrets.iter().map(ExposeSecret::expose_secret).collect();
        assert_eq!(secrets, ["a%2Bb", "a+b"]);
    }
}
