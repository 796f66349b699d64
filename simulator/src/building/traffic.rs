//! Who arrives when, and where they go.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use elevator_driver::{Floor, FloorCount};
use serde::{Deserialize, Serialize};

use super::{Building, SplitMix64};

/// The mass of a passenger of whom nothing else is known, kg.
pub const MASS: f64 = 75.0;

/// A trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passenger {
    /// When the passenger comes to the landing, from the start of the run.
    pub arrival: Duration,
    pub from: Floor,
    /// The destination, another floor.
    pub to: Floor,
    /// The mass, kg.
    pub mass: f64,
}

/// The mix of incoming (from the lobby), outgoing (to the lobby) and interfloor traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// 85, 5 and 10 %.
    Up,
    /// 45, 45 and 10 %.
    Lunch,
    /// 5, 85 and 10 %.
    Down,
    /// Interfloor only.
    Inter,
}

impl Pattern {
    pub const ALL: [Self; 4] = [Self::Up, Self::Lunch, Self::Down, Self::Inter];

    fn shares(self) -> (f64, f64) {
        match self {
            Self::Up => (0.85, 0.05),
            Self::Lunch => (0.45, 0.45),
            Self::Down => (0.05, 0.85),
            Self::Inter => (0.0, 0.0),
        }
    }

    pub fn trip(self, floors: FloorCount, random: &mut SplitMix64) -> Option<(Floor, Floor)> {
        let upper = floors.get() - 1;
        let (incoming, outgoing) = self.shares();
        let kind = random.unit();
        let (from, to) = if kind < incoming {
            (0, 1 + random.below(upper))
        } else if kind < incoming + outgoing || upper == 1 {
            (1 + random.below(upper), 0)
        } else {
            let from = random.below(upper);
            let to = random.below(upper - 1);
            (1 + from, 1 + to + u8::from(to >= from))
        };
        Some((floors.floor(from)?, floors.floor(to)?))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Up => "up",
            Self::Lunch => "lunch",
            Self::Down => "down",
            Self::Inter => "inter",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no pattern {0}: up, lunch, down, inter")]
pub struct UnknownPattern(String);

impl FromStr for Pattern {
    type Err = UnknownPattern;

    fn from_str(text: &str) -> Result<Self, UnknownPattern> {
        let known = Self::ALL.into_iter().find(|pattern| pattern.to_string() == text);
        known.ok_or_else(|| UnknownPattern(text.to_owned()))
    }
}

/// Traffic from which passengers are drawn: a Poisson process.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    Steady {
        pattern: Pattern,
        /// Arrivals in per cent of the population in five minutes.
        rate: f64,
        lasts: Duration,
    },
    /// From each floor above the lobby down to it, at a rate that changes every five minutes.
    Down {
        /// Arrivals at each floor in five minutes, one number for each five minutes.
        arrivals: Vec<f64>,
    },
}

/// The steps of [`Traffic::Down`].
const FIVE_MINUTES: Duration = Duration::from_mins(5);

impl Traffic {
    #[must_use]
    pub fn lasts(&self) -> Duration {
        match self {
            Self::Steady { lasts, .. } => *lasts,
            Self::Down { arrivals } => {
                FIVE_MINUTES * u32::try_from(arrivals.len()).unwrap_or(u32::MAX)
            }
        }
    }

    /// The passengers of a seed, in the order of their arrival. Equal seeds give equal passengers.
    #[must_use]
    pub fn passengers(&self, building: &Building, seed: u64) -> Vec<Passenger> {
        let mut random = SplitMix64::new(seed);
        match self {
            Self::Steady { pattern, rate, lasts } => {
                steady(building, *pattern, *rate, *lasts, &mut random)
            }
            Self::Down { arrivals } => down(building, arrivals, &mut random),
        }
    }
}

fn steady(
    building: &Building,
    pattern: Pattern,
    rate: f64,
    lasts: Duration,
    random: &mut SplitMix64,
) -> Vec<Passenger> {
    let per_second = f64::from(building.population) * rate / 100.0 / FIVE_MINUTES.as_secs_f64();
    if per_second <= 0.0 {
        return Vec::new();
    }
    let mut passengers = Vec::new();
    let mut arrival = random.exponential(per_second);
    while arrival < lasts.as_secs_f64() {
        let trip = building.trip(pattern, random);
        passengers.extend(trip.map(|(from, to)| passenger(arrival, from, to)));
        arrival += random.exponential(per_second);
    }
    passengers
}

impl Building {
    /// A trip between the lobby or the floors below it and those above. Who would have to change
    /// cars goes to the lobby first, and counts as one who goes there.
    fn trip(&self, pattern: Pattern, random: &mut SplitMix64) -> Option<(Floor, Floor)> {
        let lobby = self.floors.floor(self.lobby)?;
        let upper = FloorCount::new(self.floors.get() - self.lobby)?;
        let (from, to) = pattern.trip(upper, random)?;
        let mut place = |floor: Floor| match floor {
            Floor::BOTTOM if self.by_car > 0.0 && random.unit() < self.by_car => {
                self.floors.floor(random.below(self.lobby))
            }
            _ => self.floors.floor(floor.index() + self.lobby),
        };
        let (from, to) = (place(from)?, place(to)?);
        let to = if self.has_trip(from, to) { to } else { lobby };
        (from != to).then_some((from, to))
    }
}

fn down(building: &Building, arrivals: &[f64], random: &mut SplitMix64) -> Vec<Passenger> {
    let Some(lobby) = building.floors.floor(building.lobby) else { return Vec::new() };
    let upper = building.floors.top().distance(lobby);
    let mut passengers = Vec::new();
    for (step, &number) in (0_u32..).zip(arrivals) {
        let begins = FIVE_MINUTES.as_secs_f64() * f64::from(step);
        let ends = begins + FIVE_MINUTES.as_secs_f64();
        let per_second = number * f64::from(upper) / FIVE_MINUTES.as_secs_f64();
        if per_second <= 0.0 {
            continue;
        }
        let mut arrival = begins + random.exponential(per_second);
        while arrival < ends {
            let from = building.floors.floor(building.lobby + 1 + random.below(upper));
            passengers.extend(from.map(|from| passenger(arrival, from, lobby)));
            arrival += random.exponential(per_second);
        }
    }
    passengers
}

fn passenger(arrival: f64, from: Floor, to: Floor) -> Passenger {
    Passenger { arrival: Duration::from_secs_f64(arrival), from, to, mass: MASS }
}
