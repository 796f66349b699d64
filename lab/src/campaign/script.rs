//! What was done to a world, as data.

use std::time::Duration;

use elevator_driver::Trip;
use serde::{Deserialize, Serialize};

use super::{Outcome, conclude};
use crate::step::{Act, Step, nanos};
use crate::trace::Window;
use crate::{World, WorldError, WorldSettings};

/// How long a world runs before its first step.
pub(super) const PRELUDE: Duration = Duration::from_secs(1);

/// A run as data: the world and everything that is done to it. The same script always runs the
/// same.
///
/// ```
/// use liftmesh_lab::{Campaign, Script};
///
/// let chance = Campaign::by_seed(7).run()?;
/// let file = serde_json::to_string(&chance.script)?;
/// let again = serde_json::from_str::<Script>(&file)?.run()?;
/// assert_eq!(chance.hash(), again.hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The world; its seed decides what happens by itself.
    pub world: WorldSettings,
    /// What is done to it, in order.
    pub steps: Vec<Step>,
    /// When the steps are over, in nanoseconds from the beginning of the world.
    #[serde(rename = "until_ns", with = "nanos")]
    pub until: Duration,
    /// What comes then.
    pub ending: Ending,
}

/// What comes after the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Nothing: what has been violated by then counts.
    Stop,
    /// Everything is put right, the fleet has to come to rest, and every promise has to be kept.
    Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A fleet of one has nobody to lose.
    #[error("a script has 2 to 200 nodes, not {0}")]
    Nodes(usize),
    /// Its world can't be, for this reason.
    #[error("there is no such world: {0}")]
    World(&'static str),
    /// A step names a node that is not there.
    #[error("step {step} names node {node}, counted from 0, and there are {nodes}")]
    Node {
        /// Which step, counted from 1.
        step: usize,
        node: usize,
        nodes: usize,
    },
    /// A step comes before the one above it, or after the end.
    #[error("step {0} is out of order: steps ascend in time, from {PRELUDE:?} to `until_ns`")]
    Order(usize),
}

impl Script {
    /// Runs it.
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn run(&self) -> Result<Outcome, WorldError> {
        self.play(None)
    }

    /// Runs it, and records this part of it: see [`World::recorded`].
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn record(&self, window: Window) -> Result<Outcome, WorldError> {
        self.play(Some(window))
    }

    /// Whether it can be run: for one that was read from a file.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn check(&self) -> Result<(), ScriptError> {
        let nodes = self.world.nodes;
        if !(2..=200).contains(&nodes) {
            return Err(ScriptError::Nodes(nodes));
        }
        if let Some(wrong) = self.world.wrong() {
            return Err(ScriptError::World(wrong));
        }
        let mut earliest = PRELUDE;
        for (index, step) in self.steps.iter().enumerate() {
            let number = index + 1;
            if step.at < earliest || step.at > self.until {
                return Err(ScriptError::Order(number));
            }
            earliest = step.at;
            let mut act = step.act.clone();
            let named = act.nodes_mut().into_iter().map(|node| *node);
            if let Some(node) = named.max().filter(|node| *node >= nodes) {
                return Err(ScriptError::Node { step: number, node, nodes });
            }
        }
        Ok(())
    }

    fn play(&self, window: Option<Window>) -> Result<Outcome, WorldError> {
        let mut world = World::new(self.world.clone())?;
        if let Some(window) = window {
            world.record(window);
        }
        world.steps = Some(Vec::new());
        world.start_all();
        for step in &self.steps {
            pass(&mut world, step.at);
            step.act.perform(&mut world);
        }
        pass(&mut world, self.until);
        Ok(conclude(world, self.ending))
    }
}

impl World {
    /// Does this; `false` if it names a machine that is not there, and nothing was done.
    pub fn act(&mut self, act: &Act) -> bool {
        let fits = act.fits(self.size());
        if fits {
            act.perform(self);
        }
        fits
    }
}

/// Lets time pass until this moment, the events of which have happened then. Two steps of one moment
/// have nothing between them.
fn pass(world: &mut World, until: Duration) {
    if until > world.now() {
        world.run_for(until.saturating_sub(world.now()));
    }
}

impl Act {
    fn perform(&self, world: &mut World) {
        match self {
            Self::Fault(fault) => world.inflict(fault.clone()),
            Self::Press { node, button } => world.press(*node, *button),
            Self::Request { node, from, to } => {
                if let Some(trip) = Trip::new(*from, *to) {
                    world.request(*node, trip);
                }
            }
        }
    }
}
