use std::time::Duration;

use elevator_driver::{Direction, DoorState, Floor};

use super::*;

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn building() -> Building {
    Building::named("A12").expect("a building")
}

fn passenger(arrival: f64, from: u8, to: u8, mass: f64) -> Passenger {
    Passenger { arrival: secs(arrival), from: floor(from), to: floor(to), mass }
}

fn actions(crowd: &mut Crowd) -> Vec<Action> {
    std::iter::from_fn(|| crowd.poll_action()).collect()
}

const UP: Direction = Direction::Up;

fn at(index: u8, door: DoorState, lantern: Option<Direction>) -> Landed {
    Landed { floor: Some(floor(index)), door, lantern }
}

#[test]
fn every_building_can_be_read() {
    for name in Building::NAMES {
        let building = Building::named(name).expect(name);
        assert_eq!(building.name, name);
    }
    assert_eq!(Building::named("C20"), None);
    let b16 = Building::named("B16").expect("a building");
    assert_eq!((b16.floors.get(), b16.population, b16.persons), (16, 900, 21));
}

#[test]
fn a_wrong_building_is_refused_with_the_reason() {
    let text = include_str!("../../buildings/A12.toml");
    for (right, wrong, reason) in [
        ("cars = 4", "cars = 27", "cars must be from 1 to 26"),
        ("dwell = 2.0", "dwell = 0.0", "dwell must be from 0.1 to 60 s"),
        ("floors = 12", "floors = 1", "floors"),
        ("acceleration = 1.0", "acceleration = 0.0", "acceleration is 0"),
        ("turn = 0.0", "turm = 0.0", "turm"),
        ("transfer = 1.0", "transfer = 0.0", "transfer must be a time of 0.1 to 60 s"),
    ] {
        let error = Building::parse(&text.replace(right, wrong)).expect_err(wrong).to_string();
        assert!(error.contains(reason), "{wrong}: {error}");
    }
}

/// The first lines of `A12_up_5_s1.csv`, `A12_lunch_5_s1.csv` and `A12_inter_5_s1.csv` of the
/// traffic suite.
#[test]
fn a_seed_gives_the_passengers_of_the_suite() {
    let trips = |pattern| {
        let traffic = Traffic::Steady { pattern, rate: 5.0, lasts: secs(3600.0) };
        let passengers = traffic.passengers(&building(), 1);
        assert!((passengers[0].arrival.as_secs_f64() - 7.600_050).abs() < 1e-6);
        let trips = passengers[..4].iter().map(|trip| (trip.from.index(), trip.to.index()));
        trips.collect::<Vec<_>>()
    };
    assert_eq!(trips(Pattern::Up), [(0, 11), (0, 9), (0, 4), (0, 7)]);
    assert_eq!(trips(Pattern::Lunch), [(11, 0), (0, 9), (4, 0), (0, 7)]);
    assert_eq!(trips(Pattern::Inter), [(11, 5), (10, 6), (5, 8), (5, 2)]);
}

#[test]
fn rate_and_mix_are_those_of_the_pattern() {
    for (pattern, incoming, outgoing) in [
        (Pattern::Up, 0.85, 0.05),
        (Pattern::Lunch, 0.45, 0.45),
        (Pattern::Down, 0.05, 0.85),
        (Pattern::Inter, 0.0, 0.0),
    ] {
        let traffic = Traffic::Steady { pattern, rate: 12.0, lasts: secs(3600.0) };
        let all: Vec<_> = (1..=20).flat_map(|seed| traffic.passengers(&building(), seed)).collect();
        let number = |of: usize| f64::from(u32::try_from(of).expect("few"));
        // 12 % of 660 people in five minutes.
        let expected = 20.0 * 660.0 * 0.12 * 12.0;
        assert!((number(all.len()) / expected - 1.0).abs() < 0.03, "{pattern}: {}", all.len());
        let share =
            |of: fn(&&Passenger) -> bool| number(all.iter().filter(of).count()) / number(all.len());
        let from_lobby = share(|trip| trip.from == Floor::BOTTOM);
        let to_lobby = share(|trip| trip.to == Floor::BOTTOM);
        assert!((from_lobby - incoming).abs() < 0.01, "{pattern}: {from_lobby}");
        assert!((to_lobby - outgoing).abs() < 0.01, "{pattern}: {to_lobby}");
        assert!(all.iter().all(|trip| trip.from != trip.to));
        let one = traffic.passengers(&building(), 1);
        assert!(one.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival));
    }
}

