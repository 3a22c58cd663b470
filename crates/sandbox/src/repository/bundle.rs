//! Bundle files, versions 2 and 3: a header of lines, an empty line, a pack.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use git2::{Indexer, Oid, Repository, RepositoryInitOptions};

use crate::error::Error;

/// Longest line that a header may have.
const MAX_LINE: usize = 8 << 10;
/// Most lines that a header may have.
const MAX_LINES: usize = 1_000_000;

/// What a bundle's header says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    /// Commits that the pack builds upon and does not hold.
    prerequisites: Vec<String>,
    /// Tips: identifier and name.
    pub(super) tips: Vec<(String, String)>,
    object_format: Option<String>,
    filter: Option<String>,
}

/// A bundle, unpacked.
pub struct Bundle {
    pub(super) header: Header,
    pub(super) repository: Repository,
}

impl Header {
    /// The tip called HEAD, else the only one there is.
    pub(super) fn default_tip(&self) -> Option<String> {
        let head = self.tips.iter().find(|(_, name)| name == "HEAD");
        let only = match self.tips.as_slice() {
            [only] => Some(only),
            _ => None,
        };
        head.or(only).map(|(id, _)| id.clone())
    }

    fn read(reader: &mut impl BufRead) -> Result<Self, String> {
        let version = match read_line(reader)?.as_str() {
            "# v2 git bundle" => 2,
            "# v3 git bundle" => 3,
            _ => return Err(String::from("it is neither a directory nor a git bundle")),
        };
        let mut header = Self::default();
        for _ in 0..MAX_LINES {
            let line = read_line(reader)?;
            if line.is_empty() {
                return Ok(header);
            }
            if let Some(capability) = line.strip_prefix('@').filter(|_| version == 3) {
                header.capability(capability)?;
            } else if let Some(rest) = line.strip_prefix('-') {
                let id = rest.split(' ').next().unwrap_or_default();
                header.prerequisites.push(id.to_owned());
            } else {
                let (id, name) = line
                    .split_once(' ')
                    .filter(|(id, _)| Oid::from_str(id).is_ok())
                    .ok_or_else(|| format!("its header has the line `{line}`"))?;
                header.tips.push((id.to_owned(), name.to_owned()));
            }
        }
        Err(String::from("its header does not end"))
    }

    fn capability(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('=') {
            Some(("object-format", format)) => self.object_format = Some(format.to_owned()),
            Some(("filter", filter)) => self.filter = Some(filter.to_owned()),
            _ => {
                return Err(format!(
                    "it needs the capability `{text}`, which is not known"
                ));
            }
        }
        Ok(())
    }

    /// What keeps the bundle from standing alone, with what the user can do.
    fn obstacle(&self) -> Option<(String, String)> {
        if let Some(first) = self.prerequisites.first() {
            return Some((
                format!(
                    "the bundle is incremental: it builds upon {} commit(s), such as {first}, that it does not hold",
                    self.prerequisites.len()
                ),
                String::from(
                    "make it again with the whole history: `git bundle create FILE --all`",
                ),
            ));
        }
        if let Some(format) = self
            .object_format
            .as_ref()
            .filter(|format| *format != "sha1")
        {
            return Some((
                format!("the bundle has object format {format}"),
                String::from("only sha1 repositories can be used"),
            ));
        }
        self.filter.as_ref().map(|filter| {
            (
                format!("the bundle leaves objects out (filter {filter})"),
                String::from("make it again without `--filter`"),
            )
        })
    }
}

fn read_line(reader: &mut impl BufRead) -> Result<String, String> {
    let mut line = Vec::new();
    let mut limited = io::Read::take(&mut *reader, MAX_LINE as u64);
    limited
        .read_until(b'\n', &mut line)
        .map_err(|error| format!("its header cannot be read: {error}"))?;
    if line.pop() != Some(b'\n') {
        return Err(String::from("it is neither a directory nor a git bundle"));
    }
    String::from_utf8(line).map_err(|_| String::from("its header is not UTF-8"))
}

