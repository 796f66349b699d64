//! The runs that the documentation shows.

mod claims;

use std::ops::RangeInclusive;
use std::time::Duration;

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{
    Candidate, Detail, Election, ElectionSettings, Experiment, Input, Output, Profile, Rules,
    ballot, bully, token_ring,
};
use elevator_fleet::wire::{NodeState, Nonce, Protocol};

use super::{Selection, Trace, Window};
use crate::{Fault, World, WorldError, WorldSettings};

/// A run of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Example {
    /// The worked example of `bully`'s source: a candidate fails during its election (B8).
    BullyB8,
    /// Three holders freeze for each other in a cycle (T9).
    RingFreeze,
    /// Three sub-networks become one (F3).
    ThreeMasters,
    /// Two votes are equal, and higher than all others (V5).
    BallotTie,
    /// Two halves of 32 nodes meet again under 5 % of loss.
    BallotMerge,
}

/// An example that can't be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ExampleError {
    /// There is no such world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The protocols have changed, so that the example needs another scenario or another first
    /// seed.
    #[error("none of the seeds tried shows what the example {0} is about; choose another example")]
    NotShown(&'static str),
}

/// The network of the small examples is slow, in microseconds, so that arrows lean.
const SLOW: RangeInclusive<u64> = 6_000..=14_000;

/// The most seeds that are tried until one shows what the example is about.
const MOST_SEEDS: usize = 400;

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

impl Example {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::BullyB8, Self::RingFreeze, Self::ThreeMasters, Self::BallotTie, Self::BallotMerge];

    /// Its name on the command line; its drawing is `docs/traces/NAME.svg`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BullyB8 => "bully-b8",
            Self::RingFreeze => "ring-freeze",
            Self::ThreeMasters => "three-masters",
            Self::BallotTie => "ballot-tie",
            Self::BallotMerge => "ballot-merge",
        }
    }

    /// What it shows, in a line.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::BullyB8 => "bully (B8): D is dead; C would lead, and dies; B leads",
            Self::RingFreeze => "token-ring (T9): three holders wait for each other in a cycle",
            Self::ThreeMasters => "lowest-ip (F3): three sub-networks merge, the lowest leads",
            Self::BallotTie => "ballot (V5): the highest vote is tied, and the tied vote again",
            Self::BallotMerge => "ballot: two halves of 32 nodes meet again, 5 % loss",
        }
    }

    /// Plays it with the first seed that shows what it is about.
    ///
    /// # Errors
    /// There is no such world, or no seed shows it.
    pub fn trace(self) -> Result<Trace, ExampleError> {
        self.first_of((self.first_seed()..).take(MOST_SEEDS))
    }

    /// Plays it with the first of these seeds that shows what it is about.
    pub(super) fn first_of(
        self,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<Trace, ExampleError> {
        for seed in seeds {
            let mut trace = self.play(seed)?;
            if self.is_shown(&trace) {
                self.title().clone_into(&mut trace.title);
                trace.command = format!("liftmesh lab trace --example {}", self.name());
                return Ok(trace);
            }
        }
        Err(ExampleError::NotShown(self.name()))
    }

    /// The seed that is tried first.
    fn first_seed(self) -> u64 {
        match self {
            Self::BullyB8 | Self::ThreeMasters => 1,
            Self::RingFreeze => 21,
            Self::BallotTie => 8,
            Self::BallotMerge => 11,
        }
    }

    fn play(self, seed: u64) -> Result<Trace, WorldError> {
        match self {
            Self::BullyB8 => bully_b8(seed),
            Self::RingFreeze => ring_freeze(seed),
            Self::ThreeMasters => three_masters(seed),
            Self::BallotTie => ballot_tie(seed),
            Self::BallotMerge => ballot_merge(seed),
        }
    }

    /// Whether a trace shows what the example is about.
    fn is_shown(self, trace: &Trace) -> bool {
        match self {
            Self::BullyB8 => claims::a_candidate_dies(trace),
            Self::RingFreeze => claims::three_wait_in_a_cycle(trace),
            Self::ThreeMasters => claims::three_become_one(trace),
            Self::BallotTie => claims::the_highest_vote_is_tied_once(trace),
            Self::BallotMerge => claims::two_become_one(trace),
        }
    }

    /// What its drawing shows of it.
    #[must_use]
    pub fn selection(self) -> Selection {
        let only = match self {
            Self::ThreeMasters => ["announcement", "dial", "accept", "close"].as_slice(),
            Self::BullyB8 | Self::RingFreeze | Self::BallotTie | Self::BallotMerge => &[],
        };
        Selection { only: only.iter().map(|name| (*name).to_owned()).collect(), nodes: Vec::new() }
    }
}

/// A world in which everybody has started, `before` has been done, and what is to be shown begins
/// now. Its recording goes from one moment to another, relative to now; what is shown begins with
/// the first fault.
fn recorded(
    settings: WorldSettings,
    before: impl FnOnce(&mut World),
    (from, to): (i64, u64),
) -> Result<World, WorldError> {
    let mut world = World::new(settings)?;
    world.start_all();
    before(&mut world);
    let early = millis(from.min(0).unsigned_abs());
    let late = millis(from.max(0).unsigned_abs());
    let zero = world.now() + early;
    world.record(Window { from: world.now() + late, to: zero + millis(to), zero });
    world.run_for(early);
    Ok(world)
}

