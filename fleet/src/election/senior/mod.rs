//! The unit with the highest MAC address leads, or the control unit (M1 to M9).
//!
//! ```text
//!   an indicator unit starts                              a control unit starts
//!             │                                                     │
//!             ▼      N attempts unanswered, none above it heard     ▼
//!   ┌─▶ WaitingForMaster ────────────────────────────▶ WaitingForExecutors
//!   │         │                                             │       │
//!   │         │ a master is heard                           │       │ I am executor
//!   │         ▼                a master above it is heard   │       ▼
//!   │     Executor ◀────────────────────────────────────────┴──── Master
//!   │         │
//!   └─────────┘ no sensor request, or the master is lost or no longer leads;
//!               a control unit waits for executors instead
//! ```
//!
//! Questions go to all: *need master* (NM), *need executors* (NI), *sensor request* (ZDZ). Answers
//! go to the unit that asked: *I am master* (`YaM`), *I am executor* (`YaI`), *sensor data* (ZDO).
//! A unit is master in both states on the right. A unit hears a master by its *need executors*, *I
//! am master* or *sensor request*.
//!
//! # What it adds to the source
//!
//! - A waiting unit also follows a sensor request, because the answer may have been lost.
//! - A unit that already follows a master does not switch: a unit that starts or comes back does
//!   not replace a master with a lower address, unless it is the control unit (E6). Only two
//!   masters that meet, after a partition, are ranked: the control unit wins, otherwise the higher
//!   MAC address. The stronger one sends *I am master* to the weaker one (M9). Therefore one wait,
//!   one loss or one late message costs at most a change that the next request corrects.
//! - Of two control units, or of two equal MAC addresses, the lower name wins. `liftmesh status`
//!   shows the conflict.

mod settings;
mod transitions;
mod unit;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Candidate, Detail, Election, ElectionTimer, Input, Output, Preferred, Profile};
use crate::model::NodeId;
use crate::wire::NodeState;

pub use settings::Settings;
use unit::{Kind, Unit};

/// The messages between units (M1), beside the three about sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// NM, to all: is there a master?
    NeedMaster,
    /// NI, to all: here is a master without executors.
    NeedExecutors,
    /// `YaM`, the answer to a unit that needs a master, or wrongly acts as one.
    IAmMaster,
    /// `YaI`, the answer to the master that needs executors.
    IAmExecutor,
}

impl From<Message> for super::Message {
    fn from(message: Message) -> Self {
        Self::Senior(message)
    }
}

/// The timers of `senior`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// No master has answered this attempt.
    Answer,
    /// The master has been silent for too long.
    MasterLoss,
    /// The master's next request is due.
    Request,
}

impl From<Timer> for ElectionTimer {
    fn from(timer: Timer) -> Self {
        Self::Senior(timer)
    }
}

const PROFILE: Profile =
    Profile { preferred: Preferred::Designated, requests_sensor_data: true, ..Profile::USUAL };

/// The `senior` protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Senior {
    own: Unit,
    settings: Settings,
    /// The other units that are heard.
    units: BTreeMap<NodeId, Unit>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum State {
    WaitingForMaster(Attempt),
    Executor { master: NodeId },
    WaitingForExecutors,
    Master,
}

/// An attempt to find a master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Attempt {
    /// Counts from 1.
    number: u32,
    /// The flag *I am senior*: no unit above this one needs a master too.
    senior: bool,
    /// How many requests of units that need a master too have been heard.
    seen: u32,
}

impl Attempt {
    fn new(number: u32) -> Self {
        Self { number, senior: true, seen: 0 }
    }
}

/// An input, as far as it concerns the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Start,
    /// Another unit needs a master.
    NeedsMaster(Unit),
    /// Another unit has shown that it leads.
    Leads(Unit, Sign),
    /// Another unit has shown that it follows.
    Executes,
    /// The mesh has lost this unit, or its beacon reports that it is not master.
    LeadsNoLonger(NodeId),
    Fired(Timer),
}

/// By what a master is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    NeedExecutors,
    IAmMaster,
    SensorRequest,
}

