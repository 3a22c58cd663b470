//! Requests to the hub: tries, redirects, and who gets to see the token.

use std::error::Error as _;
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, LOCATION, RANGE};
use reqwest::{Client, Method, Response, StatusCode, Url};
use secrecy::ExposeSecret;
use tokio::time::{sleep, timeout};

use super::error::Error;
use super::pace::{self, Pace};
use super::settings::Settings;
use super::{Event, Listener};

/// Redirects that are followed: the hub itself sends to a storage, which may send on once.
const MAX_REDIRECTS: usize = 8;

/// Bytes of an error's text that are shown.
const MAX_MESSAGE: usize = 300;

/// Bytes of an answer that is read as a whole: the list of a repository's files.
const MAX_BODY: usize = 64 << 20;

/// Asks the hub.
pub(super) struct Exchange {
    client: Client,
    settings: Settings,
    listener: Listener,
}

/// What is asked.
pub(super) struct Request<'a> {
    pub(super) url: Url,
    pub(super) method: Method,
    /// First byte that is wanted.
    pub(super) from: u64,
    /// What it is about, for people.
    pub(super) subject: &'a str,
    /// The page of the dataset.
    pub(super) page: String,
}

/// A good answer, and what the hub itself said on the way to it.
pub(super) struct Answer {
    pub(super) response: Response,
    /// Headers of the hub's own answer: redirects lead to storages, which name their own `ETag`.
    pub(super) hub: HeaderMap,
}

/// Why a try failed.
enum Trouble {
    /// Another try may do.
    Passing {
        reason: String,
        asked: Option<Duration>,
        end: Box<dyn FnOnce(u32) -> Error + Send>,
    },
    /// No other try will.
    Final(Error),
}

impl Exchange {
    pub(super) fn new(client: Client, settings: Settings, listener: Listener) -> Self {
        Self {
            client,
            settings,
            listener,
        }
    }

    /// A URL below the endpoint, of parts that are escaped.
    pub(super) fn url(&self, parts: &[&str]) -> Result<Url, Error> {
        let mut url = self.settings.endpoint.clone();
        match url.path_segments_mut() {
            Ok(mut path) => {
                path.pop_if_empty().extend(parts);
            }
            Err(()) => return Err(Error::Endpoint(self.settings.endpoint.to_string())),
        }
        Ok(url)
    }

    pub(super) fn pace(&self) -> Pace {
        Pace::new(self.settings.retries)
    }

