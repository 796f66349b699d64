//! `liftmesh assign`: the course's `hall_request_assigner`, with plans that are close to the best.

#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod input;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use clap::{Arg, Args, Command, ValueEnum, value_parser};
use elevator_driver::{Direction, FloorCount};
use elevator_fleet::dispatch::one_shot::{CarProblem, Clearing, LONGEST, Rules};

use self::input::Snapshot;
use super::{CommandError, output};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh assign --includeCab --clearRequestType all --travelDuration 2000 < snapshot.json
  echo '{\"hallRequests\": [[true, false], [false, false]],
         \"states\": {\"one\": {\"behaviour\": \"idle\", \"floor\": 1, \"direction\": \"stop\",
                            \"cabRequests\": [false, false]}}}' | liftmesh assign

Reads and writes the JSON of hall_request_assigner, the program of the course TTK4145, and takes the
same options. hallRequests has [up, down] for each floor from 0; behaviour is idle, moving or
doorOpen; direction is up, down or stop. A moving car is assumed to be halfway to the next floor, an
open door halfway through its time. If the input is invalid, the command prints nothing and exits
with 2.

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
        let snapshot = match &self.input {
            Some(text) => Snapshot::parse(text)?,
            None => Snapshot::read(io::stdin().lock())?,
        };
        if self.strict && !snapshot.warnings.is_empty() {
            return Err(AssignError::Strict(snapshot.warnings.join("; ")).into());
        }
        snapshot.warnings.iter().for_each(|warning| warn(warning));
        let columns = if self.include_cab { 3 } else { 2 };
        let rows = |cab: &[bool]| -> Vec<Vec<bool>> {
            cab.iter().map(|&cab| [false, false, cab][..columns].to_vec()).collect()
        };
        let mut calls: Vec<_> = snapshot.cars().map(|(id, cab)| (id, rows(cab))).collect();
        for (call, car) in snapshot.bank()?.assign(&self.rules()) {
            let column = match call.direction {
                Direction::Up => 0,
                Direction::Down => 1,
            };
            calls[car].1[usize::from(call.floor.index())][column] = true;
        }
        let calls: BTreeMap<_, _> = calls.into_iter().collect();
        Ok(output::print(&output::json_line(&calls))?)
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

fn warn(warning: &str) {
    output::remark(&format!("liftmesh: warning: {warning}\n"));
}

/// The words of a command line without the options that `assign` does not know, and the others as
/// it spells them, like the course's program. Warns of each change. `--strict` changes nothing.
pub(crate) fn tolerant(words: Vec<OsString>) -> Vec<OsString> {
    let is_assign = words.get(1).is_some_and(|word| word == "assign");
    if !is_assign || words.iter().any(|word| word == "--strict") {
        return words;
    }
    let known = AssignArgs::augment_args(Command::new("assign"));
    let mut words = words.into_iter();
    let mut kept: Vec<OsString> = words.by_ref().take(2).collect();
    while let Some(word) = words.next() {
        let word = word.to_string_lossy();
        let Some((spelled, takes_next)) = spelled(&known, &word) else {
            warn(&format!("unknown option {word:?} is ignored"));
            continue;
        };
        if spelled != word {
            warn(&format!("option {word:?} is read as {spelled:?}"));
        }
        kept.push(spelled.into());
        kept.extend(takes_next.then(|| words.next()).flatten());
    }
    kept
}

/// An option as this program spells it, and whether the next word is its value.
fn spelled(known: &Command, word: &str) -> Option<(String, bool)> {
    if ["-h", "--help"].contains(&word) {
        return Some((word.to_owned(), false));
    }
    let is_long = word.starts_with("--");
    let end = if is_long { word.find('=') } else { word.char_indices().nth(2).map(|it| it.0) };
    let (name, rest) = word.split_at(end.unwrap_or(word.len()));
    let option = |arg: &Arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        [long, short].into_iter().flatten().find(|option| option.eq_ignore_ascii_case(name))
    };
    let (arg, option) = known.get_arguments().find_map(|arg| Some((arg, option(arg)?)))?;
    let needs_value = arg.get_num_args().is_none_or(|values| values.min_values() > 0);
    let takes_next = rest.is_empty() && needs_value && arg.get_action().takes_values();
    Some((option + rest, takes_next))
}
