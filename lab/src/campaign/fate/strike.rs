//! Faults of every kind, with their units and ranges.

use std::time::Duration;

use elevator_driver::KeySwitch;

use super::kinds::Kind;
use super::{Fate, RECOVERY, SOUND_DISKS};
use crate::{Boundary, Bursts, Fault, Forgery, LevellingFault, MotorFault, World};

const KEYS: [KeySwitch; 3] =
    [KeySwitch::Independent, KeySwitch::FireRecall, KeySwitch::OutOfService];

/// In milliseconds: a clog, a pause, a line with noise, a time without interface, a transaction.
const LONGEST_CLOG: u64 = 5_000;
const PAUSES: (u64, u64) = (10, 10_000);
const LONGEST_NOISE: u64 = 3_000;
const LONGEST_WITHOUT_INTERFACE: u64 = 3_000;
const SLOWEST_DISK: u64 = 2_000;

/// In per cent, of packets or datagrams.
const MOST_LOSS: u64 = 30;
const MOST_DUPLICATION: u64 = 50;
const MOST_REORDERING: u64 = 30;
const MOST_CORRUPTION: u64 = 30;

/// The longest delay, in microseconds.
const LONGEST_DELAY: u64 = 100_000;

/// How many milliseconds in a second a clock is wrong by.
const MOST_DRIFT: u64 = 200;

/// How many years a wall clock is wrong by.
const MOST_YEARS: u64 = 40;

/// How many destinations a crowd gives.
const MOST_TRIPS: u64 = 40;

/// How many boundaries a process passes before it crashes at one.
const MOST_PASSED: u64 = 6;

/// How many datagrams an intruder sends at once.
const MOST_DATAGRAMS: u64 = 20;

impl Fate {
    /// Inflicts a fault of this kind, if that makes sense at the moment; says whether it did.
    pub(super) fn inflict(&mut self, kind: Kind, strength: u64, world: &mut World) -> bool {
        let struck = self
            .network_fault(kind, strength)
            .or_else(|| self.process_fault(kind, strength, world))
            .or_else(|| {
                let node = self.node();
                self.car_fault(kind, node, world)
            });
        if let Some(fault) = struck {
            world.inflict(fault);
            return true;
        }
        match kind {
            Kind::LostDisk => self.lose_a_disk(world),
            Kind::FailedDisk | Kind::FullDisk => self.fail_a_disk(kind, world),
            Kind::Replay | Kind::Forgery | Kind::OtherVersion => {
                self.intrude(kind, strength, world);
                true
            }
            Kind::Crowd => {
                let trips = u16::try_from(self.up_to(MOST_TRIPS, strength)).unwrap_or(1);
                let node = self.node();
                world.crowd(node, trips);
                true
            }
            _ => false,
        }
    }

    fn network_fault(&mut self, kind: Kind, strength: u64) -> Option<Fault> {
        let (one, other) = self.pair();
        let fault = match kind {
            Kind::Loss => Fault::Loss(self.percent(MOST_LOSS, strength)),
            Kind::LossInBursts => {
                let length = Duration::from_millis(self.random.u64(10..=200));
                let loss = self.random.u8(50..=100);
                let percent = self.percent(MOST_LOSS, strength);
                Fault::LossBursts { percent, bursts: Bursts { length, loss } }
            }
            Kind::Duplication => Fault::Duplication(self.percent(MOST_DUPLICATION, strength)),
            Kind::Reordering => Fault::Reordering(self.percent(MOST_REORDERING, strength)),
            Kind::Corruption => Fault::Corruption(self.percent(MOST_CORRUPTION, strength)),
            Kind::Delay => {
                let most = self.up_to(LONGEST_DELAY, strength);
                Fault::Delay { least: self.random.u64(0..=most), most }
            }
            Kind::DamagedFrame => Fault::DamageFrame { from: one, to: other },
            Kind::OneWayCut => Fault::CutOneWay { from: one, to: other },
            Kind::Cut => Fault::Cut(one, other),
            Kind::RefusedLinks => Fault::RefuseLinks(one, other),
            Kind::Clog => Fault::Clog { one, other, millis: self.up_to(LONGEST_CLOG, strength) },
            Kind::Partition => {
                let (left, right) = self.halves();
                Fault::Partition(vec![left, right])
            }
            Kind::OneWayPartition => {
                let (from, to) = self.halves();
                Fault::OneWayPartition { from, to }
            }
            Kind::RingPartition => {
                let mut nodes: Vec<usize> = (0..self.nodes).collect();
                self.random.shuffle(&mut nodes);
                Fault::Ring(nodes)
            }
            Kind::BridgePartition => {
                let (left, right) = self.halves();
                Fault::Bridge { left, right, through: one }
            }
            Kind::RecreatedInterface => {
                let millis = self.up_to(LONGEST_WITHOUT_INTERFACE, strength);
                Fault::RecreateInterface { node: one, millis }
            }
            _ => return None,
        };
        self.cut = true;
        Some(fault)
    }

