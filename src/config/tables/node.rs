//! What the node is, and where: the keys that are in no table.

use std::path::PathBuf;

use elevator_driver::{FloorCount, PanelUrl};
use elevator_fleet::model::{FleetName, Mac, NodeId, Role};
use elevator_fleet::wire::Protocol;

use super::{Checker, Tables};
use crate::config::ConfigError;
use crate::config::key::KeyDefault::{Absent, Required, Value};
use crate::config::value::{Broadcast, Port};
use crate::fleet_key::KeyFiles;
use crate::mesh::OwnAddress;

table! {
    [_] struct Node {
        /// The fleet's name, the same on every node; nodes of other fleets on the same LAN are not
        /// heard.
        fleet: FleetName = Value("liftmesh"),
        /// What the node is there for: to drive the car of its cabin, or, with no car, to lead by
        /// right as `control-unit` (under `senior` and `ballot`; one a fleet), or to show what the
        /// fleet tells it as `indicator`, a display in a lobby.
        role: Role = Value("cabin"),
        /// The name of this node and of its car, different on every node. It must stay the same:
        /// orders are kept under it. For the role `cabin`.
        car: Option<NodeId> = Required("A"),
        /// The name of a node without a car, in place of `car`: different on every node, always the
        /// same.
        unit: Option<NodeId> = Absent("none, as the role is `cabin`", "lobby"),
        /// This node's own IPv4 address on the fleet's LAN, or the name of the interface that has it:
        /// then the node follows its changes, each time with a start of its own while its car
        /// stands. Under `lowest-ip` the lowest address becomes master.
        address: OwnAddress = Required("192.168.1.11"),
        /// The MAC address of this node's interface, which ranks it under `senior` and
        /// `token-ring`.
        mac: Option<Mac> = Absent(
            "that of the interface with `address`; 02:00 and `address` on loopback",
            "02:00:c0:a8:01:0b",
        ),
        /// Where beacons go: the directed broadcast address of that LAN and a UDP port, the same on
        /// every node. Never 255.255.255.255. On one machine: 127.255.255.255.
        broadcast: Broadcast = Required("192.168.1.255:46100"),
        /// The files of the fleet keys, made by `liftmesh keygen`, alike on every node: messages
        /// are sent with the first, and accepted with each. `none` is a key as well: messages that
        /// anybody can send. To change from one key to another, on one node after the other: first
        /// `old,new` on all, then `new,old` on all, then `new`.
        fleet_keys: Option<KeyFiles> = Absent(
            "none on loopback; elsewhere the node serves alone",
            "/etc/liftmesh/fleet.key",
        ),
        /// The TCP port on which this node listens for links.
        link_port: Option<Port> = Absent("broadcast's port", "46100"),
        /// Where the panel is: a serial line, or an elevator server on TCP. A node without a car
        /// may do without.
        panel: Option<PanelUrl> = Required("serial:///dev/ttyUSB0?baud=115200"),
        /// The number of floors of the shaft, the same on every node.
        floors: FloorCount = Required("4"),
        /// The directory of the journal and of the node's socket; one a node, on a disk that
        /// survives a power cut.
        data_dir: PathBuf = Required("/var/lib/liftmesh"),
        /// How the master is elected, the same on every node.
        election: Protocol = Value("lowest-ip"),
        /// Whether a master that the mesh has lost counts as lost at once; otherwise only the
        /// protocol's own signs count, which are slower. Without effect under `lowest-ip`; `true`
        /// is refused with a preset that leaves the mesh's reports out.
        mesh_detection: Option<bool> = Absent("true, or false if the preset leaves it out", "true"),
    }
}

impl Node {
    /// The name under the key that goes with the role.
    pub(in crate::config) fn name(&self, check: &Checker<'_>) -> NodeId {
        let name = self.car.as_ref().or(self.unit.as_ref());
        name.cloned().unwrap_or_else(|| check.stand_in::<NodeId>("car"))
    }
}

pub(super) fn relate(Tables { node, .. }: &Tables, check: &Checker<'_>) {
    let (key, other, why) = match node.role {
        Role::Cabin => ("car", "unit", "absent, as the role is cabin: give car"),
        Role::ControlUnit | Role::Indicator => {
            ("unit", "car", "absent, as the role has no car: give unit")
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
    if node.broadcast.ip().is_broadcast() {
        let (value, origin) = check.written("broadcast");
        check.refuse("broadcast", ConfigError::LimitedBroadcast { origin, value });
    }
    let address = &node.address;
    let alike = node.broadcast.ip().is_loopback() == address.is_loopback();
    let network = if address.is_loopback() {
        format!("127.255.255.255 with a port, as address is {address}")
    } else {
        format!("a broadcast address of the LAN of address = {address}")
    };
    check.relate(alike || node.broadcast.ip().is_multicast(), &["broadcast", "address"], network);
}
