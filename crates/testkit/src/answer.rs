//! What a fake server sends, and when.

use std::time::Duration;

use serde_json::Value;

/// One step of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Repeat {
        bytes: Vec<u8>,
        total: u64,
    },
    Pause(Duration),
    /// Until the client gives up.
    Stall,
    Close,
}

/// The answer to one request: bytes on the wire, pauses, a close.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub(crate) steps: Vec<Step>,
}

impl Answer {
    /// A whole answer with its length.
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len().to_string();
        let mut all = vec![("content-length", length.as_str())];
        all.extend_from_slice(headers);
        Self::default().send(head(status, &all)).send(body.to_vec())
    }

    /// `200` with a JSON body.
    pub fn json(body: &Value) -> Self {
        Self::json_with(200, body)
    }

    /// A status with a JSON body.
    pub fn json_with(status: u16, body: &Value) -> Self {
        Self::new(
            status,
            &[("content-type", "application/json")],
            body.to_string(),
        )
    }

    /// `200` with a stream of server-sent events, each of `data` one event.
    pub fn events<T: AsRef<str>>(data: &[T]) -> Self {
        Self::new(
            200,
            &[("content-type", "text/event-stream")],
            event_stream(data),
        )
    }

    /// `200` whose body arrives in these pieces, each a chunk of its own, so that the client sees every cut.
    pub fn pieces<'a>(content_type: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut answer = Self::chunked(content_type);
        for piece in pieces {
            answer = answer.chunk(piece);
        }
        answer.send(b"0\r\n\r\n".to_vec())
    }

    /// The head of a `200` whose body comes in chunks; go on with [`Answer::chunk`].
    pub fn chunked(content_type: &str) -> Self {
        Self::default().send(head(
            200,
            &[
                ("content-type", content_type),
                ("transfer-encoding", "chunked"),
            ],
        ))
    }

    /// One more chunk; an empty one is left out, since it would end the body.
    #[must_use]
    pub fn chunk(self, bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return self;
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.send(chunk)
    }

    /// Only a head, with exactly these headers: for lengths that are wrong and bodies that never come.
    pub fn head(status: u16, headers: &[(&str, &str)]) -> Self {
        Self::default().send(head(status, headers))
    }

    /// Then these bytes, as they are.
    #[must_use]
    pub fn send(mut self, bytes: Vec<u8>) -> Self {
        self.steps.push(Step::Send(bytes));
        self
    }

    /// Then these bytes again and again, `total` in all, or until the client goes away.
    #[must_use]
    pub fn repeat(mut self, bytes: Vec<u8>, total: u64) -> Self {
        self.steps.push(Step::Repeat { bytes, total });
        self
    }

    /// Then nothing for a while.
    #[must_use]
    pub fn pause(mut self, time: Duration) -> Self {
        self.steps.push(Step::Pause(time));
        self
    }

    /// First nothing for a while.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.steps.insert(0, Step::Pause(time));
        self
    }

    /// Then nothing until the client goes away.
    #[must_use]
    pub fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Then the connection is closed.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.steps.push(Step::Close);
        self
    }
}

/// Server-sent events, each of `data` one event.
pub fn event_stream<T: AsRef<str>>(data: &[T]) -> String {
    data.iter().fold(String::new(), |mut stream, data| {
        stream.push_str("data: ");
        stream.push_str(data.as_ref());
        stream.push_str("\n\n");
        stream
    })
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Told\r\n");
    for (name, value) in headers {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}
