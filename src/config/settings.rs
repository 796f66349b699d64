//! A valid configuration.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::{Building, LineSettings, PanelUrl, Side};
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::{Dispatcher, Kinematics, Schedule};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::{FleetName, Mac, NodeId, Role};
use elevator_fleet::node::{Identity, MeshTimes, NodeSettings, Restored};
use elevator_fleet::wire::{Nonce, Protocol};

use super::check::Checker;
use super::tables::{Tables, car_settings, election};
use crate::alerts::{AlertSettings, Webhook};
use crate::dispatcher::{Choice, Place, Program};
use crate::fleet_key::KeyFiles;
use crate::http::TlsFiles;
use crate::log::LogSettings;
use crate::mesh::{OwnAddress, PacketSettings};
use crate::mqtt::{Access, MqttSettings, Prefix};
use crate::operator::{FaultInjection, ReadingSettings};

/// The configuration of one node: every value in its range, and right beside the others.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) fleet: FleetName,
    /// The node, and its car if it has one.
    pub(crate) node: NodeId,
    pub(crate) role: Role,
    pub(crate) address: OwnAddress,
    /// The address of the interface, unless the interface is to be asked.
    pub(crate) mac: Option<Mac>,
    pub(crate) broadcast: SocketAddrV4,
    /// The fleet keys: the first is sent, all are accepted.
    pub(crate) keys: KeyFiles,
    pub(crate) link_port: u16,
    /// Where the panel is. A cabin has one.
    pub(crate) panel: Option<PanelUrl>,
    pub(crate) building: Arc<Building>,
    /// The directory of the journal and of the node's socket.
    pub(crate) data_dir: PathBuf,
    pub(crate) election: ElectionSettings,
    /// Where packets are sent and received, under a protocol that has a port of its own.
    pub(crate) packets: Option<PacketSettings>,
    pub(crate) car: CarSettings,
    pub(crate) kinematics: Kinematics,
    pub(crate) dispatch: DispatchSettings,
    pub(crate) mesh: MeshTimes,
    pub(crate) climate: ClimateSettings,
    pub(crate) panel_line: LineSettings,
    /// The socket on which operators may only read.
    pub(crate) reading: Option<ReadingSettings>,
    /// Where the node serves HTTP, if it does.
    pub(crate) http: Option<SocketAddr>,
    pub(crate) tls: Option<TlsFiles>,
    /// The broker that the node uses, if there is one.
    pub(crate) mqtt: Option<MqttSettings>,
    /// Who gets alerts, if anybody does.
    pub(crate) alerts: Option<AlertSettings>,
    pub log: LogSettings,
    /// Whether an operator may break things; no key of the configuration allows it.
    pub(crate) faults: FaultInjection,
}

/// How a master assigns hall calls, and how an idle car follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DispatchSettings {
    pub(crate) strategy: Choice,
    pub(crate) program_limit: Duration,
    pub(crate) capacity: u8,
    pub(crate) park_after: Duration,
    pub(crate) schedule: Schedule,
}

impl Settings {
    /// The dispatcher for the fleet's cars.
    pub(crate) fn dispatcher(&self) -> Box<dyn Dispatcher + Send> {
        let DispatchSettings { strategy, capacity, program_limit, .. } = &self.dispatch;
        let (building, kinematics) = (&*self.building, self.kinematics);
        let (capacity, bypass) = (f64::from(*capacity), self.car.bypass_load);
        match strategy {
            Choice::BuiltIn(strategy) => {
                strategy.dispatcher(kinematics, building, capacity, bypass)
            }
            Choice::Program(command) => {
                let (command, place) = (command.clone(), Place::Fleet(*program_limit));
                Box::new(Program::start(command, place, building, kinematics, (capacity, bypass)))
            }
        }
    }

