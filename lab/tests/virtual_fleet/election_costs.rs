//! What a change of master costs under `bully` and `token-ring`, whatever the size of the fleet.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, Weather, WorldSettings};

use crate::building::{Building, bound_of, secs, seed};

/// `LIFTMESH_SIZES=8,16,32,64` looks at others.
const SIZES: [usize; 2] = [8, 16];

/// A fleet, and what its changes of master have cost.
struct Course {
    building: Building,
    bound: Duration,
    /// What happened, how long the change took, and how many messages it took.
    costs: Vec<(&'static str, Duration, u64)>,
}

impl Course {
    fn new(election: ElectionSettings, nodes: usize, loss: u8, round: u64) -> Self {
        let mut settings = WorldSettings::new(nodes, seed() + u64::from(loss) + round * 100);
        let bound = bound_of(&election, nodes);
        settings.election = election;
        if loss > 0 {
            settings.weather = Weather { delay: 100..=40_000, loss, ..Weather::default() };
        }
        settings.codec = false;
        settings.inspect = false;
        Self { building: Building::of(settings), bound, costs: Vec::new() }
    }

    /// Waits until each group has one master, known to all of it; it has to be so within the bound.
    fn settle(&mut self, what: &'static str, groups: &[&[usize]], before: u64) {
        let (start, nodes) =
            (self.building.now(), groups.iter().map(|group| group.len()).sum::<usize>());
        let what_of = format!("{what}, {nodes} nodes");
        self.building.until(self.bound, &what_of, |world| {
            groups.iter().all(|group| world.master_of(group).is_some())
        });
        let took = self.building.now().saturating_sub(start);
        let messages = self.building.election_traffic().messages - before;
        self.costs.push((what, took, messages));
        self.building.run_for(secs(2));
    }

    fn inflict(&mut self, what: &'static str, fault: Fault, groups: &[&[usize]]) {
        let before = self.building.election_traffic().messages;
        self.building.inflict(fault);
        self.settle(what, groups, before);
    }

    fn run(mut self, nodes: usize) -> Vec<(&'static str, Duration, u64)> {
        let all: Vec<usize> = (0..nodes).collect();
        self.building.start_all();
        self.settle("all start", &[&all], 0);
        for (ends, begins, faults) in [
            ("killed", "it returns", [Fault::Kill as fn(usize) -> Fault, Fault::Restart]),
            ("suspended", "it is resumed", [Fault::Suspend, Fault::Resume]),
        ] {
            let master = self.building.master_of(&all).unwrap_or(nodes - 1);
            let others: Vec<usize> = all.iter().copied().filter(|node| *node != master).collect();
            self.inflict(ends, faults[0](master), &[&others]);
            self.inflict(begins, faults[1](master), &[&all]);
        }
        let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|node| *node % 2 == 0);
        let halves = Fault::Partition(vec![even.clone(), odd.clone()]);
        self.inflict("partitioned", halves, &[&even, &odd]);
        self.inflict("merged", Fault::Heal, &[&all]);
        self.costs
    }
}

fn sizes() -> Vec<usize> {
    let chosen = std::env::var("LIFTMESH_SIZES").ok();
    let sizes = chosen.map(|text| text.split(',').map(|n| n.parse().expect("a size")).collect());
    sizes.unwrap_or_else(|| SIZES.to_vec())
}

/// C3: on a sound LAN and on a rough one no change of master costs more than 4 n² messages, or takes
/// longer than the bound.
fn every_change_is_cheap(protocol: Protocol) {
    for preset in Preset::ALL {
        for nodes in sizes() {
            for (loss, round) in [(0, 0), (5, 1), (5, 2), (5, 3)] {
                let election = ElectionSettings::preset(protocol, preset);
                let costs = Course::new(election, nodes, loss, round).run(nodes);
                println!("{protocol}, {preset:?}, {nodes} nodes, {loss} %: {costs:?}");
                let limit = 4 * nodes as u64 * nodes as u64;
                for (what, _, messages) in costs {
                    assert!(messages <= limit, "{what}: {messages} messages, {nodes} nodes");
                }
            }
        }
    }
}

/// B2 to B6: usually the highest survivor announces itself at once.
#[test]
fn a_change_under_bully_costs_few_messages() {
    every_change_is_cheap(Protocol::Bully);
    for nodes in sizes() {
        let course = Course::new(ElectionSettings::of(Protocol::Bully), nodes, 0, 0);
        let costs = course.run(nodes);
        let of =
            |what| costs.iter().find(|(cost, ..)| *cost == what).map(|(.., messages)| *messages);
        assert!(of("killed") <= Some(3 * nodes as u64), "{nodes} nodes: {costs:?}");
    }
}

/// T3, T7, T8
#[test]
fn a_change_under_token_ring_costs_few_messages() {
    every_change_is_cheap(Protocol::TokenRing);
}
