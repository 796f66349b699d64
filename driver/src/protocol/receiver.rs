//! The receiving half of either session: frames out of bytes, and what is counted on the way.

use super::codec::{Decoder, FrameError, Numbered};
use super::frame::Frame;
use crate::counters::LineCounters;

/// What one byte completed.
pub(super) enum Heard<F> {
    Frame(Numbered<F>),
    OtherVersion(u8),
}

#[derive(Debug)]
pub(super) struct Receiver<F> {
    decoder: Decoder<F>,
    counters: LineCounters,
    /// The number of the last frame, or `None` before the first.
    last: Option<u8>,
}

impl<F: Frame> Receiver<F> {
    pub(super) fn new() -> Self {
        Self { decoder: Decoder::new(), counters: LineCounters::default(), last: None }
    }

    pub(super) fn counters(&self) -> LineCounters {
        self.counters
    }

    /// The line was cut: what comes next is the beginning of a frame.
    pub(super) fn forget(&mut self) {
        self.decoder.forget();
        self.last = None;
    }

    pub(super) fn push(&mut self, byte: u8) -> Option<Heard<F>> {
        match self.decoder.push(byte)? {
            Ok(numbered) => {
                // The peer may have restarted, and counts from 0 again.
                if numbered.frame.is_hello() {
                    self.last = None;
                }
                count(&mut self.counters.frames, 1);
                self.follow(numbered.sequence);
                Some(Heard::Frame(numbered))
            }
            Err(FrameError::Framing | FrameError::Checksum) => {
                self.refuse();
                None
            }
            Err(FrameError::Malformed { sequence, .. }) => {
                self.refuse();
                self.follow(sequence);
                None
            }
            Err(FrameError::Unknown { sequence, .. }) => {
                count(&mut self.counters.unknown, 1);
                self.follow(sequence);
                None
            }
            Err(FrameError::Version(version)) => {
                count(&mut self.counters.unknown, 1);
                Some(Heard::OtherVersion(version))
            }
        }
    }

    /// Counts a frame whose content is impossible.
    pub(super) fn refuse(&mut self) {
        count(&mut self.counters.damaged, 1);
    }

    fn follow(&mut self, sequence: u8) {
        if let Some(last) = self.last.replace(sequence) {
            let gap = sequence.wrapping_sub(last).wrapping_sub(1);
            // The same number again is a frame that the line doubled.
            if gap != u8::MAX {
                count(&mut self.counters.lost, u64::from(gap));
            }
        }
    }
}

fn count(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}
