//! The frames of both directions, and the bytes of their bodies.
//!
//! Numbers of more than one byte are big-endian. `NONE` (0xFF) means "no floor". A body may have
//! further bytes at its end, which a receiver that does not know them skips.

mod body;

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use crate::vocabulary::{
    Alarm, Button, Climate, Direction, Display, DoorCommand, Floor, FloorCount, HallLantern,
    Kiosks, MOST_TRIPS, MotorCommand, PanelInputs, Side, Trip,
};

use body::cut_name;
pub use body::{DISPLAY_BYTES, cut};

/// Names one run of either end, from its start to its end: drawn at random at each start.
pub type BootId = NonZeroU32;

/// Counts the presses of one run of a panel from 1, modulo 65,536.
pub type PressSequence = u16;

pub trait Frame: Sized {
    const KINDS: RangeInclusive<u8>;

    fn kind(&self) -> u8;

    fn encode_body(&self, bytes: &mut Vec<u8>);

    /// The frame of type `kind` with this body, or `None` where a value is impossible.
    fn decode_body(kind: u8, body: &[u8]) -> Option<Self>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControllerFrame {
    /// "Who are you?" The panel answers with its own `Hello` and everything it has to say.
    Hello {
        floors: FloorCount,
    },
    /// What moves, and what must never be stale. Feeds the panel's watchdog.
    Drive(Drive),
    Lamps(ButtonChunk),
    /// The text fields. A text longer than 32 bytes is cut at a character boundary.
    Display(Display),
    Kiosk(KioskSlot),
}

/// The body of [`ControllerFrame::Kiosk`]. Each frame says how many slots there are, so that the
/// panel knows which ones have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KioskSlot {
    pub count: u8,
    /// Which of them this is, from 0; 0 if there are none.
    pub slot: u8,
    /// The trip and the name of its car, cut at 16 bytes; `None` if the slot is empty.
    pub shown: Option<(Trip, String)>,
}

/// Which trip is shown in which slot. A trip keeps its slot, so that one that comes or goes changes
/// no other slot: a line takes seconds to send them all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KioskSlots(Vec<Option<(Trip, String)>>);

impl KioskSlots {
    /// Shows these trips, of which the first [`MOST_TRIPS`] in the shaft count. New ones take the
    /// lowest empty slots.
    pub fn show(&mut self, kiosks: &Kiosks, floors: FloorCount) {
        let trips = kiosks.iter().filter(|(trip, _)| floors.has_trip(**trip)).take(MOST_TRIPS);
        let mut trips: Kiosks =
            trips.map(|(trip, car)| (*trip, cut_name(car).to_owned())).collect();
        for slot in &mut self.0 {
            *slot = slot.take().and_then(|(trip, _)| trips.remove_entry(&trip));
        }
        let mut new = trips.into_iter();
        for slot in self.0.iter_mut().filter(|slot| slot.is_none()) {
            *slot = new.next();
        }
        self.0.extend(new.map(Some));
        let used = self.0.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.0.truncate(used);
    }

    pub fn frames(&self) -> impl Iterator<Item = KioskSlot> {
        let count = self.count();
        let slots = (0..).zip(&self.0);
        slots.map(move |(slot, shown)| KioskSlot { count, slot, shown: shown.clone() })
    }

    /// The frame that tells of the last slot, or that there are none.
    #[must_use]
    pub fn last(&self) -> KioskSlot {
        let none = KioskSlot { count: 0, slot: 0, shown: None };
        self.frames().last().unwrap_or(none)
    }

