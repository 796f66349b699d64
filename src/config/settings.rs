//! A valid configuration.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

use elevator_driver::{Floor, FloorCount, LineSettings, PanelUrl};
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::coordination::ElectionSettings;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{FleetName, Mac, NodeId, Role};
use elevator_fleet::node::{Identity, MeshTimes, NodeSettings, Restored};
use elevator_fleet::wire::Nonce;

use super::check::Checker;
use super::relation::{at_most, human, longer};
use super::{ConfigError, elections, kind};
use crate::log::LogFilter;
use crate::mesh::PacketSettings;
use crate::operator::ReadingSettings;

/// The configuration of one node: every value in its range, and right beside the others.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The fleet.
    pub fleet: FleetName,
    /// The node, and its car where it has one.
    pub node: NodeId,
    /// What the node is there for.
    pub role: Role,
    /// The node's own address.
    pub address: Ipv4Addr,
    /// The address of the interface, unless the interface is to be asked.
    pub mac: Option<Mac>,
    /// Where beacons go; never 255.255.255.255.
    pub broadcast: SocketAddrV4,
    /// Where the node listens for links.
    pub link_port: u16,
    /// Where the panel is. A cabin has one.
    pub panel: Option<PanelUrl>,
    /// The floors of the shaft.
    pub floors: FloorCount,
    /// The directory of the journal and of the operator's socket.
    pub data_dir: PathBuf,
    /// How the coordinator is elected.
    pub election: ElectionSettings,
    /// Where packets are sent and received, under a protocol that has a port of its own.
    pub packets: Option<PacketSettings>,
    /// How the car behaves, if there is one.
    pub car_settings: CarSettings,
    /// How the cars move.
    pub kinematics: Kinematics,
    /// The mesh's times.
    pub mesh: MeshTimes,
    /// How the climate is measured and shown.
    pub climate: ClimateSettings,
    /// The panel line's times.
    pub panel_line: LineSettings,
    /// The socket on which operators may only read.
    pub reading: Option<ReadingSettings>,
    /// The log.
    pub log: LogSettings,
    /// Whether an operator may break things; no key of the configuration allows it.
    pub faults: FaultInjection,
}

/// Whether faults may be injected over the operator's socket: for demo and tests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultInjection {
    /// As in every building.
    Refused,
    /// The node was started with `--allow-faults`.
    Allowed,
}

/// What is logged, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Which lines.
    pub filter: LogFilter,
    /// How it looks.
    pub format: LogFormat,
}

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For the system's journal where standard error leads there, for people otherwise.
    Auto,
    /// With times and, on a terminal, colours.
    Human,
    /// With neither, and with priorities, for the system's journal.
    Journal,
    /// A JSON object a line.
    Json,
}

impl Settings {
    /// What the brain needs of it, with what is only known at the start: the interface's address,
    /// the life of the process, what stood on disk, and a seed.
    #[must_use]
    pub fn brain(&self, mac: Mac, nonce: Nonce, restored: Restored, seed: u64) -> NodeSettings {
        NodeSettings {
            identity: Identity {
                fleet: self.fleet.clone(),
                node: self.node.clone(),
                address: self.address,
                mac,
                role: self.role,
                link_port: self.link_port,
                nonce,
            },
            election: self.election.clone(),
            floors: self.floors,
            mesh: self.mesh,
            car: (self.role == Role::Cabin).then(|| self.car_settings.clone()),
            climate: self.climate,
            restored,
            seed,
        }
    }

    /// Takes every value and checks the relations; the errors are in the checker.
    pub(super) fn check(check: &Checker<'_>) -> Self {
        let address = check.required("address", kind::address);
        let broadcast = broadcast(check, address);
        let floors = check.required("floors", kind::floors);
        let election = elections::election(check);
        let kinematics = kinematics(check);
        let (role, node) = unit(check);
        Self {
            fleet: check.required("fleet", |text| FleetName::new(text).ok()),
            node,
            role,
            address,
            mac: check.optional("mac", kind::mac),
            broadcast,
            link_port: check
                .optional("link_port", kind::port)
                .unwrap_or(broadcast.port()),
            panel: match role {
                Role::Cabin if check.is_usable("role") => {
                    Some(check.required("panel", kind::panel))
                }
                Role::Cabin | Role::ControlUnit | Role::Indicator => {
                    check.optional("panel", kind::panel)
                }
            },
            floors,
            data_dir: check.required("data_dir", |text| Some(PathBuf::from(text))),
            packets: elections::packets(check, broadcast, &election),
            election,
            car_settings: car(check, floors, &kinematics),
            kinematics,
            mesh: mesh(check),
            climate: climate(check),
            panel_line: panel_line(check),
            reading: reading(check),
            log: LogSettings {
                filter: check.required("log.filter", kind::filter),
                format: check.required("log.format", kind::format),
            },
            faults: FaultInjection::Refused,
        }
    }
}

