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
    pub(super) leader: Option<NodeId>,
    /// The address of a web panel, with what it needs to place calls.
    pub(super) panel: String,
    pub(super) seed: u64,
    pub(super) floors: FloorCount,
    pub(super) cars: Vec<CarScene>,
    pub(super) orders: Vec<OrderStatus>,
    pub(super) events: VecDeque<Event>,
    pub(super) tally: Tally,
    pub(super) arrived: usize,
    /// How many passengers wait at each floor, from the lowest.
    pub(super) waiting: Vec<usize>,
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

/// What can be wrong with a car that the fleet is not to blame for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    Motor,
    /// The line of its panel is cut.
    Line,
    Door,
    Stop,
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
    Running,
    Suspended,
    Killed,
    /// Its car hung: it stopped the motor and ended (F9).
    Hung,
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
    /// The master on which all running nodes agree that can hear each other. Where the mastership
    /// rotates, it is enough that each knows one of them.
    pub(super) fn agreed_master(&self) -> Option<&NodeId> {
        let connected = self.cars.iter().filter(|car| car.node.cable == Cable::Whole);
        let nodes = connected.filter_map(|car| Some((&car.name, &car.node.view()?.node_state)));
        let nodes: Vec<_> = nodes.collect();
        let known = nodes.iter().map(|&(node, state)| match state {
            NodeState::Master => Some(node),
            NodeState::Slave { master } => Some(master),
            NodeState::Seeking => None,
        });
        let known: Vec<&NodeId> = known.collect::<Option<_>>()?;
        let fits = |master: &&NodeId| {
            (self.rotates() || *master == known[0]) && nodes.iter().any(|(node, _)| node == master)
        };
        let leads = |&&(_, state): &&(_, &NodeState)| *state == NodeState::Master;
        // A node that says it is master knows better than its peers.
        let master = nodes.iter().find(leads).map(|(node, _)| *node);
        let master = master.or_else(|| known.first().copied().filter(|_| self.rotates()));
        master.filter(|_| known.iter().all(fits))
    }

    pub(super) fn rotates(&self) -> bool {
        self.election.profile().rotates
    }

    pub(super) fn log(&mut self, event: Event) {
        self.events.push_front(event);
        self.events.truncate(EVENTS);
    }
}

impl CarScene {
    pub(super) fn new(name: NodeId, address: Ipv4Addr, seen: SimulatorState) -> Self {
        let node = NodeScene { life: Life::Starting, cable: Cable::Whole, said: None };
        Self { name, address, seen, riding: 0, node }
    }

    /// In floors.
    pub(super) fn height(&self) -> f64 {
        self.seen.car.place()
    }

    pub(super) fn is(&self, switch: Switch) -> bool {
        let SimulatorState { unplugged, car, .. } = &self.seen;
        match switch {
            Switch::Motor => car.faults.motor == Some(MotorFault::Stuck),
            Switch::Line => *unplugged,
            Switch::Door => car.obstruction,
            Switch::Stop => car.stop,
        }
    }
}

impl Switch {
    pub(super) const ALL: [Self; 4] = [Self::Motor, Self::Line, Self::Door, Self::Stop];

    /// What a simulator is told to switch it, and what people are told of that.
    pub(super) fn words(self, on: bool) -> (&'static str, &'static str) {
        match (self, on) {
            (Self::Motor, true) => ("fault motor stuck", "motor stuck"),
            (Self::Motor, false) => ("fault motor ok", "motor freed"),
            (Self::Line, true) => ("fault line unplugged", "panel line cut"),
            (Self::Line, false) => ("fault line ok", "panel line plugged"),
            (Self::Door, true) => ("obstruct on", "door obstructed"),
            (Self::Door, false) => ("obstruct off", "door free"),
            (Self::Stop, true) => ("stop on", "stop switch pulled"),
            (Self::Stop, false) => ("stop off", "stop switch pushed"),
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
