//! In which language tests of ours can be written.

/// A language that canaries are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// For pytest, and for all that runs the cases of `unittest`, Django's runner among them.
    Python,
    /// For `go test`.
    Go,
}

impl Language {
    /// The language of a file of tests; `None` where canaries cannot be written in it.
    pub fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next()?;
        if name.ends_with("_test.go") {
            return Some(Self::Go);
        }
        let (stem, extension) = name.rsplit_once('.')?;
        let is_python = extension == "py" && stem != "conftest" && stem != "__init__";
        is_python.then_some(Self::Python)
    }
}
