//! What a change of master costs in messages of the election, and that it comes within the bound.
//!
//! A broadcast counts once. `senior` and `ballot` send sensor requests by themselves, so a quiet
//! fleet has messages too (C4): those that it would have sent in the same time anyway are no cost of
//! the change.
//!
//! `LIFTMESH_SIZES=40,64 LIFTMESH_ROUNDS=20 cargo test --release … messages -- --nocapture` counts
//! in larger fleets, and over more seeds.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

use crate::building::{Building, millis, secs, seed};

/// A fleet whose messages are counted.
struct Fleet {
    what: String,
    nodes: usize,
    bound: Duration,
    /// How long the agreement on a master must last.
    lasts: Duration,
    /// The most messages that the death of a master may cost.
    at_death: u64,
    building: Building,
    /// Of the quiet fleet, where the protocol asks sensors.
    messages_per_second: u64,
}

impl Fleet {
    fn of(settings: WorldSettings) -> Self {
        let WorldSettings { election, nodes, seed, weather, .. } = &settings;
        let what = format!("{election:?}, {nodes} nodes, {weather:?}, seed {seed}");
        let (nodes, bound, n) = (*nodes, settings.bound(), *nodes as u64);
        let lasts = if election.profile().rotates { Duration::ZERO } else { millis(300) };
        // Usually the highest survivor announces itself at once (B2 to B6).
        let announces = *election == ElectionSettings::of(Protocol::Bully) && weather.loss == 0;
        let at_death = if announces { 3 * n } else { 4 * n * n };
        let building = Building::of(settings);
        Self { what, nodes, bound, lasts, at_death, building, messages_per_second: 0 }
    }

    fn count(&self) -> u64 {
        self.building.election_traffic().messages
    }

    /// Lets something happen, and waits until each of these groups has one master and keeps it.
    fn happens(&mut self, event: &str, groups: &[Vec<usize>], fault: impl FnOnce(&mut World)) {
        let (before, start) = (self.count(), self.building.now());
        fault(&mut self.building);
        let mut since = None;
        while since.is_none_or(|since| self.building.now() < since + self.lasts) {
            self.building.run_for(millis(2));
            let now = self.building.now();
            assert!(now <= start + self.bound + self.lasts, "{}: late after {event}", self.what);
            let agree = groups.iter().all(|group| self.building.master_of(group).is_some());
            since = agree.then(|| since.unwrap_or(now));
        }
        let sent = self.count() - before;
        let took = self.building.now().saturating_sub(start);
        let anyway = (took * u32::try_from(self.messages_per_second).expect("few")).as_secs();
        println!("{}: {event}: {sent} messages, {anyway} of them anyway, {took:?}", self.what);
        let n = self.nodes as u64;
        let most = if event == "master dead" { self.at_death } else { 4 * n * n };
        assert!(sent.saturating_sub(anyway) <= most, "{}: {event}", self.what);
        self.building.run_for(secs(1));
    }

    /// C3: each time all have one master within the bound, for few messages.
    fn goes_through_every_situation(&mut self, asks: bool) {
        let all: Vec<usize> = (0..self.nodes).collect();
        let everybody = [all.clone()];
        self.happens("start", &everybody, World::start_all);
        let before = self.count();
        self.building.run_for(secs(4));
        self.messages_per_second = if asks { (self.count() - before) / 4 } else { 0 };
        let kill: [fn(usize) -> Fault; 2] = [Fault::Kill, Fault::Restart];
        let suspend: [fn(usize) -> Fault; 2] = [Fault::Suspend, Fault::Resume];
        for (events, [fault, end]) in
            [(["master dead", "it returns"], kill), (["master hung", "it goes on"], suspend)]
        {
            // Where every second lost packet is a lost leader, a vote may be under way.
            self.building.until(self.bound, "a master", |world| world.master().is_some());
            let master = self.building.master().expect("a master");
            let others = all.iter().copied().filter(|node| *node != master).collect();
            self.happens(events[0], &[others], |world| world.inflict(fault(master)));
            self.happens(events[1], &everybody, |world| world.inflict(end(master)));
        }
        let (even, odd) = all.iter().partition(|node| *node % 2 == 0);
        let halves = vec![even, odd];
        self.happens("partition", &halves, |world| world.inflict(Fault::Partition(halves.clone())));
        self.happens("merge", &everybody, |world| world.inflict(Fault::Heal));
    }
}

/// C3, B2 to B6, B4, M1, M3 to M9, T3, T7, T8, V2 to V7, V4, V5, V12: with the figures of the fleet and of the
/// source no change of master is a storm, or takes longer than the bound.
fn every_change_is_cheap(protocol: Protocol, preset: Preset) {
    let lossy = |loss| Weather { loss, ..Weather::default() };
    let slow = |loss| Weather { delay: 100..=40_000, ..lossy(loss) };
    let asks = matches!(protocol, Protocol::Senior | Protocol::Ballot);
    let units = asks && preset == Preset::Source;
    let (sizes, weathers): (&[usize], _) = match (protocol, preset) {
        // A lost master is missed after 5 minutes, so the fleet is small.
        (Protocol::Senior, Preset::Source) => (&[4, 8], vec![(lossy(5), 3)]),
        (Protocol::Ballot, Preset::Source) => {
            (&[5, 8, 16, 32], vec![(lossy(0), 2), (slow(0), 2), (lossy(5), 3)])
        }
        (Protocol::Senior | Protocol::Ballot, Preset::Fleet) => (&[8, 16, 32], vec![(lossy(5), 3)]),
        (Protocol::LowestIp | Protocol::Bully | Protocol::TokenRing, _) => {
            (&[8, 16], vec![(lossy(0), 1), (slow(5), 3)])
        }
    };
    let setting = |name: &str| std::env::var(name).ok();
    let given = setting("LIFTMESH_SIZES").map(|sizes| {
        sizes.split(',').map(|size| size.parse().expect("LIFTMESH_SIZES: numbers")).collect()
    });
    let more = setting("LIFTMESH_ROUNDS").map(|rounds| rounds.parse().expect("a number"));
    for nodes in given.unwrap_or_else(|| sizes.to_vec()) {
        for (weather, rounds) in &weathers {
            for round in 0..more.unwrap_or(*rounds) {
                let mut settings = WorldSettings::new(nodes, seed() + round);
                settings.election = ElectionSettings::preset(protocol, preset);
                settings.weather = weather.clone();
                // One in three small fleets has a unit that is the designated master.
                let unit = (units && nodes < 8 && round % 3 == 1).then_some((0, Role::ControlUnit));
                settings.roles = unit.into_iter().collect();
                settings.codec = false;
                settings.inspect = false;
                Fleet::of(settings).goes_through_every_situation(asks);
            }
        }
    }
}

macro_rules! no_change_is_a_storm {
    ($($module:ident: $protocol:ident),*) => {
        mod no_change_is_a_storm_under {
            $(#[test]
            fn $module() {
                for preset in super::Preset::ALL {
                    super::every_change_is_cheap(super::Protocol::$protocol, preset);
                }
            })*
        }
    };
}

elevator_fleet::for_every_protocol!(no_change_is_a_storm);
