//! What the mesh has to know.

use std::net::SocketAddrV4;
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::wire::Hello;

use super::PacketSettings;
use crate::fleet_key::Keys;

#[derive(Debug, Clone)]
pub struct MeshSettings {
    /// Who this node is: its address is where the sockets are bound.
    pub hello: Hello,
    /// The directed broadcast address of the LAN, or a multicast group, and the port of datagrams.
    pub broadcast: SocketAddrV4,
    pub link_port: u16,
    /// Where packets are sent and received, under a protocol that has a port of its own.
    pub packets: Option<PacketSettings>,
    /// How long broadcast datagrams are gathered, as computed by `gather_time`; `None`: never.
    pub gather_time: Option<Duration>,
    pub times: LinkTimes,
    /// The fleet keys. Until they can be read the node serves alone.
    pub keys: Arc<Keys>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkTimes {
    /// To connect. Default 200 ms.
    pub(crate) connect: Duration,
    /// To exchange `Hello` on a fresh connection. Default 500 ms.
    pub(crate) greeting: Duration,
    /// How long sent data may stay unacknowledged. Default 10 s: under heavy loss TCP is slow.
    pub(crate) unacknowledged: Duration,
}

impl Default for LinkTimes {
    fn default() -> Self {
        Self {
            connect: Duration::from_millis(200),
            greeting: Duration::from_millis(500),
            unacknowledged: Duration::from_secs(10),
        }
    }
}
