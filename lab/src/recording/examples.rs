//! The runs that the documentation shows.

use std::time::Duration;

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{ElectionSettings, Preset, bully, token_ring};
use elevator_fleet::wire::Protocol;

use crate::trace::{Trace, Window};
use crate::{Fault, World, WorldError, WorldSettings};

/// A run of the documentation.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// Its name on the command line; its drawing is `docs/traces/NAME.svg`.
    pub name: &'static str,
    title: &'static str,
    /// The kinds of messages that its drawing shows, if not the usual ones.
    only: &'static [&'static str],
    scene: fn() -> Scene,
}

/// How an example is played: faults at these moments, all in milliseconds. The seed of the world is
/// one that shows what the example is about.
struct Scene {
    world: WorldSettings,
    faults: Vec<(u64, Fault)>,
    /// Where the drawing begins, where its 0 is, and where it ends.
    window: [u64; 3],
}

impl Example {
    pub const ALL: [Self; 4] = [
        Self {
            name: "bully-b8",
            title: "bully (B8): D is dead; C would lead, and dies; B leads",
            only: &[],
            scene: bully_b8,
        },
        Self {
            name: "ring-freeze",
            title: "token-ring (T9): three holders wait for each other in a cycle",
            only: &[],
            scene: ring_freeze,
        },
        Self {
            name: "three-masters",
            title: "lowest-ip:source (F3): three sub-networks merge, the lowest leads",
            only: &["announcement", "dial", "accept", "close"],
            scene: three_masters,
        },
        Self {
            name: "ballot-merge",
            title: "ballot: two halves of 32 nodes meet again, 5 % loss",
            only: &[],
            scene: ballot_merge,
        },
    ];

    /// Plays it.
    ///
    /// # Errors
    /// There is no such world.
    pub fn trace(self) -> Result<Trace, WorldError> {
        let Scene { world, faults, window } = (self.scene)();
        let [from, zero, to] = window.map(Duration::from_millis);
        let mut world = World::new(world)?;
        world.record(Window { from, to, zero });
        world.start_all();
        for (at, fault) in faults {
            world.run_for(Duration::from_millis(at).saturating_sub(world.now()));
            world.inflict(fault);
        }
        world.run_for(to.saturating_sub(world.now()));
        let mut trace = world.recorded();
        self.title.clone_into(&mut trace.title);
        trace.only = self.only.iter().map(|name| (*name).to_owned()).collect();
        trace.command = format!("liftmesh lab trace --example {}", self.name);
        Ok(trace)
    }
}

/// D leads and dies. A, which has heard it last before the others, notices first and asks B and C,
/// which both answer; C gets no answer from D and dies before it can announce itself. So A asks
/// again, and B leads.
fn bully_b8() -> Scene {
    let mut world = WorldSettings::without_parking(4, 1);
    let source = bully::Settings::source();
    world.election = ElectionSettings::Bully(bully::Settings {
        estimate: Estimate::Fixed(10),
        ask_again: source.answer_wait,
        ..source
    });
    // The network is slow, so that arrows lean.
    world.weather.delay = 6_000..=14_000;
    let cut = Fault::CutOneWay { from: 3, to: 0 };
    let faults = vec![(3_040, cut), (3_090, Fault::PowerCut(3)), (3_605, Fault::PowerCut(2))];
    Scene { world, faults, window: [3_000, 3_040, 4_190] }
}

/// Three parts with a token each meet. Each holder hears another one first, and asks it to wait.
fn ring_freeze() -> Scene {
    let mut world = WorldSettings::without_parking(3, 121);
    world.election = ElectionSettings::TokenRing(token_ring::Settings {
        mesh_detection: false,
        ..token_ring::Settings::default()
    });
    world.weather.delay = 18_000..=32_000;
    let parts = Fault::Partition(vec![vec![0], vec![1], vec![2]]);
    let faults = vec![(2_000, parts), (6_020, Fault::Heal)];
    Scene { world, faults, window: [6_000, 6_020, 6_820] }
}

fn three_masters() -> Scene {
    let mut world = WorldSettings::without_parking(7, 1);
    world.election = ElectionSettings::preset(Protocol::LowestIp, Preset::Source);
    world.weather.delay = 2_000..=5_000;
    let parts = Fault::Partition(vec![vec![0, 3], vec![1, 4, 6], vec![2, 5]]);
    let faults = vec![(1_000, parts), (5_005, Fault::Heal)];
    Scene { world, faults, window: [5_000, 5_005, 5_135] }
}

/// Even and odd nodes had a leader each.
fn ballot_merge() -> Scene {
    let mut world = WorldSettings::without_parking(32, 11);
    world.election = ElectionSettings::of(Protocol::Ballot);
    world.weather.loss = 5;
    world.codec = false;
    world.inspect = false;
    let (even, odd) = (0..32).partition(|node| node % 2 == 0);
    let faults = vec![(2_000, Fault::Partition(vec![even, odd])), (4_025, Fault::Heal)];
    Scene { world, faults, window: [4_000, 4_025, 5_225] }
}
