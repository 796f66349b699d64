//! What a change of master costs in messages of the election, and that it comes within the bound.
//!
//! A broadcast counts once. The protocols counted here send sensor requests by themselves, so a
//! quiet fleet has messages too (C4): those that it would have sent in the same time anyway are no
//! cost of the change.
//!
//! `LIFTMESH_SIZES=40,64 LIFTMESH_ROUNDS=20 cargo test --release … messages -- --nocapture` counts
//! in larger fleets, and over more seeds.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, secs, seed};

/// How long the agreement on a master must last.
const LASTS: Duration = Duration::from_millis(300);

/// How often the fleet is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A fleet whose messages are counted.
pub(crate) struct Fleet {
    what: String,
    nodes: usize,
    bound: Duration,
    building: Building,
    /// Of the quiet fleet.
    messages_per_second: u64,
}

impl Fleet {
    pub(crate) fn of(settings: WorldSettings) -> Self {
        let WorldSettings { election, nodes, seed, weather, .. } = &settings;
        let what = format!("{election:?}, {nodes} nodes, {weather:?}, seed {seed}");
        let (nodes, bound) = (*nodes, settings.bound());
        let building = Building::of(settings);
        Self { what, nodes, bound, building, messages_per_second: 0 }
    }

    fn count(&self) -> u64 {
        self.building.election_traffic().messages
    }

    /// Lets something happen, and waits until each of these groups has one master and keeps it.
    fn happens(&mut self, event: &str, groups: &[Vec<usize>], fault: impl FnOnce(&mut World)) {
        let (before, start) = (self.count(), self.building.now());
        fault(&mut self.building);
        let mut since = start;
        while self.building.now() < since + LASTS {
            self.building.run_for(LOOK_EVERY);
            let now = self.building.now();
            assert!(now <= start + self.bound + LASTS, "{}: no master after {event}", self.what);
            if !groups.iter().all(|group| self.building.master_of(group).is_some()) {
                since = now;
            }
        }
        let sent = self.count() - before;
        let took = self.building.now().saturating_sub(start);
        let anyway = (took * u32::try_from(self.messages_per_second).expect("few")).as_secs();
        let nodes = self.nodes as u64;
        println!("{}: {event}: {sent} messages, {anyway} of them anyway, {took:?}", self.what);
        assert!(sent.saturating_sub(anyway) <= 4 * nodes * nodes, "{}: {event}", self.what);
        self.building.run_for(secs(1));
    }

    /// C3: each time all have one master within the bound, for few messages.
    pub(crate) fn goes_through_every_situation(&mut self) {
        let all: Vec<usize> = (0..self.nodes).collect();
        let everybody = [all.clone()];
        self.happens("start", &everybody, World::start_all);
        let before = self.count();
        self.building.run_for(secs(4));
        self.messages_per_second = (self.count() - before) / 4;
        self.falls_silent(&all, ["master dead", "it returns"], Fault::Kill, Fault::Restart);
        self.falls_silent(&all, ["master hung", "it goes on"], Fault::Suspend, Fault::Resume);
        let (even, odd) = all.iter().partition(|node| *node % 2 == 0);
        let halves = vec![even, odd];
        self.happens("partition", &halves, |world| world.inflict(Fault::Partition(halves.clone())));
        self.happens("merge", &everybody, |world| world.inflict(Fault::Heal));
    }

    /// The master falls silent, and comes back.
    fn falls_silent(
        &mut self,
        all: &[usize],
        events: [&str; 2],
        fault: fn(usize) -> Fault,
        end: fn(usize) -> Fault,
    ) {
        // Where every second lost packet is a lost leader, a vote may be under way.
        self.building.until(self.bound, "a master", |world| world.master().is_some());
        let master = self.building.master().expect("a master");
        let others = all.iter().copied().filter(|node| *node != master).collect();
        self.happens(events[0], &[others], |world| world.inflict(fault(master)));
        self.happens(events[1], &[all.to_vec()], |world| world.inflict(end(master)));
    }
}

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// At most four messages for each pair of nodes, and with 5 % loss.
fn no_change_of_master_is_a_storm(protocol: Protocol, preset: Preset, sizes: &[usize]) {
    let given = setting("LIFTMESH_SIZES").map(|sizes| {
        sizes.split(',').map(|size| size.parse().expect("LIFTMESH_SIZES: numbers")).collect()
    });
    let rounds = setting("LIFTMESH_ROUNDS")
        .map_or(3, |rounds| rounds.parse().expect("LIFTMESH_ROUNDS: a number"));
    for nodes in given.unwrap_or_else(|| sizes.to_vec()) {
        for round in 0..rounds {
            let mut settings = WorldSettings::new(nodes, seed() + round);
            settings.election = ElectionSettings::preset(protocol, preset);
            settings.weather.loss = 5;
            settings.codec = false;
            settings.inspect = false;
            Fleet::of(settings).goes_through_every_situation();
        }
    }
}

/// C3, M1, M7
#[test]
fn no_change_of_master_under_senior_is_a_storm() {
    no_change_of_master_is_a_storm(Protocol::Senior, Preset::Fleet, &[8, 16, 32]);
}

/// C3, V2, V4, V5
#[test]
fn no_change_of_master_under_ballot_is_a_storm() {
    no_change_of_master_is_a_storm(Protocol::Ballot, Preset::Fleet, &[8, 16, 32]);
}

/// C3, V2, V4, V5
#[test]
fn no_change_of_master_under_ballot_as_in_its_source_is_a_storm() {
    no_change_of_master_is_a_storm(Protocol::Ballot, Preset::Source, &[8, 16, 32]);
}

/// C3, M1, M7: a lost master is missed after 5 minutes, so the fleet is small.
#[test]
fn no_change_of_master_under_senior_as_in_its_source_is_a_storm() {
    no_change_of_master_is_a_storm(Protocol::Senior, Preset::Source, &[8]);
}
