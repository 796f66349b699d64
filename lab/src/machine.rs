//! One cabin computer, its disk, its panel and its car.

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::time::Duration;

use elevator_driver::{
    Button, Climate, DoorState, Floor, FloorCount, KeySwitch, MotorCommand, PanelEvent, PanelInputs,
};
use elevator_fleet::car::{CarSettings, Power};
use elevator_fleet::dispatch::Dispatcher;
use elevator_fleet::model::{Mode, NameError, NodeId, Role, Timestamp};
use elevator_fleet::node::Node;
use elevator_fleet::settings::RequestId;
use elevator_simulator::shaft::LevellingFault;
use elevator_simulator::{CarConfig, SimulatedCar, StartPosition};
use fastrand::Rng;

use super::agenda::Event;
use super::disk::Disk;
use super::fault::{BadMaster, Boundary};
use super::settings::{WorldError, WorldSettings};

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: NodeId,
    pub(super) address: Ipv4Addr,
    /// Its address while it shares no other's.
    pub(super) own_address: Ipv4Addr,
    /// What address its interface will have that is made anew.
    pub(super) next_address: Option<Ipv4Addr>,
    /// The mains are on: a process may run, and packets are answered.
    pub(super) powered: bool,
    pub(super) incarnation: u64,
    pub(super) process: Option<Process>,
    pub(super) disk: Disk,
    /// The disk that was last taken out of it.
    pub(super) lost: Option<Disk>,
    pub(super) car: SimulatedCar,
    pub(super) reported: PanelInputs,
    pub(super) line: Line,
    pub(super) car_moves: bool,
    /// Counts the controller's signs of life, as far as they matter to the watchdog.
    pub(super) silence: u64,
    /// Since when it has had no controller.
    pub(super) silent_since: Option<Duration>,
    /// It did not reach a floor in time and waits for an operator (F9).
    pub(super) latched: bool,
    /// How often it has complained of another node's name or address.
    pub(super) conflicts: usize,
    pub(super) lit: BTreeSet<Button>,
    pub(super) leads_badly: Option<BadMaster>,
    /// How fit its node was to lead when last seen.
    pub(super) estimate: u32,
    /// Where its process crashes, and how many such boundaries it passes before.
    pub(super) crash: Option<(Boundary, u8)>,
    pub(super) next_transaction: NextTransaction,
    /// How many milliseconds the clocks of its processes count in a second.
    pub(super) clock_rate: u32,
    /// How many years its wall clock shows too many.
    pub(super) wrong_years: i8,
    /// How long its disk takes for a transaction, in microseconds, if it differs from the default.
    pub(super) commit: Option<RangeInclusive<u64>>,
    /// Where its node takes its car to be, by a sensor that reports so no longer.
    pub(super) misreported: Option<Floor>,
    /// Since when its line carries noise.
    pub(super) noisy_since: Option<Duration>,
    /// Since when it has no network interface.
    pub(super) unconnected_since: Option<Duration>,
    /// What its climate sensors read before they fell silent.
    pub(super) silenced: Option<Climate>,
}

/// Faults that wait for a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NextTransaction {
    /// The machine goes dark during it.
    pub(super) is_torn: bool,
    /// It is the first one that is slow.
    pub(super) is_slow: bool,
}

/// The name of a machine, by its number.
///
/// # Errors
/// None: every number has a name.
pub fn name(index: u8) -> Result<NodeId, NameError> {
    let letter = char::from(b'A' + index % 26);
    NodeId::new(&match index / 26 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    })
}

/// The address of a machine, by its number and the last byte of the first one's.
pub(super) fn address(first: u8, index: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, first.saturating_add(index))
}

/// The line between a node and its panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Plugged,
    Cut,
}

/// A node that emits this many actions within a second is in a storm of messages that keep each
/// other going. In campaigns the busiest emits some 5,000.
const STORM: u32 = 100_000;

/// What a car is reserved for, besides its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Given {
    session: Option<RequestId>,
    /// How often its robot has asked for a floor.
    leg: u16,
    priority: Option<Floor>,
}

