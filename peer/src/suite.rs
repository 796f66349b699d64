//! The traffic suite: two buildings, four patterns, three rates, and passengers by seed.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// How long passengers arrive, in seconds.
pub(crate) const ARRIVALS: f64 = 3600.0;

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

    fn population(self) -> f64 {
        match self {
            Self::A12 => 660.0,
            Self::B16 => 900.0,
        }
    }
}

/// The mix of incoming, outgoing and interfloor traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Up,
    Lunch,
    Down,
    Inter,
}

impl Pattern {
    /// The shares of incoming and of outgoing passengers.
    fn shares(self) -> (f64, f64) {
        match self {
            Self::Up => (0.85, 0.05),
            Self::Lunch => (0.45, 0.45),
            Self::Down => (0.05, 0.85),
            Self::Inter => (0.0, 0.0),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Lunch => "lunch",
            Self::Down => "down",
            Self::Inter => "inter",
        }
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
        f.pad(&format!("{:?}_{}_{}", self.building, self.pattern.name(), self.rate))
    }
}

impl Cell {
    /// The 24 cells.
    pub(crate) fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for building in [Building::A12, Building::B16] {
            for pattern in [Pattern::Up, Pattern::Lunch, Pattern::Down, Pattern::Inter] {
                cells.extend([5, 8, 12].map(|rate| Self { building, pattern, rate }));
            }
        }
        cells
    }

    /// The passengers of a seed, in the order of their arrival.
    pub(crate) fn passengers(self, seed: u64) -> Vec<Passenger> {
        let per_second = self.building.population() * f64::from(self.rate) / 100.0 / 300.0;
        let upper = self.building.floors() - 1;
        let (incoming, outgoing) = self.pattern.shares();
        let mut random = SplitMix64(seed);
        let mut passengers = Vec::new();
        let mut arrival = 0.0;
        loop {
            arrival -= (1.0 - random.unit()).ln() / per_second;
            if arrival >= ARRIVALS {
                return passengers;
            }
            let kind = random.unit();
            let (from, to) = if kind < incoming {
                (0, 1 + random.below(upper))
            } else if kind < incoming + outgoing {
                (1 + random.below(upper), 0)
            } else {
                let from = random.below(upper);
                let to = random.below(upper - 1);
                (1 + from, 1 + to + u8::from(to >= from))
            };
            passengers.push(Passenger { arrival, from, to });
        }
    }

    /// The passengers of a seed from `BUILDING_PATTERN_RATE_sSEED.csv`.
    pub(crate) fn read_passengers(self, directory: &Path, seed: u64) -> Result<Vec<Passenger>> {
        let path = directory.join(format!("{self}_s{seed}.csv"));
        let mut reader =
            csv::Reader::from_path(&path).with_context(|| path.display().to_string())?;
        let mut passengers = Vec::new();
        for line in reader.deserialize() {
            let passenger: Passenger = line.with_context(|| path.display().to_string())?;
            let floors = self.building.floors();
            ensure!(
                passenger.from < floors && passenger.to < floors && passenger.from != passenger.to,
                "{}: a trip from {} to {}",
                path.display(),
                passenger.from,
                passenger.to,
            );
            passengers.push(passenger);
        }
        Ok(passengers)
    }
}

/// A trip.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(crate) struct Passenger {
    /// Seconds from the start of the run.
    #[serde(rename = "t_s")]
    pub(crate) arrival: f64,
    pub(crate) from: u8,
    pub(crate) to: u8,
}

/// Steele, Lea and Flood: Fast splittable pseudorandom number generators, 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// In [0, 1), from the upper 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to less than `count`"
    )]
    fn below(&mut self, count: u8) -> u8 {
        (self.unit() * f64::from(count)) as u8
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
            let passengers = cell.passengers(1);
            assert!((passengers[0].arrival - 7.600_050).abs() < 1e-6);
            passengers[..4].iter().map(|trip| (trip.from, trip.to)).collect::<Vec<_>>()
        };
        assert_eq!(trips(Pattern::Up), [(0, 11), (0, 9), (0, 4), (0, 7)]);
        assert_eq!(trips(Pattern::Lunch), [(11, 0), (0, 9), (4, 0), (0, 7)]);
        assert_eq!(trips(Pattern::Inter), [(11, 5), (10, 6), (5, 8), (5, 2)]);
    }

    #[test]
    fn arrivals_are_as_many_as_the_rate_says() {
        for cell in Cell::all() {
            let expected = cell.building.population() * f64::from(cell.rate) / 100.0 * 12.0;
            let drawn: usize = (1..=20).map(|seed| cell.passengers(seed).len()).sum();
            let mean = f64::from(u32::try_from(drawn).expect("few")) / 20.0;
            assert!((mean / expected - 1.0).abs() < 0.05, "{cell}: {mean} of {expected}");
        }
    }
}
