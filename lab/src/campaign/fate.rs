//! What happens in a campaign, by chance.
//!
//! Each seed enables some kinds of faults, with a strength for each, so that runs differ: in some a
//! single kind dominates, which a run with all of them would never show. At the end what has not
//! happened yet is tried again.

mod kinds;
mod strike;

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, Trip};
use fastrand::Rng;

use self::kinds::{CarKind, IntrusionKind, Kind};
use super::robots::Robots;
use super::{Dimension, chance};
use crate::{Fault, World};

/// Decides what happens next.
pub(super) struct Fate {
    pub(super) random: Rng,
    nodes: usize,
    /// What may happen, and how strong it may be, in per cent of the most.
    enabled: Vec<(Kind, u64)>,
    /// What of it has not happened yet.
    due: Vec<Kind>,
    /// What is broken, so that it is repaired some time.
    down: Vec<usize>,
    suspended: Vec<usize>,
    cut: bool,
    /// The nodes whose disks take nothing more.
    failed: BTreeSet<usize>,
    /// A disk may be lost only while the rest of the fleet is whole: no fleet survives the loss of
    /// one node after the other before it has recovered.
    whole_since: Duration,
    /// Until then nothing else may break.
    truce: Duration,
    robots: Robots,
}

/// So long the fleet must have been whole before a disk is lost, and is left alone afterwards.
const RECOVERY: Duration = Duration::from_secs(3);

/// So many disks always work: where none does, an order may be lit that no disk holds.
const SOUND_DISKS: usize = 2;

/// How many kinds of faults a run has.
const KINDS: std::ops::RangeInclusive<usize> = 6..=16;

/// One passenger in so many gives a destination at a kiosk instead of pressing a button.
const TRIP_EACH: u8 = 5;

/// How often each kind that has not happened is tried at the end.
const ATTEMPTS: usize = 8;

impl Fate {
    pub(super) fn new(seed: u64, nodes: usize, has_key: bool) -> Self {
        let mut random = chance(seed, Dimension::Fate);
        let kinds = random.usize(KINDS);
        let may_happen = |kind: &Kind| {
            (nodes > SOUND_DISKS || !kind.takes_a_disk_for_good())
                && (has_key || *kind != Kind::Intrusion(IntrusionKind::Forgery))
        };
        let mut due = random.choose_multiple(Kind::ALL.into_iter().filter(may_happen), kinds);
        random.shuffle(&mut due);
        let enabled = due.iter().map(|kind| (*kind, random.u64(10..=100))).collect();
        Self {
            random,
            nodes,
            enabled,
            due,
            down: Vec::new(),
            suspended: Vec::new(),
            cut: false,
            failed: BTreeSet::new(),
            whole_since: Duration::ZERO,
            truce: Duration::ZERO,
            robots: Robots::new(seed, nodes),
        }
    }

