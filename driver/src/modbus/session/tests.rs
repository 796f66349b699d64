use proptest::prelude::*;

use super::*;
use crate::testing::{self, floor, run};
use crate::vocabulary::Direction;

const SILENCE: Duration = Duration::from_millis(250);
const ROUND: Duration = Duration::from_millis(20);

/// Addresses, as `docs/MODBUS.md` has them.
const DOOR_CLOSED: usize = 0;
const MOVES_UP: usize = 2;
const DOOR_OPEN_COIL: usize = 3;
const HALL_DOWN_2: usize = 29;
const CAR_PRESS_2: usize = 30;
const CAR_ACKNOWLEDGEMENT_2: usize = 33;

/// A session and a PLC that says what it is told to.
struct Bench {
    session: Session,
    now: Duration,
    on: Vec<usize>,
    /// How many heartbeats the PLC's echo lags behind.
    lag: u16,
    coils: Vec<bool>,
}

impl Bench {
    fn connected() -> Self {
        let session = Session::new(testing::floors(4), SILENCE);
        let (now, on) = (Duration::ZERO, vec![DOOR_CLOSED]);
        let mut bench = Self { session, now, on, lag: 0, coils: Vec::new() };
        bench.reconnect();
        let events = bench.round();
        assert!(matches!(events[..], [PanelEvent::Connected, PanelEvent::Inputs(_)]), "{events:?}");
        bench
    }

    fn bits(&self) -> Vec<bool> {
        (0..40).map(|at| self.on.contains(&at)).collect()
    }

    fn reconnect(&mut self) {
        // A heartbeat that is about to begin anew.
        self.session.handle_connected(&[0xFFFE, 0, 0, 0, 0, 0], &self.bits(), self.now).unwrap();
    }

    fn try_round(&mut self) -> Result<Vec<PanelEvent>, String> {
        let Round { coils, heartbeat, .. } = self.session.next_round();
        self.coils = coils;
        self.now += ROUND;
        let words = [heartbeat.wrapping_sub(self.lag), 0, 0, 0, 0, 0];
        let events = self.session.handle_answers(&words, &self.bits(), self.now);
        events.map_err(|fault| fault.to_string())
    }

    fn round(&mut self) -> Vec<PanelEvent> {
        self.try_round().unwrap()
    }

    fn motor(&self) -> [bool; 2] {
        [self.coils[0], self.coils[1]]
    }
}

fn open() -> PanelOutputs {
    PanelOutputs { door: DoorCommand::Open, ..PanelOutputs::default() }
}

/// S1
#[test]
fn the_motor_waits_for_the_program_that_may_have_opened_the_door() {
    let mut bench = Bench::connected();
    bench.session.set_outputs(open());
    bench.round();
    assert!(bench.coils[DOOR_OPEN_COIL]);
    // The program is two rounds behind: the door still looks closed.
    bench.lag = 2;
    bench.session.set_outputs(run(Direction::Up, 3));
    for _ in 0..3 {
        bench.round();
        assert_eq!(bench.motor(), [false; 2]);
    }
    bench.round();
    assert_eq!(bench.motor(), [true, false]);
    bench.on = vec![];
    bench.round();
    bench.round();
    assert_eq!(bench.motor(), [false; 2], "the door is no longer closed");
}

/// S1
#[test]
fn the_door_waits_for_the_program_that_may_have_started_the_motor() {
    let mut bench = Bench::connected();
    bench.session.set_outputs(run(Direction::Up, 3));
    bench.round();
    bench.lag = 1;
    bench.session.set_outputs(open());
    for _ in 0..2 {
        bench.round();
        assert!(!bench.coils[DOOR_OPEN_COIL]);
    }
    bench.on = vec![DOOR_CLOSED, MOVES_UP];
    bench.round();
    bench.round();
    assert!(!bench.coils[DOOR_OPEN_COIL], "the car still moves");
    bench.on = vec![DOOR_CLOSED];
    bench.round();
    bench.round();
    assert!(bench.coils[DOOR_OPEN_COIL]);
}

