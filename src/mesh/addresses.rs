//! The network addresses of this machine, and changes of them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior};

use super::interface::{address_of, all_addresses};

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

/// The node's own address, and the interface that it comes from, if it may change.
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
