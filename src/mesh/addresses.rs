//! Changes of this machine's network addresses, as the kernel reports them over netlink.

use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::time::Duration;
use std::{fmt, io};

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{AsyncSocket, SocketAddr, TokioSocket};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tracing::{debug, warn};

use super::interface::address_of;

/// `RTMGRP_IPV4_IFADDR`: every IPv4 address that an interface gets or loses. An interface that is
/// made anew gets its address again.
const IPV4_ADDRESSES: u32 = 0x10;

/// Changes come in groups. The first one opens a window of this length, and all that come within it
/// count as one.
const WINDOW: Duration = Duration::from_millis(300);

/// How many reports are read at the end of a window; the rest opens the next one.
const READS: usize = 64;

/// How often an interface is looked at of which nothing is reported.
const LOOK: Duration = Duration::from_secs(10);

/// Reports changes of addresses, or nothing where the system does not offer them.
pub(super) struct AddressChanges {
    socket: Option<TokioSocket>,
    /// When the window closes that a change has opened.
    closes: Option<Instant>,
}

impl AddressChanges {
    /// Reports changes from now on.
    pub(super) fn open() -> Self {
        let socket = subscribe().inspect_err(|error| {
            warn!(
                %error,
                "the system reports no address changes: sockets are reopened only when datagrams \
                 can't be sent"
            );
        });
        Self { socket: socket.ok(), closes: None }
    }

    /// Waits for a change and the end of its window. Cancel-safe: no change is lost.
    pub(super) async fn changed(&mut self) {
        loop {
            if let Some(closes) = self.closes {
                tokio::time::sleep_until(closes).await;
                self.closes = None;
                self.discard();
                return;
            }
            let Some(socket) = &self.socket else {
                return std::future::pending().await;
            };
            // What a report says does not matter, so it may be cut.
            let report = poll_fn(|task| socket.poll_recv(task, &mut &mut [0; 64][..])).await;
            self.on_report(report);
        }
    }

    fn on_report(&mut self, report: io::Result<()>) {
        /// More came than the kernel keeps: some reports are lost.
        const ENOBUFS: i32 = 105;
        match report {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(ENOBUFS) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => {
                warn!(%error, "the system no longer reports address changes");
                self.socket = None;
                return;
            }
        }
        self.closes = Some(Instant::now() + WINDOW);
    }

    /// Reads the rest of the window's reports. An error occurs again at the next report.
    fn discard(&self) {
        let Some(socket) = &self.socket else {
            return;
        };
        let empty = |_: &usize| socket.socket_ref().recv(&mut &mut [0; 64][..], 0).is_err();
        let read = (0..READS).find(empty).unwrap_or(READS);
        debug!(more = read, "network addresses have changed");
    }
}

/// Where a node has its IPv4 address on the fleet's LAN from.
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
    followed: Option<Followed>,
}

struct Followed {
    interface: String,
    changes: AddressChanges,
    /// For where the system reports no changes, and for those that it has no room for.
    looks: Interval,
}

impl Residence {
    /// The present address. Changes count from now on.
    pub(crate) fn of(address: &OwnAddress) -> Self {
        match address {
            OwnAddress::Fixed(address) => Self { address: Some(*address), followed: None },
            OwnAddress::Of(interface) => {
                let (interface, changes) = (interface.clone(), AddressChanges::open());
                let mut looks = tokio::time::interval(LOOK);
                looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                let address = address_of(&interface, None);
                Self { address, followed: Some(Followed { interface, changes, looks }) }
            }
        }
    }

    /// The address; the unspecified one while the interface has none.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address.unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// Waits until the interface has another address in place of this one; never completes for an
    /// address that is configured. Cancel-safe.
    pub(crate) async fn moved(&mut self) -> Ipv4Addr {
        let Some(Followed { interface, changes, looks }) = &mut self.followed else {
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                () = changes.changed() => {}
                _ = looks.tick() => {}
            }
            let next = address_of(interface, self.address);
            if let Some(next) = next.filter(|next| Some(*next) != self.address) {
                return next;
            }
        }
    }
}

fn subscribe() -> io::Result<TokioSocket> {
    let mut socket = TokioSocket::new(NETLINK_ROUTE)?;
    socket.socket_mut().bind(&SocketAddr::new(0, IPV4_ADDRESSES))?;
    Ok(socket)
}
