//! The latest presses of the node's own panel, and what became of each.
//!
//! They are kept in memory only: what has to survive a restart is the order, not who asked for it.
//! The same button again, with the same result, counts up its latest press, so that stuck buttons do
//! not push out all the others.

use std::collections::VecDeque;
use std::time::Duration;

use elevator_driver::{Button, Trip};
use serde::{Deserialize, Serialize};

use super::{Node, OrderRefused, Report, Taken};
use crate::car;
use crate::json::seconds;
use crate::model::{Call, Dot, HallCall, NodeId, Timestamp};
use crate::store::{MOST_OPEN_TRIPS, OrderStore};

/// How many presses are remembered; the oldest ones are forgotten.
pub const MOST_PRESSES: usize = 512;

/// A press of a button of the panel, or a destination given at its kiosk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PressStatus {
    /// What was pressed.
    pub call: Call,
    /// How long ago.
    pub ago: Duration,
    /// How often this button in a row, with the same result.
    pub times: u32,
    /// How long ago the last of those was.
    pub last: Duration,
    /// What became of it.
    pub fate: PressFate,
}

/// What became of a press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum PressFate {
    /// Its order is open.
    Open {
        /// The order. It is no part of the JSON.
        #[serde(skip)]
        press: Option<Dot>,
        /// Whether its lamp may be lit (F12).
        promised: bool,
    },
    /// A car has served it.
    Served {
        /// The car.
        car: Option<NodeId>,
        /// How long the call had waited.
        #[serde(with = "seconds")]
        waited: Duration,
    },
    /// Its order was dropped because of a fire recall.
    Dropped,
    /// It made no order: it keeps the door open, which was open for it.
    Absorbed,
    /// It made no order: it drives a car in a special mode.
    Command,
    /// It made no order.
    Refused {
        /// Why, for people.
        reason: String,
    },
}

#[derive(Debug, Clone, Default)]
pub(super) struct Presses {
    /// The oldest first; at most [`MOST_PRESSES`].
    ring: VecDeque<Press>,
    /// How many were forgotten.
    forgotten: u64,
}

#[derive(Debug, Clone)]
struct Press {
    call: Call,
    first: Timestamp,
    last: Timestamp,
    times: u32,
    fate: PressFate,
}

impl Presses {
    /// How many presses are no longer in the ring.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// A button was pressed.
    pub(super) fn add(&mut self, call: Call, fate: PressFate, now: Timestamp) {
        let latest = self.ring.iter_mut().rev().find(|press| press.call == call);
        if let Some(press) = latest.filter(|press| press.fate.repeats(&fate)) {
            press.times = press.times.saturating_add(1);
            press.last = now;
            press.fate = fate;
            return;
        }
        if self.ring.len() == MOST_PRESSES {
            self.ring.pop_front();
            self.forgotten += 1;
        }
        self.ring.push_back(Press { call, first: now, last: now, times: 1, fate });
    }

    /// Orders of a call are closed: of those that are open no more, this became.
    fn close(&mut self, call: &Call, store: &OrderStore, fate: &PressFate) {
        for press in self.of(call) {
            if let PressFate::Open { press: Some(dot), .. } = press.fate
                && store.get(dot).is_none()
            {
                press.fate = fate.clone();
            }
        }
    }

    fn of<'a>(&'a mut self, call: &'a Call) -> impl Iterator<Item = &'a mut Press> {
        self.ring.iter_mut().filter(move |press| press.call == *call)
    }
}

impl From<OrderRefused> for PressFate {
    fn from(refused: OrderRefused) -> Self {
        Self::Refused { reason: refused.to_string() }
    }
}

impl PressFate {
    /// Whether another press with this result is the same once more.
    fn repeats(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Open { .. }, Self::Open { .. }) => true,
            (earlier, next) => earlier == next,
        }
    }
}

impl Node {
    /// The latest presses of the node's own panel, the oldest first: at most [`MOST_PRESSES`].
    pub fn presses(&self, now: Timestamp) -> impl Iterator<Item = PressStatus> {
        self.services.presses.ring.iter().map(move |press| {
            let mut fate = press.fate.clone();
            if let PressFate::Open { press: Some(dot), promised } = &mut fate {
                *promised = self.is_still_promised(*dot, &press.call);
            }
            let (ago, last) = (now.since(press.first), now.since(press.last));
            PressStatus { call: press.call.clone(), ago, times: press.times, last, fate }
        })
    }

    /// Whether this press of an open call is promised. The press that takes its place takes over its
    /// promise.
    fn is_still_promised(&self, dot: Dot, call: &Call) -> bool {
        let present = self.store.orders().present(dot, call);
        present.into_iter().any(|dot| self.store.is_promised(dot))
    }

    /// How many presses there were before those of [`presses`](Self::presses).
    #[must_use]
    pub fn forgotten_presses(&self) -> u64 {
        self.services.presses.forgotten()
    }

    /// A button was pressed.
    pub(super) fn press(&mut self, button: Button, now: Timestamp) {
        let call = Call::of_button(button, &self.hello.node);
        let fate = self.take_press(button, &call, now);
        self.services.presses.add(call, fate, now);
    }

