//! What every election does: one table of scenarios, each of which runs under each protocol, on a
//! sound LAN and on one with 40 ms of jitter and 5 % of loss.
//!
//! More of what is special about a protocol is in `election_<protocol>.rs`.

use std::ops::Range;
use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preferred, bully};
use elevator_fleet::model::{Role, Term};
use elevator_fleet::node::Node;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{
    Building, bound_of, car_call, down, millis, mins, rough, secs, seed, states, up, usually,
};

const NODES: usize = 5;

/// The rounds of each scenario on a sound LAN and on a rough one. Each round has its own seed.
fn rounds() -> [(bool, Range<u64>); 2] {
    usually([(false, 0..1), (true, 1..3)], [(false, 0..3), (true, 0..5)])
}

/// What happens to a fleet. Afterwards it has one master, the right one, within the bound.
#[derive(Debug, Clone, Copy)]
enum Scenario {
    /// All nodes start, this many milliseconds apart.
    Start(u64),
    /// The process of the master ends.
    MasterIsKilled,
    /// The master's machine goes dark.
    MasterLosesPower,
    /// The master is suspended for this many milliseconds.
    MasterIsSuspended(u64),
    /// The master ends, another one takes over, and the first starts again. Each mastership has a
    /// higher term than the one before.
    MasterReturns,
    /// The network is partitioned into two parts, each with a master, and heals.
    PartsMerge,
    /// Nodes that were all alone from the start can hear each other.
    AllMerge,
}

/// Each scenario, and the divisor of its number of rounds. Besides C3, E1 and E7, which hold in all,
/// it is about these requirements.
fn scenarios() -> impl Iterator<Item = (Scenario, usize)> {
    // F2, F3, B7, M2, M6, M8, V3, V7
    let starts = [0, 40, 400].map(|apart| (Scenario::Start(apart), 1));
    let others = [
        // F7, F13, B2, B3, C5, E2, M3, M6, M8, T7, V2, V3
        Scenario::MasterIsKilled,
        Scenario::MasterLosesPower,
        // E3, F14, B7, M9, V7
        Scenario::MasterReturns,
        // F8, F14, E4, B10, M9, T4, T8, V12
        Scenario::PartsMerge,
        Scenario::AllMerge,
    ];
    // F7, H1, B2, B10, M9, T8
    let pauses = [50, 100, 150, 250, 600, 1_000, 2_000, 5_000, 8_000];
    let pauses = pauses.map(|pause| (Scenario::MasterIsSuspended(pause), 4));
    starts.into_iter().chain(others.map(|scenario| (scenario, 1))).chain(pauses)
}

/// A fleet that a scenario happens to.
#[derive(Debug)]
struct Fleet {
    protocol: Protocol,
    /// The nodes that are designated masters; the first leads.
    designated: Vec<usize>,
    is_rough: bool,
    round: u64,
}

impl Fleet {
    fn of(protocol: Protocol, is_rough: bool, round: u64) -> Self {
        Self { protocol, designated: Vec::new(), is_rough, round }
    }

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
        settings.roles = self.designated.iter().map(|node| (*node, Role::ControlUnit)).collect();
        if self.is_rough {
            settings.weather = rough();
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

    /// Whether a group has one master, known to all of it, and the right one, where the protocol
    /// leaves no choice.
    fn agrees(&self, world: &World, group: &[usize]) -> bool {
        let required = match self.election().profile().preferred {
            Preferred::LowestAddress => group.iter().min().copied(),
            Preferred::Fittest => group.iter().max().copied(),
            Preferred::Designated => {
                self.designated.iter().copied().find(|node| group.contains(node))
            }
            Preferred::Anybody => None,
        };
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
            assert!(self.agrees(building, group), "{self:?}");
            building.run_for(secs(4));
            assert_eq!(building.master_of(group), master, "{self:?}");
        }
    }

    /// Afterwards all that run agree, it stays so, and no order was lost.
    fn play(&self, scenario: Scenario) {
        let mut building = match scenario {
            Scenario::Start(apart) => {
                let mut building = self.dark();
                for step in 0..NODES {
                    building.start((step * 3 + self.turn()) % NODES);
                    building.run_for(millis(apart));
                }
                building
            }
            Scenario::MasterIsKilled => self.dies(Fault::Kill),
            Scenario::MasterLosesPower => self.dies(Fault::PowerCut),
            Scenario::MasterIsSuspended(pause) => self.is_suspended(millis(pause)),
            Scenario::MasterReturns => self.returns(),
            Scenario::PartsMerge => self.parts_merge(),
            Scenario::AllMerge => {
                let mut building = self.dark();
                building.inflict(Fault::Partition(Vec::new()));
                building.start_all();
                building.run_for(secs(2));
                building.inflict(Fault::Heal);
                building
            }
        };
        let running: Vec<usize> = building.running().collect();
        let took = self.agree(&mut building, &running, &format!("{scenario:?}"));
        // Until then a vote of the same election may still be under way (C3).
        building.run_for(self.bound().saturating_sub(took));
        self.stays(&mut building, &running);
        building.recovers_under(|world| self.agrees(world, &all()));
    }

