//! The node's car: `[door]`, `[motion]`, `[service]`.

use elevator_driver::{Building, Direction, Floor};
use elevator_fleet::car::{CarSettings, Maintenance};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::NodeId;

use super::{Checker, Tables};
use crate::config::check::human;
use crate::config::key::KeyDefault::{Absent, Value};
use crate::config::value::{Acceleration, Count, Height, Jerk, Percent, Speed, Time};

table! {
    /// The door of this node's car.
    [door] struct Door {
        /// How long the door stays open, from fully open or from the last reason to keep it open.
        dwell: Time<1_000, 30_000> = Value("3 s"),
        /// How long presses, the door-open button and obstructions may keep the door open in total
        /// before it nudges. Longer than twice `dwell`.
        nudge_after: Time<2_000, 300_000> = Value("20 s"),
        /// How long an obstruction or an overload may hold the door before the car leaves the
        /// group. Longer than `nudge_after`, so that nudging gets its chance.
        blocked_after: Time<3_000, 600_000> = Value("30 s"),
        /// How long the door may take to open or close before the car leaves the group. Longer than
        /// `door_opening` and `door_closing`; two or three times what a healthy door takes.
        travel_limit: Time<1_000, 120_000> = Value("10 s"),
    }
}

table! {
    /// How the cars move, the same on every node, and how long this node's car may take.
    [motion] Kinematics {
        /// The height of a floor; of the tallest, if they differ.
        floor_height: Height = Value("3.0"),
        /// The highest speed.
        rated_speed: Speed = Value("1.6"),
        /// The highest acceleration and deceleration.
        acceleration: Acceleration = Value("1.0"),
        /// The highest rate at which the acceleration changes.
        jerk: Jerk = Value("1.6"),
        /// How long the door takes from closed to fully open.
        door_opening: Time<100, 60_000> = Value("1500 ms"),
        /// How long the door takes from fully open to closed.
        door_closing: Time<100, 60_000> = Value("1500 ms"),
        /// How long one passenger takes to board or to get off.
        transfer: Time<100, 30_000> = Value("1 s"),
        ..Self::default()
    }
}

table! {
    [motion] struct Motion {
        /// Added to the time from rest to rest over the longest two adjacent storeys, as computed
        /// from the keys above, to give `flight_limit`. Two, because a sensor may be dead.
        flight_margin: Time<100, 60_000> = Value("4 s"),
        /// How long the motor may be driven without a new floor, over all attempts, before the car
        /// counts as hung. Longer than the time from rest to rest over one floor; unless it is
        /// longer than over two, a dead sensor on the way counts as a hang. A car that takes
        /// clearly longer than ever before gives its hall calls to others well before that. A motor
        /// that still runs this long after the command to stop also counts as hung.
        flight_limit: Option<Time<500, 300_000>> = Absent("from `flight_margin`", "10 s"),
        /// The same limit while the car looks for a floor, at creeping speed. Three times the
        /// tallest floor plus a margin, because the sensor at the end of the shaft may be dead.
        homing_limit: Time<1_000, 600_000> = Value("60 s"),
        /// How long the drive may take to report that it runs before the car leaves the group for
        /// `drive_retry`.
        drive_start_limit: Time<500, 60_000> = Value("5 s"),
        /// How long a car leaves alone a drive that did not start, or stopped short, before it
        /// tries again. Doubled each time, up to 5 minutes.
        drive_retry: Time<1_000, 600_000> = Value("10 s"),
        /// How long the car must be seen at rest after an unplanned stop before it moves or opens
        /// its door. Longer than the panel line's round trip.
        settle: Time<50, 10_000> = Value("500 ms"),
        /// How long a floor at which the car could not be located is locked out.
        unreachable_retry: Time<1_000, 3_600_000> = Value("60 s"),
        /// In which direction to look for a floor after a start between two.
        home_direction: Direction = Value("down"),
    }
}

