//! Finding the protocol's markers in a stream of anything.

use memchr::memchr;
use memchr::memmem::Finder;

const EDGE: u8 = 0x1e;

/// Longest text between the nonce and the closing byte.
const MAX_TEXT: usize = 64;

/// What kind of shell a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// The image's bash.
    Bash,
    /// The image's sh, where it has no bash.
    Sh,
    /// A copy of the keeper: it starts whatever has become of the image's programs.
    Plain,
}

impl Flavour {
    const ALL: [Self; 3] = [Self::Bash, Self::Sh, Self::Plain];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Sh => "sh",
            Self::Plain => "plain",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flavour| flavour.name() == name)
    }
}

/// What the shell's side says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    /// The keeper is there, started by that parent.
    Keeper { pid: u32, parent: u32 },
    /// A worker waits for a request.
    Up { pid: u32, flavour: Flavour },
    /// So many processes run that the command with this number might find no room, or one was refused since the command before; it was not started.
    Full { sequence: u64 },
    /// Many more processes run than before the last command, so this one was not started yet.
    More { sequence: u64 },
    /// The command with this number starts.
    Begin { sequence: u64 },
    /// It is over, the worker lives.
    End { sequence: u64, status: i32 },
    /// The worker is gone.
    Dead { status: i32 },
}

impl Marker {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let mut words = text.split(' ');
        let verb = words.next()?;
        let marker = match verb {
            "keeper" => Self::Keeper {
                pid: words.next()?.parse().ok()?,
                parent: words.next()?.parse().ok()?,
            },
            "up" => Self::Up {
                pid: words.next()?.parse().ok()?,
                flavour: Flavour::of_name(words.next()?)?,
            },
            "full" => Self::Full {
                sequence: words.next()?.parse().ok()?,
            },
            "more" => Self::More {
                sequence: words.next()?.parse().ok()?,
            },
            "begin" => Self::Begin {
                sequence: words.next()?.parse().ok()?,
            },
            "end" => Self::End {
                sequence: words.next()?.parse().ok()?,
                status: words.next()?.parse().ok()?,
            },
            "dead" => Self::Dead {
                status: words.next()?.parse().ok()?,
            },
            _ => return None,
        };
        words.next().is_none().then_some(marker)
    }
}

/// What the front of a buffer holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// This many bytes of output, with no marker among them.
    Data(usize),
    /// A marker of this many bytes.
    Marker(usize, Marker),
    /// Nothing that can be told yet.
    Wait,
}

/// Knows one channel's nonce.
pub(super) struct Scanner {
    finder: Finder<'static>,
    prefix: Vec<u8>,
}

impl Scanner {
    pub(super) fn new(nonce: &str) -> Self {
        let prefix = format!("\x1e{nonce} ").into_bytes();
        Self {
            finder: Finder::new(&prefix).into_owned(),
            prefix,
        }
    }

    pub(super) fn step(&self, buffer: &[u8]) -> Step {
        match self.finder.find(buffer) {
            None => {
                // The end may hold the start of a marker.
                let overlap = buffer.len().saturating_sub(self.prefix.len() - 1);
                let sure = memchr::memchr_iter(EDGE, &buffer[overlap..])
                    .map(|at| overlap + at)
                    .find(|&at| self.prefix.starts_with(&buffer[at..]))
                    .unwrap_or(buffer.len());
                if sure == 0 {
                    Step::Wait
                } else {
                    Step::Data(sure)
                }
            }
            Some(0) => self.marker(buffer),
            Some(at) => Step::Data(at),
        }
    }

    fn marker(&self, buffer: &[u8]) -> Step {
        let text = &buffer[self.prefix.len()..];
        let text = &text[..text.len().min(MAX_TEXT)];
        match memchr(EDGE, text) {
            Some(length) => match Marker::parse(&text[..length]) {
                Some(marker) => Step::Marker(self.prefix.len() + length + 1, marker),
                None => Step::Data(1),
            },
            None if text.len() < MAX_TEXT => Step::Wait,
            None => Step::Data(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the stream in pieces and returns the output and the markers.
    fn run(stream: &[u8], piece: usize) -> (Vec<u8>, Vec<Marker>) {
        let scanner = Scanner::new("abc");
        let (mut buffer, mut output, mut markers) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in stream.chunks(piece) {
            buffer.extend_from_slice(chunk);
            loop {
                match scanner.step(&buffer) {
                    Step::Wait => break,
                    Step::Data(length) => output.extend(buffer.drain(..length)),
                    Step::Marker(length, marker) => {
                        buffer.drain(..length);
                        markers.push(marker);
                    }
                }
                if buffer.is_empty() {
                    break;
                }
            }
        }
        output.extend(buffer);
        (output, markers)
    }

    #[test]
    fn forged_and_broken_markers_are_output() {
        let stream =
            b"a\x1eabd end 1 0\x1e\x1eabc nonsense\x1e\x1eabc end 1\x1e\x1eabc end 7 3\x1ez";
        for piece in 1..stream.len() {
            let (output, markers) = run(stream, piece);
            assert_eq!(
                output,
                b"a\x1eabd end 1 0\x1e\x1eabc nonsense\x1e\x1eabc end 1\x1ez"
            );
            assert_eq!(
                markers,
                [Marker::End {
                    sequence: 7,
                    status: 3
                }]
            );
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(
            noise in prop::collection::vec(prop_oneof![Just(0x1eu8), Just(b'a'), Just(b'b'), any::<u8>()], 0..80),
            piece in 1usize..20,
        ) {
            let stream = [noise.as_slice(), b"\x1eabc begin 4\x1e", noise.as_slice()].concat();
            prop_assert_eq!(run(&stream, piece), run(&stream, stream.len()));
        }
    }
}
