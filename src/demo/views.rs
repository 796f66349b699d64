//! From what a node says on its operator's socket to what the scene shows of it.

use std::time::Duration;

use elevator_fleet::model::{Call, NodeId};

use super::scene::{NodeView, OrderScene, Standing};
use crate::operator::StatusView;
use crate::operator::view::{OrderView, StandingView};

/// A node's description of itself; names and floors that cannot be are left out.
pub(super) fn node(status: &StatusView) -> NodeView {
    let peers = status
        .peers
        .iter()
        .filter_map(|peer| NodeId::new(&peer.node).ok());
    let car = status.car.as_ref();
    NodeView {
        standing: standing(&status.standing),
        election: status.election_state.clone(),
        term: status.term,
        peers: peers.collect(),
        digest: status.digest.clone(),
        unavailable: car.and_then(|car| car.group.unavailable.clone()),
        orders: status.orders.iter().filter_map(order).collect(),
    }
}

fn standing(standing: &StandingView) -> Standing {
    match standing {
        StandingView::Seeking => Standing::Seeking,
        StandingView::Slave { master } => {
            NodeId::new(master).map_or(Standing::Seeking, Standing::Slave)
        }
        StandingView::Master => Standing::Master,
    }
}

fn order(order: &OrderView) -> Option<OrderScene> {
    Some(OrderScene {
        call: Call::try_from(&order.call).ok()?,
        age: Duration::try_from_secs_f64(order.waited).unwrap_or_default(),
        assignee: order.car.as_deref().and_then(|car| NodeId::new(car).ok()),
        holders: order.holders,
        promised: order.promised,
    })
}
