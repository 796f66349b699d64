//! Lost peers, for the operator.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Peer;
use crate::model::{Hello, NodeId, Role, Timestamp};

/// The most lost peers that are kept. The oldest one makes room for the next.
const MOST: usize = 64;

const KEPT_FOR: Duration = Duration::from_hours(24);

#[derive(Debug, Clone, Default)]
pub(crate) struct LostPeers(BTreeMap<NodeId, LostPeer>);

/// A peer as it was when last heard.
#[derive(Debug, Clone)]
pub(crate) struct LostPeer {
    pub(crate) address: Ipv4Addr,
    pub(crate) role: Role,
    pub(crate) heard_at: Timestamp,
}

/// The reason for a loss, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossCause {
    /// Unknown: it fell silent because it stopped or failed, or because the network did.
    Silent,
    /// Its car hung (F9). Its node stays down until an operator clears the hang.
    Hung,
}

impl LostPeers {
    pub(super) fn add(&mut self, name: NodeId, peer: &Peer) {
        let oldest = self.0.iter().min_by_key(|(_, lost)| lost.heard_at);
        if self.0.len() >= MOST
            && let Some(oldest) = oldest.map(|(name, _)| name.clone())
        {
            self.0.remove(&oldest);
        }
        let Hello { address, role, .. } = peer.hello;
        self.0.insert(name, LostPeer { address, role, heard_at: peer.heard_at });
    }

    pub(crate) fn get(&self, name: &NodeId) -> Option<&LostPeer> {
        self.0.get(name)
    }

    pub(super) fn remove(&mut self, name: &NodeId) {
        self.0.remove(name);
    }

    /// The peers that were heard within the last day, by name.
    pub(crate) fn recent(&self, now: Timestamp) -> impl Iterator<Item = (&NodeId, &LostPeer)> {
        self.0.iter().filter(move |(_, lost)| now.since(lost.heard_at) < KEPT_FOR)
    }
}
