//! Credentials for registries, as Docker's own command line keeps them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bollard::auth::DockerCredentials;
use serde::Deserialize;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

/// How long a helper may take: some ask a keyring, some a service.
const HELPER: Duration = Duration::from_secs(30);

/// The user's name by which a helper says that the secret is a token.
const TOKEN: &str = "<token>";

/// What matters here of `config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Configuration {
    auths: HashMap<String, Entry>,
    cred_helpers: HashMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

/// What a helper answers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Directory of the user's Docker configuration.
pub(super) fn directory() -> Option<PathBuf> {
    let given = std::env::var_os("DOCKER_CONFIG").filter(|path| !path.is_empty());
    given.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").filter(|path| !path.is_empty())?;
        Some(PathBuf::from(home).join(".docker"))
    })
}

/// The registry that an image's name leads to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registry<'a> {
    /// The host in the name; without one it is the engine's default registry.
    pub(super) host: Option<&'a str>,
    /// What the engine calls its default registry: an address, under which its credentials are kept.
    pub(super) default: &'a str,
}

/// Credentials for the registry of an image; `None` where there are none, and the registry is asked without.
///
/// # Errors
/// When a file or a helper that should have some cannot be used, as one line.
pub(super) async fn find(
    directory: Option<&Path>,
    registry: Registry<'_>,
) -> Result<Option<DockerCredentials>, String> {
    let Some(directory) = directory else {
        return Ok(None);
    };
    let path = directory.join("config.json");
    let text = match tokio::fs::read(&path).await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        Ok(text) => text,
    };
    let configuration: Configuration = serde_json::from_slice(&text)
        .map_err(|error| format!("{} cannot be understood: {error}", path.display()))?;
    let address = registry.address();
    let helper = configuration
        .cred_helpers
        .iter()
        .find(|(key, _)| registry.is(key))
        .map(|(_, helper)| helper)
        .or(configuration.creds_store.as_ref());
    if let Some(helper) = helper
        && let Some(found) = ask(helper, address).await?
    {
        return Ok(Some(found));
    }
    let entry = configuration
        .auths
        .iter()
        .find(|(key, _)| registry.is(key))
        .map(|(_, entry)| entry);
    Ok(entry.and_then(|entry| stored(entry, address)))
}

impl Registry<'_> {
    /// What helpers and `auths` call it.
    fn address(&self) -> &str {
        match self.host {
            Some(host) if !self.is_default(host) => host,
            Some(_) | None => self.default,
        }
    }

    /// What people know it by.
    pub(super) fn label(&self) -> &str {
        match host(self.address()) {
            "" => "of the engine's choice",
            host => host,
        }
    }

    /// Whether a key of the configuration means this registry. Keys are hosts or addresses.
    fn is(&self, key: &str) -> bool {
        let key = host(key);
        match self.host {
            Some(host) if !self.is_default(host) => key == host,
            Some(_) | None => self.is_default(key),
        }
    }

    /// The default registry has several names in one domain.
    fn is_default(&self, name: &str) -> bool {
        let index = host(self.default);
        let domain = index.split_once('.').map_or(index, |(_, domain)| domain);
        name == index
            || name == domain
            || name
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.'))
    }
}

/// The host in an address.
fn host(address: &str) -> &str {
    let address = address
        .trim_start_matches("https://")
        .trim_start_matches("http://");
    address.split('/').next().unwrap_or_default()
}

fn stored(entry: &Entry, address: &str) -> Option<DockerCredentials> {
    let (mut username, mut password) = (entry.username.clone(), entry.password.clone());
    if !entry.auth.is_empty() {
        let decoded = STANDARD.decode(&entry.auth).ok()?;
        let text = String::from_utf8(decoded).ok()?;
        let (name, secret) = text.split_once(':')?;
        name.clone_into(&mut username);
        secret.trim_end_matches('\0').clone_into(&mut password);
    }
    let token = Some(entry.identitytoken.clone()).filter(|token| !token.is_empty());
    if username.is_empty() && token.is_none() {
        return None;
    }
    Some(DockerCredentials {
        username: Some(username),
        password: Some(password),
        identitytoken: token,
        serveraddress: Some(address.to_owned()),
        ..DockerCredentials::default()
    })
}

/// Asks a helper program; `None` when it has nothing for the registry.
async fn ask(helper: &str, address: &str) -> Result<Option<DockerCredentials>, String> {
    let program = format!("docker-credential-{helper}");
    let failed = |what: String| format!("the credential helper {program} {what}");
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        // One that does not read says so by its exit code.
        let _ = input.write_all(address.as_bytes()).await;
    }
    let output = match timeout(HELPER, child.wait_with_output()).await {
        Err(_) => return Err(failed(format!("does not answer in {} s", HELPER.as_secs()))),
        Ok(output) => output.map_err(|error| failed(format!("failed: {error}")))?,
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if said.contains("credentials not found") {
            return Ok(None);
        }
        return Err(failed(format!("failed: {said}")));
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|_| failed("answered something else than credentials".to_owned()))?;
    let mut credentials = DockerCredentials {
        serveraddress: Some(address.to_owned()),
        ..DockerCredentials::default()
    };
    if answer.username == TOKEN {
        credentials.identitytoken = Some(answer.secret);
    } else {
        credentials.username = Some(answer.username);
        credentials.password = Some(answer.secret);
    }
    Ok(Some(credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(text: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.json"), text).unwrap();
        directory
    }

    fn registry(host: &str) -> Registry<'_> {
        Registry {
            host: Some(host).filter(|host| !host.is_empty()),
            default: "https://index.registry.example/v1/",
        }
    }

    async fn named(text: &str, host: &str) -> Option<(String, String)> {
        let directory = configuration(text);
        let found = find(Some(directory.path()), registry(host))
            .await
            .unwrap()?;
        Some((found.username?, found.password?))
    }

    #[tokio::test]
    async fn stored_credentials_go_to_their_registry_alone() {
        // user:pa:ss
        let text = r#"{"auths": {"https://index.registry.example/v1/": {"auth": "dXNlcjpwYTpzcw=="}, "localhost:5000": {"username": "a", "password": "b"}, "empty": {}}}"#;
        let user = Some(("user".to_owned(), "pa:ss".to_owned()));
        for name in ["", "registry.example", "one.registry.example"] {
            assert_eq!(named(text, name).await, user, "{name}");
        }
        assert_eq!(named(text, "otherregistry.example").await, None);
        let other = Some(("a".to_owned(), "b".to_owned()));
        assert_eq!(named(text, "localhost:5000").await, other);
        assert_eq!(named(text, "localhost:5001").await, None);
        assert_eq!(named(text, "empty").await, None);
    }

    #[tokio::test]
    async fn a_missing_file_is_none_and_a_broken_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(find(Some(directory.path()), registry("x")).await, Ok(None));
        assert_eq!(find(None, registry("x")).await, Ok(None));
        let directory = configuration("{");
        let error = find(Some(directory.path()), registry("x"))
            .await
            .unwrap_err();
        assert!(error.contains("config.json"), "{error}");
    }

    #[tokio::test]
    async fn a_helper_that_is_not_there_is_named() {
        let directory = configuration(r#"{"credHelpers": {"r.example": "no-such-helper"}}"#);
        let error = find(Some(directory.path()), registry("r.example"))
            .await
            .unwrap_err();
        assert!(
            error.contains("docker-credential-no-such-helper"),
            "{error}"
        );
        assert_eq!(
            find(Some(directory.path()), registry("other")).await,
            Ok(None)
        );
    }
}
