//! What the node is, and where: the keys that are in no table.

use super::Key;
use super::KeyDefault::{Absent, Required, Value};
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "fleet",
        Kind::Name,
        Value("liftmesh"),
        "The fleet's name, the same on every node; nodes of other fleets on the same LAN are not \
         heard.",
    ),
    Key::new(
        "role",
        Kind::Role,
        Value("cabin"),
        "What the node is there for: to drive the car of its cabin, or, with no car, to lead by \
         right as `control-unit` (under `senior` and `ballot`; one a fleet), or to show what the \
         fleet tells it as `indicator`, a display in a lobby.",
    ),
    Key::new(
        "car",
        Kind::Name,
        Required("A"),
        "The name of this node and of its car, different on every node. It must stay the same: \
         orders are kept under it. For the role `cabin`.",
    ),
    Key::new(
        "unit",
        Kind::Name,
        Absent("none, as the role is `cabin`", "lobby"),
        "The name of a node without a car, in place of `car`: different on every node, always the \
         same.",
    ),
    Key::new(
        "address",
        Kind::Address,
        Required("192.168.1.11"),
        "This node's own IPv4 address on the fleet's LAN. Under `lowest-ip` the lowest becomes \
         master.",
    ),
    Key::new(
        "mac",
        Kind::Mac,
        Absent(
            "that of the interface with `address`; 02:00 and `address` on loopback",
            "02:00:c0:a8:01:0b",
        ),
        "The MAC address of this node's interface, which ranks it under `senior` and `token-ring`.",
    ),
    Key::new(
        "broadcast",
        Kind::Broadcast,
        Required("192.168.1.255:46100"),
        "Where beacons go: the directed broadcast address of that LAN and a UDP port, the same on \
         every node. Never 255.255.255.255. On one machine: 127.255.255.255.",
    ),
    Key::new(
        "link_port",
        Kind::Port,
        Absent("broadcast's port", "46100"),
        "The TCP port on which this node listens for links.",
    ),
    Key::new(
        "panel",
        Kind::Panel,
        Required("serial:///dev/ttyUSB0?baud=115200"),
        "Where the panel is: a serial line, or an elevator server on TCP. A node without a car may \
         do without.",
    ),
    Key::new(
        "floors",
        Kind::Floors,
        Required("4"),
        "The number of floors of the shaft, the same on every node.",
    ),
    Key::new(
        "data_dir",
        Kind::Path,
        Required("/var/lib/liftmesh"),
        "The directory of the journal and of the operator's socket; one a node, on a disk that \
         survives a power cut.",
    ),
    Key::new(
        "election",
        Kind::Election,
        Value("lowest-ip"),
        "How the coordinator is elected, the same on every node.",
    ),
    Key::new(
        "mesh_detection",
        Kind::Switch,
        Value("true"),
        "Whether a coordinator that the mesh has lost counts as lost at once; otherwise only the \
         protocol's own signs count, which are slower. Without effect under `lowest-ip`.",
    ),
];
