//! What is asked of the node's loop.

use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::model::Timestamp;
use elevator_fleet::node::{
    Access, CallRequest, Command, CommandRefused, FollowedCall, Node, OrderRefused, ReleaseRefused,
    Requested, SessionRefused, SessionRequest, Status,
};
use elevator_fleet::settings::{RequestId, Session, SessionEnd, SettingError};
use tokio::sync::oneshot;
use tracing::debug;

use crate::journal::{Account, AuditRecord};
use crate::mesh::Cable;
use crate::statistics::{Changes, Quarter, Slot};
use crate::tokens::{Change as TokenChange, TokenRefused};
use liftmesh_api::Presses;

/// The bound of the queue to the node's loop; when it is full, clients wait for 2 s at most.
pub(crate) const REQUESTS: usize = 16;

/// The bound of the queue of events; a client that falls behind learns how many it misses.
pub(crate) const EVENTS: usize = 1024;

/// Where the answer to a request goes. To drop it is to give none.
#[derive(Debug)]
pub(crate) struct Reply<T>(pub(super) oneshot::Sender<T>);

impl<T> Reply<T> {
    pub(crate) fn send(self, answer: T) {
        if self.0.send(answer).is_err() {
            debug!("an operator did not wait for the answer");
        }
    }
}

/// A request to the node's loop; `src/runtime/answer.rs` says how each is answered.
#[derive(Debug)]
pub(crate) enum Request {
    Status(Reply<Box<Status>>),
    OfNode(NodeRequest),
    /// Fault injection: cuts the node off the mesh, or connects it again, if that is allowed.
    Network(Cable, Reply<FaultInjection>),
    Release {
        floor: Floor,
        time: Duration,
        account: Account,
        reply: Reply<Result<(), ReleaseRefused>>,
    },
    Token {
        change: TokenChange,
        by: Author,
        reply: Reply<Result<(), TokenError>>,
    },
    /// The receiver gets the audit log, for which the loop does not wait; nothing if it can't be
    /// read.
    Audit(Reply<oneshot::Receiver<Vec<AuditRecord>>>),
    Presses(Reply<Presses>),
    /// As the audit log.
    Statistics(Reply<oneshot::Receiver<Vec<(Slot, Quarter)>>>),
    /// Changes of the statistics, for the journal. Answered with why they are not queued for the
    /// disk.
    KeepStatistics(Changes, Reply<Result<(), String>>),
}

/// A request that the brain answers by itself.
#[derive(Debug)]
pub(crate) enum NodeRequest {
    Follow(RequestId, Reply<Option<FollowedCall>>),
    /// Answered with the command as it is carried out.
    Command(Command, Author, Reply<Result<Command, CommandRefused>>),
    Place(CallRequest, Reply<Result<Requested, OrderRefused>>),
    /// What became of it before, if it is remembered.
    Earlier(CallRequest, Reply<Option<Requested>>),
    /// Answered with the session, and whether it is new.
    OpenSession(SessionRequest, Reply<Result<(Session, bool), SessionRefused>>),
    ChangeSession {
        id: RequestId,
        change: SessionChange,
        bearer: String,
        reply: Reply<Result<Session, SessionRefused>>,
    },
}

impl Request {
    /// Whose it is, if it goes into the audit log.
    pub(crate) fn author(&self) -> Option<Author> {
        match self {
            Self::Token { by: author, .. } | Self::OfNode(NodeRequest::Command(_, author, _)) => {
                Some(author.clone())
            }
            Self::OfNode(NodeRequest::ChangeSession { change, bearer, .. }) => match change {
                SessionChange::Stop(account) => {
                    let (operator, account) = (bearer.clone(), account.clone());
                    Some(Author { operator, reason: None, account })
                }
                SessionChange::Floor { .. } | SessionChange::End | SessionChange::Withdraw => None,
            },
            _ => None,
        }
    }
}

impl NodeRequest {
    pub(crate) fn answer(self, node: &mut Node, now: Timestamp) {
        match self {
            Self::Follow(id, reply) => reply.send(node.followed_call(id)),
            Self::Command(command, Author { operator, reason, .. }, reply) => {
                reply.send(node.handle_command(command, &operator, reason.as_deref(), now));
            }
            Self::Place(request, reply) => reply.send(node.handle_request(&request, now)),
            Self::Earlier(request, reply) => reply.send(node.earlier(&request)),
            Self::OpenSession(request, reply) => reply.send(node.handle_session(&request, now)),
            Self::ChangeSession { id, change, bearer, reply } => {
                let end = match change {
                    SessionChange::Floor { floor, seconds, access } => {
                        let by = (access, bearer.as_str());
                        return reply.send(node.handle_session_floor(id, floor, seconds, by, now));
                    }
                    SessionChange::End => None,
                    SessionChange::Withdraw => Some(SessionEnd::Withdrawn),
                    SessionChange::Stop(_) => Some(SessionEnd::Operator),
                };
                reply.send(node.handle_session_end(id, end, &bearer, now));
            }
        }
    }
}

/// Who gives a command at this node, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Author {
    pub(crate) operator: String,
    pub(crate) reason: Option<String>,
    pub(crate) account: Account,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionChange {
    Floor {
        floor: Floor,
        seconds: Option<u16>,
        access: Access,
    },
    End,
    /// The robot no longer needs the trip for which it has called a car.
    Withdraw,
    Stop(Account),
}

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