    /// What the brain needs of it, with what is only known at the start: the interface's address,
    /// the life of the process, what stood on disk, and a seed.
    #[must_use]
    pub(crate) fn brain(
        &self,
        address: Ipv4Addr,
        mac: Mac,
        nonce: Nonce,
        restored: Restored,
        seed: u64,
    ) -> NodeSettings {
        NodeSettings {
            identity: Identity {
                fleet: self.fleet.clone(),
                node: self.node.clone(),
                address,
                mac,
                role: self.role,
                link_port: self.link_port,
                nonce,
            },
            election: self.election.clone(),
            building: Arc::clone(&self.building),
            mesh: self.mesh,
            car: (self.role == Role::Cabin).then(|| self.car.clone()),
            climate: self.climate,
            restored,
            seed,
        }
    }

    /// Takes every value and checks the relations; the errors are in the checker.
    pub(super) fn check(check: &Checker<'_>) -> Self {
        let tables = Tables::read(check);
        tables.relate(check);
        let name = tables.node.name(check);
        let building = tables.node.building(check, tables.kinematics.floor_height);
        let (election, car) = (election(&tables), car_settings(&tables, &building, &name));
        let Tables {
            node,
            door,
            kinematics,
            dispatch,
            mesh,
            climate,
            packets,
            operator,
            http,
            mqtt,
            alerts,
            panel_line,
            log,
            ..
        } = tables;
        let rear_door = car.doors.values().any(|door| *door == Side::Rear);
        let group = operator.read_only_group;
        let kinematics = Kinematics { dwell: door.dwell, ..kinematics };
        let http_at_home = default_http(&node.address);
        let mqtt = mqtt.broker.map(|broker| MqttSettings {
            access: Access {
                encryption: broker.encryption,
                username: mqtt.username,
                password_file: mqtt.password_file,
                ca_file: mqtt.ca_file,
            },
            broker,
            prefix: mqtt.topic.unwrap_or_else(|| Prefix::of(&node.fleet)),
            node: name.clone(),
            period: mqtt.period,
            session_expiry: mqtt.session_expiry,
            kinematics,
        });
        let (token_file, ca_file) = (alerts.token_file, alerts.ca_file);
        let webhook = alerts.webhook.map(|url| Webhook { url, token_file, ca_file });
        let alerts = (alerts.command.is_some() || webhook.is_some()).then(|| AlertSettings {
            node: name.clone(),
            fleet: node.fleet.clone(),
            command: alerts.command,
            webhook,
            repeat: alerts.repeat,
            lost_after: alerts.lost_after,
        });
        Self {
            node: name,
            fleet: node.fleet,
            role: node.role,
            address: node.address,
            mac: node.mac,
            broadcast: node.broadcast,
            keys: node.fleet_keys.unwrap_or_default(),
            link_port: node.link_port.unwrap_or(node.broadcast.port()),
            panel: node.panel,
            building,
            data_dir: node.data_dir,
            packets: (node.election == Protocol::Ballot).then_some(packets),
            election,
            car,
            kinematics,
            dispatch,
            mesh,
            climate,
            panel_line: LineSettings { rear_door, ..panel_line },
            reading: operator.read_only_socket.map(|path| ReadingSettings { path, group }),
            mqtt,
            alerts,
            http: http.enabled.then(|| http.address.unwrap_or(http_at_home)),
            tls: http
                .certificate
                .zip(http.key)
                .map(|(certificate, key)| TlsFiles { certificate, key }),
            log,
            faults: FaultInjection::Refused,
        }
    }
}

/// The port of the web panel, unless another one is configured.
pub(crate) const HTTP_PORT: u16 = 7080;

/// At the node's own address if that is on loopback, so that several nodes of one machine each have a
/// place; otherwise at the usual address of loopback.
fn default_http(address: &OwnAddress) -> SocketAddr {
    let address = match address {
        OwnAddress::Fixed(address) if address.is_loopback() => *address,
        OwnAddress::Fixed(_) | OwnAddress::Of(_) => Ipv4Addr::LOCALHOST,
    };
    SocketAddr::new(IpAddr::V4(address), HTTP_PORT)
}