/// The role, and the name under the key that goes with it.
fn unit(check: &Checker<'_>) -> (Role, NodeId) {
    let role = check.required("role", kind::role);
    let (key, other, why) = match role {
        Role::Cabin => ("car", "unit", "absent, as the role is cabin: give car"),
        Role::ControlUnit | Role::Indicator => {
            ("unit", "car", "absent, as the role has no car: give unit")
        }
    };
    if check.is_given(other) {
        check.refuse_relation(other, &["role"], why.to_owned());
    }
    // Which of the two has to be given, only the role tells.
    let name = if check.is_usable("role") && (check.is_given(key) || !check.is_given(other)) {
        check.required(key, kind::name)
    } else {
        check
            .optional(key, kind::name)
            .or_else(|| check.optional(other, kind::name))
            .unwrap_or_else(|| check.stand_in("car", kind::name))
    };
    (role, name)
}

fn broadcast(check: &Checker<'_>, address: Ipv4Addr) -> SocketAddrV4 {
    let broadcast = check.required("broadcast", kind::broadcast);
    if broadcast.ip().is_broadcast() {
        let (value, origin) = check.written("broadcast");
        check.refuse("broadcast", ConfigError::LimitedBroadcast { origin, value });
    }
    let alike = broadcast.ip().is_loopback() == address.is_loopback();
    if !alike && !broadcast.ip().is_multicast() {
        let network = if address.is_loopback() {
            format!("127.255.255.255 with a port, as address is {address}")
        } else {
            format!("a broadcast address of the LAN of address = {address}")
        };
        check.refuse_relation("broadcast", &["address"], network);
    }
    broadcast
}

fn reading(check: &Checker<'_>) -> Option<ReadingSettings> {
    let path = check.optional("operator.read_only_socket", |text| {
        Some(PathBuf::from(text))
    });
    let group = check.optional("operator.read_only_group", kind::group);
    if path.is_none() && group.is_some() {
        let relation = "absent, as read_only_socket is: give both".to_owned();
        let socket = "operator.read_only_socket";
        check.refuse_relation("operator.read_only_group", &[socket], relation);
    }
    path.map(|path| ReadingSettings { path, group })
}

fn kinematics(check: &Checker<'_>) -> Kinematics {
    let number = |path| check.required(path, kind::number);
    let time = |path| check.required(path, kind::time);
    Kinematics {
        floor_height: number("motion.floor_height"),
        rated_speed: number("motion.rated_speed"),
        acceleration: number("motion.acceleration"),
        jerk: number("motion.jerk"),
        door_opening: time("motion.door_opening"),
        door_closing: time("motion.door_closing"),
        dwell: time("door.dwell"),
        transfer: time("motion.transfer"),
    }
}

fn car(check: &Checker<'_>, floors: FloorCount, kinematics: &Kinematics) -> CarSettings {
    let time = |path| check.required(path, kind::time);
    let settings = CarSettings {
        floors,
        dwell: kinematics.dwell,
        nudge_after: time("door.nudge_after"),
        door_blocked_after: time("door.blocked_after"),
        door_travel_limit: time("door.travel_limit"),
        nominal_flight: kinematics.slowest_flight(),
        flight_limit: flight_limit(check, kinematics),
        homing_limit: time("motion.homing_limit"),
        drive_start_limit: time("motion.drive_start_limit"),
        drive_retry: time("motion.drive_retry"),
        settle: time("motion.settle"),
        unreachable_retry: time("motion.unreachable_retry"),
        recall_floor: recall_floor(check, floors),
        home_direction: check.required("motion.home_direction", kind::direction),
        bypass_load: check.required("service.bypass_load", kind::percent),
        overload: check.required("service.overload", kind::percent),
    };
    longer(
        check,
        ("door.nudge_after", settings.nudge_after),
        (&["door.dwell"], "two times dwell", settings.dwell * 2),
    );
    longer(
        check,
        ("door.blocked_after", settings.door_blocked_after),
        (&["door.nudge_after"], "nudge_after", settings.nudge_after),
    );
    let slowest_door = kinematics.door_opening.max(kinematics.door_closing);
    longer(
        check,
        ("door.travel_limit", settings.door_travel_limit),
        (
            &["motion.door_opening", "motion.door_closing"],
            "door_opening and door_closing",
            slowest_door,
        ),
    );
    if settings.bypass_load >= settings.overload {
        let relation = format!("below overload = {}", settings.overload);
        check.refuse_relation("service.bypass_load", &["service.overload"], relation);
    }
    settings
}

