//! What goes wrong with one try, and what kind of wrong it is.
//!
//! The class comes from the status and from typed codes only. Free text is shown to people and never judged: it may hold
//! what the model wrote.

use std::time::Duration;

use schema::ModelFailureKind;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a failed try means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The key was refused.
    Auth,
    /// The account has no credit.
    Billing,
    /// The server will never accept this request.
    BadRequest,
    /// The prompt does not fit the window.
    Overflow,
    /// A filter declined the prompt.
    Refused,
    /// Too many requests.
    RateLimited,
    /// The server failed, or what it sent cannot be read.
    Unavailable,
    /// No connection came about.
    Unreachable,
    /// A deadline of this try passed.
    Timeout,
    /// The reply is larger than any reply should be.
    Oversize,
    /// The attempt's own time is up.
    OutOfTime,
    /// Somebody ended the request.
    Cancelled,
}

impl Class {
    /// Whether another try may fare better.
    pub(crate) fn is_passing(self) -> bool {
        match self {
            Self::RateLimited | Self::Unavailable | Self::Unreachable | Self::Timeout => true,
            Self::Auth
            | Self::Billing
            | Self::BadRequest
            | Self::Overflow
            | Self::Refused
            | Self::Oversize
            | Self::OutOfTime
            | Self::Cancelled => false,
        }
    }

    /// The failure that remains after the last try; `None` asks for a shorter prompt.
    pub(crate) fn kind(self) -> Option<ModelFailureKind> {
        match self {
            Self::Auth => Some(ModelFailureKind::Auth),
            Self::Billing => Some(ModelFailureKind::Billing),
            Self::BadRequest => Some(ModelFailureKind::BadRequest),
            Self::Overflow => None,
            Self::Refused => Some(ModelFailureKind::Refused),
            Self::RateLimited | Self::Unavailable | Self::Unreachable | Self::Oversize => {
                Some(ModelFailureKind::Overloaded)
            }
            Self::Timeout | Self::OutOfTime | Self::Cancelled => Some(ModelFailureKind::Timeout),
        }
    }
}

/// One failed try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) class: Class,
    /// For people; holds no secret once it left the endpoint.
    pub(crate) message: String,
    pub(crate) status: Option<u16>,
    /// What the server asks for.
    pub(crate) retry_after: Option<Duration>,
}

impl Trouble {
    pub(crate) fn new(class: Class, message: String) -> Self {
        Self {
            class,
            message,
            status: None,
            retry_after: None,
        }
    }

    /// The error that stands in the place of an answer.
    pub(crate) fn reported(error: &RawValue) -> Self {
        let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
        let error = ServerError::from_value(&value);
        let code = error.code().unwrap_or("no code").escape_debug().to_string();
        Self::new(
            error.class(None),
            format!(
                "answered with an error ({code}): {}",
                excerpt(error.message.as_bytes())
            ),
        )
    }
}

/// An error as servers describe it, whatever the shape: `{"error": {…}}`, `{"error": "…"}`, `[{"error": …}]`,
/// `{"object": "error", …}`, `{"detail": …}`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerError {
    code: Option<String>,
    kind: Option<String>,
    parameter: Option<String>,
    /// The server's reasons for declining, in a field of their own.
    moderated: bool,
    /// Text for people.
    pub(crate) message: String,
}

impl ServerError {
    /// Reads an error body; one that is not JSON has no typed codes.
    pub(crate) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body)
            .map(|value| Self::from_value(&value))
            .unwrap_or_default()
    }

    /// Reads an error that stands in a document.
    pub(crate) fn from_value(value: &Value) -> Self {
        let value = value.get(0).unwrap_or(value);
        let error = value.get("error").unwrap_or(value);
        let text = |name: &str| match error.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
        };
        let detail = || value.get("detail").map(Value::to_string);
        Self {
            code: text("code").or_else(|| {
                let detail = error.pointer("/details/error_code");
                detail.and_then(Value::as_str).map(str::to_owned)
            }),
            kind: text("type").or_else(|| text("status")),
            parameter: text("param"),
            moderated: error.pointer("/metadata/reasons").is_some(),
            message: text("message")
                .or_else(|| error.as_str().map(str::to_owned))
                .or_else(detail)
                .unwrap_or_default(),
        }
    }

    /// The most telling typed code, for messages.
    pub(crate) fn code(&self) -> Option<&str> {
        self.code.as_deref().or(self.kind.as_deref())
    }

    /// Classifies by typed code, then by status; an error inside a good answer carries its status as a number.
    pub(crate) fn class(&self, status: Option<u16>) -> Class {
        let named = [&self.code, &self.kind]
            .into_iter()
            .flatten()
            .find_map(|code| by_code(code));
        if let Some(class) = named {
            return class;
        }
        if self.parameter.as_deref() == Some("input_tokens") {
            return Class::Overflow;
        }
        if self.moderated {
            return Class::Refused;
        }
        let own = || self.code.as_ref().and_then(|code| code.parse().ok());
        let in_place_of_one = || self.kind.as_deref().and_then(status_of);
        let status = status.filter(|status| *status >= 300);
        match by_status(status.or_else(own).or_else(in_place_of_one)) {
            Class::BadRequest if is_sentence_of_overflow(&self.message) => Class::Overflow,
            class => class,
        }
    }
}

