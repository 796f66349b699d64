//! Readings reach the master, averages reach every panel.

use std::time::Duration;

use elevator_driver::Climate;
use elevator_fleet::election::{ElectionSettings, Preset, ballot};
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, secs, seed};

/// Longer than a request, its answers, and the line to a panel take, whenever it is asked.
const SOON: Duration = Duration::from_millis(1_500);

fn reads(temperature: Option<i8>, illuminance: Option<u8>) -> Climate {
    Climate { temperature, illuminance }
}

/// Nodes that have merged, with these temperatures in their cabins.
fn warmed(temperatures: &[i8]) -> Building {
    let mut building = Building::merged(temperatures.len());
    for (node, temperature) in temperatures.iter().enumerate() {
        building.set_climate(node, reads(Some(*temperature), Some(100)));
    }
    building.run_for(secs(3));
    building
}

fn display(world: &World, node: usize) -> String {
    world.car(node).state().display_text
}

/// Every panel of a running node shows a text that begins so.
fn all_show(world: &World, temperature: &str) -> bool {
    let wanted = format!("{temperature} C ");
    world.running().all(|node| display(world, node).starts_with(&wanted))
}

/// C4, V11, K2
#[test]
fn the_average_of_all_cabins_is_on_every_panel() {
    let mut building = warmed(&[18, 21, 25]);
    assert!(all_show(&building, "21.3"), "{}", display(&building, 0));
    assert_eq!(display(&building, 2), "21.3 C 12:00", "and the time");
    building.set_climate(1, reads(Some(-40), Some(100)));
    building.until(SOON, "the new average is shown", |w| all_show(w, "1.0"));
    building.run_for(secs(60));
    assert_eq!(display(&building, 1), "1.0 C 12:01");
}

/// C1, C4: under every protocol, no matter who asks.
#[test]
fn under_every_protocol_the_average_is_on_every_panel() {
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(4, seed());
        settings.election = ElectionSettings::of(protocol);
        let bound = settings.bound();
        let mut building = Building::of(settings);
        building.start_all();
        for (node, temperature) in [10, 20, 30, 40].into_iter().enumerate() {
            building.set_climate(node, reads(Some(temperature), Some(100)));
        }
        let what = format!("the average under {protocol}");
        building.until(bound + secs(8), &what, |w| all_show(w, "25.0"));
        building.run_for(bound);
        let master =
            building.running().find(|node| building.node_state(*node) == Some(&NodeState::Master));
        let victim = master.expect("a master");
        building.inflict(Fault::PowerCut(victim));
        let left = ["30.0", "26.7", "23.3", "20.0"][victim];
        building.until(bound + secs(8), &what, |w| all_show(w, left));
        building.repair_everything();
        building.until(bound + secs(8), &what, |w| all_show(w, "25.0"));
    }
}

/// A fleet under this election, in which every cabin has another temperature, 10 °C apart, and the
/// time within which its displays are right.
fn warm(election: ElectionSettings, nodes: u8) -> (Building, Duration) {
    let mut settings = WorldSettings::new(usize::from(nodes), seed());
    settings.election = election;
    let soon = settings.bound() + secs(8);
    let mut building = Building::of(settings);
    building.start_all();
    for (node, temperature) in (10..).step_by(10).take(usize::from(nodes)).enumerate() {
        building.set_climate(node, reads(Some(temperature), Some(100)));
    }
    (building, soon)
}

/// C1, C4, M7: the last car standing serves its own display, whether it was ever one of several.
#[test]
fn under_every_protocol_a_car_alone_shows_its_own_climate() {
    for protocol in Protocol::ALL {
        let election = ElectionSettings::of(protocol);
        let (mut building, soon) = warm(election.clone(), 1);
        building.until(soon, &format!("one car under {protocol}"), |w| all_show(w, "10.0"));
        building.set_climate(0, reads(Some(25), Some(100)));
        building.until(SOON, "its sensor is read on", |w| all_show(w, "25.0"));

        let (mut building, soon) = warm(election, 4);
        building.until(soon, &format!("four cars under {protocol}"), |w| all_show(w, "25.0"));
        for (victim, left) in [(3, "20.0"), (0, "25.0"), (1, "30.0")] {
            building.inflict(Fault::PowerCut(victim));
            let what = format!("without car {victim} under {protocol}");
            building.until(soon, &what, |w| all_show(w, left));
        }
        building.run_for(secs(20));
        assert!(all_show(&building, "30.0"), "{protocol}: {}", display(&building, 2));
    }
}

