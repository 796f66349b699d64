//! Faults of every kind, with their units and ranges.

use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::directives::Directives;
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;

use super::kinds::{
    CarKind, DiskKind, IntrusionKind, Kind, MachineKind, NetworkKind, OperatorKind, PassengersKind,
    ProcessKind,
};
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

/// The last byte of the address that an interface may come back with, at most. The lower ones of the
/// fleet's own are among them, so that its node may rank higher than before or lower.
const LAST_ADDRESS: u8 = 20;

/// How long a process has no interface that is to crash at a dial, in milliseconds.
const REDIALS_AFTER: u64 = 300;

/// How many datagrams an intruder sends at once.
const MOST_DATAGRAMS: u64 = 20;

impl Fate {
    /// Inflicts a fault of this kind, if that makes sense at the moment; says whether it did.
    pub(super) fn inflict(&mut self, kind: Kind, strength: u64, world: &mut World) -> bool {
        let node = self.node();
        let fault = match kind {
            Kind::Network(kind) => {
                self.cut = true;
                Some(self.network_fault(kind, strength))
            }
            Kind::Machine(kind) => self.machine_fault(kind, strength, world),
            Kind::Process(kind) if world.is_awake(node) => {
                Some(self.process_fault(kind, node, strength))
            }
            Kind::Process(_) => None,
            Kind::Passengers(PassengersKind::Crowd) => {
                let trips = u16::try_from(self.up_to(MOST_TRIPS, strength)).unwrap_or(1);
                world.crowd(node, trips);
                return true;
            }
            Kind::Car(kind) => Some(self.car_fault(kind, node, world)),
            Kind::Operator(_) if !world.is_awake(node) => None,
            Kind::Operator(kind) => Some(self.command(kind, node, world)),
            Kind::Intrusion(kind) => {
                self.intrude(kind, strength, world);
                return true;
            }
            Kind::Disk(kind) => return self.take_a_disk(kind, world),
        };
        let strikes = fault.is_some();
        if let Some(fault) = fault {
            world.inflict(fault);
        }
        if kind == Kind::Process(ProcessKind::CrashAtADial) && strikes {
            // Then it dials.
            world.inflict(Fault::RecreateInterface { node, millis: REDIALS_AFTER });
        }
        strikes
    }

    fn network_fault(&mut self, kind: NetworkKind, strength: u64) -> Fault {
        let (one, other) = self.pair();
        match kind {
            NetworkKind::Loss => Fault::Loss(self.percent(MOST_LOSS, strength)),
            NetworkKind::LossInBursts => {
                let length = Duration::from_millis(self.random.u64(10..=200));
                let loss = self.random.u8(50..=100);
                let percent = self.percent(MOST_LOSS, strength);
                Fault::LossBursts { percent, bursts: Bursts { length, loss } }
            }
            NetworkKind::Duplication => {
                Fault::Duplication(self.percent(MOST_DUPLICATION, strength))
            }
            NetworkKind::Reordering => Fault::Reordering(self.percent(MOST_REORDERING, strength)),
            NetworkKind::Corruption => Fault::Corruption(self.percent(MOST_CORRUPTION, strength)),
            NetworkKind::Delay => {
                let most = self.up_to(LONGEST_DELAY, strength);
                Fault::Delay { least: self.random.u64(0..=most), most }
            }
            NetworkKind::DamagedFrame => Fault::DamageFrame { from: one, to: other },
            NetworkKind::OneWayCut => Fault::CutOneWay { from: one, to: other },
            NetworkKind::Cut => Fault::Cut(one, other),
            NetworkKind::RefusedLinks => Fault::RefuseLinks(one, other),
            NetworkKind::Clog => {
                Fault::Clog { one, other, millis: self.up_to(LONGEST_CLOG, strength) }
            }
            NetworkKind::Partition => {
                let (left, right) = self.halves();
                Fault::Partition(vec![left, right])
            }
            NetworkKind::OneWayPartition => {
                let (from, to) = self.halves();
                Fault::OneWayPartition { from, to }
            }
            NetworkKind::RingPartition => {
                let mut nodes: Vec<usize> = (0..self.nodes).collect();
                self.random.shuffle(&mut nodes);
                Fault::Ring(nodes)
            }
            NetworkKind::BridgePartition => {
                let (left, right) = self.halves();
                Fault::Bridge { left, right, through: one }
            }
            NetworkKind::NetworkCut => Fault::NetworkCut(one, true),
            NetworkKind::RecreatedInterface => {
                let millis = self.up_to(LONGEST_WITHOUT_INTERFACE, strength);
                Fault::RecreateInterface { node: one, millis }
            }
            NetworkKind::NewAddress => {
                let address = Ipv4Addr::new(127, 0, 0, self.random.u8(1..=LAST_ADDRESS));
                let millis = self.up_to(LONGEST_WITHOUT_INTERFACE, strength);
                Fault::NewAddress { node: one, address, millis }
            }
        }
    }

