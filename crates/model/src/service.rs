//! Protocols of models behind a server, and what is customary for each.

/// A protocol by which servers are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Chat completions: OpenAI's, and all that speak them.
    OpenAi,
    /// Responses: OpenAI's.
    OpenAiResponses,
    /// Messages: Anthropic's, and all that speak them.
    Anthropic,
}

/// How a request carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of this name, in lower case, that holds nothing but the key.
    Header(&'static str),
}

impl Service {
    /// Every one, in the order of help texts.
    pub const ALL: &[Self] = &[Self::OpenAi, Self::OpenAiResponses, Self::Anthropic];

    /// What stands before the model's name: `openai` in `openai:NAME`.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
        }
    }

    /// The service with such a prefix.
    pub fn with_prefix(prefix: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|service| service.prefix() == prefix)
    }

    /// The environment variable that by custom holds the key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    /// The environment variable that by custom holds the address of another server.
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
        }
    }

    /// Address of the maker's own server.
    pub(crate) const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// The makers of Anthropic's server name a second way, `Authorization: Bearer`, and take the first where both come.
    pub(crate) const fn auth(self) -> Auth {
        match self {
            Self::OpenAi | Self::OpenAiResponses => Auth::Bearer,
            Self::Anthropic => Auth::Header("x-api-key"),
        }
    }

    /// Headers that every request has; those of the user win.
    ///
    /// Anthropic's version of 2026-10-21 only takes parameters away (temperature among them), and servers that imitate theirs know the first
    /// version alone: <https://platform.claude.com/docs/en/api/versioning>.
    pub(crate) const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::OpenAi | Self::OpenAiResponses => &[],
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
        }
    }
}
