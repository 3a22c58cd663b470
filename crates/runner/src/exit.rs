//! Exit codes, and which one wins when several apply.

/// How the process ends. The numbers are part of the command line's contract; the README lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exit {
    /// All selected instances reached an end of their own and every gate asked for is met.
    #[default]
    Success,
    /// A gate was not met, or a replay diverged.
    Gate,
    /// The command line, a configuration file or the dataset is wrong; nothing was started.
    Usage,
    /// More infrastructure failures than `--max-infra-failures`.
    Infrastructure,
    /// The run was stopped early: credentials, billing, budget, breaker, engine.
    Aborted,
    /// A bug in Patchmill.
    Bug,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// The code of a program that was run for the user: a shell in a sandbox.
    Program(u8),
}

impl Exit {
    /// The process's exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Gate => 1,
            Self::Usage => 2,
            Self::Infrastructure => 3,
            Self::Aborted => 4,
            Self::Bug => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::Program(code) => code,
        }
    }

    /// The end of a program of that code, where it is known.
    pub fn of_program(code: Option<i32>) -> Self {
        match code {
            Some(0) => Self::Success,
            Some(code) => Self::Program(u8::try_from(code).unwrap_or(u8::MAX)),
            None => Self::Infrastructure,
        }
    }

    /// The end with this code; a code that no end has is a bug.
    pub fn of_code(code: u8) -> Self {
        let all = [
            Self::Success,
            Self::Gate,
            Self::Usage,
            Self::Infrastructure,
            Self::Aborted,
            Self::Interrupted,
            Self::Terminated,
        ];
        let found = all.into_iter().find(|exit| exit.code() == code);
        found.unwrap_or(Self::Bug)
    }

    /// The one that is reported when both apply: signals, then bugs, aborts, infrastructure, gates.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Gate | Self::Program(_) => 1,
            Self::Infrastructure => 2,
            Self::Aborted => 3,
            Self::Usage => 4,
            Self::Bug => 5,
            Self::Interrupted | Self::Terminated => 6,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn the_graver_end_wins_in_either_order() {
        let order = [
            Exit::Success,
            Exit::Gate,
            Exit::Infrastructure,
            Exit::Aborted,
            Exit::Usage,
            Exit::Bug,
            Exit::Interrupted,
        ];
        for (weak, &lesser) in order.iter().enumerate() {
            for &greater in &order[weak..] {
                assert_eq!(lesser.or(greater), greater);
                assert_eq!(greater.or(lesser), greater);
            }
        }
    }
}
