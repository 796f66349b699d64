//! The bytes of the bodies.

use std::ops::RangeInclusive;

use super::{ButtonChunk, ControllerFrame, Drive, Frame, KioskSlot, Named, PanelFrame, Status};
use crate::vocabulary::{
    Alarm, Button, Climate, Direction, Display, DoorButtons, DoorCommand, DoorState, DriveFeedback,
    Floor, FloorCount, HallLantern, KeySwitch, MOST_TRIPS, MotorCommand, PanelInputs, Side, Trip,
};

/// The longest text of each field of a [`Display`] on the wire, in bytes.
pub const DISPLAY_BYTES: usize = 32;

/// The longest name of a car in a [`KioskSlot`], in bytes.
const NAME_BYTES: usize = 16;

/// "No floor".
const NONE: u8 = 0xFF;

// The code of a value is its place in its table, which for keys is `KeySwitch::ALL`.
const FLAGS: [bool; 2] = [false, true];
const DOOR_COMMANDS: [DoorCommand; 4] =
    [DoorCommand::Close, DoorCommand::Open, DoorCommand::Nudge, DoorCommand::OpenRear];
const DOORS: [(DoorState, Side); 7] = [
    (DoorState::Closed, Side::Front),
    (DoorState::Opening, Side::Front),
    (DoorState::Open, Side::Front),
    (DoorState::Closing, Side::Front),
    (DoorState::Opening, Side::Rear),
    (DoorState::Open, Side::Rear),
    (DoorState::Closing, Side::Rear),
];
const LANTERNS: [HallLantern; 3] =
    [HallLantern::Dark, HallLantern::Lit(Direction::Up), HallLantern::Lit(Direction::Down)];
const ALARMS: [Alarm; 3] = [Alarm::Off, Alarm::Sent, Alarm::Acknowledged];
const GONGS: [Option<Direction>; 3] = [None, Some(Direction::Up), Some(Direction::Down)];
const DRIVES: [DriveFeedback; 3] = [
    DriveFeedback::Stopped,
    DriveFeedback::Driven(Direction::Up),
    DriveFeedback::Driven(Direction::Down),
];

const HELLO: u8 = 0x01;
const DRIVE: u8 = 0x02;
const LAMPS: u8 = 0x03;
const DISPLAY: u8 = 0x04;
const KIOSK: u8 = 0x05;

const PANEL_HELLO: u8 = 0x81;
const STATUS: u8 = 0x82;
const PRESS: u8 = 0x83;
const CLIMATE: u8 = 0x84;
const STUCK: u8 = 0x85;
const REQUEST: u8 = 0x86;
const ALARM: u8 = 0x87;

// The bits of the door buttons.
const OPEN_BUTTON: u8 = 1;
const CLOSE_BUTTON: u8 = 2;
const OPEN_REAR_BUTTON: u8 = 4;

impl Frame for ControllerFrame {
    const KINDS: RangeInclusive<u8> = HELLO..=KIOSK;

    fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => HELLO,
            Self::Drive(_) => DRIVE,
            Self::Lamps(_) => LAMPS,
            Self::Display(_) => DISPLAY,
            Self::Kiosk(_) => KIOSK,
        }
    }

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Hello { floors } => bytes.push(floors.get()),
            Self::Drive(drive) => encode_drive(drive, bytes),
            Self::Lamps(chunk) => encode_chunk(*chunk, bytes),
            Self::Display(display) => {
                bytes.extend_from_slice(&optional(display.brightness));
                for text in [&display.position, &display.text].map(|text| cut(text)) {
                    bytes.extend(u8::try_from(text.len()));
                    bytes.extend_from_slice(text.as_bytes());
                }
            }
            Self::Kiosk(slot) => encode_kiosk(slot, bytes),
        }
    }

    fn decode_body(kind: u8, body: &[u8]) -> Option<Self> {
        let mut body = Body(body);
        Some(match kind {
            HELLO => Self::Hello { floors: FloorCount::new(body.byte()?)? },
            DRIVE => Self::Drive(decode_drive(&mut body)?),
            LAMPS => Self::Lamps(decode_chunk(&mut body)?),
            DISPLAY => Self::Display(Display {
                brightness: body.optional()?,
                position: body.text(DISPLAY_BYTES)?,
                text: body.text(DISPLAY_BYTES)?,
            }),
            KIOSK => Self::Kiosk(decode_kiosk(&mut body)?),
            _ => return None,
        })
    }
}