impl Given {
    /// What has this node's own car.
    pub(super) fn of(node: &Node) -> Self {
        let (settings, car) = (node.settings(), &node.hello().node);
        let session = settings.session_of(car);
        Self {
            session: session.map(|session| session.id),
            leg: session.map_or(0, |session| session.leg),
            priority: settings.priority(car).map(|call| call.floor),
        }
    }

    /// Whether something has the car, and nothing that had it before.
    fn is_fresh(self, before: Self) -> bool {
        self != Self::default()
            && (self.priority.is_none() || self.priority != before.priority)
            && (self.session.is_none() || self.session != before.session)
    }
}

#[derive(Debug)]
pub(super) struct Process {
    pub(super) node: Node,
    pub(super) dispatcher: Box<dyn Dispatcher + Send>,
    pub(super) born: Duration,
    /// When its clock began to run at its rate, and what it showed then.
    pub(super) since: (Duration, Duration),
    /// How many milliseconds its clock counts in a second.
    pub(super) clock_rate: u32,
    /// What had its car before the input that it handles, or has handled last.
    pub(super) given: Given,
    /// The earliest wake-up on the agenda.
    pub(super) wake: Option<Duration>,
    /// When it last handled a deadline, and how often at that moment.
    pub(super) deadlines: (Duration, u32),
    /// The second in which it last emitted an action, and how many in it.
    pub(super) actions: (u64, u32),
    /// While it is suspended: the inputs that wait for it.
    pub(super) backlog: Option<VecDeque<Event>>,
    pub(super) suspended_at: Duration,
}

impl Process {
    /// A moment of the world on the clock of this process.
    pub(super) fn clock(&self, now: Duration) -> Timestamp {
        let (since, shown) = self.since;
        let passed = now.saturating_sub(since);
        let counted =
            if self.clock_rate == 1_000 { passed } else { passed * self.clock_rate / 1_000 };
        Timestamp::after_start(shown + counted)
    }

    /// A moment on the clock of this process in the world: when the clock has reached it.
    pub(super) fn world(&self, at: Timestamp) -> Duration {
        let (since, shown) = self.since;
        let ahead = at.since_start().saturating_sub(shown);
        if self.clock_rate == 1_000 {
            return since + ahead;
        }
        let nanos = (ahead.as_nanos() * 1_000).div_ceil(u128::from(self.clock_rate));
        since + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    pub(super) fn count_action(&mut self, now: Duration) {
        let (second, count) = self.actions;
        let count = if second == now.as_secs() { count + 1 } else { 1 };
        self.actions = (now.as_secs(), count);
        assert!(count < STORM, "{} emits {STORM} actions within a second", self.node.hello().node);
    }

    /// From here on its clock runs at this rate. What it has shown stands.
    pub(super) fn set_clock_rate(&mut self, rate: u32, now: Duration) {
        self.since = (now, self.clock(now).since_start());
        self.clock_rate = rate;
    }
}

impl Machine {
    /// A cabin computer without a process, with a car at some floor. Its number gives it its name.
    pub(super) fn new(
        index: u8,
        address: Ipv4Addr,
        floors: FloorCount,
        random: &mut Rng,
    ) -> Result<Self, WorldError> {
        let start = random.u8(0..floors.get());
        let mut config = CarConfig::new(floors);
        config.start = StartPosition::Floor(start);
        let car = SimulatedCar::new(&config, random.u64(..))?;
        Ok(Self {
            name: name(index)?,
            address,
            own_address: address,
            next_address: None,
            powered: true,
            incarnation: 0,
            process: None,
            disk: Disk::default(),
            lost: None,
            reported: car.inputs(),
            car,
            car_moves: false,
            line: Line::Plugged,
            silence: 0,
            silent_since: None,
            latched: false,
            conflicts: 0,
            lit: BTreeSet::new(),
            leads_badly: None,
            estimate: 0,
            crash: None,
            next_transaction: NextTransaction::default(),
            clock_rate: 1_000,
            wrong_years: 0,
            commit: None,
            misreported: None,
            noisy_since: None,
            unconnected_since: None,
            silenced: None,
        })
    }

    /// The service mode of its car as its node knows it, with what is commanded for all cars.
    pub(super) fn mode(&self) -> Mode {
        self.node().map_or(Mode::InService, |node| node.settings().mode(&self.name))
    }

