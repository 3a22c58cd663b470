//! What a failure comes from, where more is known of it than its kind.

/// Failures of one cause are one for the breaker, except for those that nothing joins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Trying again brings nothing.
    Hopeless,
    /// Nor with this image, whose other instances fail alike.
    Image(String),
    /// The engine went away, for the time of this number. It says nothing of who was there.
    Outage(u64),
}

impl Cause {
    /// Whether failures of this cause are all the same one.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Hopeless => false,
            Self::Image(_) | Self::Outage(_) => true,
        }
    }

    /// The cause of a failure that a sandbox tells of.
    pub fn of(error: &sandbox::Error) -> Option<Self> {
        match error.image() {
            Some(image) => Some(Self::Image(image.to_owned())),
            None => error.is_hopeless().then_some(Self::Hopeless),
        }
    }
}
