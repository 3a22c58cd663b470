//! Protocols of models behind a server, and what is customary for each.

/// A protocol by which servers are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Chat completions: OpenAI's, and all that speak them.
    OpenAi,
}

/// How a request carries the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Auth {
    /// `Authorization: Bearer KEY`.
    Bearer,
}

impl Service {
    /// Every one, in the order of help texts.
    pub const ALL: &[Self] = &[Self::OpenAi];

    /// What stands before the model's name: `openai` in `openai:NAME`.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
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
            Self::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The environment variable that by custom holds the address of another server.
    pub const fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
        }
    }

    /// Address of the maker's own server.
    pub(crate) const fn base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
        }
    }

    pub(crate) const fn auth(self) -> Auth {
        match self {
            Self::OpenAi => Auth::Bearer,
        }
    }
}
