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

fn display(world: &World, node: usize) -> String {
    world.car(node).state().display_text
}

/// Every panel of a running node shows a text that begins so.
fn all_show(world: &World, temperature: &str) -> bool {
    let wanted = format!("{temperature} C ");
    world.running().all(|node| display(world, node).starts_with(&wanted))
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

/// C1, C4, F7, F8, K1, M7: no matter who asks and who dies, until the last car serves its own display.
/// Who was suspended does not show what was known before.
#[test]
fn under_every_protocol_the_average_is_on_every_panel() {
    let shown = |left: &[usize]| {
        let sum: usize = left.iter().map(|node| 10 * (node + 1)).sum();
        let tenths = (20 * sum + left.len()) / (2 * left.len());
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    for protocol in Protocol::ALL {
        let (mut building, soon) = warm(ElectionSettings::of(protocol), 4);
        let what = format!("the average under {protocol}");
        building.until(soon, &what, |world| all_show(world, "25.0"));
        building.run_for(soon);
        for _ in 0..3 {
            let running: Vec<usize> = building.running().collect();
            let leads = |node: &&usize| building.node_state(**node) == Some(&NodeState::Master);
            let victim = *running.iter().find(leads).unwrap_or(&running[0]);
            let left: Vec<usize> = running.into_iter().filter(|node| *node != victim).collect();
            building.inflict(Fault::PowerCut(victim));
            building.until(soon, &what, |world| all_show(world, &shown(&left)));
        }
        let last = building.running().next().expect("one runs");
        building.set_climate(last, reads(Some(-5), Some(100)));
        building.until(SOON, "its sensor is read on", |world| all_show(world, "-5.0"));
        building.run_for(secs(20));
        assert!(all_show(&building, "-5.0"), "{protocol}: {}", display(&building, last));
        building.inflict(Fault::Suspend(last));
        building.set_climate(last, reads(Some(10), Some(100)));
        for node in (0..4).filter(|node| *node != last) {
            building.start(node);
            building.set_climate(node, reads(Some(10), Some(100)));
        }
        building.run_for(secs(10));
        building.inflict(Fault::Resume(last));
        building.until(soon, &what, |world| all_show(world, "10.0"));
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
