//! What has become of the calls that programs have placed, for as long as the fleet remembers their
//! requests.
//!
//! Nothing is kept for this but the receipts, which say which press or session came of a request. How
//! far that is follows from the order store and the sessions, at every node.

use elevator_driver::Floor;

use super::Node;
use crate::directives::{Asked, RequestId, Session};
use crate::model::{Call, NodeId};
use crate::orders::Service;

/// What has become of a call that a program has placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowedCall {
    /// A passenger's call.
    Call {
        /// The call that was placed.
        call: Call,
        /// How far it is.
        fate: Fate,
    },
    /// A robot's trip.
    Trip {
        /// From where, as it was asked for.
        from: Floor,
        /// To where.
        to: Floor,
        /// The car that was asked for.
        car: Option<NodeId>,
        /// How far it is.
        session: Session,
    },
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Its order is not known here: it is on its way, or was lost together with the node that took it.
    Unknown,
    /// Its order is open.
    Open,
    /// There was no order: a car stood there with its door open.
    Absorbed,
    /// A car has served it.
    Served(Service),
    /// It was dropped in a fire recall.
    Dropped,
}

impl Node {
    /// What has become of a call that a program has placed, as long as the fleet remembers its request.
    /// `None` for a session that is no trip.
    #[must_use]
    pub fn followed_call(&self, id: RequestId) -> Option<FollowedCall> {
        let directives = self.commands.directives();
        let receipt = directives.receipt(id)?;
        match receipt.asked()? {
            Asked::Call(call) => {
                let fate = match receipt.press {
                    None => Fate::Absorbed,
                    Some(press) => self.orders.fate(press, &call),
                };
                Some(FollowedCall::Call { call, fate })
            }
            Asked::Trip { from, to, car } => {
                let session = directives.session(id)?.clone();
                Some(FollowedCall::Trip { from, to, car, session })
            }
            Asked::Session => None,
        }
    }
}
