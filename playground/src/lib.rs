//! The playground: a whole fleet in virtual time behind the web panel.
//!
//! ```text
//!   page (web/) ── advance, act ──▶ Playground ──▶ World (liftmesh-lab)
//!        ▲                              │  Passengers: presses by seed
//!        └────────── picture ───────────┘
//! ```
//!
//! Nothing here reads a clock: the page says how much time passes. The same settings and the same
//! acts at the same times give the same run, which is how a run is shared.

#[cfg(test)]
mod lessons;
mod messages;
mod orders;
#[cfg(target_family = "wasm")]
mod page;
mod passengers;
mod picture;
mod race;

use std::sync::Arc;
use std::time::Duration;

use elevator_driver::vocabulary::{BuildingError, FloorCountError, show_labels_here};
use elevator_driver::{Building, Floor, FloorCount};
use elevator_fleet::dispatch::{Kinematics, Strategy};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::json::BuildingForm;
use elevator_fleet::wire::Protocol;
use elevator_simulator::building::Pattern;
use liftmesh_api::Flights;
use liftmesh_lab::trace::{self, Trace, Window};
use liftmesh_lab::{Act, Fault, Step, World, WorldError, WorldSettings};
use serde::{Deserialize, Serialize};

pub use self::messages::{Kind, Messages, Way};
use self::orders::Watch;
pub use self::orders::{Knowledge, Orders, Row};
pub use self::passengers::Demand;
use self::passengers::Passengers;
pub use self::picture::{Conditions, Event, NodePicture, Picture};
pub use self::race::{
    Figure, Interval, Lane, Program, Race, RaceError, RaceSettings, Standing, Verdict,
};

/// What a run is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The number of nodes with a car each, 2 to 32.
    pub cars: usize,
    /// The number of floors, 2 to 64, if they are equal and every car serves them.
    pub floors: u8,
    /// The building, if it is another one; it has 2 to 64 floors too.
    pub building: Option<BuildingForm>,
    /// The seed of everything.
    pub seed: u64,
    /// The election protocol.
    pub election: Protocol,
    /// The strategy of dispatch.
    pub strategy: Strategy,
    /// How many passengers come in a minute on average, at most 600.
    pub passengers: u32,
    /// Where they come from, and where they go.
    pub pattern: Pattern,
    /// What was done to it, for a run that is replayed.
    pub steps: Vec<Step<Input>>,
}

/// What somebody does to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// From here on passengers come like this.
    Traffic(Demand),
    /// Something is done to the fleet.
    #[serde(untagged)]
    Act(Act),
}

impl Input {
    /// Whether a run with these nodes and floors has all that it names.
    fn fits(&self, nodes: usize, floors: FloorCount) -> bool {
        match self {
            Self::Traffic(demand) => demand.passengers <= Demand::MOST,
            Self::Act(act) => {
                act.fits(nodes) && floor_of(act).is_none_or(|floor| floors.contains(floor))
            }
        }
    }
}

/// The floor that a command names. Panels take no notice of a button that they don't have.
fn floor_of(act: &Act) -> Option<Floor> {
    match act {
        Act::Fault(Fault::FloorLock { floor, .. }) => Some(*floor),
        Act::Fault(Fault::Priority { floor, .. } | Fault::Session { floor, .. }) => *floor,
        Act::Fault(_) | Act::Press { .. } | Act::Request { .. } => None,
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cars: 4,
            floors: 8,
            building: None,
            seed: 1,
            election: Protocol::LowestIp,
            strategy: Strategy::default(),
            passengers: 12,
            pattern: Pattern::Lunch,
            steps: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads them from JSON. Their steps name floors by the labels of their building, which this
    /// thread shows from here on.
    ///
    /// # Errors
    /// It is not the JSON of settings, or there can be no such building.
    pub fn from_json(json: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Site {
            #[serde(default)]
            building: Option<BuildingForm>,
        }
        let Site { building } = serde_json::from_str(json)?;
        show_labels_here(building.map(Building::try_from).transpose()?.map(Arc::new));
        Ok(serde_json::from_str(json)?)
    }

    /// The building, if a run can be made of these settings.
    fn check(&self) -> Result<Building, Error> {
        within("cars", self.cars as u64, 2, 32)?;
        within("passengers", self.passengers.into(), 0, Demand::MOST.into())?;
        let building = match self.building.clone() {
            Some(form) => Building::try_from(form)?,
            None => FloorCount::try_from(self.floors)?.into(),
        };
        let floors = building.floors();
        within("floors", floors.get().into(), 2, 64)?;
        for (index, step) in self.steps.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|before| self.steps.get(before));
            let is_late = before.is_some_and(|before| before.at > step.at);
            if is_late || !step.act.fits(self.cars, floors) {
                return Err(Error::Step(index + 1));
            }
        }
        Ok(building)
    }
}

