//! What every election does: one table of scenarios, each of which runs under each protocol, on a
//! sound LAN and on one with 40 ms of jitter and 5 % of loss.
//!
//! What is special about a protocol is in `election_<protocol>.rs`.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preferred, bully};
use elevator_fleet::model::{Role, Term};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

use crate::building::{Building, bound_of, car_call, down, millis, secs, seed, up};

const NODES: usize = 5;

/// How often each scenario runs, on a sound LAN and on a rough one, each time with another seed.
const ROUNDS: [(&str, u64); 2] = [("sound", 4), ("rough", 8)];

/// What happens to a fleet. Afterwards it has one master, the right one, within the bound.
#[derive(Debug, Clone, Copy)]
enum Scenario {
    /// All nodes start, so many milliseconds apart.
    Start(u64),
    /// The process of the master ends.
    MasterIsKilled,
    /// The master's machine goes dark.
    MasterLosesPower,
    /// The master is suspended for so many milliseconds.
    MasterIsSuspended(u64),
    /// The master ends, another one takes over, and the first starts again. Each mastership has a
    /// higher term than the one before.
    MasterReturns,
    /// The network is partitioned into two parts, each with a master, and heals.
    PartsMerge,
    /// Nodes that were all alone from the start can hear each other.
    AllMerge,
}

/// Each scenario with its requirements (besides C3, E1 and E7, which hold in all), and the divisor
/// of its number of rounds.
const SCENARIOS: [(&str, Scenario, u64); 17] = [
    ("F2, F3, B7, M2, M6, M8, V3, V7", Scenario::Start(0), 1),
    ("F2, F3, B7, M2, M6, M8, V3, V7", Scenario::Start(40), 1),
    ("F2, F3, B7, M2, M6, M8, V3, V7", Scenario::Start(400), 1),
    ("F7, F13, B2, B3, C5, E2, M3, M6, M8, T7, V2, V3", Scenario::MasterIsKilled, 1),
    ("F7, F13, B2, B3, C5, E2, M3, M6, M8, T7, V2, V3", Scenario::MasterLosesPower, 1),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(50), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(100), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(150), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(250), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(600), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(1_000), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(2_000), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(5_000), 4),
    ("F7, H1, B2, B10, M9, T8", Scenario::MasterIsSuspended(8_000), 4),
    ("E3, F14, B7, M9, V7", Scenario::MasterReturns, 1),
    ("F8, F14, E4, B10, M9, T4, T8, V12", Scenario::PartsMerge, 1),
    ("F8, E4, B10, M9, T8, V12", Scenario::AllMerge, 1),
];

/// A fleet that a scenario happens to.
#[derive(Debug)]
struct Fleet {
    protocol: Protocol,
    /// The node that is the designated master.
    designated: Option<usize>,
    is_rough: bool,
    round: u64,
}

impl Fleet {
    /// Under `bully` all have one estimate, so the name alone ranks them.
    fn election(&self) -> ElectionSettings {
        match ElectionSettings::of(self.protocol) {
            ElectionSettings::Bully(settings) => ElectionSettings::Bully(bully::Settings {
                estimate: bully::Estimate::Fixed(10),
                ..settings
            }),
            other => other,
        }
    }

    fn bound(&self) -> Duration {
        bound_of(&self.election(), NODES)
    }

    /// The machines, none of which runs.
    fn dark(&self) -> Building {
        let mut settings = WorldSettings::new(NODES, seed() * 1_000 + self.round);
        settings.election = self.election();
        settings.roles =
            self.designated.map(|node| (node, Role::ControlUnit)).into_iter().collect();
        if self.is_rough {
            settings.weather =
                Weather { delay: 100..=40_000, loss: 5, duplication: 5, ..Weather::default() };
        }
        Building::of(settings)
    }

    /// A fleet at rest, at any moment of its periods, and its master.
    fn led(&self) -> (Building, usize) {
        let mut building = self.dark();
        building.start_all();
        self.agree(&mut building, &all(), "the start");
        building.run_for(secs(2) + millis(137 * (self.round % 10)));
        self.agree(&mut building, &all(), "a while");
        let master = building.master().expect("a master");
        (building, master)
    }

    /// The node that has to be master of a group, where the protocol leaves no choice.
    fn required(&self, group: &[usize]) -> Option<usize> {
        match self.election().profile().preferred {
            Preferred::LowestAddress => group.iter().min().copied(),
            Preferred::Fittest => group.iter().max().copied(),
            Preferred::Designated => self.designated.filter(|node| group.contains(node)),
            Preferred::Anybody => None,
        }
    }

    /// Whether a group has one master, the right one, known to all of it.
    fn agrees(&self, world: &World, group: &[usize]) -> bool {
        let required = self.required(group);
        world.master_of(group).is_some_and(|master| required.is_none_or(|node| node == master))
    }

    /// Waits until a group agrees, within the bound.
    fn agree(&self, building: &mut Building, group: &[usize], after: &str) -> Duration {
        let what = format!("{group:?} agree after {after}, {self:?}");
        building.until(self.bound(), &what, |world| self.agrees(world, group))
    }

    /// E6: sees that the master of a group stays, or takes turns with all others.
    fn stays(&self, building: &mut Building, group: &[usize]) {
        let master = building.master_of(group);
        if self.election().profile().rotates {
            // Where an answer to a search is lost or late, a node misses its turn (T3).
            let limit = if self.is_rough { secs(60) } else { secs(10) };
            for node in group {
                building.until(limit, "it has its turn", |world| world.master() == Some(*node));
            }
        } else {
            building.run_for(secs(4));
            assert_eq!(building.master_of(group), master, "{self:?}");
        }
    }

    /// Puts everything right and expects that no order was lost.
    fn recovers(&self, building: &mut Building) {
        building.recovers_under(|world| self.agrees(world, &all()));
    }

