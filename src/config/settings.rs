//! A valid configuration.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
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

use super::relation::{at_most, human, longer};
use super::{ConfigError, Effective, elections, kind};
use crate::mesh::PacketSettings;

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
    /// The file of the fleet's key; it could be read when the configuration was checked.
    pub fleet_key_file: Option<PathBuf>,
    /// How the coordinator is elected.
    pub election: ElectionSettings,
    /// Where packets are sent and received, under a protocol that has a port of its own.
    pub packets: Option<PacketSettings>,
    /// Where the web panel listens.
    pub http: Option<SocketAddr>,
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
    /// A filter that `tracing_subscriber::EnvFilter` takes.
    pub filter: String,
    /// How it looks.
    pub format: LogFormat,
}

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// With times and, on a terminal, colours.
    Human,
    /// With neither.
    Journal,
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
            kinematics: self.kinematics,
            restored,
            seed,
        }
    }

    pub(super) fn check(values: &Effective) -> Result<Self, ConfigError> {
        let address = values.required("address", kind::address)?;
        let broadcast = broadcast(values, address)?;
        let floors = values.required("floors", kind::floors)?;
        let election = elections::election(values)?;
        let kinematics = kinematics(values)?;
        let text = |text: &str| Some(PathBuf::from(text));
        let (role, node) = unit(values)?;
        Ok(Self {
            fleet: values.required("fleet", |text| FleetName::new(text).ok())?,
            node,
            role,
            address,
            mac: values.optional("mac", kind::mac)?,
            broadcast,
            link_port: values
                .optional("link_port", kind::port)?
                .unwrap_or(broadcast.port()),
            panel: match role {
                Role::Cabin => Some(values.required("panel", kind::panel)?),
                Role::ControlUnit | Role::Indicator => values.optional("panel", kind::panel)?,
            },
            floors,
            data_dir: values.required("data_dir", text)?,
            fleet_key_file: fleet_key_file(values)?,
            packets: elections::packets(values, broadcast, &election)?,
            election,
            http: values.optional("http", |text| text.parse().ok())?,
            car_settings: car(values, floors, &kinematics)?,
            kinematics,
            mesh: mesh(values)?,
            climate: climate(values)?,
            panel_line: panel_line(values)?,
            log: LogSettings {
                filter: values.required("log.filter", kind::filter)?,
                format: values.required("log.format", kind::format)?,
            },
            faults: FaultInjection::Refused,
        })
    }
}

/// The role, and the name under the key that goes with it.
fn unit(values: &Effective) -> Result<(Role, NodeId), ConfigError> {
    let role = values.required("role", kind::role)?;
    let (key, other, why) = match role {
        Role::Cabin => ("car", "unit", "absent, as the role is cabin: give car"),
        Role::ControlUnit | Role::Indicator => {
            ("unit", "car", "absent, as the role has no car: give unit")
        }
    };
    if values.get(other).is_some() {
        return Err(values.relation(other, why.to_owned()));
    }
    Ok((role, values.required(key, kind::name)?))
}

fn broadcast(values: &Effective, address: Ipv4Addr) -> Result<SocketAddrV4, ConfigError> {
    let broadcast = values.required("broadcast", kind::broadcast)?;
    if broadcast.ip().is_broadcast() {
        let (value, origin) = values.written("broadcast");
        return Err(ConfigError::LimitedBroadcast { origin, value });
    }
    let alike = broadcast.ip().is_loopback() == address.is_loopback();
    if !alike && !broadcast.ip().is_multicast() {
        let network = if address.is_loopback() {
            format!("127.255.255.255 with a port, as address is {address}")
        } else {
            format!("a broadcast address of the LAN of address = {address}")
        };
        return Err(values.relation("broadcast", network));
    }
    Ok(broadcast)
}

fn fleet_key_file(values: &Effective) -> Result<Option<PathBuf>, ConfigError> {
    let path = values.optional("fleet_key_file", |text| Some(PathBuf::from(text)))?;
    if let Some(path) = &path {
        File::open(path).map_err(|source| ConfigError::FleetKey {
            origin: values.written("fleet_key_file").1,
            path: path.clone(),
            source,
        })?;
    }
    Ok(path)
}

fn kinematics(values: &Effective) -> Result<Kinematics, ConfigError> {
    let number = |path| values.required(path, kind::number);
    let time = |path| values.required(path, kind::time);
    Ok(Kinematics {
        floor_height: number("motion.floor_height")?,
        rated_speed: number("motion.rated_speed")?,
        acceleration: number("motion.acceleration")?,
        jerk: number("motion.jerk")?,
        door_opening: time("motion.door_opening")?,
        door_closing: time("motion.door_closing")?,
        dwell: time("door.dwell")?,
        transfer: time("motion.transfer")?,
    })
}

