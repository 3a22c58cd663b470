//! A server on this machine that stands in for a host on the network.

use std::io::Write;
use std::net::SocketAddr;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Answers HTTP requests until it is dropped: `/bytes/N` with as many bytes, `/sha256` with the digest of what was sent, all else with what was
/// asked.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    _serving: JoinSet<()>,
}

impl Origin {
    /// At an address that programs do not take for their own machine's, as they do 127.0.0.1.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut clients: JoinSet<Option<()>> = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                clients.spawn(answer(client));
            }
        });
        Self {
            address,
            _serving: serving,
        }
    }

    pub(crate) fn sha256_of_bytes(count: usize) -> String {
        schema::hex(&Sha256::digest(bytes(count)))
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..=252).cycle().take(count).collect()
}

async fn answer(client: TcpStream) -> Option<()> {
    let mut client = BufReader::new(client);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        client.read_line(&mut line).await.ok()?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let field = |name: &str| {
        let field = lines.iter().find_map(|line| {
            line.split_once(": ")
                .filter(|field| field.0.eq_ignore_ascii_case(name))
        });
        field.map(|field| field.1.to_owned())
    };
    let length = field("content-length").map_or(0, |length| length.parse().unwrap());
    let mut sent = vec![0; length];
    client.read_exact(&mut sent).await.ok()?;
    let (method, path) = lines.first()?.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    let body = match (path, path.strip_prefix("/bytes/")) {
        (_, Some(count)) => bytes(count.parse().unwrap()),
        ("/sha256", _) => schema::hex(&Sha256::digest(sent)).into_bytes(),
        _ => format!("{method} {path} {}", field("host").unwrap_or_default()).into_bytes(),
    };
    let mut reply = Vec::new();
    write!(
        reply,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .unwrap();
    reply.extend(body);
    client.write_all(&reply).await.ok()?;
    client.shutdown().await.ok()
}