/// The status that Anthropic's types of errors have when they come as one: inside a stream there is none.
/// Source: <https://platform.claude.com/docs/en/api/errors>.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "timeout_error" => 504,
        _ => return None,
    })
}

/// Whole messages, numbers apart, by which Anthropic says that a prompt does not fit: it has no code for that. Nothing but numbers has a place
/// in them, so none can hold what a model wrote.
const OVERFLOWS: [&[&str]; 2] = [
    &["prompt is too long: ", " tokens > ", " maximum"],
    &[
        "input length and `max_tokens` exceed context limit: ",
        " + ",
        " > ",
        ", decrease input length or `max_tokens` and try again",
    ],
];

fn is_sentence_of_overflow(message: &str) -> bool {
    OVERFLOWS
        .iter()
        .any(|sentence| is_sentence(sentence, message))
}

/// Whether a text is these words with a number between each and the next.
fn is_sentence(words: &[&str], text: &str) -> bool {
    let Some(rest) = words.first().and_then(|word| text.strip_prefix(word)) else {
        return false;
    };
    let rest = words.iter().skip(1).try_fold(rest, |rest, word| {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        (after.len() < rest.len()).then(|| after.strip_prefix(word))?
    });
    rest == Some("")
}

/// Codes that mean the same wherever they appear.
fn by_code(code: &str) -> Option<Class> {
    Some(match code.to_ascii_lowercase().as_str() {
        // OpenAI, Azure and most that imitate them; llama.cpp; Zhipu.
        "context_length_exceeded"
        | "exceed_context_size_error"
        | "context_window_exceeded"
        | "model_context_window_exceeded" => Class::Overflow,
        // OpenAI; Anthropic, whose limits on spending come as bad requests; DeepSeek; Moonshot.
        "insufficient_quota"
        | "contract_spend_limit_reached"
        | "enforced_spend_limit_reached"
        | "linked_organization_spend_limit_reached"
        | "linked_organization_billing_unavailable"
        | "organization_on_hold"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "billing_error"
        | "insufficient_balance"
        | "exceeded_current_quota_error" => Class::Billing,
        // OpenAI; Anthropic; Google.
        "invalid_api_key"
        | "account_deactivated"
        | "authentication_error"
        | "api_key_invalid"
        | "unauthenticated"
        | "permission_error"
        | "permission_denied" => Class::Auth,
        // Azure; OpenAI; the last three are of responses that failed.
        "content_filter"
        | "content_policy_violation"
        | "invalid_prompt"
        | "bio_policy"
        | "misalignment_policy_violation"
        | "image_content_policy_violation" => Class::Refused,
        // OpenAI, of responses that failed: the same request fares no better.
        "data_residency_mismatch"
        | "invalid_encrypted_content"
        | "invalid_image"
        | "invalid_image_format"
        | "invalid_base64_image"
        | "invalid_image_url"
        | "invalid_image_mode"
        | "image_too_large"
        | "image_too_small"
        | "image_parse_error"
        | "image_file_too_large"
        | "image_file_not_found"
        | "unsupported_image_media_type"
        | "empty_image_file" => Class::BadRequest,
        // OpenAI; Anthropic; DeepSeek.
        "rate_limit_exceeded" | "rate_limit_error" | "resource_exhausted" => Class::RateLimited,
        "overloaded_error" | "server_error" | "insufficient_system_resource" => Class::Unavailable,
        _ => return None,
    })
}

fn by_status(status: Option<u16>) -> Class {
    match status {
        Some(401 | 403) => Class::Auth,
        Some(402) => Class::Billing,
        Some(413) => Class::Overflow,
        Some(408) => Class::Timeout,
        Some(429) => Class::RateLimited,
        // 409 and 425 are locks and early data: both pass.
        Some(409 | 425 | 500..) | None => Class::Unavailable,
        Some(_) => Class::BadRequest,
    }
}

/// The longest piece of foreign text in a message, in bytes.
const EXCERPT: usize = 200;

/// What ends a piece that was cut.
pub(crate) const CUT: &str = "…";

