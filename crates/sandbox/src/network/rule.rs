//! Which hosts may be reached, and what a request asks for.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::uri::Authority;
use serde::{Deserialize, Serialize};

/// Ports of a rule that names none.
const PORTS: [u16; 2] = [80, 443];
/// Longest name and longest label of one, in bytes (RFC 1035, section 2.3.4).
const NAME: usize = 253;
const LABEL: usize = 63;

/// Hosts that may be reached, sorted, each once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Allowed(BTreeSet<Rule>);

/// `HOST`, `HOST:PORT`, `*.HOST`, an address, or `[ADDRESS]:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Rule {
    host: Pattern,
    /// `None` stands for the usual two.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Pattern {
    Name(String),
    /// Everything below a name, not the name itself.
    Below(String),
    Address(IpAddr),
}

/// A host as a request names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// In lower case, without a dot at its end.
    Name(String),
    /// Of version 4 where it stands for one of those.
    Address(IpAddr),
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl Allowed {
    /// Whether a rule names the target.
    pub(super) fn permits(&self, target: &Target) -> bool {
        self.0
            .iter()
            .any(|rule| rule.has_port(target.port) && rule.has_host(&target.host))
    }

    /// Whether an address is listed as such, for a port.
    pub(super) fn lists(&self, address: IpAddr, port: u16) -> bool {
        self.permits(&Target {
            host: Host::Address(address.to_canonical()),
            port,
        })
    }
}

impl Rule {
    fn has_port(&self, port: u16) -> bool {
        self.port
            .map_or_else(|| PORTS.contains(&port), |own| own == port)
    }

    fn has_host(&self, host: &Host) -> bool {
        match (&self.host, host) {
            (Pattern::Name(own), Host::Name(name)) => own == name,
            (Pattern::Below(own), Host::Name(name)) => name
                .strip_suffix(own.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            (Pattern::Address(own), Host::Address(address)) => own == address,
            (Pattern::Name(_) | Pattern::Below(_), Host::Address(_))
            | (Pattern::Address(_), Host::Name(_)) => false,
        }
    }
}

impl Target {
    /// Out of `host:port`; `port` is taken where the authority names none. `None` where it is no host, or brings a user along.
    pub(super) fn of(authority: &Authority, port: Option<u16>) -> Option<Self> {
        if authority.as_str().contains('@') {
            return None;
        }
        let port = match authority.port() {
            Some(port) => port.as_u16(),
            // A colon without a number after it is no port, nor is a number beyond 65535.
            None if authority.as_str() != authority.host() => return None,
            None => port?,
        };
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(bare) => Host::Address(IpAddr::V6(bare.parse().ok()?).to_canonical()),
            None => match host.parse::<IpAddr>() {
                Ok(address) => Host::Address(address.to_canonical()),
                Err(_) => Host::Name(name(host)?),
            },
        };
        (port != 0).then_some(Self { host, port })
    }
}

/// A name in the form in which names are compared. Systems read words that end in a number as addresses, so they are no names.
fn name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        (1..=LABEL).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || last
            .strip_prefix("0x")
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (name.len() <= NAME && name.split('.').all(is_label) && !is_number).then_some(name)
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a host such as `pypi.org`, `*.example.org`, `example.org:8080`, `10.0.0.7` or `[fd00::7]:443`"
            )
        };
        let text = text.trim();
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Self {
                host: Pattern::Address(IpAddr::V6(address).to_canonical()),
                port: None,
            });
        }
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let authority: Authority = rest.parse().map_err(|_| wrong())?;
        let named = authority.as_str() != authority.host();
        // Any port will do where none is given: only the host is of interest then.
        let target = Target::of(&authority, Some(PORTS[0])).ok_or_else(wrong)?;
        let host = match (target.host, below) {
            (Host::Name(name), false) => Pattern::Name(name),
            (Host::Name(name), true) => Pattern::Below(name),
            (Host::Address(address), false) => Pattern::Address(address),
            (Host::Address(_), true) => return Err(wrong()),
        };
        Ok(Self {
            host,
            port: named.then_some(target.port),
        })
    }
}

impl FromStr for Allowed {
    type Err = String;

