//! What the tests of all protocols share: nodes, and the model.
//!
//! Nodes are numbered, and ranked by their numbers.

pub(super) mod model;

use core::net::Ipv4Addr;

use super::Candidate;
use crate::model::{Mac, NodeId, Role};
use crate::wire::Standing;

pub(crate) fn name(index: u8) -> NodeId {
    NodeId::new(&format!("N{index}")).expect("a name")
}

pub(crate) fn address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, index)
}

/// A cabin that estimates itself at 0.
pub(super) fn candidate(index: u8) -> Candidate {
    let address = address(index);
    Candidate {
        node: name(index),
        address,
        mac: Mac::of(address),
        role: Role::Cabin,
        estimate: 0,
    }
}

pub(super) fn control_unit(index: u8) -> Candidate {
    let role = Role::ControlUnit;
    Candidate {
        role,
        ..candidate(index)
    }
}

pub(super) fn slave_of(index: u8) -> Standing {
    Standing::Slave {
        master: name(index),
    }
}
