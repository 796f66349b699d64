//! When an alert is sent: once, again while it lasts, and when it is over. Time is an argument.
//!
//! ```text
//!   condition ──hold──▶ raised ──repeat──▶ repeated ──gone for CLEAR_AFTER──▶ cleared
//! ```
//!
//! Every node of a fleet tracks all alerts, and one sends those of the fleet. Who becomes the sender
//! takes those for sent that it has seen for [`HANDOVER`] while another node was the sender.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::conditions::{Condition, Key};

/// How long the sender may take to send an alert, as the other nodes see it.
const HANDOVER: Duration = Duration::from_secs(30);

/// A state that is taken over may lack a condition for a moment.
const CLEAR_AFTER: Duration = Duration::from_secs(5);

/// Which node sends the alerts of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    This,
    Another,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Raised,
    Repeated,
    Cleared,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) key: Key,
    pub(super) step: Step,
    pub(super) text: String,
    pub(super) since: Instant,
}

#[derive(Debug)]
struct Entry {
    since: Instant,
    seen: Instant,
    text: String,
    /// When it was last sent, here or elsewhere.
    sent: Option<Instant>,
    /// This node has sent it, and no other one has taken it over since.
    is_ours: bool,
}

#[derive(Debug)]
pub(super) struct Tracker {
    repeat: Duration,
    /// Bounded by the nodes of the fleet, and those that it remembers.
    entries: BTreeMap<Key, Entry>,
    another_since: Option<Instant>,
}

impl Tracker {
    pub(super) fn new(repeat: Duration) -> Self {
        Self { repeat, entries: BTreeMap::new(), another_since: None }
    }

    /// Takes in everything that holds now; returns what to send.
    pub(super) fn update(
        &mut self,
        conditions: Vec<Condition>,
        sender: Sender,
        now: Instant,
    ) -> Vec<Message> {
        self.another_since = match sender {
            Sender::Another => self.another_since.or(Some(now)),
            Sender::This | Sender::None => None,
        };
        let is_sender = |key: &Key| sender == Sender::This || key.kind.is_own();
        let mut messages = Vec::new();
        for Condition { key, hold, text } in conditions {
            let new =
                Entry { since: now, seen: now, text: String::new(), sent: None, is_ours: false };
            let entry = self.entries.entry(key.clone()).or_insert(new);
            (entry.seen, entry.text) = (now, text);
            if now - entry.since < hold {
                continue;
            }
            let repeat = self.repeat * key.kind.patience();
            let is_due = entry.sent.is_none_or(|sent| now - sent >= repeat);
            if is_sender(&key) {
                if is_due {
                    let step = if entry.sent.is_none() { Step::Raised } else { Step::Repeated };
                    messages.push(entry.message(key, step));
                    (entry.sent, entry.is_ours) = (Some(now), true);
                }
            } else if let Some(another_since) = self.another_since
                && now - another_since.max(entry.since + hold) >= HANDOVER
            {
                entry.is_ours = false;
                if is_due {
                    entry.sent = Some(now);
                }
            }
        }
        let over = self.entries.extract_if(.., |_, entry| now - entry.seen >= CLEAR_AFTER);
        messages.extend(over.filter_map(|(key, entry)| {
            let is_told = entry.sent.is_some() && (is_sender(&key) || entry.is_ours);
            is_told.then(|| entry.message(key, Step::Cleared))
        }));
        messages
    }
}