/// C4, K1: between two rare requests nothing expires.
#[test]
fn displays_are_steady_however_rarely_sensors_are_asked() {
    let slow = ballot::Settings {
        control_period: secs(10),
        lost_after: secs(20),
        ..ballot::Settings::default()
    };
    let senior = ElectionSettings::preset(Protocol::Senior, Preset::Source);
    for election in [senior, ElectionSettings::Ballot(slow)] {
        let what = format!("{election:?}");
        let (mut building, soon) = warm(election, 3);
        building.until(soon, &what, |w| all_show(w, "20.0"));
        for _ in 0..150 {
            building.run_for(secs(1));
            assert!(all_show(&building, "20.0"), "{what}: {}", display(&building, 0));
        }
    }
}

/// C4: the backlight follows the light, slowly, and alike everywhere.
#[test]
fn every_panel_has_the_backlight_of_the_average_light() {
    let mut building = warmed(&[21, 21]);
    building.run_for(secs(60));
    let backlights = |world: &World| [0, 1].map(|node| world.car(node).state().display_brightness);
    let [Some(bright), other] = backlights(&building) else {
        panic!("no backlight");
    };
    assert_eq!(other, Some(bright));
    building.set_climate(0, reads(Some(21), Some(0)));
    building.set_climate(1, reads(Some(21), Some(0)));
    building.run_for(SOON);
    let [Some(dimmed), other] = backlights(&building) else {
        panic!("no backlight");
    };
    assert_eq!(other, Some(dimmed));
    assert!((100..bright).contains(&dimmed), "{dimmed} after {bright}");
    building.run_for(secs(60));
    assert_eq!(backlights(&building), [Some(30); 2], "never dark");
}

/// C4, F7, K1: the next master asks, and the dead one's reading lapses.
#[test]
fn the_average_goes_on_without_a_master_that_died() {
    for victim in [0, 2] {
        let mut building = warmed(&[18, 21, 25]);
        building.inflict(Fault::PowerCut(victim));
        let left = if victim == 0 { "23.0" } else { "19.5" };
        let took = building.until(secs(7), "the average of those that live", |w| all_show(w, left));
        println!("without {victim}: after {took:?}");
        building.set_climate(1, reads(Some(11), Some(100)));
        let left = if victim == 0 { "18.0" } else { "14.5" };
        building.until(SOON, "it goes on", |w| all_show(w, left));
        building.recovers();
        building.run_for(secs(2));
        assert!(all_show(&building, "18.0"), "{}", display(&building, 0));
    }
}

/// K1, K2: a dead sensor counts for nothing, and where all are dead the panels say so.
#[test]
fn dead_sensors_are_left_out_and_unknown_is_shown_as_unknown() {
    let mut building = warmed(&[18, 21, 25]);
    building.set_climate(2, reads(None, Some(100)));
    building.until(SOON, "without the dead sensor", |w| all_show(w, "19.5"));
    for node in 0..2 {
        building.set_climate(node, reads(None, None));
    }
    building.until(SOON, "unknown", |w| all_show(w, "--"));
    assert_eq!(display(&building, 1), "-- C 12:00");
    let backlight = building.car(0).state().display_brightness;
    assert!(backlight.is_some(), "the master's default");
}

/// K2, F8: each group has its own average, and one again when they are one again.
#[test]
fn a_node_alone_shows_its_own_climate() {
    let mut building = warmed(&[18, 21, 26]);
    building.inflict(Fault::Partition(vec![vec![0, 1], vec![2]]));
    building.until(secs(8), "each its own", |w| {
        display(w, 2).starts_with("26.0 C")
            && [0, 1].iter().all(|n| display(w, *n).starts_with("19.5 C"))
    });
    building.recovers();
    building.until(secs(8), "one average", |w| all_show(w, "21.7"));
}

/// K1: a process that was suspended for long does not show what was known before.
#[test]
fn a_suspended_node_comes_back_without_an_old_average() {
    let mut building = warmed(&[18, 22]);
    building.inflict(Fault::Suspend(1));
    building.set_climate(0, reads(Some(30), Some(100)));
    building.run_for(secs(10));
    assert_eq!(display(&building, 0), "30.0 C 12:00", "the silent do not count");
    building.inflict(Fault::Resume(1));
    building.until(secs(3), "an average of both", |w| all_show(w, "26.0"));
}
