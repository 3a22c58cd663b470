//! Responses: OpenAI's protocol for models that reason, asked without any state on the server.
//!
//! Every request says `store: false` and carries the whole conversation; reasoning comes encrypted and goes back as it came. Facts about the
//! protocol are from OpenAI's description of it (`openai/openai-openapi`) and from the types of its own client (`openai` 3.57 for Python); what
//! its service refuses beyond them is from reports of its users, named where it matters.

mod carry;
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
use request::Format;
use stream::ResponsesDecoder;

/// The protocol with a model's parameters.
pub(crate) struct Responses {
    format: Format,
}

/// Makes a model ready.
pub(crate) fn open(
    choice: &Choice,
    model: &str,
    settings: &Settings,
    client: reqwest::Client,
) -> Result<HttpProvider<Responses>, Error> {
    let endpoint = Endpoint::of(Service::OpenAiResponses, "/responses", settings)?;
    let protocol = Responses {
        format: Format::new(model, settings)?,
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

impl Protocol for Responses {
    type Decoder = ResponsesDecoder;

    const TAIL: &'static [u8] = request::TAIL;

    fn head(&self, head: &Head) -> Fragment {
        self.format.head(head)
    }

    fn turn(&self, content: &Turn, shape: Shape) -> Fragment {
        request::turn(content, shape)
    }

    fn read(&self, body: &str) -> Result<Answer, Trouble> {
        reply::read(body)
    }

    fn decoder(&self) -> ResponsesDecoder {
        ResponsesDecoder::default()
    }
}