    fn turn(&self) -> usize {
        usize::try_from(self.round).expect("few rounds")
    }

    fn dies(&self, fault: fn(usize) -> Fault) -> Building {
        let (mut building, master) = self.led();
        building.press((master + 1) % NODES, up(1));
        building.inflict(fault(master));
        building
    }

    fn is_suspended(&self, pause: Duration) -> Building {
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
        building
    }

    fn returns(&self) -> Building {
        let mastership = |world: &World, group: &[usize]| -> (usize, Term) {
            let master = world.master_of(group).expect("a master");
            (master, world.node(master).expect("it runs").term())
        };
        let (mut building, master) = self.led();
        let first = mastership(&building, &all());
        building.inflict([Fault::Kill, Fault::PowerCut][self.turn() % 2](master));
        self.agree(&mut building, &all_but(master), "its end");
        building.run_for(secs(2));
        let second = mastership(&building, &all_but(master));
        building.inflict(Fault::Restart(master));
        self.agree(&mut building, &all(), "its return");
        let third = mastership(&building, &all());
        assert!(first.1 < second.1, "{first:?}, {second:?}, {self:?}");
        assert!(second == third || second.1 < third.1, "{second:?}, {third:?}, {self:?}");
        building
    }

    fn parts_merge(&self) -> Building {
        let (mut building, _) = self.led();
        let parts = [
            [vec![0, 1], vec![2, 3, 4]],
            [vec![0, 2, 4], vec![1, 3]],
            [vec![0, 3], vec![1, 2, 4]],
            [vec![0, 1, 2], vec![3, 4]],
        ];
        let parts = &parts[self.turn() % parts.len()];
        building.inflict(Fault::Partition(parts.to_vec()));
        building.until(self.bound(), "each part has its master", |world| {
            parts.iter().all(|part| self.agrees(world, part))
        });
        building.run_for(secs(1));
        building.press(parts[0][0], up(1));
        building.press(parts[1][1], down(3));
        building.run_for(millis(200));
        building.inflict(Fault::Heal);
        building
    }
}

fn all() -> Vec<usize> {
    (0..NODES).collect()
}

fn all_but(node: usize) -> Vec<usize> {
    (0..NODES).filter(|other| *other != node).collect()
}

/// Runs the whole table. M2, M9, V7: also with a designated master, where a node can be that.
fn every_scenario_ends_with_the_right_master(protocol: Protocol) {
    let can_be_designated = protocol.profile().preferred == Preferred::Designated;
    for (scenario, one_in) in scenarios() {
        for (is_rough, rounds) in rounds() {
            for round in rounds.step_by(one_in) {
                let fleet = Fleet::of(protocol, is_rough, round);
                fleet.play(scenario);
                if can_be_designated {
                    Fleet { designated: vec![fleet.turn() % NODES], ..fleet }.play(scenario);
                }
            }
        }
    }
}

macro_rules! every_scenario {
    ($($module:ident: $protocol:ident),*) => {
        mod every_scenario_under {
            $(#[test]
            fn $module() {
                super::every_scenario_ends_with_the_right_master(super::Protocol::$protocol);
            })*
        }
    };
}

elevator_fleet::for_every_protocol!(every_scenario);

