//! The node's side of the socket.

use std::io;
use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, Mode, NodeId};
use elevator_fleet::node::{
    Access as Right, CallRequest, FireRecall, FloorLock, FollowedCall, OrderRefused,
    PriorityRefused, ReleaseRefused, Requested, SessionRefused, SessionRequest, Status, Taken,
};
use elevator_fleet::settings::{RequestId, Session, SettingError};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, SocketAddr};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::node_loop::{ANSWER_LIMIT, NodeLoop, Refused};
use super::protocol::{ErrorCode, LONGEST_QUERY, QueryLine, Recall, ReplyLine};
use super::socket::OperatorSocket;
use super::{Event, words};
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

/// The most connections at a time; a further one gets an error and is closed.
const CLIENTS: usize = 64;

/// The same on the socket for reading, so that readers don't keep operators out.
const READERS: usize = 32;

/// How long a client may take to read a line; one that is slower is disconnected.
const WRITE_LIMIT: Duration = Duration::from_secs(5);

/// The user id if the system does not report one.
const NOBODY: u32 = 65_534;

/// After an accept that failed, as it does where the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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
    /// Whether there is a hang to clear: answered by [`Reply::NothingToClear`].
    ClearHang,
    /// `Node::handle_mode`, `Node::handle_fire_recall`, `Node::handle_floor_lock`: answered by
    /// [`Reply::Setting`].
    Setting {
        command: Command,
        operator: String,
        reason: Option<String>,
        /// The account at the other end of the connection.
        account: Account,
    },
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

/// What is to hold until it is commanded otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// The service mode of a car, of this node or another one.
    Mode { car: NodeId, mode: Mode },
    /// A fire recall of all cars.
    FireRecall(FireRecall),
    /// The lock of a floor.
    FloorLock { floor: Floor, lock: FloorLock },
    /// A priority call of a car, or of the one that gets there first; its end, if there is no floor.
    Priority { car: Option<NodeId>, floor: Option<Floor> },
    /// Emergency power, with the car that is to serve.
    EmergencyPower { on: bool, serving: Option<NodeId> },
}

