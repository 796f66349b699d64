//! The node's side of the socket.

use std::io;
use std::time::Duration;

use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{OrderRefused, Renewed, Status, Taken};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, SocketAddr};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, info, warn};

use super::Event;
use super::protocol::{ErrorCode, LONGEST_QUERY, QueryLine, ReplyLine};
use super::socket::OperatorSocket;
use super::words;
use crate::config::FaultInjection;
use crate::journal::{Account, AuditLog};
use crate::mesh::Cable;

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

/// How long the node's loop may take for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

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
    /// `Node::handle_order`: answered by [`Reply::Order`].
    Order(Call),
    /// `Mesh::set_cable`: answered by [`Reply::Network`].
    Network(Cable),
    /// Whether there is a hang to clear: answered by [`Reply::NothingToClear`].
    ClearHang,
    /// `Node::handle_repair`: answered by [`Reply::Repaired`].
    Repair {
        operator: String,
        reason: String,
        /// The account at the other end of the connection.
        account: Account,
    },
    /// The journal's audit log: answered by [`Reply::Audit`].
    Audit,
}

/// What the node's loop answers.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The node's state.
    Status(Box<Status>),
    /// What became of an order.
    Order(Result<Taken, OrderRefused>),
    /// Whether faults may be injected; the network is as was wanted only then.
    Network(FaultInjection),
    /// The node runs, so its car does not hang.
    NothingToClear,
    /// The journal has a fresh identity.
    Repaired(Renewed),
    /// The receiver of the audit log, for which the loop does not wait; it gets nothing if the log
    /// can't be read.
    Audit(oneshot::Receiver<AuditLog>),
}

/// Serves clients, if the socket could be bound, each by itself, until `shutdown` completes. Then
/// the connections are closed and the socket's file is removed.
///
/// # Errors
/// The socket can't be handed to the runtime.
pub(crate) async fn serve(
    socket: OperatorSocket,
    requests: mpsc::Sender<Request>,
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
                let client = accompany(stream, access, requests.clone(), events.clone());
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
    let reply = error(ErrorCode::Busy, format!("the node serves {most} clients already"));
    // Whoever doesn't take it at once finds a closed connection, which says as much.
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
    requests: mpsc::Sender<Request>,
    events: broadcast::Sender<Event>,
) {
    let (reader, writer) = stream.into_split();
    let connection = Connection { reader: BufReader::new(reader), writer, requests, access };
    if let Err(error) = connection.run(&events).await {
        debug!(%error, "an operator's connection broke");
    }
}

