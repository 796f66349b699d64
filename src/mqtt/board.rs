//! The retained topics: what each should say, and which of them the broker does not know yet.
//!
//! A newer state replaces one that was not sent yet, so there is never more than one message a topic
//! to send, however slow the broker is.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use liftmesh_api::State;
use serde_json::Value;
use tokio::time::Instant;

use crate::programs::remove_fields;

/// A topic is published this often even where nothing has changed but ages, as a sign of life.
const REFRESH: Duration = Duration::from_secs(5);

/// What changes by itself.
const AGES: &str = "at uptime master_since elapsed silent round_trip loss waited lift_time since \
                    last age";

#[derive(Debug)]
struct Slot {
    /// Empty to remove what is retained.
    payload: Bytes,
    /// What it says but for ages.
    essence: Value,
    rendered: Instant,
    /// Since when the broker does not know it; `None` if it does.
    due_since: Option<Instant>,
}

#[derive(Debug, Default)]
pub(super) struct Board(BTreeMap<String, Slot>);

impl Board {
    /// Makes the topics say this; those of cars that are not in it are removed.
    pub(super) fn show(&mut self, state: &State, now: Instant) {
        let mut shown =
            vec![self.put("fleet", &state.fleet, now), self.put("orders", &state.orders, now)];
        let cars = state.cars.iter();
        shown.extend(cars.map(|car| self.put(&format!("cars/{}", car.car), car, now)));
        for (_, slot) in self.0.iter_mut().filter(|(topic, _)| !shown.contains(topic)) {
            if !slot.payload.is_empty() {
                *slot = Slot::removed(now);
            }
        }
    }

    /// The broker retains this topic. A car that is not known is one of the past.
    pub(super) fn found(&mut self, topic: &str, now: Instant) {
        self.0.entry(topic.to_owned()).or_insert_with(|| Slot::removed(now));
    }

    pub(super) fn forget_sent(&mut self, now: Instant) {
        self.0.values_mut().for_each(|slot| slot.due_since = Some(now));
    }

    /// The topic that has been due for longest, and what it says.
    pub(super) fn take(&mut self) -> Option<(String, Bytes)> {
        let due = self.0.iter_mut().filter(|(_, slot)| slot.due_since.is_some());
        let (topic, slot) = due.min_by_key(|(_, slot)| slot.due_since)?;
        slot.due_since = None;
        let (topic, payload) = (topic.clone(), slot.payload.clone());
        if payload.is_empty() {
            self.0.remove(&topic);
        }
        Some((topic, payload))
    }

    pub(super) fn due(&self) -> usize {
        self.0.values().filter(|slot| slot.due_since.is_some()).count()
    }

    fn put(&mut self, topic: &str, content: &impl serde::Serialize, now: Instant) -> String {
        let mut essence = serde_json::to_value(content).unwrap_or_default();
        let payload = Bytes::from(essence.to_string());
        remove_fields(&mut essence, AGES);
        let known = self.0.get(topic);
        if known.is_none_or(|it| it.essence != essence || now - it.rendered >= REFRESH) {
            let due_since = known.and_then(|known| known.due_since).or(Some(now));
            self.0.insert(topic.to_owned(), Slot { payload, essence, rendered: now, due_since });
        }
        topic.to_owned()
    }
}

impl Slot {
    fn removed(now: Instant) -> Self {
        Self { payload: Bytes::new(), essence: Value::Null, rendered: now, due_since: Some(now) }
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
        board.forget_sent(now);
        assert_eq!(topics(&mut board).len(), first.len(), "another broker");
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
}
