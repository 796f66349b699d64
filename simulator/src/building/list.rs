//! Lists of passengers as CSV: `id,t_s,from,to,kg`.

use std::io::{Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Building, Passenger};

/// A list of passengers can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// A passenger is impossible. Lines count from 1, the heading included.
    #[error("line {line}: {reason}")]
    Line { line: u64, reason: String },
    #[error(transparent)]
    Csv(#[from] csv::Error),
    #[error(transparent)]
    Write(#[from] std::io::Error),
}

#[derive(Debug, Deserialize, Serialize)]
struct Row {
    id: u64,
    t_s: f64,
    from: u8,
    to: u8,
    kg: f64,
}

/// The longest time of an arrival, s: a day.
const LATEST: f64 = 86_400.0;

/// Reads passengers, in the order of their arrival.
///
/// # Errors
/// [`ListError`]; a line has no such floor, no trip, no mass, or an arrival before that of the line
/// above it.
pub fn read_passengers(building: &Building, from: impl Read) -> Result<Vec<Passenger>, ListError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(from);
    let mut passengers: Vec<Passenger> = Vec::new();
    let headers = reader.headers()?.clone();
    for record in reader.into_records() {
        let record = record?;
        let row: Row = record.deserialize(Some(&headers))?;
        let line = record.position().map_or(0, csv::Position::line);
        let wrong = |reason: String| ListError::Line { line, reason };
        let floor = |index: u8| {
            let floor = building.floors.floor(index);
            floor.ok_or_else(|| {
                let top = building.floors.top();
                wrong(format!("{} has no floor {index}: 0 to {top}", building.name))
            })
        };
        let (from, to) = (floor(row.from)?, floor(row.to)?);
        if from == to {
            return Err(wrong(format!("a trip from floor {from} to floor {to}")));
        }
        if !(0.0..=LATEST).contains(&row.t_s) {
            return Err(wrong(format!("an arrival at {} s: 0 to {LATEST}", row.t_s)));
        }
        if !(row.kg > 0.0 && row.kg <= building.rated_load) {
            let most = building.rated_load;
            return Err(wrong(format!("{} kg: more than 0, at most {most}", row.kg)));
        }
        let arrival = Duration::from_secs_f64(row.t_s);
        if passengers.last().is_some_and(|last| last.arrival > arrival) {
            return Err(wrong("an arrival before that of the line above".to_owned()));
        }
        passengers.push(Passenger { arrival, from, to, mass: row.kg });
    }
    Ok(passengers)
}

/// Writes passengers.
///
/// # Errors
/// [`ListError`]; an unknown part was written.
pub fn write_passengers(passengers: &[Passenger], to: impl Write) -> Result<(), ListError> {
    let mut writer = csv::Writer::from_writer(to);
    for (id, passenger) in (0..).zip(passengers) {
        writer.serialize(Row {
            id,
            t_s: passenger.arrival.as_secs_f64(),
            from: passenger.from.index(),
            to: passenger.to.index(),
            kg: passenger.mass,
        })?;
    }
    writer.flush()?;
    Ok(())
}
