//! The network interface behind an address.

use std::net::Ipv4Addr;

use elevator_fleet::model::Mac;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use tracing::warn;

/// The MAC address of the interface that has this address (C7).
///
/// Loopback has none, and an interface that is down can't be found: then it is made of the address,
/// which is different on every node as well.
pub(crate) fn mac_of(address: Ipv4Addr) -> Mac {
    if address.is_loopback() {
        return Mac::of(address);
    }
    find(address).unwrap_or_else(|| {
        let mac = Mac::of(address);
        warn!(%address, %mac, "no interface has this address, so its MAC address is unknown; set \
                               it with the key `mac`");
        mac
    })
}

/// The IPv4 address of the interface of this name: the present one as long as it has that, otherwise
/// the first. One that it has given itself (RFC 3927) only if there is no other.
pub(crate) fn address_of(interface: &str, present: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    let all = interfaces();
    let of_it = all.iter().filter(|of| of.interface_name == interface).filter_map(ipv4);
    of_it.min_by_key(|address| (address.is_link_local(), Some(*address) != present))
}

fn ipv4(of: &InterfaceAddress) -> Option<Ipv4Addr> {
    Some(of.address.as_ref()?.as_sockaddr_in()?.ip())
}

fn interfaces() -> Vec<InterfaceAddress> {
    let listed = getifaddrs().inspect_err(|error| warn!(%error, "the interfaces can't be listed"));
    listed.map(Iterator::collect).unwrap_or_default()
}

fn find(address: Ipv4Addr) -> Option<Mac> {
    let interfaces = interfaces();
    let holds = |of: &&InterfaceAddress| ipv4(of) == Some(address);
    let name = &interfaces.iter().find(holds)?.interface_name;
    let links = interfaces.iter().filter(|of| of.interface_name == *name);
    let mut macs = links.filter_map(|of| of.address.as_ref()?.as_link_addr()?.addr());
    macs.next().map(Mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C7
    #[test]
    fn loopback_has_an_address_made_of_its_own() {
        let mac = mac_of(Ipv4Addr::new(127, 0, 3, 4));
        assert_eq!(mac, Mac([2, 0, 127, 0, 3, 4]));
    }

    /// C7: every other address of this machine has that of its interface.
    #[test]
    fn an_address_of_an_interface_has_the_interfaces() {
        let link = |of: &nix::ifaddrs::InterfaceAddress| {
            let held = *of.address.as_ref()?.as_sockaddr_in()?;
            (!held.ip().is_loopback()).then(|| (held.ip(), of.interface_name.clone()))
        };
        let held: Vec<_> = getifaddrs().expect("interfaces").filter_map(|of| link(&of)).collect();
        for (address, name) in held {
            let file = format!("/sys/class/net/{name}/address");
            let text = std::fs::read_to_string(file).expect("its address");
            // A tunnel has none, or one of another length.
            if let Ok(mac) = text.trim().parse::<Mac>() {
                assert_eq!(mac_of(address), mac, "{name}");
            }
        }
    }
}
