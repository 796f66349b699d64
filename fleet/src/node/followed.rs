//! What has become of the calls that programs have placed, for as long as the fleet remembers their
//! requests.
//!
//! Nothing is kept for this but the receipts, which say which press or session came of a request. How
//! far that is follows from the order store and the sessions, at every node.

use elevator_driver::Floor;

use super::Node;
use crate::directives::{Asked, RequestId, Session};
use crate::model::{Call, NodeId};
use crate::store::Fate;

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

impl Node {
    /// What has become of a call that a program has placed, as long as the fleet remembers its request.
    /// `None` for a session that is no trip.
    #[must_use]
    pub fn followed_call(&self, id: RequestId) -> Option<FollowedCall> {
        let directives = self.services.commands.directives();
        let receipt = directives.receipt(id)?;
        match receipt.asked()? {
            Asked::Call(call) => {
                let fate = match receipt.press {
                    None => Fate::Absorbed,
                    Some(press) => self.store.fate(press, &call),
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
