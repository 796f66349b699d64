//! Which nodes have proven by their beacons that they hear this one, as far as the sockets have to
//! know, and how far their beacons have come, which dates the packets that name them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use elevator_fleet::wire::Nonce;
use tokio::sync::watch;

pub(crate) type Peers = BTreeSet<Incarnation>;

pub(super) type Incarnation = (Ipv4Addr, Nonce);

/// Each peer that counts, with the highest sequence of its beacons since then. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Proven(pub(super) watch::Sender<BTreeMap<Incarnation, Option<u64>>>);

impl Proven {
    /// Only these count from now on.
    pub(super) fn set(&self, peers: &Peers) {
        self.0.send_modify(|known| {
            known.retain(|peer, _| peers.contains(peer));
            for peer in peers {
                known.entry(*peer).or_default();
            }
        });
    }

    /// Notes a beacon of this incarnation. One that was recorded makes no packet look younger.
    pub(super) fn note(&self, incarnation: Incarnation, sequence: u64) {
        self.0.send_if_modified(|known| {
            if let Some(latest) = known.get_mut(&incarnation) {
                *latest = (*latest).max(Some(sequence));
            }
            false
        });
    }

    pub(super) fn latest(&self, peer: Incarnation) -> Option<u64> {
        self.0.borrow().get(&peer).copied().flatten()
    }

    pub(super) fn is_at(&self, address: Ipv4Addr) -> bool {
        is_at(&self.0.borrow(), address)
    }

    pub(super) async fn wait_for(&self, address: Ipv4Addr) {
        // It can't fail: the sender is here.
        self.0.subscribe().wait_for(|peers| is_at(peers, address)).await.ok();
    }
}

fn is_at(peers: &BTreeMap<Incarnation, Option<u64>>, address: Ipv4Addr) -> bool {
    peers.range((address, Nonce(0))..=(address, Nonce(u64::MAX))).next().is_some()
}
