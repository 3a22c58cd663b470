//! What differs from run to run without meaning anything: paths of the sandbox, its mark, and durations.

use std::sync::LazyLock;

use regex::Regex;

/// A number with a unit of time, as test runners and `time` print it.
static DURATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?x) \b \d+ (?:[.,]\d+)? \s? (?:ns|µs|us|ms|s|secs?|seconds?|m[\d.,]+s) \b").ok()
});

/// The variable that marks a sandbox's processes, as `env` prints it.
static MARK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\bPATCHMILL_PLACE=[0-9a-f]{32}\b").ok());

/// Paths that stand for one another in two texts.
#[derive(Debug, Clone, Default)]
pub struct Volatile {
    /// Longest first, so that a directory is replaced before the one above it.
    paths: Vec<String>,
}

impl Volatile {
    /// The repository's directory and, where the sandbox lies in a private directory of the host, that directory.
    pub fn of(workdir: &str) -> Self {
        let mut paths = vec![workdir.to_owned()];
        let parent = workdir.rsplit_once('/').map(|(parent, _)| parent);
        // A short parent such as `/` or `/home` is everybody's.
        if let Some(parent) = parent.filter(|parent| parent.matches('/').count() > 1) {
            paths.push(parent.to_owned());
        }
        Self { paths }
    }

    /// The text with placeholders for what is volatile.
    pub fn settle(&self, text: &str) -> String {
        let mut settled = text.to_owned();
        for (path, placeholder) in self.paths.iter().zip(["<workdir>", "<sandbox>"]) {
            settled = settled.replace(path, placeholder);
        }
        for (volatile, placeholder) in [(&*MARK, "PATCHMILL_PLACE=<mark>"), (&*DURATION, "<time>")]
        {
            if let Some(volatile) = volatile {
                settled = volatile.replace_all(&settled, placeholder).into_owned();
            }
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::Volatile;

    #[test]
    fn durations_and_paths_do_not_count() {
        let one = Volatile::of("/tmp/patchmill-0/a1/workspace");
        let other = Volatile::of("/tmp/patchmill-0/b2/workspace");
        let pairs = [
            ("== 3 passed in 0.02s ==", "== 3 passed in 1.50s =="),
            ("real\t0m0.004s", "real\t0m1.250s"),
            (
                "/tmp/patchmill-0/a1/workspace/x.py:3",
                "/tmp/patchmill-0/b2/workspace/x.py:3",
            ),
            (
                "HOME=/tmp/patchmill-0/a1/home",
                "HOME=/tmp/patchmill-0/b2/home",
            ),
            ("(took 12 ms)", "(took 7 ms)"),
            (
                "PATCHMILL_PLACE=771153acb4f01904717fb9c808a937bd",
                "PATCHMILL_PLACE=99f2c906e4e75cd673e8eccfb2a1dbca",
            ),
        ];
        for (a, b) in pairs {
            assert_eq!(one.settle(a), other.settle(b));
        }
        let differ = [
            ("3 passed", "4 passed"),
            ("x1s", "x2s"),
            ("exit 1", "exit 2"),
        ];
        for (a, b) in differ {
            assert_ne!(one.settle(a), other.settle(b), "{a}");
        }
    }

    #[test]
    fn a_directory_that_everybody_has_is_left_alone() {
        let volatile = Volatile::of("/testbed");
        assert_eq!(
            volatile.settle("/testbed/a /usr/lib"),
            "<workdir>/a /usr/lib"
        );
        let volatile = Volatile::of("/home/work");
        assert_eq!(volatile.settle("/home/other"), "/home/other");
    }
}
