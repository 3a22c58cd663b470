//! Putting streamed answers together.
//!
//! Items are taken from the events that end them, since only these hold reasoning for sure as it has to go back (so says OpenAI's client of
//! `encrypted_content`), and since some gateways send a last event without output. Text that comes in pieces is left to the event that ends its item.

use serde_json::value::RawValue;

use super::reply;
use super::wire::{Event, Response};
use crate::http::trouble::{Class, Trouble, excerpt};
use crate::http::{Answer, Decoder};
use crate::raw::{present, text};

/// The data of the last event at servers that come from chat completions.
const END_MARK: &str = "[DONE]";

/// An answer in the making.
#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    /// Items that are done, with their places.
    items: Vec<(u64, Box<RawValue>)>,
    /// The response, as the event that ends it holds it.
    response: Option<Box<RawValue>>,
    over: bool,
}

impl Decoder for ResponsesDecoder {
    fn take(&mut self, data: &str) -> Result<(), Trouble> {
        if data.trim() == END_MARK {
            self.over = true;
            return Ok(());
        }
        let event: Event<'_> = serde_json::from_str(data).map_err(|error| {
            failed(format!(
                "sent an event that cannot be read ({error}): {}",
                excerpt(data.as_bytes())
            ))
        })?;
        let kind = text(event.kind).unwrap_or_default();
        match kind.as_str() {
            "response.output_item.done" => {
                let place = event
                    .output_index
                    .and_then(|place| place.get().parse().ok());
                if let Some(item) = present(event.item) {
                    self.items
                        .push((place.unwrap_or(u64::MAX), item.to_owned()));
                }
            }
            "response.completed" | "response.incomplete" => {
                self.response = present(event.response).map(ToOwned::to_owned);
                self.over = true;
            }
            "response.failed" => return Err(failure(&event)),
            // The error is the event itself, or stands in it.
            "error" => return Err(Trouble::reported(whole(data)?)),
            _ if present(event.error).is_some() => return Err(Trouble::reported(whole(data)?)),
            _ => {}
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.over
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(mut self) -> Result<Answer, Trouble> {
        if !self.over {
            return Err(failed(
                "ended its stream before the response was complete".to_owned(),
            ));
        }
        let response: Response<'_> = match &self.response {
            Some(response) => serde_json::from_str(response.get())
                .map_err(|error| failed(format!("sent a response that is none ({error})")))?,
            None if self.items.is_empty() => {
                return Err(failed("sent a stream without a response".to_owned()));
            }
            None => Response::default(),
        };
        reply::check(&response)?;
        self.items.sort_by_key(|(place, _)| *place);
        let done: Vec<&RawValue> = self.items.iter().map(|(_, item)| &**item).collect();
        // An item that was cut off may only be in the response.
        let output = match &response.output {
            Some(output) if output.len() > done.len() => output,
            Some(_) | None => &done,
        };
        reply::answer(&response, output)
            .map_err(|error| failed(format!("sent output that cannot be read ({error})")))
    }
}

fn failed(what: String) -> Trouble {
    Trouble::new(Class::Unavailable, what)
}

/// An event as one value.
fn whole(data: &str) -> Result<&RawValue, Trouble> {
    serde_json::from_str(data)
        .map_err(|error| failed(format!("sent an event that cannot be read ({error})")))
}

/// Why the server gave up.
fn failure(event: &Event<'_>) -> Trouble {
    let response = event
        .response
        .and_then(|response| serde_json::from_str::<Response<'_>>(response.get()).ok());
    let error = response.and_then(|response| present(response.error));
    error.map_or_else(
        || failed("gave up on its response, and did not say why".to_owned()),
        Trouble::reported,
    )
}
