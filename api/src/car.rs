//! A car in the API.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use elevator_driver::{Alarm, Direction, DoorState, Floor};
use elevator_fleet::json::PhaseForm;
use elevator_fleet::model::{CarPhase, CarView, Counters, FloorSet, Mode, NodeId, Reason, Wear};
use elevator_fleet::node::Status;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::estimate::{Flights, Motion};
use super::{rounded, seconds, views};

/// How long a peer may be silent before the data of its car count as old.
const HEARD: Duration = Duration::from_secs(1);

/// A car, as the node that answers knows it. Floors count from 0, times are in seconds.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Car {
    /// The car's name, the same as its node's.
    #[schema(value_type = String, example = "A")]
    pub car: NodeId,
    #[schema(value_type = String, example = "A")]
    pub node: NodeId,
    /// Whether hall calls may be assigned to it.
    pub in_service: bool,
    /// Why not.
    #[schema(value_type = Option<String>, example = "door blocked")]
    pub unavailable: Option<Reason>,
    /// Where it is, or the last floor it passed; null until it has found one.
    #[schema(value_type = Option<String>)]
    pub floor: Option<Floor>,
    /// The estimated position in floors above the lowest, computed from the kinematics between two
    /// sensors. Null if it can't be estimated.
    pub position: Option<f64>,
    /// The estimated speed in floors a second, negative downwards, 0 at rest.
    pub speed: f64,
    #[serde(with = "PhaseForm")]
    #[schema(value_type = PhaseForm)]
    pub phase: CarPhase,
    /// How long it has been in this phase.
    pub elapsed: f64,
    /// The direction in which it collects calls; null if it may turn either way.
    #[schema(value_type = Option<String>, example = "up")]
    pub direction: Option<Direction>,
    /// Load in per cent of the rated load; null without a load cell.
    pub load: Option<u8>,
    #[schema(value_type = String, example = "in-service")]
    pub mode: Mode,
    /// The mode set by an operator; null if none was set. The car's key switch, a priority
    /// call, emergency power or a fire recall may be more restrictive.
    #[schema(value_type = Option<String>, example = "in-service")]
    pub mode_set: Option<Mode>,
    /// The floor of its priority call; null if it has none.
    #[schema(value_type = Option<String>)]
    pub priority: Option<Floor>,
    /// The session of the robot using it; null if there is none.
    #[schema(example = "5bd1e99500c0ffee00c0ffee")]
    pub session: Option<String>,
    /// `closed`, `opening`, `open` or `closing`.
    #[schema(value_type = String, example = "closed")]
    pub door: DoorState,
    /// `off`; `sent`, when somebody in the car has pressed the alarm button; or `acknowledged`, when
    /// an operator has answered, until the door next closes.
    #[serde(default)]
    #[schema(value_type = String, example = "off")]
    pub alarm: Alarm,
    /// The floors at which it stops.
    #[schema(value_type = Vec<String>, example = json!(["G", "1"]))]
    pub serves: Vec<Floor>,
    /// Those of them that it does not serve for now.
    #[schema(value_type = Vec<String>)]
    pub locked_out: Vec<Floor>,
    /// Whether its node was heard within the last second.
    pub heard: bool,
    /// What it has done since counting began, for its maintenance; null for the car of another
    /// node.
    #[serde(default)]
    pub counters: Option<Counters>,
    /// Which of these have reached their threshold for maintenance.
    #[serde(default)]
    pub maintenance_due: BTreeSet<Wear>,
    lift_state: LiftState,
}

/// The fields of Open-RMF's `rmf_lift_msgs/LiftState`, with its constants.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
struct LiftState {
    lift_time: LiftTime,
    lift_name: String,
    available_floors: Vec<String>,
    /// Empty until the car has found a floor.
    current_floor: String,
    /// Empty while the car has no next stop.
    destination_floor: String,
    /// 0 closed, 1 moving, 2 open.
    door_state: u8,
    /// 0 stopped, 1 up, 2 down, 3 unknown.
    motion_state: u8,
    /// The possible values of `current_mode`.
    available_modes: Vec<u8>,
    /// 1 human, 2 AGV, 3 fire, 4 offline, 5 emergency.
    current_mode: u8,
    /// The session of the robot using the car; empty if there is none.
    session_id: String,
}

