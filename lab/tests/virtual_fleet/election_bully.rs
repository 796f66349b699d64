//! What is special about `bully`: estimates, and elections as in the source (B1 to B10).

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::election::bully::{Estimate, Settings};
use elevator_fleet::model::Term;
use elevator_fleet::node::Node;
use liftmesh_lab::{Campaign, Fault, World, WorldSettings};

use crate::building::{Building, bound_of, lines, millis, secs, seed};

/// The machines of a building; the last one has the highest name, and leads while all are equal.
const NODES: usize = 5;
const BEST: usize = NODES - 1;

/// All alike, so that the name alone ranks the machines.
fn settings() -> Settings {
    Settings { estimate: Estimate::Fixed(10), ..Settings::default() }
}

fn building(settings: Settings, seed: u64) -> Building {
    let mut world = WorldSettings::new(NODES, seed);
    world.election = ElectionSettings::Bully(settings);
    Building::of(world)
}

/// One that has long come to rest.
fn settled(settings: Settings, seed: u64) -> Building {
    let mut building = building(settings, seed);
    building.start_all();
    building.run_for(secs(30));
    assert_eq!(building.master(), Some(BEST), "{}", building.story(60));
    building
}

/// Waits until this one leads all that run, within the bound, and sees that it stays.
fn leads(building: &mut Building, node: usize, bound: Duration) -> Duration {
    let took = building.until(bound, "the best leads all", |world| world.master() == Some(node));
    building.run_for(secs(3));
    assert_eq!(building.master(), Some(node), "and stays");
    took
}

/// Runs a scenario over some seeds, and says how long it took at most.
fn measure(
    what: &str,
    settings: &Settings,
    scenario: impl Fn(&mut Building, Duration) -> Duration,
) {
    let bound = bound_of(&ElectionSettings::Bully(settings.clone()), NODES);
    let times = (0..6).map(|more| {
        let mut building = settled(settings.clone(), seed() + more);
        scenario(&mut building, bound)
    });
    let longest = times.max().unwrap_or_default();
    println!("{what}: at most {longest:?}, bound {bound:?}");
}

/// B2, B4: so do they without the mesh's help, asking the dead one too.
#[test]
fn as_in_the_source_the_fleet_finds_a_master_too() {
    let as_in_the_source = Settings { mesh_detection: false, ..settings() };
    measure("master dark, as in the source", &as_in_the_source, |building, bound| {
        building.inflict(Fault::PowerCut(BEST));
        let died = leads(building, BEST - 1, bound);
        building.inflict(Fault::Restart(BEST));
        died.max(leads(building, BEST, bound))
    });
}

/// B6, E6: an election that changes nothing interrupts nobody.
#[test]
fn a_lesser_node_returns_with_no_change_to_the_others() {
    let mut building = settled(settings(), seed());
    building.inflict(Fault::PowerCut(0));
    building.run_for(secs(3));
    let terms = |world: &World| -> Vec<Option<Term>> {
        (1..NODES).map(|node| world.node(node).map(Node::term)).collect()
    };
    let before = terms(&building);
    building.inflict(Fault::Restart(0));
    for _ in 0..300 {
        building.run_for(millis(10));
        let others: Vec<usize> = (1..NODES).collect();
        assert_eq!(building.master_of(&others), Some(BEST));
    }
    assert_eq!(building.master(), Some(BEST));
    assert_eq!(terms(&building), before);
}

/// B1, B10, E6: a car out of service changes no master, a disk that fails does.
#[test]
fn a_small_change_of_health_changes_no_master_and_a_large_one_does() {
    measure("master's disk fails", &Settings::default(), |building, bound| {
        let term = building.node(0).map(Node::term);
        building.inflict(Fault::StopSwitch(BEST, true));
        building.run_for(secs(5));
        assert_eq!(building.node(BEST).map(Node::estimate), Some(80));
        assert_eq!(building.master(), Some(BEST));
        assert_eq!(building.node(0).map(Node::term), term);
        building.inflict(Fault::DiskFail(BEST));
        leads(building, BEST - 1, bound)
    });
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

/// B6, B7, B10, E6: where health ranks, an event changes the master once, and its end never does.
#[test]
fn one_event_changes_the_master_once_at_most() {
    let events = events();
    for more in 0..6 {
        let mut building = settled(Settings::default(), seed() + more);
        for (what, faults, expected) in &events {
            let changes = changes(&mut building, faults);
            println!("seed {}: {what}: {changes}", seed() + more);
            assert_eq!(changes, *expected, "{what}\n{}", building.story(100));
        }
    }
}

/// What happens, the faults that make it up and the time that each has, and how often the master
/// is to change.
type Happening = (&'static str, Vec<(Fault, Duration)>, usize);

/// One after the other; at the beginning the highest leads.
fn events() -> [Happening; 9] {
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
    ]
}

/// E1, E2, E4, E6, E7 under random faults: with estimates that are fixed, and as in the source.
#[test]
fn other_settings_hold_every_invariant_too() {
    let as_in_the_source = Settings { mesh_detection: false, ..settings() };
    for (settings, seed) in [settings(), as_in_the_source]
        .into_iter()
        .flat_map(|settings| (1..=8).map(move |seed| (settings.clone(), seed)))
    {
        let mut campaign = Campaign::by_seed(seed);
        campaign.world.election = ElectionSettings::Bully(settings.clone());
        let outcome = campaign.run().expect("a world");
        assert!(
            outcome.violations.is_empty(),
            "seed {seed}, {settings:?}\n{}",
            lines(&outcome.violations)
        );
    }
}
