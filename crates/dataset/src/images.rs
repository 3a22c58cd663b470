//! Which container image a row is worked on in.

pub use schema::grading::Origin;

use crate::error::Error;
use crate::row::Row;
use crate::template::{self, PLACEHOLDERS};

/// The image of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Its name, as an engine takes it; without a host it is the engine's default registry's.
    pub name: String,
    /// Where the name is from.
    pub origin: Origin,
}

/// What the user says about images.
#[derive(Debug, Clone, Default)]
pub struct Naming {
    /// Template of the image of every row, instead of what rows and rules say. It may hold placeholders such as `{instance_id}`.
    pub template: Option<String>,
    /// Registry, and perhaps a path in it, that stands in for the default registry: `HOST[:PORT][/PATH]`. A given template is not touched.
    pub mirror: Option<String>,
    /// Tells names that only a sandbox understands, such as a file's: they are taken as they are, and checked by it alone.
    pub special: Option<fn(&str) -> bool>,
}

impl Naming {
    /// The image of `row`: as given, else as the row says (`image`, `image_name`, `docker_image`), else by its family's rule; `None` where none
    /// of them has one. A row with a repository of its own on this machine gets none by a rule.
    ///
    /// # Errors
    /// When a placeholder cannot be filled, or the result is no name of an image.
    pub fn image(&self, row: &Row) -> Result<Option<Image>, Error> {
        let Some((name, origin)) = self.named(row)? else {
            return Ok(None);
        };
        if self.is_special(&name) {
            return Ok(Some(Image { name, origin }));
        }
        let name = match &self.mirror {
            Some(mirror) if origin != Origin::Given => mirrored(&name, mirror),
            Some(_) | None => name,
        };
        if let Some(problem) = problem(&name) {
            return Err(Error::BadImage {
                id: row.instance.id.as_str().to_owned(),
                image: name,
                problem,
            });
        }
        Ok(Some(Image { name, origin }))
    }

    fn is_special(&self, name: &str) -> bool {
        self.special.is_some_and(|special| special(name))
    }

    fn named(&self, row: &Row) -> Result<Option<(String, Origin)>, Error> {
        if let Some(template) = &self.template {
            let name = template::fill(template, row).map_err(|placeholder| Error::BadTemplate {
                id: row.instance.id.as_str().to_owned(),
                template: template.clone(),
                placeholder,
                known: PLACEHOLDERS.join("}, {"),
            })?;
            return Ok(Some((name, Origin::Given)));
        }
        let family = row.family();
        if let Some(image) = &row.instance.image {
            let name = match &family.namespace {
                Some(namespace) if !image.contains('/') && !self.is_special(image) => {
                    format!("{namespace}/{}", image.replace("__", "_1776_"))
                }
                _ => image.clone(),
            };
            let field = row.image_field.unwrap_or("image").to_owned();
            return Ok(Some((name, Origin::Row(field))));
        }
        if row.instance.repo_path.is_some() {
            return Ok(None);
        }
        // A row that lacks what a rule needs has no image by it.
        let mut rules = family.image.iter();
        let name = rules.find_map(|rule| template::fill(rule, row).ok());
        Ok(name.map(|name| (lower_repository(&name), Origin::Family(family.name.clone()))))
    }
}

/// What the names of images begin with that the harness of SWE-bench makes, and all that follow it.
const OF_THE_HARNESS: &str = "sweb.eval.";

/// Whether `image` is one that the publishers of the row's dataset made for it: by the rule for their names, from their namespace, or as their
/// harness names its own.
pub fn is_official(row: &Row, image: &Image) -> bool {
    if matches!(image.origin, Origin::Family(_)) {
        return true;
    }
    let repository = image
        .name
        .get(..end_of_repository(&image.name))
        .unwrap_or_default();
    let mut parts: Vec<&str> = repository.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    let mut publishers = row.family().publishers();
    last.starts_with(OF_THE_HARNESS) || publishers.any(|publisher| parts.contains(&publisher))
}

/// Names of repositories hold no upper case; tags may.
fn lower_repository(name: &str) -> String {
    let (repository, rest) = name.split_at(end_of_repository(name));
    format!("{}{rest}", repository.to_lowercase())
}

/// Where the tag or digest starts: a colon before the last slash belongs to a port.
fn end_of_repository(name: &str) -> usize {
    let end = name.find('@').unwrap_or(name.len());
    let path = name.get(..end).unwrap_or_default();
    let last = path.rfind('/').map_or(0, |slash| slash + 1);
    let colon = path.get(last..).and_then(|tail| tail.find(':'));
    colon.map_or(end, |colon| last + colon)
}

/// The same image in another registry; one that names a registry stays there.
fn mirrored(name: &str, mirror: &str) -> String {
    let mirror = mirror.trim_end_matches('/');
    match name.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => name.to_owned(),
        Some(_) => format!("{mirror}/{name}"),
        None => format!("{mirror}/library/{name}"),
    }
}

/// What keeps a text from being an image's name.
fn problem(name: &str) -> Option<&'static str> {
    let (repository, rest) = name.split_at(end_of_repository(name));
    let registry = repository.split_once('/').map(|(first, _)| first);
    let host = registry.filter(|first| first.contains(['.', ':']) || *first == "localhost");
    let path = host.map_or(repository, |host| {
        repository.get(host.len() + 1..).unwrap_or_default()
    });
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let part_is_good = |part: &str| {
        part.bytes().all(plain)
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some("its repository holds upper-case letters");
    }
    if !path.split('/').all(part_is_good) {
        return Some(
            "its repository may hold only lower-case letters, digits, `.`, `_`, `-` and `/`",
        );
    }
    let (tag, digest) = rest
        .split_once('@')
        .map_or((rest, None), |(tag, digest)| (tag, Some(digest)));
    let tag_is_good = tag.is_empty()
        || tag.strip_prefix(':').is_some_and(|tag| {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            (1..=128).contains(&tag.len()) && tag.bytes().all(good) && !tag.starts_with(['.', '-'])
        });
    if !tag_is_good {
        return Some("its tag must be 1 to 128 letters, digits, `.`, `_` and `-`");
    }
    let digest_is_good = digest.is_none_or(|digest| {
        digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    (!digest_is_good).then_some("its digest must be `sha256:` and 64 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_stands_in_for_the_default_registry_alone() {
        for (name, expected) in [
            ("a/b:c", "mirror.test:5000/hub/a/b:c"),
            ("a:c", "mirror.test:5000/hub/library/a:c"),
            ("other.test/a/b", "other.test/a/b"),
            ("localhost/a", "localhost/a"),
            ("host:1/a", "host:1/a"),
        ] {
            assert_eq!(mirrored(name, "mirror.test:5000/hub/"), expected);
        }
    }

    #[test]
    fn names_are_checked_before_an_engine_sees_them() {
        let digest = format!("a@sha256:{}", "0".repeat(64));
        for good in [
            "a",
            "a/b:C",
            "host.test:5000/a/b-c_d.e:1.2-x",
            &digest,
            "localhost:1/a__b",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        let long = format!("a:{}", "x".repeat(129));
        for bad in [
            "",
            "A/b",
            "a b",
            "a//b",
            "-a",
            "a:",
            "a:-x",
            "a/",
            "a@sha256:00",
            "a:b:c",
            &long,
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }
}