#[test]
fn down_traffic_follows_its_rates() {
    let traffic = Traffic::Down { arrivals: vec![2.0, 18.0] };
    for (name, lobby, upper) in [("crites-barto", 0, 9.0), ("car-park", 2, 8.0)] {
        let building = Building::named(name).expect("a building");
        let mut counts = [0_u32; 2];
        for seed in 1..=100 {
            for passenger in traffic.passengers(&building, seed) {
                assert!(passenger.to == floor(lobby) && passenger.from > passenger.to);
                counts[usize::from(passenger.arrival >= secs(300.0))] += 1;
            }
        }
        let [slow, fast] = counts.map(|count| f64::from(count) / 100.0 / upper);
        assert!((slow - 2.0).abs() < 0.16 && (fast - 18.0).abs() < 0.55, "{name}: {slow}, {fast}");
    }
}

#[test]
fn a_wrong_list_is_refused_with_the_line() {
    let read = |lines: &str| {
        let text = format!("id,t_s,from,to,kg\n0,1.5,0,3,75\n{lines}");
        read_passengers(&building(), text.as_bytes()).expect_err(lines).to_string()
    };
    for (lines, error) in [
        ("1,2,0,12,75", "line 3: A12 has no floor 12: 0 to 11"),
        ("1,2,3,3,75", "line 3: a trip from floor 3 to floor 3"),
        ("1,1,0,3,75", "line 3: an arrival before that of the line above"),
        ("1,2,0,3,0", "line 3: 0 kg: more than 0, at most 1000"),
        ("1,2,0,3,75\n2,-4,0,3,75", "line 4: an arrival at -4 s: 0 to 86400"),
    ] {
        assert_eq!(read(lines), error);
    }
    assert!(read("1,2,0,3").contains("line: 3"));
    assert!(read("1,x,0,3,75").ends_with("field 1: invalid float literal"));
    let error = read_passengers(&building(), &b"id,t_s,from,kg\n0,1,2,75\n"[..]);
    assert!(error.expect_err("no `to`").to_string().ends_with("missing field `to`"));
    assert_eq!(read_passengers(&building(), &b"id,t_s,from,to,kg\n"[..]).expect("none"), []);
}

#[test]
fn riders_get_off_before_others_board_one_at_a_time() {
    let passengers = [passenger(1.0, 0, 3, 75.0), passenger(4.0, 3, 5, 75.0)];
    let mut crowd = Crowd::new(&building(), &passengers, 1);
    assert_eq!(crowd.poll_timeout(), Some(secs(1.0)));
    crowd.handle_time(secs(1.0));
    assert_eq!(actions(&mut crowd), [Action::PressHall(floor(0), UP)]);
    crowd.handle_lamp(floor(0), UP, true, secs(1.0));
    for lantern in [None, Some(Direction::Down)] {
        crowd.handle_car(1, at(0, DoorState::Open, lantern), secs(1.5));
        assert_eq!(actions(&mut crowd), [], "it goes the other way, or says nothing");
    }
    crowd.handle_car(0, at(0, DoorState::Open, Some(UP)), secs(2.0));
    assert_eq!(actions(&mut crowd), [Action::Load(0, 8), Action::Doorway(0, true)]);
    crowd.handle_time(secs(3.0));
    let inside = [Action::PressCar(0, floor(3)), Action::Doorway(0, false)];
    assert_eq!(actions(&mut crowd), inside);
    crowd.handle_time(secs(4.0));
    assert_eq!(actions(&mut crowd), [Action::PressHall(floor(3), UP)]);
    crowd.handle_car(0, at(3, DoorState::Open, Some(UP)), secs(9.0));
    assert_eq!(actions(&mut crowd), [Action::Doorway(0, true)]);
    assert_eq!(crowd.count(), Count { waiting: 1, riding: 1, served: 0 });
    crowd.handle_time(secs(10.0));
    assert_eq!(actions(&mut crowd), [Action::Load(0, 0), Action::Load(0, 8)]);
    let trips: Vec<_> = crowd.trips().map(|(_, trip)| trip).collect();
    let first = Journey { boarded: Some(secs(2.0)), exited: Some(secs(10.0)) };
    assert_eq!(trips[0], first);
    assert_eq!(trips[1].boarded, Some(secs(10.0)));
}

/// 13 of 75 kg fit; the next one and all behind stay, and press once the door is closed.
#[test]
fn a_full_car_leaves_people_behind_who_press_again() {
    let passengers: Vec<_> = (0..15).map(|_| passenger(1.0, 0, 3, 75.0)).collect();
    let mut crowd = Crowd::new(&building(), &passengers, 1);
    crowd.handle_time(secs(1.0));
    crowd.handle_lamp(floor(0), UP, true, secs(1.0));
    crowd.handle_car(0, at(0, DoorState::Open, Some(UP)), secs(2.0));
    crowd.handle_lamp(floor(0), UP, false, secs(2.0));
    for second in 3..30 {
        crowd.handle_time(secs(f64::from(second)));
    }
    let seen = actions(&mut crowd);
    let loads = seen.iter().filter(|action| matches!(action, Action::Load(0, _))).count();
    assert_eq!((loads, crowd.count().waiting), (13, 2));
    assert!(seen.contains(&Action::Load(0, 98)));
    crowd.handle_car(0, at(0, DoorState::Closing, Some(UP)), secs(31.0));
    crowd.handle_time(secs(32.0));
    assert_eq!(actions(&mut crowd), [], "nobody calls a full car back");
    crowd.handle_car(0, at(0, DoorState::Closed, Some(UP)), secs(33.0));
    assert_eq!(actions(&mut crowd), [Action::PressHall(floor(0), UP)]);
}

