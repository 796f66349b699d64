//! The random campaign finds every deliberate defect, by an invariant that may report it; some of
//! them in a separate scenario.
//!
//! `cargo test -p liftmesh-lab --features seeded-bugs --test seeded_bugs -- --nocapture` prints the
//! table. `LIFTMESH_SEEDS=40` runs this many seeds of each defect, whether or not an earlier one
//! has caught it, and counts; `LIFTMESH_BUG=LampBeforeDisk` takes one defect alone.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "all of this is test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use elevator_driver::{Button, Climate, Direction, Floor};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::seeded::{SeededBug, with_bug};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{BadMaster, Campaign, Fault, MotorFault, Violation, World, WorldSettings};
use rayon::prelude::*;

/// A defect that no seed up to this one catches counts as not found.
const MOST_SEEDS: u64 = 200;

/// A defect, and what has to catch it.
struct Case {
    bug: SeededBug,
    /// The invariants that may report it.
    by: &'static [&'static str],
    /// The election under which it shows.
    election: (Protocol, Preset),
    /// The last byte of the first machine's address.
    first_address: u8,
    /// What happens in place of a random campaign, where that has no such fault.
    scenario: Option<fn(&ElectionSettings, u64) -> Vec<Violation>>,
}

/// What the seeds of one defect came to.
#[derive(Default)]
struct Hunt {
    /// The first seed that caught it, with the first violation that may report it.
    first: Option<(u64, Violation)>,
    /// How many seeds caught it.
    caught: u64,
    run: u64,
    /// How many seeds had violations of each invariant.
    ids: BTreeMap<&'static str, u64>,
}

const fn case(bug: SeededBug, by: &'static [&'static str]) -> Case {
    let election = (Protocol::LowestIp, Preset::Fleet);
    Case { bug, by, election, first_address: 1, scenario: None }
}

const fn under(protocol: Protocol, bug: SeededBug, by: &'static [&'static str]) -> Case {
    Case { election: (protocol, Preset::Fleet), ..case(bug, by) }
}

const CASES: &[Case] = &[
    case(SeededBug::LampBeforeDisk, &["P1"]),
    case(SeededBug::LampWithOneHolder, &["P1"]),
    case(SeededBug::AckBeforeDisk, &["P1"]),
    case(SeededBug::PromiseEndsWithHolder, &["P1"]),
    case(SeededBug::PromiseLostWithRepeat, &["P1"]),
    case(SeededBug::NothingPromised, &["F12"]),
    case(SeededBug::LampsNotRestored, &["P3"]),
    case(SeededBug::HallLampsNotReplicated, &["P4"]),
    case(SeededBug::PressLostAfterService, &["F4"]),
    case(SeededBug::LockedFloorAccepted, &["F4"]),
    case(SeededBug::ServiceClosesLaterPress, &["O1"]),
    case(SeededBug::ServiceClosesWholeLanding, &["P1"]),
    case(SeededBug::ServiceClosesWholeLanding, &["O1"]),
    case(SeededBug::StateReplacesStore, &["P1", "O1"]),
    case(SeededBug::TransferOmitsOthers, &["O7", "P4", "E4"]),
    case(SeededBug::JoinWithoutTransfer, &["E4"]),
    case(SeededBug::DigestOmitsServices, &["O7"]),
    case(SeededBug::SequencesReused, &["O4", "F4", "panic"]),
    case(SeededBug::DirectionLostOnWire, &["F5"]),
    case(SeededBug::TermNotRaised, &["E3"]),
    case(SeededBug::TermForgotten, &["E3"]),
    case(SeededBug::PlanOfAnybody, &["E3"]),
    case(SeededBug::OldPlanKept, &["E3"]),
    case(SeededBug::PlanOfFormerMaster, &["E3"]),
    case(SeededBug::AllAssignedHere, &["E3"]),
    Case {
        scenario: Some(a_master_has_led_badly),
        ..under(Protocol::TokenRing, SeededBug::AllAssignedHere, &["E3"])
    },
    case(SeededBug::SlaveKeepsLostMaster, &["E1"]),
    case(SeededBug::YieldsBeforeHandOver, &["E4"]),
    case(SeededBug::MasterNeverYields, &["E1"]),
    Case { first_address: 8, ..case(SeededBug::AddressesComparedAsText, &["E1", "E7"]) },
    under(Protocol::Bully, SeededBug::LeastFitWins, &["E1"]),
    under(Protocol::Senior, SeededBug::SeniorNeverYields, &["E1"]),
    under(Protocol::Ballot, SeededBug::EveryVoteWins, &["E1"]),
    under(Protocol::Ballot, SeededBug::StandInsNeverVote, &["E1"]),
    under(Protocol::TokenRing, SeededBug::HoldersNeverMeet, &["E1"]),
    case(SeededBug::PeersLostEarly, &["E6"]),
    case(SeededBug::RestartIsConflict, &["C7"]),
    case(SeededBug::TopFloorImpossible, &["C7"]),
    case(SeededBug::TagNotChecked, &["F5"]),
    Case {
        scenario: Some(what_a_dead_master_said_is_sent_again),
        ..case(SeededBug::ReplayAccepted, &["E1", "E6", "C7"])
    },
    case(SeededBug::FailedDiskTrusted, &["P5"]),
    case(SeededBug::LampsStayLit, &["P2"]),
    case(SeededBug::LostCarKeepsCalls, &["H4"]),
    case(SeededBug::DownCallsUnassigned, &["E8"]),
    case(SeededBug::DoorOpensBeforeStop, &["S1"]),
    case(SeededBug::RunsWithOpenDoor, &["S1"]),
    case(SeededBug::StopSwitchIgnored, &["S1"]),
    case(SeededBug::TurnsToNearestStop, &["S3"]),
    case(SeededBug::ServesInPassing, &["F18"]),
    case(SeededBug::ServesBothDirections, &["F18"]),
    case(SeededBug::TripEndsBeforeRide, &["F12"]),
    case(SeededBug::TripBoardsUnseen, &["F18"]),
    case(SeededBug::PriorityServesHalls, &["F18"]),
    case(SeededBug::RecallNeverEnds, &["O1"]),
    case(SeededBug::SettingsSentOnce, &["O7"]),
    case(SeededBug::EveryCarHasItsTurn, &["S1"]),
    Case { scenario: Some(a_hung_node_is_started), ..case(SeededBug::LatchNotPersisted, &["H3"]) },
    Case {
        scenario: Some(a_robot_has_a_door_held_open),
        ..case(SeededBug::SessionNeverEnds, &["F19"])
    },
    Case { scenario: Some(a_hung_node_is_started), ..case(SeededBug::HangDetectedLate, &["H5"]) },
    case(SeededBug::HangDetectedEarly, &["H1"]),
    case(SeededBug::HangReportedBeforeStop, &["H6"]),
    Case { scenario: Some(a_warm_node_is_cut_off), ..case(SeededBug::StaleReadingsCount, &["K2"]) },
];

