//! Bytes that came from inside and wait for their reader.

use std::collections::VecDeque;

use super::streams::WINDOW;

/// Copies of what came, so that no piece keeps the buffer that it was read into.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<u8>);

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes memory for no more than a window, which is all that the other side may have sent.
    pub(super) fn push(&mut self, data: &[u8]) {
        let needed = self.0.len() + data.len();
        let capacity = self.0.capacity();
        if needed > capacity {
            let wanted = needed.max((2 * capacity).min(WINDOW as usize));
            self.0.reserve_exact(wanted - self.0.len());
        }
        self.0.extend(data);
    }

    /// The first bytes, or all of them.
    pub(super) fn first(&self) -> &[u8] {
        self.0.as_slices().0
    }

    /// Forgets so many of the first bytes.
    pub(super) fn advance(&mut self, length: usize) {
        self.0.drain(..length);
    }

    /// Forgets all, and gives the memory back.
    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(at: usize) -> u8 {
        u8::try_from(at % 251).unwrap()
    }

    #[test]
    fn whatever_its_pieces_a_full_window_takes_no_more_memory_than_a_window() {
        let window = WINDOW as usize;
        for piece in [1, 7, 1000, 32 << 10, window] {
            let mut queue = Queue::default();
            let (mut pushed, mut read) = (0_usize, 0_usize);
            while read < 3 * window {
                while pushed - read + piece <= window {
                    let data: Vec<u8> = (pushed..pushed + piece).map(value).collect();
                    queue.push(&data);
                    pushed += piece;
                }
                assert!(queue.0.capacity() <= window, "{}", queue.0.capacity());
                let length = queue.first().len().min(window / 3 + 1);
                let right = (read..).zip(&queue.first()[..length]);
                assert!(right.into_iter().all(|(at, &byte)| byte == value(at)));
                queue.advance(length);
                read += length;
            }
            queue.clear();
            assert!(queue.is_empty() && queue.0.capacity() == 0);
        }
    }
}
