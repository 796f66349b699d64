//! Priority calls for any car: a call whose car is lost goes to another one.
//!
//! While a network is cut so that two masters have a peer in common, each of them hears of the calls
//! that the other gives, and hears no word of the cars that have them. If both passed them on, a call
//! would go to and fro with each beacon. So a master passes on what it has seen itself: the call of a
//! car that it heard and lost. Of one that it never heard while the call was known, it waits
//! [`UNHEARD_LIMIT`].

use std::collections::BTreeMap;
use std::time::Duration;

use super::Node;
use crate::directives::{Directives, PriorityCall, Setting};
use crate::model::{NodeId, Timestamp};

/// After this time a call is passed on though its car has never been heard since, as after a power
/// cut that its node has not come back from. A car that can serve it has done so by then.
const UNHEARD_LIMIT: Duration = Duration::from_mins(5);

/// The cars whose priority calls another one may take.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    cars: BTreeMap<NodeId, Sight>,
}

/// What this node has seen of a car since the call was known.
#[derive(Debug, Clone, Copy)]
enum Sight {
    Heard,
    UnheardSince(Timestamp),
}

impl Priorities {
    /// Takes note of the calls, and of the cars that are heard now.
    fn note(
        &mut self,
        directives: &Directives,
        is_heard: impl Fn(&NodeId) -> bool,
        now: Timestamp,
    ) {
        let of_any = directives.priorities().filter(|(_, call)| call.any);
        let before = std::mem::take(&mut self.cars);
        self.cars = of_any
            .map(|(car, _)| {
                let known = before.get(car).copied().unwrap_or(Sight::UnheardSince(now));
                let sight = if is_heard(car) { Sight::Heard } else { known };
                (car.clone(), sight)
            })
            .collect();
    }

    /// Whether the call of a car that is not heard may be passed on now.
    fn may_pass_on(&self, car: &NodeId, now: Timestamp) -> bool {
        match self.cars.get(car) {
            Some(Sight::Heard) => true,
            Some(Sight::UnheardSince(since)) => now.since(*since) >= UNHEARD_LIMIT,
            None => false,
        }
    }
}

impl Node {
    /// As master: a priority call that was for any car goes to another one if the node of its car is
    /// lost.
    pub(super) fn refresh_priorities(&mut self, now: Timestamp) {
        let members = self.peers.members();
        let is_heard = |car: &NodeId| *car == self.hello.node || members.get(car).is_some();
        let directives = self.store.settings();
        self.services.priorities.note(directives, is_heard, now);
        if !self.leadership.leads() {
            return;
        }
        let is_lost =
            |car: &NodeId| !is_heard(car) && self.services.priorities.may_pass_on(car, now);
        let lost = directives.priorities().find(|(car, call)| call.any && is_lost(car));
        let Some((car, PriorityCall { floor, .. })) = lost else {
            return;
        };
        let car = car.clone();
        if let Some(next) = self.first_car_to(floor, now) {
            self.direct(Setting::Priority(car, None), now);
            self.direct(Setting::Priority(next, Some(PriorityCall { floor, any: true })), now);
        }
    }
}
