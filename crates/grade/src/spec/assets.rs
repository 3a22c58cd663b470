//! Files of the test patch that rows name by address: binary ones, which a patch without its data cannot make.

use schema::instance::AnswerKey;
use serde_json::Value;

use super::SpecError;
use super::row::bad;
use crate::directives::quoted;

const FIELD: &str = "image_assets";

/// A file and where it is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asset {
    path: String,
    address: String,
}

/// The files that the test patch needs. An address without a path, as the oldest rows have it, names no file.
pub(super) fn assets(answer: &AnswerKey) -> Result<Vec<Asset>, SpecError> {
    let wrong = || bad(FIELD, "must be an object with lists of `path` and `url`");
    let decoded;
    let assets = match answer.extra.get(FIELD) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) => {
            decoded = serde_json::from_str::<Value>(text).map_err(|_| wrong())?;
            &decoded
        }
        Some(value) => value,
    };
    let of_tests = assets.get("test_patch").and_then(Value::as_array);
    let entries = of_tests
        .into_iter()
        .flatten()
        .filter(|one| !one.is_string());
    entries
        .map(|entry| {
            let text = |name: &str| entry.get(name)?.as_str().map(str::to_owned);
            let (path, address) = (text("path"), text("url"));
            let (Some(path), Some(address)) = (path, address) else {
                return Err(wrong());
            };
            Ok(Asset { path, address })
        })
        .collect()
}

impl Asset {
    /// Fetches it where the tests are run, as the official scripts do; without it there is no verdict.
    pub(super) fn command(&self) -> String {
        let path = quoted(&self.path);
        let directory = match self.path.rsplit_once('/') {
            Some((directory, _)) => format!("mkdir -p {}; ", quoted(directory)),
            None => String::new(),
        };
        format!(
            "{directory}curl --fail --silent --show-error --location --output {path} {} || {{ echo 'a file of the tests could not be fetched'; exit 1; }}; chmod 777 {path}",
            quoted(&self.address)
        )
    }
}
