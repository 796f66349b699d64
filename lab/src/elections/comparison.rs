//! Many trials.

use std::time::Duration;

use rayon::prelude::*;

use super::{Conditions, Contestant, Run, Situation, Trial};
use crate::WorldError;

/// Many trials: one for each combination and seed. A situation leaves out fleets that are too small
/// for it. What is named twice counts once: the same seeds twice would make every figure look surer
/// than it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Who.
    pub contestants: Vec<Contestant>,
    /// The sizes, 2 to 200.
    pub sizes: Vec<usize>,
    /// The losses, in per cent.
    pub losses: Vec<u8>,
    /// How the network and the clocks are.
    pub conditions: Vec<Conditions>,
    /// What happens.
    pub situations: Vec<Situation>,
    /// How long a fleet is watched in a situation that does not settle.
    pub watch: Duration,
    /// The first seed.
    pub seed: u64,
    /// How many seeds.
    pub rounds: u64,
}

impl Comparison {
    /// Every trial, in the order of the results.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        let sizes = distinct(&self.sizes);
        let contestants = distinct(&self.contestants);
        for situation in distinct(&self.situations) {
            for conditions in distinct(&self.conditions) {
                for loss in distinct(&self.losses) {
                    for &size in sizes.iter().filter(|size| **size >= situation.smallest()) {
                        for &contestant in &contestants {
                            let seeds = self.seed..self.seed.saturating_add(self.rounds);
                            let watch = self.watch;
                            trials.extend(seeds.map(|seed| Trial {
                                contestant,
                                size,
                                loss,
                                conditions,
                                situation,
                                watch,
                                seed,
                            }));
                        }
                    }
                }
            }
        }
        trials
    }

    /// Runs them on every core; `done` is called after each.
    ///
    /// # Errors
    /// There is no fleet of one of the sizes.
    pub fn run(&self, done: impl Fn(&Trial) + Sync) -> Result<Vec<Run>, WorldError> {
        // The large ones first, so that none is left for the end.
        let mut trials: Vec<(usize, Trial)> = self.trials().into_iter().enumerate().collect();
        trials.sort_by_key(|(_, trial)| std::cmp::Reverse(trial.size));
        let runs = trials.into_par_iter().with_max_len(1).map(|(at, trial)| {
            let run = trial.run()?;
            done(&trial);
            Ok((at, run))
        });
        let mut runs = runs.collect::<Result<Vec<(usize, Run)>, WorldError>>()?;
        runs.sort_by_key(|(at, _)| *at);
        Ok(runs.into_iter().map(|(_, run)| run).collect())
    }
}

/// Each of these once, in the same order.
fn distinct<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(one) {
            seen.push(*one);
        }
    }
    seen
}
