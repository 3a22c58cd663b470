//! What programs in a sandbox may do: as the user says, else as images of the row's dataset need it.

use dataset::Row;
use sandbox::place;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::settings::RunSettings;

/// What the user says of it; what is not said is the dataset's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// User that commands run as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Capabilities that are kept, without `CAP_`, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Bytes of a `/tmp` in memory; 0 is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tmpfs: Option<u64>,
}

impl Rights {
    /// Whether the user says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Of sandboxes of a row; `contained` says whether they are made of an image, which is what the dataset's words are about.
    pub fn of(&self, row: &Row, contained: bool) -> place::Rights {
        let family = contained.then(|| row.family());
        let user = self.user.clone();
        let capabilities = self.capabilities.clone();
        let tmpfs = self.tmpfs.or_else(|| family?.tmpfs());
        place::Rights {
            user: user.or_else(|| family?.user().map(str::to_owned)),
            capabilities: capabilities
                .or_else(|| Some(family?.capabilities().to_vec()))
                .unwrap_or_default(),
            temporary: tmpfs.filter(|&bytes| bytes > 0),
        }
    }

    /// As [`Self::of`] where nothing is known of a row.
    pub fn alone(&self) -> place::Rights {
        place::Rights {
            user: self.user.clone(),
            capabilities: self.capabilities.clone().unwrap_or_default(),
            temporary: self.tmpfs.filter(|&bytes| bytes > 0),
        }
    }
}

/// What the user asked for and a backend cannot give is refused before anything starts.
///
/// # Errors
/// When that is so, and best effort was not asked for.
pub(crate) fn check(
    settings: &RunSettings,
    name: &str,
    backend: &dyn place::Backend,
) -> Result<(), Error> {
    if backend.capabilities().has_rights() || settings.operation.best_effort_limits {
        return Ok(());
    }
    match settings.identity.rights.alone().asked().first() {
        None => Ok(()),
        Some(asked) => {
            let flag = match *asked {
                "user" => "--sandbox-user",
                "capabilities" => "--cap-add",
                _ => "--tmpfs",
            };
            Err(Error::Settings {
                message: format!("the {name} sandbox knows no {flag}: it is for containers"),
                hint: Some(format!(
                    "use --sandbox docker, leave out {flag}, or give --best-effort-limits to have it recorded only"
                )),
                source: None,
            })
        }
    }
}
