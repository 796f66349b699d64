//! The statistics in the journal: one record for each quarter of an hour, under its number.
//!
//! Nothing depends on them: a record that can't be read is left out, and a journal without the table
//! has none. Their writing waits for no order, and no order in the same group of batches for them.

use std::collections::BTreeMap;

use elevator_fleet::model::NodeId;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use serde::{Deserialize, Serialize};
use tracing::debug;

use super::commit;
use super::error::ReadError;
use super::record::Kind;
use crate::statistics::{BINS, CARS, CarTime, Changes, FloorCalls, Histogram, Quarter, Slot};

const STATISTICS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("statistics");

/// Quarters: version 1 has the body [`QuarterV1`].
const QUARTERS: Kind = Kind { name: "statistics", version: 1 };

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct QuarterV1 {
    hall: HistogramV1,
    destination: HistogramV1,
    car: HistogramV1,
    journeys: HistogramV1,
    floors: Vec<FloorV1>,
    cars: Vec<CarV1>,
    watched: u32,
}

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HistogramV1 {
    bins: Vec<(u8, u32)>,
    sum: u64,
    longest: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FloorV1 {
    floor: u8,
    up: u32,
    down: u32,
    destination: u32,
    car: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CarV1 {
    car: String,
    in_service: u32,
    reserved: u32,
    down: u32,
}

/// Writes changes in one transaction; they are on disk when this returns.
pub(super) fn write(database: &Database, changes: &Changes) -> Result<(), redb::Error> {
    let transaction = commit::begin(database)?;
    {
        let mut quarters = transaction.open_table(STATISTICS)?;
        for slot in &changes.removed {
            quarters.remove(slot.0)?;
        }
        for (slot, quarter) in &changes.changed {
            quarters.insert(slot.0, encode(quarter)?.as_slice())?;
        }
    }
    Ok(transaction.commit()?)
}

/// Every quarter that can be read.
pub(super) fn read(database: &Database) -> Result<Vec<(Slot, Quarter)>, ReadError> {
    let table = match database.begin_read()?.open_table(STATISTICS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut quarters = Vec::new();
    for entry in table.iter()? {
        let (slot, bytes) = entry?;
        match decode(bytes.value()) {
            Ok(quarter) => quarters.push((Slot(slot.value()), quarter)),
            Err(error) => debug!(slot = slot.value(), %error, "a quarter can't be read"),
        }
    }
    Ok(quarters)
}

fn encode(quarter: &Quarter) -> Result<Vec<u8>, redb::Error> {
    let floors = quarter.floors.iter().map(|(floor, calls)| {
        let FloorCalls { up, down, destination, car } = *calls;
        FloorV1 { floor: *floor, up, down, destination, car }
    });
    let cars = quarter.cars.iter().map(|(car, time)| {
        let CarTime { in_service, reserved, down } = *time;
        CarV1 { car: car.to_string(), in_service, reserved, down }
    });
    QUARTERS.encode(&QuarterV1 {
        hall: stored(&quarter.hall),
        destination: stored(&quarter.destination),
        car: stored(&quarter.car),
        journeys: stored(&quarter.journeys),
        floors: floors.collect(),
        cars: cars.collect(),
        watched: quarter.watched,
    })
}

fn stored(histogram: &Histogram) -> HistogramV1 {
    let bins = histogram.bins.iter().map(|(bin, count)| (*bin, *count)).collect();
    HistogramV1 { bins, sum: histogram.sum, longest: histogram.longest }
}

fn decode(bytes: &[u8]) -> Result<Quarter, ReadError> {
    let quarter: QuarterV1 = QUARTERS.decode(bytes)?;
    let floors = quarter.floors.into_iter().map(|stored| {
        let FloorV1 { floor, up, down, destination, car } = stored;
        (floor, FloorCalls { up, down, destination, car })
    });
    let cars = quarter.cars.into_iter().take(CARS).map(|stored| {
        let CarV1 { car, in_service, reserved, down } = stored;
        let car = NodeId::new(&car).ok().ok_or(ReadError::Malformed(QUARTERS.name))?;
        Ok((car, CarTime { in_service, reserved, down }))
    });
    Ok(Quarter {
        hall: restored(quarter.hall),
        destination: restored(quarter.destination),
        car: restored(quarter.car),
        journeys: restored(quarter.journeys),
        floors: floors.collect(),
        cars: cars.collect::<Result<BTreeMap<_, _>, ReadError>>()?,
        watched: quarter.watched,
    })
}

fn restored(stored: HistogramV1) -> Histogram {
    let bins = stored.bins.into_iter().filter(|(bin, count)| *bin < BINS && *count > 0);
    Histogram { bins: bins.collect(), sum: stored.sum, longest: stored.longest }
}

#[cfg(test)]
mod tests;