/// What the time of a flight depends on.
const MOTION: &[&str] = &[
    "motion.floor_height",
    "motion.rated_speed",
    "motion.acceleration",
    "motion.jerk",
];

fn flight_limit(check: &Checker<'_>, kinematics: &Kinematics) -> Duration {
    let margin: Duration = check.required("motion.flight_margin", kind::time);
    let flight = kinematics.slowest_flight();
    let Some(limit) = check.optional("motion.flight_limit", kind::time) else {
        // The sensor of one may be dead.
        return kinematics.travel(2) + margin;
    };
    longer(
        check,
        ("motion.flight_limit", limit),
        (MOTION, "the time from rest to rest over one floor", flight),
    );
    limit
}

fn recall_floor(check: &Checker<'_>, floors: FloorCount) -> Floor {
    let floor = check.required("service.recall_floor", kind::floor);
    if !floors.contains(floor) {
        let relation = format!("below floors = {}", floors.get());
        check.refuse_relation("service.recall_floor", &["floors"], relation);
    }
    floor
}

fn mesh(check: &Checker<'_>) -> MeshTimes {
    let time = |name: &str| check.required(name, kind::time);
    let times = MeshTimes {
        beacon_period: time("mesh.beacon_period"),
        beacon_gap: time("mesh.beacon_gap"),
        probe_after: time("mesh.probe_after"),
        probe_period: time("mesh.probe_period"),
        dead_after: time("mesh.dead_after"),
        repair_after: time("mesh.repair_after"),
        redial_after: time("mesh.redial_after"),
    };
    let (beacon, dead) = (times.beacon_period, times.dead_after);
    let dead_after = ("mesh.dead_after", "dead_after", dead);
    for (path, time, most) in [
        (
            "mesh.beacon_period",
            beacon,
            ("mesh.dead_after", "dead_after / 4", dead / 4),
        ),
        (
            "mesh.beacon_gap",
            times.beacon_gap,
            ("mesh.beacon_period", "beacon_period", beacon),
        ),
        ("mesh.probe_after", times.probe_after, dead_after),
        ("mesh.probe_period", times.probe_period, dead_after),
    ] {
        at_most(check, (path, time), most);
    }
    if times.probe_after < beacon {
        let relation = format!("at least beacon_period = {}", human(beacon));
        check.refuse_relation("mesh.probe_after", &["mesh.beacon_period"], relation);
    }
    longer(
        check,
        ("mesh.repair_after", times.repair_after),
        (&["mesh.beacon_period"], "beacon_period", beacon),
    );
    times
}

fn climate(check: &Checker<'_>) -> ClimateSettings {
    let time = |path| check.required(path, kind::time);
    let settings = ClimateSettings {
        poll_period: time("climate.poll_period"),
        gather_time: time("climate.gather_time"),
        reading_limit: time("climate.reading_limit"),
        display_limit: time("climate.display_limit"),
        brightness_least: check.required("climate.brightness_least", kind::whole),
        brightness_most: check.required("climate.brightness_most", kind::whole),
        brightness_smoothing: time("climate.brightness_smoothing"),
        utc_offset: check.required("climate.display_utc_offset", kind::whole),
    };
    let poll = settings.poll_period;
    if settings.gather_time >= poll {
        let relation = format!("below poll_period = {}", human(poll));
        check.refuse_relation("climate.gather_time", &["climate.poll_period"], relation);
    }
    for (path, limit) in [
        ("climate.reading_limit", settings.reading_limit),
        ("climate.display_limit", settings.display_limit),
    ] {
        if limit < poll * 2 {
            let relation = format!("at least twice poll_period = {}", human(poll));
            check.refuse_relation(path, &["climate.poll_period"], relation);
        }
    }
    if settings.brightness_least > settings.brightness_most {
        let relation = format!("at most brightness_most = {}", settings.brightness_most);
        let most = "climate.brightness_most";
        check.refuse_relation("climate.brightness_least", &[most], relation);
    }
    settings
}

fn panel_line(check: &Checker<'_>) -> LineSettings {
    let time = |path| check.required(path, kind::time);
    let settings = LineSettings {
        poll: time("panel_line.poll_period"),
        poll_at_rest: time("panel_line.rest_poll_period"),
        reply: time("panel_line.reply_limit"),
        reload_configuration: check.required("panel_line.reload_configuration", kind::switch),
        heartbeat: time("panel_line.heartbeat"),
        silence: time("panel_line.silence_limit"),
        retry: time("panel_line.retry_limit"),
        ..LineSettings::default()
    };
    if settings.silence < settings.heartbeat * 3 {
        let relation = format!(
            "at least three times heartbeat = {}",
            human(settings.heartbeat)
        );
        let heartbeat = "panel_line.heartbeat";
        check.refuse_relation("panel_line.silence_limit", &[heartbeat], relation);
    }
    settings
}