/// Somebody too heavy holds up those behind, who were there later.
#[test]
fn the_load_counts_in_kilograms() {
    let masses = [600.0, 390.0, 30.0, 5.0];
    let passengers = masses.map(|mass| passenger(0.0, 0, 1, mass));
    let mut crowd = Crowd::new(&building(), &passengers, 1);
    crowd.handle_time(secs(0.0));
    crowd.handle_car(0, at(0, DoorState::Open, Some(UP)), secs(1.0));
    for second in 2..9 {
        crowd.handle_time(secs(f64::from(second)));
    }
    assert_eq!(crowd.count(), Count { waiting: 2, riding: 2, served: 0 });
}

/// A press that nobody heard is repeated.
#[test]
fn who_sees_a_dark_button_presses_again() {
    let mut crowd = Crowd::new(&building(), &[passenger(1.0, 4, 9, 75.0)], 1);
    crowd.handle_time(secs(1.0));
    assert_eq!((actions(&mut crowd).len(), crowd.poll_timeout()), (1, Some(secs(4.0))));
    crowd.handle_time(secs(4.0));
    assert_eq!(actions(&mut crowd), [Action::PressHall(floor(4), UP)]);
}

fn kiosks(passengers: &[Passenger]) -> Crowd {
    Crowd::new(&building(), passengers, 1).with_panels(Panels::Kiosks)
}

#[test]
fn who_gives_a_destination_boards_the_car_that_is_told_and_presses_nothing_in_it() {
    let mut crowd = kiosks(&[passenger(1.0, 0, 3, 75.0), passenger(1.0, 0, 5, 75.0)]);
    crowd.handle_time(secs(1.0));
    let given = [3, 5].map(|to| Action::GiveDestination(floor(0), floor(to)));
    assert_eq!(actions(&mut crowd), given);
    crowd.handle_answer(floor(0), floor(3), 1, secs(1.0));
    crowd.handle_car(0, at(0, DoorState::Open, Some(UP)), secs(2.0));
    assert_eq!(actions(&mut crowd), [], "one was told another car, the other none yet");
    crowd.handle_answer(floor(0), floor(5), 0, secs(2.5));
    assert_eq!(actions(&mut crowd), [Action::Load(0, 8), Action::Doorway(0, true)]);
    crowd.handle_time(secs(3.5));
    assert_eq!(actions(&mut crowd), [Action::Doorway(0, false)]);
    crowd.handle_car(1, at(0, DoorState::Open, Some(Direction::Down)), secs(4.0));
    assert_eq!(actions(&mut crowd), [], "it goes the other way");
    crowd.handle_car(1, at(0, DoorState::Open, Some(UP)), secs(5.0));
    assert_eq!(actions(&mut crowd), [Action::Load(1, 8), Action::Doorway(1, true)]);
    let trips: Vec<_> = crowd.trips().map(|(_, trip)| trip.boarded).collect();
    assert_eq!(trips, [Some(secs(5.0)), Some(secs(2.5))]);
}

#[test]
fn who_is_told_no_car_gives_the_destination_again() {
    let mut crowd = kiosks(&[passenger(1.0, 4, 9, 75.0)]);
    crowd.handle_time(secs(1.0));
    let given = [Action::GiveDestination(floor(4), floor(9))];
    assert_eq!(actions(&mut crowd), given);
    assert_eq!(crowd.poll_timeout(), Some(secs(4.0)));
    crowd.handle_time(secs(4.0));
    assert_eq!(actions(&mut crowd), given);
    crowd.handle_answer(floor(4), floor(9), 2, secs(4.0));
    assert_eq!(crowd.poll_timeout(), None);
    // It comes, somebody in front is too slow, and it leaves.
    crowd.handle_car(2, at(4, DoorState::Opening, Some(UP)), secs(5.0));
    crowd.handle_car(2, at(4, DoorState::Closing, Some(UP)), secs(6.0));
    assert_eq!(actions(&mut crowd), []);
    crowd.handle_car(2, at(4, DoorState::Closed, Some(UP)), secs(7.0));
    assert_eq!(actions(&mut crowd), given);
}
