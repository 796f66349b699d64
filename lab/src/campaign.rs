//! Storms of random faults, each with a calm after it in which the fleet has to come together again, and
//! in the end to rest.

mod fate;
mod kinds;
mod script;
mod shrink;
mod summary;
mod tally;

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::election::{ElectionSettings, Preferred};
use elevator_fleet::model::Role;
use fastrand::Rng;
use rayon::prelude::*;

use self::fate::{Fate, RECOVERY};
pub use self::kinds::fault_table;
use self::script::PRELUDE;
pub use self::script::{Ending, Script, ScriptError};
pub use self::shrink::{Progress, Shrunk, Size};
pub use self::summary::{Failure, Summary};
pub use self::tally::{Tally, Void, is_void};
use super::snapshot::LINGERS;
use super::trace::Window;
use super::{Fault, Violation, World, WorldError, WorldSettings};

/// After everything is put right, the fleet has this long to serve what is open. A car that was
/// broken may keep away from its drive for 5 minutes before it tries again.
const FINISH: Duration = Duration::from_mins(12);

/// So often the operator looks whether a car has come to count as hung after all, for a fault that
/// is repaired.
const NEXT_LOOK: Duration = Duration::from_secs(25);

/// How many campaigns of a [`sweep`] are started for each core before the first of them is handed
/// out: enough that a long one leaves no core idle for long.
const BATCH: usize = 8;

/// How many storms a run has at least.
const STORMS: std::ops::RangeInclusive<u32> = 4..=8;

/// Where chance has brought too little, there are up to this many more.
const MOST_MORE: u32 = 12;

/// How often somebody presses buttons early in a calm, and how far apart at most.
const PRESSES: u32 = 4;
const PRESSES_APART: Duration = Duration::from_secs(2);

/// How long a calm lasts at most, beyond that.
const CALM: Duration = Duration::from_secs(20);

/// With one car broken and the rest of the world sound, this many times somebody presses buttons.
const ROUNDS_WITH_ONE_BROKEN: usize = 3;
const BROKEN_APART: Duration = Duration::from_secs(20);

/// How long a plan takes at most that is made soon, in microseconds.
const SOON: u64 = 50_000;

/// A run of random faults. The same campaign always runs the same.
///
/// ```
/// let outcome = liftmesh_lab::Campaign::by_seed(7).run()?;
/// assert!(outcome.violations.is_empty());
/// # Ok::<(), liftmesh_lab::WorldError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The world; its seed also decides what happens in it.
    pub world: WorldSettings,
    /// How long the storms last together; longer where chance brings too little meanwhile.
    pub duration: Duration,
}

/// What became of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The world at its end.
    pub world: World,
    /// Everything that was wrong.
    pub violations: Vec<Violation>,
    /// What was done: it runs the same again.
    pub script: Script,
    /// What the run consisted of.
    pub tally: Tally,
}

impl Outcome {
    /// The hash of everything that happened: runs with equal hashes are the same.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.world.fingerprint()
    }
}

/// What was wrong in the campaign of a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub seed: u64,
    /// Everything that was wrong; nothing if it passed or is void.
    pub violations: Vec<Violation>,
    /// Why it says nothing, if it does not. A violation counts all the same.
    pub void: Option<Void>,
    /// What it consisted of.
    pub tally: Tally,
    /// The hash of everything that happened.
    pub hash: u64,
}

/// Runs the campaigns of these seeds on every core, and hands out the verdicts in the order of the
/// seeds. They are run batch by batch, as they are asked for.
///
/// ```
/// use elevator_fleet::{election::ElectionSettings, wire::Protocol};
/// use liftmesh_lab::{Campaign, sweep};
///
/// let election = ElectionSettings::of(Protocol::LowestIp);
/// let verdicts = sweep(1..=3, |seed| Campaign::by_seed(seed).under(election.clone()));
/// let verdicts = verdicts.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(verdicts.iter().map(|verdict| verdict.seed).collect::<Vec<_>>(), [1, 2, 3]);
/// # Ok::<(), liftmesh_lab::WorldError>(())
/// ```
///
/// # Errors
/// Each item: such a world can't be made.
pub fn sweep(
    mut seeds: impl Iterator<Item = u64>,
    campaign: impl Fn(u64) -> Campaign + Sync,
) -> impl Iterator<Item = Result<Verdict, WorldError>> {
    let batch = rayon::current_num_threads() * BATCH;
    let batches = std::iter::from_fn(move || {
        let batch: Vec<u64> = seeds.by_ref().take(batch).collect();
        let verdicts = batch.into_par_iter().with_max_len(1).map(|seed| {
            let campaign = campaign(seed);
            let outcome = campaign.run()?;
            let void = is_void(&outcome.tally, campaign.duration, &campaign.enabled());
            let hash = outcome.hash();
            let Outcome { violations, tally, .. } = outcome;
            Ok(Verdict { seed, violations, void, tally, hash })
        });
        Some(verdicts.collect::<Vec<_>>()).filter(|verdicts| !verdicts.is_empty())
    });
    batches.flatten()
}