/// So many machines under this election, all on for half a minute.
fn started(nodes: usize, election: &ElectionSettings, seed: u64) -> World {
    let settings = WorldSettings { election: election.clone(), ..WorldSettings::new(nodes, seed) };
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(30));
    world
}

/// The sensors of a campaign read about the same everywhere. Here one of four nodes is in a warm
/// place, and is cut off.
fn a_warm_node_is_cut_off(election: &ElectionSettings, seed: u64) -> Vec<Violation> {
    let mut world = started(4, election, seed);
    for (node, temperature) in [10, 10, 10, 40].into_iter().enumerate() {
        let climate = Climate { temperature: Some(temperature), illuminance: Some(50) };
        world.set_climate(node, climate);
    }
    world.run_for(Duration::from_secs(30));
    world.inflict(Fault::Partition(vec![vec![0, 1, 2], vec![3]]));
    world.run_for(Duration::from_secs(30));
    world.violations()
}

/// In few campaigns a robot forgets its car.
fn a_robot_has_a_door_held_open(election: &ElectionSettings, seed: u64) -> Vec<Violation> {
    let mut world = started(3, election, seed);
    let floor = Some(Floor::BOTTOM);
    world.inflict(Fault::Session { at: 0, session: 1, car: Some(0), floor });
    world.run_for(Duration::from_mins(2));
    world.violations()
}

/// In few campaigns what a node said before it died is repeated while all is calm.
fn what_a_dead_master_said_is_sent_again(election: &ElectionSettings, seed: u64) -> Vec<Violation> {
    let election = election.clone();
    let settings = WorldSettings { key: true, election, ..WorldSettings::new(3, seed) };
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    world.inflict(Fault::Kill(0));
    world.run_for(Duration::from_secs(10));
    for recording in 0..256 {
        world.inflict(Fault::Replay { recording, to: 1 + recording % 2 });
        world.run_for(Duration::from_millis(20));
    }
    world.run_for(Duration::from_secs(5));
    world.violations()
}

/// In a campaign the latch of a node is cleared before it is started. Here nobody does that.
fn a_hung_node_is_started(election: &ElectionSettings, seed: u64) -> Vec<Violation> {
    let mut world = started(2, election, seed);
    world.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    world.press(0, Button::Car(world.floors().top()));
    let hung = world.run_until(Duration::from_mins(10), |world| world.node(0).is_none());
    assert!(hung.is_some(), "it hangs");
    world.run_for(Duration::from_secs(10));
    world.inflict(Fault::Restart(0));
    world.run_for(Duration::from_secs(10));
    world.violations()
}

