//! What can be seen of one car from outside: what passengers go by, and what the account judges.

use elevator_driver::{Direction, DoorState, Floor, LampSet};
use elevator_fleet::model::{Call, HallCall, NodeId};
use elevator_simulator::{CarState, Opening};

/// How far a door has to be open for passengers to walk through, as a share of its whole way.
const WALKABLE: f64 = 0.7;

/// One car at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sight {
    /// The panel has a controller that has had time to bring the lamps in line; what the lamps of
    /// any other panel show means nothing.
    pub living: bool,
    /// The lit lamps.
    pub lamps: LampSet,
    /// The floor where the car stands with its door open: it serves those who wait there (F18).
    pub serves: Option<Floor>,
    /// The latest time that its door came to stand fully open: one that stood so only between two
    /// looks has served too.
    pub opening: Option<Opening>,
    /// The floor where passengers can walk in and out.
    pub walkable: Option<Floor>,
    /// The lit arrow.
    pub lantern: Option<Direction>,
}

impl Sight {
    /// What the simulator says; `living` is known of the node alone.
    #[must_use]
    pub fn new(state: &CarState, living: bool) -> Self {
        let opens = matches!(state.door, DoorState::Opening | DoorState::Open);
        let rests_at = state.floor.filter(|floor| state.is_at_rest_at(*floor));
        Self {
            living,
            lamps: state.lamps.clone(),
            serves: rests_at.filter(|_| state.door == DoorState::Open),
            opening: state.opening,
            walkable: rests_at.filter(|_| opens && state.door_fraction >= WALKABLE),
            lantern: state.lantern,
        }
    }

    /// Whether a passenger who wants to travel in `direction` would board: the arrow does not say
    /// otherwise.
    #[must_use]
    pub fn leads(&self, direction: Direction) -> bool {
        leads(self.lantern, direction)
    }
}

/// A car that stands or stood open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    floor: Floor,
    lantern: Option<Direction>,
}

impl Visit {
    pub(super) fn at(floor: Floor, lantern: Option<Direction>) -> Self {
        Self { floor, lantern }
    }

    /// Whether it serves this call.
    pub(super) fn serves(self, car: &NodeId, call: &Call) -> bool {
        match call {
            Call::Hall(HallCall { floor, direction, .. }) => {
                *floor == self.floor && leads(self.lantern, *direction)
            }
            Call::Car { car: of, floor, .. } => of == car && *floor == self.floor,
        }
    }
}

fn leads(lantern: Option<Direction>, direction: Direction) -> bool {
    lantern.is_none_or(|lit| lit == direction)
}
