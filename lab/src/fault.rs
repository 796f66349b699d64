//! What can be done to a world.

use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::model::JournalId;
use elevator_fleet::wire::{Beacon, Frame};
use elevator_simulator::SimulatedCar;
use elevator_simulator::shaft::{LevellingFault, MotorFault};
use serde::{Deserialize, Serialize};

use super::World;
use super::disk::Disk;
use super::history::Note;
use super::schedule::FaultKind;

/// How long a process must be suspended to notice it.
const NOTICED: Duration = Duration::from_millis(150);

/// How long the waits between dials may stay long after losses have ended. TCP does not notice the
/// end either: retransmissions may be under way for longer.
const AFTER_LOSS: Duration = Duration::from_secs(4);

/// Something that goes wrong, or is put right. Nodes are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The process ends without warning; its kernel resets the links.
    Kill(usize),
    /// The machine goes dark: nothing is answered any more.
    PowerCut(usize),
    /// The process starts again with its own disk.
    Restart(usize),
    /// The process starts again on an empty disk, under a new journal.
    Replace(usize),
    /// The process is suspended; what is sent to it waits.
    Suspend(usize),
    /// A suspended process goes on.
    Resume(usize),
    /// Nothing gets from one machine to another.
    CutOneWay {
        /// From here.
        from: usize,
        /// To there.
        to: usize,
    },
    /// Nothing gets from one machine to another, or back.
    Cut(usize, usize),
    /// The network of a machine is cut, or mended.
    NetworkCut(usize, bool),
    /// Links between two machines can't be made any more; those that there are stay, and datagrams
    /// pass.
    RefuseLinks(usize, usize),
    /// Only machines of one group reach each other; machines in no group reach nobody.
    Partition(Vec<Vec<usize>>),
    /// Every cut is mended, and links can be made again.
    Heal,
    /// From here on so many of a hundred packets get lost.
    Loss(u8),
    /// The disk can't be relied on any more.
    DiskFail(usize),
    /// The node leads badly from here on, or well again.
    Leads(usize, Option<BadMaster>),
    /// The motor breaks, or is repaired.
    Motor(usize, Option<MotorFault>),
    /// Runs end without levelling, or level again.
    Levelling(usize, Option<LevellingFault>),
    /// From here on the car moves at so many per cent of its speed.
    Speed(usize, u8),
    /// This floor's sensor is dead, and all others work; or all work.
    DeadSensor(usize, Option<Floor>),
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
    /// An operator clears the latch of a car that hung.
    ClearHang(usize),
}

/// How a node falsifies its plan while it is the master. Its own car serves no hall call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BadMaster {
    /// It assigns nothing.
    Idle,
    /// It assigns every call to its own car.
    Greedy,
    /// It assigns every call to a car that does not exist.
    Confused,
}

impl Fault {
    /// Whether nodes or the network may take their time after it. A fault of a car is no excuse:
    /// the group goes on as before.
    fn disturbs_the_group(&self) -> bool {
        match self {
            Self::Kill(_)
            | Self::PowerCut(_)
            | Self::Restart(_)
            | Self::Replace(_)
            | Self::Suspend(_)
            | Self::Resume(_)
            | Self::CutOneWay { .. }
            | Self::Cut(..)
            | Self::NetworkCut(..)
            | Self::RefuseLinks(..)
            | Self::Partition(_)
            | Self::Heal
            | Self::Loss(_)
            | Self::DiskFail(_)
            | Self::Leads(..) => true,
            Self::Motor(..)
            | Self::Levelling(..)
            | Self::Speed(..)
            | Self::DeadSensor(..)
            | Self::AllSensorsDead(..)
            | Self::DoorJammed(..)
            | Self::Obstruct(..)
            | Self::StopSwitch(..)
            | Self::Load(..)
            | Self::Key(..)
            | Self::LineCut(..)
            | Self::ClearHang(_) => false,
        }
    }
}

