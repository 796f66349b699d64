//! How much the store takes of other nodes.

use elevator_driver::FloorCount;

use super::{Entry, OrderStore, Place, is_elsewhere};
use crate::model::{NodeId, Record};

/// The most nodes with registers: twice those of the largest fleet, as names may change.
const MOST_ORIGINS: usize = 128;

/// How many destination calls of one origin may be open: there are up to 64,262, and each open one
/// costs every node time whenever anything happens. A node places no more; of others it accepts
/// twice as many, because it may learn of a press before it learns of the services that made room.
pub(crate) const MOST_OPEN_TRIPS: usize = 256;

/// For how many other cars a node may place car calls, as operators can.
const MOST_CARS: usize = 64;

impl OrderStore {
    /// Whether a record of another node is within the bounds of its origin. One that is not counts
    /// as never received: the peer sends it again, and it is accepted once there is room.
    pub(crate) fn is_within_bounds(&self, record: &Record, floors: FloorCount) -> bool {
        let Some(origin) = self.origins.get(&record.origin) else { return true };
        let place: Place = (record.call.clone(), record.origin.clone());
        let is_trip_too_many = !record.state.is_served()
            && record.call.is_trip()
            && origin.open_trips >= 2 * MOST_OPEN_TRIPS
            && !self.is_open_at(&record.origin, &record.call);
        let is_elsewhere_too_often = is_elsewhere(&record.call, &record.origin)
            && origin.elsewhere >= MOST_CARS * usize::from(floors.get())
            && !self.registers.contains_key(&place);
        !is_trip_too_many && !is_elsewhere_too_often
    }

    /// Whether the store takes a record of this origin; the last one by name without orders goes.
    pub(super) fn make_room_for(
        &mut self,
        origin: &NodeId,
        is_served: bool,
        gone: &mut Vec<Entry>,
    ) -> bool {
        if self.origins.contains_key(origin) || self.origins.len() < MOST_ORIGINS {
            return true;
        }
        let idle = self.origins.iter().rev().find(|(_, it)| it.open == 0);
        let last = idle.map(|(name, _)| name).filter(|last| !is_served || *last > origin).cloned();
        let Some(last) = last else { return false };
        let of_last = self.entries.values().filter(|entry| entry.order.origin == last);
        let dots: Vec<_> = of_last.map(|entry| entry.order.dot).collect();
        for dot in dots {
            gone.extend(self.take(dot));
        }
        true
    }
}
