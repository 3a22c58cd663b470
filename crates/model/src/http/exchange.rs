//! One try: send, read, within its deadlines and within bounded memory.

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, Request, Response, StatusCode};
use tokio::time::timeout;

use super::answer::Answer;
use super::endpoint::Endpoint;
use super::sse::Events;
use super::trouble::{Class, ServerError, Trouble, excerpt};
use super::{Decoder, Protocol};
use crate::retry::retry_after;
use crate::settings::Deadlines;
use crate::wire::Body;

/// Longest reply that is read, in bytes: far above what any model writes, far below what would hurt.
const MAX_REPLY: usize = 64 << 20;
/// Longest error body that is read.
const MAX_ERROR: usize = 64 << 10;
/// How long a whole answer waits for its usage and its end mark.
const AFTERMATH: Duration = Duration::from_secs(5);
/// How long the end of the body may take after the end mark, so that the connection can serve again.
const DRAIN: Duration = Duration::from_millis(20);

/// What one try needs.
pub(super) struct Exchange<'a, P> {
    pub(super) client: &'a reqwest::Client,
    pub(super) endpoint: &'a Endpoint,
    pub(super) protocol: &'a P,
    pub(super) deadlines: &'a Deadlines,
}

impl<P: Protocol> Exchange<'_, P> {
    pub(super) async fn run(&self, body: Body) -> Result<Answer, Trouble> {
        let first_byte = self.deadlines.first_byte;
        let response = timeout(first_byte, self.client.execute(self.request(body)))
            .await
            .map_err(|_| {
                Trouble::new(
                    Class::Timeout,
                    format!("sent no answer within {first_byte:?}"),
                )
            })?
            .map_err(|error| not_sent(&error))?;
        self.endpoint.mark_answered();
        let mut incoming = Incoming {
            response,
            idle: self.deadlines.idle,
            read: 0,
        };
        if incoming.response.status().is_success() {
            let result = if incoming.content_type().contains("event-stream") {
                self.stream(&mut incoming).await
            } else {
                self.whole(&mut incoming).await
            };
            result.map_err(|trouble| Trouble {
                status: Some(incoming.response.status().as_u16()),
                ..trouble
            })
        } else {
            Err(refusal(&mut incoming).await)
        }
    }

    fn request(&self, body: Body) -> Request {
        let mut request = Request::new(Method::POST, self.endpoint.url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&self.endpoint.headers);
        headers.insert(CONTENT_LENGTH, body.len().into());
        *request.body_mut() = Some(body.stream());
        request
    }

    async fn stream(&self, incoming: &mut Incoming) -> Result<Answer, Trouble> {
        let mut events = Events::default();
        let mut decoder = self.protocol.decoder();
        while !decoder.is_over() {
            let wait = if decoder.is_whole() {
                incoming.idle.min(AFTERMATH)
            } else {
                incoming.idle
            };
            let step = match incoming.next(wait).await {
                Ok(Some(bytes)) => events.feed(&bytes, &mut |data| take(&mut decoder, data)),
                Ok(None) => {
                    let ended = events.end(&mut |data| take(&mut decoder, data));
                    if decoder.is_whole() {
                        break;
                    }
                    ended?;
                    return decoder.finish();
                }
                Err(trouble) => Err(trouble),
            };
            match step {
                Ok(()) => {}
                // The answer is paid for and whole: what fails after it does not matter.
                Err(_) if decoder.is_whole() => break,
                Err(trouble) => return Err(trouble),
            }
        }
        let _ = timeout(DRAIN, incoming.response.chunk()).await;
        decoder.finish()
    }

    async fn whole(&self, incoming: &mut Incoming) -> Result<Answer, Trouble> {
        let body = incoming.collect().await?;
        let unreadable = |what: &str| {
            Trouble::new(
                Class::Unavailable,
                format!(
                    "answered {} with {what}: {}",
                    incoming.response.status().as_u16(),
                    excerpt(&body)
                ),
            )
        };
        let text = std::str::from_utf8(&body).map_err(|error| {
            unreadable(&format!("invalid UTF-8 at byte {}", error.valid_up_to()))
        })?;
        let start = text.trim_start();
        if start.is_empty() {
            return Err(unreadable("an empty body"));
        }
        if start.starts_with('<') || incoming.content_type().contains("html") {
            return Err(unreadable(
                "HTML instead of JSON (does the base URL end in `/v1`?)",
            ));
        }
        if ["data:", "event:", ":"]
            .iter()
            .any(|mark| start.starts_with(mark))
        {
            return self.events(&body);
        }
        self.protocol.read(text)
    }

    /// Reads events that came under another content type.
    fn events(&self, body: &[u8]) -> Result<Answer, Trouble> {
        let mut events = Events::default();
        let mut decoder = self.protocol.decoder();
        let mut on_data = |data: &[u8]| take(&mut decoder, data);
        events.feed(body, &mut on_data)?;
        events.end(&mut on_data)?;
        decoder.finish()
    }
}