    fn count(&self) -> u8 {
        u8::try_from(self.0.len()).unwrap_or(u8::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drive {
    /// The last press that the controller has taken; it has every earlier one too.
    pub acknowledged: PressSequence,
    /// The drive command; repeated in every frame, so that a lost one does no harm.
    pub motor: MotorCommand,
    pub door: DoorCommand,
    pub indicator: Option<Floor>,
    pub lantern: HallLantern,
    pub stop_lamp: bool,
    pub alarm: Alarm,
    pub gong: Option<Direction>,
    pub light_off: bool,
}

impl Drive {
    /// Whether a shaft of this height has every floor that is named.
    #[must_use]
    pub fn fits(&self, floors: FloorCount) -> bool {
        let stop_at = match self.motor {
            MotorCommand::Run { stop_at, .. } => Some(stop_at),
            MotorCommand::Stop | MotorCommand::Home { .. } => None,
        };
        all_exist([stop_at, self.indicator], floors)
    }
}

/// Some of the order buttons of eight floors, or their lamps: bit *n* of each map is floor
/// `first + n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ButtonChunk {
    first: u8,
    /// Those of the hall-up buttons that are meant.
    pub up: u8,
    pub down: u8,
    pub car_call: u8,
    /// Those of rear entrances: up, down, car call.
    pub rear: [u8; 3],
}

impl ButtonChunk {
    pub const FLOORS: u8 = 8;

    #[must_use]
    pub fn count(floors: FloorCount) -> u8 {
        floors.get().div_ceil(Self::FLOORS)
    }

    /// Chunk number `index` (0 to 31) of `buttons`, without those that the shaft doesn't have.
    #[must_use]
    pub fn of(buttons: &BTreeSet<Button>, floors: FloorCount, index: u8) -> Self {
        let first = index.saturating_mul(Self::FLOORS);
        let mut chunk = Self { first, up: 0, down: 0, car_call: 0, rear: [0; 3] };
        for button in chunk.buttons(floors).filter(|button| buttons.contains(button)) {
            *chunk.map(button) |= 1 << (button.floor().index() - first);
        }
        chunk
    }

    /// The lowest floor of the chunk, a multiple of 8.
    #[must_use]
    pub fn first(self) -> u8 {
        self.first
    }

    /// Brings the buttons of these eight floors in line with the chunk; bits of those that the
    /// shaft doesn't have are ignored.
    pub fn apply(mut self, buttons: &mut BTreeSet<Button>, floors: FloorCount) {
        for button in self.buttons(floors) {
            if *self.map(button) & (1 << (button.floor().index() - self.first)) == 0 {
                buttons.remove(&button);
            } else {
                buttons.insert(button);
            }
        }
    }

    fn map(&mut self, button: Button) -> &mut u8 {
        let [rear_up, rear_down, rear_car_call] = &mut self.rear;
        match button {
            Button::Hall(_, Direction::Up) => &mut self.up,
            Button::Hall(_, Direction::Down) => &mut self.down,
            Button::Car(_) => &mut self.car_call,
            Button::RearHall(_, Direction::Up) => rear_up,
            Button::RearHall(_, Direction::Down) => rear_down,
            Button::RearCar(_) => rear_car_call,
        }
    }

    fn buttons(self, floors: FloorCount) -> impl Iterator<Item = Button> {
        let of_chunk = move |floor: u8| floor / Self::FLOORS == self.first / Self::FLOORS;
        let front = floors.buttons().filter(move |button| of_chunk(button.floor().index()));
        front.flat_map(|button| [button, button.at(Side::Rear)])
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelFrame {
    /// Who the panel is: at its start, and in answer to the controller's `Hello`.
    Hello {
        floors: FloorCount,
        /// The last press that a controller has acknowledged, 0 before the first.
        acknowledged: PressSequence,
        rear_door: bool,
    },
    Status(Status),
    /// A button was pressed; repeated until acknowledged, by its number in this run of the panel.
    Press {
        sequence: PressSequence,
        button: Named<Button>,
    },
    Climate(Climate),
    Stuck(ButtonChunk),
    /// A destination was given at a kiosk; counted and repeated as presses are.
    Request {
        sequence: PressSequence,
        trip: Named<Trip>,
    },
    /// The alarm button was pressed; counted and repeated as presses are.
    Alarm {
        sequence: PressSequence,
    },
}

/// The body of [`PanelFrame::Status`]: the inputs without the climate and stuck buttons, which are
/// sent separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status(PanelInputs);

impl Status {
    #[must_use]
    pub fn of(inputs: &PanelInputs) -> Self {
        let (climate, stuck) = (Climate::default(), BTreeSet::new());
        Self(PanelInputs { climate, stuck, ..*inputs })
    }

    /// Whether a shaft of this height has every floor that is named.
    #[must_use]
    pub fn fits(&self, floors: FloorCount) -> bool {
        all_exist([self.0.floor, self.0.next_stop], floors)
    }

    /// The inputs, with the climate and stuck buttons of those before.
    #[must_use]
    pub fn inputs(self, before: PanelInputs) -> PanelInputs {
        PanelInputs { climate: before.climate, stuck: before.stuck, ..self.0 }
    }
}

/// What a press or a request names, or its two bytes if no shaft has that. The panel repeats such a
/// frame as any other, so its number has to be acknowledged all the same.
pub type Named<T> = Result<T, [u8; 2]>;

fn all_exist(named: [Option<Floor>; 2], floors: FloorCount) -> bool {
    named.into_iter().flatten().all(|floor| floors.contains(floor))
}
