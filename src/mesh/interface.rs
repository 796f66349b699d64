//! The network interface behind an address.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use elevator_fleet::model::Mac;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;
use tracing::warn;

/// The MAC address of the interface that has this address (C7), or one made of the address:
/// loopback has none, and an interface that is down can't be found.
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

/// Every IPv4 address of the machine, with the number of its interface.
pub(super) fn all_addresses() -> BTreeSet<(u32, Ipv4Addr)> {
    let interfaces = interfaces();
    let address =
        |of: &InterfaceAddress| Some((if_nametoindex(of.interface_name.as_str()).ok()?, ipv4(of)?));
    interfaces.iter().filter_map(address).collect()
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
