//! What is special about `bully`: estimates, and elections as in the source (B1 to B10).

use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::election::bully::{Estimate, Settings, Wins};
use elevator_fleet::model::Term;
use elevator_fleet::node::Node;
use liftmesh_lab::{Campaign, Fault, Weather, World, WorldSettings};

use crate::building::{Building, bound_of, down, lines, millis, secs, seed};

/// The machines of a building; the last one has the highest name, and leads while all are equal.
const NODES: usize = 5;
const BEST: usize = NODES - 1;

/// All alike, so that the name alone ranks the machines.
fn settings() -> Settings {
    Settings { estimate: Estimate::Fixed(10), ..Settings::default() }
}

/// As in the source, with numbers.
fn source() -> Settings {
    Settings { estimate: Estimate::Fixed(10), ..Settings::source() }
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
    let as_in_the_source = source();
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

/// C3, H1, B10: nor do the others follow the one that took its place for longer, or seek, when some
/// of what they are told gets lost.
#[test]
fn on_a_rough_lan_a_suspended_master_returns_within_the_bound() {
    let bound = bound_of(&ElectionSettings::Bully(settings()), NODES);
    let mut longest = Duration::ZERO;
    for (round, pause) in (0..8).flat_map(|round| [250, 600, 1_000].map(|pause| (round, pause))) {
        let mut world = WorldSettings::new(NODES, seed() * 1_000 + round);
        world.election = ElectionSettings::Bully(settings());
        world.weather =
            Weather { delay: 100..=40_000, loss: 5, duplication: 5, ..Weather::default() };
        let mut building = Building::of(world);
        building.start_all();
        let leads = |world: &World| world.master() == Some(BEST);
        building.until(bound, "the start", leads);
        building.run_for(secs(2) + millis(137 * round));
        building.until(bound, "a while", leads);
        building.press(0, down(2));
        building.run_for(millis(700));
        building.inflict(Fault::Suspend(BEST));
        building.run_for(millis(pause));
        building.inflict(Fault::Resume(BEST));
        let what = format!("its return after {pause} ms, round {round}");
        longest = longest.max(building.until(bound, &what, leads));
    }
    println!("the return of a suspended master on a rough LAN: at most {longest:?}");
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

/// E1, E2, E4, E6, E7 under random faults: with estimates that are fixed, as in the source, and where
/// the lowest wins.
#[test]
fn other_settings_hold_every_invariant_too() {
    let lowest = Settings { wins: Wins::Lowest, ..Settings::default() };
    for (settings, seed) in [settings(), source(), lowest]
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
