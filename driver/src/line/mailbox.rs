//! What reaches a line's thread from outside, and what it answers.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::counters::LineCounters;
use crate::vocabulary::PanelOutputs;

/// The most bytes that wait for the line's thread. Further ones are dropped: it hasn't run for
/// seconds, and the protocol repairs what is lost.
#[cfg(feature = "serial")]
const BYTES_LIMIT: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Mailbox {
    letters: Mutex<Letters>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Letters {
    mail: Mail,
    counters: LineCounters,
    finished: bool,
}

/// What came in since the last look.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) outputs: Option<PanelOutputs>,
    pub(crate) closing: bool,
    #[cfg(feature = "serial")]
    pub(crate) bytes: Vec<u8>,
    /// Why reading has ended.
    #[cfg(feature = "serial")]
    pub(crate) failure: Option<String>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        #[cfg(feature = "serial")]
        let nothing_read = self.bytes.is_empty() && self.failure.is_none();
        #[cfg(not(feature = "serial"))]
        let nothing_read = true;
        self.outputs.is_none() && !self.closing && nothing_read
    }
}

impl Mailbox {
    pub(super) fn new() -> Self {
        Self {
            letters: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    pub(super) fn set_outputs(&self, outputs: PanelOutputs) {
        self.change(|letters| letters.mail.outputs = Some(outputs));
    }

    pub(super) fn close(&self) {
        self.change(|letters| letters.mail.closing = true);
    }

    pub(super) fn counters(&self) -> LineCounters {
        self.lock().counters
    }

    /// Whether the line's thread has ended within `limit`.
    pub(super) fn wait_finished(&self, limit: Duration) -> bool {
        let (letters, _) = self
            .wake
            .wait_timeout_while(self.lock(), limit, |letters| !letters.finished)
            .unwrap_or_else(PoisonError::into_inner);
        letters.finished
    }

    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Letters)) {
        change(&mut self.lock());
        self.wake.notify_all();
    }
}

/// The line's thread's side.
impl Mailbox {
    /// Waits for mail until `deadline` and takes it. A request to close stays in the box.
    pub(crate) fn wait(&self, deadline: Instant) -> Mail {
        let limit = deadline.saturating_duration_since(Instant::now());
        let (mut letters, _) = self
            .wake
            .wait_timeout_while(self.lock(), limit, |letters| letters.mail.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        let closing = letters.mail.closing;
        std::mem::replace(
            &mut letters.mail,
            Mail {
                closing,
                ..Mail::default()
            },
        )
    }

    pub(crate) fn publish(&self, counters: LineCounters) {
        self.lock().counters = counters;
    }
}

/// The reading thread's side.
#[cfg(feature = "serial")]
impl Mailbox {
    pub(crate) fn deliver(&self, bytes: &[u8]) {
        self.change(|letters| {
            let waiting = &mut letters.mail.bytes;
            let room = BYTES_LIMIT.saturating_sub(waiting.len());
            waiting.extend_from_slice(&bytes[..bytes.len().min(room)]);
        });
    }

    pub(crate) fn fail(&self, reason: String) {
        self.change(|letters| letters.mail.failure = Some(reason));
    }

    /// Forgets what an earlier opening of the line has left behind.
    pub(crate) fn discard_read(&self) {
        let mut letters = self.lock();
        letters.mail.bytes.clear();
        letters.mail.failure = None;
    }
}

/// Says that the line's thread has ended, also when its sink panics.
pub(super) struct Finished(pub(super) Arc<Mailbox>);

impl Drop for Finished {
    fn drop(&mut self) {
        self.0.change(|letters| letters.finished = true);
    }
}