impl Frame for PanelFrame {
    const KINDS: RangeInclusive<u8> = PANEL_HELLO..=ALARM;

    fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => PANEL_HELLO,
            Self::Status(_) => STATUS,
            Self::Press { .. } => PRESS,
            Self::Climate(_) => CLIMATE,
            Self::Stuck(_) => STUCK,
            Self::Request { .. } => REQUEST,
            Self::Alarm { .. } => ALARM,
        }
    }

    fn encode_body(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Hello { floors, acknowledged, rear_door } => {
                bytes.push(floors.get());
                bytes.extend_from_slice(&acknowledged.to_be_bytes());
                bytes.extend(rear_door.then_some(1));
            }
            Self::Status(status) => encode_status(status, bytes),
            Self::Press { sequence, button } => {
                bytes.extend_from_slice(&sequence.to_be_bytes());
                bytes.extend_from_slice(&button.map_or_else(|raw| raw, button_bytes));
            }
            Self::Climate(climate) => {
                let temperature = climate.temperature.map(i8::cast_unsigned);
                bytes.extend_from_slice(&optional(temperature));
                bytes.extend_from_slice(&optional(climate.illuminance));
            }
            Self::Stuck(chunk) => encode_chunk(*chunk, bytes),
            Self::Request { sequence, trip } => {
                bytes.extend_from_slice(&sequence.to_be_bytes());
                bytes.extend_from_slice(&trip.map_or_else(|raw| raw, trip_bytes));
            }
            Self::Alarm { sequence } => bytes.extend_from_slice(&sequence.to_be_bytes()),
        }
    }

    fn decode_body(kind: u8, body: &[u8]) -> Option<Self> {
        let mut body = Body(body);
        Some(match kind {
            PANEL_HELLO => Self::Hello {
                floors: FloorCount::new(body.byte()?)?,
                acknowledged: body.number()?,
                rear_door: *FLAGS.get(usize::from(body.byte().unwrap_or(0)))?,
            },
            STATUS => Self::Status(decode_status(&mut body)?),
            PRESS => Self::Press { sequence: body.number()?, button: body.named(button_of)? },
            CLIMATE => Self::Climate(Climate {
                temperature: body.optional()?.map(u8::cast_signed),
                illuminance: body.optional()?,
            }),
            STUCK => Self::Stuck(decode_chunk(&mut body)?),
            REQUEST => Self::Request { sequence: body.number()?, trip: body.named(trip_of)? },
            ALARM => Self::Alarm { sequence: body.number()? },
            _ => return None,
        })
    }
}

/// As much of a text as a field of a [`Display`] frame can carry: 32 bytes, cut at a character
/// boundary.
#[must_use]
pub fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(DISPLAY_BYTES)]
}

/// As much of a car's name as a [`KioskSlot`] frame can carry.
pub(super) fn cut_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES)]
}

fn button_bytes(button: Button) -> [u8; 2] {
    let kind = match button {
        Button::Hall(_, Direction::Up) => 0,
        Button::Hall(_, Direction::Down) => 1,
        Button::Car(_) => 2,
        Button::RearHall(_, Direction::Up) => 3,
        Button::RearHall(_, Direction::Down) => 4,
        Button::RearCar(_) => 5,
    };
    [kind, button.floor().index()]
}

fn button_of([kind, floor]: [u8; 2]) -> Option<Button> {
    let floor = Floor::try_from(floor).ok()?;
    match kind {
        0 => Some(Button::Hall(floor, Direction::Up)),
        1 => Some(Button::Hall(floor, Direction::Down)),
        2 => Some(Button::Car(floor)),
        3 => Some(Button::RearHall(floor, Direction::Up)),
        4 => Some(Button::RearHall(floor, Direction::Down)),
        5 => Some(Button::RearCar(floor)),
        _ => None,
    }
}