/// A time of the wall clock.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
struct LiftTime {
    sec: u64,
    nanosec: u32,
}

impl Car {
    /// Every car that is known, the own one first.
    pub(crate) fn all(status: &Status, flights: &Flights, at: SystemTime) -> Vec<Self> {
        let cars = views(status).map(|(node, view)| {
            let own = status.car.as_ref().filter(|_| *node == status.node);
            let peer = status.peers.iter().find(|peer| peer.node == *node);
            // Between two floors at rest: only the node itself knows.
            let lies_between = own.is_some_and(|car| car.at.is_none());
            let door = own.map_or_else(|| door_of(view.phase), |car| car.door);
            let mut motion = flights.motion(node, view);
            if lies_between && !matches!(view.phase, CarPhase::Moving { .. }) {
                motion = Motion::UNKNOWN;
            }
            let Motion { position, speed } = motion;
            let mut serves: FloorSet = status.building.floors().floors().collect();
            for floor in status.building.unserved(node.as_str()) {
                serves.remove(floor);
            }
            let session = status.sessions().find(|session| session.car() == Some(node));
            let session = session.map(|session| session.id.to_string());
            Self {
                car: node.clone(),
                node: node.clone(),
                in_service: view.is_in_service(),
                unavailable: view.reason(),
                floor: view.floor,
                position: position.map(rounded),
                speed: rounded(speed),
                phase: view.phase,
                elapsed: seconds(view.elapsed),
                direction: view.direction,
                load: view.load,
                mode: view.mode,
                mode_set: status.mode_set(node),
                priority: status.priority(node).map(|call| call.floor),
                session: session.clone(),
                door,
                alarm: status.alarm(node),
                serves: serves.iter().collect(),
                locked_out: serves.iter().filter(|it| view.locked_out.contains(*it)).collect(),
                heard: peer.is_none_or(|peer| peer.silent <= HEARD),
                counters: own.map(|car| car.counters.clone()),
                maintenance_due: own.map(|car| car.maintenance_due.clone()).unwrap_or_default(),
                lift_state: LiftState::new(node, view, door, session, status, at),
            }
        });
        cars.collect()
    }
}

/// The door, where only the phase is known.
fn door_of(phase: CarPhase) -> DoorState {
    match phase {
        CarPhase::Idle | CarPhase::Moving { .. } | CarPhase::Homing => DoorState::Closed,
        CarPhase::Opening => DoorState::Opening,
        CarPhase::Open => DoorState::Open,
        CarPhase::Closing => DoorState::Closing,
    }
}

impl LiftState {
    const HUMAN: u8 = 1;
    const AGV: u8 = 2;
    const FIRE: u8 = 3;
    const OFFLINE: u8 = 4;
    const EMERGENCY: u8 = 5;

    const MODES: [u8; 5] = [Self::HUMAN, Self::AGV, Self::FIRE, Self::OFFLINE, Self::EMERGENCY];

    fn new(
        node: &NodeId,
        view: &CarView,
        door: DoorState,
        session: Option<String>,
        status: &Status,
        at: SystemTime,
    ) -> Self {
        let now = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let text = |floor: Option<Floor>| floor.map_or_else(String::new, |floor| floor.to_string());
        let (motion_state, destination) = motion_state(view.phase);
        Self {
            lift_time: LiftTime { sec: now.as_secs(), nanosec: now.subsec_nanos() },
            lift_name: node.to_string(),
            available_floors: status
                .building
                .floors()
                .floors()
                .filter(|floor| !view.locked_out.contains(*floor))
                .map(|floor| floor.to_string())
                .collect(),
            current_floor: text(view.floor),
            destination_floor: text(destination),
            door_state: door_state(door),
            motion_state,
            available_modes: Self::MODES.to_vec(),
            current_mode: current_mode(
                view,
                session.is_some() && status.priority(node).is_none(),
                status.is_on_emergency_power(),
            ),
            session_id: session.unwrap_or_default(),
        }
    }
}

