//! The world: machines, a network, and one agenda.

mod clocks;
mod events;
mod inflict;
mod intruder;
mod links;
mod network;
mod panel;
mod perform;
mod planner;
mod recording;
mod repair;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::{Building, Button, Trip};
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{FleetName, Mac, Role, Timestamp};
use elevator_fleet::node::{Action, Identity, MeshTimes, Node, NodeSettings};
use elevator_fleet::wire::Nonce;
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET};
use fastrand::Rng;

pub use self::intruder::Interference;
use self::intruder::Recordings;
use super::agenda::{Agenda, Event};
use super::connection::Connections;
use super::fault::Fault;
use super::fingerprint::Fingerprint;
use super::history::{History, Note};
use super::machine::{self, Given, Machine, Process};
use super::mastership::MastershipWatch;
use super::network::Network;
use super::oracles::Oracles;
use super::settings::{Twins, WorldError, WorldSettings};
use super::snapshot::{Snapshot, Storm};
use super::step::{Act, Step};
use super::trace::Recorder;
use super::wire::Wire;

/// How often the invariants are looked at that no single event shows.
const INSPECTION: Duration = Duration::from_millis(50);

/// How many passengers a car holds, by the default of the configuration.
const CAPACITY: f64 = 13.0;

/// The secret of a fleet with a key. A forger in the lab does not know it, and has another one.
const SECRET_OF_THE_LAB: [u8; SECRET] = [0x4c; SECRET];
const SECRET_OF_A_FORGER: [u8; SECRET] = [0x46; SECRET];

/// A building in virtual time.
#[derive(Debug)]
pub struct World {
    pub(super) settings: WorldSettings,
    building: Arc<Building>,
    pub(super) now: Duration,
    pub(super) agenda: Agenda,
    pub(super) random: Rng,
    pub(super) machines: Vec<Machine>,
    pub(super) network: Network,
    pub(super) connections: Connections,
    pub(super) history: History,
    addresses: BTreeMap<Ipv4Addr, usize>,
    fleet: FleetName,
    inspected: Duration,
    pub(super) storm: Storm,
    pub(super) oracles: Oracles,
    pub(super) mastership: MastershipWatch,
    pub(super) events: u64,
    pub(super) election_traffic: Traffic,
    pub(super) mesh_traffic: MeshTraffic,
    pub(super) wire: Wire,
    /// How many changes of nodes' states have been reported, rotations included.
    pub(super) state_changes: u64,
    /// How often a slave's car went for a call that its master had left without a car.
    pub(super) taken_over: u64,
    /// With what beacons are sent, and what is accepted.
    pub(super) keys: Keyring,
    /// Those of a forger.
    pub(super) strange_keys: Keyring,
    /// What two machines have in common at the moment.
    pub(super) twins: Option<Twins>,
    /// The directed pairs whose next frame is damaged.
    pub(super) damaged_frames: BTreeSet<(usize, usize)>,
    pub(super) recordings: Recordings,
    pub(super) interference: Interference,
    /// How often each kind of fault was inflicted.
    pub(super) inflicted: BTreeMap<&'static str, u64>,
    /// How often a node has become the master.
    pub(super) masters: u64,
    /// How many presses have become orders, as the node reports at which it was.
    pub(super) placed: u64,
    pub(super) fingerprint: Fingerprint,
    /// What has been done to it, if anybody wants to know.
    pub(super) steps: Option<Vec<Step>>,
    /// What happens is recorded, if anybody wants it.
    pub(super) recorder: Option<Box<Recorder>>,
}

/// What has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Messages; a broadcast counts once.
    pub messages: u64,
    pub bytes: u64,
}

/// What a fleet does to stay together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeshTraffic {
    /// Beacons to everybody; each counts once.
    pub broadcasts: u64,
    /// Beacons to one node: probes, their answers, piggybacked messages.
    pub unicasts: u64,
    pub dials: u64,
    /// Frames with a state, or part of one, that were sent over a link.
    pub states: u64,
    pub records: u64,
    /// Peers that were reported as lost.
    pub losses: u64,
    /// Changes of a node's state that were reported.
    pub changes: u64,
}

