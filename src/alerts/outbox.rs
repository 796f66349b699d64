//! What waits for one receiver: retried with a back-off, and limited in rate. Time is an argument.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::tracker::Message;
use crate::bucket::Bucket;

/// The most messages that wait, one for each alert; then the oldest is dropped.
const MOST: usize = 64;

/// This many at once, and then one in [`PACE`].
const BURST: f64 = 20.0;
const PACE: Duration = Duration::from_secs(6);

/// Between two attempts: doubled from the first up to the second.
const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(5)];

#[derive(Debug)]
pub(super) struct Outbox {
    /// The oldest first.
    waiting: VecDeque<Message>,
    is_busy: bool,
    next_at: Instant,
    retry: Duration,
    bucket: Bucket,
}

impl Outbox {
    pub(super) fn new(now: Instant) -> Self {
        let bucket = Bucket::new(1.0 / PACE.as_secs_f64(), BURST, now);
        Self { waiting: VecDeque::new(), is_busy: false, next_at: now, retry: RETRY[0], bucket }
    }

    /// Adds a message, in place of an older one of the same alert.
    pub(super) fn push(&mut self, message: Message) {
        self.waiting.retain(|older| older.key != message.key);
        while self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(message);
    }

    /// When [`next`](Self::next) may have one.
    pub(super) fn next_at(&self) -> Option<Instant> {
        (!self.is_busy && !self.waiting.is_empty()).then_some(self.next_at)
    }

    /// The next message to deliver. There is no other one until its outcome is known.
    pub(super) fn next(&mut self, now: Instant) -> Option<Message> {
        if self.next_at().is_none_or(|at| now < at) {
            return None;
        }
        if !self.bucket.take(now) {
            self.next_at = now + PACE;
            return None;
        }
        self.is_busy = true;
        self.waiting.pop_front()
    }

    pub(super) fn on_delivered(&mut self) {
        (self.is_busy, self.retry) = (false, RETRY[0]);
    }

    /// Keeps the message for another attempt. Returns whether the one before was delivered.
    pub(super) fn on_failed(&mut self, message: Message, now: Instant) -> bool {
        let is_first = self.retry == RETRY[0];
        self.is_busy = false;
        self.next_at = now + self.retry;
        self.retry = (self.retry * 2).min(RETRY[1]);
        if self.waiting.iter().all(|newer| newer.key != message.key) {
            self.waiting.push_front(message);
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::conditions::{Key, Kind};
    use crate::alerts::tracker::Step;

    fn message(subject: usize, step: Step) -> Message {
        let key = Key { kind: Kind::Hang, subject: subject.to_string() };
        Message { key, step, text: String::new(), since: Instant::now() }
    }

    #[test]
    fn a_message_is_tried_again_ever_more_rarely_until_a_newer_one_replaces_it() {
        let start = Instant::now();
        let mut outbox = Outbox::new(start);
        outbox.push(message(1, Step::Raised));
        let (mut now, mut waits) = (start, Vec::new());
        for attempt in 0..11 {
            let sent = outbox.next(now).expect("it is due");
            assert_eq!(outbox.next_at(), None, "one at a time");
            assert_eq!(outbox.on_failed(sent, now), attempt == 0);
            let next = outbox.next_at().expect("it waits");
            assert_eq!(outbox.next(next.checked_sub(Duration::from_millis(1)).unwrap()), None);
            waits.push((next - now).as_secs());
            now = next;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        let sent = outbox.next(now).expect("it is due");
        outbox.push(message(1, Step::Cleared));
        outbox.on_failed(sent, now);
        let next = outbox.next(now + RETRY[1]).expect("the newer one");
        assert_eq!(next.step, Step::Cleared);
        outbox.on_delivered();
        assert_eq!(outbox.next_at(), None);
    }

    #[test]
    fn a_flood_is_slowed_down_and_bounded() {
        let start = Instant::now();
        let mut outbox = Outbox::new(start);
        (0..200).for_each(|subject| outbox.push(message(subject, Step::Raised)));
        let mut sent = Vec::new();
        for second in 0..=60 {
            while let Some(message) = outbox.next(start + Duration::from_secs(second)) {
                sent.push(message.key.subject);
                outbox.on_delivered();
            }
        }
        assert_eq!(sent.len(), 20 + 10);
        assert_eq!(sent[0], "136", "the oldest are dropped");
    }
}
