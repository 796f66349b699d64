//! How sockets are made.

use std::io;
use std::net::{self, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};

use super::MeshSettings;
use super::gather::Shared;

const BACKLOG: u32 = 64;

/// Why the mesh can't be started. Waiting would not help.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// Beacons to 255.255.255.255 leave by an interface of the system's choice.
    #[error(
        "broadcast = {0} is not the broadcast address of any one LAN: set the directed broadcast \
         address of the interface that address belongs to, as in 192.168.1.255:{port}",
        port = .0.port()
    )]
    LimitedBroadcast(SocketAddrV4),
    #[error(
        "{key} = {port} at address = {address} is in use by another process: each node on a machine \
         needs an address of its own"
    )]
    InUse { key: &'static str, port: u16, address: Ipv4Addr },
    #[error("ballot.interface = {interface}: there is no such network interface")]
    UnknownInterface { interface: String },
    #[error(
        "ballot.interface = {interface}: sockets can't be bound to a network interface without \
         CAP_NET_RAW; grant it, or remove the key"
    )]
    InterfaceRight { interface: String },
    #[error("ballot.interface = {interface}: sockets can't be bound to it")]
    Interface { interface: String, source: io::Error },
    #[error("can't open sockets with address = {address}, broadcast = {broadcast}, {key} = {port}")]
    Refused {
        address: Ipv4Addr,
        broadcast: SocketAddrV4,
        key: &'static str,
        port: u16,
        source: io::Error,
    },
}

/// A socket at the node's own address hears no broadcast, and one at the broadcast address no
/// answer.
#[derive(Debug)]
pub(super) struct DatagramSockets {
    pub(super) own: UdpSocket,
    pub(super) shared: Shared,
}

/// What opening a socket at the start has come to; `None` if its address isn't there yet.
pub(super) fn at_start<T>(
    opened: io::Result<T>,
    settings: &MeshSettings,
    (key, port): (&'static str, u16),
) -> Result<Option<T>, MeshError> {
    let (address, broadcast) = (settings.hello.address, settings.broadcast);
    match opened {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            Err(MeshError::InUse { key, port, address })
        }
        Err(source) => Err(MeshError::Refused { address, broadcast, key, port, source }),
    }
}

/// Whether an address can't be bound because it, or its interface, isn't there.
pub(super) fn is_absent(error: &io::Error) -> bool {
    // Joining a multicast group answers with "no such device".
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
    ) || is_no_device(error)
}

/// "No such device" has no kind of its own.
pub(super) fn is_no_device(error: &io::Error) -> bool {
    const ENODEV: i32 = 19;
    error.raw_os_error() == Some(ENODEV)
}

pub(super) fn datagrams(address: Ipv4Addr, broadcast: SocketAddrV4) -> io::Result<DatagramSockets> {
    bind_datagrams(datagram_socket()?, datagram_socket()?, address, broadcast)
}

/// Binds one socket to the node's own address and one to that of everybody, with one port.
pub(super) fn bind_datagrams(
    own: Socket,
    shared: Socket,
    address: Ipv4Addr,
    broadcast: SocketAddrV4,
) -> io::Result<DatagramSockets> {
    check_present(address)?;
    let multicast = broadcast.ip().is_multicast();
    own.set_broadcast(true)?;
    if multicast {
        own.set_multicast_if_v4(&address)?;
        own.set_multicast_loop_v4(true)?;
    }
    // Without SO_REUSEADDR: two nodes with one address on one machine are a mistake.
    own.bind(&SocketAddr::from((address, broadcast.port())).into())?;
    bind_shared(&shared, address, broadcast)?;
    Ok(DatagramSockets {
        own: UdpSocket::from_std(own.into())?,
        shared: Shared::Awaited(UdpSocket::from_std(shared.into())?),
    })
}

fn bind_shared(shared: &Socket, address: Ipv4Addr, broadcast: SocketAddrV4) -> io::Result<()> {
    shared.set_reuse_address(true)?;
    shared.bind(&SocketAddr::from(broadcast).into())?;
    if broadcast.ip().is_multicast() {
        shared.join_multicast_v4(broadcast.ip(), &address)?;
    }
    Ok(())
}

/// A socket that hears what is sent to everybody, beside those of nodes.
pub(crate) fn listen(address: Ipv4Addr, broadcast: SocketAddrV4) -> io::Result<net::UdpSocket> {
    check_present(address)?;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    bind_shared(&socket, address, broadcast)?;
    Ok(socket.into())
}

pub(super) fn datagram_socket() -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// An interface without an address has none that could be bound; the unspecified one would be all.
fn check_present(address: Ipv4Addr) -> io::Result<()> {
    if address.is_unspecified() { Err(io::ErrorKind::AddrNotAvailable.into()) } else { Ok(()) }
}

pub(super) fn listener(address: Ipv4Addr, port: u16) -> io::Result<TcpListener> {
    check_present(address)?;
    let socket = TcpSocket::new_v4()?;
    // A restarted node must not wait until the connections of its earlier incarnation time out.
    socket.set_reuseaddr(true)?;
    socket.bind((address, port).into())?;
    socket.listen(BACKLOG)
}

pub(super) async fn connect(from: Ipv4Addr, to: SocketAddrV4) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(to.into()).await
}

/// Sets the options that every link needs. Keepalive stays off: the brain probes.
pub(super) fn tune(stream: &TcpStream, unacknowledged: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_user_timeout(Some(unacknowledged))
}
