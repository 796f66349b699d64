//! What both sessions share: the numbers of the own frames, and which frames of the other end are
//! used.

use super::codec::{Decoder, FrameError, FrameId, Header, Numbered, encode};
use super::frame::{BootId, Frame};
use crate::counters::LineCounters;

/// What one byte completed.
pub(super) enum Heard<F> {
    Frame(Numbered<F>),
    /// A frame of a run that has not answered this end yet: a `Hello` asks it to.
    Stranger,
    OtherVersion(u8),
}

/// One end of a line that may repeat, as well as lose and damage, what it carries.
///
/// A frame is used if it answers a frame of this run and is ahead of the last one of its own run.
/// Another run of the other end takes over only if it answers a frame that this end sent since the
/// present one took over. What the line repeats of earlier runs answers none.
#[derive(Debug)]
pub(super) struct Endpoint<F> {
    boot: BootId,
    next: u32,
    decoder: Decoder<F>,
    counters: LineCounters,
    /// The last frame of the run that is used.
    last: Option<FrameId>,
    /// The number of the first own frame since that run took over.
    since: u32,
    /// The last frame that was not behind, used or not.
    heard: Option<FrameId>,
}

impl<F: Frame> Endpoint<F> {
    pub(super) fn new(boot: BootId) -> Self {
        Self {
            boot,
            next: 0,
            decoder: Decoder::new(),
            counters: LineCounters::default(),
            last: None,
            since: 0,
            heard: None,
        }
    }

    pub(super) fn counters(&self) -> LineCounters {
        self.counters
    }

    pub(super) fn next(&self) -> u32 {
        self.next
    }

    pub(super) fn last(&self) -> Option<FrameId> {
        self.last
    }

    /// The frame that a `Hello` answers, whichever run it is from.
    pub(super) fn heard(&self) -> Option<FrameId> {
        self.heard
    }

    /// The line was cut: what comes next is the beginning of a frame.
    pub(super) fn forget(&mut self) {
        self.decoder.forget();
    }

    pub(super) fn seal(&mut self, frame: &impl Frame, answers: Option<FrameId>) -> Vec<u8> {
        let id = FrameId { boot: self.boot, number: self.next };
        self.next = self.next.wrapping_add(1);
        encode(Header { id, answers }, frame)
    }

    pub(super) fn push(&mut self, byte: u8) -> Option<Heard<F>> {
        match self.decoder.push(byte)? {
            Ok(numbered) => self.admit(numbered),
            Err(FrameError::Framing | FrameError::Checksum) => {
                self.refuse();
                None
            }
            Err(FrameError::Malformed { id, .. }) => {
                self.refuse();
                self.skip(id);
                None
            }
            Err(FrameError::Unknown { id, .. }) => {
                count(&mut self.counters.unknown, 1);
                self.skip(id);
                None
            }
            Err(FrameError::Version(version)) => {
                count(&mut self.counters.unknown, 1);
                Some(Heard::OtherVersion(version))
            }
        }
    }

    /// Counts a frame whose content is impossible, or that is behind.
    pub(super) fn refuse(&mut self) {
        count(&mut self.counters.damaged, 1);
    }

    fn admit(&mut self, numbered: Numbered<F>) -> Option<Heard<F>> {
        let Header { id, answers } = numbered.header;
        let answered = answers.filter(|answered| answered.boot == self.boot);
        match self.last {
            Some(last) if last.boot == id.boot => {
                let Some(missing) = gap(last, id) else {
                    self.refuse();
                    return None;
                };
                count(&mut self.counters.lost, u64::from(missing));
                self.last = Some(id);
            }
            Some(_) | None => {
                if answered.is_some_and(|answered| self.is_recent(answered.number)) {
                    self.last = Some(id);
                    self.since = self.next;
                }
            }
        }
        count(&mut self.counters.frames, 1);
        self.heard = Some(id);
        let is_used = answered.is_some() && self.last == Some(id);
        Some(if is_used { Heard::Frame(numbered) } else { Heard::Stranger })
    }

    /// Whether this end has sent the frame of this number since the present run of the other end
    /// took over.
    fn is_recent(&self, number: u32) -> bool {
        number.wrapping_sub(self.since) < self.next.wrapping_sub(self.since)
    }

    /// Passes over the number of a frame that can't be used.
    fn skip(&mut self, id: FrameId) {
        if let Some(last) = self.last.filter(|last| last.boot == id.boot)
            && let Some(missing) = gap(last, id)
        {
            count(&mut self.counters.lost, u64::from(missing));
            self.last = Some(id);
        }
    }
}

/// How many frames are missing between these two of one run; `None` if the second one is not ahead.
fn gap(last: FrameId, next: FrameId) -> Option<u32> {
    let ahead = next.number.wrapping_sub(last.number);
    (1..=u32::MAX / 2).contains(&ahead).then(|| ahead - 1)
}

fn count(counter: &mut u64, by: u64) {
    *counter = counter.saturating_add(by);
}
