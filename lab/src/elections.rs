//! The election protocols side by side: how soon one node leads, and what that costs.
//!
//! A [`Trial`] is one fleet that goes through every [`Situation`] in turn; a [`Comparison`] is many
//! of them, over protocols, sizes, losses and seeds. The same comparison always gives the same
//! figures.

mod plot;
mod report;

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use serde::Serialize;

use super::trace::{Trace, Window};
use super::{Fault, World, WorldError, WorldSettings};

pub use self::plot::{PlotError, plot};
pub use self::report::{Figures, WriteError, figures, write_csv, write_json};

/// A group that has not agreed within this time counts as not settled.
pub const LIMIT: Duration = Duration::from_secs(30);

/// How long an agreement must last to count.
const STANDS: Duration = Duration::from_millis(300);

/// How often the group is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// How long the messages of a quiet fleet are counted.
const QUIET: Duration = Duration::from_secs(5);

/// Between two situations.
const PAUSE: Duration = Duration::from_secs(1);

/// What happens to a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Situation {
    /// All nodes start at once.
    Start,
    /// Nothing happens for a while.
    Quiet,
    /// The leader's process is killed.
    LeaderDead,
    /// The killed leader starts again.
    BestReturns,
    /// The leader's process is suspended.
    LeaderHung,
    /// The suspended leader goes on.
    HungReturns,
    /// The network falls into two halves.
    Partition,
    /// The halves meet again.
    Merge,
}

impl Situation {
    /// All of them, in the order in which a trial goes through them.
    pub const ALL: [Self; 8] = [
        Self::Start,
        Self::Quiet,
        Self::LeaderDead,
        Self::BestReturns,
        Self::LeaderHung,
        Self::HungReturns,
        Self::Partition,
        Self::Merge,
    ];

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Quiet => "quiet",
            Self::LeaderDead => "leader dead",
            Self::BestReturns => "best returns",
            Self::LeaderHung => "leader hung",
            Self::HungReturns => "hung returns",
            Self::Partition => "partition",
            Self::Merge => "merge",
        }
    }
}

/// What was seen of one situation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The situation.
    pub situation: Situation,
    /// When it began.
    pub began: Duration,
    /// How long it took until each group had one leader, known to all of it; `None` if longer than
    /// [`LIMIT`].
    pub took: Option<Duration>,
    /// How long the situation was watched.
    pub watched: Duration,
    /// The protocol's messages that were sent meanwhile; a broadcast counts once.
    pub messages: u64,
    /// Their bytes, without what carries them.
    pub bytes: u64,
}

/// One fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trial {
    /// The protocol, with its defaults.
    pub protocol: Protocol,
    /// How many nodes.
    pub size: usize,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    /// The seed of everything.
    pub seed: u64,
}

impl Trial {
    /// Runs it.
    ///
    /// # Errors
    /// There is no fleet of this size.
    pub fn run(self) -> Result<Vec<Sample>, WorldError> {
        Ok(self.course(None)?.samples)
    }

    /// Runs it, and records this part of it.
    ///
    /// # Errors
    /// There is no fleet of this size.
    pub fn record(self, window: Window) -> Result<Trace, WorldError> {
        Ok(self.course(Some(window))?.world.recorded())
    }

    fn course(self, window: Option<Window>) -> Result<Course, WorldError> {
        let mut settings = WorldSettings::new(self.size, self.seed);
        settings.election = ElectionSettings::of(self.protocol);
        settings.weather.loss = self.loss;
        settings.codec = false;
        settings.inspect = false;
        let mut course = Course {
            world: World::new(settings)?,
            rotates: self.protocol.profile().rotates,
            samples: Vec::new(),
        };
        if let Some(window) = window {
            course.world.record(window);
        }
        course.run(self.size);
        Ok(course)
    }
}

/// A trial under way.
struct Course {
    world: World,
    rotates: bool,
    samples: Vec<Sample>,
}

