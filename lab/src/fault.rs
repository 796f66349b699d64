//! What can be done to a world.
//!
//! A [`Fault`] is plain data: a run that is given the same faults at the same times is the same run.
//! `world/inflict.rs` does what a fault says, `world/repair.rs` puts it right.

mod nodes;

use std::net::Ipv4Addr;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::model::Mode;
use elevator_simulator::shaft::{LevellingFault, MotorFault};
use serde::{Deserialize, Serialize};

use super::network::{Bursts, Hit};

/// Something that goes wrong, or is put right. Nodes are numbered from 0.
///
/// What an operator or a robot commands `at` a node that does not run comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The process ends without warning; its kernel resets the links.
    Kill(usize),
    /// The machine goes dark: nothing is answered any more.
    PowerCut(usize),
    /// All machines go dark at once.
    MainsCut,
    /// The process ends at a [`Boundary`] between two of its actions, `after` this many of them.
    Crash { node: usize, at: Boundary, after: u8 },
    /// The process does not crash at a boundary any more, nor is a write torn.
    NoCrash(usize),
    /// The process starts again with its own disk.
    Restart(usize),
    /// The process starts again on an empty disk.
    Replace(usize),
    /// The process is suspended; what is sent to it waits.
    Suspend(usize),
    /// A suspended process goes on.
    Resume(usize),
    /// The process is suspended for this time.
    Pause { node: usize, millis: u64 },
    /// From here on the monotonic clock of a node counts this many milliseconds in a second, more
    /// than 0. 1000 is right.
    ClockRate { node: usize, rate: u32 },
    /// The wall clock of a node is wrong by this many years from here on. 0 is right.
    WallClock { node: usize, years: i8 },
    /// Nothing gets from one machine to another.
    CutOneWay { from: usize, to: usize },
    /// Nothing gets from one machine to another, or back.
    Cut(usize, usize),
    /// What was cut from one machine to another passes again.
    UncutOneWay { from: usize, to: usize },
    /// What was cut between two machines passes again, both ways.
    Uncut(usize, usize),
    /// The network of a machine is cut, or repaired.
    NetworkCut(usize, bool),
    /// The network interface of a machine is deleted and made anew: it reaches nobody meanwhile,
    /// and then its links end.
    RecreateInterface { node: usize, millis: u64 },
    /// The network interface of a machine is deleted and made anew with another address, as a DHCP
    /// server may give it. The machine reaches nobody meanwhile; then its node starts anew under
    /// that address. If another machine has it, the interface has its old one.
    NewAddress { node: usize, address: Ipv4Addr, millis: u64 },
    /// Links between two machines can't be made any more; existing links stay, and datagrams
    /// pass.
    RefuseLinks(usize, usize),
    /// Only machines of one group reach each other; machines in no group reach nobody. A partition of
    /// any kind takes the place of an earlier one, and what else is cut stays so.
    Partition(Vec<Vec<usize>>),
    /// Nothing gets from the machines of one group to those of another; all else passes.
    OneWayPartition { from: Vec<usize>, to: Vec<usize> },
    /// Each machine reaches only the next one and the one before; the last is before the first.
    Ring(Vec<usize>),
    /// Two groups reach each other through one machine only, which reaches all.
    Bridge { left: Vec<usize>, right: Vec<usize>, through: usize },
    /// What two machines send to each other waits, and arrives at once when the time is over.
    Clog { one: usize, other: usize, millis: u64 },
    /// Nothing is cut or clogged any more, and links can be made again.
    Heal,
    /// From here on this percentage of the packets gets lost.
    Loss(u8),
    /// From here on this percentage of the packets gets lost on average, in bursts.
    LossBursts { percent: u8, bursts: Bursts },
    /// From here on this percentage of the datagrams arrives twice.
    Duplication(u8),
    /// From here on this percentage of the datagrams is held back, so that later ones overtake
    /// them.
    Reordering(u8),
    /// From here on this percentage of the datagrams arrives damaged: bits flipped, cut short,
    /// prolonged beyond every limit, or replaced by random bytes.
    Corruption(u8),
    /// From here on packets travel for a time within these bounds, in microseconds.
    Delay { least: u64, most: u64 },
    /// The network treats packets again as it did at the beginning, and loses none.
    CalmNetwork,
    /// The next frame from one machine to another arrives damaged, which ends its link.
    DamageFrame { from: usize, to: usize },
    /// A datagram that was recorded earlier arrives again: one of 128 recent recordings and 128 old
    /// ones, counted round and round.
    Replay { recording: usize, to: usize },
    /// A datagram arrives that somebody without the key of the fleet has made after the latest
    /// recorded one `of` a node. It has the right form. Nothing happens in a fleet without a key.
    Forge { forgery: Forgery, of: usize, to: usize },
    /// A datagram of another version of the wire protocol arrives.
    OtherVersion { from: usize, to: usize },
    /// The disk can't be relied on any more.
    DiskFail(usize),
    /// The disk is full, which fails the next write, or has room again. Either way a disk that has
    /// failed is not written before the process starts again (P5).
    DiskFull(usize, bool),
    /// A transaction takes the disk up to this many milliseconds; 0: as long as it did at the
    /// beginning.
    SlowDisk { node: usize, millis: u64 },
    /// The machine goes dark while its disk writes: what was being written is torn, and not there. If
    /// it writes nothing, that happens to the next transaction.
    TearWrite(usize),
    /// The node leads badly from here on, or well again.
    Leads(usize, Option<BadMaster>),
    /// The motor breaks, or is repaired.
    Motor(usize, Option<MotorFault>),
    /// Runs end without levelling, or level again.
    Levelling(usize, Option<LevellingFault>),
    /// From here on the car moves at this percentage of its speed.
    Speed(usize, u8),
    /// This floor's sensor is dead, and all others work; or all work.
    DeadSensor(usize, Option<Floor>),
    /// The sensor of the first floor reports the second, and all others their own; or all report
    /// their own.
    WrongSensor(usize, Option<(Floor, Floor)>),
    /// All floor sensors are dead, or work.
    AllSensorsDead(usize, bool),
    /// The door sticks where it is, or is freed.
    DoorJammed(usize, bool),
    /// Something stands in the door, or is taken away.
    Obstruct(usize, bool),
    /// The stop switch is pulled, or pushed.
    StopSwitch(usize, bool),
    /// The load in per cent of the rated load, or no load cell.
    Load(usize, Option<u8>),
    /// The key switch is turned.
    Key(usize, KeySwitch),
    /// The line between a node and its panel is cut, or plugged.
    LineCut(usize, bool),
    /// The line between a node and its panel carries noise: the node drops it, and takes it up
    /// again when the noise is over.
    LineNoise { node: usize, millis: u64 },
    /// The climate sensors of a panel say nothing, or measure again.
    SilentClimate(usize, bool),
    /// A crowd comes to a panel. Each of its presses follows as a press: see [`World::crowd`].
    ///
    /// [`World::crowd`]: crate::World::crowd
    Crowd(usize),
    /// A node starts again with the address of another, or with its own. What is sent to the address
    /// comes to the lower of the two.
    SharedAddress { node: usize, with: Option<usize> },
    /// An operator clears the latch of a car that hung.
    ClearHang(usize),
    /// An operator sets the service mode of a car, at a node that may be another one.
    Mode { at: usize, car: usize, mode: Mode },
    /// An operator sends a car, or the one that gets there first, to a floor with priority, or ends
    /// that.
    Priority { at: usize, car: Option<usize>, floor: Option<Floor> },
    /// A robot asks for a session, for the next floor in it, or for its end, which has no floor.
    Session { at: usize, session: u64, car: Option<usize>, floor: Option<Floor> },
    /// An operator says that the building runs on emergency power, or no longer does.
    EmergencyPower { at: usize, on: bool, serving: Option<usize> },
    /// An operator recalls all cars, or ends that.
    FireRecall { at: usize, start: bool },
    /// An operator locks a floor, or unlocks it.
    FloorLock { at: usize, floor: Floor, locked: bool },
}

