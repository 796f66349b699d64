//! Robots that have cars to themselves in a campaign. Whether there are any, and what they do, is a matter
//! of separate chance: the campaign of a seed without robots is the one that it would be if there were
//! none at all.

use std::time::Duration;

use elevator_driver::Floor;
use fastrand::Rng;

use super::{Dimension, chance};
use crate::{Fault, World};

/// How many robots there are, each with one session after the other.
const ROBOTS: u64 = 12;

/// In one campaign of so many there are robots.
const CAMPAIGN_EACH: u8 = 3;

/// After one event of so many a robot asks for something.
const EVENT_EACH: u8 = 3;

/// What robots do.
pub(super) struct Robots {
    random: Rng,
    nodes: usize,
    are_there: bool,
    /// The latest session of each.
    sessions: Vec<u64>,
    last: u64,
}

impl Robots {
    /// What a robot does is called so, like its [`Fault::kind`].
    pub(super) const KIND: &str = "session";

    pub(super) fn new(seed: u64, nodes: usize) -> Self {
        let mut random = chance(seed, Dimension::Robots);
        let are_there = random.u8(0..CAMPAIGN_EACH) == 0;
        Self { random, nodes, are_there, sessions: (1..=ROBOTS).collect(), last: ROBOTS }
    }

    pub(super) fn are_there(&self) -> bool {
        self.are_there
    }

    /// Now and then one asks for something.
    pub(super) fn look(&mut self, world: &mut World) {
        if self.are_there && self.random.u8(0..EVENT_EACH) == 0 {
            self.ask(world);
        }
    }

    /// A robot asks for a session, for the next floor in it or for its end; often once more, and most often
    /// at another node, as one does that has had no answer.
    pub(super) fn ask(&mut self, world: &mut World) {
        let robot = self.random.usize(0..self.sessions.len());
        let session = self.sessions[robot];
        let car = self.random.bool().then_some(self.random.usize(0..self.nodes));
        let top = world.floors().top().index();
        let floor = Floor::try_from(self.random.u8(0..=top)).ok();
        let mut wish = floor.filter(|_| self.random.u8(0..4) > 0);
        for _ in 0..self.random.u8(1..=3) {
            let at = self.random.usize(0..self.nodes);
            world.inflict(Fault::Session { at, session, car, floor: wish });
            // Not 0: two steps of one moment have nothing between them, so that a script replays alike.
            world.run_for(Duration::from_millis(self.random.u64(1..=1_000)));
            if wish.is_none() && self.sessions[robot] == session {
                self.last += 1;
                self.sessions[robot] = self.last;
            }
            wish = wish.filter(|_| self.random.u8(0..3) > 0);
        }
    }
}
