//! One entry of a register, and what it adds to the digest.

use std::hash::Hasher;

use elevator_driver::Direction;
use siphasher::sip::SipHasher13;

use crate::model::{Call, Dot, HallCall, Order, Record, RecordState, Service, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// The latest press of a call by one incarnation of its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) order: Order,
    pub(crate) service: Option<Service>,
    /// The presses of other incarnations that it has absorbed, the latest of each.
    pub(crate) absorbed: Vec<Dot>,
}

impl Entry {
    pub(crate) fn is_served(&self) -> bool {
        self.service.is_some()
    }

    /// Whether it has absorbed this press, or a later one of its incarnation.
    pub(super) fn absorbs(&self, press: Dot) -> bool {
        self.absorbed.iter().any(|absorbed| absorbed.is_later_press_of(press))
    }

    pub(super) fn record(&self, now: Timestamp) -> Record {
        let Order { dot, origin, call, placed, recall } = self.order.clone();
        let state = match self.service.clone() {
            Some(service) => RecordState::Served(service),
            None => RecordState::Open { waited: now.since(placed), recall },
        };
        Record { dot, origin, call, state, absorbed: self.absorbed.clone() }
    }

    /// Each number is written out, so that nodes of any word size and byte order agree. The call is
    /// included because a faulty node may send one press as two calls: nodes with different calls
    /// must not count as holders of each other's orders.
    pub(super) fn hash(&self) -> u64 {
        let Order { dot, call, recall, .. } = &self.order;
        let served = self.is_served() && !is_seeded(SeededBug::DigestOmitsServices);
        let recall = if self.is_served() { 0 } else { *recall };
        let mut hasher = SipHasher13::new();
        hasher.write(&dot.incarnation.0.to_le_bytes());
        hasher.write(&dot.sequence.to_le_bytes());
        let (kind, car, to) = match call {
            Call::Hall(HallCall { to: Some(to), .. }) => (3, None, Some(to)),
            Call::Hall(HallCall { direction: Direction::Up, .. }) => (0, None, None),
            Call::Hall(HallCall { direction: Direction::Down, .. }) => (1, None, None),
            Call::Car { car, .. } => (2, Some(car), None),
        };
        let side = if call.entrance().side.is_front() { 0 } else { 4 };
        hasher.write(&[kind + side, call.floor().index()]);
        hasher.write(car.map_or(&[], |car| car.as_str().as_bytes()));
        if let Some(to) = to {
            hasher.write(&[to.index()]);
        }
        hasher.write(&[u8::from(served)]);
        hasher.write(&recall.to_le_bytes());
        for absorbed in &self.absorbed {
            hasher.write(&absorbed.incarnation.0.to_le_bytes());
            hasher.write(&absorbed.sequence.to_le_bytes());
        }
        hasher.finish()
    }
}
