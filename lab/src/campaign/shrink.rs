//! From a long run that violates an invariant to a short one that violates the same.

use std::collections::BTreeMap;
use std::time::Duration;

use rayon::prelude::*;

use super::script::{Ending, PRELUDE, Script};
use crate::step::Act;
use crate::{Violation, WorldError};

/// How long a script goes on after a violation: panels keep their record in milliseconds.
const AFTERWARDS: Duration = Duration::from_millis(1);

/// By so much later a smaller script may violate the invariant: with something left out, chance
/// brings the rest something else.
const LATER: Duration = Duration::from_secs(2);

/// A pause is not made shorter than this.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

/// A fleet of one has nobody to disagree with.
const FEWEST_NODES: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Faults, repairs and presses.
    pub steps: usize,
    pub nodes: usize,
    /// How long its steps last, in the world.
    pub time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub runs: usize,
    /// The smallest script that violates the invariant so far.
    pub size: Size,
}

/// What became of a script that was shrunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    pub script: Script,
    /// What is violated in it.
    pub violations: Vec<Violation>,
    pub before: Size,
    pub after: Size,
    pub runs: usize,
}

impl Script {
    #[must_use]
    pub fn size(&self) -> Size {
        Size { steps: self.steps.len(), nodes: self.world.nodes, time: self.until }
    }

    /// Looks for a smaller script that violates the same invariant, by delta debugging: fewer steps,
    /// fewer nodes, less time. Takes at most this many runs, and ends early once `goes_on` says so.
    /// `None` if the script does not violate the invariant.
    ///
    /// # Errors
    /// There is no such world.
    pub fn shrink(
        &self,
        id: &str,
        most_runs: usize,
        goes_on: impl FnMut(&Progress) -> bool,
    ) -> Result<Option<Shrunk>, WorldError> {
        let mut search = Search { id, best: self.clone(), runs: 0, most_runs, goes_on };
        if !search.attempt(vec![self.clone()])? {
            return Ok(None);
        }
        loop {
            let before = search.best.size();
            // The fewest runs for the most steps come first.
            search.drop_nodes()?;
            search.drop_steps()?;
            search.drop_nodes()?;
            search.shorten_pauses()?;
            if search.best.size() == before || search.is_over() {
                break;
            }
        }
        let (script, runs) = (search.best, search.runs);
        let violations = script.run()?.violations;
        let after = script.size();
        Ok(Some(Shrunk { script, violations, before: self.size(), after, runs: runs + 1 }))
    }

    /// Nothing happens after the first violation of the invariant, if it came before the end.
    fn until_violated(&self, at: Duration) -> Self {
        let until = at + AFTERWARDS;
        if until >= self.until {
            return self.clone();
        }
        let mut script = Self { until, ending: Ending::Stop, ..self.clone() };
        script.steps.retain(|step| step.at <= until);
        script
    }

    /// The same, which goes on for longer after its last step.
    fn with_time_to_spare(mut self) -> Self {
        match self.ending {
            Ending::Stop => self.until += LATER,
            Ending::Rest => {}
        }
        self
    }

    fn without_steps(&self, from: usize, number: usize) -> Self {
        let mut script = self.clone();
        script.steps.drain(from..(from + number).min(self.steps.len()));
        script
    }

    /// Without this machine and what is done to it. Those after it move up.
    fn without_node(&self, gone: usize) -> Self {
        let mut script = self.clone();
        script.world.nodes -= 1;
        let world = &mut script.world;
        world.roles = moved_up(&world.roles, gone);
        world.elections = moved_up(&world.elections, gone);
        world.clock_rates = moved_up(&world.clock_rates, gone);
        script.steps.retain_mut(|step| {
            if let Act::Fault(fault) = &mut step.act {
                for group in fault.groups_mut() {
                    group.retain(|node| *node != gone);
                }
            }
            let mut names = step.act.nodes_mut();
            let stays = names.iter().all(|node| **node != gone);
            for node in &mut names {
                **node -= usize::from(**node > gone);
            }
            stays
        });
        script
    }

    /// Each pause before a step, and that before the end, becomes what this makes of it.
    fn with_pauses(&self, shorter: impl Fn(usize, Duration) -> Duration) -> Self {
        let mut script = self.clone();
        let (mut before, mut now, mut pauses) = (PRELUDE, PRELUDE, 0);
        let times = script.steps.iter_mut().map(|step| &mut step.at);
        for at in times.chain([&mut script.until]) {
            let pause = at.saturating_sub(before);
            before = *at;
            if !pause.is_zero() {
                now += shorter(pauses, pause).max(SHORTEST_PAUSE.min(pause));
                pauses += 1;
            }
            *at = now;
        }
        script
    }

