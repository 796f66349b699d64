//! The network: the addresses are this machine's, the ports are free.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::SockaddrIn;

use elevator_fleet::wire::Protocol;

use super::{Finding, Outcome, Running, Verdict, finding};
use crate::config::Settings;
use crate::mesh;
use crate::mesh::OwnAddress;

const OF_LOOPBACK: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

/// The node's address now; the unspecified one while its interface has none.
pub(super) fn present(settings: &Settings) -> Ipv4Addr {
    match &settings.address {
        OwnAddress::Fixed(address) => *address,
        OwnAddress::Of(interface) => {
            mesh::address_of(interface, None).unwrap_or(Ipv4Addr::UNSPECIFIED)
        }
    }
}

pub(super) fn address(settings: &Settings) -> Verdict {
    let name = match &settings.address {
        OwnAddress::Fixed(address) => return fixed(*address),
        OwnAddress::Of(name) => name,
    };
    let (address, election) = (present(settings), settings.election.protocol());
    let found = interface(name);
    if found.result == Outcome::Error {
        found
    } else if address.is_unspecified() {
        Verdict::warning(
            format!("{name} has no IPv4 address: the node serves alone until it has one"),
            "give the interface an address, or find out why it has none",
        )
    } else if election == Protocol::LowestIp {
        Verdict::warning(
            format!("{name} has {address}, and under lowest-ip the master changes with addresses"),
            "choose another election, such as bully (see ELECTIONS), or reserve the address for \
             this node",
        )
    } else {
        Verdict::good(format!(
            "{name} has {address}; the node follows its changes, and under {election} no address \
             decides who is master"
        ))
    }
}

fn fixed(address: Ipv4Addr) -> Verdict {
    match interface_of(address) {
        Some(interface) => Verdict::good(format!("{address} is on {}", interface.interface_name)),
        // All of 127.0.0.0/8 is local, whatever the interface lists.
        None if address.is_loopback() => Verdict::good(format!("{address} is on loopback")),
        None => Verdict::wrong(
            format!("no interface of this machine has {address}"),
            format!("assign it to an interface, or set `address` to one of: {}", own()),
        ),
    }
}

pub(super) fn broadcast(address: Ipv4Addr, broadcast: SocketAddrV4) -> Verdict {
    if broadcast.ip().is_multicast() {
        return Verdict::good(format!("{broadcast} is a multicast group"));
    }
    let (name, of_lan) = if address.is_loopback() {
        // A datagram to one address of 127.0.0.0/8 reaches the node there alone.
        ("loopback".to_owned(), Some(OF_LOOPBACK))
    } else if let Some(interface) = interface_of(address) {
        let of_lan = interface.broadcast.as_ref().and_then(|of| of.as_sockaddr_in());
        (interface.interface_name, of_lan.map(SockaddrIn::ip))
    } else {
        return Verdict::unchecked(format!("no interface shows whether {broadcast} is right"));
    };
    match of_lan {
        Some(of_lan) if of_lan != *broadcast.ip() => Verdict::wrong(
            format!(
                "{broadcast} is not at the broadcast address of {name}: no other node hears this one"
            ),
            format!("set {of_lan}:{}", broadcast.port()),
        ),
        Some(_) => Verdict::good(format!("{broadcast} is the broadcast address of {name}")),
        None => Verdict::good(format!("{name} has no broadcast address to compare with")),
    }
}

/// The ports of beacons, links, HTTP and, under `ballot`, packets, and the interface of the latter.
pub(super) fn ports(settings: &Settings, running: Running) -> Vec<Finding> {
    let own = |port| SocketAddr::from((present(settings), port));
    let udp = |address| port("UDP", address, running, UdpSocket::bind(address).map(drop));
    let tcp = |address| port("TCP", address, running, TcpListener::bind(address).map(drop));
    let mut findings = vec![
        finding("broadcast", udp(own(settings.broadcast.port()))),
        finding("link_port", tcp(own(settings.link_port))),
    ];
    findings.extend(settings.http.map(|address| finding("http.address", tcp(address))));
    let Some(packets) = &settings.packets else {
        return findings;
    };
    findings.push(finding("ballot.port", udp(own(packets.port))));
    if let Some(name) = &packets.interface {
        findings.push(finding("ballot.interface", interface(name)));
    }
    findings
}

/// The port is taken for a moment: nothing arrives in it.
fn port(kind: &str, address: SocketAddr, running: Running, bound: io::Result<()>) -> Verdict {
    let (address, port) = (address.ip(), format!("{kind} port {}", address.port()));
    let Err(error) = bound else {
        return Verdict::good(format!("{port} is free"));
    };
    match error.kind() {
        ErrorKind::AddrInUse if running == Running::Yes => {
            Verdict::good(format!("{port} is in use by this node, which is running"))
        }
        ErrorKind::AddrInUse => Verdict::wrong(
            format!("{port} at {address} is in use by another process"),
            "stop that process (`ss -lunpt` shows it), or set another port or address",
        ),
        ErrorKind::AddrNotAvailable => Verdict::unchecked(format!(
            "{port} can't be tried: this machine does not have {address}"
        )),
        _ => Verdict::wrong(
            format!("{port} at {address} can't be used: {error}"),
            "set a port that the node's user may use, such as 1024 or above",
        ),
    }
}

fn interface(name: &str) -> Verdict {
    if interfaces().iter().any(|of| of.interface_name == name) {
        return Verdict::good(format!("{name} exists"));
    }
    let mut names: Vec<_> = interfaces().into_iter().map(|of| of.interface_name).collect();
    names.sort_unstable();
    names.dedup();
    Verdict::wrong(
        format!("there is no network interface {name}"),
        format!("use one of: {}", names.join(", ")),
    )
}

fn interface_of(address: Ipv4Addr) -> Option<InterfaceAddress> {
    interfaces().into_iter().find(|of| ipv4(of) == Some(address))
}

fn own() -> String {
    let own = interfaces();
    let own: Vec<_> = own.iter().filter_map(ipv4).map(|own| own.to_string()).collect();
    own.join(", ")
}

fn ipv4(of: &InterfaceAddress) -> Option<Ipv4Addr> {
    Some(of.address.as_ref()?.as_sockaddr_in()?.ip())
}

/// None if the system does not list them: then no address belongs to this machine.
fn interfaces() -> Vec<InterfaceAddress> {
    getifaddrs().map(Iterator::collect).unwrap_or_default()
}
