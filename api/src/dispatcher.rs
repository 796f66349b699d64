//! The lines between a bank and a program that dispatches (`docs/DISPATCHERS.md`): beside a node,
//! in the lab, and in a page.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Building, Direction, Entrance, Floor, Side};
use elevator_fleet::dispatch::{
    Assignments, Bank, CarSituation, HallDemand, Kinematics, Predictor,
};
use elevator_fleet::model::{CarPhase, HallCall, NodeId};
use serde::{Deserialize, Serialize};

const VERSION: u64 = 1;

/// What a fault quotes of a line.
const QUOTED: usize = 80;

/// Why a line of a program can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("it speaks version {0} of the protocol, not {VERSION}")]
    Version(u64),
    #[error("{line:?} is not what it should answer: {error}")]
    Malformed { line: String, error: String },
    #[error("it answered plan {0} instead of the latest")]
    OtherPlan(u64),
    #[error("it names the call {0:?}, which was not asked for")]
    UnknownCall(String),
    #[error("it gives {call} to {car:?}, which is not among the call's `cars`")]
    Unfit { call: String, car: String },
}

#[derive(Serialize)]
struct Hello<'a> {
    version: u64,
    floors: Vec<FloorForm<'a>>,
    motion: Motion,
}

#[derive(Serialize)]
struct FloorForm<'a> {
    floor: &'a str,
    height_m: f64,
}

#[derive(Serialize)]
struct Motion {
    speed_m_s: f64,
    acceleration_m_s2: f64,
    jerk_m_s3: f64,
    door_opening_s: f64,
    door_closing_s: f64,
    dwell_s: f64,
    transfer_s: f64,
}

/// The first line.
#[must_use]
pub fn hello(building: &Building, kinematics: &Kinematics) -> String {
    let floors = building.landings().iter().map(|landing| FloorForm {
        floor: &landing.label,
        height_m: f64::from(landing.height) / 1_000.0,
    });
    line(&Hello {
        version: VERSION,
        floors: floors.collect(),
        motion: Motion {
            speed_m_s: kinematics.rated_speed,
            acceleration_m_s2: kinematics.acceleration,
            jerk_m_s3: kinematics.jerk,
            door_opening_s: kinematics.door_opening.as_secs_f64(),
            door_closing_s: kinematics.door_closing.as_secs_f64(),
            dwell_s: kinematics.dwell.as_secs_f64(),
            transfer_s: kinematics.transfer.as_secs_f64(),
        },
    })
}

#[derive(Deserialize)]
struct Greeting {
    version: u64,
}

/// Whether a program greets as it should.
///
/// # Errors
/// [`Fault::Malformed`] or [`Fault::Version`].
pub fn check_greeting(line: &str) -> Result<(), Fault> {
    match parsed::<Greeting>(line)? {
        Greeting { version: VERSION } => Ok(()),
        Greeting { version } => Err(Fault::Version(version)),
    }
}

/// What a program is asked for each plan.
#[derive(Debug, Serialize)]
pub struct Request<'a> {
    plan: u64,
    time_s: f64,
    cars: Vec<CarForm<'a>>,
    calls: Vec<CallForm<'a>>,
}

#[derive(Debug, Serialize)]
struct CarForm<'a> {
    car: &'a str,
    in_service: bool,
    /// Where it is, or which it last passed.
    floor: Option<&'a str>,
    moving: Option<String>,
    /// Where it stops next, and the nearest floor at which it still can.
    stop_at: Option<&'a str>,
    next_stop: Option<&'a str>,
    /// In which direction it collects calls.
    direction: Option<String>,
    door: &'static str,
    /// How long it has been doing so.
    phase_s: f64,
    load_percent: Option<u8>,
    /// Its car calls.
    stops: Vec<&'a str>,
    /// Where it can stop.
    floors: Vec<&'a str>,
}

#[derive(Debug, Serialize)]
struct CallForm<'a> {
    call: String,
    floor: &'a str,
    side: Side,
    direction: String,
    to: Option<&'a str>,
    age_s: f64,
    /// The car that it has.
    car: Option<&'a str>,
    /// The cars that can serve it.
    cars: Vec<&'a str>,
}

#[derive(Deserialize)]
struct Answer {
    plan: u64,
    cars: BTreeMap<String, Option<String>>,
}

