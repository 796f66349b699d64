//! The state of the demo at one moment, from which the screen and the plain report are drawn.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::model::{NodeId, Reason};
use elevator_fleet::node::{OrderStatus, Status};
use elevator_fleet::wire::{NodeState, Protocol};
use elevator_simulator::shaft::MotorFault;
use elevator_simulator::simulator::SimulatorState;
use liftmesh_harness::account::Tally;

use crate::mesh::Cable;
use crate::screen::Choice;

/// Events that are kept for the screen; older ones scroll out of sight.
const EVENTS: usize = 200;

/// Everything to be seen.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Since the demo began to start its processes.
    pub(super) elapsed: Duration,
    /// What the demo is at.
    pub(super) phase: Phase,
    /// The building's power.
    pub(super) power: Power,
    /// How the master is elected.
    pub(super) election: Protocol,
    /// The master on which all nodes that hear each other agree.
    pub(super) leader: Option<NodeId>,
    /// The address of a web panel, with what it needs to place calls.
    pub(super) panel: String,
    /// The seed of the passengers.
    pub(super) seed: u64,
    /// The height of the shafts.
    pub(super) floors: FloorCount,
    /// The cars and their nodes.
    pub(super) cars: Vec<CarScene>,
    /// The open orders, oldest first.
    pub(super) orders: Vec<OrderStatus>,
    /// The newest first.
    pub(super) events: VecDeque<Event>,
    pub(super) tally: Tally,
    /// How often the fleet has changed its master; `None` if the mastership rotates.
    pub(super) master_changes: Option<u32>,
    /// Passengers that have arrived at their floor.
    pub(super) arrived: u32,
    /// How many passengers wait at each floor, from the lowest.
    pub(super) waiting: Vec<usize>,
    /// Which car and floor the keys mean.
    pub(super) choice: Choice,
}

/// What the demo is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The processes start.
    Starting,
    /// Passengers come.
    Traffic,
    /// No passengers come until the operator wants them to.
    Paused,
    /// No more passengers come; the last orders are being served.
    Draining,
}

/// The building's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    /// Whatever is not broken runs.
    On,
    /// No node runs, and no panel shows anything.
    Off,
}

/// One car, its panel and its node.
#[derive(Debug, Clone)]
pub(super) struct CarScene {
    /// The name of car and node.
    pub(super) name: NodeId,
    /// The node's address.
    pub(super) address: Ipv4Addr,
    /// The car, and the line to its panel.
    pub(super) seen: SimulatorState,
    /// Passengers inside.
    pub(super) riding: usize,
    pub(super) node: NodeScene,
}

/// The faults of a car.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    /// The motor does not move the car.
    pub(super) stuck: bool,
    /// Something stands in the door.
    pub(super) obstructed: bool,
    /// The stop switch is pulled.
    pub(super) stopped: bool,
    /// The line between panel and node is cut.
    pub(super) unplugged: bool,
}

/// One node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeScene {
    /// What became of the process.
    pub(super) life: Life,
    pub(super) cable: Cable,
    /// Its last status, or `None` since it started.
    pub(super) said: Option<Box<Status>>,
}

/// The state of a node's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs and has not answered yet.
    Starting,
    /// It runs and answers.
    Running,
    /// It is suspended.
    Suspended,
    /// It was killed, or lost its power.
    Killed,
    /// Its car hung: it stopped the motor and ended (F9).
    Hung,
    /// The hang has been cleared; it can be started again.
    Cleared,
    /// It ended by itself, with this exit status.
    Ended(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// When, since the start.
    pub(super) at: Duration,
    /// To which car or node, if to one.
    pub(super) car: Option<NodeId>,
    pub(super) text: String,
    /// How much it matters.
    pub(super) weight: Weight,
}

/// How much an event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Day to day.
    Plain,
    /// An order was served.
    Good,
    /// The fleet or a person intervened.
    Notable,
    /// Something is broken or lost.
    Bad,
}

impl Scene {
    /// The states of the nodes that run and can hear each other.
    pub(super) fn node_states(&self) -> Vec<(&NodeId, &NodeState)> {
        let cars = self.cars.iter();
        let connected = cars.filter(|car| car.node.cable == Cable::Whole);
        let node_states =
            connected.filter_map(|car| Some((&car.name, &car.node.view()?.node_state)));
        node_states.collect()
    }

    /// Puts an event on top.
    pub(super) fn log(&mut self, event: Event) {
        self.events.push_front(event);
        self.events.truncate(EVENTS);
    }
}

impl CarScene {
    /// A car whose node starts.
    pub(super) fn new(name: NodeId, address: Ipv4Addr, seen: SimulatorState) -> Self {
        let node = NodeScene { life: Life::Starting, cable: Cable::Whole, said: None };
        Self { name, address, seen, riding: 0, node }
    }

    /// In floors.
    pub(super) fn height(&self) -> f64 {
        self.seen.car.position / self.seen.car.floor_height
    }

    pub(super) fn faults(&self) -> Faults {
        let SimulatorState { unplugged, car, .. } = &self.seen;
        Faults {
            stuck: car.faults.motor == Some(MotorFault::Stuck),
            obstructed: car.obstruction,
            stopped: car.stop,
            unplugged: *unplugged,
        }
    }
}

impl NodeScene {
    /// What a running node says, or nothing where it is not running.
    pub(super) fn view(&self) -> Option<&Status> {
        self.said.as_deref().filter(|_| self.life == Life::Running)
    }

    /// Why the group can't count on its car, if so.
    pub(super) fn unavailable(&self) -> Option<Reason> {
        self.view()?.car.as_ref()?.view.reason()
    }
}
