//! Strikes: consecutive flights that did not start, or did not end at their stop.

use std::time::Duration;

use elevator_driver::Floor;

use super::FoundBy;
use crate::model::{FloorSet, HangCause, Timestamp};

const LONGEST_BACK_OFF: Duration = Duration::from_mins(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::car) enum Strike {
    /// The drive stopped short of this floor, or just beyond it.
    Missed(Floor),
    /// The same, or the floor's sensor is dead.
    Unclear(Floor),
    /// The car went the wrong way, or repeatedly past its stop.
    Astray,
    NotStarted,
    Unfound,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::car) enum Verdict {
    LockFloorOut,
    /// The car leaves the group for a while, and then has to prove itself.
    BackOff,
    /// The drive can't be trusted: an operator has to check it (F9).
    Hang(HangCause),
}

/// Strikes in a row; a flight that ends at its stop clears them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::car) struct Strikes {
    off_target: u8,
    refusals: u8,
    /// Consecutive searches that found no floor.
    searches: u8,
    /// The floors of the strikes that dead sensors would also explain.
    unclear: FloorSet,
    recovery: Recovery,
    landed: Option<Landing>,
}

/// The car has arrived at a floor, which counts if it stays there for a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Landing {
    floor: Floor,
    until: Timestamp,
    by: FoundBy,
    /// It did not stay. Its door may have to close before anything else.
    slipped: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Recovery {
    #[default]
    NotNeeded,
    BackOff {
        until: Timestamp,
    },
    /// The car is out of the group until a flight ends at its stop.
    Proving,
}

impl Strikes {
    /// How many consecutive flights off target are a hang.
    pub(in crate::car) const LIMIT: u8 = 6;
    /// How many consecutive searches may find no floor: one each way, for dead end sensors.
    const FREE_SEARCHES: u8 = 2;

    /// Counts a strike; `first_back_off` is doubled for each further one.
    pub(in crate::car) fn strike(
        &mut self,
        strike: Strike,
        first_back_off: Duration,
        now: Timestamp,
    ) -> Verdict {
        let weight = match strike {
            Strike::Missed(_) => 1,
            // Repeated tries of a dead sensor say nothing new about the drive.
            Strike::Unclear(floor) if self.unclear.contains(floor) => 0,
            Strike::Unclear(floor) => {
                self.unclear.insert(floor);
                1
            }
            Strike::Astray => 2,
            Strike::NotStarted => {
                self.refusals = self.refusals.saturating_add(1);
                0
            }
            Strike::Unfound => {
                self.searches = self.searches.saturating_add(1);
                u8::from(self.searches > Self::FREE_SEARCHES)
            }
        };
        self.off_target = self.off_target.saturating_add(weight);
        if self.off_target >= Self::LIMIT {
            return Verdict::Hang(HangCause::OffTarget(self.off_target));
        }
        let earlier = match (self.off_target.saturating_add(self.refusals), strike) {
            (0 | 1, Strike::Missed(_) | Strike::Unclear(_)) => return Verdict::LockFloorOut,
            (_, Strike::Unclear(_) | Strike::Unfound) if weight == 0 => {
                return Verdict::LockFloorOut;
            }
            (_, Strike::NotStarted) => self.refusals - 1,
            (count, Strike::Missed(_) | Strike::Unclear(_) | Strike::Astray | Strike::Unfound) => {
                count.saturating_sub(2)
            }
        };
        let doubled = first_back_off.saturating_mul(1 << earlier.min(16));
        self.recovery = Recovery::BackOff { until: now + doubled.min(LONGEST_BACK_OFF) };
        Verdict::BackOff
    }

    /// The car has arrived. Where its flight was to end, that clears the strikes at `until`.
    pub(in crate::car) fn land(&mut self, floor: Floor, by: FoundBy, until: Timestamp) {
        self.landed = Some(Landing { floor, until, by, slipped: false });
    }

    pub(super) fn observe(&mut self, floor: Option<Floor>) {
        if let Some(landing) = &mut self.landed {
            landing.slipped |= floor != Some(landing.floor);
        }
    }

    /// The car has lost the floor; returns the one at which it had just arrived.
    pub(in crate::car) fn slip(&mut self) -> Option<Floor> {
        self.landed.take().map(|landing| landing.floor)
    }

    pub(in crate::car) fn settle(&mut self) {
        match self.landed.take().map(|landing| landing.by) {
            Some(FoundBy::Standstill) => *self = Self::default(),
            Some(FoundBy::Homing) => self.searches = 0,
            None => {}
        }
    }

    /// What the car does is unknown: no arrival or search is counted.
    pub(in crate::car) fn interrupt(&mut self) {
        self.landed = None;
        self.searches = 0;
    }

    pub(super) fn expire(&mut self, now: Timestamp) {
        if self.landing().is_some_and(|until| until <= now) {
            self.settle();
        }
        if self.until().is_some_and(|until| until <= now) {
            self.recovery = Recovery::Proving;
        }
    }

    pub(super) fn landing(&self) -> Option<Timestamp> {
        let stays = self.landed.filter(|landing| !landing.slipped);
        stays.map(|landing| landing.until)
    }

    pub(in crate::car) fn until(&self) -> Option<Timestamp> {
        match self.recovery {
            Recovery::BackOff { until } => Some(until),
            Recovery::NotNeeded | Recovery::Proving => None,
        }
    }

    pub(in crate::car) fn is_proving(&self) -> bool {
        self.recovery == Recovery::Proving
    }

    pub(in crate::car) fn is_out_of_group(&self) -> bool {
        self.recovery != Recovery::NotNeeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::floor;

    const BASE: Duration = Duration::from_secs(10);

    /// The verdicts on these strikes, one after the other's back-off.
    fn verdicts(strikes: &[Strike]) -> Vec<(Verdict, u64)> {
        let mut record = Strikes::default();
        let mut now = Timestamp::START;
        let judged = strikes.iter().map(|strike| {
            let verdict = record.strike(*strike, BASE, now);
            let until = record.until().unwrap_or(now);
            let wait = until.since(now).as_secs();
            now = until;
            record.expire(now);
            (verdict, wait)
        });
        judged.collect()
    }

    /// H1, H5
    #[test]
    fn strikes_cost_a_floor_then_the_group_then_the_latch() {
        let then = [10, 20, 40, 80].map(|wait| (Verdict::BackOff, wait));
        let (spared, latches) =
            ((Verdict::LockFloorOut, 0), (Verdict::Hang(HangCause::OffTarget(6)), 0));
        let short = [&[spared][..], &then, &[latches]].concat();
        assert_eq!(verdicts(&[Strike::Missed(floor(3)); 6]), short);
        // A search may fail each way, and then counts.
        let unfound = [&[spared, spared, then[0]][..], &then, &[latches]].concat();
        assert_eq!(verdicts(&[Strike::Unfound; 8]), unfound);
    }

    /// H1
    #[test]
    fn one_dead_sensor_never_costs_more_than_its_floor() {
        let tries = verdicts(&[Strike::Unclear(floor(5)); 20]);
        assert!(tries.iter().all(|(v, _)| *v == Verdict::LockFloorOut));
        let two = [Strike::Unclear(floor(5)), Strike::Unclear(floor(0))];
        assert_eq!(verdicts(&two)[1].0, Verdict::BackOff);
        let by_turns = verdicts(&two.repeat(10));
        let later = by_turns[2..].iter();
        assert!(later.clone().all(|(v, _)| *v == Verdict::LockFloorOut));
    }
}