impl World {
    /// Does it. What makes no sense at the moment does nothing.
    pub fn inflict(&mut self, fault: Fault) {
        self.note(0, Note::Fault(fault.clone()));
        if fault.disturbs_the_group() {
            self.disturbed();
        }
        match fault {
            Fault::Kill(node) => self.end_process(node),
            Fault::PowerCut(node) => {
                self.machines[node].powered = false;
                self.end_process(node);
            }
            Fault::Restart(node) => self.start(node),
            Fault::Replace(node) => self.replace(node),
            Fault::Suspend(node) => self.suspend(node),
            Fault::Resume(node) => self.resume(node),
            Fault::CutOneWay { from, to } => self.network.cut(from, to),
            Fault::Cut(one, other) => {
                self.network.cut(one, other);
                self.network.cut(other, one);
            }
            Fault::NetworkCut(node, cut) => {
                self.network.isolate(node, cut);
                if !cut {
                    self.unstall();
                }
            }
            Fault::RefuseLinks(one, other) => self.network.refuse_links(one, other),
            Fault::Partition(groups) => self.partition(&groups),
            Fault::Heal => {
                self.network.heal();
                self.unstall();
            }
            Fault::Loss(percent) => {
                if percent < self.network.weather.loss {
                    let until = self.connections.last_arrival().max(self.now + AFTER_LOSS);
                    self.disturbed_until(until);
                }
                self.network.weather.loss = percent;
            }
            Fault::DiskFail(node) => self.fail_disk(node),
            Fault::Leads(node, bad) => {
                self.machines[node].leads_badly = bad;
                self.disturbances.forged |= bad.is_some();
            }
            Fault::Motor(node, fault) => self.touch(node, |car| car.set_motor_fault(fault)),
            Fault::Levelling(node, fault) => {
                self.touch(node, |car| car.set_levelling_fault(fault));
            }
            Fault::Speed(node, percent) => self.touch(node, |car| car.set_speed(percent)),
            Fault::DeadSensor(node, dead) => self.touch(node, |car| {
                car.set_all_sensors_dead(false);
                if let Some(floor) = dead {
                    car.set_sensor_dead(floor, true);
                }
            }),
            Fault::AllSensorsDead(node, dead) => {
                self.touch(node, |car| car.set_all_sensors_dead(dead));
            }
            Fault::DoorJammed(node, jammed) => self.touch(node, |car| car.set_door_jammed(jammed)),
            Fault::Obstruct(node, active) => self.touch(node, |car| car.set_obstruction(active)),
            Fault::StopSwitch(node, pulled) => self.touch(node, |car| car.set_stop(pulled)),
            Fault::Load(node, load) => self.touch(node, |car| car.set_load(load)),
            Fault::Key(node, key) => self.touch(node, |car| car.set_key(key)),
            Fault::LineCut(node, cut) => self.cut_panel(node, cut),
            Fault::ClearHang(node) => self.machines[node].latched = false,
        }
    }

    /// Begins a fault of a schedule at a node.
    pub fn begin(&mut self, kind: FaultKind, node: usize) {
        match kind {
            FaultKind::Kill => self.inflict(Fault::Kill(node)),
            FaultKind::Suspension => self.inflict(Fault::Suspend(node)),
            FaultKind::LineCut => self.inflict(Fault::LineCut(node, true)),
            FaultKind::NetworkCut => self.inflict(Fault::NetworkCut(node, true)),
            FaultKind::Hang => self.inflict(Fault::Motor(node, Some(MotorFault::Stuck))),
            FaultKind::Obstruction => self.inflict(Fault::Obstruct(node, true)),
            FaultKind::StopSwitch => self.inflict(Fault::StopSwitch(node, true)),
            FaultKind::PowerCut => {
                for node in 0..self.machines.len() {
                    self.inflict(Fault::Resume(node));
                    self.inflict(Fault::PowerCut(node));
                }
            }
        }
    }

    /// Puts a fault of a schedule right.
    pub fn end(&mut self, kind: FaultKind, node: usize) {
        match kind {
            FaultKind::Kill => self.inflict(Fault::Restart(node)),
            FaultKind::Suspension => self.inflict(Fault::Resume(node)),
            FaultKind::LineCut => self.inflict(Fault::LineCut(node, false)),
            FaultKind::NetworkCut => self.inflict(Fault::NetworkCut(node, false)),
            FaultKind::Hang => {
                self.inflict(Fault::Motor(node, None));
                self.inflict(Fault::ClearHang(node));
                self.inflict(Fault::Restart(node));
            }
            FaultKind::Obstruction => self.inflict(Fault::Obstruct(node, false)),
            FaultKind::StopSwitch => self.inflict(Fault::StopSwitch(node, false)),
            FaultKind::PowerCut => {
                for node in 0..self.machines.len() {
                    self.inflict(Fault::Restart(node));
                }
            }
        }
    }

