//! Asking a server: the limiter, the tries, the deadlines. What the bytes mean is a [`Protocol`]'s affair.

mod answer;
mod endpoint;
mod exchange;
mod sse;
pub(crate) mod trouble;

use std::sync::Arc;
use std::time::Duration;

use agent::ports::{Fragment, Head, Model, Request, Shape};
use futures_util::future::BoxFuture;
use schema::event::ModelFailure;
use schema::message::Retry;
use schema::{InstanceId, Reply, Turn};
use tokio::time::{Instant, sleep, timeout};

pub(crate) use answer::{Answer, AnswerCall};
pub(crate) use endpoint::Endpoint;

use crate::error::Error;
use crate::limiter::{Limiter, Permit};
use crate::price::Price;
use crate::provider::Provider;
use crate::retry::Pace;
use crate::settings::{Deadlines, RetryPolicy, Settings};
use crate::wire::{Body, Mark};
use exchange::Exchange;
use trouble::{Class, Trouble};

/// What a wire protocol knows beyond HTTP.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// Reads a streamed answer.
    type Decoder: Decoder;

    /// What follows the last turn of a request.
    const TAIL: &'static [u8];

    /// What the last parts of a request have filled in.
    fn mark(&self) -> Option<Mark> {
        None
    }
    /// Serialises the part of a conversation that never changes.
    fn head(&self, head: &Head) -> Fragment;
    /// Serialises one turn.
    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment;
    /// Reads a whole answer.
    fn read(&self, body: &str) -> Result<Answer, Trouble>;
    /// Starts to read a streamed one.
    fn decoder(&self) -> Self::Decoder;
}

/// Puts a streamed answer together.
pub(crate) trait Decoder: Send {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Result<(), Trouble>;
    /// Whether the answer is whole, though more may follow (usage, an end mark).
    fn is_whole(&self) -> bool;
    /// Whether nothing more follows.
    fn is_over(&self) -> bool;
    /// The answer.
    fn finish(self) -> Result<Answer, Trouble>;
}

/// A model behind an endpoint, shared by all attempts of a run.
pub(crate) struct HttpProvider<P> {
    name: String,
    shared: Arc<Shared<P>>,
}

struct Shared<P> {
    protocol: P,
    client: reqwest::Client,
    endpoint: Endpoint,
    limiter: Arc<Limiter>,
    retry: RetryPolicy,
    deadlines: Deadlines,
    price: Option<Price>,
    window: Option<u64>,
    max_output: Option<u64>,
    seed: u64,
}

impl<P: Protocol> HttpProvider<P> {
    /// `model` is the name by which prices are found.
    pub(crate) fn new(
        name: String,
        model: &str,
        protocol: P,
        endpoint: Endpoint,
        settings: &Settings,
        client: reqwest::Client,
    ) -> Self {
        Self {
            name,
            shared: Arc::new(Shared {
                protocol,
                client,
                endpoint,
                limiter: Arc::new(Limiter::new(settings.max_connections)),
                retry: settings.retry,
                deadlines: settings.deadlines,
                price: settings.price.or_else(|| settings.prices.get(model)),
                window: settings.window,
                max_output: settings.max_output_tokens,
                seed: settings.seed,
            }),
        }
    }
}

impl<P: Protocol> Provider for HttpProvider<P> {
    fn name(&self) -> &str {
        &self.name
    }

    fn price_known(&self) -> bool {
        self.shared.price.is_some()
    }

    fn model(&self, instance: &InstanceId, sample: u32) -> Result<Arc<dyn Model>, Error> {
        Ok(Arc::new(HttpModel {
            shared: Arc::clone(&self.shared),
            instance: instance.clone(),
            sample,
        }))
    }
}

/// The model as one attempt sees it.
struct HttpModel<P> {
    shared: Arc<Shared<P>>,
    instance: InstanceId,
    sample: u32,
}

impl<P: Protocol> Model for HttpModel<P> {
    fn head(&self, head: &Head) -> Fragment {
        self.shared.protocol.head(head)
    }

    fn turn(&self, turn: &Turn, shape: Shape) -> Fragment {
        self.shared.protocol.turn(turn, shape)
    }

    fn window(&self) -> Option<u64> {
        self.shared.window
    }

    fn max_output(&self) -> Option<u64> {
        self.shared.max_output
    }

    fn query<'a>(&'a self, request: Request) -> BoxFuture<'a, Result<Reply, ModelFailure>> {
        Box::pin(async move {
            let mut tries = Tries {
                model: self,
                pace: Pace::new(
                    self.shared.retry,
                    self.shared.seed,
                    (self.instance.as_str(), self.sample, request.index),
                ),
                request,
                started: Instant::now(),
                spent: Duration::ZERO,
                failed: Vec::new(),
            };
            tries.run().await
        })
    }
}

/// One request through all its tries.
struct Tries<'a, P> {
    model: &'a HttpModel<P>,
    request: Request,
    pace: Pace,
    started: Instant,
    /// Time of the tries alone.
    spent: Duration,
    failed: Vec<Retry>,
}

