//! The network: the addresses are this machine's, the ports are free.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::SockaddrIn;

use elevator_fleet::wire::Protocol;

use super::{Finding, Verdict, finding};
use crate::config::Settings;
use crate::mesh;
use crate::mesh::OwnAddress;

/// The broadcast address of 127.0.0.0/8.
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
    let address = present(settings);
    let election = settings.election.protocol();
    if let Verdict::Wrong { what, remedy } = interface(name) {
        return Verdict::Wrong { what, remedy };
    }
    if address.is_unspecified() {
        return Verdict::warning(
            format!("{name} has no IPv4 address: the node serves alone until it has one"),
            "give the interface an address, or see why it gets none",
        );
    }
    if election == Protocol::LowestIp {
        return Verdict::warning(
            format!("{name} has {address}, and under lowest-ip the master changes with addresses"),
            "choose another election for addresses that change, such as bully (see ELECTIONS), or \
             have the address reserved for this node",
        );
    }
    Verdict::Good(format!(
        "{name} has {address}; the node follows its changes, and under {election} no address decides who \
         is master"
    ))
}

fn fixed(address: Ipv4Addr) -> Verdict {
    match interface_of(address) {
        Some(interface) => Verdict::Good(format!("{address} is on {}", interface.interface_name)),
        // All of 127.0.0.0/8 is local, whatever the interface lists.
        None if address.is_loopback() => Verdict::Good(format!("{address} is on loopback")),
        None => Verdict::wrong(
            format!("no interface of this machine has {address}"),
            format!("give the interface this address, or set one that there is: {}", own()),
        ),
    }
}

pub(super) fn broadcast(address: Ipv4Addr, broadcast: SocketAddrV4) -> Verdict {
    if broadcast.ip().is_multicast() {
        return Verdict::Good(format!("{broadcast} is a multicast group"));
    }
    if address.is_loopback() {
        return on_loopback(broadcast);
    }
    let Some(interface) = interface_of(address) else {
        return Verdict::Unchecked(format!("no interface shows whether {broadcast} is right"));
    };
    let of_lan = interface.broadcast.as_ref();
    let of_lan = of_lan.and_then(|of| of.as_sockaddr_in()).map(SockaddrIn::ip);
    match of_lan {
        Some(of_lan) if of_lan != *broadcast.ip() => Verdict::wrong(
            format!(
                "{} is not the broadcast address of {}, which has {address}",
                broadcast.ip(),
                interface.interface_name
            ),
            format!("set {of_lan}:{}", broadcast.port()),
        ),
        Some(_) => Verdict::Good(format!("{broadcast} is that of {}", interface.interface_name)),
        None => Verdict::Good(format!(
            "{} has no broadcast address to compare with",
            interface.interface_name
        )),
    }
}

/// A datagram to one address of 127.0.0.0/8 reaches the node there alone.
fn on_loopback(broadcast: SocketAddrV4) -> Verdict {
    if *broadcast.ip() == OF_LOOPBACK {
        return Verdict::Good(format!("{broadcast} stays on this machine"));
    }
    Verdict::wrong(
        format!(
            "{broadcast} is not the broadcast address of loopback: no other node hears this one"
        ),
        format!("set {OF_LOOPBACK}:{}", broadcast.port()),
    )
}

/// The ports of beacons, links and, under `ballot`, packets, and the interface of the latter.
pub(super) fn ports(settings: &Settings, running: bool) -> Vec<Finding> {
    let address = present(settings);
    let (beacons, links) = (settings.broadcast.port(), settings.link_port);
    let udp = |port| UdpSocket::bind((address, port)).map(drop);
    let tcp = |port| TcpListener::bind((address, port)).map(drop);
    let mut findings = vec![
        finding("broadcast", port("UDP", address, beacons, running, udp)),
        finding("link_port", port("TCP", address, links, running, tcp)),
    ];
    let Some(packets) = &settings.packets else {
        return findings;
    };
    let verdict = port("UDP", address, packets.port, running, udp);
    findings.push(finding("ballot.port", verdict));
    if let Some(name) = &packets.interface {
        findings.push(finding("ballot.interface", interface(name)));
    }
    findings
}

/// The port is taken for a moment: nothing arrives in it.
fn port(
    kind: &str,
    address: Ipv4Addr,
    port: u16,
    running: bool,
    bind: impl Fn(u16) -> io::Result<()>,
) -> Verdict {
    match bind(port) {
        Ok(()) => Verdict::Good(format!("{kind} port {port} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse && running => {
            Verdict::Good(format!("{kind} port {port} is in use by this node, which runs"))
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => Verdict::wrong(
            format!("{kind} port {port} at {address} is in use by another process"),
            "end that process (`ss -lunpt` shows it), or set another port or address",
        ),
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
            Verdict::Unchecked(format!("{kind} port {port} has no address here"))
        }
        Err(error) => Verdict::wrong(
            format!("{kind} port {port} at {address} can't be used: {error}"),
            "set a port that the node's user may use, such as one from 1024 on",
        ),
    }
}

fn interface(name: &str) -> Verdict {
    if interfaces().iter().any(|of| of.interface_name == name) {
        return Verdict::Good(format!("{name} is there"));
    }
    let mut names: Vec<_> = interfaces().into_iter().map(|of| of.interface_name).collect();
    names.sort_unstable();
    names.dedup();
    Verdict::wrong(
        format!("there is no network interface {name}"),
        format!("set one that there is: {}", names.join(", ")),
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
