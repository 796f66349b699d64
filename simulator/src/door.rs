//! The door machine of one car.
//!
//! ```text
//!            Open, at rest in a floor zone
//!   Closed ──────────────────────────────▶ Opening ──▶ Open
//!     ▲                                       ▲          │ Close, Nudge
//!     │                       Open, obstruction          ▼
//!     └──────────────────────────────────── Closing ◀────┘
//! ```
//!
//! An obstruction keeps the door open and reopens a closing one all the way; a nudging door and a
//! closed one do not care.

use std::time::Duration;

use elevator_driver::{DoorCommand, DoorState};

use crate::config::DoorTimes;

/// A door is at its end if it lacks no more than this share of its way: many small steps come to the
/// same as a long one.
const ARRIVED: f64 = 1e-9;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Door {
    times: DoorTimes,
    /// 0 closed and locked, 1 fully open.
    fraction: f64,
    /// The way it went last; while neither end is reached, the way it goes.
    heading: Heading,
    /// An obstruction made it reopen, which it does all the way.
    reopening: bool,
    jammed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heading {
    Open,
    Closed,
}

/// What decides where a door goes in the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoorOrder {
    pub(crate) command: DoorCommand,
    pub(crate) obstruction: bool,
    /// The interlock releases the lock: the car is at rest in a floor zone (S1).
    pub(crate) may_open: bool,
}

impl Door {
    pub(crate) fn new(times: DoorTimes) -> Self {
        Self { times, fraction: 0.0, heading: Heading::Closed, reopening: false, jammed: false }
    }

    pub(crate) fn fraction(&self) -> f64 {
        self.fraction
    }

    pub(crate) fn state(&self) -> DoorState {
        match self.heading {
            Heading::Closed if self.fraction <= 0.0 => DoorState::Closed,
            Heading::Closed => DoorState::Closing,
            Heading::Open if self.fraction >= 1.0 => DoorState::Open,
            Heading::Open => DoorState::Opening,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state() == DoorState::Closed
    }

    pub(crate) fn set_jammed(&mut self, jammed: bool) {
        self.jammed = jammed;
    }

    pub(crate) fn is_jammed(&self) -> bool {
        self.jammed
    }

    /// Whether time changes anything under this order.
    pub(crate) fn is_at_rest(&self, order: DoorOrder) -> bool {
        let (heading, _) = self.heading_for(order);
        let arrived = match heading {
            Heading::Open => self.fraction >= 1.0,
            Heading::Closed => self.fraction <= 0.0,
        };
        heading == self.heading && (arrived || self.jammed)
    }

    pub(crate) fn advance(&mut self, by: Duration, order: DoorOrder) {
        let (heading, full_way) = self.heading_for(order);
        self.heading = heading;
        if !self.jammed {
            let way = by.as_secs_f64() / full_way.as_secs_f64();
            self.fraction = match heading {
                Heading::Open if self.fraction + way > 1.0 - ARRIVED => 1.0,
                Heading::Open => self.fraction + way,
                Heading::Closed if self.fraction - way < ARRIVED => 0.0,
                Heading::Closed => self.fraction - way,
            };
        }
        self.reopening =
            heading == Heading::Open && order.command == DoorCommand::Close && self.fraction < 1.0;
    }

    /// Where the door goes, and how long it takes there for its whole way.
    fn heading_for(&self, order: DoorOrder) -> (Heading, Duration) {
        let locked = self.is_closed() && !order.may_open;
        let held = order.obstruction || self.reopening;
        match order.command {
            DoorCommand::Open | DoorCommand::OpenRear if !locked => {
                (Heading::Open, self.times.opening)
            }
            DoorCommand::Close if held && !self.is_closed() => (Heading::Open, self.times.opening),
            DoorCommand::Nudge => (Heading::Closed, self.times.nudging),
            DoorCommand::Open | DoorCommand::OpenRear | DoorCommand::Close => {
                (Heading::Closed, self.times.closing)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: DoorOrder =
        DoorOrder { command: DoorCommand::Open, obstruction: false, may_open: true };
    const CLOSE: DoorOrder = DoorOrder { command: DoorCommand::Close, ..ORDER };

    fn after(door: &mut Door, milliseconds: u64, order: DoorOrder) -> DoorState {
        for _ in 0..milliseconds {
            door.advance(Duration::from_millis(1), order);
        }
        door.state()
    }

    fn open_door() -> Door {
        let mut door = Door::new(DoorTimes::default());
        assert_eq!(after(&mut door, 1510, ORDER), DoorState::Open);
        door
    }

    #[test]
    fn opens_and_closes_in_its_times() {
        let mut door = Door::new(DoorTimes::default());
        assert_eq!(door.state(), DoorState::Closed);
        assert_eq!(after(&mut door, 1499, ORDER), DoorState::Opening);
        assert_eq!(after(&mut door, 1, ORDER), DoorState::Open);
        assert_eq!(after(&mut door, 1499, CLOSE), DoorState::Closing);
        assert_eq!(after(&mut door, 1, CLOSE), DoorState::Closed);
        assert!(door.is_at_rest(CLOSE) && !door.is_at_rest(ORDER));
    }

    #[test]
    fn an_obstruction_reopens_a_closing_door_all_the_way_and_holds_it() {
        let mut door = open_door();
        after(&mut door, 700, CLOSE);
        let obstructed = DoorOrder { obstruction: true, ..CLOSE };
        assert_eq!(after(&mut door, 1, obstructed), DoorState::Opening);
        assert_eq!(after(&mut door, 1, CLOSE), DoorState::Opening);
        assert_eq!(after(&mut door, 3000, obstructed), DoorState::Open);
        assert_eq!(after(&mut door, 1, CLOSE), DoorState::Closing);
        assert_eq!(after(&mut door, 1510, CLOSE), DoorState::Closed);
        assert_eq!(after(&mut door, 3000, obstructed), DoorState::Closed);
    }

    #[test]
    fn nudging_closes_slowly_whatever_stands_in_the_door() {
        let mut door = open_door();
        let nudge = DoorOrder { command: DoorCommand::Nudge, obstruction: true, may_open: true };
        assert_eq!(after(&mut door, 3900, nudge), DoorState::Closing);
        assert_eq!(after(&mut door, 110, nudge), DoorState::Closed);
    }

    #[test]
    fn a_jammed_door_does_not_move() {
        let mut door = open_door();
        door.set_jammed(true);
        assert_eq!(after(&mut door, 9000, CLOSE), DoorState::Closing);
        assert!((door.fraction() - 1.0).abs() < 1e-9);
        door.set_jammed(false);
        assert_eq!(after(&mut door, 1510, CLOSE), DoorState::Closed);
    }
}