impl Senior {
    /// A unit at its start: a control unit leads, an indicator unit looks for a master (M2).
    #[must_use]
    pub fn new(own: &Candidate, settings: Settings) -> Self {
        let own = Unit::of(own);
        let state = match own.kind {
            Kind::Control => State::WaitingForExecutors,
            Kind::Indicator => State::WaitingForMaster(Attempt::new(1)),
        };
        Self { own, settings, units: BTreeMap::new(), state }
    }

    /// What an input means; updates the units that are heard.
    fn event(&mut self, input: &Input<'_>) -> Option<Event> {
        match input {
            Input::Start => Some(Event::Start),
            Input::Heard { peer, node_state, .. } => {
                self.units.insert(peer.node.clone(), Unit::of(peer));
                (**node_state != NodeState::Master).then(|| Event::LeadsNoLonger(peer.node.clone()))
            }
            Input::Lost { peer } => {
                self.units.remove(*peer);
                self.settings.mesh_detection.then(|| Event::LeadsNoLonger((*peer).clone()))
            }
            Input::Message { from, message } => self.on_message(from, message),
            Input::Fired(timer) => {
                if let ElectionTimer::Senior(timer) = timer {
                    Some(Event::Fired(*timer))
                } else {
                    None
                }
            }
            Input::Synced { .. } | Input::Disconnected { .. } | Input::Estimate(_) => None,
        }
    }

    /// What a message means. Only units that are heard count, and a unit's own broadcasts do not
    /// (M4).
    fn on_message(&self, from: &NodeId, message: &super::Message) -> Option<Event> {
        let unit = self.units.get(from).filter(|_| *from != self.own.node)?;
        let leads = |sign| Some(Event::Leads(unit.clone(), sign));
        if let super::Message::Senior(message) = message {
            match message {
                Message::NeedMaster => Some(Event::NeedsMaster(unit.clone())),
                Message::NeedExecutors => leads(Sign::NeedExecutors),
                Message::IAmMaster => leads(Sign::IAmMaster),
                Message::IAmExecutor => Some(Event::Executes),
            }
        } else if *message == super::Message::SensorRequest {
            leads(Sign::SensorRequest)
        } else {
            None
        }
    }

    /// What is wrong with the installation, as far as it concerns the ranks: the names of these
    /// units decide.
    fn conflicts(&self) -> impl Iterator<Item = Detail> {
        let names = |alike: &dyn Fn(&&Unit) -> bool| {
            let names: Vec<&str> =
                self.units.values().filter(alike).map(|unit| unit.node.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let control = |unit: &&Unit| unit.kind == Kind::Control && self.own.kind == Kind::Control;
        let address = |unit: &&Unit| unit.mac == self.own.mac;
        [("other control unit", names(&control)), ("same MAC address", names(&address))]
            .into_iter()
            .filter_map(|(name, units)| Some(Detail::new(name, units?)))
    }
}

impl Election for Senior {
    fn handle(&mut self, input: Input<'_>, _draw: u64, outputs: &mut Vec<Output>) {
        if let Some(event) = self.event(&input) {
            self.step(event, outputs);
        }
    }

    fn node_state(&self) -> NodeState {
        match &self.state {
            State::WaitingForMaster(_) => NodeState::Seeking,
            State::Executor { master } => NodeState::Slave { master: master.clone() },
            State::WaitingForExecutors | State::Master => NodeState::Master,
        }
    }

    fn details(&self) -> Vec<Detail> {
        let mut details = match &self.state {
            State::WaitingForMaster(attempt) => {
                let of = format!("{} of {}", attempt.number, self.settings.attempts);
                let senior = if attempt.senior { "yes" } else { "no" };
                vec![
                    Detail::new("state", "waiting for master"),
                    Detail::new("attempt", of),
                    Detail::new("senior flag", senior),
                    Detail::new("units seen", attempt.seen),
                ]
            }
            State::Executor { .. } => vec![Detail::new("state", "executor")],
            State::WaitingForExecutors => vec![Detail::new("state", "waiting for executors")],
            State::Master => vec![Detail::new("state", "master")],
        };
        details.push(Detail::new("MAC address", self.own.mac));
        details.extend(self.conflicts());
        details
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }
}

#[cfg(test)]
mod lan;
#[cfg(test)]
mod model;
#[cfg(test)]
pub(in crate::election) mod tests;
