//! Random faults and presses, then peace, then the reckoning.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor};
use fastrand::Rng;

use super::{Fault, Violation, World, WorldError, WorldSettings};

/// After everything is put right, the fleet has this long to serve what is open.
const RECKONING: Duration = Duration::from_mins(5);

/// After so long every car that was going to count as hung does.
const SECOND_LOOK: Duration = Duration::from_secs(25);

/// A run of random faults. The same campaign always runs the same.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The world; its seed also decides what happens in it.
    pub world: WorldSettings,
    /// How long faults happen.
    pub duration: Duration,
}

/// What became of a campaign.
#[derive(Debug)]
pub struct Outcome {
    /// The world at its end.
    pub world: World,
    /// Everything that was wrong.
    pub violations: Vec<Violation>,
}

impl Campaign {
    /// A campaign of a minute over four to six machines, by seed.
    #[must_use]
    pub fn by_seed(seed: u64) -> Self {
        let nodes = Rng::with_seed(seed ^ 0x5eed).usize(4..=6);
        let mut world = WorldSettings::new(nodes, seed);
        // A LAN, a busy one, and one that is hardly any.
        world.weather.delay =
            100..=[1_000, 5_000, 40_000][usize::from(seed % 3 == 1) + usize::from(seed % 9 == 1)];
        world.weather.duplication =
            [2, 0, 20][usize::from(seed % 5 == 1) + usize::from(seed % 10 == 1)];
        Self {
            world,
            duration: Duration::from_mins(1),
        }
    }

    /// Runs it.
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn run(&self) -> Result<Outcome, WorldError> {
        let mut world = World::new(self.world.clone())?;
        let mut fate = Fate::new(self.world.seed, self.world.nodes);
        world.start_all();
        world.run_for(Duration::from_secs(1));
        while world.now() < self.duration {
            world.run_for(Duration::from_millis(fate.random.u64(1..=1_200)));
            fate.strikes(&mut world);
        }
        Ok(reckon(world))
    }
}

/// Puts everything right, gives the fleet time, and sees what is left to complain of.
fn reckon(mut world: World) -> Outcome {
    world.repair_everything();
    // A car that stuck until this moment may still count as hung: the operator looks again.
    world.run_for(SECOND_LOOK);
    world.repair_everything();
    let rest = |world: &World| world.is_idle() && world.in_step() && world.has_the_right_master();
    let rested = world.run_until(RECKONING, rest).is_some();
    world.run_for(Duration::from_secs(5));
    // A duty that rotates may be under way at any moment.
    let settling = world.settings.election.settles_within();
    let rests = world.run_until(settling, rest).is_some();
    let mut violations = world.violations();
    if !rested || !rests {
        violations.push(Violation {
            at: world.now(),
            id: "O7",
            what: format!(
                "the fleet does not come to rest: master {:?}, in step {}, idle {}",
                world.master(),
                world.in_step(),
                world.is_idle()
            ),
        });
    }
    violations.extend(world.broken_promises());
    Outcome { world, violations }
}

/// Decides what happens next.
struct Fate {
    random: Rng,
    nodes: usize,
    /// What is broken, so that it is mended some time.
    down: Vec<usize>,
    paused: Vec<usize>,
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
    fn new(seed: u64, nodes: usize) -> Self {
        Self {
            random: Rng::with_seed(seed.rotate_left(17) ^ 0xfa7e),
            nodes,
            down: Vec::new(),
            paused: Vec::new(),
            cut: false,
            failed: BTreeSet::new(),
            whole_since: Duration::ZERO,
            truce: Duration::ZERO,
        }
    }

    fn strikes(&mut self, world: &mut World) {
        for node in 0..self.nodes {
            if world.node(node).is_none() && !self.down.contains(&node) {
                self.down.push(node);
            }
        }
        match self.random.u8(0..100) {
            0..50 => self.press(world),
            _ if world.now() < self.truce => self.press(world),
            50..62 => self.stop_a_machine(world),
            62..77 => self.start_a_machine(world),
            77..84 => self.cut(world),
            84..90 => self.mend(world),
            90..93 => self.pause(world),
            93..96 => self.resume(world),
            96 => self.lose_a_disk(world),
            97 => self.fail_a_disk(world),
            98 => self.cut_the_mains(world),
            _ => self.disturb_a_car(world),
        }
        let whole = self.down.is_empty() && self.paused.is_empty() && !self.cut;
        if !whole {
            self.whole_since = world.now();
        }
    }

    fn press(&mut self, world: &mut World) {
        for _ in 0..self.random.u8(1..=2) {
            let node = self.random.usize(0..self.nodes);
            let Ok(floor) = Floor::try_from(self.random.u8(0..4)) else {
                continue;
            };
            let button = match self.random.u8(0..3) {
                0 => Button::Hall(floor, Direction::Up),
                1 => Button::Hall(floor, Direction::Down),
                _ => Button::Cab(floor),
            };
            world.press(node, button);
        }
    }

    fn stop_a_machine(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        if self.down.contains(&node) || self.paused.contains(&node) {
            return;
        }
        self.down.push(node);
        world.inflict(if self.random.bool() {
            Fault::Kill(node)
        } else {
            Fault::PowerLoss(node)
        });
    }

    fn start_a_machine(&mut self, world: &mut World) {
        if self.down.is_empty() {
            return;
        }
        let node = self.down.swap_remove(self.random.usize(0..self.down.len()));
        world.inflict(Fault::ClearHang(node));
        world.inflict(Fault::MotorStuck(node, false));
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

    fn pause(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        if !self.down.contains(&node) && !self.paused.contains(&node) {
            self.paused.push(node);
            world.inflict(Fault::Pause(node));
        }
    }

    fn resume(&mut self, world: &mut World) {
        for node in std::mem::take(&mut self.paused) {
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
        world.run_for(Duration::from_millis(self.random.u64(0..500)));
        world.inflict(Fault::Replace(node));
        self.failed.remove(&node);
        self.truce = world.now() + RECOVERY;
    }

    /// The whole building goes dark, and comes back machine by machine (F13).
    fn cut_the_mains(&mut self, world: &mut World) {
        self.paused.clear();
        self.down = (0..self.nodes).collect();
        for node in 0..self.nodes {
            world.inflict(Fault::Resume(node));
            world.inflict(Fault::PowerLoss(node));
        }
    }

    fn disturb_a_car(&mut self, world: &mut World) {
        let node = self.random.usize(0..self.nodes);
        let on = self.random.bool();
        world.inflict(match self.random.u8(0..4) {
            0 => Fault::Obstruct(node, on),
            1 => Fault::StopSwitch(node, on),
            2 => {
                let floor = Floor::try_from(self.random.u8(0..4)).ok();
                Fault::DeadSensor(node, floor.filter(|_| on))
            }
            _ => Fault::MotorStuck(node, on),
        });
    }
}
