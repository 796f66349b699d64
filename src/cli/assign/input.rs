//! The JSON input of `liftmesh assign`.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::io::Read;

use elevator_driver::Direction;
use elevator_fleet::dispatch::one_shot::{Bank, BankError, Behaviour, Car};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::AssignError;

/// Cars and calls as the course's program takes them. Unknown keys are ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with hallRequests and states")]
pub(super) struct Snapshot {
    hall_requests: Vec<Row>,
    states: States,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// The cars by id, and what was tolerated in them.
#[derive(Debug)]
struct States {
    cars: BTreeMap<String, State>,
    warnings: Vec<String>,
}

/// The hall requests of a floor: up, down.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Vec<bool>")]
struct Row([bool; 2]);

#[derive(Debug, thiserror::Error)]
#[error("a floor in hallRequests has {0} values, but must have 2: up and down")]
struct RowError(usize);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct State {
    #[serde(with = "BehaviourForm")]
    behaviour: Behaviour,
    floor: i64,
    direction: DirectionForm,
    cab_requests: Vec<bool>,
}

#[derive(Deserialize)]
#[serde(remote = "Behaviour", rename_all = "camelCase")]
enum BehaviourForm {
    Idle,
    Moving,
    DoorOpen,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum DirectionForm {
    Up,
    Down,
    Stop,
}

impl Snapshot {
    /// Parses a text that is a snapshot and nothing else.
    pub(super) fn parse(text: &str) -> Result<Self, AssignError> {
        if text.trim().is_empty() {
            return Err(AssignError::Empty);
        }
        serde_json::from_str(text).map_err(AssignError::Json)
    }

    /// Reads a snapshot, up to its end and no further: who wrote it may wait for the answer before
    /// closing the pipe.
    pub(super) fn read(input: impl Read) -> Result<Self, AssignError> {
        let mut input = serde_json::Deserializer::from_reader(input);
        Self::deserialize(&mut input).map_err(|error| match error.classify() {
            serde_json::error::Category::Io => AssignError::Read(error.into()),
            serde_json::error::Category::Eof if error.line() <= 1 && error.column() == 0 => {
                AssignError::Empty
            }
            serde_json::error::Category::Eof
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Data => AssignError::Json(error),
        })
    }

    /// The id and the cab requests of each car, in the order of [`Snapshot::bank`].
    pub(super) fn cars(&self) -> impl Iterator<Item = (&str, &[bool])> {
        self.states.cars.iter().map(|(id, state)| (id.as_str(), state.cab_requests.as_slice()))
    }

    /// What was tolerated, in words.
    pub(super) fn warnings(&self) -> Vec<String> {
        let unknown = self.unknown.keys().map(|key| format!("unknown key {key:?} is ignored"));
        unknown.chain(self.states.warnings.iter().cloned()).collect()
    }

    #[cfg(feature = "fuzzing")]
    pub(super) fn asked(&self) -> std::collections::BTreeSet<(u8, Direction)> {
        let of_floor = |(floor, row): (usize, &Row)| {
            let floor = u8::try_from(floor).unwrap_or(u8::MAX);
            let calls = [(row.0[0], Direction::Up), (row.0[1], Direction::Down)];
            calls.into_iter().filter(|(is_asked, _)| *is_asked).map(move |(_, way)| (floor, way))
        };
        self.hall_requests.iter().enumerate().flat_map(of_floor).collect()
    }

    pub(super) fn bank(&self) -> Result<Bank, AssignError> {
        let cars: Vec<_> = self.states.cars.values().map(State::car).collect();
        let hall_calls: Vec<_> = self.hall_requests.iter().map(|row| row.0).collect();
        Bank::new(&hall_calls, &cars).map_err(|error| match error {
            BankError::NoCars => AssignError::NoStates,
            BankError::Floors(_) => AssignError::Floors(self.hall_requests.len()),
            BankError::Car { car, problem } => AssignError::State {
                id: self.states.cars.keys().nth(car).cloned().unwrap_or_default(),
                problem,
            },
        })
    }
}

impl TryFrom<Vec<bool>> for Row {
    type Error = RowError;

    fn try_from(values: Vec<bool>) -> Result<Self, RowError> {
        values.try_into().map(Self).map_err(|values: Vec<bool>| RowError(values.len()))
    }
}

impl State {
    fn car(&self) -> Car {
        Car {
            behaviour: self.behaviour,
            floor: self.floor,
            direction: match self.direction {
                DirectionForm::Up => Some(Direction::Up),
                DirectionForm::Down => Some(Direction::Down),
                DirectionForm::Stop => None,
            },
            car_calls: self.cab_requests.clone(),
        }
    }
}

/// An error names the car, and no id may be there twice.
impl<'de> Deserialize<'de> for States {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Cars;

        impl<'de> Visitor<'de> for Cars {
            type Value = States;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with a car per id")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut states = States { cars: BTreeMap::new(), warnings: Vec::new() };
                while let Some((id, mut value)) = map.next_entry::<String, Value>()? {
                    let warn = |what| states.warnings.push(format!("states.{id}: {what}"));
                    tolerate(&mut value, warn);
                    let state = State::deserialize(value)
                        .map_err(|error| Error::custom(format_args!("states.{id}: {error}")))?;
                    match states.cars.entry(id) {
                        Entry::Vacant(entry) => entry.insert(state),
                        Entry::Occupied(entry) => {
                            let id = entry.key();
                            return Err(Error::custom(format_args!("duplicate car states.{id}")));
                        }
                    };
                }
                Ok(states)
            }
        }

        input.deserialize_map(Cars)
    }
}

/// Makes of a car what the course's program takes it for.
fn tolerate(car: &mut Value, mut warn: impl FnMut(String)) {
    let Value::Object(keys) = car else {
        return;
    };
    keys.retain(|key, _| {
        let is_known = ["behaviour", "floor", "direction", "cabRequests"].contains(&key.as_str());
        if !is_known {
            warn(format!("unknown key {key:?} is ignored"));
        }
        is_known
    });
    if let Some(floor) = keys.get_mut("floor")
        && let Some(number) = floor.as_str().and_then(|text| text.parse::<i64>().ok())
    {
        warn(format!("floor {floor} is read as {number}"));
        *floor = number.into();
    }
    for (key, usual) in [("behaviour", "idle"), ("direction", "stop")] {
        if !keys.contains_key(key) {
            warn(format!("{key} is missing, {usual} is assumed"));
            keys.insert(key.to_owned(), usual.into());
        }
    }
}

#[cfg(test)]
mod tests;
