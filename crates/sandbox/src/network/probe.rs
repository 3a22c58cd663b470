//! What a sandbox sees of networks, asked from inside at its start.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::tunnel::Interpreter;
use crate::error::Error;
use crate::place::{Launch, Place};
use crate::shell::{End, RunOptions, Shell};

/// How long a connection that must fail may take to do so: without a route it fails at once.
const FAIL: Duration = Duration::from_secs(5);
/// How long the proxy may take to refuse.
const REFUSE: Duration = Duration::from_secs(30);
/// Longest answer, in bytes.
const ANSWER: u64 = 4096;
/// Most interfaces that are recorded.
const INTERFACES: usize = 16;

/// Names the network interfaces, then tries an address of a network that is reserved for documentation (RFC 5737). Only bash can try, and it says
/// so right before.
const LOOK: &str = "( while IFS=': ' read -r name bytes rest; do case $bytes in *[!0-9]*|'') ;; *) echo \"interface $name\";; esac; done </proc/net/dev
[ \"$BASH_VERSION\" ] || exit 0
if (echo trying; exec 3<>/dev/@TRY) 2>/dev/null; then echo @STANDS; else echo unreachable; fi ) 2>/dev/null";

/// A name that can belong to nobody (RFC 6761).
pub(super) const NOBODY: &str = "sandbox.invalid:9";

/// Asks the proxy for it, and prints the first line of what it says.
const ASK_PYTHON: &str = "import socket, sys
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 25)
s.sendall(('CONNECT %s HTTP/1.1\\r\\n\\r\\n' % sys.argv[2]).encode())
print(s.makefile('rb').readline().decode('latin-1'))";
const ASK_PERL: &str = "use Socket;
socket(my $s, PF_INET, SOCK_STREAM, 0) && connect($s, pack_sockaddr_in($ARGV[0], INADDR_LOOPBACK)) or die $!;
syswrite($s, \"CONNECT $ARGV[1] HTTP/1.1\\r\\n\\r\\n\");
print scalar <$s>";

/// How a way out is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// By a connection, where there must be none: with a route packets go out and no answer comes, without one there is an error.
    Connect,
    /// By the kernel's answer alone, where there should be one: nobody waits for what never answers.
    Route,
}

impl Attempt {
    fn text(self) -> String {
        let (what, stands) = match self {
            Self::Connect => ("tcp/192.0.2.1/80", "connected"),
            // A datagram's socket is connected as soon as a route is found; none is sent.
            Self::Route => ("udp/192.0.2.1/9", "routed"),
        };
        LOOK.replace("@TRY", what).replace("@STANDS", stands)
    }
}

/// What became of a connection to an address outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// It failed at once: no way leads there.
    Unreachable,
    /// It stood.
    Connected,
    /// No answer came: packets go out.
    Silent,
    /// A way leads there; nothing was sent.
    Routed,
}

/// What was seen from inside at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkProbe {
    /// Names of the network interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Routes of version 4, and addresses of version 6 beside the loopback's, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<u64>,
    /// A connection to an address outside, where it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// Status by which the proxy refused a host that is not allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<u16>,
    /// What takes connections to the proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<Interpreter>,
}

impl NetworkProbe {
    /// Looks in a place.
    pub(crate) async fn look(&mut self, shell: &Shell, attempt: Attempt) -> Result<(), Error> {
        let options = RunOptions {
            timeout: FAIL,
            ..RunOptions::default()
        };
        let text = attempt.text();
        let captured = shell
            .run(&text, &options, &CancellationToken::new())
            .await?;
        let said = String::from_utf8_lossy(&captured.head);
        self.interfaces = said
            .lines()
            .filter_map(|line| line.strip_prefix("interface "))
            .take(INTERFACES)
            .map(str::to_owned)
            .collect();
        self.outside = outside(captured.end, said.lines().last())?;
        Ok(())
    }
}

/// What became of the connection. A place that is only slow may not even have come to try it.
fn outside(end: End, last: Option<&str>) -> Result<Option<Outside>, Error> {
    match (end, last) {
        (_, Some("connected")) => Ok(Some(Outside::Connected)),
        (_, Some("routed")) => Ok(Some(Outside::Routed)),
        (_, Some("unreachable")) => Ok(Some(Outside::Unreachable)),
        (End::TimedOut, Some("trying")) => Ok(Some(Outside::Silent)),
        (End::TimedOut, Some(_) | None) => Err(Error::start(
            "look at the sandbox's networks from inside",
            format!("nothing was tried within {} s", FAIL.as_secs()),
        )),
        (_, Some(_) | None) => Ok(None),
    }
}

/// The status by which the proxy refuses.
pub(super) async fn refusal(
    place: &dyn Place,
    interpreter: Interpreter,
    port: u16,
) -> Result<u16, Error> {
    let operation = || {
        format!(
            "reach the proxy from inside of the sandbox {}",
            place.id().0
        )
    };
    let words: &[&str] = match interpreter {
        Interpreter::Python => &["python3", "-I", "-S", "-c", ASK_PYTHON],
        Interpreter::Perl => &["perl", "-e", ASK_PERL],
    };
    let launch = Launch {
        arguments: words
            .iter()
            .map(|&word| word.to_owned())
            .chain([port.to_string(), NOBODY.to_owned()])
            .collect(),
        directory: Some(String::from("/")),
        lasting: true,
    };
    let asking = async {
        let mut channel = place.open(&launch).await?;
        let mut answer = Vec::new();
        let mut output = (&mut channel.output).take(ANSWER);
        let read = output.read_to_end(&mut answer).await;
        read.map_err(|error| Error::lost(operation(), error))?;
        let _ = channel.input.shutdown().await;
        channel.ended.await;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let said = match timeout(REFUSE, asking).await {
        Ok(said) => said?,
        Err(late) => return Err(Error::start(operation(), late)),
    };
    let refused = said.strip_prefix("HTTP/1.1 403").map(|_| 403);
    refused.ok_or_else(|| {
        let said = said.trim().escape_debug().to_string();
        Error::start(operation(), format!("it was to refuse, and said: {said}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_that_was_tried_can_be_silent() {
        let seen = |end, last| outside(end, Some(last)).unwrap();
        assert_eq!(seen(End::TimedOut, "trying"), Some(Outside::Silent));
        assert_eq!(
            seen(End::TimedOut, "unreachable"),
            Some(Outside::Unreachable)
        );
        assert_eq!(seen(End::Exited(0), "connected"), Some(Outside::Connected));
        assert_eq!(seen(End::Exited(0), "routed"), Some(Outside::Routed));
        assert_eq!(seen(End::Exited(0), "interface lo"), None);
        for last in [None, Some("interface lo")] {
            let slow = outside(End::TimedOut, last).unwrap_err();
            assert!(matches!(slow, Error::Start { .. }) && !slow.is_hopeless());
        }
    }
}