    /// In a fire recall the buttons place no orders (ASME A17.1, phase I). Those in a car may be
    /// commands to it.
    fn take_press(&mut self, button: Button, call: &Call, now: Timestamp) -> PressFate {
        let refused = self.lock_against(call, now);
        if let Button::Car(floor) = button {
            // A lock holds against calls: a command in a fire or in a car out of service passes it.
            let is_call = self.refusing_mode(call).is_none();
            if is_call && let Some(refused) = refused {
                // Where the door is open, the button keeps it open.
                if self.cabin.absorbs(call, now) {
                    return PressFate::Absorbed;
                }
                self.refuse_press(&refused, now);
                return refused.into();
            }
            if self.cabin.press(floor, now) == car::Press::Command {
                return PressFate::Command;
            }
        }
        if self.services.commands.is_fire_recalled() {
            return OrderRefused::FireRecall { call: call.clone() }.into();
        }
        if self.cabin.absorbs(call, now) {
            return PressFate::Absorbed;
        }
        let served = match call {
            Call::Hall(_) => true,
            Call::Car { .. } => self.cabin.car().is_some(),
        };
        if !served {
            let (call, node) = (call.clone(), self.hello.node.clone());
            return OrderRefused::NoCar { call, node }.into();
        }
        if !self.hello.floors.has_button(button) {
            let (call, top) = (call.clone(), self.hello.floors.top().index());
            return OrderRefused::NoSuchButton { call, top }.into();
        }
        let taken = self.place(call, now);
        self.fate_of(call, taken)
    }

    /// A passenger has given a destination at a kiosk.
    pub(super) fn request(&mut self, trip: Trip, now: Timestamp) {
        let call = HallCall::to(trip.from(), trip.to()).map(Call::Hall);
        if let Some(call) = call.filter(|call| call.is_within(self.hello.floors)) {
            let fate = self.take_request(&call, now);
            self.services.presses.add(call, fate, now);
        }
    }

    fn take_request(&mut self, call: &Call, now: Timestamp) -> PressFate {
        if self.services.commands.is_fire_recalled() {
            self.refuse_request(OrderRefused::FireRecall { call: call.clone() }, now)
        } else if let Some(refused) = self.lock_against(call, now) {
            self.refuse_press(&refused, now);
            refused.into()
        } else if self.store.may_place(call) {
            let taken = self.place(call, now);
            self.fate_of(call, taken)
        } else {
            let (call, most) = (call.clone(), MOST_OPEN_TRIPS);
            self.refuse_request(OrderRefused::TooManyTrips { call, most }, now)
        }
    }

    fn refuse_request(&mut self, refused: OrderRefused, now: Timestamp) -> PressFate {
        if let Some(report) = self.cabin.refused(refused.to_string(), now) {
            self.report(report);
        }
        refused.into()
    }

    /// What became of a press that was taken for an order.
    fn fate_of(&self, call: &Call, taken: Taken) -> PressFate {
        match taken {
            Taken::Placed => {
                PressFate::Open { press: self.store.latest_press(call), promised: false }
            }
            Taken::Absorbed => PressFate::Absorbed,
        }
    }

    /// The orders have changed in this way.
    pub(super) fn update_presses(&mut self, report: &Report) {
        let store = self.store.orders();
        if let Report::Served { call, waited, here: _, car } = report {
            let fate = PressFate::Served { car: car.clone(), waited: *waited };
            self.services.presses.close(call, store, &fate);
        } else if let Report::Dropped { call } = report {
            self.services.presses.close(call, store, &PressFate::Dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Direction, Floor};

    use super::*;
    use crate::model::{HallCall, Nonce};

    fn hall(index: u8) -> Call {
        Call::Hall(HallCall::new(Floor::try_from(index).expect("a floor"), Direction::Up))
    }

    fn open(sequence: u64) -> PressFate {
        let press = Some(Dot { incarnation: Nonce(1), sequence });
        PressFate::Open { press, promised: false }
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::START + Duration::from_secs(seconds)
    }

    #[test]
    fn two_stuck_buttons_push_out_no_other() {
        let mut presses = Presses::default();
        presses.add(hall(0), PressFate::Absorbed, at(0));
        for second in 1..=5_000 {
            presses.add(hall(1), open(second), at(second));
            presses.add(hall(2), PressFate::Command, at(second));
        }
        let kept: Vec<_> = presses.ring.iter().map(|it| (it.call.clone(), it.times)).collect();
        assert_eq!(kept, [(hall(0), 1), (hall(1), 5_000), (hall(2), 5_000)]);
        assert_eq!((presses.ring[1].first, presses.ring[1].last), (at(1), at(5_000)));
        assert_eq!(presses.ring[1].fate, open(5_000), "the order that is open");
        // What became of the press in between is another press.
        presses.add(hall(2), PressFate::Absorbed, at(6_000));
        presses.add(hall(2), PressFate::Command, at(6_001));
        let times: Vec<u32> = presses.ring.iter().map(|it| it.times).collect();
        assert_eq!(times, [1, 5_000, 5_000, 1, 1]);
    }

    #[test]
    fn the_same_button_with_another_result_is_another_press() {
        let mut presses = Presses::default();
        let refused = |reason: &str| PressFate::Refused { reason: reason.to_owned() };
        let fates = [refused("fire"), refused("locked"), PressFate::Command, PressFate::Absorbed];
        for fate in &fates {
            presses.add(hall(0), fate.clone(), at(0));
        }
        assert_eq!(presses.ring.iter().map(|it| it.fate.clone()).collect::<Vec<_>>(), fates);
    }

    #[test]
    fn the_oldest_presses_are_forgotten() {
        let mut presses = Presses::default();
        let more = 7;
        for second in 0..(MOST_PRESSES as u64 + more) {
            let reason = second.to_string();
            presses.add(hall(0), PressFate::Refused { reason }, at(second));
        }
        assert_eq!(presses.ring.len(), MOST_PRESSES);
        assert_eq!(presses.ring[0].first, at(more));
        assert_eq!(presses.forgotten(), more);
    }
}
