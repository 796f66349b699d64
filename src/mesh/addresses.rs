//! The network addresses and interfaces of this machine, and changes of them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_fleet::model::Mac;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::if_nametoindex;
use tokio::time::{Interval, MissedTickBehavior};
use tracing::warn;

const LOOK: Duration = Duration::from_millis(500);

pub(super) struct AddressChanges {
    looks: Interval,
    /// Each with the number of its interface: one that is made anew has another.
    known: BTreeSet<(u32, Ipv4Addr)>,
}

impl AddressChanges {
    pub(super) fn open() -> Self {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { looks, known: all_addresses() }
    }

    /// Waits for a change. Cancel-safe: no change is lost.
    pub(super) async fn changed(&mut self) {
        loop {
            self.looks.tick().await;
            let now = all_addresses();
            if now != self.known {
                self.known = now;
                return;
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnAddress {
    Fixed(Ipv4Addr),
    /// From the interface of this name, whatever gives it one.
    Of(String),
}

impl OwnAddress {
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            Self::Fixed(address) => address.is_loopback(),
            Self::Of(interface) => interface == "lo",
        }
    }
}

impl fmt::Display for OwnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(address) => address.fmt(f),
            Self::Of(interface) => f.pad(interface),
        }
    }
}

pub(crate) struct Residence {
    address: Option<Ipv4Addr>,
    followed: Option<(String, AddressChanges)>,
}

impl Residence {
    pub(crate) fn of(address: &OwnAddress) -> Self {
        match address {
            OwnAddress::Fixed(address) => Self { address: Some(*address), followed: None },
            OwnAddress::Of(interface) => {
                let changes = AddressChanges::open();
                let address = address_of(interface, None);
                Self { address, followed: Some((interface.clone(), changes)) }
            }
        }
    }

    /// The address; the unspecified one while the interface has none.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address.unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// Waits until the interface has another address; never completes for a fixed one. Cancel-safe.
    pub(crate) async fn moved(&mut self) -> Ipv4Addr {
        let Some((interface, changes)) = &mut self.followed else {
            return std::future::pending().await;
        };
        loop {
            changes.changed().await;
            let next = address_of(interface, self.address);
            if let Some(next) = next.filter(|next| Some(*next) != self.address) {
                return next;
            }
        }
    }
}

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

/// The IPv4 address of the interface of this name: the present one as long as it has that,
/// otherwise the first. One that it has given itself (RFC 3927) only if there is no other.
pub(crate) fn address_of(interface: &str, present: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    let all = interfaces();
    let of_it = all.iter().filter(|of| of.interface_name == interface).filter_map(ipv4);
    of_it.min_by_key(|address| (address.is_link_local(), Some(*address) != present))
}

fn all_addresses() -> BTreeSet<(u32, Ipv4Addr)> {
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
