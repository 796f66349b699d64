//! One elevator server, its controller, and what has been seen of them.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor};
use elevator_simulator::config::ConstantDrive;
use elevator_simulator::simulator::{Controller, SimulatorState};
use elevator_simulator::{
    CarConfig, CarState, ControlClient, Simulator, SimulatorConfig, StartPosition,
};
use liftmesh_harness::Process;
use liftmesh_harness::lan::Lan;

use super::{FatArgs, FatError};
use crate::command_line::kill_group;

/// A controller whose polls cease for this long loses its motor.
const WATCHDOG: Duration = Duration::from_secs(2);

pub(super) struct Car {
    pub(super) controller: Option<Process>,
    pub(super) control: ControlClient,
    pub(super) simulator: Simulator,
    state: CarState,
    pub(super) is_connected: bool,
    /// Whether its panel has to show hall calls of the others: it runs, and its network is whole.
    pub(super) is_whole: bool,
    /// When its door opened, and where.
    visits: Vec<(Duration, Floor)>,
    pub(super) closed_at: Option<Duration>,
    /// When each lamp was last lit.
    pub(super) lit_at: BTreeMap<Button, Duration>,
    pub(super) unsafe_since: Option<Duration>,
}

/// The number of a controller's host.
pub(super) fn host(car: usize) -> u8 {
    u8::try_from(car + 1).unwrap_or(u8::MAX)
}

impl Car {
    pub(super) fn open(
        args: &FatArgs,
        car: usize,
        lan: Option<&Lan>,
        dir: &Path,
    ) -> Result<Self, FatError> {
        let control = dir.join(format!("{car}.control"));
        let next = u16::try_from(car).unwrap_or_default();
        let (address, port) = match (lan, args.port) {
            (Some(_), port) => (Ipv4Addr::LOCALHOST, port),
            (None, 0) => (args.address, 0),
            (None, first) => (args.address, first.saturating_add(next)),
        };
        // At either end, and between two floors.
        let starts = [
            StartPosition::Floor(0),
            StartPosition::Metres(4.5),
            StartPosition::Floor(args.floors.top().index()),
        ];
        let constant_drive =
            ConstantDrive { between_floors: args.travel, passing_floor: args.travel / 4 };
        let config =
            CarConfig { start: starts[car], constant_drive, ..CarConfig::new(args.floors) };
        let config = SimulatorConfig {
            tcp: Some(SocketAddr::from((address, port))),
            control: Some(control.clone()),
            watchdog: WATCHDOG,
            ..SimulatorConfig::new(car.to_string(), config)
        };
        let start = || Simulator::start(config);
        let simulator = match lan {
            Some(lan) => lan.inside(host(car), start)?,
            None => start(),
        };
        let simulator = simulator.map_err(|source| FatError::Server { car, source })?;
        Ok(Self {
            state: simulator.state().map_err(io::Error::other)?.car,
            control: ControlClient::connect(control).map_err(io::Error::other)?,
            simulator,
            controller: None,
            is_connected: false,
            is_whole: false,
            visits: Vec::new(),
            closed_at: None,
            lit_at: BTreeMap::new(),
            unsafe_since: None,
        })
    }

    pub(super) fn state(&self) -> Result<SimulatorState, FatError> {
        Ok(self.simulator.state().map_err(io::Error::other)?)
    }

    /// Returns what has changed.
    pub(super) fn take_in(&mut self, new: SimulatorState, now: Duration) -> Vec<String> {
        let is_connected = new.controller == Controller::Tcp;
        let old = std::mem::replace(&mut self.state, new.car);
        let new = &self.state;
        let mut changes = Vec::new();
        if is_connected != std::mem::replace(&mut self.is_connected, is_connected) {
            let what = if is_connected { "is connected" } else { "has disconnected" };
            changes.push(format!("its controller {what}"));
        }
        for lamp in new.lamps.difference(&old.lamps) {
            self.lit_at.insert(*lamp, now);
            changes.push(format!("lamp {lamp} lit"));
        }
        changes.extend(old.lamps.difference(&new.lamps).map(|lamp| format!("lamp {lamp} dark")));
        if let Some(floor) = new.floor.filter(|_| new.floor != old.floor) {
            changes.push(format!("at floor {floor}"));
        }
        if new.driven != old.driven {
            changes.push(format!("motor {}", motor(new)));
        }
        if new.door_lamp != old.door_lamp {
            changes.push(format!("door {}", door(new)));
            if !new.door_lamp {
                self.closed_at = Some(now);
            }
            self.visits.extend(new.floor.filter(|_| new.door_lamp).map(|floor| (now, floor)));
        }
        let is_unsafe = new.door_lamp && (new.driven.is_some() || new.floor.is_none());
        self.unsafe_since = is_unsafe.then_some(self.unsafe_since.unwrap_or(now));
        changes
    }

    /// Whether it has stood open at a floor since then.
    pub(super) fn visited(&self, floor: Floor, since: Duration) -> bool {
        self.visits.iter().any(|(at, of)| *at >= since && *of == floor)
    }

    pub(super) fn opened_at(&self) -> Option<Duration> {
        self.visits.last().map(|(at, _)| *at)
    }

    pub(super) fn stands(&self) -> bool {
        self.driven.is_none() && self.floor.is_some() && !self.door_lamp
    }

    /// Between two floors, on the way to this one.
    pub(super) fn flies_to(&self, floor: Floor) -> bool {
        let is_below = self.place() < f64::from(floor.index());
        let towards = if is_below { Direction::Up } else { Direction::Down };
        self.floor.is_none() && self.driven == Some(towards)
    }

    /// What a failed check shows of it.
    pub(super) fn picture(&self) -> String {
        let place = match self.floor {
            Some(floor) => format!("at floor {floor}"),
            None => format!("between floors ({:.1})", self.place()),
        };
        let gone = if self.is_connected { "" } else { "no controller, " };
        let lamps: Vec<_> = self.lamps.iter().map(ToString::to_string).collect();
        let lamps = if lamps.is_empty() { "none".to_owned() } else { lamps.join(", ") };
        format!("{gone}{place}, motor {}, door {}, lit lamps: {lamps}", motor(self), door(self))
    }

    /// Also what it has started.
    pub(super) fn end_controller(&mut self) {
        if let Some(process) = self.controller.take() {
            kill_group(process.id());
            process.kill();
        }
    }
}

impl Deref for Car {
    type Target = CarState;

    fn deref(&self) -> &CarState {
        &self.state
    }
}

impl Drop for Car {
    fn drop(&mut self) {
        self.end_controller();
    }
}

fn motor(state: &CarState) -> &'static str {
    match state.driven {
        Some(Direction::Up) => "up",
        Some(Direction::Down) => "down",
        None => "off",
    }
}

fn door(state: &CarState) -> &'static str {
    if state.door_lamp { "open" } else { "closed" }
}