impl<'a> Request<'a> {
    #[must_use]
    pub fn new(plan: u64, bank: &Bank<'a>, building: &'a Building) -> Self {
        Self {
            plan,
            time_s: seconds(bank.now.since_start()),
            cars: bank.cars.iter().map(|car| CarForm::new(car, building)).collect(),
            calls: bank.demand.iter().map(|it| CallForm::new(it, bank.cars, building)).collect(),
        }
    }

    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }

    /// The assignments of an answer, and the longest wait of a call that has no car although one
    /// could serve it.
    ///
    /// # Errors
    /// No plan can be made of the answer.
    pub fn read(&self, answer: &str, bank: &Bank<'_>) -> Result<(Assignments, Duration), Fault> {
        let mut answer: Answer = parsed(answer)?;
        if answer.plan != self.plan {
            return Err(Fault::OtherPlan(answer.plan));
        }
        let mut assignments = Assignments::new();
        let mut left_open = Duration::ZERO;
        for (form, demand) in self.calls.iter().zip(bank.demand) {
            let chosen = answer.cars.remove(&form.call).flatten().filter(|car| car != "none");
            let kept = form.car.filter(|car| demand.call.to.is_some() && form.cars.contains(car));
            let Some(car) = kept.map(str::to_owned).or(chosen) else {
                if !form.cars.is_empty() {
                    left_open = left_open.max(demand.waited);
                }
                continue;
            };
            let is_fit = |it: &&CarSituation| it.car.as_str() == car;
            let found = bank.cars.iter().find(is_fit).filter(|_| form.cars.contains(&car.as_str()));
            let Some(found) = found else {
                return Err(Fault::Unfit { call: form.call.clone(), car });
            };
            assignments.insert(demand.call, found.car.clone());
        }
        match answer.cars.into_keys().next() {
            Some(unknown) => Err(Fault::UnknownCall(unknown)),
            None => Ok((assignments, left_open)),
        }
    }
}

impl<'a> CarForm<'a> {
    fn new(situation: &'a CarSituation, building: &'a Building) -> Self {
        let CarSituation { car, view, car_calls } = situation;
        let label = |floor| building.label(floor).unwrap_or_default();
        let moving = match view.phase {
            CarPhase::Moving { direction, stop_at, next_stop } => {
                Some((direction, label(stop_at), label(next_stop)))
            }
            CarPhase::Idle
            | CarPhase::Homing
            | CarPhase::Opening
            | CarPhase::Open
            | CarPhase::Closing => None,
        };
        let stops_at = |floor: &Floor| {
            let reached = |at: &Entrance| view.reaches(HallCall::at(*at, Direction::Up));
            building.entrances().filter(|at| at.floor == *floor).any(|at| reached(&at))
        };
        Self {
            car: car.as_str(),
            in_service: Predictor::can_serve(view),
            floor: view.floor.map(label),
            moving: moving.map(|(direction, ..)| direction.to_string()),
            stop_at: moving.map(|(_, stop_at, _)| stop_at),
            next_stop: moving.map(|(.., next_stop)| next_stop),
            direction: view.direction.map(|direction: Direction| direction.to_string()),
            door: match view.phase {
                CarPhase::Idle | CarPhase::Moving { .. } | CarPhase::Homing => "closed",
                CarPhase::Opening => "opening",
                CarPhase::Open => "open",
                CarPhase::Closing => "closing",
            },
            phase_s: seconds(view.elapsed),
            load_percent: view.load,
            stops: car_calls.iter().map(|floor| label(*floor)).collect(),
            floors: building.floors().floors().filter(stops_at).map(label).collect(),
        }
    }
}

impl<'a> CallForm<'a> {
    fn new(demand: &'a HallDemand, cars: &'a [CarSituation], building: &'a Building) -> Self {
        let HallCall { floor, direction, to, side } = demand.call;
        let label = |floor| building.label(floor).unwrap_or_default();
        let fit = |car: &&CarSituation| Predictor::can_serve(&car.view) && demand.suits(&car.view);
        let prefix = if side == Side::Rear { "rear-" } else { "" };
        Self {
            call: match to {
                Some(to) => format!("destination-{}-{}", label(floor), label(to)),
                None => format!("{prefix}hall-{}-{direction}", label(floor)),
            },
            floor: label(floor),
            side,
            direction: direction.to_string(),
            to: to.map(label),
            age_s: seconds(demand.waited),
            car: demand.assigned.as_ref().map(NodeId::as_str),
            cars: cars.iter().filter(fit).map(|car| car.car.as_str()).collect(),
        }
    }
}

fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

fn parsed<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, Fault> {
    serde_json::from_str(line).map_err(|error| Fault::Malformed {
        line: line.chars().take(QUOTED).collect(),
        error: error.to_string(),
    })
}

/// To the millisecond.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}
