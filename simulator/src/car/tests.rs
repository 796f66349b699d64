use elevator_driver::{DoorState, STUCK_AFTER};
use proptest::prelude::*;

use super::*;
use crate::shaft::{LevellingFault, MotorFault};

fn car() -> SimulatedCar {
    SimulatedCar::new(&CarConfig::new(FloorCount::new(4).unwrap()), 1).unwrap()
}

fn floor(index: u8) -> Floor {
    FloorCount::new(4).unwrap().floor(index).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn open() -> PanelOutputs {
    PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() }
}

fn run_up_to(index: u8) -> PanelOutputs {
    PanelOutputs {
        motor: MotorCommand::Run { direction: Direction::Up, stop_at: floor(index) },
        ..PanelOutputs::default()
    }
}

// F18
#[test]
fn each_opening_is_counted_however_briefly_the_door_stands_open() {
    let mut car = car();
    assert_eq!(car.state().opening, None);
    for count in 1..=3 {
        let lantern = HallLantern::Lit(Direction::Down);
        car.set_outputs(&PanelOutputs { lantern, ..open() });
        while car.inputs().door != DoorState::Open {
            car.advance(Duration::from_millis(1));
        }
        car.set_outputs(&PanelOutputs::default());
        car.advance(seconds(2));
        assert_eq!(car.inputs().door, DoorState::Closed);
        let lantern = Some(Direction::Down);
        assert_eq!(car.state().opening, Some(Opening { count, floor: floor(0), lantern }));
    }
}

// S1
#[test]
fn an_open_command_in_flight_is_refused_and_recorded_once() {
    let mut car = car();
    car.set_outputs(&run_up_to(2));
    car.advance(seconds(2));
    let unsafe_outputs = PanelOutputs { door: DoorCommand::Open, ..run_up_to(2) };
    for _ in 0..5 {
        car.set_outputs(&unsafe_outputs);
        car.advance(Duration::from_millis(20));
        assert_eq!(car.inputs().door, DoorState::Closed);
    }
    let kinds: Vec<_> = car.violations().iter().map(|v| v.kind).collect();
    assert_eq!(kinds, [ViolationKind::DoorOpenWhileMoving]);
}

// S1
#[test]
fn a_motor_command_behind_an_open_door_waits_and_is_recorded() {
    let mut car = car();
    car.set_outputs(&open());
    car.advance(seconds(2));
    car.set_outputs(&run_up_to(1));
    car.advance(Duration::from_millis(500));
    assert_eq!(car.inputs().drive, DriveFeedback::Stopped);
    assert_eq!(car.violations().len(), 1);
    assert_eq!(car.violations()[0].kind, ViolationKind::MotorWhileDoorOpen);
    car.advance(seconds(20));
    assert!(car.state().is_at_rest_at(floor(1)));
}

// S2
#[test]
fn a_silent_controller_loses_the_motor() {
    let mut car = car();
    car.set_outputs(&run_up_to(3));
    car.advance(seconds(2));
    assert!(car.stop_for_silence());
    car.advance(seconds(2));
    assert_eq!(car.inputs().drive, DriveFeedback::Stopped);
    assert_eq!(car.inputs().floor, None);
    assert!(!car.stop_for_silence(), "a motor at rest is not stopped");
    assert_eq!(car.state().watchdog_stops, 1);
}

#[test]
fn a_press_is_told_once_and_a_held_button_as_stuck_until_it_is_let_go() {
    let mut car = car();
    let car_call = Button::Car(floor(2));
    car.press(car_call).unwrap();
    car.set_button_stuck(car_call, true).unwrap();
    car.set_button_stuck(car_call, true).unwrap();
    assert_eq!(car.take_presses().collect::<Vec<_>>(), [car_call, car_call]);
    assert_eq!(car.take_presses().count(), 0);
    let missing = Button::Hall(floor(3), Direction::Up);
    assert!(car.press(missing).is_err());
    car.advance(STUCK_AFTER / 2);
    assert!(car.inputs().stuck.is_empty());
    car.advance(STUCK_AFTER / 2);
    assert_eq!(car.inputs().stuck, [car_call].into());
    car.set_button_stuck(car_call, false).unwrap();
    assert!(car.inputs().stuck.is_empty());
}