    fn process_fault(&mut self, kind: Kind, strength: u64, world: &World) -> Option<Fault> {
        let node = self.node();
        let after = self.percent(MOST_PASSED, strength) - 1;
        let (one, other) = self.pair();
        let fault = match kind {
            Kind::WallClock => {
                let years = i8::try_from(self.up_to(MOST_YEARS, strength)).unwrap_or(1);
                Fault::WallClock { node, years: if self.random.bool() { years } else { -years } }
            }
            Kind::ClockRate => {
                let wrong = u32::try_from(self.up_to(MOST_DRIFT, strength)).unwrap_or(0);
                let rate = if self.random.bool() { 1_000 + wrong } else { 1_000 - wrong };
                Fault::ClockRate { node, rate }
            }
            Kind::SlowDisk => Fault::SlowDisk { node, millis: self.up_to(SLOWEST_DISK, strength) },
            Kind::DuplicateAddress if world.twins.is_none() => {
                Fault::SharedAddress { node: one, with: Some(other) }
            }
            Kind::MainsCut => Fault::MainsCut,
            _ if !world.is_awake(node) => return None,
            Kind::Kill => Fault::Kill(node),
            Kind::PowerCut => Fault::PowerCut(node),
            Kind::CrashAtAWrite => Fault::Crash { node, at: Boundary::Write, after },
            Kind::CrashAtACommit => Fault::Crash { node, at: Boundary::Durable, after },
            Kind::CrashAtADatagram => Fault::Crash { node, at: Boundary::Datagram, after },
            Kind::CrashAtAFrame => Fault::Crash { node, at: Boundary::Frame, after },
            Kind::TornWrite => Fault::TearWrite(node),
            Kind::Suspension => {
                self.suspended.push(node);
                Fault::Suspend(node)
            }
            Kind::Pause => {
                let (least, most) = PAUSES;
                Fault::Pause { node, millis: least + self.up_to(most - least, strength) }
            }
            _ => return None,
        };
        Some(fault)
    }

    /// Two groups; either may be empty.
    fn halves(&mut self) -> (Vec<usize>, Vec<usize>) {
        let side = |_: &usize| self.random.bool();
        (0..self.nodes).partition(side)
    }

    pub(super) fn car_fault(&mut self, kind: Kind, node: usize, world: &World) -> Option<Fault> {
        Some(match kind {
            Kind::Motor => {
                let faults =
                    [MotorFault::Stuck, MotorFault::Trips, MotorFault::Dead, MotorFault::Reversed];
                Fault::Motor(node, Some(faults[self.random.usize(0..faults.len())]))
            }
            Kind::Levelling if self.random.bool() => {
                Fault::Levelling(node, Some(LevellingFault::Off))
            }
            Kind::Levelling => Fault::Levelling(node, Some(LevellingFault::Overshoots)),
            Kind::Speed => Fault::Speed(node, [80, 90, 110, 120][self.random.usize(0..4)]),
            Kind::DeadSensor => Fault::DeadSensor(node, Some(self.floor(world))),
            Kind::AllSensorsDead => Fault::AllSensorsDead(node, true),
            Kind::JammedDoor => Fault::DoorJammed(node, true),
            Kind::Obstruction => Fault::Obstruct(node, true),
            Kind::StopSwitch => Fault::StopSwitch(node, true),
            Kind::Load => Fault::Load(node, Some([80, 110][self.random.usize(0..2)])),
            Kind::KeySwitch => Fault::Key(node, KEYS[self.random.usize(0..KEYS.len())]),
            Kind::LineCut => Fault::LineCut(node, true),
            Kind::LineNoise => {
                Fault::LineNoise { node, millis: self.random.u64(1..=LONGEST_NOISE) }
            }
            Kind::SilentClimate => Fault::SilentClimate(node, true),
            _ => return None,
        })
    }

    /// Somebody sends what the fleet has sent already, what it has not, or what it can't read.
    fn intrude(&mut self, kind: Kind, strength: u64, world: &mut World) {
        for _ in 0..self.up_to(MOST_DATAGRAMS, strength) {
            let (from, to) = self.pair();
            world.inflict(match kind {
                Kind::Replay => Fault::Replay { recording: self.random.usize(0..128), to },
                Kind::OtherVersion => Fault::OtherVersion { from, to },
                _ => {
                    let forgery = Forgery::ALL[self.random.usize(0..Forgery::ALL.len())];
                    Fault::Forge { forgery, of: from, to }
                }
            });
            // Not 0: two steps of one moment have nothing between them, so that a script replays alike.
            world.run_for(Duration::from_millis(self.random.u64(1..=50)));
        }
    }

    /// The disk takes nothing more, whatever the machine does afterwards, until it is replaced, or
    /// has room and the process starts again.
    fn fail_a_disk(&mut self, kind: Kind, world: &mut World) -> bool {
        let most = self.nodes.saturating_sub(SOUND_DISKS);
        if !self.is_whole(world) || self.failed.len() >= most {
            return false;
        }
        let node = self.node();
        self.failed.insert(node);
        world.inflict(match kind {
            Kind::FullDisk => Fault::DiskFull(node, true),
            _ => Fault::DiskFail(node),
        });
        self.truce = world.now() + RECOVERY;
        true
    }

    fn lose_a_disk(&mut self, world: &mut World) -> bool {
        if !self.is_whole(world) {
            return false;
        }
        let node = self.node();
        world.inflict(Fault::Kill(node));
        world.run_for(Duration::from_millis(self.random.u64(1..500)));
        world.inflict(Fault::Replace(node));
        self.failed.remove(&node);
        self.truce = world.now() + RECOVERY;
        true
    }
}
