//! Every key of the configuration, once: its meaning, type, range and default, in the order of the
//! example file, and below each table how its values relate to others.
//!
//! A key is a row of `table!`:
//!
//! ```text
//! /// What it means, in which unit, and how it relates to other keys.
//! dwell: Time<1_000, 30_000> = Value("3 s"),
//! ```
//!
//! Its type is one of `value.rs` and its default a [`KeyDefault`](super::KeyDefault). A table fills
//! a type of the brain or the driver, or declares a `struct` where several share its keys; a field
//! that is not named like its key is written `field as key`.

use super::check::{Checker, Share, TimeRule};
use super::key::Table;

/// One table (`_`: the keys that are in none), for a type that has the fields, or with a `struct`
/// that is declared here.
macro_rules! table {
    ($(#[doc = $about:literal])* [$table:tt] struct $Fields:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $Type:ty = $default:expr,)+
    }) => {
        #[derive(Debug)]
        pub(in crate::config) struct $Fields {
            $(pub(in crate::config) $field: <$Type as $crate::config::value::KeyType>::Value,)+
        }

        table! {
            $(#[doc = $about])* [$table] $Fields {
                $($(#[doc = $doc])+ $field: $Type = $default,)+
            }
        }
    };
    ($(#[doc = $about:literal])* [$table:tt] $Fields:path {
        $($(#[doc = $doc:literal])+ $field:ident $(as $key:ident)?: $Type:ty = $default:expr,)+
        $(..$others:expr)?
    }) => {
        impl $crate::config::tables::Fields for $Fields {
            const TABLE: $crate::config::Table = $crate::config::Table {
                name: stringify!($table),
                about: concat!($($about),*).trim_ascii(),
                keys: &[$($crate::config::Key {
                    path: path!([$table] $field $($key)?),
                    kind: <$Type as $crate::config::value::KeyType>::KIND,
                    default: $default,
                    about: concat!($($doc),+).trim_ascii(),
                }),+],
            };

            fn read(check: &Checker<'_>) -> Self {
                Self {
                    $($field: check.value::<$Type>(path!([$table] $field $($key)?)),)+
                    $(..$others)?
                }
            }
        }
    };
}

/// The path of a key.
macro_rules! path {
    ([$table:tt] $field:ident $key:ident) => { path!([$table] $key) };
    ([_] $key:ident) => { stringify!($key) };
    ([$table:tt] $key:ident) => { concat!(stringify!($table), ".", stringify!($key)) };
}

mod alerts;
mod car;
mod elections;
mod fleet;
mod host;
mod mqtt;
mod node;

pub(super) use self::car::car_settings;
pub(super) use self::elections::election;

/// What a table's keys become.
pub(super) trait Fields {
    const TABLE: Table;

    /// Takes every value; the errors are in the checker.
    fn read(check: &Checker<'_>) -> Self;
}

macro_rules! tables {
    ($($name:ident: $Fields:ty,)+) => {
        /// The values of every table.
        #[derive(Debug)]
        pub(super) struct Tables {
            $(pub(super) $name: $Fields,)+
        }

        impl Tables {
            /// Takes every value; the errors are in the checker.
            pub(super) fn read(check: &Checker<'_>) -> Self {
                Self { $($name: Fields::read(check),)+ }
            }
        }

        /// Every table, in the order of the example file; one may be in several parts.
        pub(crate) const TABLES: &[Table] = &[$(<$Fields as Fields>::TABLE),+];
    };
}

tables! {
    node: node::Node,
    door: car::Door,
    kinematics: elevator_fleet::dispatch::Kinematics,
    motion: car::Motion,
    service: car::Service,
    maintenance: elevator_fleet::car::Maintenance,
    dispatch: super::DispatchSettings,
    mesh: elevator_fleet::node::MeshTimes,
    climate: elevator_fleet::climate::ClimateSettings,
    lowest_ip: elections::LowestIp,
    bully_presets: elections::BullyPresets,
    bully: elevator_fleet::election::bully::Settings,
    senior_presets: elections::SeniorPresets,
    senior: elevator_fleet::election::senior::Settings,
    ballot_presets: elections::BallotPresets,
    ballot: elevator_fleet::election::ballot::Settings,
    packets: crate::mesh::PacketSettings,
    token_ring_presets: elections::TokenRingPresets,
    token_ring: elevator_fleet::election::token_ring::Settings,
    operator: host::Operator,
    http: host::Http,
    mqtt: mqtt::Mqtt,
    alerts: alerts::Alerts,
    panel_line: elevator_driver::LineSettings,
    log: crate::log::LogSettings,
}

const AT_MOST: &str = "at most";
const AT_LEAST: &str = "at least";
const BELOW: &str = "below";
const LONGER: &str = "longer than";
const ONCE: Share = (1.0, "");
const TWICE: Share = (2.0, "twice ");

/// How times relate to others. All of them are checked under every protocol, so that a mistake is
/// found before the protocol is chosen.
const TIMES: &[TimeRule] = &[
    ("door.nudge_after", LONGER, TWICE, "door.dwell"),
    ("door.blocked_after", LONGER, ONCE, "door.nudge_after"),
    ("door.travel_limit", LONGER, ONCE, "motion.door_opening"),
    ("door.travel_limit", LONGER, ONCE, "motion.door_closing"),
    ("mesh.beacon_period", AT_MOST, (0.25, "a quarter of "), "mesh.dead_after"),
    ("mesh.beacon_gap", AT_MOST, ONCE, "mesh.beacon_period"),
    ("mesh.probe_after", AT_MOST, ONCE, "mesh.dead_after"),
    ("mesh.probe_after", AT_LEAST, ONCE, "mesh.beacon_period"),
    ("mesh.probe_period", AT_MOST, ONCE, "mesh.dead_after"),
    ("mesh.repair_after", LONGER, ONCE, "mesh.beacon_period"),
    ("climate.gather_time", BELOW, ONCE, "climate.poll_period"),
    ("climate.reading_limit", AT_LEAST, TWICE, "climate.poll_period"),
    ("climate.display_limit", AT_LEAST, TWICE, "climate.poll_period"),
    ("bully.ask_again", AT_MOST, ONCE, "bully.answer_wait"),
    ("bully.head_start", AT_MOST, ONCE, "bully.answer_wait"),
    ("bully.answer_wait", AT_MOST, ONCE, "bully.coordinator_wait"),
    ("senior.request_period", AT_MOST, (0.5, "half of "), "senior.master_loss"),
    ("ballot.lost_after", AT_LEAST, TWICE, "ballot.control_period"),
    ("ballot.lost_after", LONGER, ONCE, "ballot.round"),
    ("token_ring.t", LONGER, ONCE, "token_ring.acknowledgement_wait"),
    ("panel_line.silence_limit", AT_LEAST, (3.0, "three times "), "panel_line.heartbeat"),
];

impl Tables {
    /// Checks every value beside the others; the errors are in the checker.
    pub(super) fn relate(&self, check: &Checker<'_>) {
        for rule in TIMES {
            check.compare(rule);
        }
        node::relate(self, check);
        car::relate(self, check);
        fleet::relate(self, check);
        elections::relate(self, check);
        host::relate(self, check);
        mqtt::relate(self, check);
        alerts::relate(self, check);
    }
}