    fn is_smaller_than(&self, other: &Self) -> bool {
        let rank = |Size { steps, nodes, time }| (nodes, steps, time);
        rank(self.size()) < rank(other.size())
    }

    fn pauses(&self) -> Vec<Duration> {
        let mut before = PRELUDE;
        let times = self.steps.iter().map(|step| step.at).chain([self.until]);
        let pauses = times.map(|at| at.saturating_sub(std::mem::replace(&mut before, at)));
        pauses.filter(|pause| !pause.is_zero()).collect()
    }
}

fn moved_up<T: Clone>(of: &BTreeMap<usize, T>, gone: usize) -> BTreeMap<usize, T> {
    let stays = of.iter().filter(|(node, _)| **node != gone);
    stays.map(|(node, it)| (node - usize::from(*node > gone), it.clone())).collect()
}

struct Search<'a, GoesOn> {
    id: &'a str,
    /// The smallest script that violates the invariant so far.
    best: Script,
    runs: usize,
    most_runs: usize,
    goes_on: GoesOn,
}

impl<GoesOn: FnMut(&Progress) -> bool> Search<'_, GoesOn> {
    fn is_over(&self) -> bool {
        self.runs >= self.most_runs
    }

    /// Runs these, and takes the first that violates the invariant. They are run at once, and only
    /// as many as there is time for.
    fn attempt(&mut self, mut candidates: Vec<Script>) -> Result<bool, WorldError> {
        candidates.truncate(self.most_runs.saturating_sub(self.runs));
        self.runs += candidates.len();
        let id = self.id;
        let found = candidates.into_par_iter().with_max_len(1).map(|script| {
            let script = script.with_time_to_spare();
            let violations = script.run()?.violations;
            let of_id = violations.iter().filter(|violation| violation.id == id);
            let first = of_id.map(|violation| violation.at).min();
            Ok(first.map(|at| script.until_violated(at)))
        });
        let found = found.collect::<Result<Vec<_>, WorldError>>()?;
        let mut found = found.into_iter().flatten();
        let found = found.find(|script| self.runs == 1 || script.is_smaller_than(&self.best));
        let is_found = found.is_some();
        self.best = found.unwrap_or_else(|| self.best.clone());
        if !(self.goes_on)(&Progress { runs: self.runs, size: self.best.size() }) {
            self.most_runs = self.runs;
        }
        Ok(is_found)
    }

    /// Leaves out steps, at first half of them, then ever fewer, from the last to the first.
    fn drop_steps(&mut self) -> Result<(), WorldError> {
        let at_once = rayon::current_num_threads();
        let mut number = self.best.steps.len().div_ceil(2);
        while number > 0 {
            let mut end = self.best.steps.len();
            while end > 0 && !self.is_over() {
                let starts = (0..at_once).map_while(|nth| end.checked_sub(nth * number));
                let starts: Vec<usize> =
                    starts.filter(|end| *end > 0).map(|end| end.saturating_sub(number)).collect();
                let of = |from: &usize| self.best.without_steps(*from, number);
                let candidates: Vec<Script> = starts.iter().map(of).collect();
                let next = starts.last().copied().unwrap_or(0);
                let is_found = self.attempt(candidates)?;
                // What lies behind may have become superfluous; what lies before is the same.
                end = if is_found { starts[0].min(self.best.steps.len()) } else { next };
            }
            number = if number == 1 { 0 } else { number.div_ceil(2) };
        }
        Ok(())
    }

    /// A world with twins would need their numbers adjusted: it keeps all nodes.
    fn drop_nodes(&mut self) -> Result<(), WorldError> {
        if self.best.world.twins.is_some() {
            return Ok(());
        }
        let mut node = self.best.world.nodes;
        while node > 0 && self.best.world.nodes > FEWEST_NODES && !self.is_over() {
            node -= 1;
            self.attempt(vec![self.best.without_node(node)])?;
        }
        Ok(())
    }

    /// Shortens each of the longer pauses, from the last to the first.
    fn shorten_pauses(&mut self) -> Result<(), WorldError> {
        let mut nth = self.best.pauses().len();
        while nth > 0 && !self.is_over() {
            nth -= 1;
            let pauses = self.best.pauses();
            let mean = self.best.until / u32::try_from(pauses.len()).unwrap_or(u32::MAX).max(1);
            if pauses.get(nth).is_none_or(|pause| *pause < mean / 2) {
                continue;
            }
            let shortened = [8, 2].map(|share| {
                let shorter = |at, pause| if at == nth { pause / share } else { pause };
                self.best.with_pauses(shorter)
            });
            self.attempt(shortened.into())?;
        }
        Ok(())
    }
}
