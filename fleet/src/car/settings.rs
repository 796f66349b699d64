use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Building, Direction, Entrance, Floor, FloorCount, Side};

use crate::dispatch::{self, Kinematics};
use crate::model::{FloorSet, Shut, Wear};

/// The settings of a car: its shaft, its times and its limits. `config/node.toml` has the ranges.
///
/// Every time has to be longer than the round trip of the line to the panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarSettings {
    pub floors: FloorCount,
    /// The floors at which the car never stops.
    pub unserved: FloorSet,
    /// Which of its doors opens at an entrance. It opens at no others.
    pub doors: BTreeMap<Entrance, Side>,
    pub shut: Shut,
    /// The heights of the floors above the lowest, in mm.
    pub heights: Vec<u32>,
    /// How long the door stays open after the last reason, and between both directions of a turn.
    pub dwell: Duration,
    /// How long presses and obstructions may keep the door open in all; longer than two `dwell`s.
    pub nudge_after: Duration,
    /// How long an obstruction or an overload may hold the door before the car leaves the group;
    /// longer than `nudge_after`, so that nudging gets its chance.
    pub door_blocked_after: Duration,
    /// How long the door may take to open or close before the car leaves the group.
    pub door_travel_limit: Duration,
    /// How long a flight over the longest storey takes, from rest to rest. Until the car has learned
    /// its own times, one that takes half as long again for each floor is overdue.
    pub nominal_flight: Duration,
    /// How long the motor may be driven without a new floor, over all tries, before the car counts
    /// as hung (F9), and how long it may be driven on when it is told to stop; the time from rest
    /// to rest over the longest two adjacent storeys, for a sensor may be dead, plus a margin.
    pub flight_limit: Duration,
    /// The same while the car looks for a floor; three times the tallest floor at creeping speed
    /// plus a margin, for a dead sensor at the end of the shaft.
    pub homing_limit: Duration,
    /// How long the drive may take to report that it runs. Past it the car is stopped for
    /// `drive_retry` and out of the group; this is not a hang.
    pub drive_start_limit: Duration,
    /// The first back-off after a fault of the drive; doubled each further time up to 5 minutes.
    pub drive_retry: Duration,
    /// How long the car has to be at rest after an unplanned stop, before it moves or opens.
    pub settle: Duration,
    /// How long a floor at which the car could not be located is locked out.
    pub unreachable_retry: Duration,
    pub recall_floor: Floor,
    /// Where to look for a floor after a start between two.
    pub home_direction: Direction,
    /// How long an idle car rests with its door closed before it drives to where the master wants
    /// it to wait, so that a passenger who has just boarded can press a button.
    pub park_after: Duration,
    /// How long the door stays open for a priority call, unless somebody presses a car button.
    pub priority_stay: Duration,
    /// From this load on, in per cent of the rated load, a car with car calls passes hall calls by.
    pub bypass_load: u8,
    /// From this load on, in per cent of the rated load, the car stays with its door open.
    pub overload: u8,
    /// How long the car rests empty with its door closed before its light and fan go off.
    pub light_off_after: Duration,
    /// Whether a second press of a lit car button cancels its call while the car is at rest.
    pub cancel_car_calls: bool,
    pub maintenance: Maintenance,
}

/// From which count on the car is due for maintenance; `None`: never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maintenance {
    pub starts: Option<u64>,
    pub door_cycles: Option<u64>,
    pub hours: Option<u64>,
}

impl Maintenance {
    pub(super) fn of(self, wear: Wear) -> Option<u64> {
        match wear {
            Wear::Starts => self.starts,
            Wear::DoorCycles => self.door_cycles,
            Wear::Hours => self.hours,
        }
    }
}

impl CarSettings {
    pub const BYPASS_LOAD: u8 = dispatch::BYPASS_LOAD;

    /// A car may carry its rated load, and a scale is not exact.
    pub const OVERLOAD: u8 = 110;

    #[must_use]
    pub fn new(floors: FloorCount) -> Self {
        Self {
            floors,
            unserved: FloorSet::default(),
            doors: floors.floors().map(|floor| (floor.into(), Side::Front)).collect(),
            shut: Shut::default(),
            heights: Building::from(floors).heights(),
            dwell: Duration::from_secs(3),
            nudge_after: Duration::from_secs(20),
            door_blocked_after: Duration::from_secs(30),
            door_travel_limit: Duration::from_secs(10),
            nominal_flight: Kinematics::default().travel(1),
            flight_limit: Duration::from_secs(10),
            homing_limit: Duration::from_mins(1),
            drive_start_limit: Duration::from_secs(5),
            drive_retry: Duration::from_secs(10),
            settle: Duration::from_millis(500),
            unreachable_retry: Duration::from_mins(1),
            recall_floor: Floor::BOTTOM,
            home_direction: Direction::Down,
            park_after: Duration::from_secs(2),
            priority_stay: Duration::from_secs(30),
            bypass_load: Self::BYPASS_LOAD,
            overload: Self::OVERLOAD,
            light_off_after: Duration::from_mins(5),
            cancel_car_calls: false,
            maintenance: Maintenance::default(),
        }
    }

    /// Those of a car in this building, by its name.
    #[must_use]
    pub fn of(building: &Building, car: &str) -> Self {
        let door = |entrance| Some((entrance, building.door(car, entrance)?));
        Self {
            unserved: building.unserved(car).collect(),
            doors: building.entrances().filter_map(door).collect(),
            shut: Shut::of(building, car),
            heights: building.heights(),
            ..Self::new(building.floors())
        }
    }

    /// The entrance of a floor that the car serves; of two, the front one.
    pub(super) fn entrance(&self, floor: Floor) -> Option<Entrance> {
        let entrances = Side::BOTH.map(|side| Entrance { floor, side });
        entrances.into_iter().find(|entrance| self.doors.contains_key(entrance))
    }

    /// The entrances of a floor at which this door of the car opens.
    pub(super) fn entrances(&self, floor: Floor, door: Side) -> impl Iterator<Item = Entrance> {
        let entrances = Side::BOTH.map(|side| Entrance { floor, side });
        entrances.into_iter().filter(move |it| self.doors.get(it) == Some(&door))
    }

    /// The way between two floors, in mm.
    pub(super) fn way(&self, from: Floor, to: Floor) -> u64 {
        let [from, to] = [from, to].map(|floor| self.heights.get(usize::from(floor.index())));
        from.zip(to).map_or(0, |(from, to)| u64::from(from.abs_diff(*to)))
    }
}

impl Default for CarSettings {
    fn default() -> Self {
        FloorCount::new(4).map_or_else(|| unreachable!("a shaft may have 4 floors"), Self::new)
    }
}