impl<P: Protocol> Tries<'_, P> {
    async fn run(&mut self) -> Result<Reply, ModelFailure> {
        let shared = &self.model.shared;
        loop {
            let Some(permit) = self.unless_ended(shared.limiter.acquire()).await else {
                return Err(self.ended());
            };
            let began = Instant::now();
            let result = self.try_once().await;
            let took = began.elapsed();
            self.spent += took;
            match result {
                Ok(answer) => {
                    permit.clean();
                    return Ok(self.reply(answer, took));
                }
                Err(trouble) => {
                    let wait = self.note(&permit, &trouble);
                    drop(permit);
                    let Some(wait) = wait else {
                        return Err(self.fail(&trouble));
                    };
                    if self.unless_ended(sleep(wait)).await.is_none() {
                        return Err(self.ended());
                    }
                }
            }
        }
    }

    /// Waits for its turn unless the request is cancelled or the endpoint halted first.
    async fn unless_ended<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => None,
            () = self.model.shared.endpoint.halt().pulled() => None,
            done = self.request.waits.during(work) => Some(done),
        }
    }

    /// Why the request ended without another try.
    fn ended(&mut self) -> ModelFailure {
        let halt = self.model.shared.endpoint.halt().failure();
        match halt {
            Some(failure) if !self.request.cancel.is_cancelled() => ModelFailure {
                retries: std::mem::take(&mut self.failed),
                ..failure.clone()
            },
            Some(_) | None => self.fail(&cancelled()),
        }
    }

    async fn try_once(&self) -> Result<Answer, Trouble> {
        let shared = &self.model.shared;
        let left = self
            .request
            .time_left
            .map(|left| left.saturating_sub(self.spent));
        let total = shared.deadlines.total.min(left.unwrap_or(Duration::MAX));
        let exchange = Exchange {
            client: &shared.client,
            endpoint: &shared.endpoint,
            protocol: &shared.protocol,
            deadlines: &shared.deadlines,
        };
        let body = Body::new(&self.request, P::TAIL, shared.protocol.mark());
        tokio::select! {
            biased;
            () = self.request.cancel.cancelled() => Err(cancelled()),
            done = timeout(total, exchange.run(body)) => match done {
                Ok(result) => result.map_err(|trouble| self.judge(trouble)),
                Err(_) if left.is_some_and(|left| left <= total) => Err(Trouble::new(
                    Class::OutOfTime,
                    "did not answer before the attempt's time was up".to_owned(),
                )),
                Err(_) => Err(Trouble::new(
                    Class::Timeout,
                    format!("sent no whole answer within {total:?}"),
                )),
            },
        }
    }

    /// A refused request that is larger than the window is an overflow, whatever the server calls it.
    fn judge(&self, mut trouble: Trouble) -> Trouble {
        let turns: u64 = self.request.turns.iter().map(|turn| turn.tokens).sum();
        let tokens = self.request.head.tokens + turns;
        let window = self.model.shared.window;
        if trouble.class == Class::BadRequest && window.is_some_and(|window| tokens > window) {
            trouble.class = Class::Overflow;
        }
        trouble
    }

    /// Records a failed try and decides how long to wait for the next.
    fn note(&mut self, permit: &Permit, trouble: &Trouble) -> Option<Duration> {
        if trouble.class == Class::RateLimited {
            permit.limited();
        }
        let contacted = self.model.shared.endpoint.has_answered();
        let wait = self.pace.next(trouble, self.started.elapsed(), contacted);
        let error = self.describe(trouble);
        tracing::debug!(%error, ?wait, "a request failed");
        self.failed.push(Retry {
            error,
            status: trouble.status,
            waited_ms: wait.map_or(0, milliseconds),
        });
        wait
    }

    /// The failure after the last try; a refused key or account ends the endpoint.
    fn fail(&mut self, trouble: &Trouble) -> ModelFailure {
        let mut message = self.describe(trouble);
        if self.failed.len() > 1 {
            message = format!("{message} (try {})", self.failed.len());
        }
        let failure = ModelFailure {
            kind: trouble.class.kind(),
            message,
            retries: std::mem::take(&mut self.failed),
            waited_ms: 0,
        };
        if matches!(trouble.class, Class::Auth | Class::Billing) {
            self.model.shared.endpoint.halt().pull(&failure);
        }
        failure
    }

    /// The trouble with its endpoint, without secrets.
    fn describe(&self, trouble: &Trouble) -> String {
        let endpoint = &self.model.shared.endpoint;
        endpoint.redact(format!("{} {}", endpoint.label, trouble.message))
    }

    fn reply(&mut self, answer: Answer, took: Duration) -> Reply {
        let mut reply = answer.reply(self.request.index, self.model.shared.price);
        reply.retries = std::mem::take(&mut self.failed);
        reply.elapsed_ms = milliseconds(took);
        reply
    }
}

fn cancelled() -> Trouble {
    Trouble::new(
        Class::Cancelled,
        "was not waited for: the request was cancelled".to_owned(),
    )
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
