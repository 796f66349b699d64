//! What happens in a campaign, by chance.
//!
//! Each seed enables some kinds of faults, with a strength for each, so that runs differ: in some a
//! single kind dominates, which a run with all of them would never show.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, Trip};
use fastrand::Rng;

use super::kinds::{Draw, KINDS, Kind};
use super::{Dimension, chance};
use crate::{Fault, World};

pub(super) struct Fate {
    pub(super) random: Rng,
    nodes: usize,
    /// What may happen, and how strong it may be, in per cent of the most.
    pub(super) enabled: Vec<(&'static Kind, u64)>,
    /// What is broken, so that it is repaired some time.
    down: Vec<usize>,
    suspended: Vec<usize>,
    /// The nodes whose disks take nothing more.
    failed: BTreeSet<usize>,
    /// Since when the fleet has been whole.
    whole_since: Duration,
    /// Until then nothing else may break.
    truce: Duration,
    /// The sessions of twelve robots, each with one after the other.
    sessions: Vec<u64>,
}

/// So long the fleet must have been whole before a disk is lost, and is left alone afterwards: no fleet
/// survives the loss of one node after the other before it has recovered.
pub(super) const RECOVERY: Duration = Duration::from_secs(3);

/// So many disks always work: where none does, an order may be lit that no disk holds.
const SOUND_DISKS: usize = 2;

/// How many kinds of faults a run has.
const ENABLED: std::ops::RangeInclusive<usize> = 6..=16;

/// One passenger in this many gives a destination at a kiosk instead of pressing a button.
const TRIP_EACH: u8 = 5;

/// One of this many broken cars breaks with its whole machine.
const OFF_EACH: u8 = 4;

/// How many destinations a crowd gives.
const MOST_TRIPS: u16 = 40;

impl Fate {
    pub(super) fn new(seed: u64, nodes: usize, has_key: bool) -> Self {
        let mut random = chance(seed, Dimension::Fate);
        let kinds = random.usize(ENABLED);
        let may_happen = |kind: &&Kind| {
            (nodes > SOUND_DISKS || !kind.takes_a_disk) && (has_key || kind.name != "forgery")
        };
        let kinds = random.choose_multiple(KINDS.iter().filter(may_happen), kinds);
        let enabled = kinds.into_iter().map(|kind| (kind, random.u64(10..=100))).collect();
        Self {
            random,
            nodes,
            enabled,
            down: Vec::new(),
            suspended: Vec::new(),
            failed: BTreeSet::new(),
            whole_since: Duration::ZERO,
            truce: Duration::ZERO,
            sessions: (1..=12).collect(),
        }
    }

    /// The kinds of faults that happen in this run, by the names of [`Fault::kind`].
    pub(super) fn enabled(&self) -> BTreeSet<&'static str> {
        self.enabled.iter().map(|(kind, _)| kind.name).collect()
    }

    /// Something happens.
    pub(super) fn strikes(&mut self, world: &mut World) {
        self.look(world);
        match self.random.u8(0..100) {
            0..46 => self.press(world),
            _ if world.now() < self.truce => self.press(world),
            46..60 => self.start_a_machine(world),
            60..67 => {
                world.inflict(Fault::Heal);
                world.inflict(Fault::CalmNetwork);
                world.part_twins();
            }
            67..71 => self.resume(world),
            71..75 => self.repair_a_car(world),
            _ => self.strike(world),
        }
        self.look(world);
    }

    /// What has not happened yet comes first.
    fn strike(&mut self, world: &mut World) {
        let is_due = |(kind, _): &&(&Kind, u64)| !world.inflicted().contains_key(kind.name);
        let due: Vec<_> = self.enabled.iter().filter(is_due).copied().collect();
        let choices = if due.is_empty() { &self.enabled } else { &due };
        let (kind, strength) = choices[self.random.usize(0..choices.len())];
        self.inflict(kind, strength, world);
    }

