//! The topics that the broker refuses.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::mqtt_metrics::Refused;

/// How often a message on a topic may end the connection before the topic is left out.
const ENDS: u8 = 2;

/// How long a topic is left out. The broker's access control may change.
const LEFT_OUT: Duration = Duration::from_mins(10);

/// How many topics are known, as callers choose some; the one that was refused first gives way.
const TOPICS: usize = 64;

/// What is known of the topics of one connection.
#[derive(Debug)]
pub(super) struct Refusals {
    topics: BTreeMap<String, Refusal>,
    shown: Refused,
}

#[derive(Debug, Clone, Copy)]
struct Refusal {
    /// How many connections in a row have ended at a message on it.
    ends: u8,
    at: Instant,
}

impl Refusals {
    pub(super) fn new(shown: Refused) -> Self {
        Self { topics: BTreeMap::new(), shown }
    }

    /// The broker has taken a message on this topic.
    pub(super) fn on_taken(&mut self, topic: &str) {
        self.forget(topic);
    }

    /// The broker has refused a message on this topic, and goes on.
    pub(super) fn on_refused(&mut self, topic: &str, now: Instant) {
        self.note(topic, 0, now);
        self.show(topic);
    }

    /// The connection has ended while a message on this topic was the only one on its way. Returns
    /// whether the topic is left out from here on.
    pub(super) fn on_end(&mut self, topic: &str, now: Instant) -> bool {
        let ends = self.topics.get(topic).map_or(0, |refusal| refusal.ends).saturating_add(1);
        self.note(topic, ends, now);
        let is_left_out = ends >= ENDS;
        if is_left_out {
            self.show(topic);
        }
        is_left_out
    }

    /// Whether nothing is sent on this topic.
    pub(super) fn is_left_out(&mut self, topic: &str, now: Instant) -> bool {
        let Some(refusal) = self.topics.get(topic).filter(|refusal| refusal.ends >= ENDS) else {
            return false;
        };
        let is_over = now.saturating_duration_since(refusal.at) >= LEFT_OUT;
        if is_over {
            self.forget(topic);
        }
        !is_over
    }

    fn note(&mut self, topic: &str, ends: u8, now: Instant) {
        if !self.topics.contains_key(topic) && self.topics.len() == TOPICS {
            let oldest = self.topics.iter().min_by_key(|(_, refusal)| refusal.at);
            if let Some(oldest) = oldest.map(|(topic, _)| topic.clone()) {
                self.forget(&oldest);
            }
        }
        self.topics.insert(topic.to_owned(), Refusal { ends, at: now });
    }

    fn forget(&mut self, topic: &str) {
        if self.topics.remove(topic).is_some() {
            self.shown.send_if_modified(|shown| shown.remove(topic));
        }
    }

    fn show(&self, topic: &str) {
        self.shown.send_if_modified(|shown| shown.insert(topic.to_owned()));
    }
}

impl Drop for Refusals {
    fn drop(&mut self) {
        self.shown.send_if_modified(|shown| {
            let before = shown.len();
            shown.retain(|topic| !self.topics.contains_key(topic));
            shown.len() < before
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_topic_is_left_out_after_two_ends_in_a_row_and_tried_again_later() {
        let shown = Refused::default();
        let (mut refusals, now) = (Refusals::new(shown.clone()), Instant::now());
        assert!(!refusals.on_end("a", now));
        refusals.on_taken("a");
        assert!(!refusals.on_end("a", now) && !refusals.is_left_out("a", now));
        assert!(shown.borrow().is_empty());
        assert!(refusals.on_end("a", now) && refusals.is_left_out("a", now));
        assert!(shown.borrow().contains("a") && !refusals.is_left_out("b", now));
        assert!(!refusals.is_left_out("a", now + LEFT_OUT) && !refusals.on_end("a", now));
        refusals.on_refused("b", now);
        assert_eq!(*shown.borrow(), BTreeSet::from(["b".to_owned()]));
        assert!(!refusals.is_left_out("b", now), "it costs no connection");
        drop(refusals);
        assert!(shown.borrow().is_empty());
    }

    #[test]
    fn the_topics_that_callers_choose_are_bounded() {
        let shown = Refused::default();
        let (mut refusals, now) = (Refusals::new(shown.clone()), Instant::now());
        for number in 0..3 * TOPICS {
            let at = now + Duration::from_secs(number as u64);
            refusals.on_refused(&number.to_string(), at);
        }
        assert_eq!((refusals.topics.len(), shown.borrow().len()), (TOPICS, TOPICS));
        assert!(shown.borrow().contains(&(3 * TOPICS - 1).to_string()));
    }
}