fn trip_bytes(trip: Trip) -> [u8; 2] {
    [trip.from().index(), trip.to().index()]
}

fn trip_of([from, to]: [u8; 2]) -> Option<Trip> {
    Trip::new(Floor::try_from(from).ok()?, Floor::try_from(to).ok()?)
}

fn encode_kiosk(slot: &KioskSlot, bytes: &mut Vec<u8>) {
    let (trip, name) = match &slot.shown {
        Some((trip, name)) => (Some(*trip), cut_name(name)),
        None => (None, ""),
    };
    let [from, to] = [trip.map(Trip::from), trip.map(Trip::to)].map(floor_byte);
    bytes.extend_from_slice(&[slot.count, slot.slot, from, to]);
    bytes.extend(u8::try_from(name.len()));
    bytes.extend_from_slice(name.as_bytes());
}

fn decode_kiosk(body: &mut Body<'_>) -> Option<KioskSlot> {
    let (count, slot) = (body.byte()?, body.byte()?);
    let (from, to) = (body.optional_floor()?, body.optional_floor()?);
    let name = body.text(NAME_BYTES)?;
    let shown = match (from, to) {
        (Some(from), Some(to)) => Some((Trip::new(from, to)?, name)),
        (None, None) if name.is_empty() => None,
        (Some(_) | None, _) => return None,
    };
    let is_none = (count, slot) == (0, 0) && shown.is_none();
    let is_sound = is_none || (slot < count && usize::from(count) <= MOST_TRIPS);
    is_sound.then_some(KioskSlot { count, slot, shown })
}

fn encode_drive(drive: &Drive, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&drive.acknowledged.to_be_bytes());
    let (motor, stop_at) = match drive.motor {
        MotorCommand::Stop => (0, None),
        MotorCommand::Run { direction: Direction::Up, stop_at } => (1, Some(stop_at)),
        MotorCommand::Run { direction: Direction::Down, stop_at } => (2, Some(stop_at)),
        MotorCommand::Home { direction: Direction::Up } => (3, None),
        MotorCommand::Home { direction: Direction::Down } => (4, None),
    };
    bytes.extend_from_slice(&[
        motor,
        floor_byte(stop_at),
        code_of(drive.door, &DOOR_COMMANDS),
        floor_byte(drive.indicator),
        code_of(drive.lantern, &LANTERNS),
        u8::from(drive.stop_lamp),
        code_of(drive.alarm, &ALARMS),
        code_of(drive.gong, &GONGS),
        u8::from(drive.light_off),
    ]);
}

fn decode_drive(body: &mut Body<'_>) -> Option<Drive> {
    Some(Drive {
        acknowledged: body.number()?,
        motor: match (body.byte()?, body.optional_floor()?) {
            (0, None) => MotorCommand::Stop,
            (1, Some(stop_at)) => MotorCommand::Run { direction: Direction::Up, stop_at },
            (2, Some(stop_at)) => MotorCommand::Run { direction: Direction::Down, stop_at },
            (3, None) => MotorCommand::Home { direction: Direction::Up },
            (4, None) => MotorCommand::Home { direction: Direction::Down },
            _ => return None,
        },
        door: body.one_of(&DOOR_COMMANDS)?,
        indicator: body.optional_floor()?,
        lantern: body.one_of(&LANTERNS)?,
        stop_lamp: body.one_of(&FLAGS)?,
        alarm: body.one_of(&ALARMS)?,
        gong: body.one_of(&GONGS)?,
        light_off: body.one_of(&FLAGS)?,
    })
}