    /// Reads rules with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let rules = text.split(',').map(str::parse);
        Ok(Self(rules.collect::<Result<_, String>>()?))
    }
}

impl TryFrom<Vec<String>> for Allowed {
    type Error = String;

    fn try_from(rules: Vec<String>) -> Result<Self, String> {
        let rules = rules.iter().map(|rule| rule.parse());
        Ok(Self(rules.collect::<Result<_, String>>()?))
    }
}

impl From<Allowed> for Vec<String> {
    fn from(allowed: Allowed) -> Self {
        allowed.0.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&rules.join(","))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Pattern::Name(name) => f.write_str(name)?,
            Pattern::Below(name) => write!(f, "*.{name}")?,
            Pattern::Address(address) => write_address(*address, f)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

fn write_address(address: IpAddr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match address {
        IpAddr::V4(address) => write!(f, "{address}"),
        IpAddr::V6(address) => write!(f, "[{address}]"),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Address(address) => write_address(*address, f)?,
        }
        write!(f, ":{}", self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(rules: &str, authority: &str) -> bool {
        let allowed: Allowed = rules.parse().unwrap();
        let target = Target::of(&authority.parse().unwrap(), Some(80));
        target.is_some_and(|target| allowed.permits(&target))
    }

    #[test]
    fn rules_are_sorted_and_written_as_they_are_read() {
        let allowed: Allowed =
            "[FD00::7]:8443, b.org.,A.org:8080,*.C.org,10.0.0.7,::1,a.org:8080,::ffff:10.0.0.8"
                .parse()
                .unwrap();
        let text = allowed.to_string();
        assert_eq!(
            text,
            "a.org:8080,b.org,*.c.org,10.0.0.7,10.0.0.8,[::1],[fd00::7]:8443"
        );
        assert_eq!(text.parse::<Allowed>().unwrap(), allowed);
        let json = serde_json::to_string(&allowed).unwrap();
        assert_eq!(serde_json::from_str::<Allowed>(&json).unwrap(), allowed);
    }

    #[test]
    fn names_are_compared_whole_and_without_case() {
        for (rules, asked, expected) in [
            ("example.org", "example.org:443", true),
            ("example.org", "EXAMPLE.org.:80", true),
            ("example.org", "example.org", true),
            ("example.org", "example.org:8080", false),
            ("example.org:8080", "example.org:8080", true),
            ("example.org:8080", "example.org:443", false),
            ("example.org", "www.example.org:443", false),
            ("example.org", "badexample.org:443", false),
            ("*.example.org", "www.example.org:443", true),
            ("*.example.org", "a.b.Example.Org.:443", true),
            ("*.example.org", "example.org:443", false),
            ("*.example.org", "badexample.org:443", false),
            ("*.example.org", ".example.org:443", false),
            ("example.org", "user@example.org:443", false),
            ("example.org", "example.org:99999", false),
            ("example.org", "example.org:", false),
            ("example.org", "example.org..:80", false),
        ] {
            assert_eq!(permits(rules, asked), expected, "{rules}: {asked}");
        }
    }

    #[test]
    fn addresses_are_compared_as_addresses() {
        for (rules, asked, expected) in [
            ("127.0.0.1:8000", "127.0.0.1:8000", true),
            ("127.0.0.1:8000", "[::ffff:127.0.0.1]:8000", true),
            ("127.0.0.1:8000", "[::ffff:7f00:1]:8000", true),
            ("127.0.0.1:8000", "localhost:8000", false),
            ("127.0.0.1:8000", "2130706433:8000", false),
            ("127.0.0.1:8000", "0x7f.1:8000", false),
            ("127.0.0.1:8000", "127.1:8000", false),
            ("[::1]:80", "[0:0:0:0:0:0:0:1]:80", true),
            ("example.org", "192.0.2.1:80", false),
        ] {
            assert_eq!(permits(rules, asked), expected, "{rules}: {asked}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "",
            "*",
            "*.",
            "a b",
            "http://example.org",
            "example.org/path",
            "user@example.org",
            "example.org:0",
            "example.org:x",
            "example.org:",
            "*.10.0.0.1",
            "a.*.org",
            "127.1",
            "0x7f000001",
            "bücher.example",
            "a,,b",
        ] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
