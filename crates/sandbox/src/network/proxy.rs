//! An HTTP proxy on the runner's side, for the hosts that a sandbox may reach.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schema::journal::NetworkUse;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::address::is_public;
use super::lookup::Lookups;
use super::relay::relay;
use super::request::{self, Request, Unreadable};
use super::rule::{Allowed, Host, Target};
use super::session::Service;
use super::streams::Connection;
use super::traffic::Traffic;

/// How long a client may take to say what it wants.
const ASK: Duration = Duration::from_secs(30);
/// How long one address may take to answer, and how many of them are tried.
const CONNECT: Duration = Duration::from_secs(10);
const ADDRESSES: usize = 4;
/// How long a connection may carry nothing.
const IDLE: Duration = Duration::from_mins(5);
/// What a client that was refused may still send, and for how long, before its connection is cut.
const REST: u64 = 1 << 20;
const REST_TIME: Duration = Duration::from_secs(2);

/// Reaches the allowed hosts, and no others.
pub struct Proxy {
    allowed: Allowed,
    traffic: Traffic,
    lookups: Lookups,
}

/// An answer in place of a connection.
struct Refusal {
    status: &'static str,
    /// What was asked for, where that is to be counted as refused.
    target: Option<String>,
    text: String,
}

impl Refusal {
    fn new(status: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            target: None,
            text: text.into(),
        }
    }
}

impl Proxy {
    /// A proxy for these hosts.
    pub fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            traffic: Traffic::default(),
            lookups: Lookups::new(),
        }
    }

    /// What went through it so far.
    pub fn so_far(&self) -> NetworkUse {
        self.traffic.so_far()
    }

    /// Takes a refusal out of the counts.
    pub(super) fn forgive(&self, target: &str) {
        self.traffic.forgive(target);
    }

    async fn hold(&self, mut client: Connection) -> io::Result<()> {
        let (request, host) = match self.admitted(&mut client).await {
            Ok(Some(admitted)) => admitted,
            Ok(None) => return Ok(()),
            Err(refusal) => return self.refuse(client, refusal).await,
        };
        let mut host = host;
        if request.tunnel {
            let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
            client.write_all(established).await?;
        }
        let traffic = &self.traffic;
        let begun = request.forward.len() as u64;
        timeout(IDLE, host.write_all(&request.forward)).await??;
        traffic.sent.fetch_add(begun, Ordering::Relaxed);
        relay(client, host, IDLE, &traffic.sent, &traffic.received).await
    }

    /// What the client wants, and a connection to where it may have it; `None` when it is gone.
    async fn admitted(
        &self,
        client: &mut Connection,
    ) -> Result<Option<(Request, TcpStream)>, Refusal> {
        let request = match timeout(ASK, request::read(client)).await {
            Ok(Ok(request)) => request,
            Ok(Err(Unreadable::Gone)) => return Ok(None),
            Ok(Err(Unreadable::Wrong(problem))) => {
                return Err(Refusal::new("400 Bad Request", problem));
            }
            Ok(Err(Unreadable::Other(problem))) => return Err(self.forbidden(None, &problem)),
            Err(_) => {
                return Err(Refusal::new(
                    "408 Request Timeout",
                    "no request came in time",
                ));
            }
        };
        let target = match &request.target {
            Some(target) if self.allowed.permits(target) => target,
            named => {
                // In the form that rules have, where it has one.
                let asked = named
                    .as_ref()
                    .map_or_else(|| request.asked.clone(), ToString::to_string);
                let problem = format!("`{asked}` is not allowed");
                return Err(self.forbidden(Some(asked), &problem));
            }
        };
        let host = self.reach(target).await?;
        self.traffic.connections.fetch_add(1, Ordering::Relaxed);
        let _ = host.set_nodelay(true);
        Ok(Some((request, host)))
    }

    fn forbidden(&self, target: Option<String>, problem: &str) -> Refusal {
        Refusal {
            target,
            ..Refusal::new(
                "403 Forbidden",
                format!(
                    "{problem}: this sandbox reaches only what the setting --network allow={} names (ports 80 and 443 unless it says others)",
                    self.allowed
                ),
            )
        }
    }

    async fn reach(&self, target: &Target) -> Result<TcpStream, Refusal> {
        let addresses = match &target.host {
            Host::Address(address) => vec![SocketAddr::new(*address, target.port)],
            Host::Name(name) => self.addresses(target, name).await?,
        };
        let mut problem = String::from("it has no address");
        for address in addresses.into_iter().take(ADDRESSES) {
            match timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(host)) if self.leads_home(&host, target) => {
                    let leads = format!("leads to {}, this machine", address.ip());
                    return Err(self.misled(target, &leads));
                }
                Ok(Ok(host)) => return Ok(host),
                Ok(Err(error)) => problem = error.to_string(),
                Err(_) => problem = format!("no answer within {} s", CONNECT.as_secs()),
            }
        }
        Err(Refusal::new(
            "502 Bad Gateway",
            format!("`{target}` is allowed, but cannot be reached: {problem}"),
        ))
    }

    /// The addresses of a name that it may lead to. They are used as they are: a second question could be answered otherwise.
    async fn addresses(&self, target: &Target, name: &str) -> Result<Vec<SocketAddr>, Refusal> {
        let found = self.lookups.addresses(name, target.port).await;
        let found = found.map_err(|problem| {
            Refusal::new(
                "502 Bad Gateway",
                format!("`{target}` is allowed, but its name cannot be resolved: {problem}"),
            )
        })?;
        let may = |ip: IpAddr| is_public(ip) || self.allowed.lists(ip, target.port);
        let refused = found.iter().find(|address| !may(address.ip())).copied();
        let good: Vec<_> = found.into_iter().filter(|found| may(found.ip())).collect();
        match refused {
            Some(address) if good.is_empty() => {
                let leads = format!("leads to {}, which is no public address", address.ip());
                Err(self.misled(target, &leads))
            }
            _ => Ok(good),
        }
    }

    /// A name has an address that its owner chooses, and that is not to be one of this side's.
    fn misled(&self, target: &Target, leads: &str) -> Refusal {
        let problem = format!(
            "`{target}` is allowed, but {leads}, and an address of that kind has to be listed itself"
        );
        self.forbidden(Some(target.to_string()), &problem)
    }

    /// Whether the other end is this machine itself, by whatever address, without having been listed.
    fn leads_home(&self, host: &TcpStream, target: &Target) -> bool {
        let (Ok(here), Ok(there)) = (host.local_addr(), host.peer_addr()) else {
            return true;
        };
        here.ip() == there.ip() && !self.allowed.lists(there.ip(), target.port)
    }

    async fn refuse(&self, mut client: Connection, refusal: Refusal) -> io::Result<()> {
        if let Some(target) = &refusal.target {
            self.traffic.refuse(target);
        }
        let Refusal { status, text, .. } = refusal;
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\nProxy-Connection: close\r\n\r\n{text}\n",
            text.len() + 1
        );
        client.write_all(answer.as_bytes()).await?;
        client.shutdown().await?;
        // Cut while it still sends, a client may lose the answer.
        let mut rest = client.take(REST);
        let mut nowhere = tokio::io::sink();
        let _ = timeout(REST_TIME, tokio::io::copy(&mut rest, &mut nowhere)).await;
        Ok(())
    }
}

impl Service for Proxy {
    fn serve(self: Arc<Self>, connection: Connection) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Err(error) = self.hold(connection).await {
                tracing::debug!(%error, "a connection out of a sandbox ended");
            }
        })
    }
}
