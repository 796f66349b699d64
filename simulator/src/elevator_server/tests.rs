use super::*;
use crate::config::CarConfig;

fn car() -> SimulatedCar {
    SimulatedCar::new(&CarConfig::new(FloorCount::new(4).unwrap()), 0).unwrap()
}

fn ask(car: &mut SimulatedCar, message: [u8; 4]) -> Option<[u8; 4]> {
    answer(message, car, &mut Latches::default(), Duration::ZERO)
}

fn milliseconds(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn polls_are_answered_to_the_byte_and_commands_not_at_all() {
    let mut car = car();
    assert_eq!(ask(&mut car, [6, 2, 1, 0]), Some([6, 0, 0, 0]));
    assert_eq!(ask(&mut car, [7, 0, 0, 0]), Some([7, 1, 0, 0]));
    assert_eq!(ask(&mut car, [8, 0, 0, 0]), Some([8, 0, 0, 0]));
    assert_eq!(ask(&mut car, [9, 0, 0, 0]), Some([9, 0, 0, 0]));
    car.set_stop(true);
    car.set_obstruction(true);
    assert_eq!(ask(&mut car, [8, 0, 0, 0]), Some([8, 1, 0, 0]));
    assert_eq!(ask(&mut car, [9, 0, 0, 0]), Some([9, 1, 0, 0]));
    for command in [[0, 0, 0, 0], [2, 0, 1, 1], [3, 2, 0, 0], [5, 1, 0, 0]] {
        assert_eq!(ask(&mut car, command), None);
    }
    let state = car.state();
    assert_eq!(state.lamps.len(), 1);
    assert_eq!(state.indicator, car.floors().floor(2));
    assert!(state.stop_lamp);
    ask(&mut car, [1, 200, 0, 0]);
    assert_eq!(car.state().driven, None, "there is no way down from 0");
    ask(&mut car, [1, 1, 0, 0]);
    car.advance(milliseconds(1000));
    assert_eq!(ask(&mut car, [7, 0, 0, 0]), Some([7, 0, 0, 0]));
    assert_eq!(car.state().driven, Some(Direction::Up));
}

#[test]
fn what_does_not_exist_is_ignored_and_reads_as_released() {
    let mut car = car();
    for command in [[2, 0, 9, 1], [2, 3, 1, 1], [2, 0, 3, 1], [3, 4, 0, 0], [77, 1, 1, 1]] {
        assert_eq!(ask(&mut car, command), None);
    }
    assert!(car.state().lamps.is_empty() && car.state().indicator.is_none());
    for poll in [[6, 0, 3, 0], [6, 1, 0, 0], [6, 2, 200, 0], [6, 9, 1, 0]] {
        assert_eq!(ask(&mut car, poll), Some([6, 0, 0, 0]));
    }
}

#[test]
fn requests_may_come_in_any_pieces() {
    let mut framing = Framing::default();
    assert!(framing.push(&[7, 0]).is_empty());
    assert_eq!(framing.push(&[0, 0, 8, 0, 0]), [[7, 0, 0, 0]]);
    assert_eq!(framing.push(&[0, 9, 1, 2, 3]), [[8, 0, 0, 0], [9, 1, 2, 3]]);
}

#[test]
fn every_press_waits_for_its_poll_lasts_a_tenth_of_a_second_and_makes_an_edge() {
    let button = Button::Car(FloorCount::new(4).unwrap().top());
    let mut latches = Latches::default();
    latches.press(button, milliseconds(0));
    assert!(latches.poll(button, milliseconds(5000)), "seen however late");
    assert!(!latches.poll(button, milliseconds(5001)));
    latches.press(button, milliseconds(6000));
    assert!(latches.poll(button, milliseconds(6001)));
    assert!(latches.poll(button, milliseconds(6099)));
    latches.press(button, milliseconds(6200));
    assert!(!latches.poll(button, milliseconds(6210)), "released between: a rising edge");
    assert!(latches.poll(button, milliseconds(6220)));
    assert!(!latches.poll(button, milliseconds(6400)));
    assert!(!latches.poll(button, milliseconds(6410)));
}