impl Campaign {
    /// How long faults happen unless it is said.
    pub const USUAL_DURATION: Duration = Duration::from_mins(1);

    /// A campaign of a minute over two to nine machines, by seed.
    #[must_use]
    pub fn by_seed(seed: u64) -> Self {
        let chance = |dimension| chance(seed, dimension);
        let nodes = chance(Dimension::Nodes).usize(2..=9);
        let mut world = WorldSettings::new(nodes, seed);
        world.floors = floors(&mut chance(Dimension::Floors));
        // A LAN, a busy one, and one that is hardly any.
        let delays = [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 5_000, 5_000, 40_000];
        world.weather.delay = 100..=one_of(&delays, &mut chance(Dimension::Delay));
        let duplications = [2, 2, 2, 2, 2, 2, 2, 2, 0, 20];
        world.weather.duplication = one_of(&duplications, &mut chance(Dimension::Duplication));
        // The planner answers at once, soon, and as late as it does for the largest bank.
        let plannings = [0, 0, SOON, 1_000_000];
        world.planning = 0..=one_of(&plannings, &mut chance(Dimension::Planning));
        // Two fleets in three have a key.
        world.key = chance(Dimension::Key).u8(0..3) > 0;
        Self { world, duration: Self::USUAL_DURATION }
    }

    /// The same under this election. Where a designated master leads, some fleets have a control
    /// unit, and some two.
    #[must_use]
    pub fn under(mut self, election: ElectionSettings) -> Self {
        let WorldSettings { nodes, seed, .. } = self.world;
        let units = match election.profile().preferred {
            Preferred::LowestAddress | Preferred::Fittest | Preferred::Anybody => 0,
            Preferred::Designated => {
                let units = [0, 0, 0, 0, 0, 0, 1, 1, 2];
                one_of(&units, &mut chance(seed, Dimension::Units)).min(nodes - 1)
            }
        };
        // A holder that passes the mastership on drops the plan that it has asked for.
        if election.profile().rotates {
            self.world.planning = 0..=(*self.world.planning.end()).min(SOON);
        }
        self.world.roles = (nodes - units..nodes).map(|node| (node, Role::ControlUnit)).collect();
        self.world.election = election;
        self
    }

    /// The same with faults for this long.
    #[must_use]
    pub fn lasting(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    /// The kinds of faults that its chance has to bring: see [`Fault::kind`](crate::Fault::kind).
    #[must_use]
    pub fn enabled(&self) -> BTreeSet<&'static str> {
        self.fate().enabled()
    }

    fn fate(&self) -> Fate {
        Fate::new(self.world.seed, self.world.nodes, self.world.key)
    }

    /// Runs it.
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn run(&self) -> Result<Outcome, WorldError> {
        self.play(None, |_| false)
    }

    /// Runs it until the end of the calm after this violation: the rest would only show more of them.
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn run_until(&self, enough: impl Fn(&Violation) -> bool) -> Result<Outcome, WorldError> {
        self.play(None, |world| world.violations().iter().any(&enough))
    }

    /// Runs it, and records this part of it: see [`World::recorded`].
    ///
    /// # Errors
    /// Such a world can't be made.
    pub fn record(&self, window: Window) -> Result<Outcome, WorldError> {
        self.play(Some(window), |_| false)
    }

    /// Chance has not brought yet what a run consists of at least.
    fn says_nothing(&self, world: &World, fate: &Fate) -> bool {
        is_void(&Tally::new(world), self.duration, &fate.enabled()).is_some()
    }

