//! Where requests go, with what headers, and which words never leave.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use schema::event::ModelFailure;
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;

use super::trouble::CUT;
use crate::address::secrets_of;
use crate::error::Error;
use crate::service::{Auth, Service};
use crate::settings::Settings;

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";
/// Shorter values are words like any other: hiding them would only garble messages.
const SHORTEST_SECRET: usize = 6;

/// An address with its headers. Its debug form shows neither headers nor secrets.
pub(crate) struct Endpoint {
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    /// Host and path, for messages.
    pub(crate) label: String,
    secrets: Vec<SecretString>,
    /// Whether any server ever answered here.
    answered: AtomicBool,
    halt: Halt,
}

impl Endpoint {
    /// Joins the service's base and `path`, keeping the query that some gateways need.
    pub(crate) fn of(service: Service, path: &str, settings: &Settings) -> Result<Self, Error> {
        if settings.base_url.is_none() && settings.api_key.is_none() {
            return Err(Error::NoKey {
                provider: service.prefix(),
                variable: service.key_variable(),
            });
        }
        let base = settings.base_url.as_deref();
        let url = join(base.unwrap_or(service.base_url()), path)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if settings.stream {
            headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        }
        for (name, value) in service.headers() {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        let mut secrets = Vec::new();
        if let Some(key) = &settings.api_key {
            let key = key.expose_secret();
            let (name, value) = match service.auth() {
                Auth::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
                Auth::Header(name) => (HeaderName::from_static(name), key.to_owned()),
            };
            headers.insert(name, sensitive("api_key", &value)?);
        }
        secrets.extend(settings.api_key.clone());
        for (name, value) in &settings.headers {
            let parsed: HeaderName = name.parse().map_err(|_| Error::Setting {
                field: "headers",
                problem: format!("`{}` is not a header name", name.escape_debug()),
            })?;
            headers.insert(parsed, sensitive("headers", value.expose_secret())?);
            secrets.push(value.clone());
        }
        secrets.extend(secrets_of(&url));
        Ok(Self {
            label: label(&url),
            url,
            headers,
            secrets,
            answered: AtomicBool::new(false),
            halt: Halt::default(),
        })
    }

    /// Takes every secret out of a text: servers repeat keys in their errors. The start of one that an excerpt cut off goes too.
    pub(crate) fn redact(&self, mut text: String) -> String {
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            if secret.len() < SHORTEST_SECRET {
                continue;
            }
            if text.contains(secret) {
                text = text.replace(secret, REDACTED);
            }
            let starts = (SHORTEST_SECRET..secret.len()).rev();
            for start in starts.filter_map(|end| secret.get(..end)) {
                let cut = format!("{start}{CUT}");
                if text.contains(&cut) {
                    text = text.replace(&cut, &format!("{REDACTED}{CUT}"));
                }
            }
        }
        text
    }

    /// Remembers that a server answered.
    pub(crate) fn mark_answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn halt(&self) -> &Halt {
        &self.halt
    }
}

/// Ends all requests of an endpoint that have not started: its key or its account is of no use.
#[derive(Default)]
pub(crate) struct Halt {
    failure: OnceLock<ModelFailure>,
    token: CancellationToken,
}

impl Halt {
    /// Lets no further request start. The first failure is the one that all get.
    pub(crate) fn pull(&self, failure: &ModelFailure) {
        if self.failure.set(failure.clone()).is_ok() {
            self.token.cancel();
        }
    }

    /// The failure, once there is one.
    pub(crate) fn failure(&self) -> Option<&ModelFailure> {
        self.failure.get()
    }

    /// Waits until there is one.
    pub(crate) async fn pulled(&self) {
        self.token.cancelled().await;
    }
}

fn join(base: &str, path: &str) -> Result<Url, Error> {
    let problem = |problem: String| Error::Setting {
        field: "base_url",
        problem,
    };
    let mut url = Url::parse(base).map_err(|error| {
        problem(format!(
            "not an address ({error}); write it as http://HOST:PORT/v1"
        ))
    })?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(problem("not an http or https address".to_owned()));
    }
    let own = url.path().trim_end_matches('/');
    let joined = format!("{own}{}", without_repetition(own, path));
    url.set_path(&joined);
    url.set_fragment(None);
    Ok(url)
}

/// What of `path` is left to add to an address that ends with its beginning, as `/v1` and `/v1/messages` do.
fn without_repetition<'a>(own: &str, path: &'a str) -> &'a str {
    let ends = path.match_indices('/').map(|(place, _)| place);
    let ends = ends.chain([path.len()]).rev();
    ends.map(|end| path.split_at(end))
        .find(|(start, _)| own.ends_with(start))
        .map_or(path, |(_, rest)| rest)
}

/// Host, port and path: no user, password or query, which may be secret.
fn label(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map(|port| format!(":{port}"))
        .unwrap_or_default();
    format!("{host}{port}{}", url.path())
}

fn sensitive(field: &'static str, value: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(value).map_err(|_| Error::Setting {
        field,
        problem: "holds characters that a header cannot carry".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::trouble::excerpt;

    #[test]
    fn what_an_address_and_a_path_share_stands_once() {
        for (own, wanted) in [
            ("", "/v1/messages"),
            ("/v1", "/v1/messages"),
            ("/proxy", "/proxy/v1/messages"),
            ("/proxy/v1", "/proxy/v1/messages"),
            ("/v1/messages", "/v1/messages"),
            ("/av1", "/av1/v1/messages"),
        ] {
            let joined = format!("{own}{}", without_repetition(own, "/v1/messages"));
            assert_eq!(joined, wanted);
        }
    }

    fn endpoint(base: &str) -> Result<Endpoint, Error> {
        let settings = Settings {
            base_url: Some(base.to_owned()),
            api_key: Some("sk-very-secret".into()),
            ..Settings::default()
        };
        Endpoint::of(Service::OpenAi, "/chat/completions", &settings)
    }

    #[test]
    fn paths_are_joined_once() {
        for (base, wanted) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            ("http://h/v1/", "http://h/v1/chat/completions"),
            ("http://h", "http://h/chat/completions"),
            (
                "http://h/v1/chat/completions",
                "http://h/v1/chat/completions",
            ),
            (
                "https://h/d/x?api-version=1",
                "https://h/d/x/chat/completions?api-version=1",
            ),
        ] {
            assert_eq!(endpoint(base).unwrap().url.as_str(), wanted);
        }
        for bad in ["localhost:8000", "ftp://h/v1", "h/v1", ""] {
            assert!(endpoint(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_and_texts_hold_no_secret() {
        let endpoint = endpoint("https://me:hunter22@h:8443/v1?key=abc").unwrap();
        assert_eq!(endpoint.label, "h:8443/v1/chat/completions");
        assert_eq!(
            endpoint.redact("key sk-very-secret and hunter22".into()),
            "key [redacted] and [redacted]"
        );
        assert!(!format!("{:?}", endpoint.headers).contains("secret"));
        let long = format!("{}sk-very-secret", "x".repeat(191));
        let cut = excerpt(long.as_bytes());
        assert!(cut.contains("sk-very-s…"), "{cut}");
        assert!(endpoint.redact(cut).ends_with("x[redacted]…\""));
    }

    #[test]
    fn keys_that_no_header_carries_are_refused_without_showing_them() {
        let settings = Settings {
            api_key: Some("sk-line\nbreak".into()),
            ..Settings::default()
        };
        let opened = Endpoint::of(Service::OpenAi, "/x", &settings);
        let error = opened.err().unwrap();
        assert!(!error.to_string().contains("sk-line"), "{error}");
    }
}