fn take(decoder: &mut impl Decoder, data: &[u8]) -> Result<(), Trouble> {
    if data.is_empty() || decoder.is_over() {
        return Ok(());
    }
    let text = std::str::from_utf8(data).map_err(|_| {
        Trouble::new(
            Class::Unavailable,
            format!("sent an event with invalid UTF-8: {}", excerpt(data)),
        )
    })?;
    decoder.take(text)
}

/// A response that is being read.
struct Incoming {
    response: Response,
    idle: Duration,
    read: usize,
}

impl Incoming {
    fn content_type(&self) -> &str {
        self.response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The next bytes, `None` at the end.
    async fn next(&mut self, wait: Duration) -> Result<Option<Bytes>, Trouble> {
        let bytes = timeout(wait, self.response.chunk())
            .await
            .map_err(|_| {
                Trouble::new(
                    Class::Timeout,
                    format!("stalled for {wait:?} after {} bytes", self.read),
                )
            })?
            .map_err(|error| {
                Trouble::new(
                    Class::Unavailable,
                    format!(
                        "broke off its answer after {} bytes: {}",
                        self.read,
                        causes(&error)
                    ),
                )
            })?;
        self.read += bytes.as_ref().map_or(0, Bytes::len);
        if self.read > MAX_REPLY {
            return Err(Trouble::new(
                Class::Oversize,
                format!(
                    "sent a reply of more than {} MiB, which was cut off",
                    MAX_REPLY >> 20
                ),
            ));
        }
        Ok(bytes)
    }

    async fn collect(&mut self) -> Result<Vec<u8>, Trouble> {
        let announced = self.response.content_length().unwrap_or(0);
        let capacity = usize::try_from(announced).unwrap_or(usize::MAX);
        let mut body = Vec::with_capacity(capacity.min(1 << 20));
        while let Some(bytes) = self.next(self.idle).await? {
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }
}

/// What a status other than success means. The body may be anything, and is read only as far as it helps.
async fn refusal(incoming: &mut Incoming) -> Trouble {
    let status = incoming.response.status();
    let mut body = Vec::new();
    while body.len() < MAX_ERROR
        && let Ok(Some(bytes)) = incoming.next(incoming.idle).await
    {
        body.extend_from_slice(&bytes);
    }
    let error = ServerError::read(&body);
    Trouble {
        class: error.class(Some(status.as_u16())),
        message: describe_refusal(&incoming.response, &error, &body),
        status: Some(status.as_u16()),
        retry_after: retry_after(incoming.response.headers()),
    }
}

fn describe_refusal(response: &Response, error: &ServerError, body: &[u8]) -> String {
    let status = response.status();
    let code = error
        .code()
        .map(|code| format!(" ({})", code.escape_debug()));
    let text = if error.message.is_empty() {
        body
    } else {
        error.message.as_bytes()
    };
    let hint = if status == StatusCode::NOT_FOUND {
        " (is the base URL right, and the model's name?)".to_owned()
    } else if let Some(location) = response.headers().get(LOCATION) {
        let location = excerpt(location.as_bytes());
        format!(
            " (it points to {location}; redirects are not followed, so set the base URL accordingly)"
        )
    } else {
        String::new()
    };
    format!(
        "answered {status}{}: {}{hint}",
        code.unwrap_or_default(),
        excerpt(text)
    )
}

/// A request that got no status.
fn not_sent(error: &reqwest::Error) -> Trouble {
    let causes = causes(error);
    if error.is_connect() {
        Trouble::new(Class::Unreachable, format!("cannot be reached: {causes}"))
    } else if error.is_builder() {
        Trouble::new(Class::BadRequest, format!("was not asked: {causes}"))
    } else {
        Trouble::new(
            Class::Unavailable,
            format!("closed the connection without an answer: {causes}"),
        )
    }
}

/// The causes below the client's own words, which repeat the address and with it what may be secret.
fn causes(error: &reqwest::Error) -> String {
    let chain = std::iter::successors(error.source(), |cause| (*cause).source());
    let texts: Vec<String> = chain.map(ToString::to_string).collect();
    if texts.is_empty() {
        "no cause given".to_owned()
    } else {
        texts.join(": ")
    }
}
