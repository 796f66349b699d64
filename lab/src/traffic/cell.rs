//! A building and its traffic.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use elevator_simulator::building::{Building, Passenger, Pattern, Traffic};

/// The rates of the suite, in per cent of the population in five minutes.
const RATES: [u8; 3] = [5, 8, 12];

/// How long passengers of the suite arrive.
const ARRIVALS: Duration = Duration::from_hours(1);

/// Passengers of the suite who arrive earlier fill the building and are not scored.
const WARM_UP: Duration = Duration::from_mins(10);

const CRITES_BARTO: &str = "crites-barto";

/// Down-peak traffic of Crites and Barto: arrivals at each floor in five minutes.
const DOWN_PEAK: [f64; 12] = [1.0, 2.0, 4.0, 4.0, 18.0, 12.0, 8.0, 7.0, 18.0, 5.0, 3.0, 2.0];

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// How it is called: `A12_up_5` and the like in the suite.
    pub name: String,
    pub building: Arc<Building>,
    pub source: Source,
    /// Who arrives earlier is not scored.
    pub warm_up: Duration,
}

/// Where passengers come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Drawn by seed.
    Drawn(Traffic),
    /// A list. The seed only determines how long each of them takes to pass a door.
    Listed(Arc<Vec<Passenger>>),
}

/// There is no such cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown cell {0}: use BUILDING_PATTERN_RATE as in A12_up_5, a part of it, or crites-barto"
)]
pub struct UnknownCell(String);

impl Cell {
    /// Steady traffic in a building, with the hour and the warm-up of the suite.
    #[must_use]
    pub fn steady(building: Arc<Building>, pattern: Pattern, rate: f64) -> Self {
        Self {
            name: format!("{}_{pattern}_{rate}", building.name),
            building,
            source: Source::Drawn(Traffic::Steady { pattern, rate, lasts: ARRIVALS }),
            warm_up: WARM_UP,
        }
    }

    /// The passengers of a list.
    #[must_use]
    pub fn listed(building: Arc<Building>, name: String, list: Vec<Passenger>) -> Self {
        Self { name, building, source: Source::Listed(Arc::new(list)), warm_up: Duration::ZERO }
    }

    /// The 24 cells of the suite: two buildings, four patterns, three rates.
    #[must_use]
    pub fn suite() -> Vec<Self> {
        Self::cells(&Building::SUITE)
    }

    /// The same traffic in the buildings whose cars do not all stop everywhere.
    #[must_use]
    pub fn zones() -> Vec<Self> {
        Self::cells(&Building::ZONES)
    }

    fn cells(buildings: &[&str]) -> Vec<Self> {
        let mut cells = Vec::new();
        for building in buildings.iter().filter_map(|name| Building::named(name)).map(Arc::new) {
            for pattern in Pattern::ALL {
                let cell = |rate| Self::steady(Arc::clone(&building), pattern, f64::from(rate));
                cells.extend(RATES.map(cell));
            }
        }
        cells
    }

    /// The down-peak benchmark of Crites and Barto (1996, 1998).
    #[must_use]
    pub fn crites_barto() -> Option<Self> {
        Some(Self {
            name: CRITES_BARTO.to_owned(),
            building: Arc::new(Building::named(CRITES_BARTO)?),
            source: Source::Drawn(Traffic::Down { arrivals: DOWN_PEAK.to_vec() }),
            warm_up: Duration::ZERO,
        })
    }

    /// The cells that a name means: that of Crites and Barto, or those of the suite whose names
    /// contain it.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Vec<Self>, UnknownCell> {
        if name == CRITES_BARTO {
            return Ok(Self::crites_barto().into_iter().collect());
        }
        let cells: Vec<_> = match name {
            "all" => Self::suite(),
            "zones" => Self::zones(),
            part => {
                let all = Self::suite().into_iter().chain(Self::zones());
                all.filter(|cell| cell.is_called(part)).collect()
            }
        };
        if cells.is_empty() { Err(UnknownCell(name.to_owned())) } else { Ok(cells) }
    }

    /// Whether these words, with `_` between them, are among those of the name.
    fn is_called(&self, part: &str) -> bool {
        format!("_{}_", self.name).contains(&format!("_{part}_"))
    }

    /// How long passengers arrive.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        match &self.source {
            Source::Drawn(traffic) => traffic.lasts(),
            Source::Listed(list) => {
                let latest = list.last().map_or(Duration::ZERO, |passenger| passenger.arrival);
                latest + Duration::from_secs(1)
            }
        }
    }

    /// Whether passengers arrive at the same rate all the time.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        matches!(self.source, Source::Drawn(Traffic::Steady { .. }))
    }

    /// The passengers of a seed.
    #[must_use]
    pub fn passengers(&self, seed: u64) -> Vec<Passenger> {
        match &self.source {
            Source::Drawn(traffic) => traffic.passengers(&self.building, seed),
            Source::Listed(list) => list.to_vec(),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}
