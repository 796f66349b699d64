//! What the node is, and where: the keys that are in no table.

use std::path::PathBuf;
use std::sync::Arc;

use elevator_driver::{Building, FloorCount, PanelUrl, Side};
use elevator_fleet::car::CarSettings;
use elevator_fleet::model::{FleetName, Mac, NodeId, Role};
use elevator_fleet::wire::Protocol;

use super::{Checker, Tables};
use crate::config::key::KeyDefault::{Absent, Required, Value};
use crate::config::value::{Broadcast, Port};
use crate::fleet_key::KeyFiles;
use crate::mesh::OwnAddress;

table! {
    [_] struct Node {
        /// The fleet's name, the same on every node. Nodes of other fleets on the same LAN are
        /// ignored.
        fleet: FleetName = Value("liftmesh"),
        /// What the node does. `cabin` drives a car; `control-unit`, at most one per fleet, has no
        /// car and is the designated master under `senior` and `ballot`; `indicator` has no car and
        /// drives a display, such as one in a lobby.
        role: Role = Value("cabin"),
        /// The name of this node and its car, unique in the fleet. It must never change, because
        /// orders are stored under it. For the role `cabin`.
        car: Option<NodeId> = Required("A"),
        /// The name of a node without a car, in place of `car`; unique in the fleet, and never
        /// changed.
        unit: Option<NodeId> = Absent("none, because the role is `cabin`", "lobby"),
        /// This node's IPv4 address on the fleet's LAN, or the network interface that has it. With
        /// an interface, the node follows changes of the address: it restarts once its car has
        /// stopped. Under `lowest-ip` the node with the lowest address becomes master.
        address: OwnAddress = Required("192.168.1.11"),
        /// The MAC address of this node's interface, which ranks it under `senior` and
        /// `token-ring`.
        mac: Option<Mac> = Absent(
            "that of the interface with `address`; 02:00 and `address` on loopback",
            "02:00:c0:a8:01:0b",
        ),
        /// Where beacons go: the LAN's directed broadcast address and a UDP port, the same on every
        /// node. Never 255.255.255.255. On one machine: 127.255.255.255.
        broadcast: Broadcast = Required("192.168.1.255:46100"),
        /// The files of the fleet keys, made by `liftmesh keygen`, the same on every node. Messages
        /// are sent with the first key and accepted with any of them. `none` counts as a key: it
        /// stands for messages that anybody can send. To change from one key to another, one node
        /// at a time: first `old,new` on all, then `new,old` on all, then `new`.
        fleet_keys: Option<KeyFiles> = Absent(
            "none on loopback; elsewhere the node serves alone",
            "/etc/liftmesh/fleet.key",
        ),
        /// The TCP port on which this node listens for links.
        link_port: Option<Port> = Absent("broadcast's port", "46100"),
        /// The panel: a serial line, an elevator server over TCP, or a PLC over Modbus. Optional for
        /// a node without a car.
        panel: Option<PanelUrl> = Required("serial:///dev/ttyUSB0?baud=115200"),
        /// The file that describes the building: the labels and heights of its floors, and the
        /// floors that each car serves. A relative path counts from this file. The same on every
        /// node.
        building: Option<PathBuf> = Absent("equal floors, as many as `floors` says", "building.toml"),
        /// The number of floors of the shaft, instead of `building`: they are labelled 0, 1, 2 …
        /// from the bottom up, and every car serves all of them. The same on every node.
        floors: Option<FloorCount> = Required("4"),
        /// The directory of the journal and the node's socket: one per node, on a disk that
        /// survives a power cut.
        data_dir: PathBuf = Required("/var/lib/liftmesh"),
        /// The election protocol, the same on every node.
        election: Protocol = Value("lowest-ip"),
        /// Whether a master counts as lost as soon as the mesh loses it. Otherwise only the
        /// protocol's own signs count, which are slower. No effect under `lowest-ip`; `true` is
        /// refused with a preset that does not use the mesh's reports.
        mesh_detection: Option<bool> = Absent("true, unless the preset does not use it", "true"),
    }
}

impl Node {
    /// The name under the key that goes with the role.
    pub(in crate::config) fn name(&self, check: &Checker<'_>) -> NodeId {
        let name = self.car.as_ref().or(self.unit.as_ref());
        name.cloned().unwrap_or_else(|| check.stand_in::<NodeId>("car"))
    }

    /// The building of the file, or one with `floors` floors of this height in metres.
    pub(in crate::config) fn building(&self, check: &Checker<'_>, storey: f64) -> Arc<Building> {
        check.building().cloned().unwrap_or_else(|| {
            let floors = self.floors.unwrap_or(CarSettings::default().floors);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "1 to 50 m"
            )]
            Arc::new(Building::uniform(floors, (storey * 1000.0).round() as u32))
        })
    }
}

pub(super) fn relate(Tables { node, .. }: &Tables, check: &Checker<'_>) {
    let (key, other, why) = match node.role {
        Role::Cabin => ("car", "unit", "left out with the role cabin: set car instead"),
        Role::ControlUnit | Role::Indicator => {
            ("unit", "car", "left out with a role without a car: set unit instead")
        }
    };
    check.relate(!check.is_given(other), &[other, "role"], why);
    // Which of the two has to be given, and whether a panel has to, only the role tells.
    if check.is_usable("role") && !check.is_given(other) {
        check.require(key);
    }
    if check.is_usable("role") && node.role == Role::Cabin {
        check.require("panel");
    }
    if node.building.is_none() && check.is_usable("building") {
        check.require("floors");
    }
    check.relate(
        node.building.is_none() || !check.is_given("floors"),
        &["floors", "building"],
        "left out, because building says it",
    );
    let cars = check.building().map(|building| building.cars()).unwrap_or_default();
    check.relate(
        node.car.as_ref().is_none_or(|car| {
            cars.is_empty() || cars.iter().any(|served| served.car == car.as_str())
        }),
        &["car", "building"],
        "one of the cars of the building",
    );
    let has_rear_door = || {
        let (building, car) = check.building().zip(node.car.as_ref())?;
        Some(building.entrances().any(|it| building.door(car.as_str(), it) == Some(Side::Rear)))
    };
    let is_serial = matches!(node.panel, None | Some(PanelUrl::Serial { .. }));
    check.relate(
        is_serial || has_rear_door() != Some(true),
        &["panel", "building"],
        "a serial line, because the car has a rear door",
    );
    let (address, broadcast) = (&node.address, node.broadcast.ip());
    let is_right = broadcast.is_multicast() || broadcast.is_loopback() == address.is_loopback();
    let right = if address.is_loopback() {
        format!("127.255.255.255 with a port, because address is {address}")
    } else {
        format!(
            "the directed broadcast address of the LAN of address = {address} (`brd` in `ip address`)"
        )
    };
    // 255.255.255.255 leaves by whichever interface the system picks.
    check.relate(is_right && !broadcast.is_broadcast(), &["broadcast", "address"], right);
}
