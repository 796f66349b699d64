//! Where idle cars wait by the time of the week; a schedule changes nothing else. Which entry holds
//! follows from the local time of the week, which comes in from outside.

mod text;

use std::collections::BTreeSet;

use elevator_driver::Floor;
use serde::{Deserialize, Serialize};

use super::{CarPlan, CarSituation, Plan, Predictor};
use crate::model::NodeId;

pub use self::text::ScheduleError;

const MOST_ENTRIES: usize = 32;

const MOST_PLACES: usize = 32;

const HOUR: u16 = 60;
const DAY: u16 = 24 * HOUR;
const WEEK: u16 = 7 * DAY;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// A local time of the week, in minutes since Monday, 00:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeekTime(u16);

impl WeekTime {
    /// The time this many seconds after 1970-01-01, with local time `offset` seconds ahead of UTC.
    #[must_use]
    pub fn of_unix(seconds: u32, offset: i32) -> Self {
        // 1970-01-01 was a Thursday.
        let local = i64::from(seconds) + i64::from(offset) + i64::from(3 * DAY) * 60;
        let minute = local.div_euclid(60).rem_euclid(WEEK.into());
        Self(u16::try_from(minute).unwrap_or_default())
    }

    /// The time of a day, counted from Monday, which is 0.
    #[must_use]
    pub fn new(day: u8, hour: u8, minute: u8) -> Self {
        let minutes = u32::from(day) * u32::from(DAY) + u32::from(hour) * 60 + u32::from(minute);
        Self(u16::try_from(minutes % u32::from(WEEK)).unwrap_or_default())
    }
}

/// What holds at some times of the week: `DAYS FROM-TO park FLOORS [cars NUMBER]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    text: String,
    /// The days on which it begins, from Monday on.
    days: [bool; 7],
    /// When it begins, in minutes of the day.
    from: u16,
    /// When it ends, in minutes of the day; of the next one unless it is later than `from`.
    to: u16,
    parking: Parking,
}

impl Entry {
    fn holds(&self, WeekTime(now): WeekTime) -> bool {
        let length =
            if self.to > self.from { self.to - self.from } else { self.to + DAY - self.from };
        let begins = (0..7).zip(self.days).filter(|(_, is_on)| *is_on);
        let mut begins = begins.map(|(day, _)| day * DAY + self.from);
        begins.any(|begin| (now + WEEK - begin) % WEEK < length)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parking {
    /// The places, in the order in which they are taken. A floor may be named several times. If
    /// more cars are idle than there are places, they are taken again from the first on.
    floors: Vec<Floor>,
    /// How many idle cars wait there at most; `None`: all of them.
    cars: Option<u8>,
}

/// The entries, of which the last one that holds counts. As text, they have semicolons between.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule(Vec<Entry>);

impl Schedule {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn top(&self) -> Option<Floor> {
        self.0.iter().flat_map(|entry| &entry.parking.floors).max().copied()
    }

    /// The first entry that never counts, because a later one always holds when it does.
    #[must_use]
    pub fn covered(&self) -> Option<String> {
        let is_covered = |number: usize| {
            !(0..WEEK).any(|minute| self.number_at(WeekTime(minute)) == Some(number))
        };
        let covered = (0..self.0.len()).find(|number| is_covered(*number))?;
        Some(self.0[covered].text.clone())
    }

    pub(crate) fn number_at(&self, now: WeekTime) -> Option<usize> {
        self.0.iter().rposition(|entry| entry.holds(now))
    }

    pub(crate) fn parking(&self, number: usize) -> Option<&Parking> {
        self.0.get(number).map(|entry| &entry.parking)
    }

    pub(crate) fn text(&self, number: usize) -> Option<String> {
        self.0.get(number).map(|entry| entry.text.clone())
    }
}

impl Parking {
    /// Sends idle cars to the places; the others wait as the strategy says. Each place gets the
    /// nearest car that is left, so that a car which waits there stays.
    pub(crate) fn apply(&self, plan: &mut Plan, cars: &[CarSituation]) {
        let busy: BTreeSet<&NodeId> = plan.assignments.values().collect();
        let is_idle = |car: &&CarSituation| {
            Predictor::can_serve(&car.view) && car.car_calls.is_empty() && !busy.contains(&car.car)
        };
        let mut idle: Vec<(&CarSituation, Floor)> = cars
            .iter()
            .filter(is_idle)
            .filter_map(|car| Some((car, car.resting_place()?)))
            .collect();
        idle.sort_unstable_by_key(|(car, _)| &car.car);
        let most = self.cars.map_or(idle.len(), usize::from);
        let mut parks = Vec::new();
        for floor in self.floors.iter().cycle().take(most.min(idle.len())) {
            let reaches = |car: &CarSituation| !car.view.locked_out.contains(*floor);
            let able = idle.iter().enumerate().filter(|(_, (car, _))| reaches(car));
            let distance = |at: Floor| at.index().abs_diff(floor.index());
            let nearest = able.min_by_key(|(_, (_, at))| distance(*at)).map(|(number, _)| number);
            if let Some(number) = nearest {
                parks.push((idle.remove(number).0.car.clone(), *floor));
            }
        }
        for (car, floor) in parks {
            let told: &mut CarPlan = plan.cars.entry(car).or_default();
            told.park = Some(floor);
        }
    }
}

#[cfg(test)]
mod tests;
