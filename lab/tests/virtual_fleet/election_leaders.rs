//! What is special about `senior` and `ballot`: who leads where several could.

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

use crate::building::{Building, down, millis, rough, secs, seed, up};

/// Machines that are off, some of them control units, and the bound of their election.
fn dark(
    protocol: Protocol,
    nodes: usize,
    units: &[usize],
    weather: Weather,
    round: u64,
) -> (Building, Duration) {
    let mut settings = WorldSettings::new(nodes, seed() * 1_000 + round);
    settings.election = ElectionSettings::of(protocol);
    settings.roles = units.iter().map(|node| (*node, Role::ControlUnit)).collect();
    settings.weather = weather;
    let bound = settings.bound();
    (Building::of(settings), bound)
}

/// V7: the first by name leads, and the other replaces it without a vote.
#[test]
fn of_two_regular_leaders_one_leads() {
    for (round, weather) in (0..24).zip([Weather::default(), rough()].into_iter().cycle()) {
        let (mut building, bound) = dark(Protocol::Ballot, 5, &[3, 4], weather, round);
        building.start_all();
        building.until(bound, "the first leads", World::has_the_right_master);
        building.run_for(secs(3));
        assert_eq!(building.master(), Some(3));
        building.inflict(Fault::PowerCut(3));
        building.until(bound, "the other leads", World::has_the_right_master);
        assert_eq!(building.master(), Some(4));
    }
}

/// M9, C3, E4, F14: each side has a master; then the one with the higher address leads all.
#[test]
fn of_two_masters_that_meet_the_higher_address_stays() {
    for round in 0..25 {
        let (mut building, bound) = dark(Protocol::Senior, 5, &[], rough(), round);
        let sides = vec![vec![0, 1, 2], vec![3, 4]];
        building.inflict(Fault::Partition(sides.clone()));
        building.start_all();
        building.run_for(bound);
        let masters = sides.iter().filter_map(|side| building.master_of(side));
        let masters: Vec<usize> = masters.collect();
        assert_eq!(masters.len(), 2, "one a side");
        building.press(1, up(1));
        building.press(4, down(3));
        building.inflict(Fault::Heal);
        building.until(bound, "one leads all", World::has_the_right_master);
        assert_eq!(building.master(), masters.into_iter().max());
        building.until_at_rest();
    }
}

/// M3, C5: at 30 % loss a master keeps its slaves for as long as they hear it at all.
#[test]
fn a_fleet_on_a_bad_line_is_led_almost_always() {
    let (mut building, bound) = dark(Protocol::Senior, 4, &[], rough(), 0);
    building.start_all();
    building.until(bound, "one leads", World::has_the_right_master);
    building.run_for(secs(2));
    building.inflict(Fault::Loss(30));
    building.run_for(secs(2));
    let led = (0..200).filter(|_| {
        building.run_for(millis(50));
        building.master().is_some()
    });
    assert!(led.count() > 150, "{}", building.story(60));
}
