//! What a pull that brought nothing says of the image, the registry and the engine.

use std::time::Duration;

use super::call::Failure;

/// What can be done about a pull that brought nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Nothing before something else changes.
    Permanent(&'static str),
    Full,
    /// Trying again: the registry gives nothing just now.
    Away {
        /// How long it wants to be left alone, where it says so.
        pause: Option<Duration>,
    },
    /// Trying again a few times: nobody knows.
    Unclear,
}

/// Words of a registry that has enough of us. The number 429 alone may as well be of a port or a digest.
const LIMITED: [&str; 3] = ["toomanyrequests", "too many requests", "http 429"];
/// Words of registries, and of engines about them, when they are broken or cannot be reached.
const AWAY: [&str; 24] = [
    "unexpected http status: 5",
    "error parsing http 5",
    "internal server error",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
    "gateway time-out",
    "connection refused",
    "connection reset",
    "broken pipe",
    "no such host",
    "name resolution",
    "server misbehaving",
    "network is unreachable",
    "no route to host",
    "i/o timeout",
    "timeout exceeded",
    "tls handshake timeout",
    "deadline exceeded",
    "request canceled",
    "unexpected eof",
    ": eof",
    "unknown: unknown error",
    "server closed",
];

pub(super) fn said(problem: &Failure) -> String {
    match problem.message() {
        "" => problem.to_string(),
        message => format!("the registry or the engine says: {}", message.trim()),
    }
}

/// Told by status and the registries' own words: the engine has no codes for them.
pub(super) fn class(problem: &Failure) -> Class {
    const NAME: &str = "see that the image's name is right and that it can be had from there; a mirror or another name can be given";
    const LOGIN: &str =
        "see that the name is right, and log in with `docker login` where the registry asks for it";
    const PLATFORM: &str = "use an image for this platform, or ask for another with --platform where the engine emulates it";
    const TRUST: &str = "let the engine trust the registry: its certificate, or `insecure-registries` in the engine's configuration";
    let text = problem.message().to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&["no space left on device"]) {
        return Class::Full;
    }
    // Limits of rate say "denied" and "unauthorized" too.
    if has(&LIMITED) {
        let pause = retry_after(&text);
        return Class::Away { pause };
    }
    if has(&[
        "no matching manifest",
        "does not match the specified platform",
        "no match for platform",
    ]) {
        return Class::Permanent(PLATFORM);
    }
    if has(&[
        "pull access denied",
        "unauthorized",
        "authentication required",
        "access forbidden",
        "no basic auth",
        "denied:",
    ]) {
        return Class::Permanent(LOGIN);
    }
    if has(&["x509:", "server gave http response to https client"]) {
        return Class::Permanent(TRUST);
    }
    if has(&[
        "manifest unknown",
        "name unknown",
        "invalid reference format",
        "repository does not exist",
    ]) || matches!(problem.status(), Some(400 | 404))
    {
        return Class::Permanent(NAME);
    }
    if has(&AWAY) {
        return Class::Away { pause: None };
    }
    Class::Unclear
}

/// The wait that a registry asks for, in seconds or as the engine's language writes it (`1m2.5s`).
fn retry_after(text: &str) -> Option<Duration> {
    let (_, rest) = text.split_once("retry-after:")?;
    let mut rest = rest.trim_start();
    let mut seconds = None;
    while let Some(end) = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.') {
        let Ok(number) = rest[..end].parse::<f64>() else {
            break;
        };
        rest = &rest[end..];
        let units = [
            ("ns", 1e-9),
            ("µs", 1e-6),
            ("us", 1e-6),
            ("ms", 1e-3),
            ("h", 3600.0),
            ("m", 60.0),
            ("s", 1.0),
        ];
        let unit = units.iter().find(|(name, _)| rest.starts_with(name));
        let (name, length) = unit.copied().unwrap_or(("", 1.0));
        seconds = Some(seconds.unwrap_or_default() + number * length);
        rest = &rest[name.len()..];
        if name.is_empty() {
            break;
        }
    }
    Duration::try_from_secs_f64(seconds.or_else(|| rest.parse().ok())?).ok()
}

#[cfg(test)]
mod tests {
    use bollard::errors::Error as Answer;

    use super::*;

    fn streamed(text: &str) -> Class {
        class(&Failure::Engine(Answer::DockerStreamError {
            error: text.to_owned(),
        }))
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let away = Class::Away { pause: None };
        for text in [
            "toomanyrequests: You have reached your unauthenticated pull rate limit: denied:",
            "received unexpected HTTP status: 503 Service Unavailable",
            "Get \"http://r/v2/\": dial tcp 127.0.0.1:1: connect: connection refused",
            "unexpected EOF",
        ] {
            assert_eq!(streamed(text), away, "{text}");
        }
        for text in [
            "manifest for r/x:tag not found: manifest unknown: manifest unknown",
            "pull access denied for x, repository does not exist or may require 'docker login'",
            "unauthorized: authentication required",
            "manifest for 127.0.0.1:42900/x:1 not found: manifest unknown: manifest unknown",
            "no matching manifest for linux/arm64 in the manifest list entries",
            "Get \"https://r/v2/\": http: server gave HTTP response to HTTPS client",
        ] {
            assert!(matches!(streamed(text), Class::Permanent(_)), "{text}");
        }
        let unclear = "failed to register layer: unexpected file";
        assert_eq!(streamed(unclear), Class::Unclear);
        assert_eq!(
            streamed("write /var/lib/docker/tmp/x: no space left on device"),
            Class::Full
        );
    }

    #[test]
    fn a_registry_says_how_long_it_wants_to_be_left_alone() {
        for (text, seconds) in [
            ("retry-after: 541.853µs, allowed: 44000/minute", 0.0),
            ("retry-after: 250ms, allowed: 1/minute", 0.25),
            ("Retry-After: 1m2.5s", 62.5),
            ("retry-after: 30", 30.0),
            ("retry-after: 30, allowed: 2", 30.0),
        ] {
            let text = format!("toomanyrequests: {text}");
            let Class::Away { pause: Some(pause) } = streamed(&text) else {
                panic!("{text}");
            };
            let difference = (pause.as_secs_f64() - seconds).abs();
            assert!(difference < 0.001, "{text}: {pause:?}");
        }
        for text in ["retry-after: soon", "retry-after:", "retry-after: 9e99999"] {
            let class = streamed(&format!("toomanyrequests: {text}"));
            assert!(matches!(class, Class::Away { .. }), "{text}");
        }
    }
}
