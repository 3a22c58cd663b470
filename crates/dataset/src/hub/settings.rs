//! Where the hub is and who asks, by the variables that its own client obeys.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;

use super::error::Error;

/// The public hub.
const PUBLIC: &str = "https://huggingface.co";

/// Bytes of a token's file.
const MAX_TOKEN_BYTES: usize = 4096;

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// For the head of an answer.
    pub head: Duration,
    /// For the next piece of a body.
    pub idle: Duration,
    /// For another program that downloads the same file.
    pub lock: Duration,
}

/// How often a request that failed is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// Tries in a row that bring nothing.
    pub max_tries: u32,
    /// First wait; it doubles from try to try.
    pub base: Duration,
    /// Longest wait of our own.
    pub cap: Duration,
    /// Longest wait that a server may ask for; what asks for more is given up.
    pub server_cap: Duration,
}

/// How the hub is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address of the hub (`HF_ENDPOINT`).
    pub endpoint: Url,
    /// Who asks (`HF_TOKEN`, or the file that `hf auth login` writes).
    pub token: Option<SecretString>,
    /// Directory of the cache (`HF_HUB_CACHE`).
    pub cache: PathBuf,
    /// Whether nothing is asked at all (`HF_HUB_OFFLINE`).
    pub offline: bool,
    /// How long is waited for what.
    pub deadlines: Deadlines,
    /// How often requests are made again.
    pub retries: Retries,
}

impl Settings {
    /// Reads the variables that `variable` gives.
    ///
    /// # Errors
    /// When the endpoint is no address of a web server, or nothing says where the cache is.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let on = |name: &str| {
            given(name).is_some_and(|value| {
                matches!(
                    value.trim().to_ascii_uppercase().as_str(),
                    "1" | "ON" | "YES" | "TRUE"
                )
            })
        };
        let endpoint = given("HF_ENDPOINT").unwrap_or_else(|| PUBLIC.to_owned());
        let home = home(&given);
        let cache = given("HF_HUB_CACHE")
            .or_else(|| given("HUGGINGFACE_HUB_CACHE"))
            .map(|path| expanded(&path, &given))
            .or_else(|| home.as_ref().map(|home| home.join("hub")))
            .ok_or(Error::NoCache)?;
        let token = if on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            None
        } else {
            given("HF_TOKEN")
                .or_else(|| given("HUGGING_FACE_HUB_TOKEN"))
                .or_else(|| {
                    let path = given("HF_TOKEN_PATH").map(|path| expanded(&path, &given));
                    let path = path.or_else(|| home.as_ref().map(|home| home.join("token")))?;
                    let text = std::fs::read_to_string(path).ok()?;
                    (text.len() <= MAX_TOKEN_BYTES).then_some(text)
                })
        };
        Ok(Self {
            endpoint: address(&endpoint)?,
            token: token
                .map(|token| token.replace(['\r', '\n'], "").trim().to_owned())
                .filter(|token| !token.is_empty())
                .map(SecretString::from),
            cache,
            offline: on("HF_HUB_OFFLINE") || on("HF_DATASETS_OFFLINE"),
            deadlines: Deadlines {
                head: Duration::from_secs(30),
                idle: Duration::from_mins(1),
                lock: Duration::from_mins(30),
            },
            retries: Retries {
                max_tries: 5,
                base: Duration::from_secs(1),
                cap: Duration::from_secs(30),
                server_cap: Duration::from_mins(5),
            },
        })
    }
}

fn address(text: &str) -> Result<Url, Error> {
    let bad = || Error::Endpoint(text.to_owned());
    let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| bad())?;
    let web = matches!(url.scheme(), "http" | "https");
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if web && plain && url.host().is_some() {
        Ok(url)
    } else {
        Err(bad())
    }
}

/// `HF_HOME`, else `huggingface` in the user's cache.
fn home(given: &impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    if let Some(home) = given("HF_HOME") {
        return Some(expanded(&home, given));
    }
    let cache = given("XDG_CACHE_HOME").map(|path| expanded(&path, given));
    let cache = cache.or_else(|| Some(PathBuf::from(given("HOME")?).join(".cache")))?;
    Some(cache.join("huggingface"))
}

/// A path whose `~` is the user's home.
fn expanded(path: &str, given: &impl Fn(&str) -> Option<String>) -> PathBuf {
    match (path.strip_prefix("~/"), given("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, Error> {
        Settings::of(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_are_those_of_the_hubs_client() {
        let plain = settings(&[("HOME", "/h")]).unwrap();
        assert_eq!(plain.cache, PathBuf::from("/h/.cache/huggingface/hub"));
        assert_eq!(plain.endpoint.as_str(), "https://huggingface.co/");
        assert!(!plain.offline && plain.token.is_none());
        for (variables, cache) in [
            ([("HF_HOME", "/x"), ("XDG_CACHE_HOME", "/c")], "/x/hub"),
            (
                [("HOME", "/h"), ("XDG_CACHE_HOME", "/c")],
                "/c/huggingface/hub",
            ),
            ([("HF_HUB_CACHE", "/y"), ("HF_HOME", "/x")], "/y"),
            ([("HOME", "/h"), ("HF_HOME", "~/z")], "/h/z/hub"),
        ] {
            assert_eq!(settings(&variables).unwrap().cache, PathBuf::from(cache));
        }
        assert!(matches!(settings(&[]), Err(Error::NoCache)));
        let offline = |value| {
            settings(&[("HOME", "/h"), ("HF_HUB_OFFLINE", value)])
                .unwrap()
                .offline
        };
        assert!(offline("1") && offline("True") && !offline("0") && !offline(""));
    }

    #[test]
    fn the_token_is_found_and_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_str().unwrap();
        std::fs::write(directory.path().join("token"), "hf_file\n").unwrap();
        let token = |variables: &[(&str, &str)]| {
            let settings = settings(variables).unwrap();
            assert!(!format!("{settings:?}").contains("hf_"));
            settings.token.map(|token| token.expose_secret().to_owned())
        };
        assert_eq!(token(&[("HF_HOME", home)]).as_deref(), Some("hf_file"));
        assert_eq!(
            token(&[("HF_HOME", home), ("HF_TOKEN", " hf_given\n")]).as_deref(),
            Some("hf_given")
        );
        assert_eq!(
            token(&[("HF_HOME", home), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]),
            None
        );
        assert_eq!(
            token(&[
                ("HF_HOME", "/none"),
                ("HF_TOKEN_PATH", &format!("{home}/token"))
            ])
            .as_deref(),
            Some("hf_file")
        );
    }

    #[test]
    fn an_endpoint_is_the_address_of_a_web_server() {
        let endpoint = |value| settings(&[("HOME", "/h"), ("HF_ENDPOINT", value)]);
        assert_eq!(
            endpoint("http://h:1/p/").unwrap().endpoint.as_str(),
            "http://h:1/p"
        );
        for value in ["ftp://x", "x", "http://", "http://u:p@h", "https://h?x=1"] {
            assert!(
                matches!(endpoint(value), Err(Error::Endpoint(_))),
                "{value}"
            );
        }
    }
}
