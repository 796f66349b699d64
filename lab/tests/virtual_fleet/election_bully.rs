//! What is special about `bully`: estimates of health.

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::election::bully::Settings;
use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, millis, secs, seed};

/// The machines of a building; the last one has the highest name, and leads while all are equal.
const NODES: usize = 5;
const BEST: usize = NODES - 1;

/// One that has long come to rest, with estimates of its nodes' health.
fn settled(seed: u64) -> Building {
    let mut settings = WorldSettings::new(NODES, seed);
    settings.election = ElectionSettings::Bully(Settings::default());
    let building = Building::on(settings, secs(30));
    assert_eq!(building.master(), Some(BEST), "{}", building.story(60));
    building
}

/// How often all come to follow another while a fault has its time.
fn changes(building: &mut Building, faults: &[(Fault, Duration)]) -> usize {
    let mut master = building.master();
    let mut changes = 0;
    for (fault, time) in faults {
        building.inflict(fault.clone());
        let until = building.now() + *time;
        while building.now() < until {
            building.run_for(millis(5));
            let now = building.master();
            if now.is_some() && now != master {
                changes += 1;
                master = now;
            }
        }
    }
    assert_eq!(building.master(), master, "one leads at the end");
    changes
}

/// B1, B6, B7, B10, E6: where health ranks, an event changes the master once, and its end never does.
/// A car out of service changes no master, a disk that fails does.
#[test]
fn one_event_changes_the_master_once_at_most() {
    let events = events();
    for seed in seed()..seed() + 6 {
        let mut building = settled(seed);
        for (what, faults, expected) in &events {
            let changes = changes(&mut building, faults);
            assert_eq!(changes, *expected, "{what}\n{}", building.story(100));
        }
    }
}

/// What happens, the faults that make it up and the time that each has, and how often the master
/// is to change.
type Happening = (&'static str, Vec<(Fault, Duration)>, usize);

/// One after the other; at the beginning the highest leads.
fn events() -> [Happening; 10] {
    let alone = |node: usize| {
        let others = (0..NODES).filter(|other| *other != node).collect();
        Fault::Partition(vec![others, vec![node]])
    };
    let everybody =
        |fault: fn(usize) -> Fault| (0..NODES).map(move |node| (fault(node), millis(0)));
    let dark = everybody(Fault::PowerCut).chain([(Fault::Heal, secs(2))]);
    let power_cut = dark.chain(everybody(Fault::Restart)).chain([(Fault::Heal, secs(5))]).collect();
    [
        (
            "the master's panel is away for a moment",
            vec![(Fault::LineCut(4, true), millis(300)), (Fault::LineCut(4, false), secs(3))],
            0,
        ),
        (
            "the master's car stops, and somebody else restarts",
            vec![
                (Fault::StopSwitch(4, true), secs(3)),
                (Fault::Kill(0), secs(1)),
                (Fault::Restart(0), secs(3)),
                (Fault::StopSwitch(4, false), secs(3)),
            ],
            0,
        ),
        (
            "the master's panel is cut and plugged",
            vec![(Fault::LineCut(4, true), secs(3)), (Fault::LineCut(4, false), secs(5))],
            1,
        ),
        (
            "somebody else restarts",
            vec![(Fault::Kill(0), secs(1)), (Fault::Restart(0), secs(3))],
            0,
        ),
        (
            "a follower's network is cut and repaired",
            vec![(alone(4), secs(3)), (Fault::Heal, secs(3))],
            0,
        ),
        (
            "the master's network is cut and repaired",
            vec![(alone(3), secs(3)), (Fault::Heal, secs(3))],
            1,
        ),
        (
            "the network falls in two, and together again",
            vec![
                (Fault::Partition(vec![vec![0, 1, 2], vec![3, 4]]), secs(3)),
                (Fault::Heal, secs(3)),
            ],
            0,
        ),
        ("the master restarts", vec![(Fault::Kill(4), secs(2)), (Fault::Restart(4), secs(3))], 1),
        ("all restart, and the highest leads", power_cut, 1),
        ("the master's disk fails", vec![(Fault::DiskFail(4), secs(5))], 1),
    ]
}
