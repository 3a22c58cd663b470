//! An HTTP/1.1 server over plain TCP that does what a handler says, byte by byte.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::answer::{Answer, Step};
use crate::kept;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Captured {
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// The connection that it came on, counted from 0.
    pub connection: usize,
}

impl Captured {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the request's body is JSON")
    }
}

type Handler = dyn Fn(&Captured) -> Answer + Send + Sync;

struct Shared {
    handler: Box<Handler>,
    captured: Mutex<Vec<Captured>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

/// A server on a free port of the loopback interface, in a thread of its own; it stops when it is dropped.
pub struct FakeServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Starts a server that answers each request with what `handler` returns.
    pub fn start(handler: impl Fn(&Captured) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
        listener
            .set_nonblocking(true)
            .expect("make the listener asynchronous");
        let address = listener.local_addr().expect("read the port");
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            captured: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("start a runtime");
            runtime.block_on(serve(listener, state, stopped));
        });
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Starts a server that gives these answers in order, whoever asks, and `501` after the last.
    pub fn scripted(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Mutex<std::collections::VecDeque<Answer>> =
            Mutex::new(answers.into_iter().collect());
        Self::start(move |_| {
            answers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front()
                .unwrap_or_else(|| Answer::new(501, &[], "the script is at its end"))
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All requests so far, in the order in which they were read.
    pub fn requests(&self) -> Vec<Captured> {
        self.shared
            .captured
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The most requests that were being answered at the same time.
    pub fn most_in_flight(&self) -> usize {
        self.shared.most_in_flight.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by its own thread.
            let _ = thread.join();
        }
    }
}

/// A base URL where nobody listens.
pub fn refused_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind a port");
    let address = listener.local_addr().expect("read the port");
    format!("http://{address}/v1")
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("take over the listener");
    let mut connections = JoinSet::new();
    let mut count = 0;
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let _ = stream.set_nodelay(true);
                    connections.spawn(converse(stream, Arc::clone(&shared), count));
                    count += 1;
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection until either side has enough of it.
async fn converse(mut stream: TcpStream, shared: Arc<Shared>, connection: usize) {
    let mut buffer = Vec::new();
    while let Ok(Some(captured)) = read_request(&mut stream, &mut buffer, connection).await {
        kept::keep(&captured);
        let answer = (shared.handler)(&captured);
        shared
            .captured
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(captured);
        let busy = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        shared.most_in_flight.fetch_max(busy, Ordering::SeqCst);
        let kept = play(&mut stream, answer).await;
        shared.in_flight.fetch_sub(1, Ordering::SeqCst);
        if !matches!(kept, Ok(true)) {
            return;
        }
    }
}

/// Plays an answer; `false` when the connection is to be closed.
async fn play(stream: &mut TcpStream, answer: Answer) -> io::Result<bool> {
    // Steps that follow each other go out together, as a real server would write them.
    let mut pending = Vec::new();
    for step in answer.steps {
        match step {
            Step::Send(bytes) => pending.extend_from_slice(&bytes),
            Step::Pause(time) => {
                flush(stream, &mut pending).await?;
                sleep(time).await;
            }
            Step::Repeat { bytes, total } => {
                flush(stream, &mut pending).await?;
                repeat(stream, &bytes, total).await?;
            }
            Step::Stall => {
                flush(stream, &mut pending).await?;
                gone(stream).await;
                return Ok(false);
            }
            Step::Close => {
                flush(stream, &mut pending).await?;
                stream.shutdown().await?;
                return Ok(false);
            }
        }
    }
    flush(stream, &mut pending).await?;
    Ok(true)
}

async fn flush(stream: &mut TcpStream, pending: &mut Vec<u8>) -> io::Result<()> {
    stream.write_all(pending).await?;
    pending.clear();
    Ok(())
}

async fn repeat(stream: &mut TcpStream, bytes: &[u8], mut total: u64) -> io::Result<()> {
    while total > 0 {
        let part = usize::try_from(total).map_or(bytes.len(), |left| left.min(bytes.len()));
        stream.write_all(&bytes[..part]).await?;
        total -= part as u64;
    }
    Ok(())
}

/// Waits until the client closes.
async fn gone(stream: &mut TcpStream) {
    let mut byte = [0; 256];
    while matches!(stream.read(&mut byte).await, Ok(count) if count > 0) {}
}

/// Longest wait for the rest of a request that has begun.
const PATIENCE: Duration = Duration::from_secs(30);

async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    connection: usize,
) -> io::Result<Option<Captured>> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break end;
        }
        let is_http = buffer.first().is_none_or(u8::is_ascii_uppercase);
        if !is_http || stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next(), words.next());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let start = end + 4;
    while buffer.len() < start + length {
        let read = tokio::time::timeout(PATIENCE, stream.read_buf(buffer)).await;
        if !matches!(read, Ok(Ok(count)) if count > 0) {
            return Ok(None);
        }
    }
    let rest = buffer.split_off(start + length);
    let body = buffer.split_off(start);
    *buffer = rest;
    Ok(Some(Captured {
        method: method.unwrap_or_default().to_owned(),
        path: path.unwrap_or_default().to_owned(),
        headers,
        body,
        connection,
    }))
}
