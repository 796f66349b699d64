//! What is asked of the node's loop, and what it answers.

use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::model::Call;
use elevator_fleet::node::{
    Access as Right, CallRequest, Command, CommandRefused, FollowedCall, OrderRefused,
    ReleaseRefused, Requested, SessionRefused, SessionRequest, Status, Taken,
};
use elevator_fleet::settings::{RequestId, Session, SettingError};
use tokio::sync::oneshot;

use crate::journal::{Account, AuditRecord};
use crate::mesh::Cable;
use crate::presses::PressStatus;
use crate::statistics::{Changes, Quarter, Slot};
use crate::tokens::{Change as TokenChange, TokenRefused};

/// The bound of the queue of requests to the node's loop. When it is full, clients wait for 2 s and
/// then get an error.
pub(crate) const REQUESTS: usize = 16;

/// The bound of the queue of events. A client that falls behind further misses the oldest events,
/// and learns how many.
pub(crate) const EVENTS: usize = 1024;

/// A request to the node's loop. One whose reply is dropped is answered with
/// [`ErrorCode::NoAnswer`].
#[derive(Debug)]
pub(crate) struct Request {
    /// What is asked.
    pub(crate) query: Query,
    /// The receiver of the answer; it is not an error if the client is gone.
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// What is asked of the node's loop; `src/runtime/answer.rs` says how each is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    Status,
    Follow(RequestId),
    Order(Call, Right),
    /// Fault injection: cuts the node off the mesh, or connects it again.
    Network(Cable),
    Command(Command, Author),
    Place(CallRequest),
    Earlier(CallRequest),
    OpenSession(SessionRequest),
    ChangeSession {
        id: RequestId,
        change: SessionChange,
        bearer: String,
    },
    Release {
        floor: Floor,
        time: Duration,
        /// The account at the other end of the connection.
        account: Account,
    },
    Token {
        change: TokenChange,
        operator: String,
        /// The account at the other end of the connection.
        account: Account,
    },
    /// The journal's audit log.
    Audit,
    Presses,
    /// The journal's statistics.
    Statistics,
    /// Changes of the statistics, for the journal.
    KeepStatistics(Changes),
}

/// Who gives a command at this node, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    pub(crate) operator: String,
    pub(crate) reason: Option<String>,
    /// The account at the other end of the connection.
    pub(crate) account: Account,
}

/// What becomes of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionChange {
    /// The robot asks for a floor.
    Floor { floor: Floor, seconds: Option<u16>, access: Right },
    /// It needs the car no more.
    End,
    /// It needs the trip no more for which it has called a car.
    Withdraw,
    /// An operator with this account ends it.
    Stop(Account),
}

/// Why a token was not made or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error(transparent)]
    Refused(#[from] TokenRefused),
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Whether faults may be injected over the node's socket: for demo and tests only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultInjection {
    /// As in every building.
    Refused,
    /// The node was started with `--allow-faults`.
    Allowed,
}

/// What the node's loop answers.
#[derive(Debug)]
pub(crate) enum Reply {
    Status(Box<Status>),
    Followed(Option<FollowedCall>),
    Order(Result<Taken, OrderRefused>),
    /// Whether faults may be injected; the network is as was wanted only then.
    Network(FaultInjection),
    /// The command as it is carried out, or why it is refused.
    Command(Result<Command, CommandRefused>),
    Requested(Result<Requested, OrderRefused>),
    /// What became of it before, if it is remembered.
    Earlier(Option<Requested>),
    /// The session, and whether it is new.
    Session(Result<(Session, bool), SessionRefused>),
    Released(Result<(), ReleaseRefused>),
    Token(Result<(), TokenError>),
    /// The receiver of the audit log, for which the loop does not wait; it gets nothing if the log
    /// can't be read.
    Audit(oneshot::Receiver<Vec<AuditRecord>>),
    /// The latest presses, and how many before them are forgotten.
    Presses(Vec<PressStatus>, u64),
    /// The receiver of the statistics, as that of the audit log.
    Statistics(oneshot::Receiver<Vec<(Slot, Quarter)>>),
    /// Whether the changes are queued for the disk, and if not, why.
    StatisticsKept(Result<(), String>),
}

/// Why a request was not fulfilled. Nothing was changed, except as said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    Malformed,
    NoSuchButton,
    /// So many destination calls that were placed at this node are open.
    TooManyTrips,
    /// Neither the node nor any node that it hears has this car: the order would stay open forever.
    UnknownCar,
    FaultsNotAllowed,
    FireRecall,
    /// A fire recall is to end, and this node knows of none.
    NoFireRecall,
    EmergencyPower,
    NotInService,
    FloorLocked,
    TooManySettings,
    NameTaken,
    NoToken,
    TooManyTokens,
    /// The node runs without its disk, or can't read it.
    NoJournal,
    /// The node's loop does not answer. It is unknown whether an order was placed.
    NoAnswer,
}
