//! The lines on the socket.

use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Mode;
use elevator_fleet::node::Status;
use serde::{Deserialize, Serialize};

use super::Event;
use crate::journal::AuditRecord;
use crate::mesh::Cable;
use crate::presses::PressStatus;
use crate::tokens::Change as TokenChange;

/// The longest request, in bytes, with its line feed; a longer one is answered with
/// [`ErrorCode::Malformed`] and skipped.
pub(super) const LONGEST_QUERY: usize = 4 * 1024;

/// A request, such as `{"query":"order","call":{"kind":"hall","floor":3,"direction":"up"}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub(crate) enum QueryLine {
    /// The node's state: answered by [`ReplyLine::Status`].
    Status,
    /// An order, as if its button had been pressed: answered by [`ReplyLine::Placed`] or
    /// [`ReplyLine::Absorbed`].
    Order {
        /// What is asked for.
        call: CallForm,
        /// Whether its passenger has shown a right of access: then no locked floor refuses it; may be
        /// absent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        access: bool,
    },
    /// Fault injection, for demo and tests only: starts or stops dropping everything that the node
    /// sends to the mesh or receives from it. Answered by [`ReplyLine::Rewired`]; refused by a node
    /// that does not run with `--allow-faults`.
    Network {
        /// From here on.
        cable: Cable,
    },
    /// Clears a hang. Answered by [`ReplyLine::NothingToClear`], because a node with a latch does
    /// not run. A node that is about to end does not answer.
    ClearHang { operator: String, reason: String },
    /// To set the service mode of a car, of this node or another one, until it is set again:
    /// answered by [`ReplyLine::Set`]. It goes into the audit log of this node.
    Mode {
        /// The car.
        car: String,
        /// Its mode.
        mode: Mode,
        operator: String,
        /// Why; may be absent.
        #[serde(default)]
        reason: Option<String>,
    },
    /// To recall all cars in a fire, or to end that: answered by [`ReplyLine::Set`]. It goes into the
    /// audit log of this node.
    FireRecall {
        /// What is to become of it.
        recall: Recall,
        operator: String,
        /// Why; may be absent.
        #[serde(default)]
        reason: Option<String>,
    },
    /// To lock a floor for the whole fleet, or to unlock it: answered by [`ReplyLine::Set`]. It goes
    /// into the audit log of this node.
    FloorLock {
        floor: Floor,
        /// Whether calls to it need a right of access.
        locked: bool,
        operator: String,
        /// Why; may be absent.
        #[serde(default)]
        reason: Option<String>,
    },
    /// To release a locked floor in the car of this node: answered by [`ReplyLine::Released`].
    Release {
        floor: Floor,
        /// For how many seconds: 1 to 60.
        seconds: u8,
    },
    /// To send a car to a floor with priority: answered by [`ReplyLine::Sent`]; or to end that:
    /// answered by [`ReplyLine::Set`]. It goes into the audit log of this node.
    Priority {
        /// The car; absent: the one that gets there first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        car: Option<String>,
        /// Where to; absent: its priority call ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        floor: Option<u8>,
        operator: String,
        /// Why; may be absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// To say that the building runs on emergency power, or no longer does: answered by
    /// [`ReplyLine::Set`]. It goes into the audit log of this node.
    EmergencyPower {
        /// What is to become of it.
        power: Recall,
        /// The car that is to serve once all are down; may be absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        car: Option<String>,
        operator: String,
        /// Why; may be absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// To make or revoke a token of the HTTP API, of the whole fleet: answered by [`ReplyLine::Set`].
    /// It goes into the audit log of this node.
    Token {
        #[serde(flatten)]
        change: TokenChange,
        operator: String,
    },
    /// The audit log: answered by [`ReplyLine::Audit`].
    Audit,
    /// The latest presses of the node's own panel: answered by [`ReplyLine::Presses`].
    Presses,
    /// Every event from here on: answered by [`ReplyLine::Watching`], and then by
    /// [`ReplyLine::Event`] until the client closes the connection. No more requests are taken on
    /// it.
    Watch,
}

/// What is to become of a fire recall, or of emergency power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recall {
    Start,
    End,
}

/// A reply, or a line of a stream of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub(crate) enum ReplyLine {
    /// The node's state.
    Status {
        /// All of it.
        status: Box<Status>,
    },
    /// The node has taken the order in. Its lamp is lit, and so it is promised, only once
    /// [`OrderStatus::promised`](elevator_fleet::node::OrderStatus::promised) says so (F12).
    Placed,
    /// No order was made: a car is at the floor with its door open for that direction, and keeps it
    /// open for its dwell.
    Absorbed,
    /// The network is as was wanted.
    Rewired,
    /// The node runs and has no latch.
    NothingToClear,
    /// The node has the setting, and passes it on; its event is `register`.
    Set,
    /// The button of the floor in the car of this node places a call, for a while.
    Released,
    /// The node has the priority call, and passes it on; its event is `register`.
    Sent {
        /// The car that goes.
        car: String,
    },
    /// The audit log.
    Audit {
        /// Every record, the oldest first.
        records: Vec<AuditRecord>,
    },
    /// The latest presses.
    Presses {
        /// The oldest first.
        presses: Vec<PressStatus>,
        /// How many presses before them are no longer remembered.
        forgotten: u64,
    },
    /// Events follow.
    Watching,
    /// Something happened.
    Event {
        /// What and when.
        event: Event,
    },
    /// The client read too slowly and missed this many events.
    Missed {
        /// How many.
        events: u64,
    },
    /// The request failed. The connection stays open.
    Error {
        /// Why, for programs.
        code: ErrorCode,
        /// Why, for people.
        message: String,
    },
}

/// Why a request was not fulfilled. Nothing was changed, except as said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The line is not a request.
    Malformed,
    /// The building has no such button.
    NoSuchButton,
    /// So many destination calls that were placed at this node are open.
    TooManyTrips,
    /// Neither the node nor any node that it hears has this car: the order would stay open forever.
    UnknownCar,
    /// The node does not run with `--allow-faults`.
    FaultsNotAllowed,
    /// The socket is for reading: it takes `status` and `watch`.
    ReadOnly,
    /// There are too many clients.
    Busy,
    /// All cars are recalled because of a fire.
    FireRecall,
    /// A fire recall is to end, and this node knows of none.
    NoFireRecall,
    /// The building runs on emergency power.
    EmergencyPower,
    /// The car takes no car calls in its present mode.
    NotInService,
    /// The floor is locked, and the call came without a right of access.
    FloorLocked,
    /// The fleet keeps no more settings.
    TooManySettings,
    /// There is a token of this name.
    NameTaken,
    /// There is no token of this name.
    NoToken,
    /// The fleet keeps no more tokens.
    TooManyTokens,
    /// The node runs without its disk, or can't read it.
    NoJournal,
    /// The node's loop does not answer. It is unknown whether an order was placed.
    NoAnswer,
}