/// The start of what came, on one line and printable.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(EXCERPT)];
    let text = String::from_utf8_lossy(start);
    let cut = if bytes.len() > EXCERPT { CUT } else { "" };
    format!("\"{}{cut}\"", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn class(status: u16, body: &Value) -> Class {
        ServerError::read(body.to_string().as_bytes()).class(Some(status))
    }

    #[test]
    fn statuses_have_classes() {
        for (status, wanted) in [
            (400, Class::BadRequest),
            (401, Class::Auth),
            (402, Class::Billing),
            (403, Class::Auth),
            (404, Class::BadRequest),
            (408, Class::Timeout),
            (413, Class::Overflow),
            (422, Class::BadRequest),
            (429, Class::RateLimited),
            (500, Class::Unavailable),
            (503, Class::Unavailable),
            (529, Class::Unavailable),
        ] {
            assert_eq!(class(status, &json!({})), wanted, "{status}");
            assert_eq!(
                ServerError::read(b"<html>").class(Some(status)),
                wanted,
                "{status}"
            );
        }
    }

    #[test]
    fn typed_codes_win_over_statuses() {
        for (status, body, wanted) in [
            (
                429,
                json!({"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}),
                Class::Billing,
            ),
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "type": "invalid_request_error"}}),
                Class::Overflow,
            ),
            (
                400,
                json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 4096}}),
                Class::Overflow,
            ),
            (
                400,
                json!({"error": {"code": 400, "type": "BadRequestError", "param": "input_tokens"}}),
                Class::Overflow,
            ),
            (
                400,
                json!({"error": {"code": "content_filter"}}),
                Class::Refused,
            ),
            (
                403,
                json!({"error": {"code": 403, "metadata": {"reasons": ["x"]}}}),
                Class::Refused,
            ),
            (
                400,
                json!([{"error": {"code": 400, "status": "API_KEY_INVALID"}}]),
                Class::Auth,
            ),
            (200, json!({"error": {"code": 502}}), Class::Unavailable),
            (200, json!({"error": {"code": 429}}), Class::RateLimited),
            (
                200,
                json!({"error": {"message": "odd"}}),
                Class::Unavailable,
            ),
        ] {
            assert_eq!(class(status, &body), wanted, "{body}");
        }
    }

    #[test]
    fn free_text_decides_nothing() {
        let body = json!({"error": {"message": "context_length_exceeded insufficient_quota invalid_api_key"}});
        assert_eq!(class(400, &body), Class::BadRequest);
        assert_eq!(
            class(500, &json!({"detail": "rate limit"})),
            Class::Unavailable
        );
        for text in [
            "prompt is too long: many tokens > 200000 maximum",
            "prompt is too long: 1 tokens > 2 maximum, says the model",
            "the file says: prompt is too long: 1 tokens > 2 maximum",
            "prompt is too long: ",
        ] {
            let body = json!({"error": {"type": "invalid_request_error", "message": text}});
            assert_eq!(class(400, &body), Class::BadRequest, "{text}");
        }
    }

    #[test]
    fn sentences_with_room_for_numbers_alone_are_codes() {
        for text in [
            "prompt is too long: 205668 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 195102 + 8192 > 200000, decrease input length or `max_tokens` and try again",
        ] {
            let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}});
            assert_eq!(class(400, &body), Class::Overflow, "{text}");
            assert_eq!(class(500, &body), Class::Unavailable, "{text}");
        }
    }

    #[test]
    fn errors_inside_a_stream_are_classified_by_their_type() {
        for (kind, wanted) in [
            ("invalid_request_error", Class::BadRequest),
            ("not_found_error", Class::BadRequest),
            ("request_too_large", Class::Overflow),
            ("timeout_error", Class::Unavailable),
            ("authentication_error", Class::Auth),
            ("billing_error", Class::Billing),
            ("rate_limit_error", Class::RateLimited),
            ("overloaded_error", Class::Unavailable),
            ("api_error", Class::Unavailable),
            ("something_new", Class::Unavailable),
        ] {
            let error = json!({"type": "error", "error": {"type": kind, "message": "m"}});
            let error = serde_json::value::to_raw_value(&error).unwrap();
            assert_eq!(Trouble::reported(&error).class, wanted, "{kind}");
        }
        let limit = json!({"error": {"type": "invalid_request_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}});
        assert_eq!(class(400, &limit), Class::Billing);
        let unknown =
            json!({"error": {"type": "rate_limit_error", "details": {"error_code": "x"}}});
        assert_eq!(class(429, &unknown), Class::RateLimited);
    }

    #[test]
    fn messages_are_found_in_every_shape() {
        for body in [
            json!({"error": {"message": "no"}}),
            json!({"error": "no"}),
            json!([{"error": {"message": "no"}}]),
            json!({"object": "error", "message": "no", "code": 400}),
        ] {
            assert_eq!(ServerError::from_value(&body).message, "no", "{body}");
        }
    }

    #[test]
    fn excerpts_are_short_and_printable() {
        assert_eq!(excerpt(b"a\n\x1b[31m\xff"), "\"a\\n\\u{1b}[31m\u{fffd}\"");
        assert!(excerpt(&[b'x'; 5000]).len() < 220);
    }
}
