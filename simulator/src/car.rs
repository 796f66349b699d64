//! One car with its panel: shaft, door, lamps, buttons and switches, and the interlocks between
//! them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use elevator_driver::{
    Button, Climate, Direction, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount,
    HallLantern, KeySwitch, MotorCommand, PanelInputs, PanelOutputs, Side, Trip,
};

use crate::config::{CarConfig, ConfigError, StartPosition};
use crate::door::{Door, DoorOrder};
use crate::shaft::{DriveCommand, Shaft};
use crate::state::{CarState, DriveMode, Faults, Opening, ShownTrip, Violation, ViolationKind};

mod surroundings;
#[cfg(test)]
mod tests;

/// The longest step in which motion is worked out while anything moves; a longer
/// [`SimulatedCar::advance`] takes several.
const STEP: Duration = Duration::from_millis(10);

/// Presses that wait for [`SimulatedCar::take_presses`], and requests that wait for
/// [`SimulatedCar::take_requests`]. When full, the latest one is lost, as
/// from a panel whose own queue is full; only a line that is down for long gets there.
const PRESSES: usize = 256;

/// For how long a pressed door button reads as pressed at least: two heartbeats of the panel's line,
/// so that no short press is missed.
const SHORTEST_PRESS: Duration = Duration::from_millis(100);

/// Violations that are kept with their time; later ones are only counted.
const VIOLATIONS: usize = 100;

/// A simulated car: pure, deterministic, driven by steps of time.
///
/// The interlocks of its panel apply to any command of the controller (S1): the motor starts only
/// while the door is fully closed and not commanded to open, and the door opens only while the car
/// is at rest in an active floor zone. A refused command is recorded as a [`Violation`].
///
/// ```
/// use std::time::Duration;
///
/// use elevator_driver::{Direction, Floor, FloorCount, MotorCommand, PanelOutputs};
/// use elevator_simulator::{CarConfig, SimulatedCar};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut car = SimulatedCar::new(&CarConfig::new(FloorCount::new(4).ok_or("floors")?), 1)?;
/// let floor = Floor::try_from(1)?;
/// let motor = MotorCommand::Run { direction: Direction::Up, stop_at: floor };
/// car.set_outputs(&PanelOutputs { motor, ..PanelOutputs::default() });
/// car.advance(Duration::from_secs(10));
/// assert_eq!(car.inputs().floor, Some(floor));
/// assert!(car.is_at_rest());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedCar {
    floors: FloorCount,
    clock: Duration,
    shaft: Shaft,
    door: Door,
    /// Which door opens, or opened last.
    side: Side,
    outputs: PanelOutputs,
    drive_mode: DriveMode,
    door_lamp: bool,
    inputs: Switches,
    presses: VecDeque<Button>,
    requests: VecDeque<Trip>,
    /// The buttons that are held down, and since when by the car's clock.
    stuck_buttons: BTreeMap<Button, Duration>,
    /// The unsafe requests that stand at the moment, so that each is recorded once.
    present: BTreeSet<ViolationKind>,
    violations: Vec<Violation>,
    violation_count: u64,
    watchdog_stops: u64,
    opening: Option<Opening>,
    gong_strokes: u64,
}

#[derive(Debug, Clone, Default)]
struct Switches {
    /// Door-open and door-close; `None` without door buttons.
    door: Option<[Contact; 3]>,
    stop: bool,
    obstruction: bool,
    key: KeySwitch,
    load: Option<u8>,
    climate: Climate,
}

/// The contact of a door button.
#[derive(Debug, Clone, Copy, Default)]
struct Contact {
    is_pressed: bool,
    /// Until when by the car's clock a short press reads as pressed.
    until: Duration,
}

/// A door button in the car.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoorButton {
    Open,
    Close,
    OpenRear,
}

/// How many people a car is rated for.
pub const PERSONS: usize = 8;

