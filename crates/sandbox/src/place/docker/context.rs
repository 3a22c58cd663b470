//! Contexts: how Docker's command line remembers where engines are.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::credentials;

/// The context that is the usual socket.
const DEFAULT: &str = "default";

/// An engine's address, and the directory of the keys for it where it needs some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) name: String,
    pub(super) host: String,
    pub(super) keys: Option<PathBuf>,
}

/// Why a context cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// A file of it cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// A file of it cannot be understood.
    #[error("{} cannot be understood", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: serde_json::Error,
    },
    /// It has no address of an engine.
    #[error("the context `{0}` has no address of a Docker engine")]
    NoAddress(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Configuration {
    current_context: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Meta {
    endpoints: Endpoints,
}

#[derive(Debug, Deserialize)]
struct Endpoints {
    docker: Option<Endpoint>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Endpoint {
    host: Option<String>,
}

/// The context `named`, else the current one; `None` for the usual socket.
pub(super) fn current(named: Option<String>) -> Result<Option<Context>, ContextError> {
    match credentials::directory() {
        Some(directory) => current_in(&directory, named),
        None => Ok(None),
    }
}

fn current_in(directory: &Path, named: Option<String>) -> Result<Option<Context>, ContextError> {
    let name = if let Some(name) = named {
        name
    } else {
        let path = directory.join("config.json");
        if !path.exists() {
            return Ok(None);
        }
        read::<Configuration>(path)?.current_context
    };
    if name.is_empty() || name == DEFAULT {
        return Ok(None);
    }
    // Its directories are called after the digest of its name.
    let id = schema::hex(&Sha256::digest(name.as_bytes()));
    let contexts = directory.join("contexts");
    let meta: Meta = read(contexts.join("meta").join(&id).join("meta.json"))?;
    let host = meta.endpoints.docker.and_then(|endpoint| endpoint.host);
    let host = host
        .filter(|host| !host.is_empty())
        .ok_or_else(|| ContextError::NoAddress(name.clone()))?;
    let keys = contexts.join("tls").join(&id).join("docker");
    Ok(Some(Context {
        name,
        host,
        keys: keys.join("key.pem").exists().then_some(keys),
    }))
}

fn read<T: for<'a> Deserialize<'a>>(path: PathBuf) -> Result<T, ContextError> {
    match std::fs::read(&path) {
        Err(source) => Err(ContextError::Read { path, source }),
        Ok(text) => {
            serde_json::from_slice(&text).map_err(|source| ContextError::Parse { path, source })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `docker context create` writes it.
    fn with_context(name: &str, meta: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let id = schema::hex(&Sha256::digest(name.as_bytes()));
        let path = directory.path().join("contexts/meta").join(id);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("meta.json"), meta).unwrap();
        directory
    }

    #[test]
    fn the_current_context_is_found_by_its_name() {
        let meta = r#"{"Name":"far","Metadata":{},"Endpoints":{"docker":{"Host":"tcp://far:2375","SkipTLSVerify":false}}}"#;
        let directory = with_context("far", meta);
        let path = directory.path();
        assert_eq!(current_in(path, None).unwrap(), None);
        let far = Context {
            name: "far".to_owned(),
            host: "tcp://far:2375".to_owned(),
            keys: None,
        };
        assert_eq!(
            current_in(path, Some("far".to_owned())).unwrap(),
            Some(far.clone())
        );
        std::fs::write(path.join("config.json"), r#"{"currentContext":"far"}"#).unwrap();
        assert_eq!(current_in(path, None).unwrap(), Some(far));
        assert_eq!(current_in(path, Some("default".to_owned())).unwrap(), None);
        assert!(current_in(path, Some("near".to_owned())).is_err());
    }
}
