//! What is alike on every node: `[mesh]`, `[climate]`.

use super::Key;
use super::KeyDefault::Value;
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "mesh.beacon_period",
        Kind::time(5, 5_000),
        Value("25 ms"),
        "Between two beacons. At most a quarter of `dead_after`.",
    ),
    Key::new(
        "mesh.beacon_gap",
        Kind::time(1, 5_000),
        Value("4 ms"),
        "Between two beacons that are sent because of news. At most `beacon_period`.",
    ),
    Key::new(
        "mesh.probe_after",
        Kind::time(5, 30_000),
        Value("60 ms"),
        "A peer that was silent for so long is probed. Between `beacon_period` and `dead_after`.",
    ),
    Key::new(
        "mesh.probe_period",
        Kind::time(1, 5_000),
        Value("10 ms"),
        "Between two probes. Below `dead_after`.",
    ),
    Key::new(
        "mesh.dead_after",
        Kind::time(50, 60_000),
        Value("200 ms"),
        "A peer of which nothing arrived for so long counts as dead.",
    ),
    Key::new(
        "mesh.repair_after",
        Kind::time(10, 60_000),
        Value("250 ms"),
        "A difference between two stores that stands for so long is repaired. Longer than \
         `beacon_period`.",
    ),
    Key::new(
        "mesh.redial_after",
        Kind::time(1, 60_000),
        Value("50 ms"),
        "After a failed dial the next one waits for this, doubled at each further one up to eight \
         times as long, with jitter.",
    ),
    Key::new(
        "climate.poll_period",
        Kind::time(100, 600_000),
        Value("1 s"),
        "How often the coordinator asks every unit for what its sensors read, where its protocol \
         does not by itself.",
    ),
    Key::new(
        "climate.gather_time",
        Kind::time(1, 10_000),
        Value("20 ms"),
        "How long the coordinator waits for the answers before it tells the indicators what to \
         show. Below `poll_period`.",
    ),
    Key::new(
        "climate.reading_limit",
        Kind::time(200, 3_600_000),
        Value("5 s"),
        "A reading of this age is unknown. At least twice `poll_period`.",
    ),
    Key::new(
        "climate.display_limit",
        Kind::time(200, 3_600_000),
        Value("5 s"),
        "An average of this age is unknown to an indicator. At least twice `poll_period`.",
    ),
    Key::new(
        "climate.brightness_least",
        Kind::Whole(1, 255),
        Value("30"),
        "The indicators' backlight in the dark. At most `brightness_most`.",
    ),
    Key::new(
        "climate.brightness_most",
        Kind::Whole(1, 255),
        Value("255"),
        "The indicators' backlight in full light, and while no illuminance is known.",
    ),
    Key::new(
        "climate.brightness_smoothing",
        Kind::time(0, 600_000),
        Value("3 s"),
        "In about this time the backlight comes half of the way to what suits the light.",
    ),
    Key::new(
        "climate.display_utc_offset",
        Kind::Whole(-840, 840),
        Value("0"),
        "What the indicators' time of day is ahead of UTC, in minutes.",
    ),
];