/// Invalid settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A number out of its range.
    #[error("{what}: {is} is not within {least} to {most}")]
    Range { what: &'static str, is: u64, least: u64, most: u64 },
    /// No shaft has this many floors.
    #[error(transparent)]
    Floors(#[from] FloorCountError),
    /// There can be no such building.
    #[error(transparent)]
    Building(#[from] BuildingError),
    /// They are no settings.
    #[error("the settings: {0}")]
    Json(#[from] serde_json::Error),
    /// A step names a node or a floor that is not there, or comes before the one above it.
    #[error("step {0} of the run is impossible")]
    Step(usize),
    /// The world can't be made.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A fleet in virtual time.
#[derive(Debug)]
pub struct Playground {
    settings: Settings,
    /// The building whose floors have labels of their own, if it is one.
    labels: Option<Arc<Building>>,
    world: World,
    passengers: Passengers,
    /// What somebody has done to it so far, passengers left out.
    done: Vec<Step<Input>>,
    /// What is still to be done of the run that is replayed, the last first.
    planned: Vec<Step<Input>>,
    /// When passengers look next whether a car has come.
    look_at: Duration,
    /// Where cars are between two floors, as the panel estimates it.
    flights: Flights,
    /// How many reports of nodes have been shown, and of which node.
    shown: (u64, Option<usize>),
    watch: Watch,
}

impl Playground {
    /// A fleet of which every process has just started.
    ///
    /// # Errors
    /// A setting is out of its range or not known, or a step of the run is impossible.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let building = Arc::new(settings.check()?);
        let floors = building.floors();
        let mut world = World::new(WorldSettings {
            floors,
            building: settings.building.clone(),
            election: ElectionSettings::of(settings.election),
            strategy: settings.strategy,
            // A page has better things to do than to read what it has just written.
            codec: false,
            ..WorldSettings::new(settings.cars, settings.seed)
        })?;
        world.start_all();
        let demand = Demand { passengers: settings.passengers, pattern: settings.pattern };
        let passengers = Passengers::new(settings.seed, Arc::clone(&building), demand);
        let planned = settings.steps.iter().rev().cloned().collect();
        let run = Self {
            labels: settings.building.is_some().then_some(building),
            settings,
            world,
            passengers,
            done: Vec::new(),
            planned,
            look_at: LOOK,
            flights: Flights::new(Kinematics::default()),
            shown: (0, None),
            watch: Watch::default(),
        };
        run.show_labels();
        Ok(run)
    }

    /// From here on this thread reads and writes floors as they are labelled here: another run may
    /// have another building.
    pub fn show_labels(&self) {
        show_labels_here(self.labels.clone());
    }

    /// Lets time pass. How it is cut into pieces makes no difference.
    pub fn advance(&mut self, time: Duration) {
        let until = self.world.now() + time;
        loop {
            let planned = self.planned.last().map_or(Duration::MAX, |step| step.at);
            let next = planned.min(self.passengers.due()).min(self.look_at).min(until);
            self.world.run_for(next.saturating_sub(self.world.now()));
            while let Some(step) = self.planned.pop_if(|step| step.at <= next) {
                self.perform(&step.act);
                self.done.push(step);
            }
            if self.look_at <= next {
                self.passengers.board(&mut self.world);
                self.look_at += LOOK;
            }
            for press in self.passengers.presses(&self.world) {
                self.world.act(&press);
            }
            if next >= until {
                return;
            }
        }
    }

    /// Somebody does this now; `false` if it names a node or a floor that is not there, or more
    /// passengers than can come. What was planned of a replayed run is given up: from here on it is
    /// another one.
    pub fn act(&mut self, input: Input) -> bool {
        if !input.fits(self.world.size(), self.world.floors()) {
            return false;
        }
        self.perform(&input);
        self.planned.clear();
        self.done.push(Step { at: self.world.now(), act: input });
        true
    }

    fn perform(&mut self, input: &Input) {
        match input {
            Input::Traffic(demand) => self.passengers.set_demand(*demand, self.world.now()),
            Input::Act(act) => {
                self.world.act(act);
            }
        }
    }

    /// The run, as settings that replay it: what was done, and what a replay still has to do.
    #[must_use]
    pub fn run(&self) -> Settings {
        let steps = self.done.iter().chain(self.planned.iter().rev()).cloned().collect();
        Settings { steps, ..self.settings.clone() }
    }

    /// What there is to see at this moment, as the node of this index says if it runs, or else the
    /// next one that does; with its reports since the last picture, or all of them if that was of
    /// another node.
    pub fn picture(&mut self, node: usize) -> Picture {
        let size = self.world.size();
        let from = (node..node + size).map(|node| node % size).find(|it| self.world.is_awake(*it));
        if let Some(status) = from.and_then(|node| self.world.status(node)) {
            self.flights.update(&status, self.world.now());
        }
        let (shown, of) = self.shown;
        let since = (from.is_none() || of == from).then_some(shown);
        let picture = Picture::of(&self.world, from, &self.flights, &self.passengers, since);
        self.shown = (self.world.report_count(), from.or(of));
        picture
    }

    /// Which node knows of which call.
    pub fn orders(&mut self) -> Orders {
        self.watch.orders(&self.world)
    }

    /// From here on messages are recorded, or not any more.
    pub fn watch(&mut self, on: bool) {
        if on {
            self.world.record(Window::new(self.world.now(), Duration::MAX));
        } else {
            drop(self.world.recorded());
        }
    }

    /// The messages of so much time until now; older ones are forgotten. `None` if they are not
    /// recorded.
    pub fn messages(&mut self, time: Duration) -> Option<Messages> {
        self.recent(time).map(|trace| Messages::of(&trace))
    }

    /// The same as a drawing, in SVG.
    pub fn drawing(&mut self, time: Duration) -> Option<String> {
        self.recent(time).map(|trace| trace::svg(&trace))
    }

    fn recent(&mut self, time: Duration) -> Option<Trace> {
        let now = self.world.now();
        let mut trace = self.world.recent(now.saturating_sub(time))?;
        trace.window.to = now;
        Some(trace)
    }

    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }
}

/// How often passengers look whether a car has come: at the same moments, whatever the page's rhythm
/// is.
const LOOK: Duration = Duration::from_millis(100);

fn within(what: &'static str, is: u64, least: u64, most: u64) -> Result<(), Error> {
    let fits = (least..=most).contains(&is);
    if fits { Ok(()) } else { Err(Error::Range { what, is, least, most }) }
}

#[cfg(test)]
mod tests;
