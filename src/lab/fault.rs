//! What can be done to a world.

use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::model::JournalId;

use super::World;
use super::disk::Disk;
use super::history::Note;
use super::machine::LostDisk;

/// A process notices that it was suspended if it was for so long.
const NOTICED: Duration = Duration::from_millis(150);

/// TCP does not know that losses have ended: for so long what it sends again may still be under
/// way, and the waits between dials still long.
const AFTER_LOSS: Duration = Duration::from_secs(4);

/// Something that goes wrong, or is put right. Nodes are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The process ends without warning; its kernel resets the links.
    Kill(usize),
    /// The machine goes dark: nothing is answered any more.
    PowerLoss(usize),
    /// The process starts again with its own disk.
    Restart(usize),
    /// The process starts again on an empty disk, under a new journal.
    Replace(usize),
    /// The process is suspended; what is sent to it waits.
    Pause(usize),
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
    /// The car sticks in its shaft, or is freed.
    MotorStuck(usize, bool),
    /// This floor's sensor says nothing, and all others are sound; or all are.
    DeadSensor(usize, Option<Floor>),
    /// Something stands in the door, or is taken away.
    Obstruct(usize, bool),
    /// The stop switch is pulled, or pushed.
    StopSwitch(usize, bool),
    /// The line between a node and its panel is cut, or plugged.
    PanelCut(usize, bool),
    /// An operator clears the latch of a car that hung.
    ClearHang(usize),
}

impl World {
    /// Does it. What makes no sense at the moment does nothing.
    pub fn inflict(&mut self, fault: Fault) {
        self.note(0, Note::Fault(fault.clone()));
        self.disturbed();
        match fault {
            Fault::Kill(node) => self.end_process(node),
            Fault::PowerLoss(node) => {
                self.machines[node].powered = false;
                self.end_process(node);
            }
            Fault::Restart(node) => self.start(node),
            Fault::Replace(node) => self.replace(node),
            Fault::Pause(node) => self.pause(node),
            Fault::Resume(node) => self.resume(node),
            Fault::CutOneWay { from, to } => self.network.cut(from, to),
            Fault::Cut(one, other) => {
                self.network.cut(one, other);
                self.network.cut(other, one);
            }
            Fault::RefuseLinks(one, other) => self.network.refuse_links(one, other),
            Fault::Partition(groups) => self.partition(&groups),
            Fault::Heal => {
                self.network.heal();
                self.unstall();
            }
            Fault::Loss(percent) => {
                if percent < self.network.weather.loss {
                    self.history.disturbed(self.now + AFTER_LOSS);
                }
                self.network.weather.loss = percent;
            }
            Fault::DiskFail(node) => self.fail_disk(node),
            Fault::MotorStuck(node, stuck) => {
                self.catch_up(node);
                let machine = &mut self.machines[node];
                if machine.car.shaft().motor_stuck() {
                    machine.stuck_at = Some(self.now);
                }
                machine.car.set_motor_stuck(stuck);
                self.touch_car(node);
            }
            Fault::DeadSensor(node, dead) => {
                self.catch_up(node);
                let car = &mut self.machines[node].car;
                for floor in car.shaft().dead_sensors().clone() {
                    car.set_sensor_dead(floor, false);
                }
                if let Some(floor) = dead {
                    car.set_sensor_dead(floor, true);
                }
                self.touch_car(node);
            }
            Fault::Obstruct(node, active) => {
                self.catch_up(node);
                self.machines[node].car.set_obstruction(active);
                self.touch_car(node);
            }
            Fault::StopSwitch(node, pulled) => {
                self.catch_up(node);
                self.machines[node].car.set_stop(pulled);
                self.touch_car(node);
            }
            Fault::PanelCut(node, cut) => self.cut_panel(node, cut),
            Fault::ClearHang(node) => self.machines[node].latched = false,
        }
    }

    /// Puts everything right: machines run, the network is whole, cars are sound.
    pub fn repair_everything(&mut self) {
        self.inflict(Fault::Heal);
        self.inflict(Fault::Loss(0));
        for node in 0..self.machines.len() {
            self.inflict(Fault::MotorStuck(node, false));
            self.inflict(Fault::DeadSensor(node, None));
            self.inflict(Fault::Obstruct(node, false));
            self.inflict(Fault::StopSwitch(node, false));
            self.inflict(Fault::PanelCut(node, false));
            self.inflict(Fault::ClearHang(node));
            self.inflict(Fault::Resume(node));
            self.inflict(Fault::Restart(node));
        }
    }

    fn replace(&mut self, node: usize) {
        if self.machines[node].process.is_none() {
            let fresh = Disk::new(JournalId(self.random.u64(1..)));
            let disk = std::mem::replace(&mut self.machines[node].disk, fresh);
            let name = &self.machines[node].name;
            let unaware = (0..self.machines.len())
                .filter(|other| self.machines[*other].hears(name, self.now))
                .collect();
            self.machines[node].lost = Some(LostDisk { disk, unaware });
            self.start(node);
        }
    }

    fn pause(&mut self, node: usize) {
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
            self.with(node, |node, now| node.handle_interrupted(late, now));
        }
        for event in backlog {
            self.happen(event);
        }
        // Only once the panel has been heard out is it told to go on: it may have stopped.
        self.panel_resumes(node);
    }

    fn partition(&mut self, groups: &[Vec<usize>]) {
        self.network.heal();
        let together = |one: usize, other: usize| {
            groups
                .iter()
                .any(|group| group.contains(&one) && group.contains(&other))
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
        self.tell_disk_failed(node);
    }

    pub(super) fn tell_disk_failed(&mut self, node: usize) {
        let fresh = JournalId(self.random.u64(1..));
        self.with(node, |node, now| node.handle_disk_failed(fresh, now));
    }
}
