//! Files as the agent sees them, for the tools that view and edit.

mod archived;
mod host;
mod inside;

pub(crate) use archived::ArchivedFiles;
pub(crate) use host::HostFiles;
pub(crate) use inside::InsideFiles;

/// Kind of a directory entry; symbolic links are followed, inside the sandbox only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Anything else: a socket, a device, a link to nothing.
    Other,
}