/// How a node falsifies its plan while it is the master. Its own car serves no hall call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadMaster {
    Idle,
    /// It assigns every call to its own car.
    Greedy,
    /// It assigns every call to a car that does not exist.
    Confused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Boundary {
    /// Before it hands a batch to its disk.
    Write,
    /// When a batch has become durable, before it learns of that.
    Durable,
    /// Before it sends a datagram.
    Datagram,
    /// After it has sent a frame over a link.
    Frame,
    /// Before it sends a frame over a link.
    Unsent,
    /// Before it dials another node.
    Dial,
    /// Before it shows its panel anything: lamps, motor and door are as they were.
    Panel,
}

impl Boundary {
    pub const ALL: [Self; 7] = [
        Self::Write,
        Self::Durable,
        Self::Datagram,
        Self::Frame,
        Self::Unsent,
        Self::Dial,
        Self::Panel,
    ];
}

/// What is wrong with a forged datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// A node that is not there, with the lowest address of all, says that it is the master.
    LowestAddress,
    /// Another process has the name and the address of a member.
    Name,
    /// The sequence of a member's beacon is the highest possible.
    Sequence,
    /// The term of a member's beacon is close to the end of its range.
    Term,
}

impl Forgery {
    pub const ALL: [Self; 4] = [Self::LowestAddress, Self::Name, Self::Sequence, Self::Term];
}

