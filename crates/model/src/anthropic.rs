//! Messages: Anthropic's protocol, and all servers that speak it.
//!
//! Facts are those of <https://platform.claude.com/docs/en/api/messages> and of the types in the package `anthropic` 2.14 for Python, unless
//! another source is named.

mod assistant;
mod limits;
mod reply;
mod request;
mod stream;
mod wire;

use agent::ports::{Fragment, Head, Shape};
use schema::Turn;

use crate::choice::Choice;
use crate::error::Error;
use crate::http::trouble::Trouble;
use crate::http::{Answer, Endpoint, HttpProvider, Protocol};
use crate::service::Service;
use crate::settings::Settings;
use crate::wire::Mark;
use request::Format;
use stream::MessageDecoder;

/// The protocol with a model's parameters.
pub(crate) struct Messages {
    format: Format,
}

/// Makes a model ready. What the settings leave open is filled in where it is known of the model: this protocol asks for an output limit.
pub(crate) fn open(
    choice: &Choice,
    model: &str,
    settings: &Settings,
    client: reqwest::Client,
) -> Result<HttpProvider<Messages>, Error> {
    let limit = settings
        .max_output_tokens
        .unwrap_or_else(|| limits::output(model, limits::thinking(&settings.extra_body)));
    let settings = Settings {
        max_output_tokens: Some(limit),
        window: settings.window.or_else(|| limits::window(model)),
        ..settings.clone()
    };
    let endpoint = Endpoint::of(Service::Anthropic, "/v1/messages", &settings)?;
    let protocol = Messages {
        format: Format::new(model, &settings, limit)?,
    };
    Ok(HttpProvider::new(
        choice.to_string(),
        model,
        protocol,
        endpoint,
        &settings,
        client,
    ))
}

impl Protocol for Messages {
    type Decoder = MessageDecoder;

    const TAIL: &'static [u8] = request::TAIL;

    fn mark(&self) -> Option<Mark> {
        self.format.mark()
    }

    fn head(&self, head: &Head) -> Fragment {
        self.format.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        request::turn(turn, shape)
    }

    fn read(&self, body: &str) -> Result<Answer, Trouble> {
        reply::read(body)
    }

    fn decoder(&self) -> MessageDecoder {
        MessageDecoder::default()
    }
}