impl Entry {
    fn message(&self, key: Key, step: Step) -> Message {
        Message { key, step, text: self.text.clone(), since: self.since }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::conditions::Kind;

    /// A node whose clock is set by the test.
    struct Node {
        tracker: Tracker,
        start: Instant,
    }

    impl Node {
        fn new() -> Self {
            Self { tracker: Tracker::new(Duration::from_hours(1)), start: Instant::now() }
        }

        /// What is sent in these seconds, at one look a second.
        fn look(
            &mut self,
            seconds: std::ops::Range<u64>,
            kinds: &[Kind],
            sender: Sender,
        ) -> Vec<(u64, Kind, Step)> {
            let mut sent = Vec::new();
            for second in seconds {
                let now = self.start + Duration::from_secs(second);
                let condition = |kind: &Kind| Condition {
                    key: Key { kind: *kind, subject: "B".to_owned() },
                    hold: Duration::from_secs(if *kind == Kind::NodeLost { 60 } else { 0 }),
                    text: String::new(),
                };
                let conditions = kinds.iter().map(condition).collect();
                let messages = self.tracker.update(conditions, sender, now);
                sent.extend(messages.into_iter().map(|it| (second, it.key.kind, it.step)));
            }
            sent
        }
    }

    const HANG: &[Kind] = &[Kind::Hang];

    #[test]
    fn an_alert_is_sent_once_repeated_and_cleared() {
        let mut node = Node::new();
        let sent = node.look(0..7300, HANG, Sender::This);
        let [raised, repeated] = [Step::Raised, Step::Repeated].map(|step| (Kind::Hang, step));
        let all = [(0, raised), (3600, repeated), (7200, repeated)];
        assert_eq!(sent, all.map(|(at, (kind, step))| (at, kind, step)));
        // Three looks without it are none.
        assert_eq!(node.look(7300..7303, &[], Sender::This), []);
        assert_eq!(node.look(7303..7310, HANG, Sender::This), []);
        assert_eq!(node.look(7310..7400, &[], Sender::This), [(7314, Kind::Hang, Step::Cleared)]);
        assert_eq!(node.look(7400..7410, HANG, Sender::This), [(7400, Kind::Hang, Step::Raised)]);
    }

    #[test]
    fn what_does_not_last_is_no_alert() {
        let mut node = Node::new();
        let lost = &[Kind::NodeLost];
        assert_eq!(node.look(0..59, lost, Sender::This), []);
        assert_eq!(node.look(59..100, &[], Sender::This), []);
        let raised = [(160, Kind::NodeLost, Step::Raised)];
        assert_eq!(node.look(100..200, lost, Sender::This), raised);
    }

    #[test]
    fn a_new_sender_goes_on_where_the_former_one_was() {
        // It has seen the alert for long: the former sender has sent it.
        let mut heir = Node::new();
        assert_eq!(heir.look(0..100, HANG, Sender::Another), []);
        assert_eq!(heir.look(100..103, HANG, Sender::None), []);
        let repeated = [(3630, Kind::Hang, Step::Repeated)];
        assert_eq!(heir.look(103..3700, HANG, Sender::This), repeated);
        assert_eq!(heir.look(3700..3710, &[], Sender::This), [(3704, Kind::Hang, Step::Cleared)]);
        // It has not: nobody may have sent it.
        let mut heir = Node::new();
        assert_eq!(heir.look(0..29, HANG, Sender::Another), []);
        assert_eq!(heir.look(29..40, HANG, Sender::This), [(29, Kind::Hang, Step::Raised)]);
    }

    #[test]
    fn a_former_sender_clears_what_no_other_can_know() {
        for (handed_over, cleared) in [(10, true), (100, false)] {
            let mut node = Node::new();
            assert_eq!(node.look(0..1, HANG, Sender::This).len(), 1);
            assert_eq!(node.look(1..handed_over, HANG, Sender::Another), []);
            let sent = node.look(handed_over..200, &[], Sender::Another);
            assert_eq!(sent.len(), usize::from(cleared), "after {handed_over} s");
        }
    }

    /// The disk of a node that is not the sender: nobody else knows of it.
    #[test]
    fn a_node_sends_what_only_it_knows() {
        let mut node = Node::new();
        let sent = node.look(0..40_000, &[Kind::Maintenance, Kind::DiskFailed], Sender::Another);
        let of = |kind| sent.iter().filter(|(_, of, _)| *of == kind).count();
        assert_eq!((of(Kind::DiskFailed), of(Kind::Maintenance)), (12, 1));
    }
}
