//! The traffic suite: two buildings, four patterns, three rates, and passengers by seed.

use std::fmt;
use std::time::Duration;

use elevator_simulator::building::{Building, Passenger, Pattern, Traffic};

/// How long passengers arrive.
const ARRIVALS: Duration = Duration::from_hours(1);

/// Passengers who arrive earlier fill the building and are not scored.
pub(crate) const WARM_UP: Duration = Duration::from_mins(10);

/// The longest run.
pub(crate) const LONGEST_RUN: Duration = Duration::from_hours(2);

/// One cell of the suite.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) building: Building,
    pub(crate) pattern: Pattern,
    /// Arrivals in per cent of the population per five minutes.
    pub(crate) rate: u8,
}

/// `A12_up_5`, for example.
impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}_{}", self.building.name, self.pattern, self.rate)
    }
}

impl Cell {
    /// The 24 cells.
    pub(crate) fn all() -> Vec<Self> {
        Self::of(&Building::SUITE)
    }

    /// Those of buildings whose cars do not all stop everywhere.
    pub(crate) fn zones() -> Vec<Self> {
        Self::of(&Building::ZONES)
    }

    fn of(buildings: &[&str]) -> Vec<Self> {
        let mut cells = Vec::new();
        for building in buildings.iter().filter_map(|name| Building::named(name)) {
            for pattern in Pattern::ALL {
                let cell = |rate| Self { building: building.clone(), pattern, rate };
                cells.extend([5, 8, 12].map(cell));
            }
        }
        cells
    }

    /// The passengers of a seed, in the order of their arrival.
    pub(crate) fn passengers(&self, seed: u64) -> Vec<Passenger> {
        let (pattern, rate) = (self.pattern, f64::from(self.rate));
        Traffic::Steady { pattern, rate, lasts: ARRIVALS }.passengers(&self.building, seed)
    }
}
