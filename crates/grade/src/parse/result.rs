//! What parsers give.

use std::borrow::Cow;
use std::fmt;

use schema::grading::TestStatus;

use super::context::Context;

/// The word that a log has for what a test did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word<'a> {
    /// One that means something.
    Status(TestStatus),
    /// Another one, where the official parser takes any: such a test counts neither as passed nor as failed.
    Other(Cow<'a, str>),
}

impl<'a> Word<'a> {
    /// The status that is spelled so officially, where `XPASS` means nothing.
    pub(super) fn official(word: impl Into<Cow<'a, str>>) -> Self {
        let word = word.into();
        match &*word {
            "PASSED" => Self::Status(TestStatus::Passed),
            "FAILED" => Self::Status(TestStatus::Failed),
            "ERROR" => Self::Status(TestStatus::Error),
            "SKIPPED" => Self::Status(TestStatus::Skipped),
            "XFAIL" => Self::Status(TestStatus::Xfail),
            _ => Self::Other(word),
        }
    }

    /// The status, where the word means one.
    pub fn status(&self) -> Option<TestStatus> {
        match self {
            Self::Status(status) => Some(*status),
            Self::Other(_) => None,
        }
    }

    /// Whether it is a word for a test that passed, or failed as expected.
    pub fn passed(&self) -> bool {
        matches!(self, Self::Status(TestStatus::Passed | TestStatus::Xfail))
    }
}

impl From<TestStatus> for Word<'_> {
    fn from(status: TestStatus) -> Self {
        Self::Status(status)
    }
}

impl fmt::Display for Word<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Status(TestStatus::Passed) => "PASSED",
            Self::Status(TestStatus::Failed) => "FAILED",
            Self::Status(TestStatus::Error) => "ERROR",
            Self::Status(TestStatus::Skipped) => "SKIPPED",
            Self::Status(TestStatus::Xfail) => "XFAIL",
            Self::Status(TestStatus::Xpass) => "XPASS",
            Self::Other(word) => word,
        })
    }
}

/// One test's result as a log shows it. A test may occur several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResult<'a> {
    /// Name of the test.
    pub name: Cow<'a, str>,
    /// What it did.
    pub word: Word<'a>,
    /// Number of the line that says so, from 1; 0 where the format has no lines.
    pub line: usize,
}

/// What a parser finds in a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parsed<'a> {
    /// The results as the official parser names and counts them, in the order in which it does; there the last one of a name counts.
    pub official: Vec<TestResult<'a>>,
    /// The results with whole names, in the log's order; `None` where those are the official ones.
    pub whole: Option<Vec<TestResult<'a>>>,
    /// What is odd about the log, for people.
    pub notes: Vec<String>,
    /// Why the official parser breaks off at this log and gives nothing, if it does. We go on.
    pub official_failure: Option<String>,
}

impl<'a> Parsed<'a> {
    /// One for a parser that knows whole names apart from official ones.
    pub(super) fn with_whole_names() -> Self {
        Self {
            whole: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// The results with whole names.
    pub fn tests(&self) -> &[TestResult<'a>] {
        self.whole.as_deref().unwrap_or(&self.official)
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.official.is_empty() && self.tests().is_empty()
    }

    /// Adds an official result.
    pub(super) fn found(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        word: impl Into<Word<'a>>,
        line: usize,
    ) {
        self.official.push(TestResult {
            name: name.into(),
            word: word.into(),
            line,
        });
    }

    /// Adds a result with its whole name.
    pub(super) fn found_whole(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        status: TestStatus,
        line: usize,
    ) {
        self.whole.get_or_insert_default().push(TestResult {
            name: name.into(),
            word: Word::Status(status),
            line,
        });
    }

    /// Says why the official parser breaks off; the first reason counts.
    pub(super) fn breaks_officially(&mut self, line: usize, reason: &str) {
        self.official_failure
            .get_or_insert_with(|| format!("line {line}: {reason}"));
    }

    /// Says that the instance is none that the official parser has rules for.
    pub(super) fn unknown_instance(&mut self, context: &Context<'_>) {
        let id = context.instance_id;
        self.official_failure
            .get_or_insert_with(|| format!("there are no rules for the instance `{id}`"));
    }

    /// Says that names are left out.
    pub(super) fn out_of_room(&mut self) {
        const NOTE: &str = "names of suites are so long that tests are left out";
        if !self.notes.iter().any(|note| note == NOTE) {
            self.notes.push(NOTE.to_owned());
        }
    }

    /// The same results, free of the text that they were read from.
    pub(super) fn into_owned<'b>(self) -> Parsed<'b> {
        let own = |tests: Vec<TestResult<'a>>| {
            let results = tests.into_iter().map(|test| TestResult {
                name: Cow::Owned(test.name.into_owned()),
                word: match test.word {
                    Word::Status(status) => Word::Status(status),
                    Word::Other(word) => Word::Other(Cow::Owned(word.into_owned())),
                },
                line: test.line,
            });
            results.collect::<Vec<_>>()
        };
        Parsed {
            official: own(self.official),
            whole: self.whole.map(own),
            notes: self.notes,
            official_failure: self.official_failure,
        }
    }
}
