//! One node: a state machine that takes events as inputs and returns actions.
//!
//! ```text
//!   beacon, frame, link, panel, disk, operator, timer
//!        │ handle_*(…, now)
//!        ▼
//!       Node ──▶ Leadership, Peers, Store, Dispatching, Services, Cabin
//!        │            each owns its state, and changes no other
//!        │ ◀───────── wishes, verdicts, effects, changes
//!        ▼ poll_action(), poll_timeout()
//!   panel; broadcast, dial, send, persist, report; plan ─▶ Dispatcher, on another thread
//! ```
//!
//! Each `handle_*` takes one input and then settles: stops and lamps, changes for the disk and the
//! peers, and a plan if the node is master. Panel outputs come before all other actions. The driver
//! drains [`Node::poll_action`] after each call and sleeps until [`Node::poll_timeout`].
//!
//! `inputs/` has the inputs, `settle.rs` what follows from each of them, `routes/` the ways between
//! the components, and `status/` how things are. Each component is documented on its first page.

mod action;
mod inputs;
mod routes;
mod settings;
mod settle;
mod status;

use std::collections::VecDeque;

use crate::cabin::Cabin;
use crate::car::CarTimer;
use crate::election::ElectionTimer;
use crate::leadership::Leadership;
use crate::model::{BuildingHash, Hello};
use crate::peers::Peers;
use crate::plan::Dispatching;
use crate::services::Services;
use crate::store::Store;

pub use crate::cabin::{CarStatus, ClimateStatus, ClimateTimer, UnitStatus, health};
pub use crate::leadership::unserved_limit;
pub use crate::model::MeshTimes;
pub use crate::peers::{BeaconFate, ConflictKind, LossCause, misfit, unreadable};
pub use crate::plan::{PlanRequest, PlanVersion};
pub use crate::report::Report;
pub use action::Action;
pub use inputs::{CallRequest, Press, Pressed, Requested};
pub use settings::{Identity, NodeSettings};
pub use status::{
    AccessStatus, ConflictStatus, DispatchStatus, FleetKeysStatus, FollowedCall, HangStatus,
    LostStatus, OrderStatus, PeerStatus, ReleaseStatus, ScheduleStatus, SettingStatus, Status,
};

pub use crate::election::LinkSide;
pub use crate::services::access::{Access, LONGEST_RELEASE, OrderRefused, ReleaseRefused};
pub use crate::services::command::{Command, CommandRefused};
pub use crate::services::sessions::{LONGEST_HOLD, SessionRefused, SessionRequest};
pub use crate::store::{Change, Fate, Lsn, Refused as RefusedStatus, Restored, Taken};
pub use crate::wire::LinkId;

#[derive(Debug)]
pub struct Node {
    hello: Hello,
    leadership: Leadership,
    peers: Peers,
    store: Store,
    dispatching: Dispatching,
    services: Services,
    cabin: Cabin,
    random: fastrand::Rng,
    actions: VecDeque<Action>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    Beacon,
    /// A peer may have to be probed, or may be lost.
    Membership,
    Election(ElectionTimer),
    /// A peer may have to be dialled.
    Pairing,
    /// The plan is reconsidered because calls wait, or a requested plan has not arrived.
    Plan,
    Car(CarTimer),
    Climate(ClimateTimer),
    /// On emergency power it may be another car's turn.
    Turn,
    /// A session may get a car, or has lasted for too long.
    Session,
}

impl NodeSettings {
    fn hello(&self) -> Hello {
        let Identity { fleet, node, address, mac, role, nonce, link_port: _ } =
            self.identity.clone();
        Hello {
            fleet,
            node,
            address,
            nonce,
            floors: self.building.floors(),
            building: BuildingHash::of(&self.building),
            protocol: self.election.protocol(),
            mac,
            role,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
