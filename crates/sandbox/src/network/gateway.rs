//! The way out of one sandbox: a proxy, and the tunnel to it, which is closed with the place's programs and opened with them again.

use std::sync::Arc;

use schema::journal::NetworkUse;
use tokio::sync::Mutex;

use super::probe;
use super::proxy::Proxy;
use super::rule::Allowed;
use super::tunnel::{Interpreter, Tunnel};
use crate::error::Error;
use crate::place::Place;

/// Port of the door inside: the usual one of HTTP proxies.
pub const DOOR: u16 = 3128;

/// Variables by which programs find the proxy. Not all of them know both spellings.
pub fn variables() -> Vec<(String, String)> {
    let proxy = format!("http://127.0.0.1:{DOOR}");
    let own = "localhost,127.0.0.1,::1";
    let named = |names: &[&str], value: &str| {
        let pairs = names
            .iter()
            .map(|&name| (name.to_owned(), value.to_owned()));
        pairs.collect::<Vec<_>>()
    };
    let mut variables = named(
        &["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"],
        &proxy,
    );
    variables.extend(named(&["NO_PROXY", "no_proxy"], own));
    variables
}

/// The way out of one sandbox.
pub(crate) struct Gateway {
    place: Arc<dyn Place>,
    proxy: Arc<Proxy>,
    tunnel: Mutex<Option<Tunnel>>,
}

impl Gateway {
    pub(crate) fn new(place: Arc<dyn Place>, allowed: Allowed) -> Self {
        Self {
            place,
            proxy: Arc::new(Proxy::new(allowed)),
            tunnel: Mutex::default(),
        }
    }

    /// Opens it where it is closed. The place's first program has to be open already.
    pub(crate) async fn open(&self) -> Result<Interpreter, Error> {
        let mut tunnel = self.tunnel.lock().await;
        if let Some(tunnel) = tunnel.as_ref() {
            return Ok(tunnel.interpreter());
        }
        let place = Arc::clone(&self.place);
        let opened = Tunnel::open(place, DOOR, Arc::clone(&self.proxy) as _).await?;
        let interpreter = opened.interpreter();
        *tunnel = Some(opened);
        Ok(interpreter)
    }

    /// What the proxy says to a program inside that asks for a host which nobody can have allowed.
    ///
    /// # Errors
    /// When that is no refusal.
    pub(crate) async fn probe(&self, interpreter: Interpreter) -> Result<u16, Error> {
        let status = probe::refusal(self.place.as_ref(), interpreter, DOOR).await?;
        // Nobody inside has asked for it.
        self.proxy.forgive(probe::NOBODY);
        Ok(status)
    }

    pub(crate) async fn is_open(&self) -> bool {
        self.tunnel.lock().await.is_some()
    }

    /// Closes it, and with it all connections.
    pub(crate) async fn close(&self) {
        if let Some(tunnel) = self.tunnel.lock().await.take() {
            tunnel.close().await;
        }
    }

    pub(crate) fn so_far(&self) -> NetworkUse {
        self.proxy.so_far()
    }
}
