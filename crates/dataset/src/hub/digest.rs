//! Whether a file is what the hub says it is.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// What a file's content must have. It is also the name of its blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// SHA-256 of the content: large files.
    Sha256(String),
    /// Git's name of the content: a SHA-1 over its length and itself.
    Git(String),
    /// Something that tells versions apart and cannot be computed here.
    Opaque(String),
}

impl Expected {
    /// What an `ETag` says.
    pub(super) fn of_etag(etag: &str) -> Option<Self> {
        let etag = etag.trim().trim_start_matches("W/").trim_matches('"');
        let hexadecimal = etag
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match etag.len() {
            64 if hexadecimal => Some(Self::Sha256(etag.into())),
            40 if hexadecimal => Some(Self::Git(etag.into())),
            1..=128 if etag.bytes().all(plain) => Some(Self::Opaque(etag.into())),
            _ => None,
        }
    }

    /// The name of the blob.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Sha256(name) | Self::Git(name) | Self::Opaque(name) => name,
        }
    }

    /// What the file at `path` has instead; `None` when it is right.
    pub(super) fn other(&self, path: &Path) -> io::Result<Option<String>> {
        let found = match self {
            Self::Sha256(_) => of_file::<Sha256>(path, Sha256::new())?,
            Self::Git(_) => {
                let length = std::fs::metadata(path)?.len();
                let start = Sha1::new().chain_update(format!("blob {length}\0"));
                of_file::<Sha1>(path, start)?
            }
            Self::Opaque(_) => return Ok(None),
        };
        Ok((found != self.name()).then_some(found))
    }
}

fn of_file<D: Digest>(path: &Path, mut digest: D) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(schema::hex(&digest.finalize()));
        }
        digest.update(buffer.get(..count).unwrap_or_default());
    }
}
