//! The client's side of the socket: blocking, one request at a time.

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::model::{Call, Mode, NodeId};
use elevator_fleet::node::{Access, FloorLock, Status, Taken};

use super::Event;
use super::protocol::{ErrorCode, QueryLine, Recall, ReplyLine};
use super::socket::SOCKET;
use super::stand_in::stand_ins;
use crate::journal::AuditRecord;
#[cfg(any(test, feature = "simulator"))]
use crate::mesh::Cable;
use crate::presses::PressStatus;
use crate::tokens::Change as TokenChange;

/// How long a node may take to answer: longer than it waits for its own loop.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// A connection to the node that runs with a data directory.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

/// Why a node could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No node runs there.
    #[error(
        "no node runs with data directory {path}; start one with `liftmesh run --data-dir {path} …`",
        path = .0.display()
    )]
    NoNode(PathBuf),
    /// No node listens on this socket.
    #[error(
        "no node listens on {path}; is it the node's `operator.read_only_socket`, and does the node \
         run?", path = .0.display()
    )]
    NoSocket(PathBuf),
    /// The socket is there and can't be used.
    #[error(
        "the node's socket {path} can't be used; `node.sock` is for the node's own user, and \
         `operator.read_only_socket` for its group",
        path = path.display()
    )]
    Socket {
        /// The socket's file.
        path: PathBuf,
        source: io::Error,
    },
    /// The connection broke, or the node did not answer in time. It is unknown whether an order was
    /// placed.
    #[error("the node does not answer any more")]
    Lost(#[source] io::Error),
    /// The node has ended, or closed the connection.
    #[error("the node has ended")]
    Ended,
    /// The answer is none that this program knows.
    #[error("the node's answer is not understood; it may be of another version")]
    Garbled(#[source] serde_json::Error),
    /// The answer is to another request.
    #[error("the node's answer does not fit the request; it may be of another version")]
    Unfit,
    /// The node refused the request.
    #[error("{message}")]
    Refused {
        /// Why, for programs.
        code: ErrorCode,
        /// Why, for people.
        message: String,
    },
}

impl Client {
    /// Connects to the node that runs with this data directory, wherever its socket is.
    ///
    /// # Errors
    /// [`ClientError::NoNode`] or [`ClientError::Socket`].
    pub fn connect(data_dir: &Path) -> Result<Self, ClientError> {
        match Self::connect_in(data_dir) {
            // The substitute for a data directory may belong to anybody: only a node there counts.
            Err(ClientError::NoNode(path)) => stand_ins(data_dir)
                .find_map(|directory| Self::connect_in(&directory).ok())
                .ok_or(ClientError::NoNode(path)),
            connected => connected,
        }
    }

    fn connect_in(data_dir: &Path) -> Result<Self, ClientError> {
        Self::connect_to(data_dir.join(SOCKET)).map_err(|error| match error {
            ClientError::NoSocket(_) => ClientError::NoNode(data_dir.to_owned()),
            error => error,
        })
    }

    /// Connects to the node that listens on this socket, such as one for reading.
    ///
    /// # Errors
    /// [`ClientError::NoSocket`] or [`ClientError::Socket`].
    pub(crate) fn connect_to(path: PathBuf) -> Result<Self, ClientError> {
        let stream = UnixStream::connect(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory => {
                ClientError::NoSocket(path.clone())
            }
            _ => ClientError::Socket { path, source },
        })?;
        for limit in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            limit(&stream, Some(ANSWER_LIMIT)).map_err(ClientError::Lost)?;
        }
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// The node's state.
    ///
    /// # Errors
    /// [`ClientError`]; the node is not affected.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        match self.ask(&QueryLine::Status)? {
            ReplyLine::Status { status } => Ok(*status),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Places an order, as if its button had been pressed, and returns the outcome.
    /// [`Taken::Placed`] means that the node has it in its store, not yet that it is promised
    /// (F12).
    ///
    /// # Errors
    /// [`ClientError`]; only if it is `Refused` for another reason than [`ErrorCode::NoAnswer`] is
    /// it certain that the order was not placed.
    pub fn order(&mut self, call: &Call) -> Result<Taken, ClientError> {
        self.order_with(call, Access::Public)
    }

    /// As [`order`](Self::order), for a passenger who may have shown a right of access.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub(crate) fn order_with(&mut self, call: &Call, access: Access) -> Result<Taken, ClientError> {
        let access = access == Access::Granted;
        match self.ask(&QueryLine::Order { call: call.into(), access })? {
            ReplyLine::Placed => Ok(Taken::Placed),
            ReplyLine::Absorbed => Ok(Taken::Absorbed),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Asks a running node to clear a hang. It has none, because it runs.
    ///
    /// # Errors
    /// [`ClientError`]; one that does not answer may be about to end because its car hung.
    pub(crate) fn clear_hang(&mut self, operator: &str, reason: &str) -> Result<(), ClientError> {
        let query =
            QueryLine::ClearHang { operator: operator.to_owned(), reason: reason.to_owned() };
        match self.ask(&query)? {
            ReplyLine::NothingToClear => Ok(()),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Sets the service mode of a car, of this node or another one, until it is set again.
    ///
    /// # Errors
    /// [`ClientError`]; after [`ErrorCode::NoAnswer`] it is not known whether it was set. To set it
    /// again does no harm.
    pub fn set_mode(
        &mut self,
        car: &NodeId,
        mode: Mode,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::Mode {
            car: car.to_string(),
            mode,
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })
    }

    /// Recalls all cars in a fire, or ends that.
    ///
    /// # Errors
    /// As [`set_mode`](Self::set_mode).
    pub fn set_fire_recall(
        &mut self,
        recall: Recall,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::FireRecall {
            recall,
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })
    }

    /// Locks a floor for the whole fleet, or unlocks it.
    ///
    /// # Errors
    /// As [`set_mode`](Self::set_mode).
    pub(crate) fn set_floor_lock(
        &mut self,
        floor: Floor,
        lock: FloorLock,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::FloorLock {
            floor,
            locked: lock == FloorLock::Lock,
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })
    }

    /// Releases a locked floor in the car of the node, for so many seconds.
    ///
    /// # Errors
    /// [`ClientError`]: nothing has changed.
    pub(crate) fn release(&mut self, floor: Floor, seconds: u8) -> Result<(), ClientError> {
        match self.ask(&QueryLine::Release { floor, seconds })? {
            ReplyLine::Released => Ok(()),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Sends a car to a floor with priority: this one, or the one that gets there first. Returns it.
    ///
    /// # Errors
    /// As [`set_mode`](Self::set_mode).
    pub fn send_with_priority(
        &mut self,
        car: Option<&NodeId>,
        floor: u8,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<String, ClientError> {
        match self.ask(&QueryLine::Priority {
            car: car.map(ToString::to_string),
            floor: Some(floor),
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })? {
            ReplyLine::Sent { car } => Ok(car),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Ends the priority call of a car, which has to be named.
    ///
    /// # Errors
    /// As [`set_mode`](Self::set_mode).
    pub fn end_priority(
        &mut self,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::Priority {
            car: car.map(ToString::to_string),
            floor: None,
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })
    }

    /// Says that the building runs on emergency power, or no longer does, and which car is to serve.
    ///
    /// # Errors
    /// As [`set_mode`](Self::set_mode).
    pub fn set_emergency_power(
        &mut self,
        power: Recall,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::EmergencyPower {
            power,
            car: car.map(ToString::to_string),
            operator: operator.to_owned(),
            reason: reason.map(str::to_owned),
        })
    }

    /// Makes or revokes a token of the HTTP API, which counts at every node.
    ///
    /// # Errors
    /// [`ClientError`]; after [`ErrorCode::NoAnswer`] it is not known what became of it.
    pub(crate) fn change_token(
        &mut self,
        change: &TokenChange,
        operator: &str,
    ) -> Result<(), ClientError> {
        self.set(&QueryLine::Token { change: change.clone(), operator: operator.to_owned() })
    }

    fn set(&mut self, query: &QueryLine) -> Result<(), ClientError> {
        match self.ask(query)? {
            ReplyLine::Set => Ok(()),
            _ => Err(ClientError::Unfit),
        }
    }

    /// The audit log.
    ///
    /// # Errors
    /// [`ClientError`]; [`ErrorCode::NoJournal`] where the node's disk has failed.
    pub(crate) fn audit(&mut self) -> Result<Vec<AuditRecord>, ClientError> {
        match self.ask(&QueryLine::Audit)? {
            ReplyLine::Audit { records } => Ok(records),
            _ => Err(ClientError::Unfit),
        }
    }

    /// The latest presses of the node's own panel, the oldest first, and how many before them are
    /// forgotten.
    ///
    /// # Errors
    /// [`ClientError`].
    pub(crate) fn presses(&mut self) -> Result<(Vec<PressStatus>, u64), ClientError> {
        match self.ask(&QueryLine::Presses)? {
            ReplyLine::Presses { presses, forgotten } => Ok((presses, forgotten)),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Fault injection, for demo and tests only: cuts the node off the mesh, or mends it.
    ///
    /// # Errors
    /// [`ClientError`]; a node that does not run with `--allow-faults` refuses.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn rewire(&mut self, cable: Cable) -> Result<(), ClientError> {
        match self.ask(&QueryLine::Network { cable })? {
            ReplyLine::Rewired => Ok(()),
            _ => Err(ClientError::Unfit),
        }
    }

    /// Every event from here on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn watch(mut self) -> Result<Watch, ClientError> {
        match self.ask(&QueryLine::Watch)? {
            ReplyLine::Watching => {
                let stream = self.stream.get_ref();
                stream.set_read_timeout(None).map_err(ClientError::Lost)?;
                Ok(Watch(self))
            }
            _ => Err(ClientError::Unfit),
        }
    }

    fn ask(&mut self, query: &QueryLine) -> Result<ReplyLine, ClientError> {
        let mut line = serde_json::to_vec(query).map_err(ClientError::Garbled)?;
        line.push(b'\n');
        let sent = self.stream.get_mut().write_all(&line);
        // A node that turns the client away has said why before it closed.
        let reply = self.read();
        match (sent, reply) {
            (_, Ok(Some(ReplyLine::Error { code, message }))) => {
                Err(ClientError::Refused { code, message })
            }
            (Err(error), _) => Err(ClientError::Lost(error)),
            (Ok(()), Ok(Some(reply))) => Ok(reply),
            (Ok(()), Ok(None)) => Err(ClientError::Lost(ErrorKind::UnexpectedEof.into())),
            (Ok(()), Err(error)) => Err(error),
        }
    }

    /// `None` at the end.
    fn read(&mut self) -> Result<Option<ReplyLine>, ClientError> {
        let mut line = String::new();
        self.stream.read_line(&mut line).map_err(ClientError::Lost)?;
        if line.ends_with('\n') {
            let reply = serde_json::from_str(&line).map_err(ClientError::Garbled)?;
            Ok(Some(reply))
        } else {
            Ok(None)
        }
    }
}

/// The events of a node. It ends when the node does; dropping it ends the watch.
#[derive(Debug)]
pub struct Watch(Client);

/// A line of a watch.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// Something happened.
    Event(Event),
    /// The watcher was too slow and missed this many events.
    Missed(u64),
}

impl Watch {
    /// The next line, or `None` when none has come within this time. After that the watch is at
    /// no defined place and of no more use.
    ///
    /// # Errors
    /// [`ClientError`], also when the node has ended.
    pub(crate) fn next_within(&mut self, limit: Duration) -> Result<Option<Notice>, ClientError> {
        // A limit of zero would mean none.
        let limit = limit.max(Duration::from_millis(1));
        let stream = self.0.stream.get_ref();
        stream.set_read_timeout(Some(limit)).map_err(ClientError::Lost)?;
        match self.next() {
            Some(Ok(notice)) => Ok(Some(notice)),
            Some(Err(ClientError::Lost(error)))
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                Ok(None)
            }
            Some(Err(error)) => Err(error),
            None => Err(ClientError::Lost(ErrorKind::UnexpectedEof.into())),
        }
    }
}

impl Iterator for Watch {
    type Item = Result<Notice, ClientError>;

    fn next(&mut self) -> Option<Self::Item> {
        let notice = match self.0.read().transpose()? {
            Ok(ReplyLine::Event { event }) => Ok(Notice::Event(event)),
            Ok(ReplyLine::Missed { events }) => Ok(Notice::Missed(events)),
            Ok(ReplyLine::Error { code, message }) => Err(ClientError::Refused { code, message }),
            Ok(
                ReplyLine::Status { .. }
                | ReplyLine::Placed
                | ReplyLine::Absorbed
                | ReplyLine::Rewired
                | ReplyLine::NothingToClear
                | ReplyLine::Set
                | ReplyLine::Released
                | ReplyLine::Sent { .. }
                | ReplyLine::Audit { .. }
                | ReplyLine::Presses { .. }
                | ReplyLine::Watching,
            ) => Err(ClientError::Unfit),
            Err(error) => Err(error),
        };
        Some(notice)
    }
}