/// Directory of the unpacked bundle.
pub(super) const UNPACKED: &str = "bundle.git";

const HINT: &str = "see what `git bundle verify` says about it";

/// Reads the header alone, and says what keeps the bundle from being used.
pub(super) fn check(path: &Path) -> Result<(), Error> {
    open(path).map(drop)
}

/// The header, and a reader that stands where the pack begins.
fn open(path: &Path) -> Result<(Header, BufReader<File>), Error> {
    let file = File::open(path).map_err(|error| Error::Repository {
        path: path.to_owned(),
        problem: String::from("it cannot be read"),
        hint: String::from("make it readable for the user that runs this"),
        source: Some(error.into()),
    })?;
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let header =
        Header::read(&mut reader).map_err(|problem| Error::repository(path, problem, HINT))?;
    match header.obstacle() {
        Some((problem, hint)) => Err(Error::repository(path, problem, hint)),
        None => Ok((header, reader)),
    }
}

/// Reads the header and indexes the pack into a bare repository in `scratch`.
pub(super) fn unpack(path: &Path, scratch: &Path) -> Result<Bundle, Error> {
    let failed =
        |cause: crate::error::Cause| Error::start(format!("unpack {}", path.display()), cause);
    let (header, mut reader) = open(path)?;
    let directory = scratch.join(UNPACKED);
    let repository = init(&directory).map_err(|error| failed(error.into()))?;
    index(&mut reader, &directory.join("objects/pack")).map_err(|cause| match failed(cause) {
        Error::Start { source, .. } => Error::Repository {
            path: path.to_owned(),
            problem: String::from("its pack cannot be read"),
            hint: HINT.to_owned(),
            source: Some(source),
        },
        // A full disk says nothing of the bundle.
        other => other,
    })?;
    Ok(Bundle { header, repository })
}

/// What [`unpack`] made of the bundle in `scratch` before.
pub(super) fn open_unpacked(path: &Path, scratch: &Path) -> Result<Bundle, Error> {
    let (header, _) = open(path)?;
    let repository = Repository::open_bare(scratch.join(UNPACKED))
        .map_err(|error| Error::start(format!("use the unpacked {}", path.display()), error))?;
    Ok(Bundle { header, repository })
}

fn init(directory: &Path) -> Result<Repository, git2::Error> {
    Repository::init_opts(
        directory,
        RepositoryInitOptions::new()
            .bare(true)
            .external_template(false),
    )
}

fn index(reader: &mut impl BufRead, directory: &Path) -> Result<(), crate::error::Cause> {
    let mut indexer = Indexer::new(None, directory, 0o444, true)?;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        indexer.write_all(bytes)?;
        let length = bytes.len();
        reader.consume(length);
    }
    indexer.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1111111111111111111111111111111111111111";

    fn read(text: &str) -> Result<Header, String> {
        Header::read(&mut text.as_bytes())
    }

    #[test]
    fn both_versions_are_read() {
        let two = read(&format!("# v2 git bundle\n{ID} refs/heads/a b\n\nPACK")).unwrap();
        assert_eq!(two.default_tip().as_deref(), Some(ID));
        let three = read(&format!(
            "# v3 git bundle\n@object-format=sha1\n{ID} refs/heads/a\n{ID} HEAD\n\n"
        ))
        .unwrap();
        assert_eq!(three.tips.len(), 2);
        assert!(three.obstacle().is_none());
    }

    #[test]
    fn what_cannot_stand_alone_is_said() {
        let thin = read(&format!("# v2 git bundle\n-{ID} old\n{ID} HEAD\n\n")).unwrap();
        assert!(thin.obstacle().unwrap().0.contains("incremental"));
        let filtered = read("# v3 git bundle\n@filter=blob:none\n\n").unwrap();
        assert!(filtered.obstacle().unwrap().0.contains("blob:none"));
        assert!(read("# v3 git bundle\n@new-thing\n\n").is_err());
        assert!(read("# v2 git bundle\nnonsense\n\n").is_err());
        assert!(read("PK\x03\x04").is_err());
        assert!(read("").is_err());
    }
}