fn car(
    values: &Effective,
    floors: FloorCount,
    kinematics: &Kinematics,
) -> Result<CarSettings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = CarSettings {
        floors,
        dwell: kinematics.dwell,
        nudge_after: time("door.nudge_after")?,
        door_blocked_after: time("door.blocked_after")?,
        door_travel_limit: time("door.travel_limit")?,
        flight_limit: flight_limit(values, kinematics)?,
        homing_limit: time("motion.homing_limit")?,
        drive_start_limit: time("motion.drive_start_limit")?,
        drive_retry: time("motion.drive_retry")?,
        settle: time("motion.settle")?,
        unreachable_retry: time("motion.unreachable_retry")?,
        recall_floor: recall_floor(values, floors)?,
        home_direction: values.required("motion.home_direction", kind::direction)?,
        bypass_load: values.required("service.bypass_load", kind::percent)?,
        overload: values.required("service.overload", kind::percent)?,
    };
    longer(
        values,
        ("door.nudge_after", settings.nudge_after),
        "two times dwell",
        settings.dwell * 2,
    )?;
    longer(
        values,
        ("door.blocked_after", settings.door_blocked_after),
        "nudge_after",
        settings.nudge_after,
    )?;
    let slowest_door = kinematics.door_opening.max(kinematics.door_closing);
    longer(
        values,
        ("door.travel_limit", settings.door_travel_limit),
        "door_opening and door_closing",
        slowest_door,
    )?;
    if settings.bypass_load >= settings.overload {
        let relation = format!("below overload = {}", settings.overload);
        return Err(values.relation("service.bypass_load", relation));
    }
    Ok(settings)
}

fn flight_limit(values: &Effective, kinematics: &Kinematics) -> Result<Duration, ConfigError> {
    let margin: Duration = values.required("motion.flight_margin", kind::time)?;
    let flight = kinematics.slowest_flight();
    let Some(limit) = values.optional("motion.flight_limit", kind::time)? else {
        return Ok(flight + margin);
    };
    longer(
        values,
        ("motion.flight_limit", limit),
        "the time from rest to rest over one floor",
        flight,
    )?;
    Ok(limit)
}

fn recall_floor(values: &Effective, floors: FloorCount) -> Result<Floor, ConfigError> {
    let floor = values.required("service.recall_floor", kind::floor)?;
    if floors.contains(floor) {
        Ok(floor)
    } else {
        let relation = format!("below floors = {}", floors.get());
        Err(values.relation("service.recall_floor", relation))
    }
}

fn mesh(values: &Effective) -> Result<MeshTimes, ConfigError> {
    let time = |name: &str| values.required(name, kind::time);
    let times = MeshTimes {
        beacon_period: time("mesh.beacon_period")?,
        beacon_gap: time("mesh.beacon_gap")?,
        probe_after: time("mesh.probe_after")?,
        probe_period: time("mesh.probe_period")?,
        dead_after: time("mesh.dead_after")?,
        repair_after: time("mesh.repair_after")?,
        redial_after: time("mesh.redial_after")?,
    };
    let (beacon, dead) = (times.beacon_period, times.dead_after);
    for (path, time, most) in [
        ("mesh.beacon_period", beacon, ("dead_after / 4", dead / 4)),
        (
            "mesh.beacon_gap",
            times.beacon_gap,
            ("beacon_period", beacon),
        ),
        ("mesh.probe_after", times.probe_after, ("dead_after", dead)),
        (
            "mesh.probe_period",
            times.probe_period,
            ("dead_after", dead),
        ),
    ] {
        at_most(values, (path, time), most)?;
    }
    if times.probe_after < beacon {
        let relation = format!("at least beacon_period = {}", human(beacon));
        return Err(values.relation("mesh.probe_after", relation));
    }
    longer(
        values,
        ("mesh.repair_after", times.repair_after),
        "beacon_period",
        beacon,
    )?;
    Ok(times)
}

fn climate(values: &Effective) -> Result<ClimateSettings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = ClimateSettings {
        poll_period: time("climate.poll_period")?,
        gather_time: time("climate.gather_time")?,
        reading_limit: time("climate.reading_limit")?,
        display_limit: time("climate.display_limit")?,
        brightness_least: values.required("climate.brightness_least", kind::whole)?,
        brightness_most: values.required("climate.brightness_most", kind::whole)?,
        brightness_smoothing: time("climate.brightness_smoothing")?,
        utc_offset: values.required("climate.display_utc_offset", kind::whole)?,
    };
    let poll = settings.poll_period;
    if settings.gather_time >= poll {
        let relation = format!("below poll_period = {}", human(poll));
        return Err(values.relation("climate.gather_time", relation));
    }
    for (path, limit) in [
        ("climate.reading_limit", settings.reading_limit),
        ("climate.display_limit", settings.display_limit),
    ] {
        if limit < poll * 2 {
            let relation = format!("at least twice poll_period = {}", human(poll));
            return Err(values.relation(path, relation));
        }
    }
    if settings.brightness_least > settings.brightness_most {
        let relation = format!("at most brightness_most = {}", settings.brightness_most);
        return Err(values.relation("climate.brightness_least", relation));
    }
    Ok(settings)
}

fn panel_line(values: &Effective) -> Result<LineSettings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = LineSettings {
        poll: time("panel_line.poll_period")?,
        reply: time("panel_line.reply_limit")?,
        reload_configuration: values.required("panel_line.reload_configuration", kind::switch)?,
        heartbeat: time("panel_line.heartbeat")?,
        silence: time("panel_line.silence_limit")?,
        retry: time("panel_line.retry_limit")?,
        ..LineSettings::default()
    };
    if settings.silence < settings.heartbeat * 3 {
        let relation = format!(
            "at least three times heartbeat = {}",
            human(settings.heartbeat)
        );
        return Err(values.relation("panel_line.silence_limit", relation));
    }
    Ok(settings)
}