    fn play(
        &self,
        window: Option<Window>,
        ends: impl Fn(&World) -> bool,
    ) -> Result<Outcome, WorldError> {
        let mut world = World::new(self.world.clone())?;
        if let Some(window) = window {
            world.record(window);
        }
        world.steps = Some(Vec::new());
        let mut fate = self.fate();
        world.start_all();
        world.run_for(PRELUDE);
        let storms = fate.random.u32(STORMS);
        for storm in 0..storms + MOST_MORE {
            if storm >= storms && !self.says_nothing(&world, &fate) {
                break;
            }
            let until = world.now() + self.duration / storms;
            while world.now() < until {
                world.run_for(Duration::from_millis(fate.random.u64(1..=1_200)));
                fate.strikes(&mut world);
            }
            calm(&mut world, &mut fate);
            if storm + 1 >= storms
                && Tally::new(&world).changes_of_master == 0
                && let Some(master) = world.master()
            {
                // Chance has left it alone.
                world.inflict(Fault::Kill(master));
                world.run_for(RECOVERY);
            }
            if ends(&world) {
                return Ok(conclude(world, Ending::Stop));
            }
        }
        with_one_broken(&mut world, &mut fate);
        Ok(conclude(world, Ending::Rest))
    }
}

/// What a seed decides of a world, each independently of the others.
#[derive(Debug, Clone, Copy)]
enum Dimension {
    Nodes,
    Floors,
    Delay,
    Duplication,
    Planning,
    Key,
    Units,
    Fate,
}

/// The chance of one dimension. Later dimensions change nothing about it.
fn chance(seed: u64, dimension: Dimension) -> Rng {
    let mut random = Rng::with_seed(seed);
    let mut own = random.u64(..);
    for _before in 0..dimension as usize {
        own = random.u64(..);
    }
    Rng::with_seed(own)
}

fn one_of<T: Copy>(choices: &[T], random: &mut Rng) -> T {
    choices[random.usize(0..choices.len())]
}

/// Half of the buildings have four floors, the others 2 to 40.
fn floors(random: &mut Rng) -> FloorCount {
    let floors = match random.u8(0..8) {
        0..4 => 4,
        4 => random.u8(2..=3),
        5..7 => random.u8(5..=12),
        _ => random.u8(13..=40),
    };
    FloorCount::new(floors).unwrap_or(WorldSettings::new(2, 0).floors)
}

/// Puts everything right, and lets the fleet come together while somebody presses buttons.
fn calm(world: &mut World, fate: &mut Fate) {
    world.repair_everything();
    fate.all_is_well();
    for _ in 0..PRESSES {
        fate.press(world);
        world.run_for(fate.pause_up_to(PRESSES_APART));
    }
    world.run_for((world.snapshot().bound() + RECOVERY).max(LINGERS));
    world.repair_everything();
    world.run_until(CALM, rests);
    // Whatever else happens at this moment happens before what comes next, as when the script is run.
    world.run_for(Duration::from_millis(1));
}

fn rests(world: &World) -> bool {
    world.is_idle() && world.in_step() && world.has_the_right_master()
}

/// Puts everything right but one car, and sees whether the others serve every hall call (O7).
fn with_one_broken(world: &mut World, fate: &mut Fate) {
    world.repair_everything();
    let broken = fate.break_one_car(world);
    for _ in 0..ROUNDS_WITH_ONE_BROKEN {
        fate.press(world);
        world.run_for(fate.pause_up_to(BROKEN_APART));
    }
    let limit = world.snapshot().longest_wait() * 2;
    world.run_until(limit, |world| !world.has_hall_calls());
    // Whatever else happens at this moment happens before the repair, as when the script is run.
    world.run_for(Duration::from_millis(1));
    world.repair_car(broken);
    world.inflict(Fault::Restart(broken));
}

/// The steps are over: what comes of them.
fn conclude(mut world: World, ending: Ending) -> Outcome {
    let steps = world.steps.take().unwrap_or_default();
    let until = world.now();
    let violations = match ending {
        Ending::Stop => world.violations(),
        Ending::Rest => finish(&mut world),
    };
    let tally = Tally::new(&world);
    let script = Script { world: world.settings.clone(), steps, until, ending };
    Outcome { world, violations, script, tally }
}

/// Puts everything right, gives the fleet time, and sees what is left to complain of.
fn finish(world: &mut World) -> Vec<Violation> {
    let until = world.now() + FINISH + world.snapshot().longest_wait();
    let mut rested = false;
    while !rested && world.now() < until {
        world.repair_everything();
        rested = world.run_until(NEXT_LOOK, rests).is_some();
    }
    world.run_for(Duration::from_secs(5));
    // A mastership that rotates may be under way at any moment.
    let settling = world.settings.election.settles_within();
    let stays = world.run_until(settling, rests).is_some();
    let mut violations = world.violations();
    if !(rested && stays) {
        violations.push(Violation {
            at: world.now(),
            id: "O7",
            what: format!(
                "the fleet does not come to rest: master {:?}, in step {}, idle {}",
                world.master(),
                world.in_step(),
                world.is_idle()
            ),
        });
    }
    violations.extend(world.broken_promises());
    violations
}

#[cfg(test)]
mod tests;
