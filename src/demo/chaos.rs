//! Chaos: which fault comes when, to which car and for how long is decided by the seed alone; what
//! the processes make of it is theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The first fault comes this long after the start of the traffic.
const FIRST: Duration = Duration::from_secs(2);

/// From one fault to the next: long enough that what was promised before is on the disks of those
/// that promised it, for an order survives the loss of one node at a time (F12).
const GAP: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];

/// How long a fault lasts: shorter and longer than it takes the others to notice.
const LASTS: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(4500)];

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A node is killed, and started again later (F6, F7).
    Kill,
    /// A node is suspended, and goes on later.
    Freeze,
    /// The line between a node and its panel is cut, and plugged again.
    Line,
    /// The network of a node is cut, and mended (F8).
    Network,
    /// A motor is driven and does not move its car, until the node has ended; then the hang is
    /// cleared and the node started again (F9).
    Hang,
    /// Something stands in a door.
    Obstruction,
    /// A stop switch is pulled.
    Stop,
    /// The whole building loses power (F13).
    PowerCut,
}

impl Fault {
    const ALL: [Self; 8] = [
        Self::Kill,
        Self::Freeze,
        Self::Line,
        Self::Network,
        Self::Hang,
        Self::Obstruction,
        Self::Stop,
        Self::PowerCut,
    ];
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Line => "line cut",
            Self::Network => "network cut",
            Self::Hang => "hang",
            Self::Obstruction => "obstruction",
            Self::Stop => "stop switch",
            Self::PowerCut => "power cut",
        })
    }
}

/// A fault that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mishap {
    /// When, since the start of the traffic.
    pub(super) at: Duration,
    pub(super) fault: Fault,
    /// To which car, counted from 0; the next is meant where something is wrong with this one.
    pub(super) car: usize,
    /// How long; a hang is looked into for so long.
    pub(super) lasts: Duration,
}

/// All faults, without end, in rounds in which each comes once; the same for the same seed and
/// number of cars.
#[derive(Debug)]
pub(super) struct Mishaps {
    random: fastrand::Rng,
    cars: usize,
    next_at: Duration,
    round: Vec<Fault>,
}

impl Mishaps {
    /// The faults of a building.
    pub(super) fn new(seed: u64, cars: usize) -> Self {
        Self {
            // Not the chances of the passengers.
            random: fastrand::Rng::with_seed(seed).fork(),
            cars,
            next_at: FIRST,
            round: Vec::new(),
        }
    }

    fn between(&mut self, [least, most]: [Duration; 2]) -> Duration {
        least + most.saturating_sub(least).mul_f64(self.random.f64())
    }
}

impl Iterator for Mishaps {
    type Item = Mishap;

    fn next(&mut self) -> Option<Mishap> {
        if self.round.is_empty() {
            self.round.extend(Fault::ALL);
            self.random.shuffle(&mut self.round);
        }
        let fault = self.round.pop()?;
        let at = self.next_at;
        let gap = self.between(GAP);
        self.next_at += gap;
        Some(Mishap { at, fault, car: self.random.usize(..self.cars), lasts: self.between(LASTS) })
    }
}

/// How many faults there were, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Toll(BTreeMap<Fault, u32>);

impl Toll {
    /// One more.
    pub(super) fn count(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }
}

impl fmt::Display for Toll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in Fault::ALL.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let count = self.0.get(fault).copied().unwrap_or(0);
            write!(f, "{comma}{fault} {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_faults_and_another_seed_others() {
        let faults = |seed| Mishaps::new(seed, 3).take(40).collect::<Vec<_>>();
        assert_eq!(faults(7), faults(7));
        assert_ne!(faults(7), faults(8));
    }

    #[test]
    fn each_round_has_every_fault_once_and_begins_them_in_good_time() {
        for seed in 0..50 {
            let mishaps: Vec<_> = Mishaps::new(seed, 2).take(16).collect();
            for round in mishaps.chunks(8) {
                let faults: BTreeSet<_> = round.iter().map(|one| one.fault).collect();
                assert_eq!(faults.len(), Fault::ALL.len());
            }
            assert!(mishaps[7].at <= Duration::from_secs(16));
            assert!(mishaps.is_sorted_by_key(|one| one.at));
            assert!(mishaps.iter().all(|one| one.car < 2));
        }
    }

    #[test]
    fn the_toll_names_every_kind() {
        let mut toll = Toll::default();
        toll.count(Fault::Hang);
        toll.count(Fault::Hang);
        assert_eq!(
            toll.to_string(),
            "kill 0, freeze 0, line cut 0, network cut 0, hang 2, obstruction 0, stop switch 0, \
             power cut 0"
        );
    }
}
