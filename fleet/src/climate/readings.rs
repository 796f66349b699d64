use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Reading;
use crate::model::{NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// The most units whose readings are kept. Beyond it a new unit is ignored until another one's
/// reading expires, so that a flood of strangers does not fill the memory.
pub(crate) const MOST_SOURCES: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    Node(NodeId),
    /// A bare device that answers requests and is known by its address alone (V12).
    Device(Ipv4Addr),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Device(address) => address.fmt(f),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Readings {
    limit: Duration,
    readings: BTreeMap<Source, (Reading, Timestamp)>,
}

impl Readings {
    /// No readings. A reading of age `limit` expires (K1).
    #[must_use]
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, readings: BTreeMap::new() }
    }

    /// Records a reading in place of the unit's previous one, with what it no longer knows.
    pub(crate) fn record(&mut self, source: Source, reading: Reading, now: Timestamp) {
        let limit = self.limit;
        self.readings.retain(|_, (_, at)| {
            now.since(*at) < limit || is_seeded(SeededBug::StaleReadingsCount)
        });
        if self.readings.len() < MOST_SOURCES || self.readings.contains_key(&source) {
            self.readings.insert(source, (reading, now));
        }
    }

    pub(crate) fn fresh(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Source, Reading, Duration)> {
        self.readings
            .iter()
            .map(move |(source, (reading, at))| (source, *reading, now.since(*at)))
            .filter(|(_, _, age)| *age < self.limit || is_seeded(SeededBug::StaleReadingsCount))
    }

    /// The average of the unexpired temperatures in tenths of a degree; `None` without any (K2).
    #[must_use]
    pub(crate) fn temperature(&self, now: Timestamp) -> Option<i16> {
        let degrees = self.fresh(now).filter_map(|(_, reading, _)| reading.temperature);
        let tenths = average(degrees.map(|degrees| i64::from(degrees) * 10))?;
        i16::try_from(tenths).ok()
    }

    /// The average of the unexpired illuminances, rounded; `None` if there is none (K2).
    #[must_use]
    pub(crate) fn illuminance(&self, now: Timestamp) -> Option<u8> {
        let known = self.fresh(now).filter_map(|(_, reading, _)| reading.illuminance);
        u8::try_from(average(known.map(i64::from))?).ok()
    }
}

/// Rounded half away from zero.
fn average(values: impl Iterator<Item = i64>) -> Option<i64> {
    let (sum, count) = values.fold((0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| (2 * sum + sum.signum() * count) / (2 * count))
}
