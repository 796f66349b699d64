//! Faults one after the other, each of which is repaired after a while. The seed decides which
//! fault begins when, at which node and for how long.
//!
//! Fleets in virtual time, tests of real processes and the demo use the same schedules.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;

/// What goes wrong at one node, or in the whole building.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The node is killed, and started again later (F6, F7).
    Kill,
    /// The node is suspended, and resumes later.
    Suspension,
    /// The line between the node and its panel is cut, and plugged in again.
    LineCut,
    /// The network of the node is cut, and repaired (F8).
    NetworkCut,
    /// The motor is driven and does not move its car, until the node has ended; then the hang is
    /// cleared and the node started again (F9).
    Hang,
    Obstruction,
    StopSwitch,
    /// The whole building loses power (F13).
    PowerCut,
}

impl FaultKind {
    pub const ALL: [Self; 8] = [
        Self::Kill,
        Self::Suspension,
        Self::LineCut,
        Self::NetworkCut,
        Self::Hang,
        Self::Obstruction,
        Self::StopSwitch,
        Self::PowerCut,
    ];
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kill => "kill",
            Self::Suspension => "suspension",
            Self::LineCut => "line cut",
            Self::NetworkCut => "network cut",
            Self::Hang => "hang",
            Self::Obstruction => "obstruction",
            Self::StopSwitch => "stop switch",
            Self::PowerCut => "power cut",
        })
    }
}

/// What can happen in a fleet, and how fast.
#[derive(Debug, Clone)]
pub struct ScheduleSettings {
    /// The faults of a round, which come in random order. One that is listed twice comes twice.
    pub round: Vec<FaultKind>,
    pub first: Duration,
    /// From the beginning of one fault to that of the next.
    pub gap: RangeInclusive<Duration>,
    pub lasts: RangeInclusive<Duration>,
}

/// Every fault once a round.
///
/// The gap is long enough that what was promised before is on the disks of those that promised it,
/// because an order survives the loss of one node at a time (F12). Some faults end before the other
/// nodes detect them, others after that.
impl Default for ScheduleSettings {
    fn default() -> Self {
        Self {
            round: FaultKind::ALL.to_vec(),
            first: Duration::from_secs(2),
            gap: Duration::from_secs(1)..=Duration::from_secs(2),
            lasts: Duration::from_millis(500)..=Duration::from_millis(4500),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledFault {
    /// When, since the start of the schedule.
    pub at: Duration,
    pub kind: FaultKind,
    /// The node, counted from 0. If it has a fault already, the next one without is meant.
    pub node: usize,
    /// How long the fault lasts; for a hang, how long an operator takes to clear it.
    pub lasts: Duration,
}

/// All faults, without end; the same for the same settings, seed and number of nodes.
#[derive(Debug)]
pub struct Schedule {
    random: Rng,
    settings: ScheduleSettings,
    nodes: usize,
    next_at: Duration,
    round: Vec<FaultKind>,
}

impl Schedule {
    #[must_use]
    pub fn new(seed: u64, nodes: usize, settings: ScheduleSettings) -> Self {
        Self {
            // Independent of other draws from the same seed.
            random: Rng::with_seed(seed).fork(),
            nodes,
            next_at: settings.first,
            settings,
            round: Vec::new(),
        }
    }
}

impl Iterator for Schedule {
    type Item = ScheduledFault;

    fn next(&mut self) -> Option<ScheduledFault> {
        if self.round.is_empty() {
            self.round.extend(&self.settings.round);
            self.random.shuffle(&mut self.round);
        }
        let kind = self.round.pop()?;
        let at = self.next_at;
        self.next_at += between(&self.settings.gap, &mut self.random);
        let node = self.random.usize(..self.nodes);
        let lasts = between(&self.settings.lasts, &mut self.random);
        Some(ScheduledFault { at, kind, node, lasts })
    }
}

fn between(range: &RangeInclusive<Duration>, random: &mut Rng) -> Duration {
    *range.start() + range.end().saturating_sub(*range.start()).mul_f64(random.f64())
}

/// How many faults there were, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Toll(BTreeMap<FaultKind, u32>);

impl Toll {
    pub fn count(&mut self, kind: FaultKind) {
        *self.0.entry(kind).or_default() += 1;
    }

    #[must_use]
    pub fn of(&self, kind: FaultKind) -> u32 {
        self.0.get(&kind).copied().unwrap_or(0)
    }
}

impl fmt::Display for Toll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, kind) in FaultKind::ALL.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{kind} {}", self.of(kind))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn faults(seed: u64, nodes: usize, count: usize) -> Vec<ScheduledFault> {
        Schedule::new(seed, nodes, ScheduleSettings::default()).take(count).collect()
    }

    #[test]
    fn the_same_seed_makes_the_same_faults_and_another_seed_others() {
        assert_eq!(faults(7, 3, 40), faults(7, 3, 40));
        assert_ne!(faults(7, 3, 40), faults(8, 3, 40));
    }

    #[test]
    fn each_round_has_every_fault_once_and_begins_them_in_good_time() {
        for seed in 0..50 {
            let faults = faults(seed, 2, 16);
            for round in faults.chunks(8) {
                let kinds: BTreeSet<_> = round.iter().map(|one| one.kind).collect();
                assert_eq!(kinds.len(), FaultKind::ALL.len());
            }
            assert!(faults[7].at <= Duration::from_secs(16));
            assert!(faults.is_sorted_by_key(|one| one.at));
            assert!(faults.iter().all(|one| one.node < 2));
        }
    }
}
