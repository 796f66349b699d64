//! Which nodes have proven by their beacons that they hear this one, as far as the sockets have to
//! know.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use elevator_fleet::wire::Nonce;
use tokio::sync::watch;

use super::greeting::GreetingError;

/// The address and the incarnation of each peer that counts.
pub(crate) type Peers = BTreeSet<(Ipv4Addr, Nonce)>;

#[derive(Debug, Clone)]
pub(super) struct Proven(watch::Receiver<Peers>);

impl Proven {
    /// Nobody, until the sender names somebody.
    pub(super) fn nobody() -> (watch::Sender<Peers>, Self) {
        let (sender, receiver) = watch::channel(Peers::new());
        (sender, Self(receiver))
    }

    /// Whether there is a peer at this address.
    pub(super) fn is_at(&self, address: Ipv4Addr) -> bool {
        is_at(&self.0.borrow(), address)
    }

    /// Whether there is a peer of this incarnation at this address.
    pub(super) fn is(&self, address: Ipv4Addr, incarnation: Nonce) -> bool {
        self.0.borrow().contains(&(address, incarnation))
    }

    /// Waits until there is a peer at this address.
    pub(super) async fn wait_for(&mut self, address: Ipv4Addr) -> Result<(), GreetingError> {
        let found = self.0.wait_for(|peers| is_at(peers, address)).await;
        found.map(drop).map_err(|_closed| GreetingError::Unproven)
    }
}

fn is_at(peers: &Peers, address: Ipv4Addr) -> bool {
    let all = Nonce(0)..=Nonce(u64::MAX);
    peers.range((address, *all.start())..=(address, *all.end())).next().is_some()
}
