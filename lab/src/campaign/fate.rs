//! What happens in a campaign, by chance.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, KeySwitch};
use fastrand::Rng;

use crate::{Fault, LevellingFault, MotorFault, World};

/// Decides what happens next.
pub(super) struct Fate {
    pub(super) random: Rng,
    nodes: usize,
    /// What is broken, so that it is mended some time.
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
}

/// So long the fleet must have been whole before a disk is lost, and is left alone afterwards.
const RECOVERY: Duration = Duration::from_secs(3);

/// So many disks always work: where none does, an order may be lit that no disk holds.
const SOUND_DISKS: usize = 2;

impl Fate {
    pub(super) fn new(seed: u64, nodes: usize) -> Self {
        Self {
            random: Rng::with_seed(seed.rotate_left(17) ^ 0xfa7e),
            nodes,
            down: Vec::new(),
            suspended: Vec::new(),
            cut: false,
            failed: BTreeSet::new(),
            whole_since: Duration::ZERO,
            truce: Duration::ZERO,
        }
    }

    pub(super) fn strikes(&mut self, world: &mut World) {
        for node in 0..self.nodes {
            if world.node(node).is_none() && !self.down.contains(&node) {
                self.down.push(node);
            }
        }
        match self.random.u8(0..100) {
            0..46 => self.press(world),
            _ if world.now() < self.truce => self.press(world),
            46..57 => self.stop_a_machine(world),
            57..71 => self.start_a_machine(world),
            71..78 => self.cut(world),
            78..84 => self.mend(world),
            84..87 => self.suspend(world),
            87..90 => self.resume(world),
            90 => self.lose_a_disk(world),
            91 => self.fail_a_disk(world),
            92 => self.cut_the_mains(world),
            93..97 => self.break_a_car(world),
            _ => self.repair_a_car(world),
        }
        let whole = self.down.is_empty() && self.suspended.is_empty() && !self.cut;
        if !whole {
            self.whole_since = world.now();
        }
    }

    pub(super) fn press(&mut self, world: &mut World) {
        for _ in 0..self.random.u8(1..=2) {
            let node = self.random.usize(0..self.nodes);
            let floor = self.floor(world);
            let button = match self.random.u8(0..3) {
                0 => Button::Hall(floor, Direction::Up),
                1 => Button::Hall(floor, Direction::Down),
                _ => Button::Car(floor),
            };
            world.press(node, button);
        }
    }

    fn stop_a_machine(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        if self.down.contains(&node) || self.suspended.contains(&node) {
            return;
        }
        self.down.push(node);
        world.inflict(if self.random.bool() { Fault::Kill(node) } else { Fault::PowerCut(node) });
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

    fn cut(&mut self, world: &mut World) {
        self.cut = true;
        let from = self.random.usize(0..self.nodes);
        let to = (from + self.random.usize(1..self.nodes)) % self.nodes;
        world.inflict(match self.random.u8(0..4) {
            0 => Fault::CutOneWay { from, to },
            1 => Fault::Cut(from, to),
            2 => Fault::RefuseLinks(from, to),
            _ => {
                let side = |_: &usize| self.random.bool();
                let (left, right) = (0..self.nodes).partition(side);
                Fault::Partition(vec![left, right])
            }
        });
        if self.random.u8(0..3) == 0 {
            world.inflict(Fault::Loss(self.random.u8(0..40)));
        }
    }

    fn mend(&mut self, world: &mut World) {
        self.cut = false;
        world.inflict(Fault::Heal);
        world.inflict(Fault::Loss(0));
    }

    fn suspend(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        if !self.down.contains(&node) && !self.suspended.contains(&node) {
            self.suspended.push(node);
            world.inflict(Fault::Suspend(node));
        }
    }

    fn resume(&mut self, world: &mut World) {
        for node in std::mem::take(&mut self.suspended) {
            world.inflict(Fault::Resume(node));
        }
    }

    /// The disk takes nothing more, whatever the machine does afterwards, until it is replaced.
    fn fail_a_disk(&mut self, world: &mut World) {
        let whole = world.now().saturating_sub(self.whole_since) >= RECOVERY;
        if whole && self.failed.len() + SOUND_DISKS < self.nodes {
            let node = self.random.usize(0..self.nodes);
            self.failed.insert(node);
            world.inflict(Fault::DiskFail(node));
            self.truce = world.now() + RECOVERY;
        }
    }

    fn lose_a_disk(&mut self, world: &mut World) {
        if world.now().saturating_sub(self.whole_since) < RECOVERY {
            return;
        }
        let node = self.random.usize(0..self.nodes);
        world.inflict(Fault::Kill(node));
        world.run_for(Duration::from_millis(self.random.u64(1..500)));
        world.inflict(Fault::Replace(node));
        self.failed.remove(&node);
        self.truce = world.now() + RECOVERY;
    }

    /// The whole building goes dark, and comes back machine by machine (F13).
    fn cut_the_mains(&mut self, world: &mut World) {
        self.suspended.clear();
        self.down = (0..self.nodes).collect();
        for node in 0..self.nodes {
            world.inflict(Fault::Resume(node));
            world.inflict(Fault::PowerCut(node));
        }
    }

    fn floor(&mut self, world: &World) -> Floor {
        let top = world.floors().top().index();
        Floor::try_from(self.random.u8(0..=top)).unwrap_or(Floor::BOTTOM)
    }

    fn break_a_car(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        let fault = self.car_fault(node, world);
        world.inflict(fault);
    }

    fn repair_a_car(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        world.repair_car(node);
    }

    /// Breaks one car, in one way or two; says which.
    pub(super) fn break_one_car(&mut self, world: &mut World) -> usize {
        let node = self.random.usize(0..self.nodes);
        for _ in 0..self.random.u8(1..=2) {
            let fault = self.car_fault(node, world);
            world.inflict(fault);
        }
        node
    }

    pub(super) fn pause_between_presses(&mut self) -> Duration {
        Duration::from_millis(self.random.u64(1_000..20_000))
    }

    fn car_fault(&mut self, node: usize, world: &World) -> Fault {
        match self.random.u8(0..16) {
            0 => Fault::Motor(node, Some(MotorFault::Stuck)),
            1 => Fault::Motor(node, Some(MotorFault::Trips)),
            2 => Fault::Motor(node, Some(MotorFault::Dead)),
            3 => Fault::Motor(node, Some(MotorFault::Reversed)),
            4 => Fault::Levelling(node, Some(LevellingFault::Off)),
            5 => Fault::Levelling(node, Some(LevellingFault::Overshoots)),
            6 => Fault::Speed(node, self.random.u8(80..=120)),
            7..9 => Fault::DeadSensor(node, Some(self.floor(world))),
            9 => Fault::AllSensorsDead(node, true),
            10 => Fault::DoorJammed(node, true),
            11 => Fault::Obstruct(node, true),
            12 => Fault::StopSwitch(node, true),
            13 => Fault::Load(node, Some([80, 110][self.random.usize(0..2)])),
            14 => Fault::Key(node, KEYS[self.random.usize(0..KEYS.len())]),
            _ => Fault::LineCut(node, true),
        }
    }
}

const KEYS: [KeySwitch; 3] =
    [KeySwitch::Independent, KeySwitch::FireRecall, KeySwitch::OutOfService];