/// Lets the rest of its window pass.
fn finish(mut world: World) -> Trace {
    let trace = world.recorder.as_ref().map(|recorder| recorder.window());
    let left = trace.map(|window| window.to.saturating_sub(world.now())).unwrap_or_default();
    world.run_for(left);
    world.recorded()
}

/// D leads and dies. A, which has heard it last before the others, notices first and asks B and C,
/// which both answer; C gets no answer from D and dies before it can announce itself. So A asks
/// again, and B leads.
fn bully_b8(seed: u64) -> Result<Trace, WorldError> {
    let mut settings = WorldSettings::without_parking(4, seed);
    let source = bully::Settings::source();
    settings.election = ElectionSettings::Bully(bully::Settings {
        estimate: Estimate::Fixed(10),
        ask_again: source.answer_wait,
        ..source
    });
    settings.weather.delay = SLOW;
    let mut world = recorded(settings, |world| world.run_for(millis(3_000)), (-40, 1_150))?;
    world.inflict(Fault::CutOneWay { from: 3, to: 0 });
    world.run_for(millis(50));
    world.inflict(Fault::PowerCut(3));
    let asks = |world: &World| world.node_state(2) == Some(&NodeState::Seeking);
    world.run_until(millis(1_000), asks);
    world.run_for(millis(120));
    world.inflict(Fault::PowerCut(2));
    Ok(finish(world))
}

/// Three parts with a token each meet. Each holder hears another one first, and asks it to wait.
fn ring_freeze(seed: u64) -> Result<Trace, WorldError> {
    let mut settings = WorldSettings::without_parking(3, seed);
    settings.election = ElectionSettings::TokenRing(token_ring::Settings {
        mesh_detection: false,
        ..token_ring::Settings::default()
    });
    settings.weather.delay = 18_000..=32_000;
    let apart = |world: &mut World| {
        world.run_for(millis(2_000));
        world.inflict(Fault::Partition(vec![vec![0], vec![1], vec![2]]));
        world.run_for(millis(4_000));
    };
    let mut world = recorded(settings, apart, (-20, 800))?;
    world.inflict(Fault::Heal);
    Ok(finish(world))
}

/// The sub-networks of A and D, of B, E and G, and of C and F.
fn three_masters(seed: u64) -> Result<Trace, WorldError> {
    let mut settings = WorldSettings::without_parking(7, seed);
    settings.weather.delay = 2_000..=5_000;
    let apart = |world: &mut World| {
        world.run_for(millis(1_000));
        world.inflict(Fault::Partition(vec![vec![0, 3], vec![1, 4, 6], vec![2, 5]]));
        world.run_for(millis(4_000));
    };
    let mut world = recorded(settings, apart, (-5, 130))?;
    world.inflict(Fault::Heal);
    Ok(finish(world))
}

/// The leader dies, and its followers vote with numbers from 1 to 4.
fn ballot_tie(seed: u64) -> Result<Trace, WorldError> {
    let mut settings = WorldSettings::without_parking(5, seed);
    settings.election =
        ElectionSettings::Experiment(Experiment::new(SmallVotes(ballot::Settings::default())));
    settings.weather.delay = SLOW;
    let mut world = recorded(settings, |world| world.run_for(millis(3_000)), (-25, 480))?;
    let leader = world.master().unwrap_or_default();
    world.inflict(Fault::PowerCut(leader));
    Ok(finish(world))
}

/// Even and odd nodes had a leader each.
fn ballot_merge(seed: u64) -> Result<Trace, WorldError> {
    let mut settings = WorldSettings::without_parking(32, seed);
    settings.election = ElectionSettings::of(Protocol::Ballot);
    settings.weather.loss = 5;
    settings.codec = false;
    settings.inspect = false;
    let apart = |world: &mut World| {
        world.run_for(millis(2_000));
        let (even, odd) = (0..32).partition(|node| node % 2 == 0);
        world.inflict(Fault::Partition(vec![even, odd]));
        world.run_for(millis(2_000));
    };
    let mut world = recorded(settings, apart, (-25, 1_200))?;
    world.inflict(Fault::Heal);
    Ok(finish(world))
}

/// `ballot` with votes from 1 to 4, so that there are ties.
#[derive(Debug)]
struct SmallVotes(ballot::Settings);

#[derive(Debug)]
struct SmallVoter(Box<dyn Election>);

impl Rules for SmallVotes {
    fn protocol(&self) -> Protocol {
        self.0.protocol()
    }

    fn profile(&self) -> &'static Profile {
        self.0.profile()
    }

    fn bound(&self, linked_within: Duration, nodes: usize) -> Duration {
        self.0.bound(linked_within, nodes)
    }

    fn elect(
        &self,
        own: Candidate,
        incarnation: Nonce,
        redial_after: Duration,
    ) -> Box<dyn Election> {
        Box::new(SmallVoter(self.0.elect(own, incarnation, redial_after)))
    }
}

impl Election for SmallVoter {
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>) {
        self.0.handle(input, draw % 4 + 1, outputs);
    }

    fn node_state(&self) -> NodeState {
        self.0.node_state()
    }

    fn details(&self) -> Vec<Detail> {
        self.0.details()
    }

    fn profile(&self) -> &Profile {
        self.0.profile()
    }
}