impl Course {
    fn run(&mut self, size: usize) {
        let all: Vec<usize> = (0..size).collect();
        self.world.start_all();
        self.settle(Situation::Start, &[&all]);
        self.watch_quiet();
        let leader = self.leader(&all);
        let others: Vec<usize> = all.iter().copied().filter(|node| *node != leader).collect();
        self.world.inflict(Fault::Kill(leader));
        self.settle(Situation::LeaderDead, &[&others]);
        self.world.inflict(Fault::Restart(leader));
        self.settle(Situation::BestReturns, &[&all]);
        let leader = self.leader(&all);
        let others: Vec<usize> = all.iter().copied().filter(|node| *node != leader).collect();
        self.world.inflict(Fault::Suspend(leader));
        self.settle(Situation::LeaderHung, &[&others]);
        self.world.inflict(Fault::Resume(leader));
        self.settle(Situation::HungReturns, &[&all]);
        let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|node| *node % 2 == 0);
        let halves = vec![even.clone(), odd.clone()];
        self.world.inflict(Fault::Partition(halves));
        self.settle(Situation::Partition, &[&even, &odd]);
        self.world.inflict(Fault::Heal);
        self.settle(Situation::Merge, &[&all]);
    }

    /// Somebody who leads; the first node where nobody does.
    fn leader(&mut self, group: &[usize]) -> usize {
        for _ in 0..500 {
            if let Some(leader) = self.world.master_of(group) {
                return leader;
            }
            self.world.run_for(LOOK_EVERY);
        }
        group.first().copied().unwrap_or_default()
    }

    fn watch_quiet(&mut self) {
        let before = self.world.election_traffic();
        self.world.run_for(QUIET);
        let after = self.world.election_traffic();
        self.samples.push(Sample {
            situation: Situation::Quiet,
            began: self.world.now().saturating_sub(QUIET),
            took: None,
            watched: QUIET,
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
        });
    }

    /// Waits until each of these groups has one leader, and a little longer.
    fn settle(&mut self, situation: Situation, groups: &[&[usize]]) {
        let (start, before) = (self.world.now(), self.world.election_traffic());
        let mut since = None;
        while self.world.now() < start + LIMIT {
            self.world.run_for(LOOK_EVERY);
            if !self.agree(groups) {
                since = None;
                continue;
            }
            let first = *since.get_or_insert(self.world.now());
            // Where the mastership rotates, the next hand-over ends each agreement.
            if self.rotates || self.world.now() >= first + STANDS {
                break;
            }
        }
        let after = self.world.election_traffic();
        self.samples.push(Sample {
            situation,
            began: start,
            took: since.map(|at| at.saturating_sub(start)),
            watched: self.world.now().saturating_sub(start),
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
        });
        self.world.run_for(PAUSE);
    }

    fn agree(&self, groups: &[&[usize]]) -> bool {
        groups.iter().all(|group| group.is_empty() || self.world.master_of(group).is_some())
    }
}

/// Many trials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The protocols.
    pub protocols: Vec<Protocol>,
    /// The sizes, 2 to 200.
    pub sizes: Vec<usize>,
    /// The losses, in per cent.
    pub losses: Vec<u8>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds.
    pub rounds: u64,
}

impl Comparison {
    /// Every trial, the large ones first, so that none is left for the end.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        for &protocol in &self.protocols {
            for &size in &self.sizes {
                for &loss in &self.losses {
                    for seed in self.seed..self.seed + self.rounds {
                        trials.push(Trial { protocol, size, loss, seed });
                    }
                }
            }
        }
        trials.sort_by_key(|trial| std::cmp::Reverse(trial.size));
        trials
    }

    /// Runs them on every core; `done` is called after each.
    ///
    /// # Errors
    /// There is no fleet of one of the sizes.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Vec<(Trial, Vec<Sample>)>, WorldError> {
        let (trials, next) = (self.trials(), AtomicUsize::new(0));
        let results = Mutex::new(Vec::with_capacity(trials.len()));
        let work = || {
            while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                let samples = trial.run();
                if let Ok(mut results) = results.lock() {
                    results.push((*trial, samples));
                }
                done();
            }
        };
        // This thread works too: where there is only one core, or no threads at all, it works alone.
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            for _ in 1..cores {
                scope.spawn(work);
            }
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.sort_by_key(|(trial, _)| *trial);
        results.into_iter().map(|(trial, samples)| Ok((trial, samples?))).collect()
    }
}

#[cfg(test)]
mod tests;