/// F2, F3, E6, B6, M5: nobody else notices that a node joins or returns which nothing prefers, or
/// that under `senior` the node with the highest address does. It shows the fleet's lamps soon.
#[test]
fn a_node_that_joins_unseats_nobody() {
    for (protocol, late) in [
        (Protocol::LowestIp, 4),
        (Protocol::Bully, 0),
        (Protocol::Senior, 4),
        (Protocol::Ballot, 4),
        (Protocol::Ballot, 0),
    ] {
        for (round, has_run) in (0..12).flat_map(|round| [(round, false), (round, true)]) {
            let fleet = Fleet::of(protocol, false, round);
            let mut building = fleet.dark();
            for node in (0..NODES).filter(|node| has_run || *node != late) {
                building.start(node);
            }
            if has_run {
                fleet.agree(&mut building, &all(), "the start");
                building.inflict(Fault::PowerCut(late));
            }
            let others = all_but(late);
            building.run_for(secs(1));
            fleet.agree(&mut building, &others, "the start of all others");
            building.run_for(secs(3));
            building.stop_switches([1, 3], true);
            building.press(1, up(2));
            building.run_for(millis(300));
            let before = states(&building, &others);
            building.start(late);
            let limit = if protocol == Protocol::LowestIp { secs(1) } else { fleet.bound() };
            // Under `lowest-ip` it may lead itself for a moment, under a later term.
            let is_undisturbed = |world: &World| {
                let now = states(world, &others);
                let is_same = |(now, before): (&(_, _), &(_, _))| {
                    now.0 == before.0 && (now.1 == before.1 || protocol == Protocol::LowestIp)
                };
                now.iter().zip(&before).all(is_same)
            };
            building.until(limit, &format!("it is a member, {fleet:?}"), |world| {
                assert!(is_undisturbed(world), "{fleet:?}");
                world.is_lit(late, up(2)) && world.master().is_some()
            });
            building.run_for(secs(3));
            assert!(building.master().is_some(), "{fleet:?}");
            assert!(is_undisturbed(&building), "{fleet:?}\n{}", building.story(60));
        }
    }
}

/// V7: the first by name leads, and the other replaces it without a vote.
#[test]
fn of_two_regular_leaders_one_leads() {
    for round in 0..24 {
        let fleet = Fleet::of(Protocol::Ballot, round % 2 == 1, round);
        let fleet = Fleet { designated: vec![3, 4], ..fleet };
        let (mut building, master) = fleet.led();
        assert_eq!(master, 3);
        building.inflict(Fault::PowerCut(3));
        fleet.agree(&mut building, &all_but(3), "the loss of the first");
        assert_eq!(building.master(), Some(4));
    }
}

/// M3, C5: at 30 % loss a master keeps its slaves for as long as they hear it at all.
#[test]
fn a_fleet_on_a_bad_line_is_led_almost_always() {
    let (mut building, _) = Fleet::of(Protocol::Senior, true, 0).led();
    building.inflict(Fault::Loss(30));
    building.run_for(secs(2));
    let led = (0..200).filter(|_| {
        building.run_for(millis(50));
        building.master().is_some()
    });
    assert!(led.count() > 150, "{}", building.story(60));
}

/// E6, M3, T5, V2: though packets get lost, a master stays, and no ring has a second token or a node
/// that seeks for it.
#[test]
fn a_rough_lan_unseats_nobody() {
    let rounds = usually(1, 2);
    for (protocol, round) in
        Protocol::ALL.into_iter().flat_map(|it| (0..rounds).map(move |at| (it, at)))
    {
        let fleet = Fleet::of(protocol, true, round);
        let (mut building, master) = fleet.led();
        if protocol.profile().rotates {
            let before = building.mastership();
            for _ in 0..600 {
                building.run_for(millis(100));
                let seeks = |node| building.node_state(node) == Some(&NodeState::Seeking);
                assert!(!all().into_iter().any(seeks), "{}", building.story(60));
            }
            assert!(building.mastership().doubled < before.doubled + secs(2));
        } else {
            let term = building.node(master).map(Node::term);
            building.run_for(usually(mins(2), mins(4)));
            fleet.agree(&mut building, &all(), "some minutes");
            let after = building.node(master).map(Node::term);
            assert_eq!((building.master(), after), (Some(master), term), "{fleet:?}");
        }
    }
}

/// E6: nobody is lost where packets travel for up to 100 ms, and none for much less.
#[test]
fn a_slow_network_costs_no_peer() {
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(4, seed());
        settings.election = ElectionSettings::of(protocol);
        // The ring takes a token back that is not acknowledged within 150 ms.
        let most = if protocol == Protocol::TokenRing { 70_000 } else { 100_000 };
        settings.weather.delay = most - 5_000..=most;
        settings.weather.duplication = 5;
        let mut building = Building::on(settings, secs(10));
        building.inflict(Fault::Kill(2));
        building.run_for(secs(5));
        building.inflict(Fault::Restart(2));
        building.run_for(secs(10));
        let losses = building.mesh_traffic().losses;
        building.run_for(mins(2));
        assert_eq!(building.mesh_traffic().losses, losses, "{protocol}: {}", building.story(40));
    }
}
