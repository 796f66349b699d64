//! What has become of the calls that programs have placed, for as long as the fleet remembers their
//! requests.
//!
//! A request says which press or session came of it. How far a press is follows from the order store,
//! at every node.

use elevator_driver::Floor;

use crate::model::{Call, NodeId};
use crate::node::Node;
use crate::settings::{Asked, Request, RequestId, Session};
use crate::store::Fate;

/// What has become of a call that a program has placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowedCall {
    Call {
        call: Call,
        fate: Fate,
    },
    Trip {
        /// From where, as it was asked for.
        from: Floor,
        to: Floor,
        car: Option<NodeId>,
        session: Session,
    },
}

impl Node {
    /// What has become of a call that a program has placed, as long as the fleet remembers its request.
    /// `None` for a session that is no trip.
    #[must_use]
    pub fn followed_call(&self, id: RequestId) -> Option<FollowedCall> {
        match self.settings().request(id)?.clone() {
            Request::Call { call, press, .. } => {
                let fate = press.map_or(Fate::Absorbed, |press| self.store.fate(press, &call));
                Some(FollowedCall::Call { call, fate })
            }
            Request::Session(session) => {
                let Asked { floor: from, to, car, seconds: _ } = session.asked.clone();
                Some(FollowedCall::Trip { from, to: to?, car, session })
            }
        }
    }
}