/// What this many people of 75 kg weigh, in per cent of a rated load of 630 kg.
#[must_use]
pub fn load_of(people: usize) -> u8 {
    u8::try_from(people.saturating_mul(7_500) / 630).unwrap_or(u8::MAX)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a shaft of {floors} floors has no {what}")]
pub struct NotInShaft {
    floors: u8,
    what: String,
}

impl SimulatedCar {
    /// A car at rest with its door closed. The seed only determines what its climate sensors read.
    ///
    /// # Errors
    /// The configuration has a value out of its range.
    pub fn new(config: &CarConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let position = match config.start {
            StartPosition::Floor(index) => config.heights()[usize::from(index)],
            StartPosition::Metres(height) => height,
        };
        let mut random = fastrand::Rng::with_seed(seed);
        let climate = Climate {
            temperature: Some(random.i8(20..=22)),
            illuminance: Some(random.u8(90..=110)),
        };
        Ok(Self {
            floors: config.building.floors(),
            clock: Duration::ZERO,
            shaft: Shaft::new(config, position),
            door: Door::new(config.door),
            side: Side::Front,
            outputs: PanelOutputs::default(),
            drive_mode: DriveMode::Levelling,
            door_lamp: false,
            inputs: Switches { load: Some(0), climate, ..Switches::default() },
            presses: VecDeque::new(),
            requests: VecDeque::new(),
            stuck_buttons: BTreeMap::new(),
            present: BTreeSet::new(),
            violations: Vec::new(),
            violation_count: 0,
            watchdog_stops: 0,
            opening: None,
            gong_strokes: 0,
        })
    }

    #[must_use]
    pub fn floors(&self) -> FloorCount {
        self.floors
    }

    #[must_use]
    pub fn clock(&self) -> Duration {
        self.clock
    }

    pub fn advance(&mut self, by: Duration) {
        let mut left = by;
        while !left.is_zero() {
            if self.is_at_rest() {
                self.clock += left;
                return;
            }
            let step = left.min(STEP);
            self.step(step);
            left -= step;
        }
    }

    /// Whether nothing changes by the passing of time alone.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.shaft.is_at_rest(self.may_start()) && self.door.is_at_rest(self.door_order())
    }

    #[must_use]
    pub fn inputs(&self) -> PanelInputs {
        PanelInputs {
            floor: self.shaft.sensed_floor(),
            next_stop: self.shaft.next_stop(),
            drive: match self.shaft.driven() {
                Some(direction) => DriveFeedback::Driven(direction),
                None => DriveFeedback::Stopped,
            },
            door: self.door.state(),
            side: self.open_side(),
            stop: self.inputs.stop,
            obstruction: self.inputs.obstruction,
            load: self.inputs.load,
            key: self.inputs.key,
            door_buttons: self.door_buttons(),
            climate: self.inputs.climate,
            stuck: self.known_stuck(),
        }
    }

    #[must_use]
    pub fn state(&self) -> CarState {
        CarState {
            time_ms: milliseconds(self.clock),
            floors: self.floors.get(),
            heights: self.shaft.heights().to_vec(),
            position: self.shaft.position(),
            speed: self.shaft.speed(),
            floor: self.shaft.sensed_floor(),
            next_stop: self.shaft.next_stop(),
            driven: self.shaft.driven(),
            drive_mode: self.drive_mode,
            door: self.door.state(),
            side: self.open_side(),
            door_fraction: self.door.fraction(),
            opening: self.opening,
            door_lamp: self.door_lamp,
            lamps: self.outputs.lamps.orders.clone(),
            stop_lamp: self.outputs.lamps.stop,
            indicator: self.outputs.indicator,
            lantern: self.lantern(),
            gong_strokes: self.gong_strokes,
            alarm: self.outputs.alarm,
            light_off: self.outputs.light_off,
            position_text: self.outputs.display.position.clone(),
            display_text: self.outputs.display.text.clone(),
            display_brightness: self.outputs.display.brightness,
            kiosks: self.outputs.kiosks.iter().map(ShownTrip::from).collect(),
            stop: self.inputs.stop,
            obstruction: self.inputs.obstruction,
            key: self.inputs.key,
            door_buttons: self.door_buttons(),
            load: self.inputs.load,
            temperature: self.inputs.climate.temperature,
            illuminance: self.inputs.climate.illuminance,
            faults: Faults {
                motor: self.shaft.motor_fault(),
                levelling: self.shaft.levelling_fault(),
                door_jammed: self.door.is_jammed(),
                dead_sensors: self.shaft.dead_sensors().clone(),
                stuck_buttons: self.stuck_buttons().collect(),
            },
            violations: self.violation_count,
            watchdog_stops: self.watchdog_stops,
        }
    }

    #[must_use]
    pub fn shaft(&self) -> &Shaft {
        &self.shaft
    }

    /// How far the door is open, 0 (closed and locked) to 1.
    #[must_use]
    pub fn door_fraction(&self) -> f64 {
        self.door.fraction()
    }

    #[must_use]
    pub fn motor(&self) -> MotorCommand {
        self.outputs.motor
    }

    #[must_use]
    pub fn lantern(&self) -> Option<Direction> {
        match self.outputs.lantern {
            HallLantern::Dark => None,
            HallLantern::Lit(direction) => Some(direction),
        }
    }

    /// The first hundred violations since the car was made; [`CarState::violations`] counts all.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn step(&mut self, by: Duration) {
        self.clock += by;
        let was_open = self.door.state() == DoorState::Open;
        if self.door.is_closed() {
            self.side = self.outputs.door.opens().unwrap_or(self.side);
        }
        self.door.advance(by, self.door_order());
        if !was_open && self.door.state() == DoorState::Open {
            self.note_opening();
        }
        self.shaft.advance(by.as_secs_f64(), self.may_start());
    }

    fn note_opening(&mut self) {
        let Some(floor) = self.shaft.sensed_floor() else { return };
        let count = self.opening.map_or(0, |opening| opening.count) + 1;
        self.opening = Some(Opening { count, floor, lantern: self.lantern() });
    }

    /// S1: the motor starts only behind a closed door that is not about to open.
    fn may_start(&self) -> bool {
        self.door.is_closed() && self.outputs.door.opens().is_none()
    }

    fn open_side(&self) -> Side {
        if self.door.is_closed() { Side::Front } else { self.side }
    }

    fn door_order(&self) -> DoorOrder {
        // The other door has to be closed before.
        let is_other = self.outputs.door.opens().is_some_and(|side| side != self.open_side());
        let is_other = is_other && !self.door.is_closed();
        let command = if is_other { DoorCommand::Close } else { self.outputs.door };
        DoorOrder {
            command,
            obstruction: self.inputs.obstruction,
            may_open: self.shaft.driven().is_none() && self.shaft.sensed_floor().is_some(),
        }
    }
}