/// A master says what it has not planned, and leads well again. What it said then may go along with the
/// mastership, and excuses nothing else.
fn a_master_has_led_badly(election: &ElectionSettings, seed: u64) -> Vec<Violation> {
    let mut world = started(4, election, seed);
    let lead_and_press = |world: &mut World, bad, direction| {
        for node in 0..4 {
            world.inflict(Fault::Leads(node, bad));
        }
        world.run_for(Duration::from_secs(20));
        for floor in world.floors().floors() {
            world.press(1, Button::Hall(floor, direction));
            world.run_for(Duration::from_secs(5));
        }
    };
    lead_and_press(&mut world, Some(BadMaster::Confused), Direction::Up);
    let before = world.violations();
    assert!(before.is_empty(), "nobody is believed meanwhile: {before:?}");
    lead_and_press(&mut world, None, Direction::Down);
    world.violations()
}

impl Case {
    /// What is wrong in the campaign of this seed with the defect: all of it, or as much as shows
    /// that the defect is caught. A panic counts as such: where debug assertions are compiled in, one
    /// of them may be the first to notice.
    fn violations(&self, seed: u64, to_the_end: bool) -> Vec<Violation> {
        let (protocol, preset) = self.election;
        let election = ElectionSettings::preset(protocol, preset);
        if let Some(scenario) = self.scenario {
            return with_bug(Some(self.bug), || scenario(&election, seed));
        }
        let mut campaign = Campaign::by_seed(seed).under(election);
        campaign.world.first_address = self.first_address;
        let enough = |violation: &Violation| !to_the_end && self.by.contains(&violation.id);
        let run = || with_bug(Some(self.bug), || campaign.run_until(enough));
        let Ok(outcome) = catch_unwind(AssertUnwindSafe(run)) else {
            let (at, what) = (campaign.duration, "a debug assertion".to_owned());
            return vec![Violation { at, id: "panic", what }];
        };
        outcome.expect("a world").violations
    }

    /// Runs the first seeds, until one catches the defect or, where a number is given, this many.
    fn hunt(&self, seeds: Option<u64>) -> Hunt {
        let mut hunt = Hunt::default();
        for seed in 1..=seeds.unwrap_or(MOST_SEEDS) {
            let violations = self.violations(seed, seeds.is_some());
            let ids: BTreeSet<_> = violations.iter().map(|violation| violation.id).collect();
            for id in ids {
                *hunt.ids.entry(id).or_default() += 1;
            }
            hunt.run += 1;
            let mut violations = violations.into_iter();
            if let Some(violation) = violations.find(|violation| self.by.contains(&violation.id)) {
                hunt.caught += 1;
                hunt.first.get_or_insert((seed, violation));
                if seeds.is_none() {
                    break;
                }
            }
        }
        hunt
    }
}

/// P1 to P5, O1, O4, O7, C7, E1, E3, E4, E6, E8, F4, F5, F12, F18, F19, H1, H3 to H6, K2, S1,
/// S3: each oracle catches what it is for.
#[test]
fn every_seeded_bug_is_caught() {
    let seeds = std::env::var("LIFTMESH_SEEDS").ok();
    let seeds = seeds.map(|seeds| seeds.parse().expect("LIFTMESH_SEEDS: a number"));
    let only = std::env::var("LIFTMESH_BUG").ok();
    let name = |case: &Case| format!("{:?}", case.bug);
    let chosen = |case: &&Case| only.as_ref().is_none_or(|only| *only == name(case));
    let cases: Vec<&Case> = CASES.iter().filter(chosen).collect();
    assert!(!cases.is_empty(), "LIFTMESH_BUG: a defect of elevator_fleet::seeded");
    let hunts: Vec<_> = cases.par_iter().with_max_len(1).map(|case| case.hunt(seeds)).collect();
    println!("| defect | election | caught by | first seed | seeds that catch it | all reports |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (case, hunt) in cases.iter().zip(&hunts) {
        let (protocol, preset) = case.election;
        let first = hunt.first.as_ref();
        let (seed, id) = first.map_or((0, "nothing"), |(seed, by)| (*seed, by.id));
        let all: Vec<_> = hunt.ids.iter().map(|(id, count)| format!("{id} {count}")).collect();
        println!(
            "| `{}` | `{protocol}` {preset:?} | {id} | {seed} | {} of {} | {} |",
            name(case),
            hunt.caught,
            hunt.run,
            all.join(", ")
        );
    }
    if only.is_some() {
        for (seed, violation) in hunts.iter().filter_map(|hunt| hunt.first.as_ref()) {
            println!("seed {seed}: {violation}");
        }
    }
    let missed = cases.iter().zip(&hunts).filter(|(_, hunt)| hunt.first.is_none());
    let missed: Vec<String> = missed.map(|(case, _)| name(case)).collect();
    assert!(missed.is_empty(), "no seed catches {missed:?}");
    let has_case = |bug: &&SeededBug| CASES.iter().any(|case| case.bug == **bug);
    let without: Vec<_> = SeededBug::ALL.iter().filter(|bug| !has_case(bug)).collect();
    assert!(without.is_empty(), "no case for {without:?}");
}
