//! The JSON input of `liftmesh assign`.

use std::collections::BTreeMap;
use std::io::Read;

use elevator_driver::Direction;
use elevator_fleet::dispatch::one_shot::{Bank, BankError, Behaviour, Car};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::AssignError;

#[derive(Debug, Deserialize)]
#[serde(try_from = "Input")]
pub(super) struct Snapshot {
    /// The hall requests of each floor: up, down.
    hall_requests: Vec<[bool; 2]>,
    states: BTreeMap<String, Car>,
    /// What was tolerated, in words.
    pub(super) warnings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with hallRequests and states")]
struct Input {
    hall_requests: Vec<Vec<bool>>,
    states: BTreeMap<String, Value>,
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("a floor in hallRequests has {0} values, but must have 2: up and down")]
    Row(usize),
    #[error("states.{0}: {1}")]
    State(String, serde_json::Error),
}

#[derive(Deserialize)]
#[serde(remote = "Car")]
struct CarForm {
    #[serde(with = "BehaviourForm")]
    behaviour: Behaviour,
    floor: i64,
    #[serde(deserialize_with = "direction")]
    direction: Option<Direction>,
    #[serde(rename = "cabRequests")]
    car_calls: Vec<bool>,
}

#[derive(Deserialize)]
#[serde(remote = "Behaviour", rename_all = "camelCase")]
enum BehaviourForm {
    Idle,
    Moving,
    DoorOpen,
}

#[derive(Deserialize)]
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

    /// Reads a snapshot, and no further: who wrote it may wait for the answer.
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
        self.states.iter().map(|(id, car)| (id.as_str(), car.car_calls.as_slice()))
    }

    #[cfg(feature = "fuzzing")]
    pub(super) fn asked(&self) -> std::collections::BTreeSet<(u8, Direction)> {
        let of_floor = |(floor, row): (usize, &[bool; 2])| {
            let floor = u8::try_from(floor).unwrap_or(u8::MAX);
            let calls = [(row[0], Direction::Up), (row[1], Direction::Down)];
            calls.into_iter().filter(|(is_asked, _)| *is_asked).map(move |(_, way)| (floor, way))
        };
        self.hall_requests.iter().enumerate().flat_map(of_floor).collect()
    }

    pub(super) fn bank(&self) -> Result<Bank, AssignError> {
        let cars: Vec<_> = self.states.values().cloned().collect();
        Bank::new(&self.hall_requests, &cars).map_err(|error| match error {
            BankError::NoCars => AssignError::NoStates,
            BankError::Floors(_) => AssignError::Floors(self.hall_requests.len()),
            BankError::Car { car, problem } => AssignError::State {
                id: self.states.keys().nth(car).cloned().unwrap_or_default(),
                problem,
            },
        })
    }
}

impl TryFrom<Input> for Snapshot {
    type Error = InputError;

    fn try_from(Input { hall_requests, states, unknown }: Input) -> Result<Self, InputError> {
        let mut warnings: Vec<_> =
            unknown.keys().map(|key| format!("unknown key {key:?} is ignored")).collect();
        let mut state = |(id, mut value): (String, Value)| {
            tolerate(&mut value, |what| warnings.push(format!("states.{id}: {what}")));
            match CarForm::deserialize(value) {
                Ok(state) => Ok((id, state)),
                Err(error) => Err(InputError::State(id, error)),
            }
        };
        let row = |row: Vec<bool>| row.try_into().map_err(|row: Vec<_>| InputError::Row(row.len()));
        let hall_requests = hall_requests.into_iter().map(row).collect::<Result<_, _>>()?;
        let states = states.into_iter().map(&mut state).collect::<Result<_, _>>()?;
        Ok(Self { hall_requests, states, warnings })
    }
}

fn direction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
    Ok(match DirectionForm::deserialize(from)? {
        DirectionForm::Up => Some(Direction::Up),
        DirectionForm::Down => Some(Direction::Down),
        DirectionForm::Stop => None,
    })
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
