//! Where a PLC has which value: the tables of `docs/MODBUS.md`.

use std::collections::BTreeSet;

use super::wire::{DISCRETE_INPUT, Fault, INPUT_REGISTER, Span};
use crate::vocabulary::{
    Alarm, Button, Climate, Direction, DoorButtons, DoorCommand, DoorState, DriveFeedback, Floor,
    FloorCount, HallLantern, KeySwitch, MotorCommand, PanelInputs, PanelOutputs,
};

/// Bits of the car come first, then these many of each floor, from the bottom up.
const CAR_BITS: u16 = 16;
const FLOOR_BITS: u16 = 6;

// Coils of the car, and of a floor. Those of the buttons are in the order of `buttons_of`.
const MOTOR_UP: usize = 0;
const MOTOR_DOWN: usize = 1;
const HOMING: usize = 2;
const DOOR_OPEN: usize = 3;
const DOOR_NUDGE: usize = 4;
const STOP_LAMP: usize = 5;
const LANTERN_UP: usize = 6;
const LANTERN_DOWN: usize = 7;
const GONG_UP: usize = 8;
const GONG_DOWN: usize = 9;
const ALARM_SENT: usize = 10;
const ALARM_ANSWERED: usize = 11;
const LIGHT_OFF: usize = 12;
const ALARM_ACKNOWLEDGED: usize = 13;
const LAMPS: u16 = 0;
const ACKNOWLEDGEMENTS: u16 = 3;

// Discrete inputs of the car, and of a floor.
const DOOR_IS_CLOSED: u16 = 0;
const DOOR_IS_OPEN: u16 = 1;
const MOVES_UP: u16 = 2;
const MOVES_DOWN: u16 = 3;
const STOP_SWITCH: u16 = 4;
const OBSTRUCTION: u16 = 5;
const DOOR_OPEN_BUTTON: u16 = 8;
const DOOR_CLOSE_BUTTON: u16 = 9;
const ALARM: u16 = 10;
const HAS_DOOR_BUTTONS: u16 = 11;
const PRESSES: u16 = 0;
const FLOOR_SENSOR: u16 = 3;

// Input registers.
pub(super) const ECHO: usize = 0;
const NEXT_STOP: usize = 1;
const LOAD: usize = 2;
const KEY: usize = 3;
const TEMPERATURE: usize = 4;
const ILLUMINANCE: usize = 5;
pub(super) type Words = [u16; 6];

/// Holding registers: the heartbeat with the indicator behind it, and the stop floor.
pub(super) const HEARTBEAT: u16 = 0;
pub(super) const STOP_AT: u16 = 2;

/// How many coils, and how many discrete inputs, a PLC has.
pub(super) fn bits(floors: FloorCount) -> u16 {
    CAR_BITS + FLOOR_BITS * u16::from(floors.get())
}

/// The address of a bit of a floor.
fn bit_of(floor: Floor, bit: u16) -> u16 {
    CAR_BITS + FLOOR_BITS * u16::from(floor.index()) + bit
}

/// The buttons that have bits, whether the shaft has them or not, with the address of each if `bit`
/// is the first of the floor's three.
fn buttons(floors: FloorCount, bit: u16) -> impl Iterator<Item = (u16, Button)> {
    floors.floors().flat_map(move |floor| (bit_of(floor, bit)..).zip(buttons_of(floor)))
}

fn buttons_of(floor: Floor) -> [Button; 3] {
    [Button::Hall(floor, Direction::Up), Button::Hall(floor, Direction::Down), Button::Car(floor)]
}

/// The presses that were reported and that the PLC still shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Acknowledged {
    /// Also of buttons that the shaft doesn't have.
    pub(super) calls: BTreeSet<Button>,
    pub(super) alarm: bool,
}

