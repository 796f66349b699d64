use super::*;

fn floors() -> FloorCount {
    FloorCount::new(6).unwrap()
}

fn floor(index: u8) -> Floor {
    floors().floor(index).unwrap()
}

fn arrivals(seed: u64) -> Vec<Arrival> {
    let gap = Duration::from_secs(5);
    Arrivals::new(seed, floors(), 3, gap).take(500).collect()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn idle() -> Sight {
    Sight { living: true, ..Sight::default() }
}

fn open_at(index: u8, lantern: Option<Direction>) -> Sight {
    Sight { serves: Some(floor(index)), walkable: Some(floor(index)), lantern, ..idle() }
}

fn passenger(from: u8, to: u8) -> Crowd {
    let mut crowd = Crowd::default();
    crowd.join(&Arrival { at: Duration::ZERO, from: floor(from), to: floor(to), panel: 1 });
    crowd
}

#[test]
fn the_same_seed_brings_the_same_passengers() {
    assert_eq!(arrivals(7), arrivals(7));
    assert_ne!(arrivals(7), arrivals(8));
}

#[test]
fn every_passenger_wants_to_go_elsewhere_and_they_come_at_the_mean_rate() {
    let all = arrivals(7);
    assert!(all.iter().all(|one| one.from != one.to && one.panel < 3));
    assert!(all.is_sorted_by_key(|one| one.at));
    let mean = all.last().unwrap().at / 500;
    assert!((at(4)..at(6)).contains(&mean), "{mean:?}");
}

#[test]
fn a_passenger_presses_boards_presses_inside_and_gets_off() {
    let mut crowd = passenger(1, 4);
    let call = Button::Hall(floor(1), Direction::Up);
    let pressed = crowd.step(at(1), &[idle(), idle()]);
    assert_eq!(pressed, [Deed::Press(1, call)]);
    assert!(crowd.step(at(2), &[idle(), idle()]).is_empty());
    assert_eq!(crowd.waiting_at(floor(1)), 1);

    let opposite = open_at(1, Some(Direction::Down));
    assert!(crowd.step(at(3), &[opposite, idle()]).is_empty());
    let inside = crowd.step(at(3), &[open_at(1, Some(Direction::Up)), idle()]);
    assert_eq!(inside, [Deed::Press(0, Button::Car(floor(4)))]);
    assert_eq!((crowd.waiting_at(floor(1)), crowd.riding_in(0)), (0, 1));

    let off = crowd.step(at(5), &[open_at(4, None), idle()]);
    assert_eq!(off, [Deed::Arrived]);
    assert_eq!(crowd.riding_in(0), 0);

    let one = Arrival { at: Duration::ZERO, from: floor(1), to: floor(4), panel: 0 };
    (0..=PERSONS).for_each(|_| crowd.join(&one));
    crowd.step(at(6), &[open_at(1, Some(Direction::Up)), idle()]);
    assert_eq!((crowd.waiting_at(floor(1)), crowd.riding_in(0)), (1, PERSONS), "it is full");
}

#[test]
fn a_dark_button_is_pressed_again_and_a_dead_panel_left_for_another() {
    let mut crowd = passenger(1, 4);
    let call = Button::Hall(floor(1), Direction::Up);
    crowd.step(at(1), &[idle(), idle()]);
    let again = crowd.step(at(4), &[idle(), idle()]);
    assert_eq!(again, [Deed::Press(1, call)]);
    let elsewhere = crowd.step(at(5), &[idle(), Sight::default()]);
    assert_eq!(elsewhere, [Deed::Press(0, call)]);
}