fn door_state(door: DoorState) -> u8 {
    match door {
        DoorState::Closed => 0,
        DoorState::Opening | DoorState::Closing => 1,
        DoorState::Open => 2,
    }
}

/// And the floor of its stop.
fn motion_state(phase: CarPhase) -> (u8, Option<Floor>) {
    match phase {
        CarPhase::Moving { direction: Direction::Up, stop_at, .. } => (1, Some(stop_at)),
        CarPhase::Moving { direction: Direction::Down, stop_at, .. } => (2, Some(stop_at)),
        CarPhase::Homing => (3, None),
        CarPhase::Idle | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => (0, None),
    }
}

/// `is_session`: the car goes where a robot wants. `emergency`: the building runs on emergency
/// power; the beacons of other nodes call it out of service.
fn current_mode(view: &CarView, is_session: bool, emergency: bool) -> u8 {
    match view.mode {
        Mode::FireRecall | Mode::FireService => LiftState::FIRE,
        Mode::EmergencyPower => LiftState::EMERGENCY,
        Mode::OutOfService if emergency => LiftState::EMERGENCY,
        // As which other nodes know it.
        Mode::Priority | Mode::Independent if is_session => LiftState::AGV,
        Mode::InService | Mode::Attendant if view.is_in_service() => LiftState::HUMAN,
        Mode::InService
        | Mode::Attendant
        | Mode::Priority
        | Mode::Independent
        | Mode::OutOfService => LiftState::OFFLINE,
    }
}

#[cfg(test)]
mod tests {
    use elevator_fleet::model::{Availability, Unavailable};

    use super::*;
    use crate::tests::{floor, view};

    /// The constants of `rmf_lift_msgs/LiftState`.
    #[test]
    fn doors_and_motion_have_the_values_of_open_rmf() {
        let doors = [DoorState::Closed, DoorState::Opening, DoorState::Closing, DoorState::Open];
        assert_eq!(doors.map(door_state), [0, 1, 1, 2]);
        let moving =
            |direction| CarPhase::Moving { direction, stop_at: floor(3), next_stop: floor(2) };
        for (phase, state) in [
            (moving(Direction::Up), (1, Some(floor(3)))),
            (moving(Direction::Down), (2, Some(floor(3)))),
            (CarPhase::Homing, (3, None)),
            (CarPhase::Idle, (0, None)),
        ] {
            assert_eq!(motion_state(phase), state, "{phase:?}");
        }
    }

    #[test]
    fn modes_have_the_values_of_open_rmf() {
        use LiftState as Is;
        assert_eq!(LiftState::MODES, [1, 2, 3, 4, 5]);
        let sound = Availability::InService;
        let broken = Availability::Unavailable(Unavailable::DoorBlocked);
        for (mode, availability, is_session, emergency, expected) in [
            (Mode::InService, sound, false, false, Is::HUMAN),
            (Mode::Attendant, sound, false, false, Is::HUMAN),
            (Mode::InService, broken, false, false, Is::OFFLINE),
            (Mode::Priority, broken, false, false, Is::OFFLINE),
            (Mode::OutOfService, broken, false, false, Is::OFFLINE),
            (Mode::EmergencyPower, broken, false, true, Is::EMERGENCY),
            // Of another node's car.
            (Mode::OutOfService, broken, false, true, Is::EMERGENCY),
            // It is this car's turn to serve.
            (Mode::InService, sound, false, true, Is::HUMAN),
            (Mode::FireRecall, broken, false, true, Is::FIRE),
            (Mode::FireService, broken, false, false, Is::FIRE),
            (Mode::Priority, broken, true, false, Is::AGV),
            (Mode::Independent, broken, true, false, Is::AGV),
            (Mode::OutOfService, broken, true, false, Is::OFFLINE),
            (Mode::FireRecall, broken, true, false, Is::FIRE),
        ] {
            let view = CarView { mode, availability, ..view(CarPhase::Idle, 0) };
            let is = current_mode(&view, is_session, emergency);
            assert_eq!(is, expected, "{mode} {availability:?} {is_session} {emergency}");
        }
    }
}
