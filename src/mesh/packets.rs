//! The sockets of a protocol that has a port of its own (V8, V10).

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

use elevator_fleet::election::ballot::packet;
use socket2::Socket;

use super::MeshSettings;
use super::socket::{self, DatagramSockets, MeshError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketSettings {
    /// The UDP port, the same on every node and device. Default 46101; never 0 or that of beacons.
    pub(crate) port: u16,
    /// The multicast group, where a broadcast does not reach all.
    pub(crate) group: Option<Ipv4Addr>,
    /// The hop limit of packets to the group, 1 to 255. Default 1: not beyond the own network.
    pub(crate) ttl: u8,
    /// Whether there are devices without the fleet key: packets are sent and accepted without it as
    /// well. Of what arrives without it only readings count (V12).
    pub(crate) foreign_devices: bool,
    pub(crate) interface: Option<String>,
}

impl Default for PacketSettings {
    fn default() -> Self {
        Self { port: packet::PORT, group: None, ttl: 1, foreign_devices: false, interface: None }
    }
}

impl PacketSettings {
    pub(crate) fn everybody(&self, broadcast: SocketAddrV4) -> SocketAddrV4 {
        SocketAddrV4::new(self.group.unwrap_or(*broadcast.ip()), self.port)
    }

    pub(super) fn at_start(
        &self,
        settings: &MeshSettings,
    ) -> Result<Option<DatagramSockets>, MeshError> {
        if let (Some(name), Err(error)) = (&self.interface, self.socket()) {
            return Err(interface_error(name.clone(), error));
        }
        socket::at_start(self.open(settings), settings, ("ballot.port", self.port))
    }

    pub(super) fn open(&self, settings: &MeshSettings) -> io::Result<DatagramSockets> {
        let (own, shared) = (self.socket()?, self.socket()?);
        own.set_multicast_ttl_v4(u32::from(self.ttl))?;
        let everybody = self.everybody(settings.broadcast);
        socket::bind_datagrams(own, shared, settings.hello.address, everybody)
    }

    fn socket(&self) -> io::Result<Socket> {
        let socket = socket::datagram_socket()?;
        if let Some(interface) = &self.interface {
            socket.bind_device(Some(interface.as_bytes()))?;
        }
        Ok(socket)
    }
}

fn interface_error(interface: String, source: io::Error) -> MeshError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => MeshError::InterfaceRight { interface },
        _ if socket::is_no_device(&source) => MeshError::UnknownInterface { interface },
        _ => MeshError::Interface { interface, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V10
    #[test]
    fn the_error_of_an_interface_names_it_and_the_right_that_is_missing() {
        const EPERM: i32 = 1;
        const ENODEV: i32 = 19;
        let error = |number| {
            let source = io::Error::from_raw_os_error(number);
            interface_error("eth7".to_owned(), source).to_string()
        };
        assert_eq!(
            error(EPERM),
            "ballot.interface = eth7: sockets can't be bound to a network interface without \
             CAP_NET_RAW; grant it, or remove the key"
        );
        assert_eq!(error(ENODEV), "ballot.interface = eth7: there is no such network interface");
        assert_eq!(error(22), "ballot.interface = eth7: sockets can't be bound to it");
    }
}
