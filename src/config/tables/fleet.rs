//! What concerns the fleet: `[dispatch]`, `[mesh]`, `[climate]`.

use elevator_driver::{Floor, FloorCount};
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::Schedule;
use elevator_fleet::node::MeshTimes;

use super::{Checker, Tables};
use crate::config::DispatchSettings;
use crate::config::key::KeyDefault::Value;
use crate::config::value::{Time, Whole};
use crate::dispatcher::Choice;

table! {
    /// How this node assigns hall calls to cars while it is master. It may differ between the nodes
    /// of a fleet.
    [dispatch] DispatchSettings {
        /// How hall calls are assigned. `planner`: the least waiting and riding of known and
        /// expected passengers, and idle cars are parked where calls are likely. `collective`: the
        /// least squared times of known passengers. `nearest-car` and `time-to-idle`: two classic
        /// rules, for comparison. Only `planner` parks cars. `exec:` and a command, such as
        /// `exec:/usr/local/bin/mine.py`: a program of your own (docs/DISPATCHERS.md); `planner` does
        /// its work whenever it fails.
        strategy: Choice = Value("planner"),
        /// How long such a program may take for a plan.
        program_limit: Time<1, 1_000> = Value("20 ms"),
        /// How many passengers a car holds at the rated load. From this and the load, `planner`
        /// learns how many board.
        capacity: Whole<u8, 1, 100> = Value("13"),
        /// How long this node's car rests idle with its door closed before it drives to where the
        /// master wants it to wait. A passenger who has just boarded can press a button meanwhile.
        park_after: Time<0, 600_000> = Value("2 s"),
        /// Where idle cars wait at certain times of the week, under any strategy. Entries `DAYS
        /// FROM-TO park FLOORS [cars NUMBER]`, separated by semicolons, in the local time of the
        /// master's computer. `mon-fri 07:00-09:30 park 0` sends every idle car to the lobby for
        /// the up-peak, `daily 22:00-06:00 park 0 8 cars 2` two at night to floors 0 and 8. If
        /// several entries apply, the last one wins; an end at or before the start is on the next
        /// day. The same on every node.
        schedule: Schedule = Value(""),
    }
}

table! {
    /// The times of the mesh. They suit a LAN with some loss and jitter; the same on every node.
    [mesh] MeshTimes {
        /// The time between two beacons. At most a quarter of `dead_after`.
        beacon_period: Time<5, 5_000> = Value("25 ms"),
        /// The minimum time between two beacons that are sent because of changes. At most
        /// `beacon_period`.
        beacon_gap: Time<1, 5_000> = Value("4 ms"),
        /// How long a peer may be silent before it is probed. Between `beacon_period` and
        /// `dead_after`.
        probe_after: Time<5, 30_000> = Value("60 ms"),
        /// The time between two probes. Below `dead_after`.
        probe_period: Time<1, 5_000> = Value("10 ms"),
        /// How long a peer may be silent before it counts as dead.
        dead_after: Time<50, 60_000> = Value("200 ms"),
        /// How long a difference between two stores may last before it is repaired. Longer than
        /// `beacon_period`.
        repair_after: Time<10, 60_000> = Value("250 ms"),
        /// How long to wait after a failed dial, doubled with each further one, up to eight times
        /// as long, with jitter.
        redial_after: Time<1, 60_000> = Value("50 ms"),
    }
}

table! {
    /// What the climate sensors measure and the indicators show; the same on every node.
    [climate] ClimateSettings {
        /// How often the master asks every node for its sensor readings, unless its protocol does
        /// so by itself.
        poll_period: Time<100, 600_000> = Value("1 s"),
        /// How long the master waits for the answers before it tells the indicators what to
        /// show. Below `poll_period`.
        gather_time: Time<1, 10_000> = Value("20 ms"),
        /// The age at which a reading becomes unknown. At least twice `poll_period`.
        reading_limit: Time<200, 3_600_000> = Value("5 s"),
        /// The age at which an indicator treats an average as unknown. At least twice
        /// `poll_period`.
        display_limit: Time<200, 3_600_000> = Value("5 s"),
        /// The indicators' backlight in the dark. At most `brightness_most`.
        brightness_least: Whole<u8, 1, 255> = Value("30"),
        /// The indicators' backlight in full light, and while no illuminance is known.
        brightness_most: Whole<u8, 1, 255> = Value("255"),
        /// How far the indicators' time of day is ahead of UTC, in minutes.
        utc_offset as display_utc_offset: Whole<i16, -840, 840> = Value("0"),
    }
}

pub(super) fn relate(Tables { climate, dispatch, node, .. }: &Tables, check: &Checker<'_>) {
    let schedule = &dispatch.schedule;
    let top = node.floors.map_or(Floor::MAX, FloorCount::top);
    check.relate(
        schedule.top().is_none_or(|highest| highest <= top),
        &["dispatch.schedule", "floors"],
        format_args!("of floors from 0 to {top}"),
    );
    let covered = schedule.covered();
    check.relate(
        covered.is_none(),
        &["dispatch.schedule"],
        format_args!(
            "without an entry that later ones always override, such as `{}`",
            covered.as_deref().unwrap_or_default()
        ),
    );
    check.relate(
        climate.brightness_least <= climate.brightness_most,
        &["climate.brightness_least", "climate.brightness_most"],
        format_args!("at most brightness_most = {}", climate.brightness_most),
    );
}