    /// How long it took until all agreed.
    fn play(&self, scenario: Scenario) -> Duration {
        let round = usize::try_from(self.round).expect("few rounds");
        match scenario {
            Scenario::Start(apart) => {
                let mut building = self.dark();
                for step in 0..NODES {
                    building.start((step * 3 + round) % NODES);
                    building.run_for(millis(apart));
                }
                let took = self.agree(&mut building, &all(), "the start");
                self.stays(&mut building, &all());
                took
            }
            Scenario::MasterIsKilled => self.dies(Fault::Kill),
            Scenario::MasterLosesPower => self.dies(Fault::PowerCut),
            Scenario::MasterIsSuspended(pause) => self.is_suspended(millis(pause)),
            Scenario::MasterReturns => {
                let (mut building, master) = self.led();
                let first = mastership(&building, &all());
                let fault = [Fault::Kill, Fault::PowerCut][round % 2];
                building.inflict(fault(master));
                self.agree(&mut building, &all_but(master), "its end");
                building.run_for(secs(2));
                let second = mastership(&building, &all_but(master));
                building.inflict(Fault::Restart(master));
                let took = self.agree(&mut building, &all(), "its return");
                let third = mastership(&building, &all());
                assert!(first.1 < second.1, "{first:?}, {second:?}, {self:?}");
                assert!(second == third || second.1 < third.1, "{second:?}, {third:?}, {self:?}");
                self.stays(&mut building, &all());
                took
            }
            Scenario::PartsMerge => self.parts_merge(round),
            Scenario::AllMerge => {
                let mut building = self.dark();
                building.inflict(Fault::Partition(Vec::new()));
                building.start_all();
                building.run_for(secs(2));
                building.inflict(Fault::Heal);
                let took = self.agree(&mut building, &all(), "the merge");
                self.stays(&mut building, &all());
                took
            }
        }
    }

    fn dies(&self, fault: fn(usize) -> Fault) -> Duration {
        let (mut building, master) = self.led();
        building.press((master + 1) % NODES, up(1));
        building.inflict(fault(master));
        let others = all_but(master);
        let took = self.agree(&mut building, &others, "its end");
        self.stays(&mut building, &others);
        self.recovers(&mut building);
        took
    }

    fn is_suspended(&self, pause: Duration) -> Duration {
        let (mut building, master) = self.led();
        building.press((master + 1) % NODES, down(2));
        if !self.is_rough {
            // Its own car is under way.
            building.press(master, up(1));
            building.press(master, car_call(3));
            building.run_for(millis(700));
        }
        building.inflict(Fault::Suspend(master));
        let agreed = if pause >= self.bound() {
            self.agree(&mut building, &all_but(master), "its loss")
        } else {
            Duration::ZERO
        };
        building.run_for(pause.saturating_sub(agreed));
        building.inflict(Fault::Resume(master));
        let took = self.agree(&mut building, &all(), "its return");
        self.stays(&mut building, &all());
        self.recovers(&mut building);
        took
    }

    fn parts_merge(&self, round: usize) -> Duration {
        let (mut building, _) = self.led();
        let parts = [
            [vec![0, 1], vec![2, 3, 4]],
            [vec![0, 2, 4], vec![1, 3]],
            [vec![0, 3], vec![1, 2, 4]],
            [vec![0, 1, 2], vec![3, 4]],
        ];
        let parts = &parts[round % parts.len()];
        building.inflict(Fault::Partition(parts.to_vec()));
        building.until(self.bound(), "each part has its master", |world| {
            parts.iter().all(|part| self.agrees(world, part))
        });
        building.run_for(secs(1));
        building.press(parts[0][0], up(1));
        building.press(parts[1][1], down(3));
        building.run_for(millis(200));
        building.inflict(Fault::Heal);
        let took = self.agree(&mut building, &all(), "the merge");
        self.stays(&mut building, &all());
        self.recovers(&mut building);
        took
    }
}

/// The master of a group, and its term.
fn mastership(world: &World, group: &[usize]) -> (usize, Term) {
    let master = world.master_of(group).expect("a master");
    (master, world.node(master).expect("it runs").term())
}

fn all() -> Vec<usize> {
    (0..NODES).collect()
}

fn all_but(node: usize) -> Vec<usize> {
    (0..NODES).filter(|other| *other != node).collect()
}

/// Runs the whole table and prints the longest times; some rounds have a designated master.
fn every_scenario_ends_with_the_right_master(protocol: Protocol, is_designated: bool) {
    for (requirements, scenario, one_in) in SCENARIOS {
        for (lan, rounds) in ROUNDS {
            let times = (0..rounds.div_ceil(one_in)).map(|round| {
                let designated =
                    is_designated.then(|| usize::try_from(round).expect("few") % NODES);
                let is_rough = lan == "rough";
                Fleet { protocol, designated, is_rough, round }.play(scenario)
            });
            let longest = times.max().unwrap_or_default();
            println!(
                "{protocol}, {scenario:?}: at most {longest:?} on a {lan} LAN ({requirements})"
            );
        }
    }
}

macro_rules! every_scenario {
    ($($module:ident: $protocol:ident),*) => {
        mod every_scenario_under {
            $(#[test]
            fn $module() {
                super::every_scenario_ends_with_the_right_master(super::Protocol::$protocol, false);
            })*
        }
    };
}

elevator_fleet::for_every_protocol!(every_scenario);

/// M2, M9, V7: wherever a node can be the designated master.
#[test]
fn every_scenario_ends_with_the_designated_master() {
    for protocol in Protocol::ALL {
        if protocol.profile().preferred == Preferred::Designated {
            every_scenario_ends_with_the_right_master(protocol, true);
        }
    }
}
