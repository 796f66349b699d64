//! The server side of the elevator-server protocol: messages of four bytes, some with a reply of
//! four bytes. `docs/ELEVATOR-SERVER.md` has them.
//!
//! A reload of the configuration is ignored. Where this server is kinder than others: a floor,
//! button or message that does not exist is ignored (a poll of one reads 0), requests may come in
//! any pieces, and a second client is refused by closing its connection at once. A client that
//! has not polled for the watchdog time gives way to a new one.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, Direction, FloorCount};

use crate::car::SimulatedCar;

pub(crate) mod line;
#[cfg(test)]
mod tests;

pub(crate) const MESSAGE: usize = 4;

/// For how long a pressed button reads as pressed at least.
const PRESSED: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(crate) struct Framing {
    begun: Vec<u8>,
}

impl Framing {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<[u8; MESSAGE]> {
        self.begun.extend_from_slice(bytes);
        let (messages, rest) = self.begun.as_chunks::<MESSAGE>();
        let (messages, rest) = (messages.to_vec(), rest.to_vec());
        self.begun = rest;
        messages
    }
}

pub(crate) fn is_poll(message: [u8; MESSAGE]) -> bool {
    (6..=9).contains(&message[0])
}

/// Executes a message on the car; returns the reply, if it has one.
pub(crate) fn answer(
    message: [u8; MESSAGE],
    car: &mut SimulatedCar,
    latches: &mut Latches,
    now: Duration,
) -> Option<[u8; MESSAGE]> {
    let [operation, first, second, third] = message;
    let poll = |one: u8, two: u8| Some([operation, one, two, 0]);
    match operation {
        1 => {
            car.set_motor(match first {
                0 => None,
                1..=127 => Some(Direction::Up),
                128..=255 => Some(Direction::Down),
            });
            None
        }
        2 => {
            if let Some(button) = button(car.floors(), first, second) {
                car.set_order_lamp(button, third != 0);
            }
            None
        }
        3 => {
            if let Some(floor) = car.floors().floor(first) {
                car.set_indicator(floor);
            }
            None
        }
        4 => {
            car.set_door_lamp(first != 0);
            None
        }
        5 => {
            car.set_stop_lamp(first != 0);
            None
        }
        6 => {
            let pressed = button(car.floors(), first, second).is_some_and(|button| {
                // Both are asked: a poll of a stuck button is a poll of its presses too.
                latches.poll(button, now) | car.stuck_buttons().any(|stuck| stuck == button)
            });
            poll(u8::from(pressed), 0)
        }
        7 => match car.inputs().floor {
            Some(floor) => poll(1, floor.index()),
            None => poll(0, 0),
        },
        8 => poll(u8::from(car.inputs().stop), 0),
        9 => poll(u8::from(car.inputs().obstruction), 0),
        _ => None,
    }
}

fn button(floors: FloorCount, kind: u8, floor: u8) -> Option<Button> {
    let floor = floors.floor(floor)?;
    let button = match kind {
        0 => Button::Hall(floor, Direction::Up),
        1 => Button::Hall(floor, Direction::Down),
        2 => Button::Car(floor),
        _ => return None,
    };
    floors.has_button(button).then_some(button)
}

/// Presses, stretched so that a client that polls and looks for rising edges sees every one.
#[derive(Debug, Default)]
pub(crate) struct Latches(BTreeMap<Button, Latch>);

#[derive(Debug)]
struct Latch {
    since: Duration,
    polled: bool,
    /// Pressed again since a poll saw it: due once a poll has seen it released.
    again: bool,
}

impl Latch {
    fn new(since: Duration) -> Self {
        Self { since, polled: false, again: false }
    }
}

impl Latches {
    /// A press. A further one before any poll is the same press.
    pub(crate) fn press(&mut self, button: Button, now: Duration) {
        let latch = self.0.entry(button).or_insert_with(|| Latch::new(now));
        latch.again |= latch.polled;
    }

    /// Whether the button reads as pressed: until it was polled once, and for 100 ms at least.
    pub(crate) fn poll(&mut self, button: Button, now: Duration) -> bool {
        let Some(latch) = self.0.get_mut(&button) else {
            return false;
        };
        if !latch.polled || now < latch.since + PRESSED {
            latch.polled = true;
            return true;
        }
        if latch.again {
            *latch = Latch::new(now);
        } else {
            self.0.remove(&button);
        }
        false
    }
}