    /// Asks until there is an answer, or no hope of one.
    pub(super) async fn ask(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let mut pace = self.pace();
        loop {
            match self.once(request).await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Passing { reason, asked, end }) => {
                    let Some(wait) = pace.next(asked) else {
                        return Err(end(pace.tries));
                    };
                    self.wait(reason, wait).await;
                }
            }
        }
    }

    pub(super) async fn wait(&self, reason: String, wait: Duration) {
        let after = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        (self.listener)(Event::Retry { reason, after });
        sleep(wait).await;
    }

    /// The text of an answer, bounded.
    pub(super) async fn body(&self, request: &Request<'_>) -> Result<Vec<u8>, Error> {
        let mut pace = self.pace();
        loop {
            let answer = self.ask(request).await?;
            let error = match self.read(answer.response, MAX_BODY).await {
                Ok(body) if body.len() <= MAX_BODY => return Ok(body),
                Ok(_) => {
                    return Err(Error::Protocol {
                        url: request.url.to_string(),
                        problem: format!("with more than {MAX_BODY} bytes"),
                    });
                }
                Err(error) => error,
            };
            let Some(wait) = pace.next(None) else {
                return Err(Error::Unreachable {
                    url: request.url.to_string(),
                    tries: pace.tries,
                    source: error,
                });
            };
            self.wait(error.to_string(), wait).await;
        }
    }

    /// At most a little more than `limit` bytes.
    async fn read(
        &self,
        mut response: Response,
        limit: usize,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let mut body = Vec::new();
        while body.len() <= limit {
            match timeout(self.settings.deadlines.idle, response.chunk()).await {
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(error.without_url().into()),
                Err(elapsed) => return Err(elapsed.into()),
            }
        }
        Ok(body)
    }

    /// One try, through its redirects.
    async fn once(&self, request: &Request<'_>) -> Result<Answer, Trouble> {
        let mut url = request.url.clone();
        let mut hub = HeaderMap::new();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(request, &url).await?;
            if self.is_hub(&url) {
                hub.extend(response.headers().clone());
            }
            if !response.status().is_redirection() {
                return self.judge(request, response, hub).await;
            }
            let next = response
                .headers()
                .get(LOCATION)
                .and_then(|to| to.to_str().ok());
            let next = next.and_then(|to| url.join(to).ok());
            let next = next.filter(|to| matches!(to.scheme(), "http" | "https"));
            let Some(next) = next.filter(|to| to.scheme() == "https" || url.scheme() == "http")
            else {
                return Err(Trouble::Final(Error::Protocol {
                    url: bare(&url),
                    problem: "with a redirect that leads nowhere safe".into(),
                }));
            };
            url = next;
        }
        Err(Trouble::Final(Error::Redirects {
            url: request.url.to_string(),
            limit: MAX_REDIRECTS,
        }))
    }

    /// Whether a URL is the hub's own, to which alone the token goes.
    fn is_hub(&self, url: &Url) -> bool {
        url.origin() == self.settings.endpoint.origin()
    }

    async fn send(&self, request: &Request<'_>, url: &Url) -> Result<Response, Trouble> {
        let mut asked = self
            .client
            .request(request.method.clone(), url.clone())
            .header(ACCEPT_ENCODING, "identity");
        if request.from > 0 {
            asked = asked.header(RANGE, format!("bytes={}-", request.from));
        }
        if let Some(token) = self.settings.token.as_ref().filter(|_| self.is_hub(url)) {
            let value = format!("Bearer {}", token.expose_secret());
            let mut value = reqwest::header::HeaderValue::try_from(value).map_err(|_| {
                Trouble::Final(Error::Unauthorized {
                    subject: request.subject.to_owned(),
                    token: true,
                    message: "the token holds characters that no token has".into(),
                })
            })?;
            value.set_sensitive(true);
            asked = asked.header(AUTHORIZATION, value);
        }
        let (address, shown) = (bare(url), bare(url));
        let passing =
            |reason: String, source: Box<dyn std::error::Error + Send + Sync>| Trouble::Passing {
                reason: format!("{shown}: {reason}"),
                asked: None,
                end: Box::new(move |tries| Error::Unreachable {
                    url: address,
                    tries,
                    source,
                }),
            };
        match timeout(self.settings.deadlines.head, asked.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                let error = error.without_url();
                let cause = error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string);
                Err(passing(cause, error.into()))
            }
            Err(elapsed) => Err(passing("no answer in time".into(), elapsed.into())),
        }
    }

    /// What a status means.
    async fn judge(
        &self,
        request: &Request<'_>,
        response: Response,
        hub: HeaderMap,
    ) -> Result<Answer, Trouble> {
        let status = response.status();
        if status.is_success() {
            return Ok(Answer { response, hub });
        }
        let headers = response.headers().clone();
        let header = |name: &str| {
            let value = headers.get(name).or_else(|| hub.get(name))?;
            value.to_str().ok().map(str::to_owned)
        };
        let code = header("x-error-code").unwrap_or_default();
        let url = bare(response.url());
        let body = self.read(response, 64 << 10).await.unwrap_or_default();
        let message = header("x-error-message").unwrap_or_else(|| message(&body));
        let message: String = message
            .chars()
            .filter(|c| !c.is_control())
            .take(MAX_MESSAGE)
            .collect();
        let subject = request.subject.to_owned();
        let passing = matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        ) || status.is_server_error();
        if passing {
            return Err(Trouble::Passing {
                reason: format!("{url}: {status}"),
                asked: pace::asked(&headers),
                end: Box::new(move |tries| Error::Refused {
                    url,
                    status: status.as_u16(),
                    tries,
                    message,
                }),
            });
        }
        Err(Trouble::Final(match (status, code.as_str()) {
            (_, "GatedRepo") => Error::Forbidden {
                subject,
                gated: true,
                page: request.page.clone(),
                message,
            },
            // The hub says 401 of a dataset that it does not have, so that nobody learns which private ones there are.
            (StatusCode::UNAUTHORIZED, _) => Error::Unauthorized {
                subject,
                token: self.settings.token.is_some(),
                message,
            },
            (StatusCode::FORBIDDEN, _) => Error::Forbidden {
                subject,
                gated: false,
                page: request.page.clone(),
                message,
            },
            (StatusCode::NOT_FOUND, code) => Error::NotFound {
                what: match code {
                    "RevisionNotFound" => "revision",
                    "EntryNotFound" => "file",
                    _ => "dataset",
                },
                subject,
            },
            _ => Error::Refused {
                url,
                status: status.as_u16(),
                tries: 1,
                message,
            },
        }))
    }
}

/// A URL without its query: storages are asked by signed URLs, which are as good as a password for a while.
fn bare(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    bare.to_string()
}

/// `{"error": …}`.
fn message(body: &[u8]) -> String {
    let said = serde_json::from_slice::<serde_json::Value>(body).ok();
    let text = said.as_ref().and_then(|said| said.get("error")?.as_str());
    text.unwrap_or_default().to_owned()
}
