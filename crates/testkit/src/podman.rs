//! Container images in the Podman service that `CONTAINER_HOST` names.

use std::process::Command;

use super::images::docker_image;
use super::missing;

/// The image called `name` as Podman's service has it: what [`docker_image`] builds, carried over by an archive, since there is no registry.
///
/// `None`, after saying so, where `CONTAINER_HOST` names no service that answers, or the image cannot be had; a panic instead where
/// `PATCHMILL_REQUIRE` names `podman`.
pub fn podman_image(name: &str) -> Option<&'static str> {
    let image = carried(name);
    if let Err(problem) = &image {
        missing("podman", problem);
    }
    image.ok()
}

fn carried(name: &str) -> Result<&'static str, String> {
    let host = std::env::var("CONTAINER_HOST")
        .map_err(|_| String::from("CONTAINER_HOST names no Podman service"))?;
    let image = docker_image(name).ok_or("the image is not there")?;
    let podman = |arguments: &[&str]| {
        let output = Command::new("podman")
            .args(["--url", &host])
            .args(arguments)
            .output();
        output.map_err(|error| format!("podman cannot be run: {error}"))
    };
    let info = podman(&["version"])?;
    if !info.status.success() {
        return Err(String::from_utf8_lossy(&info.stderr).trim().to_owned());
    }
    if podman(&["image", "exists", image])?.status.success() {
        return Ok(image);
    }
    let archive = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let path = archive.path().to_string_lossy().into_owned();
    let saved = Command::new("docker")
        .args(["save", "--output", &path, image])
        .output()
        .map_err(|error| format!("docker cannot be run: {error}"))?;
    if !saved.status.success() {
        return Err(String::from_utf8_lossy(&saved.stderr).trim().to_owned());
    }
    let loaded = podman(&["load", "--input", &path])?;
    if loaded.status.success() {
        Ok(image)
    } else {
        Err(String::from_utf8_lossy(&loaded.stderr).trim().to_owned())
    }
}