fn encode_status(Status(status): &Status, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[
        floor_byte(status.floor),
        floor_byte(status.next_stop),
        code_of(status.drive, &DRIVES),
        code_of((status.door, status.side), &DOORS),
        u8::from(status.stop),
        u8::from(status.obstruction),
    ]);
    bytes.extend_from_slice(&optional(status.load));
    bytes.push(code_of(status.key, &KeySwitch::ALL));
    bytes.extend_from_slice(&optional(status.door_buttons.map(|pressed| {
        u8::from(pressed.open) * OPEN_BUTTON
            + u8::from(pressed.close) * CLOSE_BUTTON
            + u8::from(pressed.open_rear) * OPEN_REAR_BUTTON
    })));
}

fn decode_status(body: &mut Body<'_>) -> Option<Status> {
    let (floor, next_stop) = (body.optional_floor()?, body.optional_floor()?);
    let drive = body.one_of(&DRIVES)?;
    let (door, side) = body.one_of(&DOORS)?;
    Some(Status(PanelInputs {
        floor,
        next_stop,
        drive,
        door,
        side,
        stop: body.one_of(&FLAGS)?,
        obstruction: body.one_of(&FLAGS)?,
        load: body.optional()?,
        key: body.one_of(&KeySwitch::ALL)?,
        door_buttons: match body.optional()? {
            None => None,
            Some(bits) if bits > OPEN_BUTTON + CLOSE_BUTTON + OPEN_REAR_BUTTON => return None,
            Some(bits) => Some(DoorButtons {
                open: bits & OPEN_BUTTON != 0,
                close: bits & CLOSE_BUTTON != 0,
                open_rear: bits & OPEN_REAR_BUTTON != 0,
            }),
        },
        ..PanelInputs::default()
    }))
}

fn encode_chunk(chunk: ButtonChunk, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[chunk.first, chunk.up, chunk.down, chunk.car_call]);
    if chunk.rear != [0; 3] {
        bytes.extend_from_slice(&chunk.rear);
    }
}

fn decode_chunk(body: &mut Body<'_>) -> Option<ButtonChunk> {
    Some(ButtonChunk {
        first: body.byte().filter(|first| first.is_multiple_of(ButtonChunk::FLOORS))?,
        up: body.byte()?,
        down: body.byte()?,
        car_call: body.byte()?,
        rear: body.chunk().unwrap_or_default(),
    })
}

/// The place of a value in a table that has every value of its type.
fn code_of<T: Copy + PartialEq>(value: T, table: &[T]) -> u8 {
    (0..).zip(table).find(|(_, known)| **known == value).map_or(NONE, |(code, _)| code)
}

fn floor_byte(floor: Option<Floor>) -> u8 {
    floor.map_or(NONE, Floor::index)
}

/// A known value is `1 value`, an unknown one `0 0`.
fn optional(value: Option<u8>) -> [u8; 2] {
    value.map_or([0, 0], |value| [1, value])
}

/// What is still to be read of a body.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn byte(&mut self) -> Option<u8> {
        self.chunk::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u16> {
        self.chunk().map(u16::from_be_bytes)
    }

    /// The value whose code is the next byte.
    fn one_of<T: Copy>(&mut self, table: &[T]) -> Option<T> {
        table.get(usize::from(self.byte()?)).copied()
    }

    /// The outer `None` is an impossible value, the inner one an unknown value.
    #[allow(
        clippy::option_option,
        reason = "an impossible value and an unknown one are different answers"
    )]
    fn optional(&mut self) -> Option<Option<u8>> {
        match self.chunk()? {
            [0, 0] => Some(None),
            [1, value] => Some(Some(value)),
            _ => None,
        }
    }

    fn named<T>(&mut self, named: impl Fn([u8; 2]) -> Option<T>) -> Option<Named<T>> {
        let raw = self.chunk()?;
        Some(named(raw).ok_or(raw))
    }

    #[allow(
        clippy::option_option,
        reason = "an impossible value and an unknown one are different answers"
    )]
    fn optional_floor(&mut self) -> Option<Option<Floor>> {
        match self.byte()? {
            NONE => Some(None),
            index => Floor::try_from(index).ok().map(Some),
        }
    }

    fn text(&mut self, most: usize) -> Option<String> {
        let length = usize::from(self.byte()?);
        if length > most {
            return None;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
}