impl Fault {
    /// What everything is called that puts something right.
    pub const REPAIR: &str = "repair";

    /// What kind of a fault it is; `repair` for what puts one right.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Kill(_) => "kill",
            Self::PowerCut(_) => "power cut",
            Self::MainsCut => "mains cut",
            Self::Crash { at: Boundary::Write, .. } => "crash at a write",
            Self::Crash { at: Boundary::Durable, .. } => "crash at a commit",
            Self::Crash { at: Boundary::Datagram, .. } => "crash at a datagram",
            Self::Crash { at: Boundary::Frame, .. } => "crash at a frame",
            Self::Crash { at: Boundary::Unsent, .. } => "crash before a frame",
            Self::Crash { at: Boundary::Dial, .. } => "crash at a dial",
            Self::Crash { at: Boundary::Panel, .. } => "crash at a lamp",
            Self::Replace(_) => "lost disk",
            Self::Suspend(_) => "suspension",
            Self::Pause { .. } => "pause",
            Self::ClockRate { rate, .. } => of(*rate != 1_000, "clock rate"),
            Self::WallClock { years, .. } => of(*years != 0, "wall clock"),
            Self::CutOneWay { .. } => "one-way cut",
            Self::Cut(..) => "cut",
            Self::NetworkCut(_, cut) => of(*cut, "network cut"),
            Self::RecreateInterface { .. } => "recreated interface",
            Self::NewAddress { .. } => "new address",
            Self::RefuseLinks(..) => "refused links",
            Self::Partition(_) => "partition",
            Self::OneWayPartition { .. } => "one-way partition",
            Self::Ring(_) => "ring partition",
            Self::Bridge { .. } => "bridge partition",
            Self::Clog { .. } => "clog",
            Self::Loss(percent) => of(*percent > 0, "loss"),
            Self::LossBursts { .. } => "loss in bursts",
            Self::Duplication(percent) => of(*percent > 0, "duplication"),
            Self::Reordering(percent) => of(*percent > 0, "reordering"),
            Self::Corruption(percent) => of(*percent > 0, "corruption"),
            Self::Delay { .. } => "delay",
            Self::DamageFrame { .. } => "damaged frame",
            Self::Replay { .. } => "replay",
            Self::Forge { .. } => "forgery",
            Self::OtherVersion { .. } => "other version",
            Self::DiskFail(_) => "failed disk",
            Self::DiskFull(_, full) => of(*full, "full disk"),
            Self::SlowDisk { millis, .. } => of(*millis > 0, "slow disk"),
            Self::TearWrite(_) => "torn write",
            Self::Leads(_, bad) => of(bad.is_some(), "bad master"),
            Self::Motor(_, broken) => of(broken.is_some(), "motor"),
            Self::Levelling(_, broken) => of(broken.is_some(), "levelling"),
            Self::Speed(_, percent) => of(*percent != 100, "speed"),
            Self::DeadSensor(_, dead) => of(dead.is_some(), "dead sensor"),
            Self::WrongSensor(_, wrong) => of(wrong.is_some(), "wrong sensor"),
            Self::AllSensorsDead(_, dead) => of(*dead, "all sensors dead"),
            Self::DoorJammed(_, jammed) => of(*jammed, "jammed door"),
            Self::Obstruct(_, active) => of(*active, "obstruction"),
            Self::StopSwitch(_, pulled) => of(*pulled, "stop switch"),
            Self::Load(_, load) => of(*load != Some(0), "load"),
            Self::Key(_, key) => of(*key != KeySwitch::Normal, "key switch"),
            Self::LineCut(_, cut) => of(*cut, "line cut"),
            Self::LineNoise { .. } => "line noise",
            Self::SilentClimate(_, silent) => of(*silent, "silent climate sensor"),
            Self::Crowd(_) => "crowd",
            Self::SharedAddress { with, .. } => of(with.is_some(), "duplicate address"),
            Self::Mode { mode, .. } => of(*mode != Mode::InService, "service mode"),
            Self::Priority { floor, .. } => of(floor.is_some(), "priority call"),
            Self::Session { floor, .. } => of(floor.is_some(), "session"),
            Self::EmergencyPower { on, .. } => of(*on, "emergency power"),
            Self::FireRecall { start, .. } => of(*start, "fire recall"),
            Self::FloorLock { locked, .. } => of(*locked, "locked floor"),
            Self::NoCrash(_)
            | Self::Restart(_)
            | Self::Resume(_)
            | Self::UncutOneWay { .. }
            | Self::Uncut(..)
            | Self::Heal
            | Self::CalmNetwork
            | Self::ClearHang(_) => Self::REPAIR,
        }
    }

    /// Whether it has happened once it is inflicted. The others wait for an occasion, which may never
    /// come, or need one: a packet that is lost, a transaction that is slow.
    pub(crate) fn happens_at_once(&self) -> bool {
        self.awaited_hit().is_none()
            && !matches!(
                self,
                Self::Crash { .. }
                    | Self::DamageFrame { .. }
                    | Self::Replay { .. }
                    | Self::Forge { .. }
                    | Self::OtherVersion { .. }
                    | Self::LineNoise { .. }
                    | Self::NewAddress { .. }
                    | Self::TearWrite(_)
                    | Self::DiskFull(_, true)
                    | Self::SlowDisk { millis: 1.., .. }
            )
    }

    /// What has to happen to a packet before it has happened.
    pub(crate) fn awaited_hit(&self) -> Option<Hit> {
        match self {
            Self::Loss(1..) | Self::LossBursts { .. } => Some(Hit::Lost),
            Self::Duplication(1..) => Some(Hit::Duplicated),
            Self::Reordering(1..) => Some(Hit::HeldBack),
            Self::Corruption(1..) => Some(Hit::Damaged),
            _ => None,
        }
    }

    /// The invariants that may be violated until all is well again, and a while longer.
    pub(crate) fn invalidates(&self) -> &'static [&'static str] {
        Self::invalidated_by(self.kind())
    }

    /// The same for a fault of this kind.
    pub(crate) fn invalidated_by(kind: &str) -> &'static [&'static str] {
        match kind {
            "corruption" | "damaged frame" | "new address" | "other version" => &["C7"],
            "bad master" | "duplicate address" => &["C7", "E3", "power"],
            _ => &[],
        }
    }
}

/// The name of a fault that begins, or what its end is called.
fn of(begins: bool, kind: &'static str) -> &'static str {
    if begins { kind } else { Fault::REPAIR }
}