    fn machine_fault(&mut self, kind: MachineKind, strength: u64, world: &World) -> Option<Fault> {
        let (node, other) = self.pair();
        Some(match kind {
            MachineKind::WallClock => {
                let years = i8::try_from(self.up_to(MOST_YEARS, strength)).unwrap_or(1);
                Fault::WallClock { node, years: if self.random.bool() { years } else { -years } }
            }
            MachineKind::ClockRate => {
                let wrong = u32::try_from(self.up_to(MOST_DRIFT, strength)).unwrap_or(0);
                let rate = if self.random.bool() { 1_000 + wrong } else { 1_000 - wrong };
                Fault::ClockRate { node, rate }
            }
            MachineKind::SlowDisk => {
                Fault::SlowDisk { node, millis: self.up_to(SLOWEST_DISK, strength) }
            }
            MachineKind::DuplicateAddress if world.twins.is_some() => return None,
            MachineKind::DuplicateAddress => Fault::SharedAddress { node, with: Some(other) },
            MachineKind::MainsCut => Fault::MainsCut,
        })
    }

    fn process_fault(&mut self, kind: ProcessKind, node: usize, strength: u64) -> Fault {
        let after = self.percent(MOST_PASSED, strength) - 1;
        match kind {
            ProcessKind::Kill => Fault::Kill(node),
            ProcessKind::PowerCut => Fault::PowerCut(node),
            ProcessKind::CrashAtAWrite => Fault::Crash { node, at: Boundary::Write, after },
            ProcessKind::CrashAtACommit => Fault::Crash { node, at: Boundary::Durable, after },
            ProcessKind::CrashAtADatagram => Fault::Crash { node, at: Boundary::Datagram, after },
            ProcessKind::CrashAtAFrame => Fault::Crash { node, at: Boundary::Frame, after },
            ProcessKind::CrashBeforeAFrame => Fault::Crash { node, at: Boundary::Unsent, after },
            // There are few dials, and none between nodes that have their links.
            ProcessKind::CrashAtADial => Fault::Crash { node, at: Boundary::Dial, after: 0 },
            ProcessKind::CrashAtALamp => Fault::Crash { node, at: Boundary::Panel, after },
            ProcessKind::TornWrite => Fault::TearWrite(node),
            ProcessKind::Suspension => {
                self.suspended.push(node);
                Fault::Suspend(node)
            }
            ProcessKind::Pause => {
                let (least, most) = PAUSES;
                Fault::Pause { node, millis: least + self.up_to(most - least, strength) }
            }
        }
    }

    /// Two groups, neither of which is empty.
    fn halves(&mut self) -> (Vec<usize>, Vec<usize>) {
        let mut nodes: Vec<usize> = (0..self.nodes).collect();
        self.random.shuffle(&mut nodes);
        let right = nodes.split_off(self.random.usize(1..self.nodes));
        (nodes, right)
    }

    pub(super) fn car_fault(&mut self, kind: CarKind, node: usize, world: &World) -> Fault {
        match kind {
            CarKind::Motor => {
                let faults =
                    [MotorFault::Stuck, MotorFault::Trips, MotorFault::Dead, MotorFault::Reversed];
                Fault::Motor(node, Some(faults[self.random.usize(0..faults.len())]))
            }
            CarKind::Levelling if self.random.bool() => {
                Fault::Levelling(node, Some(LevellingFault::Off))
            }
            CarKind::Levelling => Fault::Levelling(node, Some(LevellingFault::Overshoots)),
            CarKind::Speed => Fault::Speed(node, [80, 90, 110, 120][self.random.usize(0..4)]),
            CarKind::DeadSensor => Fault::DeadSensor(node, Some(self.floor(world))),
            CarKind::WrongSensor => {
                let wrong = (self.floor(world), self.floor(world));
                Fault::WrongSensor(node, Some(wrong).filter(|(at, reports)| at != reports))
            }
            CarKind::AllSensorsDead => Fault::AllSensorsDead(node, true),
            CarKind::JammedDoor => Fault::DoorJammed(node, true),
            CarKind::Obstruction => Fault::Obstruct(node, true),
            CarKind::StopSwitch => Fault::StopSwitch(node, true),
            CarKind::Load => Fault::Load(node, Some([80, 110][self.random.usize(0..2)])),
            CarKind::KeySwitch => Fault::Key(node, KEYS[self.random.usize(0..KEYS.len())]),
            CarKind::LineCut => Fault::LineCut(node, true),
            CarKind::LineNoise => {
                Fault::LineNoise { node, millis: self.random.u64(1..=LONGEST_NOISE) }
            }
            CarKind::SilentClimate => Fault::SilentClimate(node, true),
        }
    }

