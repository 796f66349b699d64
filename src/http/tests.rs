use std::time::{Duration, SystemTime};

use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Call, HallCall, NodeId};
use liftmesh_api::{Flights, State, id_of};
use serde_json::json;

use crate::operator::tests::full_status;

fn state() -> serde_json::Value {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
    serde_json::to_value(State::new(&full_status(), &Flights::new(Kinematics::default()), at))
        .unwrap()
}

#[test]
fn the_fleet_has_the_node_itself_first() {
    let state = state();
    let fleet = &state["fleet"];
    let status = full_status();
    assert_eq!(fleet["at"], "1970-01-01T00:00:01.500Z");
    assert_eq!(fleet["node"], status.node.as_str());
    assert_eq!(fleet["nodes"][0]["self"], true);
    assert_eq!(fleet["nodes"].as_array().unwrap().len(), 1 + status.peers.len());
}

#[test]
fn an_order_is_named_by_its_call() {
    let floor = |index| elevator_driver::Floor::try_from(index).unwrap();
    let hall = HallCall::new(floor(3), elevator_driver::Direction::Up);
    assert_eq!(id_of(&Call::Hall(hall)), "hall-3-up");
    assert_eq!(id_of(&Call::Hall(HallCall::to(floor(0), floor(3)).unwrap())), "destination-0-3");
    let car = NodeId::new("A").unwrap();
    assert_eq!(id_of(&Call::Car { car, floor: floor(5) }), "car-A-5");
}

#[test]
fn a_lift_state_has_every_field_of_open_rmf() {
    let state = state();
    let lift = state["cars"][0]["lift_state"].as_object().unwrap();
    let names: Vec<_> = lift.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "available_floors",
            "available_modes",
            "current_floor",
            "current_mode",
            "destination_floor",
            "door_state",
            "lift_name",
            "lift_time",
            "motion_state",
            "session_id",
        ]
    );
    assert_eq!(lift["lift_time"], json!({"sec": 1, "nanosec": 500_000_000}));
}