#[test]
fn a_press_is_reported_once_and_acknowledged_until_the_latch_is_empty() {
    let mut bench = Bench::connected();
    let press = [PanelEvent::Pressed(crate::Button::Car(floor(2)))];
    for _ in 0..2 {
        bench.on.push(CAR_PRESS_2);
        assert_eq!(bench.round(), press);
        assert_eq!(bench.round(), []);
        assert!(bench.coils[CAR_ACKNOWLEDGEMENT_2]);
        bench.on.pop();
        assert_eq!(bench.round(), []);
        bench.round();
        assert!(!bench.coils[CAR_ACKNOWLEDGEMENT_2]);
    }
    // A hall call may be another one after the line was lost.
    bench.on = vec![DOOR_CLOSED, CAR_PRESS_2, HALL_DOWN_2];
    let both = bench.round();
    let [hall, ..] = &both[..] else { panic!("{both:?}") };
    assert_eq!(both, [hall.clone(), press[0].clone()]);
    bench.session.handle_lost();
    bench.reconnect();
    let again = bench.round();
    assert!(again.contains(hall) && !again.contains(&press[0]), "{again:?}");
    // Hall up at the top.
    bench.on.push(34);
    assert_eq!(bench.round(), [PanelEvent::Refused("a press of hall 3 up".to_owned())]);
}

#[test]
fn an_alarm_is_reported_once_and_again_after_the_line_was_lost() {
    let mut bench = Bench::connected();
    bench.on.push(10);
    assert_eq!(bench.round(), [PanelEvent::Alarm]);
    assert_eq!(bench.round(), []);
    assert!(bench.coils[13]);
    bench.session.handle_lost();
    bench.reconnect();
    assert!(bench.round().contains(&PanelEvent::Alarm));
}

/// S2
#[test]
fn a_program_that_stands_still_or_is_slow_is_told_from_one_that_runs() {
    let mut bench = Bench::connected();
    bench.lag = 5;
    bench.try_round().unwrap();
    for _ in 0..11 {
        bench.lag += 1;
        bench.try_round().unwrap();
    }
    bench.lag += 1;
    let reason = "input register 0: the heartbeat is not echoed: does the program of the PLC run?";
    assert_eq!(bench.try_round().unwrap_err(), reason);

    let mut bench = Bench::connected();
    bench.now += SILENCE * 2;
    let reason = "input register 0: the heartbeat was echoed too late";
    assert_eq!(bench.try_round().unwrap_err(), reason);
}

#[test]
fn a_stop_keeps_the_stop_floor_and_a_farewell_stops() {
    let mut bench = Bench::connected();
    let outputs = PanelOutputs { indicator: Some(floor(1)), ..run(Direction::Up, 3) };
    bench.session.set_outputs(outputs);
    let round = bench.session.next_round();
    assert_eq!((round.stop_at, round.indicator, round.coils[0]), (4, 2, true));
    assert!(!bench.session.farewell()[0]);
    bench.session.set_outputs(PanelOutputs::default());
    let round = bench.session.next_round();
    assert_eq!((round.stop_at, round.indicator, round.coils[0]), (4, 0, false));
}

proptest! {
    /// S1, F5: whatever the PLC says and is told, the motor runs only with a door that was closed
    /// at the last look, and a closed door opens only at rest.
    #[test]
    fn no_answers_break_the_interlock(
        steps in prop::collection::vec(
            (0_u8..5, 0_u16..4, prop::array::uniform6(0_u16..6), prop::collection::vec(any::<bool>(), 40)),
            1..60)
    ) {
        let mut bench = Bench::connected();
        for (outputs, lag, mut words, mut bits) in steps {
            bench.session.set_outputs(match outputs {
                0 => PanelOutputs::default(),
                1 => open(),
                2 => PanelOutputs { door: DoorCommand::Open, ..run(Direction::Up, 3) },
                _ => run(Direction::Up, 3),
            });
            // Mostly something that can be.
            bits[1] &= !bits[0];
            bits[3] &= !bits[2];
            for sensor in [25, 31, 37] {
                bits[sensor] = false;
            }
            let inputs = bench.session.inputs.clone();
            let round = bench.session.next_round();
            let is_closed = inputs.door == crate::DoorState::Closed;
            prop_assert!(!(round.coils[0] || round.coils[1]) || is_closed);
            prop_assert!(!(round.coils[0] && round.coils[DOOR_OPEN_COIL]));
            let rests = inputs.drive == DriveFeedback::Stopped;
            prop_assert!(!round.coils[DOOR_OPEN_COIL] || !is_closed || rests);
            words[0] = round.heartbeat.wrapping_sub(lag);
            drop(bench.session.handle_answers(&words, &bits, bench.now));
        }
    }
}
