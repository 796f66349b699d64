//! The node's car: `[door]`, `[motion]`, `[service]`.

use super::Key;
use super::KeyDefault::{Absent, Value};
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "door.dwell",
        Kind::time(1_000, 30_000),
        Value("3 s"),
        "How long the door stays open, from fully open or from the last reason to keep it open.",
    ),
    Key::new(
        "door.nudge_after",
        Kind::time(2_000, 300_000),
        Value("20 s"),
        "How long presses and obstructions may keep the door open altogether before it nudges. \
         Longer than two times `dwell`.",
    ),
    Key::new(
        "door.blocked_after",
        Kind::time(3_000, 600_000),
        Value("30 s"),
        "How long an obstruction or an overload may hold the door before the car leaves the group. \
         Longer than `nudge_after`, so that nudging gets its chance.",
    ),
    Key::new(
        "door.travel_limit",
        Kind::time(1_000, 120_000),
        Value("10 s"),
        "How long the door may take for one way before the car leaves the group. Longer than \
         `door_opening` and `door_closing`; two or three times what a sound door takes.",
    ),
    Key::new(
        "motion.floor_height",
        Kind::number(1.0, 50.0, "m"),
        Value("3.0"),
        "From one floor to the next; the tallest, where they differ.",
    ),
    Key::new(
        "motion.rated_speed",
        Kind::number(0.1, 20.0, "m/s"),
        Value("1.6"),
        "The highest speed.",
    ),
    Key::new(
        "motion.acceleration",
        Kind::number(0.1, 3.0, "m/s²"),
        Value("1.0"),
        "The highest acceleration and deceleration.",
    ),
    Key::new(
        "motion.jerk",
        Kind::number(0.1, 10.0, "m/s³"),
        Value("1.6"),
        "The highest rate at which the acceleration changes.",
    ),
    Key::new(
        "motion.door_opening",
        Kind::time(100, 60_000),
        Value("1500 ms"),
        "How long the door takes from closed to fully open.",
    ),
    Key::new(
        "motion.door_closing",
        Kind::time(100, 60_000),
        Value("1500 ms"),
        "How long the door takes from fully open to closed.",
    ),
    Key::new(
        "motion.transfer",
        Kind::time(100, 30_000),
        Value("1 s"),
        "How long one passenger takes to board or to get off.",
    ),
    Key::new(
        "motion.flight_margin",
        Kind::time(100, 60_000),
        Value("4 s"),
        "What is added to the time from rest to rest over two floors, as the numbers above make it, \
         to give `flight_limit`. Two floors, because the sensor of one may be dead.",
    ),
    Key::new(
        "motion.flight_limit",
        Kind::time(500, 300_000),
        Absent("from `flight_margin`", "10 s"),
        "How long the motor may be driven without a new floor, over all tries, before the car counts \
         as hung. Longer than the time from rest to rest over one floor; unless it is longer than \
         over two, a dead sensor on the way counts as a hang. A car that takes clearly longer than \
         it ever took gives its hall calls to others well before that. A motor that is driven on \
         for so long although it was told to stop counts as hung as well.",
    ),
    Key::new(
        "motion.homing_limit",
        Kind::time(1_000, 600_000),
        Value("60 s"),
        "The same limit while the car looks for a floor, at creeping speed. Three times the tallest \
         floor plus a margin, because the sensor at the end of the shaft may be dead.",
    ),
    Key::new(
        "motion.drive_start_limit",
        Kind::time(500, 60_000),
        Value("5 s"),
        "How long the drive may take to report that it runs before the car leaves the group for \
         `drive_retry`.",
    ),
    Key::new(
        "motion.drive_retry",
        Kind::time(1_000, 600_000),
        Value("10 s"),
        "How long a car whose drive did not start, or stopped short, keeps away from it before it \
         tries again. Doubled with each further time, up to 5 minutes.",
    ),
    Key::new(
        "motion.settle",
        Kind::time(50, 10_000),
        Value("500 ms"),
        "How long the car has to be seen at rest after a stop that was not planned, before it moves \
         or opens. Longer than the panel line's round trip.",
    ),
    Key::new(
        "motion.unreachable_retry",
        Kind::time(1_000, 3_600_000),
        Value("60 s"),
        "How long a floor at which the car could not be located is left out.",
    ),
    Key::new(
        "motion.home_direction",
        Kind::Direction,
        Value("down"),
        "Where to look for a floor after a start between two.",
    ),
    Key::new(
        "service.recall_floor",
        Kind::Floor,
        Value("0"),
        "Where the car goes on fire recall, counted from 0 at the bottom. Below `floors`.",
    ),
    Key::new(
        "service.bypass_load",
        Kind::Percent,
        Value("80"),
        "From this load on, in per cent of the rated load, a car with cab calls passes hall calls \
         by. Below `overload`.",
    ),
    Key::new(
        "service.overload",
        Kind::Percent,
        Value("100"),
        "From this load on, in per cent of the rated load, the door stays open and the car does not \
         leave.",
    ),
];
