//! What this tool pulled into an engine: such images may be removed again without asking, since they can be had again, and nobody else wanted them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bollard::models::SystemInfo;
use sha2::{Digest as _, Sha256};

use super::image::Image;
use super::inventory::file_name;

/// Directory below the sandboxes' root, with one for each engine: what was pulled into one may be the user's own in another.
const DIRECTORY: &str = "images-pulled";
/// Bytes that are read of such a file.
const READ: u64 = 64 << 10;
/// How much later than the record of its pull an image's name may have been given: clocks, and a slow disk.
const LATER: Duration = Duration::from_mins(1);

/// An engine's directory below `root`: a file for each image, named after it, with the names that were asked for in it, a line each.
///
/// Engines of one machine may share an identifier, and clones of a machine too; where they keep their images tells them apart. One without an
/// identifier is known by its machine.
pub(super) fn directory(root: &Path, info: &SystemInfo) -> PathBuf {
    let parts = [&info.id, &info.name, &info.docker_root_dir];
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.as_deref().unwrap_or_default());
        digest.update([0]);
    }
    root.join(DIRECTORY)
        .join(format!("{:x}", digest.finalize()))
}

/// Remembers a pull. An image that was there `before` under the same name is the user's, and stays so.
pub(super) fn remember(directory: &Path, name: &str, image: &Image, before: Option<&Image>) {
    if before.is_some_and(|before| before.id == image.id) {
        return;
    }
    let written = fs::create_dir_all(directory).and_then(|()| {
        let path = directory.join(file_name(&image.id));
        let mut file = File::options().create(true).append(true).open(path)?;
        file.write_all(format!("{name}\n").as_bytes())
    });
    if let Err(error) = written {
        tracing::debug!(image = name, %error, "the pull of an image is not remembered");
    }
}

/// The names under which an image was pulled, each with its tag; none for what was not.
pub(super) fn names(directory: &Path, id: &str) -> HashSet<String> {
    let mut text = String::new();
    let read = File::open(directory.join(file_name(id)))
        .and_then(|file| file.take(READ).read_to_string(&mut text));
    match read {
        Ok(_) => text.lines().map(full).collect(),
        Err(_) => HashSet::new(),
    }
}

/// Whether an image was pulled, and has no other `names`.
pub(super) fn are_all(directory: &Path, id: &str, present: &[String]) -> bool {
    let pulled = names(directory, id);
    !pulled.is_empty() && present.iter().all(|name| pulled.contains(&full(name)))
}

/// Whether a name was given to an image, at `tagged`, after it was pulled: then somebody else wanted it too.
pub(super) fn is_overtaken(directory: &Path, id: &str, tagged: SystemTime) -> bool {
    let record = fs::metadata(directory.join(file_name(id))).and_then(|found| found.modified());
    record.map_or(true, |record| tagged > record + LATER)
}

/// A name as the engine lists it: with a tag, and without the default registry's host.
pub(super) fn full(name: &str) -> String {
    let name = name.strip_prefix("index.docker.io/").unwrap_or(name);
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    let name = name.strip_prefix("library/").unwrap_or(name);
    super::pull::tagged(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_has_a_record_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let engine = |id: Option<&str>, storage: &str| {
            let info = SystemInfo {
                id: id.map(str::to_owned),
                name: Some("host".to_owned()),
                docker_root_dir: Some(storage.to_owned()),
                ..SystemInfo::default()
            };
            directory(root.path(), &info)
        };
        let one = engine(Some("A"), "/a");
        fs::create_dir_all(&one).unwrap();
        fs::write(one.join(file_name("sha256:00")), "c:1\n").unwrap();
        let ours = |engine: &Path| are_all(engine, "sha256:00", &["c:1".to_owned()]);
        assert!(ours(&engine(Some("A"), "/a")));
        assert!(!ours(&engine(Some("B"), "/a")));
        assert!(!ours(&engine(Some("A"), "/b")));
        assert!(!ours(&engine(None, "/a")));
    }

    #[test]
    fn an_image_with_a_name_of_the_users_is_not_ours() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join(file_name("sha256:00")), "docker.io/a/b\nc:1\n").unwrap();
        let present = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            are_all(path, "sha256:00", &names)
        };
        assert!(present(&["a/b:latest"]));
        assert!(present(&["a/b:latest", "c:1"]));
        assert!(!present(&["a/b:latest", "mine:1"]));
        assert!(!are_all(path, "sha256:01", &[]));
    }

    #[test]
    fn a_name_that_was_given_later_is_not_ours() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        fs::write(path.join(file_name("sha256:00")), "a\n").unwrap();
        let now = fs::metadata(path.join(file_name("sha256:00"))).unwrap();
        let now = now.modified().unwrap();
        assert!(!is_overtaken(path, "sha256:00", now));
        assert!(is_overtaken(path, "sha256:00", now + LATER * 2));
        assert!(is_overtaken(path, "sha256:01", now));
    }
}
