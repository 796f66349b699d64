//! Whose a connection is.

use std::io;
use std::net::{IpAddr, SocketAddr};

use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

/// The header of a netlink message, in bytes.
const HEADER: usize = 16;

/// Asks for sockets of one kind (`SOCK_DIAG_BY_FAMILY`), and its answer.
const BY_FAMILY: u16 = 20;

/// Where the answer has the owner of the socket (`struct inet_diag_msg`).
const OWNER: usize = HEADER + 64;

/// Families and protocols of sockets.
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;

/// Whose a connection is, for the limits of connections and streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// An account of this machine; `None` where the system does not say which.
    Account(Option<u32>),
    /// Another computer. It may choose the second half of its IPv6 address, which is zero here.
    Computer(IpAddr),
}

impl Origin {
    /// Of a connection between these.
    pub(super) fn of(client: SocketAddr, server: SocketAddr) -> Self {
        let [client, server] = [client, server].map(|end| (end.ip().to_canonical(), end.port()));
        match client.0 {
            ip if ip.is_loopback() || ip == server.0 => {
                Self::Account(owner(client, server).unwrap_or_default())
            }
            IpAddr::V4(_) => Self::Computer(client.0),
            IpAddr::V6(address) => {
                let mut bytes = address.octets();
                bytes[8..].fill(0);
                Self::Computer(bytes.into())
            }
        }
    }
}

/// The account that has the client's end of a connection within this machine.
fn owner(client: (IpAddr, u16), server: (IpAddr, u16)) -> io::Result<Option<u32>> {
    let socket = Socket::new(NETLINK_SOCK_DIAG)?;
    // The kernel answers at once.
    socket.set_non_blocking(true)?;
    socket.send(&question(client, server), 0)?;
    let mut answer = Vec::with_capacity(512);
    socket.recv(&mut answer, 0)?;
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let owner = answer.get(OWNER..OWNER + 4).and_then(|bytes| bytes.try_into().ok());
    Ok(owner.map(u32::from_ne_bytes).filter(|_| kind == Some(BY_FAMILY)))
}

/// For the one socket with these ends (`struct inet_diag_req_v2`).
fn question(client: (IpAddr, u16), server: (IpAddr, u16)) -> Vec<u8> {
    const REQUEST: u16 = 1;
    let family = if client.0.is_ipv4() { INET } else { INET6 };
    let octets = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => [&ip.octets()[..], &[0; 12]].concat(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let body = [
        &[family, TCP, 0, 0][..],
        // In any state.
        &u32::MAX.to_ne_bytes(),
        &client.1.to_be_bytes(),
        &server.1.to_be_bytes(),
        &octets(client.0),
        &octets(server.0),
        // At any interface, with any cookie.
        &[0; 4],
        &[0xff; 8],
    ]
    .concat();
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let header = [&length.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &REQUEST.to_ne_bytes()];
    [&header.concat()[..], &[0; 8], &body].concat()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_client_on_this_machine_is_its_account() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let server = listener.local_addr().unwrap();
            let client = TcpStream::connect(server).unwrap();
            let own = rustix::process::geteuid().as_raw();
            let origin = Origin::of(client.local_addr().unwrap(), server);
            assert_eq!(origin, Origin::Account(Some(own)), "{address}");
        }
    }

    #[test]
    fn a_computer_is_one_whichever_of_its_addresses_it_uses() {
        let server = "[fe80::1]:7080".parse().unwrap();
        let of = |client: &str| Origin::of(format!("{client}:9").parse().unwrap(), server);
        for (one, same, other) in [
            ("192.168.1.7", "[::ffff:192.168.1.7]", "192.168.1.8"),
            ("[fe80::1:2]", "[fe80::3:4]", "[fe80:0:0:1::1]"),
        ] {
            assert_eq!(of(one), of(same));
            assert_ne!(of(one), of(other));
        }
    }
}
