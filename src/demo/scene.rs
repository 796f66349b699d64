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

#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// Since the demo began to start its processes.
    pub(super) elapsed: Duration,
    pub(super) phase: Phase,
    pub(super) power: Power,
    pub(super) election: Protocol,
    /// The master on which all nodes that hear each other agree.
    pub(super) leader: Option<NodeId>,
    /// The address of a web panel, with what it needs to place calls.
    pub(super) panel: String,
    pub(super) seed: u64,
    pub(super) floors: FloorCount,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Starting,
    Traffic,
    Paused,
    Draining,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    On,
    Off,
}

#[derive(Debug, Clone)]
pub(super) struct CarScene {
    pub(super) name: NodeId,
    pub(super) address: Ipv4Addr,
    /// The car, and the line to its panel.
    pub(super) seen: SimulatorState,
    pub(super) riding: usize,
    pub(super) node: NodeScene,
}

#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Debug, Clone, Copy)]
pub(super) struct Faults {
    pub(super) stuck: bool,
    pub(super) obstructed: bool,
    pub(super) stopped: bool,
    pub(super) unplugged: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeScene {
    pub(super) life: Life,
    pub(super) cable: Cable,
    /// Its last status, or `None` since it started.
    pub(super) said: Option<Box<Status>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Life {
    /// It runs and has not answered yet.
    Starting,
    /// It runs and answers.
    Running,
    Suspended,
    Killed,
    /// Its car hung: it stopped the motor and ended (F9).
    Hung,
    /// The hang has been cleared; it can be started again.
    Cleared,
    /// It ended by itself, with this exit status.
    Ended(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at: Duration,
    pub(super) car: Option<NodeId>,
    pub(super) text: String,
    pub(super) weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Plain,
    Good,
    Notable,
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