/// All coils. Motor and door are what [`interlock`](crate::interlock) permits.
pub(super) fn coils(
    floors: FloorCount,
    outputs: &PanelOutputs,
    motor: MotorCommand,
    door: DoorCommand,
    acknowledged: &Acknowledged,
) -> Vec<bool> {
    let mut coils = vec![false; usize::from(bits(floors))];
    coils[MOTOR_UP] = motor.direction() == Some(Direction::Up);
    coils[MOTOR_DOWN] = motor.direction() == Some(Direction::Down);
    coils[HOMING] = matches!(motor, MotorCommand::Home { .. });
    coils[DOOR_OPEN] = door == DoorCommand::Open;
    coils[DOOR_NUDGE] = door == DoorCommand::Nudge;
    coils[STOP_LAMP] = outputs.lamps.stop;
    coils[LANTERN_UP] = outputs.lantern == HallLantern::Lit(Direction::Up);
    coils[LANTERN_DOWN] = outputs.lantern == HallLantern::Lit(Direction::Down);
    coils[GONG_UP] = outputs.gong == Some(Direction::Up);
    coils[GONG_DOWN] = outputs.gong == Some(Direction::Down);
    coils[ALARM_SENT] = outputs.alarm == Alarm::Sent;
    coils[ALARM_ANSWERED] = outputs.alarm == Alarm::Acknowledged;
    coils[LIGHT_OFF] = outputs.light_off;
    coils[ALARM_ACKNOWLEDGED] = acknowledged.alarm;
    for (set, bit) in [(&outputs.lamps.orders, LAMPS), (&acknowledged.calls, ACKNOWLEDGEMENTS)] {
        for (at, button) in buttons(floors, bit) {
            coils[usize::from(at)] = set.contains(&button);
        }
    }
    coils
}

/// Switches the motor off, and nothing else.
pub(super) fn stop_motor(coils: &mut [bool]) {
    for coil in [MOTOR_UP, MOTOR_DOWN, HOMING] {
        coils[coil] = false;
    }
}

/// Registers count floors from 1 at the bottom; 0 is none.
pub(super) fn number(floor: Option<Floor>) -> u16 {
    floor.map_or(0, |floor| u16::from(floor.index()) + 1)
}

/// What a PLC says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) inputs: PanelInputs,
    /// The presses that wait to be acknowledged.
    pub(super) presses: Acknowledged,
}

