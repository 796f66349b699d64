//! Does what a fault says.

use std::time::Duration;

use elevator_driver::{Button, Climate, Direction, Floor, Trip};
use elevator_fleet::model::{NodeId, Timestamp};
use elevator_fleet::node::{Access, Command, CommandRefused, Node, SessionRequest};
use elevator_fleet::settings::{Asked, RequestId, Session, SettingError};

use super::World;
use crate::agenda::{Event, TimedFault};
use crate::fault::Fault;
use crate::history::Note;
use crate::machine::Line;
use crate::snapshot::LINGERS;

/// Who commands modes.
const OPERATOR: &str = "lab";

/// For how many seconds a robot has a door held open.
const SESSION_SECONDS: u16 = 20;

/// How long a process must be suspended to notice it.
const NOTICED: Duration = Duration::from_millis(150);

impl World {
    /// Does it. What makes no sense at the moment does nothing.
    pub fn inflict(&mut self, fault: Fault) {
        self.note(0, Note::Fault(fault.clone()));
        if fault.happens_at_once() {
            self.count_fault(&fault);
        } else if let Some(hit) = fault.awaited_hit() {
            self.network.await_hit(hit, fault.kind());
        }
        if self.snapshot().calm_group(LINGERS).is_some() {
            self.storm.invalid.clear();
        }
        if !fault.invalidates().is_empty() {
            self.storm.invalid.extend(fault.invalidates());
            self.disturbed();
        }
        self.note_storm();
        self.do_as(fault);
        self.note_storm();
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each fault")]
    fn do_as(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(node) => self.end_process(node),
            Fault::PowerCut(node) => self.cut_power(node),
            Fault::MainsCut => {
                for node in 0..self.machines.len() {
                    self.resume(node);
                    self.cut_power(node);
                }
            }
            Fault::Crash { node, at, after } => self.machines[node].crash = Some((at, after)),
            Fault::NoCrash(node) => {
                self.machines[node].crash = None;
                self.machines[node].next_transaction.is_torn = false;
            }
            Fault::Restart(node) => self.start(node),
            Fault::Replace(node) => self.replace(node),
            Fault::Suspend(node) => self.suspend(node),
            Fault::Resume(node) => self.resume(node),
            Fault::Pause { node, millis } => {
                self.suspend(node);
                self.ends_after(millis, TimedFault::Pause { node, began: self.now });
            }
            Fault::ClockRate { node, rate } => self.set_clock_rate(node, rate.max(1)),
            Fault::WallClock { node, years } => self.set_wall_clock(node, years),
            Fault::Leads(node, bad) => self.machines[node].leads_badly = bad,
            Fault::SharedAddress { node, with } => self.share_address(node, with),
            Fault::CutOneWay { from, to } => self.network.cut(from, to),
            Fault::Cut(one, other) => {
                self.network.cut(one, other);
                self.network.cut(other, one);
            }
            Fault::UncutOneWay { from, to } => self.uncut([(from, to)]),
            Fault::Uncut(one, other) => self.uncut([(one, other), (other, one)]),
            Fault::NetworkCut(node, cut) => self.cut_network_of(node, cut),
            Fault::RecreateInterface { node, millis } => self.delete_interface(node, None, millis),
            Fault::NewAddress { node, address, millis } => {
                self.delete_interface(node, Some(address), millis);
            }
            Fault::RefuseLinks(one, other) => self.network.refuse_links(one, other),
            Fault::Partition(groups) => self.part(&groups),
            Fault::OneWayPartition { from, to } => {
                self.cut_all_but(|one, other| !(from.contains(&one) && to.contains(&other)));
            }
            Fault::Ring(nodes) => self.connect_as_a_ring(&nodes),
            Fault::Bridge { left, right, through } => self.bridge(&left, &right, through),
            Fault::Clog { one, other, millis } => self.clog(one, other, millis),
            Fault::Heal => self.heal(),
            Fault::Loss(percent) => self.change_weather(|it| it.weather.loss = percent),
            Fault::LossBursts { percent, bursts } => self.change_weather(|network| {
                network.weather.loss = percent;
                network.bursts = Some(bursts);
            }),
            Fault::Duplication(percent) => {
                self.change_weather(|it| it.weather.duplication = percent);
            }
            Fault::Reordering(percent) => self.change_weather(|it| it.weather.reordering = percent),
            Fault::Corruption(percent) => self.change_weather(|it| it.weather.corruption = percent),
            Fault::Delay { least, most } => {
                self.change_weather(|it| it.weather.delay = least..=most.max(least));
            }
            Fault::CalmNetwork => self.calm_network(),
            Fault::DamageFrame { from, to } => {
                self.damaged_frames.insert((from, to));
            }
            Fault::Replay { recording, to } => self.replay(recording, to),
            Fault::Forge { forgery, of, to } => self.forge_beacon(forgery, of, to),
            Fault::OtherVersion { from, to } => self.speak_another_version(from, to),
            Fault::DiskFail(node) if self.machines[node].disk.failed() => {}
            Fault::DiskFail(node) => {
                self.machines[node].disk.fail();
                self.report_disk_failed(node);
            }
            Fault::DiskFull(node, true) if self.machines[node].disk.failed() => {}
            Fault::DiskFull(node, full) => self.machines[node].disk.set_full(full),
            Fault::SlowDisk { node, millis } => {
                // What began on a slow disk takes its time, and what waits for it.
                if let Some(slow) = self.machines[node].commit.take() {
                    self.disturbed_until(self.now + Duration::from_micros(2 * *slow.end()));
                }
                let most = millis * 1_000;
                self.machines[node].commit = (most > 0).then_some(most / 2..=most);
                self.machines[node].next_transaction.is_slow = most > 0;
            }
            Fault::TearWrite(node) => {
                self.machines[node].next_transaction.is_torn = true;
                self.tear_write(node);
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
            Fault::WrongSensor(node, wrong) => self.mislead(node, wrong),
            Fault::AllSensorsDead(node, dead) => {
                self.touch(node, |car| car.set_all_sensors_dead(dead));
            }
            Fault::DoorJammed(node, jammed) => self.touch(node, |car| car.set_door_jammed(jammed)),
            Fault::Obstruct(node, active) => self.touch(node, |car| car.set_obstruction(active)),
            Fault::StopSwitch(node, pulled) => self.touch(node, |car| car.set_stop(pulled)),
            Fault::Load(node, load) => self.touch(node, |car| car.set_load(load)),
            Fault::Key(node, key) => self.touch(node, |car| car.set_key(key)),
            Fault::LineCut(node, cut) => {
                self.machines[node].noisy_since = None;
                self.cut_panel(node, cut);
            }
            Fault::LineNoise { node, millis } => self.disturb_line(node, millis),
            Fault::SilentClimate(node, silent) => self.silence_climate(node, silent),
            // Its presses follow.
            Fault::Crowd(_) => {}
            Fault::ClearHang(node) => {
                self.machines[node].latched = false;
                self.oracles.cars[node].latched = false;
            }
            Fault::Mode { at, car, mode } => {
                let car = self.machines[car].name.clone();
                self.command(at, Command::Mode { car, mode });
            }
            Fault::Priority { at, car, floor } => {
                let car = self.name_of(car);
                self.command(at, Command::Priority { car, floor });
            }
            Fault::Session { at, session, car, floor } => self.set_session(at, session, car, floor),
            Fault::EmergencyPower { at, on, serving } => {
                let car = self.name_of(serving);
                self.command(at, Command::EmergencyPower { on, car });
            }
            Fault::FireRecall { at, start } => self.command(at, Command::FireRecall { on: start }),
            Fault::FloorLock { at, floor, locked } => {
                self.command(at, Command::FloorLock { floor, locked });
            }
        }
    }

    pub(crate) fn count_fault(&mut self, fault: &Fault) {
        *self.inflicted.entry(fault.kind()).or_default() += 1;
    }

    /// Counts the faults of the network that have hit a packet.
    pub(crate) fn count_hits(&mut self) {
        while let Some(kind) = self.network.poll_hit() {
            *self.inflicted.entry(kind).or_default() += 1;
        }
    }

    /// The machine goes dark if its disk writes, and a write of it is to be torn.
    fn tear_write(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if machine.next_transaction.is_torn && machine.disk.is_committing() {
            machine.next_transaction.is_torn = false;
            machine.disk.tear();
            self.count_fault(&Fault::TearWrite(node));
            self.cut_power(node);
        }
    }

    /// An operator gives this command at a node, if that is awake. One that it can't carry out does
    /// nothing: it has not heard of the car or of the recall, or no car is in service.
    fn command(&mut self, at: usize, command: Command) {
        self.ask(at, |node, now| {
            let refused = node.handle_command(command, OPERATOR, None, now).err();
            if let Some(CommandRefused::Setting(SettingError::Full | SettingError::Spent)) = refused
            {
                unreachable!("a fleet of the lab has room for what is commanded");
            }
        });
    }

    /// An operator or a robot asks for something at a node, if that is awake.
    fn ask(&mut self, at: usize, act: impl FnOnce(&mut Node, Timestamp)) {
        if self.machines[at].awake().is_some() {
            self.with(at, act);
        }
    }

    fn name_of(&self, car: Option<usize>) -> Option<NodeId> {
        car.map(|car| self.machines[car].name.clone())
    }

    fn set_session(&mut self, at: usize, session: u64, car: Option<usize>, floor: Option<Floor>) {
        let id = RequestId { owner: 1, request: session };
        let car = self.name_of(car);
        self.ask(at, |node, now| {
            let is_open = node.settings().session(id).is_some_and(Session::is_open);
            let changed = match floor {
                None => node.handle_session_end(id, None, OPERATOR, now).map(drop),
                Some(floor) if is_open => {
                    let by = (Access::Public, OPERATOR);
                    node.handle_session_floor(id, floor, None, by, now).map(drop)
                }
                Some(floor) => {
                    let bearer = OPERATOR.to_owned();
                    let asked = Asked { floor, to: None, seconds: SESSION_SECONDS, car };
                    let request = SessionRequest { id, bearer, asked, access: Access::Public };
                    node.handle_session(&request, now).map(drop)
                }
            };
            // In a recall there is none, and what has ended is forgotten at some time.
            drop(changed);
        });
    }

    fn set_wall_clock(&mut self, node: usize, years: i8) {
        self.machines[node].wrong_years = years;
        // A process that is suspended looks when it goes on.
        if self.machines[node].awake().is_some() {
            self.read_wall_clock(node);
        }
    }

    fn read_wall_clock(&mut self, node: usize) {
        let seconds = self.wall_clock_of(node);
        self.with(node, |node, now| node.handle_wall_clock(seconds, now));
    }

    fn disturb_line(&mut self, node: usize, millis: u64) {
        if self.machines[node].line == Line::Plugged {
            self.count_fault(&Fault::LineNoise { node, millis });
            self.machines[node].noisy_since = Some(self.now);
            self.garble_line(node);
            self.cut_panel(node, true);
            self.ends_after(millis, TimedFault::Noise { node, began: self.now });
        }
    }

    /// One floor's sensor reports another floor, or all report their own.
    fn mislead(&mut self, node: usize, wrong: Option<(Floor, Floor)>) {
        let floors = self.settings.floors;
        let machine = &mut self.machines[node];
        let (is_at, reported) = (machine.car.shaft().floor(), machine.car.shaft().sensed_floor());
        if is_at != reported {
            machine.misreported = reported;
        }
        self.touch(node, |car| {
            for floor in floors.floors() {
                let reports = wrong.filter(|(at, _)| *at == floor).map(|(_, reports)| reports);
                car.set_sensor_wrong(floor, reports);
            }
        });
    }

    pub(super) fn ends_after(&mut self, millis: u64, fault: TimedFault) {
        self.agenda.enter(self.now + Duration::from_millis(millis), Event::FaultEnds(fault));
    }

    /// The time of a fault is over, unless it was put right before.
    pub(crate) fn fault_ends(&mut self, fault: TimedFault) {
        match fault {
            TimedFault::Clogs => self.unclog(self.now),
            TimedFault::FullDiskIsNoticed { node } => self.report_disk_failed(node),
            TimedFault::Tear { node, incarnation } => {
                if self.machines[node].incarnation == incarnation {
                    self.tear_write(node);
                }
            }
            TimedFault::Pause { node, began } => {
                let process = self.machines[node].process.as_ref();
                if process.is_some_and(|process| process.suspended_at == began) {
                    self.disturbed();
                    self.resume(node);
                }
            }
            TimedFault::Noise { node, began } => {
                if self.machines[node].noisy_since == Some(began) {
                    self.machines[node].noisy_since = None;
                    self.cut_panel(node, false);
                }
            }
            TimedFault::NoInterface { node, began } => {
                if self.machines[node].unconnected_since == Some(began) {
                    self.recreate_interface(node);
                }
            }
        }
    }

    fn cut_power(&mut self, node: usize) {
        self.machines[node].powered = false;
        self.end_process(node);
    }

    fn set_clock_rate(&mut self, node: usize, rate: u32) {
        let now = self.now;
        let machine = &mut self.machines[node];
        machine.clock_rate = rate;
        if let Some(process) = machine.process.as_mut() {
            process.set_clock_rate(rate, now);
            process.wake = None;
            self.arm(node);
        }
    }

    fn silence_climate(&mut self, node: usize, silent: bool) {
        let reads = self.machines[node].car.inputs().climate;
        match (silent, self.machines[node].silenced.take()) {
            (true, before) => {
                self.machines[node].silenced = Some(before.unwrap_or(reads));
                self.set_climate(node, Climate::default());
            }
            (false, Some(before)) => self.set_climate(node, before),
            (false, None) => {}
        }
    }

    /// Somebody presses every button of a panel, and gives this many destinations at its kiosk.
    pub fn crowd(&mut self, node: usize, trips: u16) {
        self.inflict(Fault::Crowd(node));
        let floors: Vec<Floor> = self.settings.floors.floors().collect();
        for floor in &floors {
            self.press(node, Button::Car(*floor));
            for direction in [Direction::Up, Direction::Down] {
                self.press(node, Button::Hall(*floor, direction));
            }
        }
        let pairs = floors.iter().flat_map(|from| floors.iter().map(move |to| (*from, *to)));
        let all: Vec<Trip> = pairs.filter_map(|(from, to)| Trip::new(from, to)).collect();
        // Spread over the building.
        let stride = (all.len() / usize::from(trips.max(1))).max(1);
        for trip in all.into_iter().step_by(stride).take(trips.into()) {
            self.request(node, trip);
        }
    }

    fn replace(&mut self, node: usize) {
        if self.machines[node].process.is_none() {
            let disk = std::mem::take(&mut self.machines[node].disk);
            self.machines[node].lost = Some(disk);
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
        let Some(process) = self.machines[node].process.as_mut() else { return };
        let Some(backlog) = process.backlog.take() else { return };
        let suspended_at = process.suspended_at;
        let late = self.now.saturating_sub(suspended_at);
        if late >= NOTICED {
            self.oracles.cars[node].interrupt();
            self.with(node, |node, now| node.handle_interrupted(late, now));
        }
        self.read_wall_clock(node);
        for event in backlog {
            self.happen(event);
        }
        // The panel's events come before its next outputs: it may have stopped.
        self.panel_resumes(node);
    }

    pub(crate) fn report_disk_failed(&mut self, node: usize) {
        let process = self.machines[node].process.as_mut();
        if let Some(backlog) = process.and_then(|process| process.backlog.as_mut()) {
            backlog.push_back(Event::FaultEnds(TimedFault::FullDiskIsNoticed { node }));
            return;
        }
        self.with(node, Node::handle_disk_failed);
    }
}