#[test]
fn the_door_lamp_between_floors_and_under_a_running_motor_is_recorded() {
    let mut car = car();
    car.set_door_lamp(true);
    car.set_door_lamp(false);
    car.set_motor(Some(Direction::Up));
    while car.inputs().floor != Some(floor(1)) {
        car.advance(Duration::from_millis(10));
    }
    car.set_motor(None);
    car.set_door_lamp(true);
    assert_eq!(car.violations(), [], "in one breath, at a floor");
    car.set_door_lamp(false);
    car.set_motor(Some(Direction::Up));
    car.advance(seconds(1));
    car.set_motor(None);
    car.set_door_lamp(true);
    car.set_motor(Some(Direction::Up));
    let kinds: Vec<_> = car.violations().iter().map(|v| v.kind).collect();
    assert_eq!(kinds, [ViolationKind::DoorLampBetweenFloors, ViolationKind::DoorLampWhileMoving]);
}

#[test]
fn a_start_outside_the_shaft_is_refused() {
    for start in [StartPosition::Floor(4), StartPosition::Metres(9.1)] {
        let config = CarConfig { start, ..CarConfig::new(FloorCount::new(4).unwrap()) };
        assert!(SimulatedCar::new(&config, 0).is_err());
    }
}

#[derive(Debug, Clone)]
enum Happening {
    Outputs(MotorCommand, DoorCommand),
    BareMotor(Option<Direction>),
    Obstruction(bool),
    Motor(Option<MotorFault>),
    Levelling(Option<LevellingFault>),
    Speed(u8),
    Jammed(bool),
    Silence,
    Wait(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    let direction = || prop_oneof![Just(Direction::Up), Just(Direction::Down)];
    let motor = prop_oneof![
        2 => Just(MotorCommand::Stop),
        4 => (direction(), 0_u8..4).prop_map(|(direction, index)| MotorCommand::Run {
            direction,
            stop_at: floor(index),
        }),
        1 => direction().prop_map(|direction| MotorCommand::Home { direction }),
    ];
    let door =
        prop_oneof![Just(DoorCommand::Open), Just(DoorCommand::Close), Just(DoorCommand::Nudge)];
    prop_oneof![
        6 => (motor, door).prop_map(|(motor, door)| Happening::Outputs(motor, door)),
        2 => prop::option::of(direction()).prop_map(Happening::BareMotor),
        1 => any::<bool>().prop_map(Happening::Obstruction),
        1 => prop::option::of(prop_oneof![
            Just(MotorFault::Stuck),
            Just(MotorFault::Trips),
            Just(MotorFault::Dead),
            Just(MotorFault::Reversed),
        ]).prop_map(Happening::Motor),
        1 => prop::option::of(prop_oneof![
            Just(LevellingFault::Off),
            Just(LevellingFault::Overshoots),
        ]).prop_map(Happening::Levelling),
        1 => (50_u8..150).prop_map(Happening::Speed),
        1 => any::<bool>().prop_map(Happening::Jammed),
        1 => Just(Happening::Silence),
        6 => (1_u16..300).prop_map(Happening::Wait),
    ]
}

proptest! {
    // S1
    #[test]
    fn the_interlocks_hold_under_any_commands(
        metres in 0.0..9.0_f64,
        happenings in prop::collection::vec(happening(), 1..60),
    ) {
        let mut car = SimulatedCar::new(
            &CarConfig {
                start: StartPosition::Metres(metres),
                ..CarConfig::new(FloorCount::new(4).unwrap())
            },
            0,
        ).unwrap();
        for happening in happenings {
            let mut wait = 1;
            match happening {
                Happening::Outputs(motor, door) => {
                    car.set_outputs(&PanelOutputs { motor, door, ..PanelOutputs::default() });
                }
                Happening::BareMotor(motor) => car.set_motor(motor),
                Happening::Obstruction(active) => car.set_obstruction(active),
                Happening::Motor(fault) => car.set_motor_fault(fault),
                Happening::Levelling(fault) => car.set_levelling_fault(fault),
                Happening::Speed(percent) => car.set_speed(percent),
                Happening::Jammed(jammed) => car.set_door_jammed(jammed),
                Happening::Silence => { car.stop_for_silence(); }
                Happening::Wait(steps) => wait = steps,
            }
            for _ in 0..wait {
                let state = car.state();
                if state.door != DoorState::Closed || state.door_fraction > 0.0 {
                    prop_assert_eq!(state.driven, None);
                    prop_assert!(state.speed.abs() < f64::EPSILON);
                    prop_assert!(state.floor.is_some());
                }
                prop_assert!((0.0..=9.0).contains(&state.position));
                car.advance(Duration::from_millis(10));
            }
        }
    }
}