/// Reads the input registers and all discrete inputs. A door between its two limit switches moves as
/// it was commanded.
pub(super) fn read(
    floors: FloorCount,
    words: &Words,
    bits: &[bool],
    door: DoorCommand,
) -> Result<Seen, Fault> {
    let is_on = |at: u16| bits.get(usize::from(at)).copied().unwrap_or_default();
    let exclude = |first, second, what: &str| {
        if is_on(first) && is_on(second) {
            let at = Span(DISCRETE_INPUT, second, 1);
            return Err(Fault::Impossible(at, format!("on together with {first}: {what}")));
        }
        Ok(())
    };
    exclude(DOOR_IS_CLOSED, DOOR_IS_OPEN, "the door is closed and open")?;
    exclude(MOVES_UP, MOVES_DOWN, "the car moves both ways")?;
    let mut at_floors = floors.floors().filter(|&floor| is_on(bit_of(floor, FLOOR_SENSOR)));
    let floor = at_floors.next();
    if let (Some(one), Some(other)) = (floor, at_floors.next()) {
        let [one, other] = [one, other].map(|floor| bit_of(floor, FLOOR_SENSOR));
        exclude(one, other, "the car is at two floors")?;
    }
    let drive = if is_on(MOVES_UP) {
        DriveFeedback::Driven(Direction::Up)
    } else if is_on(MOVES_DOWN) {
        DriveFeedback::Driven(Direction::Down)
    } else {
        DriveFeedback::Stopped
    };
    let door = match (is_on(DOOR_IS_CLOSED), is_on(DOOR_IS_OPEN), door) {
        (true, _, _) => DoorState::Closed,
        (false, true, _) => DoorState::Open,
        (false, false, DoorCommand::Open) => DoorState::Opening,
        (false, false, DoorCommand::Close | DoorCommand::Nudge | DoorCommand::OpenRear) => {
            DoorState::Closing
        }
    };
    let impossible = |at: usize, what: &str| {
        let place = Span(INPUT_REGISTER, u16::try_from(at).unwrap_or(u16::MAX), 1);
        Fault::Impossible(place, format!("{} is not {what}", words[at]))
    };
    let next_stop = floors.floors().find(|&floor| number(Some(floor)) == words[NEXT_STOP]);
    if next_stop.is_none() && words[NEXT_STOP] != 0 {
        return Err(impossible(NEXT_STOP, "a floor of this shaft"));
    }
    let key = KeySwitch::ALL.get(usize::from(words[KEY])).copied();
    let inputs = PanelInputs {
        floor,
        next_stop,
        drive,
        door,
        stop: is_on(STOP_SWITCH),
        obstruction: is_on(OBSTRUCTION),
        load: u8::try_from(words[LOAD]).ok(),
        key: key.ok_or_else(|| impossible(KEY, "a position of the key switch"))?,
        door_buttons: is_on(HAS_DOOR_BUTTONS).then(|| DoorButtons {
            open: is_on(DOOR_OPEN_BUTTON),
            close: is_on(DOOR_CLOSE_BUTTON),
            open_rear: false,
        }),
        climate: Climate {
            temperature: i8::try_from(words[TEMPERATURE].cast_signed()).ok(),
            illuminance: u8::try_from(words[ILLUMINANCE]).ok(),
        },
        ..PanelInputs::default()
    };
    let calls = buttons(floors, PRESSES).filter(|&(at, _)| is_on(at)).map(|(_, button)| button);
    let presses = Acknowledged { calls: calls.collect(), alarm: is_on(ALARM) };
    Ok(Seen { inputs, presses })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, floor};

    fn floors() -> FloorCount {
        testing::floors(4)
    }

    /// The addresses of the coils that are on.
    fn on(outputs: &PanelOutputs, acknowledged: &[Button]) -> Vec<usize> {
        let calls = acknowledged.iter().copied().collect();
        let acknowledged = Acknowledged { calls, alarm: !acknowledged.is_empty() };
        let coils = coils(floors(), outputs, outputs.motor, outputs.door, &acknowledged);
        assert_eq!(coils.len(), 40);
        coils.iter().enumerate().filter(|(_, on)| **on).map(|(at, _)| at).collect()
    }

    #[test]
    fn each_output_has_its_coil() {
        let motor = |motor| PanelOutputs { motor, ..PanelOutputs::default() };
        let door = |door| PanelOutputs { door, ..PanelOutputs::default() };
        let lantern = |direction| PanelOutputs {
            lantern: HallLantern::Lit(direction),
            ..PanelOutputs::default()
        };
        let mut lamps = PanelOutputs::default();
        lamps.lamps.stop = true;
        let third = buttons_of(floor(2));
        lamps.lamps.orders = third.into();
        let cases = [
            (PanelOutputs::default(), vec![]),
            (testing::run(Direction::Up, 3), vec![0]),
            (testing::run(Direction::Down, 0), vec![1]),
            (motor(MotorCommand::Home { direction: Direction::Up }), vec![0, 2]),
            (motor(MotorCommand::Home { direction: Direction::Down }), vec![1, 2]),
            (door(DoorCommand::Open), vec![3]),
            (door(DoorCommand::Nudge), vec![4]),
            (lantern(Direction::Up), vec![6]),
            (lantern(Direction::Down), vec![7]),
            (lamps, vec![5, 28, 29, 30]),
            (PanelOutputs { gong: Some(Direction::Up), ..PanelOutputs::default() }, vec![8]),
            (PanelOutputs { gong: Some(Direction::Down), ..PanelOutputs::default() }, vec![9]),
            (PanelOutputs { alarm: Alarm::Sent, ..PanelOutputs::default() }, vec![10]),
            (PanelOutputs { alarm: Alarm::Acknowledged, ..PanelOutputs::default() }, vec![11]),
            (PanelOutputs { light_off: true, ..PanelOutputs::default() }, vec![12]),
        ];
        for (outputs, expected) in cases {
            assert_eq!(on(&outputs, &[]), expected, "{outputs:?}");
        }
        assert_eq!(on(&PanelOutputs::default(), &third), [13, 31, 32, 33]);
        assert_eq!([Some(floor(3)), None].map(number), [4, 0]);
    }

    fn seen(words: Words, on: &[usize], door: DoorCommand) -> Result<Seen, String> {
        let mut bits = vec![false; 40];
        for &at in on {
            bits[at] = true;
        }
        read(floors(), &words, &bits, door).map_err(|fault| fault.to_string())
    }

    const ZEROS: Words = [0; 6];

    #[test]
    fn each_input_has_its_address() {
        let close = DoorCommand::Close;
        let inputs = |on: &[usize]| seen([9, 2, 40, 1, 0xFFFB, 200], on, close).unwrap().inputs;
        let resting = PanelInputs {
            next_stop: Some(floor(1)),
            load: Some(40),
            key: KeySwitch::Independent,
            climate: Climate { temperature: Some(-5), illuminance: Some(200) },
            ..PanelInputs::default()
        };
        let up = DriveFeedback::Driven(Direction::Up);
        let down = DriveFeedback::Driven(Direction::Down);
        let at_top = PanelInputs { floor: Some(floor(3)), ..resting.clone() };
        assert_eq!(inputs(&[0]), resting);
        assert_eq!(inputs(&[0, 37]), at_top);
        assert_eq!(inputs(&[0, 2]), PanelInputs { drive: up, ..resting.clone() });
        assert_eq!(inputs(&[0, 3]), PanelInputs { drive: down, ..resting.clone() });
        assert_eq!(
            inputs(&[1, 4, 5]),
            PanelInputs { door: DoorState::Open, stop: true, obstruction: true, ..resting }
        );
        for (on, open, close) in [([0, 8, 11], true, false), ([0, 9, 11], false, true)] {
            assert_eq!(
                inputs(&on).door_buttons,
                Some(DoorButtons { open, close, open_rear: false })
            );
        }
        for (command, door) in [
            (DoorCommand::Open, DoorState::Opening),
            (DoorCommand::Close, DoorState::Closing),
            (DoorCommand::Nudge, DoorState::Closing),
        ] {
            assert_eq!(seen(ZEROS, &[], command).unwrap().inputs.door, door);
        }
        let none = seen([0, 0, 0xFFFF, 0, 0x7FFF, 0x7FFF], &[], close).unwrap().inputs;
        assert_eq!((none.load, none.climate), (None, Climate::default()));
        let second = buttons_of(floor(1));
        let presses = seen(ZEROS, &[10, 22, 24], close).unwrap().presses;
        let calls = [second[0], second[2]].into();
        assert_eq!(presses, Acknowledged { calls, alarm: true });
    }

    #[test]
    fn the_addresses_are_those_of_the_document() {
        let document = include_str!("../../../docs/MODBUS.md");
        let three = |bit: u16| format!("B+{bit}, B+{}, B+{}", bit + 1, bit + 2);
        for row in [
            format!("`B = {CAR_BITS} + {FLOOR_BITS} × floor`"),
            format!("| {MOTOR_UP}, {MOTOR_DOWN} | motor up, down"),
            format!("| {HOMING} | homing"),
            format!("| {DOOR_OPEN}, {DOOR_NUDGE} | door open; close slowly"),
            format!("| {STOP_LAMP} | lamp of the stop switch"),
            format!("| {LANTERN_UP}, {LANTERN_DOWN} | lantern up, down"),
            format!("| {GONG_UP}, {GONG_DOWN} | gong: once for up, twice for down"),
            format!("| {ALARM_SENT}, {ALARM_ANSWERED}, {LIGHT_OFF} | an alarm was sent;"),
            format!("| {ALARM_ACKNOWLEDGED} | acknowledged: the press of the alarm"),
            format!("| {} | lamp of hall up, hall down, car", three(LAMPS)),
            format!("| {} | acknowledged: the press of hall up", three(ACKNOWLEDGEMENTS)),
            format!("| {DOOR_IS_CLOSED}, {DOOR_IS_OPEN} | door closed and locked; fully open"),
            format!("| {MOVES_UP}, {MOVES_DOWN} | the car moves, or its motor is driven, up, down"),
            format!("| {STOP_SWITCH}, {OBSTRUCTION} | stop switch; something is in the door"),
            format!("| {DOOR_OPEN_BUTTON}, {DOOR_CLOSE_BUTTON} | the door-open, door-close button"),
            format!("; {HAS_DOOR_BUTTONS} is on if the car has these buttons"),
            format!("| {ALARM} | a press of the alarm button waits"),
            format!("| {} | a press of hall up, hall down, car waits", three(PRESSES)),
            format!("| B+{FLOOR_SENSOR} | floor sensor"),
            format!("| {HEARTBEAT}, {} | heartbeat: changes in every round; floor", HEARTBEAT + 1),
            format!("| {STOP_AT} | stop floor"),
            format!("| {ECHO} | echo of the heartbeat"),
            format!("| {NEXT_STOP} | the nearest floor at which"),
            format!("| {LOAD} | load"),
            format!("| {KEY} | key switch"),
            format!("| {TEMPERATURE}, {ILLUMINANCE} | temperature in °C, two's complement; illum"),
        ] {
            assert!(document.contains(&row), "missing: {row}");
        }
    }

    #[test]
    fn what_can_not_be_is_named_with_its_address() {
        let word = |at: usize, value| std::array::from_fn(|it| if it == at { value } else { 0 });
        for (words, on, expected) in [
            (
                ZEROS,
                vec![0, 1],
                "discrete input 1: on together with 0: the door is closed and open",
            ),
            (ZEROS, vec![2, 3], "discrete input 3: on together with 2: the car moves both ways"),
            (
                ZEROS,
                vec![19, 37],
                "discrete input 37: on together with 19: the car is at two floors",
            ),
            (word(1, 5), vec![], "input register 1: 5 is not a floor of this shaft"),
            (word(3, 6), vec![], "input register 3: 6 is not a position of the key switch"),
        ] {
            assert_eq!(seen(words, &on, DoorCommand::Close).unwrap_err(), expected);
        }
    }
}