    /// Somebody sends what the fleet has sent already, what it has not, or what it can't read.
    fn intrude(&mut self, kind: IntrusionKind, strength: u64, world: &mut World) {
        // Recordings in their order are a run of one node's beacons now and then. What processes said
        // that have ended meanwhile is the most tempting.
        let (first, in_order) = (self.random.usize(0..256), self.random.bool());
        let outdated = self.random.bool();
        for number in 0..self.up_to(MOST_DATAGRAMS, strength) {
            let (from, to) = self.pair();
            let number = usize::try_from(number).unwrap_or(0);
            let recording = if in_order { first + number } else { self.random.usize(0..256) };
            world.inflict(match kind {
                IntrusionKind::Replay => {
                    let ended = if outdated { world.outdated_recordings() } else { Vec::new() };
                    let chosen = ended.get(recording % ended.len().max(1));
                    Fault::Replay { recording: chosen.copied().unwrap_or(recording), to }
                }
                IntrusionKind::OtherVersion => Fault::OtherVersion { from, to },
                IntrusionKind::Forgery => {
                    let forgery = Forgery::ALL[self.random.usize(0..Forgery::ALL.len())];
                    Fault::Forge { forgery, of: from, to }
                }
            });
            // Not 0: two steps of one moment have nothing between them, so that a script replays alike.
            world.run_for(Duration::from_millis(self.random.u64(1..=50)));
        }
    }

    /// What an operator commands at a node; of what is in force for all cars, most often the end.
    fn command(&mut self, kind: OperatorKind, at: usize, world: &World) -> Fault {
        let car = self.node();
        let named = self.random.bool().then_some(car);
        let directives = world.node(at).map(Node::directives);
        let ends = self.random.u8(0..4) > 0;
        match kind {
            OperatorKind::ServiceMode => {
                let mode = Mode::ALL[self.random.usize(0..Mode::ALL.len())];
                Fault::Mode { at, car, mode }
            }
            OperatorKind::PriorityCall => {
                let floor = Some(self.floor(world)).filter(|_| self.random.u8(0..4) > 0);
                Fault::Priority { at, car: named, floor }
            }
            OperatorKind::FireRecall => {
                let is_on = directives.is_some_and(Directives::is_fire_recalled);
                Fault::FireRecall { at, start: !(is_on && ends) }
            }
            OperatorKind::LockedFloor => {
                let is_locked = |floor: &Floor| directives.is_some_and(|it| it.is_locked(*floor));
                let locked = world.floors().floors().find(is_locked).filter(|_| ends);
                let floor = locked.unwrap_or_else(|| self.floor(world));
                Fault::FloorLock { at, floor, locked: locked.is_none() }
            }
            OperatorKind::EmergencyPower => {
                let is_on = directives.is_some_and(|it| it.emergency_power().is_some());
                Fault::EmergencyPower { at, on: !(is_on && ends), serving: named }
            }
        }
    }

    /// The disk takes nothing more, whatever the machine does afterwards, until it is replaced, or
    /// has room and the process starts again. Or it is replaced at once.
    fn take_a_disk(&mut self, kind: DiskKind, world: &mut World) -> bool {
        let most = self.nodes.saturating_sub(SOUND_DISKS);
        if !self.is_whole(world) || kind != DiskKind::Lost && self.failed.len() >= most {
            return false;
        }
        let node = self.node();
        match kind {
            DiskKind::Lost => {
                world.inflict(Fault::Kill(node));
                world.run_for(Duration::from_millis(self.random.u64(1..500)));
                world.inflict(Fault::Replace(node));
                self.failed.remove(&node);
            }
            DiskKind::Failed => {
                self.failed.insert(node);
                world.inflict(Fault::DiskFail(node));
            }
            DiskKind::Full => {
                self.failed.insert(node);
                world.inflict(Fault::DiskFull(node, true));
            }
        }
        self.truce = world.now() + RECOVERY;
        true
    }
}
