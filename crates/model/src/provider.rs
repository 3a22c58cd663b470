//! Opening a model.

use std::sync::Arc;
use std::time::Duration;

use schema::InstanceId;

use crate::canned::Files;
use crate::choice::Choice;
use crate::error::Error;
use crate::service::Service;
use crate::settings::Settings;
use crate::{anthropic, openai_chat, openai_responses, recorded, script};

/// A model that is ready to be asked, shared by all attempts of a run.
pub trait Provider: Send + Sync {
    /// The model as given, `provider:name`.
    fn name(&self) -> &str;
    /// Whether replies carry their cost, so that a limit on it can hold.
    fn price_known(&self) -> bool;
    /// The model as one attempt sees it; recorded replies start from the first.
    ///
    /// # Errors
    /// When there are no recorded replies for the instance, or they cannot be read.
    fn model(
        &self,
        instance: &InstanceId,
        sample: u32,
    ) -> Result<Arc<dyn agent::ports::Model>, Error>;
}

/// Makes a model ready. Files of replies are read here where one serves all instances, so that mistakes show at the start; only a model with a
/// server asks for the `client`.
///
/// # Errors
/// When the settings cannot work, the replies cannot be read, or there is no client.
pub fn open(
    choice: &Choice,
    settings: &Settings,
    client: impl FnOnce() -> Result<reqwest::Client, Error>,
) -> Result<Arc<dyn Provider>, Error> {
    Ok(match choice {
        Choice::Served { service, model } => match service {
            Service::OpenAi => Arc::new(openai_chat::open(choice, model, settings, client()?)?),
            Service::OpenAiResponses => {
                Arc::new(openai_responses::open(choice, model, settings, client()?)?)
            }
            Service::Anthropic => Arc::new(anthropic::open(choice, model, settings, client()?)?),
        },
        Choice::Script { path } => Arc::new(Files::open(choice, path, script::KIND)?),
        Choice::Replay { path } => Arc::new(Files::open(choice, path, recorded::KIND)?),
    })
}

/// The HTTP client of a run: TLS by rustls with ring, connections kept alive, proxies from the environment. It follows no redirect: that would
/// make a question of it that has no body, and hand headers with keys to whatever host is named.
///
/// # Errors
/// When the system's certificates cannot be loaded.
pub fn client(connect_timeout: Duration) -> Result<reqwest::Client, Error> {
    // A second caller finds a provider installed: that one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("patchmill/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::none())
        .pool_max_idle_per_host(usize::MAX)
        .build()
        .map_err(Error::Client)
}
