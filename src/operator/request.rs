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

/// What is asked of the node's loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Query {
    /// `Node::status`: answered by [`Reply::Status`].
    Status,
    /// `Node::followed_call`: answered by [`Reply::Followed`].
    Follow(RequestId),
    /// `Node::handle_order_with`: answered by [`Reply::Order`].
    Order(Call, Right),
    /// `Mesh::set_cable`: answered by [`Reply::Network`].
    Network(Cable),
    /// `Node::handle_command`: answered by [`Reply::Command`].
    Command(Command, Author),
    /// `Node::handle_request`: answered by [`Reply::Requested`].
    Place(CallRequest),
    /// `Node::earlier`: answered by [`Reply::Earlier`].
    Earlier(CallRequest),
    /// `Node::handle_session`: answered by [`Reply::Session`].
    OpenSession(SessionRequest),
    /// `Node::handle_session_floor`, `Node::handle_session_end`: answered by [`Reply::Session`].
    ChangeSession { id: RequestId, change: SessionChange, bearer: String },
    /// `Node::handle_release`: answered by [`Reply::Released`].
    Release {
        floor: Floor,
        time: Duration,
        /// The account at the other end of the connection.
        account: Account,
    },
    /// `Node::handle_setting`: answered by [`Reply::Token`].
    Token {
        change: TokenChange,
        operator: String,
        /// The account at the other end of the connection.
        account: Account,
    },
    /// The journal's audit log: answered by [`Reply::Audit`].
    Audit,
    /// `Node::presses`: answered by [`Reply::Presses`].
    Presses,
    /// The journal's statistics: answered by [`Reply::Statistics`].
    Statistics,
    /// Changes of the statistics, for the journal: answered by [`Reply::StatisticsKept`].
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
    /// The node's state.
    Status(Box<Status>),
    /// The node's state, and how far the calls of programs are.
    Followed(Option<FollowedCall>),
    /// What became of an order.
    Order(Result<Taken, OrderRefused>),
    /// Whether faults may be injected; the network is as was wanted only then.
    Network(FaultInjection),
    /// The command as it is carried out, or why it is refused.
    Command(Result<Command, CommandRefused>),
    /// What became of a program's request.
    Requested(Result<Requested, OrderRefused>),
    /// What became of it before, if it is remembered.
    Earlier(Option<Requested>),
    /// The session, and whether it is new.
    Session(Result<(Session, bool), SessionRefused>),
    /// What became of the release of a floor.
    Released(Result<(), ReleaseRefused>),
    /// What became of a token.
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
    /// The request is not what is expected.
    Malformed,
    /// The building has no such button.
    NoSuchButton,
    /// So many destination calls that were placed at this node are open.
    TooManyTrips,
    /// Neither the node nor any node that it hears has this car: the order would stay open forever.
    UnknownCar,
    /// The node does not run with `--allow-faults`.
    FaultsNotAllowed,
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