impl Traffic {
    pub(super) fn count(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

impl World {
    /// A world in which no process runs yet.
    ///
    /// # Errors
    /// The number of machines is out of its range.
    pub fn new(mut settings: WorldSettings) -> Result<Self, WorldError> {
        let building = match settings.building.clone() {
            Some(form) => Building::try_from(form)?,
            None => settings.floors.into(),
        };
        settings.floors = building.floors();
        if !(1..=200).contains(&settings.nodes) {
            return Err(WorldError::Nodes(settings.nodes));
        }
        let mut random = Rng::with_seed(settings.seed);
        let mut machines = (0..=199_u8)
            .take(settings.nodes)
            .map(|index| {
                let address = machine::address(settings.first_address, index);
                Machine::new(index, address, settings.floors, &mut random)
            })
            .collect::<Result<Vec<_>, _>>()?;
        for (node, rate) in &settings.clock_rates {
            if let Some(machine) = machines.get_mut(*node) {
                machine.clock_rate = *rate;
            }
        }
        let fleet = FleetName::new("lab")?;
        let key = settings.key.then(|| Credential::Key(FleetKey::new(&SECRET_OF_THE_LAB, &fleet)));
        let strange_key = Credential::Key(FleetKey::new(&SECRET_OF_A_FORGER, &fleet));
        let mut world = Self {
            now: Duration::ZERO,
            agenda: Agenda::default(),
            random,
            machines,
            network: Network::new(settings.weather.clone(), settings.bursts),
            connections: Connections::default(),
            history: History::default(),
            addresses: BTreeMap::new(),
            fleet,
            inspected: Duration::ZERO,
            storm: Storm::default(),
            oracles: Oracles::new(settings.nodes),
            mastership: MastershipWatch::default(),
            events: 0,
            election_traffic: Traffic::default(),
            mesh_traffic: MeshTraffic::default(),
            wire: Wire::default(),
            state_changes: 0,
            taken_over: 0,
            keys: Keyring::new(key),
            strange_keys: Keyring::new(Some(strange_key)),
            twins: settings.twins,
            damaged_frames: BTreeSet::new(),
            recordings: Recordings::default(),
            interference: Interference::default(),
            inflicted: BTreeMap::new(),
            masters: 0,
            placed: 0,
            fingerprint: Fingerprint::new(),
            steps: None,
            recorder: None,
            settings,
            building: Arc::new(building),
        };
        if world.twins.is_some() {
            world
                .storm
                .invalid
                .extend(Fault::SharedAddress { node: 0, with: Some(0) }.invalidates());
        }
        world.apply_twins();
        Ok(world)
    }

    /// Gives twins what they have in common, and sees who has which address.
    pub(super) fn apply_twins(&mut self) {
        let machines = &mut self.machines;
        match self.twins {
            Some(Twins::Name(one, other)) => machines[other].name = machines[one].name.clone(),
            Some(Twins::Address(one, other)) => machines[other].address = machines[one].address,
            None => {}
        }
        let indexed = machines.iter().enumerate().rev();
        self.addresses = indexed.map(|(index, machine)| (machine.address, index)).collect();
    }

    /// Starts the process of every machine.
    pub fn start_all(&mut self) {
        for node in 0..self.machines.len() {
            self.start(node);
        }
    }

    /// Starts the process of a machine, with what its disk holds. One that runs goes on, one that
    /// is latched does not start (F9).
    pub fn start(&mut self, node: usize) {
        if self.machines[node].latched || self.machines[node].process.is_some() {
            return;
        }
        let clock = self.disk_clock_of(node);
        self.machines[node].disk.set_clock(clock);
        if self.machines[node].disk.open() {
            self.count_fault(&Fault::DiskFull(node, true));
        }
        self.judge(|oracles, snapshot| oracles.starting(snapshot, node));
        let settings = self.node_settings(node);
        let machine = &mut self.machines[node];
        machine.powered = true;
        machine.incarnation += 1;
        machine.process = Some(Process {
            node: Node::new(settings).with_schedule(self.settings.schedule.clone()),
            dispatcher: self.settings.strategy.dispatcher(
                Kinematics::default(),
                &self.building,
                CAPACITY,
                CarSettings::BYPASS_LOAD,
            ),
            born: self.now,
            since: (self.now, Duration::ZERO),
            clock_rate: machine.clock_rate,
            given: Given::default(),
            wake: None,
            deadlines: (self.now, 0),
            actions: (0, 0),
            backlog: None,
            suspended_at: self.now,
        });
        self.disturbed();
        self.note(node, Note::Started);
        self.unstall();
        if self.machines[node].disk.failed() {
            self.report_disk_failed(node);
        }
        let seconds = self.wall_clock_of(node);
        self.with(node, |node, now| {
            node.handle_wall_clock(seconds, now);
            node.start(now);
        });
        if self.machines[node].process.is_none() {
            return;
        }
        self.judge(|oracles, snapshot| oracles.started(snapshot, node));
        self.panel_connects(node);
    }

    pub fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
        self.now = until;
    }

    /// Lets time pass until a condition holds, at most for `limit`; returns how long it took, or
    /// `None` if it never held.
    pub fn run_until(
        &mut self,
        limit: Duration,
        mut holds: impl FnMut(&Self) -> bool,
    ) -> Option<Duration> {
        let (from, until) = (self.now, self.now + limit);
        loop {
            if holds(self) {
                return Some(self.now.saturating_sub(from));
            }
            if !self.step(until) {
                self.now = until;
                return holds(self).then_some(limit);
            }
        }
    }

    /// Presses a button of a node's panel. A panel without a controller takes no notice.
    ///
    /// A button that the building does not have is ignored.
    pub fn press(&mut self, node: usize, button: Button) {
        if self.machines[node].car.press(button).is_ok() {
            self.note(node, Note::Pressed(button));
            self.judge(|oracles, snapshot| oracles.orders.pressed(snapshot, node, button));
            self.report_presses(node);
        }
    }

    /// Gives a destination at a kiosk of a node's panel.
    ///
    /// A trip that the building does not have is ignored.
    pub fn request(&mut self, node: usize, trip: Trip) {
        if self.machines[node].car.request(trip).is_ok() {
            self.note(node, Note::Requested(trip));
            self.report_presses(node);
        }
    }

    /// Lets a node do something, and does what it wants done.
    pub(super) fn with(&mut self, node: usize, act: impl FnOnce(&mut Node, Timestamp)) {
        let now = self.now;
        let machine = &mut self.machines[node];
        let Some(process) = machine.process.as_mut() else { return };
        process.given = Given::of(&process.node);
        let clock = process.clock(now);
        act(&mut process.node, clock);
        let mut shown = None;
        while let Some(process) = self.machines[node].process.as_mut() {
            let Some(action) = process.node.poll_action() else { break };
            process.count_action(now);
            if let Action::Panel(outputs) = &action {
                shown = Some(outputs.clone());
            }
            self.perform(node, action);
        }
        // The panel is the first to know, and what it shows is judged by what the node then reports.
        if let Some(outputs) = shown.filter(|_| self.machines[node].process.is_some()) {
            self.compare_lamps(node, &outputs);
        }
        self.trace_looked(node);
        self.arm(node);
    }

    /// Puts the node's next wake-up on the agenda, unless an earlier one is there.
    pub(super) fn arm(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        let incarnation = machine.incarnation;
        let Some(process) = machine.process.as_mut() else { return };
        let Some((at, _)) = process.node.poll_timeout() else { return };
        let at = process.world(at).max(self.now);
        if process.wake.is_none_or(|wake| at < wake) {
            process.wake = Some(at);
            self.agenda.enter(at, Event::Wake { node, incarnation });
        }
    }

    pub(super) fn note(&mut self, machine: usize, note: Note) {
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.note(self.now, machine, &note);
        }
        self.fingerprint.note(self.now, machine, &note);
        if let Some(steps) = self.steps.as_mut()
            && let Some(act) = Act::of_note(machine, &note)
        {
            steps.push(Step { at: self.now, act });
        }
        self.history.note(self.now, machine, note);
    }

