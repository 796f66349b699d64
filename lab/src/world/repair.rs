//! Everything put right.

use elevator_driver::KeySwitch;
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;
use elevator_fleet::settings::{Key, Setting};

use super::World;
use crate::fault::Fault;
use crate::settings::Twins;

impl World {
    /// Puts a car right, and its line. It stays latched if it hung.
    pub fn repair_car(&mut self, node: usize) {
        self.inflict(Fault::Motor(node, None));
        self.inflict(Fault::Levelling(node, None));
        self.inflict(Fault::Speed(node, 100));
        self.inflict(Fault::DeadSensor(node, None));
        self.inflict(Fault::WrongSensor(node, None));
        self.inflict(Fault::DoorJammed(node, false));
        self.inflict(Fault::Obstruct(node, false));
        self.inflict(Fault::StopSwitch(node, false));
        self.inflict(Fault::Load(node, Some(0)));
        self.inflict(Fault::Key(node, KeySwitch::Normal));
        self.inflict(Fault::LineCut(node, false));
        if self.machines[node].silenced.is_some() {
            self.inflict(Fault::SilentClimate(node, false));
        }
    }

    /// Puts everything right: machines run, the network is whole, disks are fast and have room, those
    /// that have failed are replaced by empty ones, cars are sound.
    pub fn repair_everything(&mut self) {
        self.inflict(Fault::Heal);
        self.inflict(Fault::CalmNetwork);
        self.part_twins();
        for node in 0..self.machines.len() {
            self.repair_car(node);
            self.repair_machine(node);
            self.inflict(Fault::ClearHang(node));
            self.inflict(Fault::Resume(node));
            self.inflict(Fault::Restart(node));
        }
        self.end_modes();
    }

    /// Puts all cars back in service, and ends what is commanded for all of them. Each node that knows of
    /// a command ends it, as no node may know of the latest one.
    pub(crate) fn end_modes(&mut self) {
        let running: Vec<usize> =
            (0..self.machines.len()).filter(|at| self.machines[*at].awake().is_some()).collect();
        for at in running.iter().copied() {
            for fault in self.known_commands(at) {
                self.inflict(fault);
            }
        }
    }

    /// What ends the commands that a node knows of.
    fn known_commands(&self, at: usize) -> Vec<Fault> {
        let mut faults = Vec::new();
        let Some(settings) = self.machines[at].node().map(Node::settings) else {
            return faults;
        };
        for (car, machine) in self.machines.iter().enumerate() {
            let set = settings.get(&Key::Mode(machine.name.clone())).map(|it| &it.setting);
            if matches!(set, Some(Setting::Mode(_, mode)) if *mode != Mode::InService) {
                faults.push(Fault::Mode { at, car, mode: Mode::InService });
            }
            if settings.priority(&machine.name).is_some() {
                faults.push(Fault::Priority { at, car: Some(car), floor: None });
            }
        }
        faults.extend(settings.open_sessions().into_iter().map(|session| {
            let session = session.id.request;
            Fault::Session { at, session, car: None, floor: None }
        }));
        if settings.emergency_power().is_some() {
            faults.push(Fault::EmergencyPower { at, on: false, serving: None });
        }
        if settings.is_fire_recalled() {
            faults.push(Fault::FireRecall { at, start: false });
        }
        let locked = self.settings.floors.floors().filter(|floor| settings.is_locked(*floor));
        faults.extend(locked.map(|floor| Fault::FloorLock { at, floor, locked: false }));
        faults
    }

    /// A node that shares the address of another gets its own again.
    pub(crate) fn part_twins(&mut self) {
        if let (Some(Twins::Address(_, node)), None) = (self.twins, self.settings.twins) {
            self.inflict(Fault::SharedAddress { node, with: None });
        }
    }

    /// Puts right what is wrong with a machine, but for its car and its process.
    fn repair_machine(&mut self, node: usize) {
        let usual = self.settings.clock_rates.get(&node).copied().unwrap_or(1_000);
        let machine = &self.machines[node];
        let is_full = machine.disk.is_full();
        let mut faults = Vec::new();
        if machine.leads_badly.is_some() {
            faults.push(Fault::Leads(node, None));
        }
        if machine.crash.is_some() || machine.next_transaction.is_torn {
            faults.push(Fault::NoCrash(node));
        }
        if machine.clock_rate != usual {
            faults.push(Fault::ClockRate { node, rate: usual });
        }
        if machine.wrong_years != 0 {
            faults.push(Fault::WallClock { node, years: 0 });
        }
        if machine.commit.is_some() {
            faults.push(Fault::SlowDisk { node, millis: 0 });
        }
        if machine.disk.failed() && !is_full {
            faults.extend([Fault::Kill(node), Fault::Replace(node)]);
        }
        if is_full {
            // Only a new process takes up a disk that was full (P5).
            faults.extend([Fault::DiskFull(node, false), Fault::Kill(node)]);
        }
        for fault in faults {
            self.inflict(fault);
        }
    }
}
