//! Slices as Python writes them.

use std::str::FromStr;

use crate::error::Error;

/// `START:END:STEP` with Python's meaning: each part may be left out, negative positions count from the end, a negative step goes backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
}

impl Slice {
    /// Positions that it takes out of `length`, in order.
    pub fn positions(&self, length: usize) -> Vec<usize> {
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let backwards = self.step < 0;
        let (lowest, highest) = if backwards {
            (-1, length - 1)
        } else {
            (0, length)
        };
        let clamp = |position: i64| {
            let from_start = if position < 0 {
                position.saturating_add(length)
            } else {
                position
            };
            from_start.clamp(lowest, highest)
        };
        let start = self
            .start
            .map_or(if backwards { highest } else { lowest }, clamp);
        let end = self
            .end
            .map_or(if backwards { lowest } else { highest }, clamp);
        let next = |at: &i64| at.checked_add(self.step);
        let inside = |at: &i64| if backwards { *at > end } else { *at < end };
        std::iter::successors(Some(start), next)
            .take_while(inside)
            .filter_map(|at| usize::try_from(at).ok())
            .collect()
    }
}

impl FromStr for Slice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |problem| Error::Slice {
            text: text.into(),
            problem,
        };
        let part = |part: &str| match part.trim() {
            "" => Ok(None),
            number => number
                .parse::<i64>()
                .map(Some)
                .map_err(|_| bad("has a part that is not a whole number")),
        };
        let parts = text.split(':').map(part).collect::<Result<Vec<_>, _>>()?;
        let (start, end, step) = match parts.as_slice() {
            // SWE-agent and mini-swe-agent take a lone number as the end.
            [None] => return Err(bad("is empty")),
            [end] => (None, *end, None),
            [start, end] => (*start, *end, None),
            [start, end, step] => (*start, *end, *step),
            _ => return Err(bad("has more than three parts")),
        };
        match step {
            Some(0) => Err(bad("has a step of 0")),
            step => Ok(Self {
                start,
                end,
                step: step.unwrap_or(1),
            }),
        }
    }
}

impl std::fmt::Display for Slice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let part = |part: Option<i64>| part.map(|number| number.to_string()).unwrap_or_default();
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        if self.step != 1 {
            write!(f, ":{}", self.step)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(slice: &str, length: usize) -> Vec<usize> {
        slice.parse::<Slice>().unwrap().positions(length)
    }

    #[test]
    fn slices_mean_what_python_means() {
        // Expected values: list(range(5))[…] in Python 3.
        assert_eq!(positions(":", 5), [0, 1, 2, 3, 4]);
        assert_eq!(positions("1:3", 5), [1, 2]);
        assert_eq!(positions("-2:", 5), [3, 4]);
        assert_eq!(positions(":-2", 5), [0, 1, 2]);
        assert_eq!(positions("::2", 5), [0, 2, 4]);
        assert_eq!(positions("::-1", 5), [4, 3, 2, 1, 0]);
        assert_eq!(positions("3:0:-2", 5), [3, 1]);
        assert_eq!(positions("-1:-4:-1", 5), [4, 3, 2]);
        assert_eq!(positions("-100:100", 5), [0, 1, 2, 3, 4]);
        assert_eq!(positions("100::-3", 5), [4, 1]);
        assert_eq!(positions("4:2", 5), [] as [usize; 0]);
        assert_eq!(positions("3", 5), [0, 1, 2]);
        assert_eq!(positions("::9223372036854775807", 5), [0]);
        assert_eq!(positions("::-9223372036854775808", 5), [4]);
        assert_eq!(positions("::-1", 0), [] as [usize; 0]);
    }

    #[test]
    fn broken_slices_are_refused() {
        for text in ["", "a:b", "1:2:0", "1:2:3:4", "1.5:", "--1:"] {
            assert!(text.parse::<Slice>().is_err(), "{text}");
        }
    }
}
