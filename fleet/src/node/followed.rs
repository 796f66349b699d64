//! What has become of the calls that programs have placed, for as long as the fleet remembers their
//! requests.
//!
//! Nothing is kept for this but the receipts, which say which press or session came of a request. How
//! far that is follows from the order store and the sessions, at every node.

use elevator_driver::Floor;

use super::Node;
use super::orders::PressState;
use super::sessions::session_of;
use crate::directives::{Asked, RequestId, Session, SessionId};
use crate::model::{Call, NodeId};
use crate::orders::Service;

/// What has become of a call that a program has placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowedCall {
    /// A passenger's call.
    Call {
        /// The request.
        id: RequestId,
        /// The call that was placed.
        call: Call,
        /// How far it is.
        fate: Fate,
    },
    /// A robot's trip.
    Trip {
        /// The session in which it rides.
        id: SessionId,
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
    /// The calls that programs have placed, as far as the fleet remembers them; no order.
    #[must_use]
    pub fn followed_calls(&self) -> Vec<FollowedCall> {
        let directives = self.commands.directives();
        let placed = directives.requests().filter_map(|(id, receipt)| match receipt.asked()? {
            Asked::Call(call) => {
                let fate = match receipt.press {
                    None => Fate::Absorbed,
                    Some(press) => match self.orders.press_state(press, &call) {
                        PressState::Unknown => Fate::Unknown,
                        PressState::Open => Fate::Open,
                        PressState::Served(service) => Fate::Served(service),
                        PressState::Dropped => Fate::Dropped,
                    },
                };
                Some(FollowedCall::Call { id, call, fate })
            }
            Asked::Trip { from, to, car } => {
                let id = session_of(id)?;
                let session = directives.session(id)?;
                Some(FollowedCall::Trip { id, from, to, car, session })
            }
            Asked::Session => None,
        });
        placed.collect()
    }
}