    /// Something happened after which the fleet may take its time to come to rest.
    pub(super) fn disturbed(&mut self) {
        self.disturbed_until(self.now);
    }

    /// Likewise, and what happened goes on until this moment.
    pub(super) fn disturbed_until(&mut self, until: Duration) {
        self.storm.over = until.max(self.storm.over);
    }

    pub(super) fn note_storm(&mut self) {
        if !self.snapshot().is_healed() {
            self.disturbed();
        }
    }

    pub(super) fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            now: self.now,
            settings: &self.settings,
            machines: &self.machines,
            network: &self.network,
            connections: &self.connections,
            history: &self.history,
            storm: &self.storm,
        }
    }

    /// Shows the world at this moment to the oracles.
    pub(super) fn judge(&mut self, look: impl FnOnce(&mut Oracles, &Snapshot)) {
        let snapshot = Snapshot {
            now: self.now,
            settings: &self.settings,
            machines: &self.machines,
            network: &self.network,
            connections: &self.connections,
            history: &self.history,
            storm: &self.storm,
        };
        look(&mut self.oracles, &snapshot);
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self) {
        self.note_estimates();
        self.note_storm();
        self.judge(Oracles::inspect);
    }

    /// Under `bully` a node that has become fitter or less fit may change the master (E6).
    pub(super) fn note_estimates(&mut self) {
        for machine in &mut self.machines {
            let estimate = machine.node().map_or(0, Node::estimate);
            if std::mem::replace(&mut machine.estimate, estimate) != estimate {
                self.storm.ranks_at = self.now;
            }
        }
    }

    pub(super) fn at_address(&self, address: Ipv4Addr) -> Option<usize> {
        self.addresses.get(&address).copied()
    }

    fn step(&mut self, until: Duration) -> bool {
        let Some((at, event)) = self.agenda.pop(until) else { return false };
        // What was held up behind a suspended process may be entered for a time that has passed.
        self.now = at.max(self.now);
        // Before the event, so that it does not matter when time was last let pass.
        if self.settings.inspect && at >= self.inspected + INSPECTION {
            self.inspected = at;
            self.inspect();
        }
        self.events += 1;
        self.fingerprint.event(self.now, &event, &self.wire);
        self.happen(event);
        self.count_hits();
        if self.settings.inspect {
            let mut watch = std::mem::take(&mut self.mastership);
            watch.look(&self.snapshot());
            self.mastership = watch;
        }
        true
    }

    fn node_settings(&mut self, node: usize) -> NodeSettings {
        let machine = &self.machines[node];
        let role = self.settings.roles.get(&node).copied().unwrap_or_default();
        NodeSettings {
            identity: Identity {
                fleet: self.fleet.clone(),
                node: machine.name.clone(),
                address: machine.address,
                mac: Mac::of(machine.address),
                role,
                link_port: 46_000,
                nonce: Nonce(self.random.u64(1..)),
            },
            election: self.settings.elections.get(&node).unwrap_or(&self.settings.election).clone(),
            building: Arc::clone(&self.building),
            mesh: MeshTimes::default(),
            car: (role == Role::Cabin)
                .then(|| CarSettings::of(&self.building, machine.name.as_str())),
            climate: ClimateSettings::default(),
            restored: machine.disk.restored(),
            seed: self.random.u64(..),
        }
    }
}