    /// Does something to a car.
    fn touch(&mut self, node: usize, act: impl FnOnce(&mut SimulatedCar)) {
        self.catch_up(node);
        act(&mut self.machines[node].car);
        self.touch_car(node);
        self.watch_car(node);
    }

    /// Puts a car right, and its line. It stays latched if it hung.
    pub fn repair_car(&mut self, node: usize) {
        self.inflict(Fault::Motor(node, None));
        self.inflict(Fault::Levelling(node, None));
        self.inflict(Fault::Speed(node, 100));
        self.inflict(Fault::DeadSensor(node, None));
        self.inflict(Fault::DoorJammed(node, false));
        self.inflict(Fault::Obstruct(node, false));
        self.inflict(Fault::StopSwitch(node, false));
        self.inflict(Fault::Load(node, Some(0)));
        self.inflict(Fault::Key(node, KeySwitch::Normal));
        self.inflict(Fault::LineCut(node, false));
    }

    /// Puts everything right: machines run, the network is whole, cars are sound.
    pub fn repair_everything(&mut self) {
        self.inflict(Fault::Heal);
        self.inflict(Fault::Loss(0));
        for node in 0..self.machines.len() {
            self.repair_car(node);
            if self.machines[node].leads_badly.is_some() {
                self.inflict(Fault::Leads(node, None));
            }
            self.inflict(Fault::ClearHang(node));
            self.inflict(Fault::Resume(node));
            self.inflict(Fault::Restart(node));
        }
    }

    /// One node hears over its links to another what that one has not sent.
    pub fn forge(&mut self, from: usize, to: usize, frame: &Frame) {
        self.disturbances.forged = true;
        self.disturbed();
        let incarnation = self.machines[to].incarnation;
        for (id, side) in self.connections.of(to, incarnation) {
            let peer = self.connections.get(id).map(|c| c.end(side.other()).node);
            if peer == Some(from) {
                let frame = frame.clone();
                self.with(to, |node, now| node.handle_frame(id.link(), frame, now));
            }
        }
    }

    /// One node sends other beacons than it means to, until this is `None` again.
    pub fn falsify(&mut self, node: usize, how: Option<fn(&mut Beacon)>) {
        self.disturbances.forged |= how.is_some();
        self.disturbed();
        self.machines[node].falsifies = how;
    }

    fn replace(&mut self, node: usize) {
        if self.machines[node].process.is_none() {
            let fresh = Disk::new(JournalId(self.random.u64(1..)));
            let disk = std::mem::replace(&mut self.machines[node].disk, fresh);
            self.machines[node].lost = Some(disk);
            self.judge(|oracles, snapshot| oracles.disk_lost(snapshot, node));
            self.start(node);
        }
    }

    fn suspend(&mut self, node: usize) {
        let process = self.machines[node].process.as_mut();
        if let Some(process) = process.filter(|process| process.backlog.is_none()) {
            process.backlog = Some(std::collections::VecDeque::new());
            process.suspended_at = self.now;
            self.falls_silent(node);
        }
    }

    fn resume(&mut self, node: usize) {
        let Some(process) = self.machines[node].process.as_mut() else {
            return;
        };
        let Some(backlog) = process.backlog.take() else {
            return;
        };
        let late = self.now.saturating_sub(process.suspended_at);
        if late >= NOTICED {
            self.oracles.car_interrupted(node);
            self.with(node, |node, now| node.handle_interrupted(late, now));
        }
        for event in backlog {
            self.happen(event);
        }
        // The panel's events come before its next outputs: it may have stopped.
        self.panel_resumes(node);
    }

    fn partition(&mut self, groups: &[Vec<usize>]) {
        self.network.heal();
        let together = |one: usize, other: usize| {
            groups.iter().any(|group| group.contains(&one) && group.contains(&other))
        };
        for from in 0..self.machines.len() {
            for to in 0..self.machines.len() {
                if from != to && !together(from, to) {
                    self.network.cut(from, to);
                }
            }
        }
        self.unstall();
    }

    fn fail_disk(&mut self, node: usize) {
        if self.machines[node].disk.failed() {
            return;
        }
        self.machines[node].disk.fail();
        self.report_disk_failed(node);
    }

    pub(super) fn report_disk_failed(&mut self, node: usize) {
        let fresh = JournalId(self.random.u64(1..));
        self.with(node, |node, now| node.handle_disk_failed(fresh, now));
    }
}
