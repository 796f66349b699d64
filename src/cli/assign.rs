//! `liftmesh assign`: the course's `hall_request_assigner`, with plans that are close to the best.

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod input;
mod words;

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use elevator_driver::{Direction, FloorCount};
use elevator_fleet::dispatch::one_shot::{CarProblem, Clearing, LONGEST, Rules};

use self::input::Snapshot;
pub(crate) use self::words::tolerant;
use super::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh assign -i \"$(cat snapshot.json)\"
  liftmesh assign < snapshot.json
  liftmesh assign --includeCab --clearRequestType all --travelDuration 2000 < snapshot.json
  echo '{\"hallRequests\": [[true, false], [false, false]],
         \"states\": {\"one\": {\"behaviour\": \"idle\", \"floor\": 1, \"direction\": \"stop\",
                            \"cabRequests\": [false, false]}}}' | liftmesh assign

Reads and writes the JSON of hall_request_assigner, the program of the course TTK4145, and takes the
same options. hallRequests has [up, down] for each floor from 0; behaviour is idle, moving or
doorOpen; direction is up, down or stop. The output is one line with each car's calls, sorted by car
id. No node is needed.

A moving car is assumed to be halfway to the next floor, an open door halfway through its time. If
the input is invalid, the command prints nothing and exits with 2.

Like the original, the command ignores unknown options and keys, accepts options in any letter case
and floors in quotes, and assumes idle for a missing behaviour and stop for a missing direction,
each with a warning. --strict refuses all of these.";

/// The arguments of `liftmesh assign`, named as the course's program has them.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignArgs {
    /// Cars and calls, as JSON [default: read from standard input]
    #[arg(short, long, value_name = "JSON")]
    input: Option<String>,
    /// Travel time between adjacent floors, in milliseconds
    #[arg(long = "travelDuration", value_name = "MS", default_value_t = 2_500,
          value_parser = value_parser!(u64).range(0..=milliseconds(LONGEST)))]
    travel_duration: u64,
    /// How long the door stays open at a stop, in milliseconds
    #[arg(long = "doorOpenDuration", value_name = "MS", default_value_t = 3_000,
          value_parser = value_parser!(u64).range(0..=milliseconds(LONGEST)))]
    door_open_duration: u64,
    /// Which calls a stop clears
    #[arg(long = "clearRequestType", value_name = "TYPE", value_enum,
          default_value_t = ClearRequestType::InDirn)]
    clear_request_type: ClearRequestType,
    /// Add the cab requests to the output: [up, down, cab] for each floor
    #[arg(long = "includeCab", value_name = "BOOL", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true",
          action = clap::ArgAction::Set)]
    include_cab: bool,
    /// Refuse unknown options and keys, other letter case, numbers in quotes and missing keys
    #[arg(long)]
    strict: bool,
    /// What was changed on the command line
    #[arg(long = "remark", hide = true)]
    remarks: Vec<String>,
}

/// Which calls a stop clears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClearRequestType {
    /// All calls at the floor
    #[value(name = "all")]
    All,
    /// Calls in the car's direction
    #[value(name = "inDirn")]
    InDirn,
}

#[derive(Debug, thiserror::Error)]
pub enum AssignError {
    #[error("can't read standard input")]
    Read(#[source] io::Error),
    #[error("invalid input: {0}")]
    Json(serde_json::Error),
    #[error("invalid input (--strict): {0}")]
    Strict(String),
    #[error("empty input: expected a JSON object with hallRequests and states")]
    Empty,
    #[error(
        "invalid input: hallRequests has {0} floors, but must have 1 to {max}",
        max = FloorCount::MAX
    )]
    Floors(usize),
    #[error("invalid input: states must have at least one car")]
    NoStates,
    #[error("invalid input: states.{id}: {problem}")]
    State { id: String, problem: CarProblem },
}

impl AssignArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let warn = |warning: &String| output::remark(&format!("liftmesh: warning: {warning}\n"));
        // Before the input is waited for: an option that is ignored may have had it.
        self.remarks.iter().for_each(warn);
        let snapshot = match &self.input {
            Some(text) => Snapshot::parse(text)?,
            None => Snapshot::read(io::stdin().lock())?,
        };
        let warnings = snapshot.warnings();
        if self.strict && !warnings.is_empty() {
            return Err(AssignError::Strict(warnings.join("; ")).into());
        }
        warnings.iter().for_each(warn);
        let bank = snapshot.bank()?;
        let mut calls: BTreeMap<&str, Vec<Vec<bool>>> = BTreeMap::new();
        let mut ids = Vec::new();
        for (id, cab) in snapshot.cars() {
            let row = |&cab: &bool| {
                if self.include_cab { vec![false, false, cab] } else { vec![false, false] }
            };
            calls.insert(id, cab.iter().map(row).collect());
            ids.push(id);
        }
        for (call, car) in bank.assign(&self.rules()) {
            let rows = ids.get(car).and_then(|id| calls.get_mut(id));
            let column = match call.direction {
                Direction::Up => 0,
                Direction::Down => 1,
            };
            let row = rows.and_then(|rows| rows.get_mut(usize::from(call.floor.index())));
            if let Some(lit) = row.and_then(|row| row.get_mut(column)) {
                *lit = true;
            }
        }
        let text = serde_json::to_string(&calls).map_err(AssignError::Json)?;
        Ok(output::print(&format!("{text}\n"))?)
    }

    fn rules(&self) -> Rules {
        Rules {
            travel: Duration::from_millis(self.travel_duration),
            door_open: Duration::from_millis(self.door_open_duration),
            clearing: match self.clear_request_type {
                ClearRequestType::All => Clearing::All,
                ClearRequestType::InDirn => Clearing::InDirection,
            },
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