    /// Whether nothing is wrong with the machine, nor will be at its next write; it may be off, and
    /// its car broken.
    pub(super) fn is_sound(&self) -> bool {
        let NextTransaction { is_torn, is_slow } = self.next_transaction;
        let is_held_up = self.process.as_ref().is_some_and(|process| process.backlog.is_some());
        let is_disk_sound = !(self.disk.failed() || self.disk.is_full() || is_torn || is_slow);
        is_disk_sound
            && self.commit.is_none()
            && !is_held_up
            && self.crash.is_none()
            && self.leads_badly.is_none()
            && self.unconnected_since.is_none()
    }

    pub(super) fn node(&self) -> Option<&Node> {
        self.process.as_ref().map(|process| &process.node)
    }

    /// Whether a session or a priority call has the car, as its node knows, that did not have it before
    /// the latest input.
    pub(super) fn has_just_given_its_car(&self) -> bool {
        let process = self.process.as_ref();
        process.is_some_and(|process| Given::of(&process.node).is_fresh(process.given))
    }

    pub(super) fn hears(&self, name: &NodeId) -> bool {
        self.node().is_some_and(|node| node.hears(name))
    }

    /// How long its disk takes for a transaction at most, in microseconds.
    pub(super) fn longest_commit(&self, settings: &WorldSettings) -> u64 {
        *self.commit.as_ref().unwrap_or(&settings.commit).end()
    }

    /// Whether its car stands at this floor with a door that is not closed: somebody who presses
    /// there may get in without becoming an order (F18).
    pub(super) fn lets_in_at(&self, floor: Floor) -> bool {
        self.is_taken_to_be_at(floor) && self.car.inputs().door != DoorState::Closed
    }

    /// Whether its car is at this floor, or its node has been told so by a wrong sensor.
    pub(super) fn is_taken_to_be_at(&self, floor: Floor) -> bool {
        let shaft = self.car.shaft();
        [shaft.floor(), shaft.sensed_floor(), self.misreported].contains(&Some(floor))
    }

    /// Its panel reports something to its node.
    pub(super) fn on_panel_event(&mut self, event: &PanelEvent) {
        if let PanelEvent::Inputs(inputs) = event
            && inputs.floor != self.misreported
        {
            self.misreported = None;
        }
    }

    /// The node of a process that runs and is not suspended.
    pub(super) fn awake(&self) -> Option<&Node> {
        self.process
            .as_ref()
            .filter(|process| process.backlog.is_none())
            .map(|process| &process.node)
    }

    /// The motor, its levelling, all of the sensors are broken, or one misleads: such a car may count
    /// as hung.
    pub(super) fn may_hang(&self) -> bool {
        let shaft = self.car.shaft();
        shaft.motor_fault().is_some()
            || shaft.levelling_fault() == Some(LevellingFault::Overshoots)
            || !shaft.wrong_sensors().is_empty()
            || shaft.dead_sensors().len() == usize::from(self.car.floors().get())
    }

    /// Whether nothing is wrong with the car of a running node, nor does anything but the group have it;
    /// sensors may be dead.
    pub(super) fn is_in_service(&self) -> bool {
        let inputs = self.car.inputs();
        let is_car = |node: &Node| node.hello().role == Role::Cabin && node.outputs().is_some();
        self.awake().is_some_and(is_car)
            && self.line == Line::Plugged
            && !self.car.state().faults.door_jammed
            && !(inputs.obstruction || inputs.stop)
            && inputs.key == KeySwitch::Normal
            && self.mode() == Mode::InService
            && inputs.load.is_none_or(|load| load < CarSettings::BYPASS_LOAD)
    }

    /// Whether the building runs on emergency power, as far as its node knows, and another car or none
    /// may move.
    pub(super) fn waits_for_its_turn(&self) -> bool {
        self.node().and_then(Node::power) == Some(Power::Waiting)
    }

    /// The motor command of the process, while it is able to give any.
    pub(super) fn motor_command(&self) -> MotorCommand {
        let outputs = self.awake().and_then(|node| node.outputs());
        match outputs {
            Some(outputs) if self.line == Line::Plugged => outputs.motor,
            Some(_) | None => MotorCommand::Stop,
        }
    }
}