/// What the controller does, over the serial panel.
impl SimulatedCar {
    pub fn set_outputs(&mut self, outputs: &PanelOutputs) {
        if outputs.gong != self.outputs.gong {
            self.gong_strokes += match outputs.gong {
                None => 0,
                Some(Direction::Up) => 1,
                Some(Direction::Down) => 2,
            };
        }
        self.outputs.clone_from(outputs);
        self.drive_mode = DriveMode::Levelling;
        self.door_lamp = false;
        self.shaft.command(match outputs.motor {
            MotorCommand::Stop => DriveCommand::Stop,
            MotorCommand::Run { direction, stop_at } => DriveCommand::Run { direction, stop_at },
            MotorCommand::Home { direction } => DriveCommand::Home { direction },
        });
        // At once, so that no input says "stopped" after the command to run.
        self.step(Duration::ZERO);
        self.record_violations();
    }

    /// The panel's watchdog ran out: the motor stops, wherever the car is (S2), and stays off
    /// until the controller speaks again. Returns whether it was driven.
    pub fn stop_for_silence(&mut self) -> bool {
        self.outputs.motor = MotorCommand::Stop;
        self.outputs.light_off = false;
        self.shaft.command(DriveCommand::Stop);
        let driven = self.shaft.driven().is_some();
        if driven {
            self.watchdog_stops += 1;
        }
        driven
    }

    /// The panel restarts: motor off, everything dark, unreported presses forgotten.
    pub fn restart_panel(&mut self) {
        self.set_outputs(&PanelOutputs::default());
        self.presses.clear();
        self.requests.clear();
    }

    fn record_violations(&mut self) {
        let driven = self.shaft.driven().is_some();
        let wanted = self.shaft.wanted_motion().is_some();
        let mut present = BTreeSet::new();
        match self.drive_mode {
            DriveMode::Levelling => {
                let open = self.outputs.door.opens().is_some();
                if open && driven {
                    present.insert(ViolationKind::DoorOpenWhileMoving);
                }
                if !driven && wanted && (open || !self.door.is_closed()) {
                    present.insert(ViolationKind::MotorWhileDoorOpen);
                }
            }
            DriveMode::Constant if self.door_lamp => {
                if driven || wanted {
                    present.insert(ViolationKind::DoorLampWhileMoving);
                }
                if self.shaft.sensed_floor().is_none() {
                    present.insert(ViolationKind::DoorLampBetweenFloors);
                }
            }
            DriveMode::Constant => {}
        }
        for &kind in present.difference(&self.present) {
            self.violation_count += 1;
            if self.violations.len() < VIOLATIONS {
                self.violations.push(Violation { time_ms: milliseconds(self.clock), kind });
            }
        }
        self.present = present;
    }
}

/// What the controller does, over the elevator-server protocol: a bare motor, and a lamp for a
/// door.
impl SimulatedCar {
    /// Runs the motor at one speed, or stops it on the spot.
    pub fn set_motor(&mut self, direction: Option<Direction>) {
        self.without_levelling();
        self.shaft.command(match direction {
            Some(direction) => DriveCommand::Constant(direction),
            None => DriveCommand::Stop,
        });
        // A stop takes effect immediately, so that a door lamp at the same moment is no violation.
        self.shaft.advance(0.0, self.may_start());
        self.record_violations();
    }

    pub fn set_door_lamp(&mut self, lit: bool) {
        self.without_levelling();
        self.door_lamp = lit;
        self.record_violations();
    }

    /// A door that another controller left open closes before the motor starts.
    fn without_levelling(&mut self) {
        self.drive_mode = DriveMode::Constant;
        self.outputs.door = DoorCommand::Close;
    }

    /// Lights or darkens an order lamp; one that the shaft does not have is ignored.
    pub fn set_order_lamp(&mut self, button: Button, lit: bool) {
        if !self.floors.has_button(button) {
            return;
        }
        if lit {
            self.outputs.lamps.orders.insert(button);
        } else {
            self.outputs.lamps.orders.remove(&button);
        }
    }

    pub fn set_stop_lamp(&mut self, lit: bool) {
        self.outputs.lamps.stop = lit;
    }

    pub fn set_indicator(&mut self, floor: Floor) {
        self.outputs.indicator = Some(floor);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
