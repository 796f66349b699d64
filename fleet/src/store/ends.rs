//! How presses have ended that the store no longer keeps.
//!
//! A register has room for one press of each incarnation, and the next press takes its place. A
//! fire recall ends a press and leaves no register. A program that follows its call asks for its
//! end.

use std::collections::{BTreeMap, VecDeque};

use super::Service;
use crate::model::{Call, Dot, Nonce};

/// How many ends are kept; of more, the oldest is forgotten.
const MOST: usize = 1024;

type Place = (Nonce, Call, u64);

/// The latest ends, in memory alone: after a restart the registers have what is left.
#[derive(Debug, Default)]
pub(super) struct Ends {
    ends: BTreeMap<Place, Option<Service>>,
    by_age: VecDeque<Place>,
}

impl Ends {
    /// A press that the store no longer keeps was served or, without a service, ended by a recall.
    pub(super) fn note(&mut self, dot: Dot, call: &Call, service: Option<Service>) {
        let place = (dot.incarnation, call.clone(), dot.sequence);
        if self.ends.insert(place.clone(), service).is_none() {
            self.by_age.push_back(place);
        }
        if self.by_age.len() > MOST
            && let Some(oldest) = self.by_age.pop_front()
        {
            self.ends.remove(&oldest);
        }
    }

    /// How this press has ended: one that was replaced while open, with the one in its place.
    pub(super) fn of(&self, press: Dot, call: &Call) -> Option<&Option<Service>> {
        let place = |sequence| (press.incarnation, call.clone(), sequence);
        let mut ends = self.ends.range(place(press.sequence)..=place(u64::MAX));
        ends.next().map(|(_, service)| service)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use elevator_driver::{Direction, Floor};

    use super::*;
    use crate::model::{HallCall, NodeId};

    fn press(sequence: u64) -> Dot {
        Dot { incarnation: Nonce(7), sequence }
    }

    #[test]
    fn a_press_ends_with_the_one_that_took_its_place() {
        let call = Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up));
        let other = Call::ride(&NodeId::new("A").expect("a name"), Floor::BOTTOM);
        let mut ends = Ends::default();
        let car = NodeId::new("A").expect("a name");
        let served = Some(Service { waited: Duration::from_secs(9), car });
        ends.note(press(2), &call, served.clone());
        ends.note(press(6), &call, None);
        for (sequence, end) in
            [(1, Some(served.clone())), (2, Some(served)), (3, Some(None)), (7, None)]
        {
            assert_eq!(ends.of(press(sequence), &call), end.as_ref(), "{sequence}");
        }
        assert_eq!(ends.of(press(1), &other), None);
        assert_eq!(ends.of(Dot { incarnation: Nonce(8), sequence: 1 }, &call), None);
        for sequence in 7..=MOST as u64 + 7 {
            ends.note(press(sequence), &call, None);
        }
        assert_eq!((ends.ends.len(), ends.by_age.len()), (MOST, MOST));
    }
}