table! {
    /// The service modes of this node's car.
    [service] struct Service {
        /// The label of the floor to which the car goes on fire recall. The car serves it.
        recall_floor: Option<Floor> = Absent("the lowest floor that the car serves", "0"),
        /// How long the door stays open at the floor of a priority call before the car returns to
        /// service, unless somebody presses a button in the car.
        priority_stay: Time<1_000, 600_000> = Value("30 s"),
        /// The load, in per cent of the rated load, at which a car with car calls begins to pass
        /// hall calls. Below `overload`.
        bypass_load: Percent = Value("80"),
        /// The load, in per cent of the rated load, at which the door stays open and the car does
        /// not leave.
        overload: Percent = Value("110"),
        /// How long the car rests empty with its door closed before its light and fan go off.
        light_off_after: Time<10_000, 86_400_000> = Value("5 min"),
        /// Whether a second press of a lit car button cancels its call while the car is at rest and
        /// in service. The call then counts as served.
        cancel_car_calls: bool = Value("false"),
    }
}

table! {
    /// When this node's car is due for maintenance, by its counters since counting began. After
    /// the work, raise the number.
    [maintenance] Maintenance {
        /// After how many starts of the motor.
        starts: Option<Count> = Absent("never", "500000"),
        /// After how many door cycles: closed, fully open, closed.
        door_cycles: Option<Count> = Absent("never", "200000"),
        /// After how many hours of a driven motor.
        hours: Option<Count> = Absent("never", "2000"),
    }
}

/// How the car behaves, if there is one.
pub(in crate::config) fn car_settings(
    tables: &Tables,
    building: &Building,
    name: &NodeId,
) -> CarSettings {
    let Tables { door, kinematics, motion, service, dispatch, .. } = tables;
    let base = CarSettings::of(building, name.as_str());
    let heights = building.heights();
    let lowest = building.floors().floors().find(|floor| !base.unserved.contains(*floor));
    CarSettings {
        dwell: door.dwell,
        nudge_after: door.nudge_after,
        door_blocked_after: door.blocked_after,
        door_travel_limit: door.travel_limit,
        nominal_flight: kinematics.longest_flight(&heights, 1),
        // Over two floors: the sensor of one may be dead.
        flight_limit: motion
            .flight_limit
            .unwrap_or_else(|| kinematics.longest_flight(&heights, 2) + motion.flight_margin),
        homing_limit: motion.homing_limit,
        drive_start_limit: motion.drive_start_limit,
        drive_retry: motion.drive_retry,
        settle: motion.settle,
        unreachable_retry: motion.unreachable_retry,
        recall_floor: service.recall_floor.or(lowest).unwrap_or(Floor::BOTTOM),
        priority_stay: service.priority_stay,
        home_direction: motion.home_direction,
        park_after: dispatch.park_after,
        bypass_load: service.bypass_load,
        overload: service.overload,
        light_off_after: service.light_off_after,
        cancel_car_calls: service.cancel_car_calls,
        maintenance: tables.maintenance,
        ..base
    }
}

pub(super) fn relate(tables: &Tables, check: &Checker<'_>) {
    let Tables { node, kinematics, motion, service, .. } = tables;
    let building = node.building(check, kinematics.floor_height);
    let least = kinematics.longest_flight(&building.heights(), 1);
    let name = node.name(check);
    check.relate(
        motion.flight_limit.is_none_or(|limit| limit > least),
        &[
            "motion.flight_limit",
            "motion.floor_height",
            "motion.rated_speed",
            "motion.acceleration",
            "motion.jerk",
        ],
        format_args!("longer than the time from rest to rest over one floor = {}", human(least)),
    );
    check.relate(
        service.recall_floor.is_none_or(|recall| {
            building.floors().contains(recall)
                && building.unserved(name.as_str()).all(|floor| floor != recall)
        }),
        &["service.recall_floor", "floors"],
        "a floor that the car serves",
    );
    check.relate(
        service.bypass_load < service.overload,
        &["service.bypass_load", "service.overload"],
        format_args!("below overload = {}", service.overload),
    );
}