    /// The kinds of faults that happen in this run, by the names of [`Fault::kind`].
    pub(super) fn enabled(&self) -> BTreeSet<&'static str> {
        let robots = self.robots.are_there().then_some(Robots::KIND);
        self.enabled.iter().map(|(kind, _)| kind.name()).chain(robots).collect()
    }

    /// Something happens.
    pub(super) fn strikes(&mut self, world: &mut World) {
        self.look(world);
        match self.random.u8(0..100) {
            0..46 => self.press(world),
            _ if world.now() < self.truce => self.press(world),
            46..60 => self.start_a_machine(world),
            60..67 => self.heal(world),
            67..71 => self.resume(world),
            71..75 => self.repair_a_car(world),
            _ => self.strike(world),
        }
        self.robots.look(world);
        self.look(world);
    }

    /// Whatever has not happened yet does now, one after the other, on a whole fleet.
    pub(super) fn strike_what_is_due(&mut self, world: &mut World) {
        if self.robots.are_there() && !world.inflicted().contains_key(Robots::KIND) {
            self.robots.ask(world);
        }
        for _ in 0..ATTEMPTS {
            // What was prepared may have had no occasion.
            let has_happened = |kind: Kind| world.inflicted().contains_key(kind.name());
            let due = self.enabled.iter().map(|(kind, _)| *kind);
            self.due = due.filter(|kind| !has_happened(*kind)).collect();
            for _ in 0..self.due.len() {
                self.put_right(world);
                world.run_for(RECOVERY);
                self.press(world);
                self.strike(world);
                self.press(world);
                world.run_for(Duration::from_millis(self.random.u64(1..=1_200)));
            }
        }
    }

    /// The master of a whole fleet is killed: chance has left it alone.
    pub(super) fn replace_the_master(&mut self, world: &mut World) {
        self.put_right(world);
        world.run_for(RECOVERY);
        if let Some(master) = world.master() {
            world.inflict(Fault::Kill(master));
            world.run_for(RECOVERY);
        }
    }

    fn strike(&mut self, world: &mut World) {
        if self.due.is_empty() {
            let any = self.random.usize(0..self.enabled.len().max(1));
            if let Some((kind, strength)) = self.enabled.get(any).copied() {
                self.inflict(kind, strength, world);
            }
            return;
        }
        let kind = self.due.remove(0);
        let strength = self.enabled.iter().find(|(it, _)| *it == kind).map_or(100, |it| it.1);
        if !self.inflict(kind, strength, world) {
            self.due.push(kind);
        }
    }

    /// Takes note of the machines that are down, and whether the fleet is whole.
    fn look(&mut self, world: &World) {
        for node in 0..self.nodes {
            if world.node(node).is_none() && !self.down.contains(&node) {
                self.down.push(node);
            }
        }
        self.suspended.retain(|node| world.node(*node).is_some() && !world.is_awake(*node));
        let apart = self.cut || world.twins.is_some();
        let whole = self.down.is_empty() && self.suspended.is_empty() && !apart;
        if !whole || (0..self.nodes).any(|node| !world.is_awake(node)) {
            self.whole_since = world.now();
        }
    }

    /// A disk may be lost or fail now.
    fn is_whole(&self, world: &World) -> bool {
        world.now().saturating_sub(self.whole_since) >= RECOVERY
    }

    fn put_right(&mut self, world: &mut World) {
        world.repair_everything();
        self.down.clear();
        self.suspended.clear();
        self.cut = false;
        self.look(world);
    }

    pub(super) fn press(&mut self, world: &mut World) {
        for _ in 0..self.random.u8(1..=2) {
            let node = self.node();
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

    fn heal(&mut self, world: &mut World) {
        self.cut = false;
        world.inflict(Fault::Heal);
        world.inflict(Fault::CalmNetwork);
        world.part_twins();
    }

    fn resume(&mut self, world: &mut World) {
        for node in std::mem::take(&mut self.suspended) {
            world.inflict(Fault::Resume(node));
        }
    }

    fn repair_a_car(&mut self, world: &mut World) {
        let node = self.node();
        world.repair_car(node);
        // What is commanded for all cars would rule the rest of the run.
        if self.random.bool() {
            world.end_modes();
        }
    }

    /// Breaks one car, in one way or two; says which.
    pub(super) fn break_one_car(&mut self, world: &mut World) -> usize {
        let node = self.node();
        for _ in 0..self.random.u8(1..=2) {
            let kind = CarKind::LASTING[self.random.usize(0..CarKind::LASTING.len())];
            let fault = self.car_fault(kind, node, world);
            world.inflict(fault);
        }
        node
    }

    pub(super) fn pause_between_presses(&mut self) -> Duration {
        Duration::from_millis(self.random.u64(1_000..20_000))
    }

    fn node(&mut self) -> usize {
        self.random.usize(0..self.nodes)
    }

    /// Two different nodes.
    fn pair(&mut self) -> (usize, usize) {
        let one = self.node();
        (one, (one + self.random.usize(1..self.nodes)) % self.nodes)
    }

    fn floor(&mut self, world: &World) -> Floor {
        let top = world.floors().top().index();
        Floor::try_from(self.random.u8(0..=top)).unwrap_or(Floor::BOTTOM)
    }

    /// A number from 1 to this share of the most.
    fn up_to(&mut self, most: u64, strength: u64) -> u64 {
        self.random.u64(1..=(most * strength / 100).max(1))
    }

    fn percent(&mut self, most: u64, strength: u64) -> u8 {
        u8::try_from(self.up_to(most, strength)).unwrap_or(100)
    }
}

#[cfg(test)]
mod tests;
