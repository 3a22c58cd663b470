//! What a failure comes from, where more is known of it than its kind.

/// Failures of one cause are one for the breaker, except for those that nothing joins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Trying again brings nothing.
    Hopeless,
    /// Nor with this image, whose other instances fail alike.
    Image(String),
    /// This registry gives nothing.
    Registry(String),
    /// The engine went away, for the time of this number. It says nothing of who was there.
    Outage(u64),
}

impl Cause {
    /// Whether failures of this cause are all the same one.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Hopeless => false,
            Self::Image(_) | Self::Registry(_) | Self::Outage(_) => true,
        }
    }

    /// The cause of a failure that a sandbox tells of.
    pub fn of(error: &sandbox::Error) -> Option<Self> {
        if let Some(image) = error.image() {
            return Some(Self::Image(image.to_owned()));
        }
        if let Some(registry) = error.registry() {
            return Some(Self::Registry(registry.to_owned()));
        }
        error.is_hopeless().then_some(Self::Hopeless)
    }
}
