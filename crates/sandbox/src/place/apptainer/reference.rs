//! What an image's name means: a file, something that Apptainer's address schemes lead to, or a name as Docker has it.

use std::path::{Path, PathBuf};

/// Schemes that lead to something on this machine; the rest of the address is a path but for a service's.
const LOCAL: [&str; 5] = [
    "docker-archive",
    "oci-archive",
    "oci",
    "docker-daemon",
    "containers-storage",
];
/// The one of them whose rest is no path.
const SERVICES: [&str; 2] = ["docker-daemon", "containers-storage"];
/// Ends of the names of image files.
const FILES: [&str; 4] = [".sif", ".simg", ".sqsh", ".img"];

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    /// A file, or a directory that an image was unpacked into, used as it is.
    Ready(PathBuf),
    /// Something on this machine that is made into a file, and the path of it where it has one.
    Local {
        /// Its address.
        uri: String,
        /// Where it lies.
        path: Option<PathBuf>,
    },
    /// An address that is pulled.
    Remote(String),
}

impl Reference {
    /// Reads a name. What has no scheme and is no path is an image of a registry, as elsewhere.
    pub(super) fn parse(name: &str) -> Self {
        if is_path(name) {
            return Self::Ready(PathBuf::from(name));
        }
        match name.split_once(':') {
            Some((scheme, rest)) if LOCAL.contains(&scheme) => Self::Local {
                uri: name.to_owned(),
                path: (!SERVICES.contains(&scheme)).then(|| file_of(rest)),
            },
            Some((_, rest)) if rest.starts_with("//") => Self::Remote(name.to_owned()),
            Some(_) | None => Self::Remote(format!("docker://{name}")),
        }
    }
}

fn is_path(name: &str) -> bool {
    let begins = ["/", "./", "../"]
        .iter()
        .any(|start| name.starts_with(start));
    let addressed = name.contains("://") || LOCAL.iter().any(|scheme| is_of(name, scheme));
    begins || !addressed && FILES.iter().any(|end| name.ends_with(end))
}

fn is_of(name: &str, scheme: &str) -> bool {
    name.strip_prefix(scheme)
        .is_some_and(|rest| rest.starts_with(':'))
}

/// The path in what follows a scheme; behind it the name of an image in the archive may follow.
fn file_of(rest: &str) -> PathBuf {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let exact = Path::new(path);
    match path.split_once(':') {
        Some((file, _)) if !exact.exists() => PathBuf::from(file),
        Some(_) | None => exact.to_owned(),
    }
}

/// Whether a name is one that only Apptainer understands: a file's, or with a scheme.
pub fn is_address(name: &str) -> bool {
    is_path(name) || name.contains("://") || LOCAL.iter().any(|scheme| is_of(name, scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_users_of_apptainer_expect() {
        let remote = |uri: &str| Reference::Remote(uri.to_owned());
        let ready = |path: &str| Reference::Ready(PathBuf::from(path));
        let local = |uri: &str, path: Option<&str>| Reference::Local {
            uri: uri.to_owned(),
            path: path.map(PathBuf::from),
        };
        for (name, meant) in [
            ("python:3.12", remote("docker://python:3.12")),
            (
                "localhost:5000/a/b:1",
                remote("docker://localhost:5000/a/b:1"),
            ),
            ("docker://a/b@sha256:00", remote("docker://a/b@sha256:00")),
            ("oras://host/a:1", remote("oras://host/a:1")),
            ("https://host/x.sif", remote("https://host/x.sif")),
            ("x.sif", ready("x.sif")),
            ("/images/A b", ready("/images/A b")),
            ("../rootfs", ready("../rootfs")),
            (
                "docker-archive:/none/a.tar:b:1",
                local("docker-archive:/none/a.tar:b:1", Some("/none/a.tar")),
            ),
            (
                "docker-archive:a.img",
                local("docker-archive:a.img", Some("a.img")),
            ),
            ("oci://layout", local("oci://layout", Some("layout"))),
            ("docker-daemon:a/b:1", local("docker-daemon:a/b:1", None)),
        ] {
            assert_eq!(Reference::parse(name), meant, "{name}");
            let plain = matches!(name, "python:3.12" | "localhost:5000/a/b:1");
            assert_eq!(is_address(name), !plain, "{name}");
        }
    }
}
