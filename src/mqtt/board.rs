//! The retained topics: what each should say, and which of them the broker does not know yet.
//!
//! A newer state replaces one that was not sent yet, so there is never more than one message a topic
//! to send, however slow the broker is.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use liftmesh_api::State;
use serde_json::Value;
use tokio::time::Instant;

/// A topic is published this often even where nothing has changed but ages, as a sign of life.
pub(super) const REFRESH: Duration = Duration::from_secs(5);

/// What changes by itself.
const AGES: [&str; 12] = [
    "at",
    "uptime",
    "master_since",
    "elapsed",
    "silent",
    "round_trip",
    "loss",
    "waited",
    "lift_time",
    "since",
    "last",
    "age",
];

/// What one topic should say.
#[derive(Debug)]
struct Slot {
    /// Empty to remove what is retained.
    payload: Bytes,
    /// What it says but for ages.
    essence: Value,
    rendered: Instant,
    is_due: bool,
}

#[derive(Debug, Default)]
pub(super) struct Board {
    slots: BTreeMap<String, Slot>,
    /// The topics that are due, in the order in which they have become so.
    due: VecDeque<String>,
}

impl Board {
    /// Makes the topics say this; those of cars that are not in it are removed.
    pub(super) fn show(&mut self, state: &State, now: Instant) {
        let mut shown =
            vec![self.put("fleet", &state.fleet, now), self.put("orders", &state.orders, now)];
        for car in &state.cars {
            let value = serde_json::to_value(car).unwrap_or_default();
            if let Some(name) = value["car"].as_str() {
                shown.push(self.put(&format!("cars/{name}"), &value, now));
            }
        }
        let gone: Vec<_> =
            self.slots.keys().filter(|topic| !shown.contains(topic)).cloned().collect();
        for topic in gone {
            self.remove(topic, now);
        }
    }

    /// The broker retains this topic. A car that is not known is one of the past.
    pub(super) fn found(&mut self, topic: &str, now: Instant) {
        if !self.slots.contains_key(topic) {
            self.remove(topic.to_owned(), now);
        }
    }

    /// The broker may know nothing of it.
    pub(super) fn forget_sent(&mut self) {
        self.due = self.slots.keys().cloned().collect();
        for slot in self.slots.values_mut() {
            slot.is_due = true;
        }
    }

    /// The next topic to publish, and what it says.
    pub(super) fn take(&mut self) -> Option<(String, Bytes)> {
        let topic = self.due.pop_front()?;
        let slot = self.slots.get_mut(&topic)?;
        slot.is_due = false;
        let payload = slot.payload.clone();
        if payload.is_empty() {
            self.slots.remove(&topic);
        }
        Some((topic, payload))
    }

    /// How many topics are due.
    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    fn put(&mut self, topic: &str, content: &impl serde::Serialize, now: Instant) -> String {
        let mut essence = serde_json::to_value(content).unwrap_or_default();
        let payload = Bytes::from(essence.to_string());
        remove_ages(&mut essence);
        let slot = self.slots.get(topic);
        let is_news = slot.is_none_or(|slot| {
            slot.essence != essence || slot.payload.is_empty() || now - slot.rendered >= REFRESH
        });
        if is_news {
            self.set(topic.to_owned(), payload, essence, now);
        }
        topic.to_owned()
    }

    fn remove(&mut self, topic: String, now: Instant) {
        if self.slots.get(&topic).is_none_or(|slot| !slot.payload.is_empty()) {
            self.set(topic, Bytes::new(), Value::Null, now);
        }
    }

    fn set(&mut self, topic: String, payload: Bytes, essence: Value, rendered: Instant) {
        let was_due = self.slots.get(&topic).is_some_and(|slot| slot.is_due);
        if !was_due {
            self.due.push_back(topic.clone());
        }
        self.slots.insert(topic, Slot { payload, essence, rendered, is_due: true });
    }
}

fn remove_ages(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !AGES.contains(&name.as_str()));
            fields.values_mut().for_each(remove_ages);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_ages),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use elevator_fleet::dispatch::Kinematics;
    use elevator_fleet::node::Status;
    use liftmesh_api::Flights;

    use super::*;
    use crate::operator::tests::full_status;

    fn state(status: &Status, seconds: u64) -> State {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        State::new(status, &Flights::new(Kinematics::default()), at)
    }

    fn topics(board: &mut Board) -> Vec<String> {
        std::iter::from_fn(|| board.take()).map(|(topic, _)| topic).collect()
    }

    #[test]
    fn a_topic_is_due_once_and_again_when_it_changes() {
        let (mut board, now) = (Board::default(), Instant::now());
        let mut status = full_status();
        board.show(&state(&status, 1), now);
        let first = topics(&mut board);
        assert!(first.contains(&"fleet".to_owned()) && first.contains(&"orders".to_owned()));
        assert!(first.iter().any(|topic| topic.starts_with("cars/")), "{first:?}");
        status.uptime += Duration::from_secs(1);
        status.state_since += Duration::from_secs(1);
        for peer in &mut status.peers {
            (peer.round_trip, peer.loss) = (Some(Duration::from_millis(7)), Some(0.5));
        }
        board.show(&state(&status, 2), now + Duration::from_secs(1));
        assert_eq!(topics(&mut board), [""; 0], "ages are no news");
        status.term.0 += 1;
        board.show(&state(&status, 3), now + Duration::from_secs(2));
        status.term.0 += 1;
        board.show(&state(&status, 4), now + Duration::from_secs(3));
        let (topic, payload) = board.take().unwrap();
        let fleet: Value = serde_json::from_slice(&payload).unwrap();
        assert_eq!((topic.as_str(), &fleet["term"]), ("fleet", &Value::from(status.term.0)));
        assert_eq!(topics(&mut board), [""; 0], "the newest state replaces the one before");
        board.show(&state(&status, 20), now + Duration::from_secs(20));
        assert_eq!(topics(&mut board).len(), first.len(), "a sign of life");
    }

    #[test]
    fn a_car_that_is_gone_is_removed() {
        let (mut board, now) = (Board::default(), Instant::now());
        let mut status = full_status();
        let own = format!("cars/{}", status.node);
        board.show(&state(&status, 1), now);
        topics(&mut board);
        status.car = None;
        board.show(&state(&status, 1), now);
        assert_eq!(board.take(), Some((own.clone(), Bytes::new())));
        board.show(&state(&status, 1), now);
        assert_eq!(board.take(), None);
        // What an earlier master has left.
        board.found("cars/Z", now);
        board.found("fleet", now);
        assert_eq!(board.take(), Some(("cars/Z".to_owned(), Bytes::new())));
        assert_eq!(board.take(), None);
    }

    #[test]
    fn another_broker_is_told_everything() {
        let (mut board, now) = (Board::default(), Instant::now());
        board.show(&state(&full_status(), 1), now);
        let all = topics(&mut board).len();
        board.forget_sent();
        board.forget_sent();
        assert_eq!(topics(&mut board).len(), all);
    }
}
