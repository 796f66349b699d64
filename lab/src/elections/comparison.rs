//! Many trials.

use std::time::Duration;

use rayon::prelude::*;

use super::{Conditions, Contestant, Run, Situation, Trial};
use crate::WorldError;

/// Many trials: one for each combination and seed. A situation leaves out fleets that are too small
/// for it.
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
        for &situation in &self.situations {
            for &conditions in &self.conditions {
                for &loss in &self.losses {
                    for &size in self.sizes.iter().filter(|size| **size >= situation.smallest()) {
                        for &contestant in &self.contestants {
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
