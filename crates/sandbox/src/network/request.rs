//! What a client asks a proxy for: the head of its first request, and what the host behind gets to see of it.

use std::io;

use bytes::BytesMut;
use http::Uri;
use http::uri::{Authority, Scheme};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::rule::Target;

/// Longest head of a request, in bytes: what common servers take.
const HEAD: usize = 64 << 10;
/// Most header fields.
const FIELDS: usize = 200;
/// Fields that are between a client and its proxy (RFC 9110, section 7.6.1), and `Host`, which the target decides (RFC 9112, section 3.2.2).
const OWN: [&str; 6] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
];

/// A request that names a host.
#[derive(Debug)]
pub(super) struct Request {
    /// As the client wrote it, without who it says that it is: what is refused gets recorded.
    pub(super) asked: String,
    /// `None` where that is no host and port.
    pub(super) target: Option<Target>,
    /// What the host gets first: nothing where the client wants a tunnel.
    pub(super) forward: BytesMut,
    /// Whether the client wants a tunnel.
    pub(super) tunnel: bool,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It is no request of HTTP/1.
    Wrong(String),
    /// It asks for something that this proxy does not do.
    Other(String),
    /// The client is gone.
    Gone,
}

impl From<io::Error> for Unreadable {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the head of a request.
pub(super) async fn read(client: &mut (impl AsyncRead + Unpin)) -> Result<Request, Unreadable> {
    let mut buffer = BytesMut::with_capacity(4 << 10);
    loop {
        if let Some(request) = parse(&buffer)? {
            return Ok(request);
        }
        if buffer.len() >= HEAD {
            return Err(Unreadable::Wrong(String::from(
                "the head of the request is too long",
            )));
        }
        if client.read_buf(&mut buffer).await? == 0 {
            return Err(Unreadable::Gone);
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Option<Request>, Unreadable> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let parsed = request.parse(bytes).map_err(|error| {
        Unreadable::Wrong(format!("this is a proxy for HTTP/1 requests: {error}"))
    })?;
    let httparse::Status::Complete(length) = parsed else {
        return Ok(None);
    };
    let (method, path) = (
        request.method.unwrap_or_default(),
        request.path.unwrap_or_default(),
    );
    let rest = &bytes[length..];
    if method == "CONNECT" {
        let target = path.parse::<Authority>().ok();
        return Ok(Some(Request {
            asked: anonymous(path).to_owned(),
            target: target.and_then(|authority| Target::of(&authority, None)),
            forward: BytesMut::from(rest),
            tunnel: true,
        }));
    }
    let uri: Uri = path
        .parse()
        .map_err(|error| Unreadable::Wrong(format!("the target of the request: {error}")))?;
    let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
        return Err(Unreadable::Other(format!(
            "this is a proxy, and `{}` names no host",
            uri.path()
        )));
    };
    if *scheme != Scheme::HTTP {
        return Err(Unreadable::Other(format!(
            "this proxy takes `{scheme}` addresses by way of CONNECT only"
        )));
    }
    let target = Target::of(authority, Some(80));
    Ok(Some(Request {
        asked: anonymous(authority.as_str()).to_owned(),
        forward: forwarded(method, &uri, authority, &request, rest),
        target,
        tunnel: false,
    }))
}

/// Without a user and what they prove themselves by.
fn anonymous(asked: &str) -> &str {
    asked.rsplit_once('@').map_or(asked, |(_, host)| host)
}

/// The request as the host gets it. One for each connection: the next one may be meant for another host.
fn forwarded(
    method: &str,
    uri: &Uri,
    authority: &Authority,
    request: &httparse::Request<'_, '_>,
    rest: &[u8],
) -> BytesMut {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let path = match (method, path) {
        // The server as a whole is meant (RFC 9112, section 3.2.4).
        ("OPTIONS", "/") if !uri.to_string().ends_with('/') => "*",
        (_, path) => path,
    };
    let version = request.version.unwrap_or(1);
    let mut head = BytesMut::new();
    let line = format!("{method} {path} HTTP/1.{version}\r\nHost: {authority}\r\n");
    head.extend_from_slice(line.as_bytes());
    // A client names fields that are its proxy's own, but not those that frame the body.
    let named = |name: &str| {
        let connection = request
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case("connection"));
        connection
            .filter_map(|field| std::str::from_utf8(field.value).ok())
            .flat_map(|value| value.split(','))
            .any(|word| word.trim().eq_ignore_ascii_case(name))
    };
    let framing = ["content-length", "transfer-encoding"];
    for field in request.headers.iter() {
        let name = field.name.to_ascii_lowercase();
        let own = OWN.contains(&name.as_str());
        if own || (named(&name) && !framing.contains(&name.as_str())) {
            continue;
        }
        head.extend_from_slice(field.name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(field.value);
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head.extend_from_slice(rest);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Request {
        parse(text.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_tunnel_keeps_what_came_with_its_head() {
        let request =
            parsed("CONNECT PyPI.org:443 HTTP/1.1\r\nHost: other.example\r\n\r\n\x16\x03");
        assert!(request.tunnel);
        assert_eq!(request.target.unwrap().to_string(), "pypi.org:443");
        assert_eq!(&request.forward[..], b"\x16\x03");
        for asked in ["pypi.org", "pypi.org:0", "a@b.org:443", "/"] {
            let request = parsed(&format!("CONNECT {asked} HTTP/1.1\r\n\r\n"));
            assert!(request.target.is_none(), "{asked}");
        }
    }

    #[test]
    fn a_request_is_for_one_host_and_goes_there_without_what_was_the_proxys() {
        let request = parsed(
            "POST http://Files.example:8080/a?b=c HTTP/1.1\r\nHost: internal\r\nProxy-Authorization: x\r\nX-Own: 1\r\nConnection: keep-alive, x-own, content-length\r\nContent-Length: 3\r\n\r\nabc",
        );
        assert_eq!(request.target.unwrap().to_string(), "files.example:8080");
        assert_eq!(
            std::str::from_utf8(&request.forward).unwrap(),
            "POST /a?b=c HTTP/1.1\r\nHost: Files.example:8080\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        );
        let request = parsed("GET http://a.example HTTP/1.0\r\n\r\n");
        assert!(request.forward.starts_with(b"GET / HTTP/1.0\r\n"));
    }

    #[test]
    fn credentials_are_in_nothing_that_is_told_or_recorded() {
        for line in [
            "CONNECT user:s3cret@a.example:443",
            "CONNECT https://user:s3cret@a.example:443",
            "CONNECT user:s3cret@s3cret@a.example:443",
            "GET http://user:s3cret@a.example:443/",
            "GET http://user:s3cret@s3cret@a.example:443/",
            "GET http://s3cret@a.example:443/",
        ] {
            let request = parsed(&format!("{line} HTTP/1.1\r\n\r\n"));
            assert!(request.target.is_none(), "{line}");
            assert_eq!(request.asked, "a.example:443", "{line}");
        }
        for line in [
            "GET https://user:s3cret@a.example/",
            "GET user:s3cret@a.example:80",
            "GET user:s3cret@a.example:80/b",
        ] {
            let parsed = parse(format!("{line} HTTP/1.1\r\n\r\n").as_bytes());
            let told = format!("{:?}", parsed.unwrap_err());
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    #[test]
    fn what_names_no_host_is_told_apart_from_what_is_no_request() {
        for text in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\n\r\n",
            "GET ftp://a.example/ HTTP/1.1\r\n\r\n",
        ] {
            let parsed = parse(text.as_bytes());
            assert!(matches!(parsed, Err(Unreadable::Other(_))), "{text}");
        }
        for text in [
            "\x16\x03\x01\x02",
            "GET /\x01 HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\n",
        ] {
            let parsed = parse(text.as_bytes());
            assert!(matches!(parsed, Err(Unreadable::Wrong(_))), "{text}");
        }
        assert!(
            parse(b"GET http://a.example/ HTTP/1.1\r\nA: ")
                .unwrap()
                .is_none()
        );
    }
}
