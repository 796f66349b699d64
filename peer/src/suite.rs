//! The traffic suite: two buildings, four patterns, three rates, and passengers by seed.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use elevator_simulator::building::{self, Pattern, Traffic, read_passengers};

/// How long passengers arrive.
const ARRIVALS: Duration = Duration::from_hours(1);

/// Passengers who arrive earlier fill the building and are not scored, in seconds.
pub(crate) const WARM_UP: f64 = 600.0;

/// The longest run, in seconds.
pub(crate) const LONGEST_RUN: f64 = 7200.0;

/// The mass of a passenger, in kg.
pub(crate) const MASS: f64 = 75.0;

/// An office building with one bank of equal cars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Building {
    /// 12 floors, 4 cars of 1000 kg, 660 people.
    A12,
    /// 16 floors, 4 cars of 1600 kg, 900 people.
    B16,
}

impl Building {
    pub(crate) const CARS: usize = 4;
    /// Metres.
    pub(crate) const FLOOR_HEIGHT: f64 = 3.6;
    /// m/s.
    pub(crate) const SPEED: f64 = 2.5;
    /// m/s², up and down, without a limit of the jerk.
    pub(crate) const ACCELERATION: f64 = 1.0;
    /// Seconds, either way.
    pub(crate) const DOOR: f64 = 2.0;
    /// Seconds that the door stands open without passengers.
    pub(crate) const DWELL: f64 = 2.0;
    /// Seconds that a passenger adds to the dwell.
    pub(crate) const TRANSFER: f64 = 1.0;

    pub(crate) fn floors(self) -> u8 {
        match self {
            Self::A12 => 12,
            Self::B16 => 16,
        }
    }

    /// Kilograms.
    pub(crate) fn rated_load(self) -> f64 {
        match self {
            Self::A12 => 1000.0,
            Self::B16 => 1600.0,
        }
    }

    /// It, as our own simulator knows it.
    fn described(self) -> Result<building::Building> {
        let name = format!("{self:?}");
        building::Building::named(&name).with_context(|| format!("no building is called {name}"))
    }
}

/// One cell of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) building: Building,
    pub(crate) pattern: Pattern,
    /// Arrivals in per cent of the population per five minutes.
    pub(crate) rate: u8,
}

/// `A12_up_5`, as the files of the suite are named.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:?}_{}_{}", self.building, self.pattern, self.rate))
    }
}

impl Cell {
    /// The 24 cells.
    pub(crate) fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for building in [Building::A12, Building::B16] {
            for pattern in Pattern::ALL {
                cells.extend([5, 8, 12].map(|rate| Self { building, pattern, rate }));
            }
        }
        cells
    }

    /// The passengers of a seed, in the order of their arrival.
    pub(crate) fn passengers(self, seed: u64) -> Result<Vec<Passenger>> {
        let (pattern, rate) = (self.pattern, f64::from(self.rate));
        let traffic = Traffic::Steady { pattern, rate, lasts: ARRIVALS };
        let passengers = traffic.passengers(&self.building.described()?, seed);
        Ok(passengers.iter().map(Passenger::of).collect())
    }

    /// The passengers of a seed from `BUILDING_PATTERN_RATE_sSEED.csv`.
    pub(crate) fn read_passengers(self, directory: &Path, seed: u64) -> Result<Vec<Passenger>> {
        let path = directory.join(format!("{self}_s{seed}.csv"));
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let passengers = read_passengers(&self.building.described()?, file);
        let passengers = passengers.with_context(|| path.display().to_string())?;
        Ok(passengers.iter().map(Passenger::of).collect())
    }
}

/// A trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Passenger {
    /// Seconds from the start of the run.
    pub(crate) arrival: f64,
    pub(crate) from: u8,
    pub(crate) to: u8,
}

impl Passenger {
    fn of(passenger: &building::Passenger) -> Self {
        Self {
            arrival: passenger.arrival.as_secs_f64(),
            from: passenger.from.index(),
            to: passenger.to.index(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first lines of `A12_up_5_s1.csv`, `A12_lunch_5_s1.csv` and `A12_inter_5_s1.csv`.
    #[test]
    fn a_seed_gives_the_passengers_of_the_suite() {
        let trips = |pattern| {
            let cell = Cell { building: Building::A12, pattern, rate: 5 };
            let passengers = cell.passengers(1).expect("the suite");
            assert!((passengers[0].arrival - 7.600_050).abs() < 1e-6);
            passengers[..4].iter().map(|trip| (trip.from, trip.to)).collect::<Vec<_>>()
        };
        assert_eq!(trips(Pattern::Up), [(0, 11), (0, 9), (0, 4), (0, 7)]);
        assert_eq!(trips(Pattern::Lunch), [(11, 0), (0, 9), (4, 0), (0, 7)]);
        assert_eq!(trips(Pattern::Inter), [(11, 5), (10, 6), (5, 8), (5, 2)]);
    }
}