/// One client.
struct Connection {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    requests: mpsc::Sender<Request>,
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
                Ok(QueryLine::Status) => {
                    self.status().await.map(|status| ReplyLine::Status { status })
                }
                Ok(QueryLine::Order { call }) => self.order(&call).await,
                Ok(QueryLine::ClearHang { operator, reason }) => {
                    self.clear_hang(&operator, &reason).await
                }
                Ok(QueryLine::Repair { operator, reason }) => self.repair(&operator, &reason).await,
                Ok(QueryLine::Audit) => self.audit().await,
                Ok(QueryLine::Network { cable }) => self.network(cable).await,
                Err(wrong) => Err(wrong),
            };
            self.send(&reply.unwrap_or_else(|wrong| wrong)).await?;
        }
        Ok(())
    }

    fn permitted(&self, query: QueryLine) -> Result<QueryLine, ReplyLine> {
        let reads = match &query {
            QueryLine::Status | QueryLine::Watch => true,
            QueryLine::Order { .. }
            | QueryLine::Network { .. }
            | QueryLine::ClearHang { .. }
            | QueryLine::Repair { .. }
            | QueryLine::Audit => false,
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
    async fn next_line(&mut self) -> io::Result<Option<Result<Vec<u8>, ReplyLine>>> {
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

    async fn status(&self) -> Result<Box<Status>, ReplyLine> {
        match self.ask(Query::Status).await? {
            Reply::Status(status) => Ok(status),
            _ => Err(no_answer()),
        }
    }

    async fn order(&self, form: &CallForm) -> Result<ReplyLine, ReplyLine> {
        let refused = |code, cause: &dyn std::fmt::Display| error(code, cause.to_string());
        let call =
            Call::try_from(form).map_err(|cause| refused(ErrorCode::NoSuchButton, &cause))?;
        if let Call::Car { car, .. } = &call {
            self.check_car(car).await?;
        }
        match self.ask(Query::Order(call)).await? {
            Reply::Order(Ok(Taken::Placed)) => Ok(ReplyLine::Placed),
            Reply::Order(Ok(Taken::Absorbed)) => Ok(ReplyLine::Absorbed),
            Reply::Order(Ok(Taken::Waiting)) => Ok(ReplyLine::Waiting),
            Reply::Order(Err(cause)) => {
                let code = match &cause {
                    OrderRefused::NoSuchButton { .. } | OrderRefused::NoCar { .. } => {
                        ErrorCode::NoSuchButton
                    }
                    OrderRefused::TooManyTrips { .. } => ErrorCode::TooManyTrips,
                };
                Err(refused(code, &cause))
            }
            _ => Err(no_answer()),
        }
    }

    async fn network(&self, cable: Cable) -> Result<ReplyLine, ReplyLine> {
        match self.ask(Query::Network(cable)).await? {
            Reply::Network(FaultInjection::Allowed) => Ok(ReplyLine::Rewired),
            Reply::Network(FaultInjection::Refused) => Err(error(
                ErrorCode::FaultsNotAllowed,
                "faults are not allowed here: they are for demo and tests, where the node runs \
                 with --allow-faults"
                    .to_owned(),
            )),
            _ => Err(no_answer()),
        }
    }

    async fn clear_hang(&self, operator: &str, reason: &str) -> Result<ReplyLine, ReplyLine> {
        match self.ask(Query::ClearHang).await? {
            Reply::NothingToClear => {
                info!(operator, reason, "asked to clear a hang: there is none");
                Ok(ReplyLine::NothingToClear)
            }
            _ => Err(no_answer()),
        }
    }

    async fn repair(&self, operator: &str, reason: &str) -> Result<ReplyLine, ReplyLine> {
        let wrong = |what, cause| error(ErrorCode::Malformed, format!("{what}: {cause}"));
        let query = Query::Repair {
            operator: words::operator(operator).map_err(|cause| wrong("operator", cause))?,
            reason: words::reason(reason).map_err(|cause| wrong("reason", cause))?,
            account: self.account(),
        };
        match self.ask(query).await? {
            Reply::Repaired(Renewed { old, fresh }) => {
                Ok(ReplyLine::Repaired { old: old.to_string(), fresh: fresh.to_string() })
            }
            _ => Err(no_answer()),
        }
    }

    /// The account at the other end, as reported by the system, not by the client.
    fn account(&self) -> Account {
        let peer = self.writer.as_ref().peer_cred();
        let uid = peer.map_or(NOBODY, |peer| peer.uid());
        Account { uid, ..Account::default() }
    }

    async fn audit(&self) -> Result<ReplyLine, ReplyLine> {
        let Reply::Audit(records) = self.ask(Query::Audit).await? else {
            return Err(no_answer());
        };
        match timeout(ANSWER_LIMIT, records).await {
            Ok(Ok(AuditLog { records, chain })) => Ok(ReplyLine::Audit { records, chain }),
            Ok(Err(_)) | Err(_) => Err(error(
                ErrorCode::NoJournal,
                "the audit log can't be read: the node's disk has failed or is very slow"
                    .to_owned(),
            )),
        }
    }

    /// An order for a car that does not exist would stay open forever.
    async fn check_car(&self, car: &NodeId) -> Result<(), ReplyLine> {
        let status = self.status().await?;
        if status.cars().any(|known| known == car) {
            return Ok(());
        }
        let known: Vec<_> = status.cars().map(NodeId::as_str).collect();
        let known = known.join(", ");
        Err(error(ErrorCode::UnknownCar, format!("no car {car} is heard; there are {known}")))
    }

    async fn ask(&self, query: Query) -> Result<Reply, ReplyLine> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.requests.send(Request { query, reply }).await.ok()?;
            answer.await.ok()
        };
        let answer = timeout(ANSWER_LIMIT, asked).await;
        answer.ok().flatten().ok_or_else(no_answer)
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

fn error(code: ErrorCode, message: String) -> ReplyLine {
    ReplyLine::Error { code, message }
}

fn no_answer() -> ReplyLine {
    error(ErrorCode::NoAnswer, "the node's loop does not answer; it may be stopping".to_owned())
}