/// Why a token was not made or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error(transparent)]
    Refused(#[from] TokenRefused),
    #[error(transparent)]
    Setting(#[from] SettingError),
}

/// Whether faults may be injected over the operator's socket: for demo and tests only.
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
    /// The node runs, so its car does not hang.
    NothingToClear,
    /// What became of a setting; the car that was sent, if it is a priority call.
    Setting(Result<Option<NodeId>, PriorityRefused>),
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

/// Serves clients, if the socket could be bound, each by itself, until `shutdown` completes. Then
/// the connections are closed and the socket's file is removed.
///
/// # Errors
/// The socket can't be handed to the runtime.
pub(crate) async fn serve(
    socket: OperatorSocket,
    node_loop: NodeLoop,
    events: broadcast::Sender<Event>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let own = listener(socket.listener())?;
    let reading = listener(socket.reading())?;
    let (mut operators, mut readers) = (JoinSet::new(), JoinSet::new());
    tokio::pin!(shutdown);
    loop {
        let (accepted, access) = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = operators.join_next() => continue,
            Some(_) = readers.join_next() => continue,
            accepted = accept(own.as_ref()) => (accepted, Access::Full),
            accepted = accept(reading.as_ref()) => (accepted, Access::Reading),
        };
        let (clients, most) = match access {
            Access::Full => (&mut operators, CLIENTS),
            Access::Reading => (&mut readers, READERS),
        };
        match accepted {
            Ok((stream, _)) if clients.len() < most => {
                let client = accompany(stream, access, node_loop.clone(), events.clone());
                clients.spawn(client);
            }
            Ok((stream, _)) => turn_away(&stream, most),
            Err(error) => {
                warn!(%error, "an operator's connection could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    operators.shutdown().await;
    readers.shutdown().await;
    Ok(())
}

/// What a client may ask, by the socket that it came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Everything.
    Full,
    /// Status and events.
    Reading,
}

fn listener(socket: Option<&std::os::unix::net::UnixListener>) -> io::Result<Option<UnixListener>> {
    let listener =
        |socket: &std::os::unix::net::UnixListener| UnixListener::from_std(socket.try_clone()?);
    socket.map(listener).transpose()
}

/// The next connection; never completes without a socket.
async fn accept(listener: Option<&UnixListener>) -> io::Result<(UnixStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

fn turn_away(stream: &UnixStream, most: usize) {
    let reply =
        ReplyLine::from(error(ErrorCode::Busy, format!("the node serves {most} clients already")));
    // A client that doesn't take it at once finds a closed connection, which says as much.
    let told_it = serde_json::to_vec(&reply).map_err(io::Error::from).and_then(|mut line| {
        line.push(b'\n');
        stream.try_write(&line)
    });
    let told_it = told_it.is_ok();
    warn!(told_it, "an operator's connection was refused");
}

pub(super) async fn accompany(
    stream: UnixStream,
    access: Access,
    node_loop: NodeLoop,
    events: broadcast::Sender<Event>,
) {
    let (reader, writer) = stream.into_split();
    let connection = Connection { reader: BufReader::new(reader), writer, node_loop, access };
    if let Err(error) = connection.run(&events).await {
        debug!(%error, "an operator's connection broke");
    }
}

/// One client.
struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    node_loop: NodeLoop,
    access: Access,
}

impl Connection {
    async fn run(mut self, events: &broadcast::Sender<Event>) -> io::Result<()> {
        while let Some(line) = self.next_line().await? {
            let query = line.and_then(|line| {
                serde_json::from_slice(&line).map_err(|cause| {
                    error(ErrorCode::Malformed, format!("the line is no request: {cause}"))
                })
            });
            let reply = match query.and_then(|query| self.permitted(query)) {
                Ok(QueryLine::Watch) => return self.watch(events.subscribe()).await,
                Ok(QueryLine::Status) => self.status().await,
                Ok(QueryLine::Order { call, access }) => self.order(&call, access).await,
                Ok(QueryLine::ClearHang { operator, reason }) => {
                    self.clear_hang(&operator, &reason).await
                }
                Ok(QueryLine::Mode { car, mode, operator, reason }) => {
                    self.mode(&car, mode, &operator, reason.as_deref()).await
                }
                Ok(QueryLine::FireRecall { recall, operator, reason }) => {
                    self.fire_recall(recall, &operator, reason.as_deref()).await
                }
                Ok(QueryLine::FloorLock { floor, locked, operator, reason }) => {
                    let lock = if locked { FloorLock::Lock } else { FloorLock::Unlock };
                    let command = Command::FloorLock { floor, lock };
                    self.direct(command, &operator, reason.as_deref()).await
                }
                Ok(QueryLine::Release { floor, seconds }) => self.release(floor, seconds).await,
                Ok(QueryLine::Priority { car, floor, operator, reason }) => {
                    self.priority(car.as_deref(), floor, &operator, reason.as_deref()).await
                }
                Ok(QueryLine::EmergencyPower { power, car, operator, reason }) => {
                    self.emergency_power(power, car.as_deref(), &operator, reason.as_deref()).await
                }
                Ok(QueryLine::Token { change, operator }) => self.token(change, &operator).await,
                Ok(QueryLine::Audit) => self.audit().await,
                Ok(QueryLine::Presses) => self.presses().await,
                Ok(QueryLine::Network { cable }) => self.network(cable).await,
                Err(wrong) => Err(wrong),
            };
            self.send(&reply.unwrap_or_else(ReplyLine::from)).await?;
        }
        Ok(())
    }

    fn permitted(&self, query: QueryLine) -> Result<QueryLine, Refused> {
        let reads = match &query {
            QueryLine::Status | QueryLine::Watch => true,
            QueryLine::Order { .. }
            | QueryLine::Network { .. }
            | QueryLine::ClearHang { .. }
            | QueryLine::Mode { .. }
            | QueryLine::FireRecall { .. }
            | QueryLine::FloorLock { .. }
            | QueryLine::Release { .. }
            | QueryLine::Priority { .. }
            | QueryLine::EmergencyPower { .. }
            | QueryLine::Token { .. }
            | QueryLine::Audit
            | QueryLine::Presses => false,
        };
        if reads || self.access == Access::Full {
            return Ok(query);
        }
        Err(error(
            ErrorCode::ReadOnly,
            "this socket is for reading status and events; ask on the node's own socket, as its \
             own user"
                .to_owned(),
        ))
    }

    /// The next line, or the reply to one that is too long; `None` at the end. An incomplete last
    /// line is not a request.
    async fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, Refused>>> {
        let mut line = Vec::new();
        let limit = LONGEST_QUERY as u64;
        (&mut self.reader).take(limit).read_until(b'\n', &mut line).await?;
        if line.ends_with(b"\n") {
            return Ok(Some(Ok(line)));
        }
        if line.len() < LONGEST_QUERY {
            return Ok(None);
        }
        while !line.ends_with(b"\n") {
            line.clear();
            (&mut self.reader).take(limit).read_until(b'\n', &mut line).await?;
            if line.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(Err(error(
            ErrorCode::Malformed,
            format!("a request has at most {LONGEST_QUERY} bytes"),
        ))))
    }

    async fn status(&self) -> Result<ReplyLine, Refused> {
        let status = self.node_loop.status().await?;
        Ok(ReplyLine::Status { status })
    }

    async fn order(&self, form: &CallForm, access: bool) -> Result<ReplyLine, Refused> {
        let access = if access { Right::Granted } else { Right::Public };
        Ok(match self.node_loop.order(form, access).await? {
            Taken::Placed => ReplyLine::Placed,
            Taken::Absorbed => ReplyLine::Absorbed,
        })
    }

    async fn network(&self, cable: Cable) -> Result<ReplyLine, Refused> {
        match self.node_loop.ask(Query::Network(cable)).await? {
            Reply::Network(FaultInjection::Allowed) => Ok(ReplyLine::Rewired),
            Reply::Network(FaultInjection::Refused) => Err(error(
                ErrorCode::FaultsNotAllowed,
                "faults are not allowed here: they are for demo and tests, where the node runs \
                 with --allow-faults"
                    .to_owned(),
            )),
            _ => Err(Refused::no_answer()),
        }
    }

    async fn clear_hang(&self, operator: &str, reason: &str) -> Result<ReplyLine, Refused> {
        match self.node_loop.ask(Query::ClearHang).await? {
            Reply::NothingToClear => {
                info!(operator, reason, "asked to clear a hang: there is none");
                Ok(ReplyLine::NothingToClear)
            }
            _ => Err(Refused::no_answer()),
        }
    }

    async fn mode(
        &self,
        car: &str,
        mode: Mode,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<ReplyLine, Refused> {
        let car =
            NodeId::new(car).map_err(|cause| error(ErrorCode::UnknownCar, cause.to_string()))?;
        self.direct(Command::Mode { car, mode }, operator, reason).await
    }

    async fn fire_recall(
        &self,
        recall: Recall,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<ReplyLine, Refused> {
        let recall = match recall {
            Recall::Start => FireRecall::Start,
            Recall::End => FireRecall::End,
        };
        self.direct(Command::FireRecall(recall), operator, reason).await
    }

    async fn priority(
        &self,
        car: Option<&str>,
        floor: Option<u8>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<ReplyLine, Refused> {
        let car = named(car)?;
        let floor = floor.map(Floor::try_from).transpose();
        let floor = floor.map_err(|cause| error(ErrorCode::NoSuchButton, cause.to_string()))?;
        self.direct(Command::Priority { car, floor }, operator, reason).await
    }

    async fn emergency_power(
        &self,
        power: Recall,
        car: Option<&str>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<ReplyLine, Refused> {
        let (on, serving) = (power == Recall::Start, named(car)?);
        self.direct(Command::EmergencyPower { on, serving }, operator, reason).await
    }

    async fn release(&self, floor: Floor, seconds: u8) -> Result<ReplyLine, Refused> {
        let time = Duration::from_secs(seconds.into());
        self.node_loop.release(floor, time, self.account()).await?;
        Ok(ReplyLine::Released)
    }

    async fn direct(
        &self,
        command: Command,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<ReplyLine, Refused> {
        let wrong = |what, cause| error(ErrorCode::Malformed, format!("{what}: {cause}"));
        let operator = words::operator(operator).map_err(|cause| wrong("operator", cause))?;
        let reason =
            reason.map(words::reason).transpose().map_err(|cause| wrong("reason", cause))?;
        let sent = self.node_loop.direct(command, operator, reason, self.account()).await?;
        Ok(sent.map_or(ReplyLine::Set, |car| ReplyLine::Sent { car: car.to_string() }))
    }

    async fn token(&self, change: TokenChange, operator: &str) -> Result<ReplyLine, Refused> {
        let operator = words::operator(operator)
            .map_err(|cause| error(ErrorCode::Malformed, format!("operator: {cause}")))?;
        self.node_loop.change_token(change, operator, self.account()).await?;
        Ok(ReplyLine::Set)
    }

    /// The account at the other end, as reported by the system, not by the client.
    fn account(&self) -> Account {
        let peer = self.writer.as_ref().peer_cred();
        let uid = peer.map_or(NOBODY, |peer| peer.uid());
        Account { uid, ..Account::default() }
    }

    async fn audit(&self) -> Result<ReplyLine, Refused> {
        let Reply::Audit(records) = self.node_loop.ask(Query::Audit).await? else {
            return Err(Refused::no_answer());
        };
        match timeout(ANSWER_LIMIT, records).await {
            Ok(Ok(records)) => Ok(ReplyLine::Audit { records }),
            Ok(Err(_)) | Err(_) => Err(error(
                ErrorCode::NoJournal,
                "the audit log can't be read: the node's disk has failed or is very slow"
                    .to_owned(),
            )),
        }
    }

    async fn presses(&self) -> Result<ReplyLine, Refused> {
        match self.node_loop.ask(Query::Presses).await? {
            Reply::Presses(presses, forgotten) => Ok(ReplyLine::Presses { presses, forgotten }),
            _ => Err(Refused::no_answer()),
        }
    }

    async fn watch(&mut self, mut events: broadcast::Receiver<Event>) -> io::Result<()> {
        self.send(&ReplyLine::Watching).await?;
        let mut ignored = [0; 256];
        loop {
            let event = tokio::select! {
                read = self.reader.read(&mut ignored) => match read? {
                    0 => return Ok(()),
                    _ => continue,
                },
                event = events.recv() => event,
            };
            let line = match event {
                Ok(event) => ReplyLine::Event { event },
                Err(RecvError::Lagged(events)) => ReplyLine::Missed { events },
                Err(RecvError::Closed) => return Ok(()),
            };
            self.send(&line).await?;
        }
    }

    async fn send(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        timeout(WRITE_LIMIT, self.writer.write_all(&line)).await?
    }
}

/// The car that a request names, if any.
fn named(car: Option<&str>) -> Result<Option<NodeId>, Refused> {
    let car = car.map(NodeId::new).transpose();
    car.map_err(|cause| error(ErrorCode::UnknownCar, cause.to_string()))
}

fn error(code: ErrorCode, message: String) -> Refused {
    Refused { code, message }
}

impl From<Refused> for ReplyLine {
    fn from(Refused { code, message }: Refused) -> Self {
        Self::Error { code, message }
    }
}