    /// Inflicts a fault of this kind, if that makes sense at the moment.
    fn inflict(&mut self, kind: &Kind, strength: u64, world: &mut World) {
        let (node, other) = self.pair();
        if kind.takes_a_disk {
            let is_whole = world.now().saturating_sub(self.whole_since) >= RECOVERY;
            let most = self.nodes.saturating_sub(SOUND_DISKS);
            if !is_whole || kind.name != "lost disk" && self.failed.len() >= most {
                return;
            }
            self.failed.insert(node);
        }
        for fault in self.draw(kind, (node, other), strength, world) {
            match fault {
                Fault::Crowd(node) => world.crowd(node, self.random.u16(1..=MOST_TRIPS)),
                Fault::Replace(node) => {
                    self.failed.remove(&node);
                    world.inflict(Fault::Replace(node));
                }
                Fault::Suspend(node) => {
                    self.suspended.push(node);
                    world.inflict(Fault::Suspend(node));
                }
                fault => world.inflict(fault),
            }
            // Not 0: two steps of one moment have nothing between them, so that a script replays alike.
            world.run_for(Duration::from_millis(self.random.u64(1..=50)));
        }
        if kind.takes_a_disk {
            self.truce = world.now() + RECOVERY;
        }
    }

    fn draw(
        &mut self,
        kind: &Kind,
        (node, other): (usize, usize),
        strength: u64,
        world: &World,
    ) -> Vec<Fault> {
        let (random, sessions) = (&mut self.random, &mut self.sessions);
        (kind.draw)(&mut Draw { random, world, node, other, strength, sessions })
    }

    /// Takes note of the machines that are down, and whether the fleet is whole.
    fn look(&mut self, world: &World) {
        for node in 0..self.nodes {
            if world.node(node).is_none() && !self.down.contains(&node) {
                self.down.push(node);
            }
        }
        self.suspended.retain(|node| world.node(*node).is_some() && !world.is_awake(*node));
        if (0..self.nodes).any(|node| !world.is_awake(node)) || !world.is_connected() {
            self.whole_since = world.now();
        }
    }

    /// Everything has been put right.
    pub(super) fn all_is_well(&mut self) {
        self.down.clear();
        self.suspended.clear();
        self.failed.clear();
    }

    pub(super) fn press(&mut self, world: &mut World) {
        for _ in 0..self.random.u8(1..=2) {
            let node = self.random.usize(0..self.nodes);
            let floor = self.floor(world);
            if self.random.u8(0..TRIP_EACH) == 0
                && let Some(trip) = Trip::new(floor, self.floor(world))
            {
                world.request(node, trip);
                continue;
            }
            let button = match self.random.u8(0..3) {
                0 => Button::Hall(floor, Direction::Up),
                1 => Button::Hall(floor, Direction::Down),
                _ => Button::Car(floor),
            };
            world.press(node, button);
        }
    }

    fn start_a_machine(&mut self, world: &mut World) {
        if self.down.is_empty() {
            return;
        }
        let node = self.down.swap_remove(self.random.usize(0..self.down.len()));
        world.inflict(Fault::ClearHang(node));
        world.inflict(Fault::Motor(node, None));
        world.inflict(Fault::Restart(node));
    }

    fn resume(&mut self, world: &mut World) {
        for node in std::mem::take(&mut self.suspended) {
            world.inflict(Fault::Resume(node));
        }
    }

    fn repair_a_car(&mut self, world: &mut World) {
        world.repair_car(self.random.usize(0..self.nodes));
        // What is commanded for all cars would rule the rest of the run.
        if self.random.bool() {
            world.end_modes();
        }
    }

    /// Breaks one car, in one way or two, or switches its machine off; says which.
    pub(super) fn break_one_car(&mut self, world: &mut World) -> usize {
        let (node, other) = self.pair();
        if self.random.u8(0..OFF_EACH) == 0 {
            world.inflict(Fault::PowerCut(node));
            return node;
        }
        for _ in 0..self.random.u8(1..=2) {
            let kinds = KINDS.iter().filter(|kind| kind.breaks_a_car);
            if let Some(kind) = self.random.choice(kinds.collect::<Vec<_>>()) {
                for fault in self.draw(kind, (node, other), 100, world) {
                    world.inflict(fault);
                }
            }
        }
        node
    }

    pub(super) fn pause_up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.random.f64()).max(Duration::from_millis(1))
    }

    /// Two different nodes.
    fn pair(&mut self) -> (usize, usize) {
        let one = self.random.usize(0..self.nodes);
        (one, (one + self.random.usize(1..self.nodes)) % self.nodes)
    }

    fn floor(&mut self, world: &World) -> Floor {
        let top = world.floors().top().index();
        Floor::try_from(self.random.u8(0..=top)).unwrap_or(Floor::BOTTOM)
    }
}
