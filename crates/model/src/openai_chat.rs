//! Chat completions: OpenAI's protocol, and all servers that speak it.

mod assistant;
mod reply;
mod request;
mod stream;
mod wire;

use agent::ports::{Fragment, Head, Shape};
use schema::Turn;

pub(crate) use request::{Format, turn};

use crate::choice::Choice;
use crate::error::Error;
use crate::http::trouble::Trouble;
use crate::http::{Answer, Endpoint, HttpProvider, Protocol};
use crate::service::Service;
use crate::settings::Settings;
use stream::ChatDecoder;

/// The protocol with a model's parameters.
pub(crate) struct Chat {
    format: Format,
}

/// Makes a model ready.
pub(crate) fn open(
    choice: &Choice,
    model: &str,
    settings: &Settings,
    client: reqwest::Client,
) -> Result<HttpProvider<Chat>, Error> {
    let endpoint = Endpoint::of(Service::OpenAi, "/chat/completions", settings)?;
    // OpenAI's newer models refuse the old name of the limit, most other servers know no other.
    let limit_field = match endpoint.url.host_str() {
        Some("api.openai.com") => "max_completion_tokens",
        Some(_) | None => "max_tokens",
    };
    let protocol = Chat {
        format: Format::new(model, settings, limit_field)?,
    };
    Ok(HttpProvider::new(
        choice.to_string(),
        model,
        protocol,
        endpoint,
        settings,
        client,
    ))
}

impl Protocol for Chat {
    type Decoder = ChatDecoder;

    const TAIL: &'static [u8] = request::TAIL;

    fn head(&self, head: &Head) -> Fragment {
        self.format.head(head)
    }

    fn turn(&self, content: &Turn, shape: Shape) -> Fragment {
        turn(content, shape)
    }

    fn read(&self, body: &str) -> Result<Answer, Trouble> {
        reply::read(body)
    }

    fn decoder(&self) -> ChatDecoder {
        ChatDecoder::default()
    }
}
