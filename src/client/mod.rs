//! The client's side of a node's HTTP API, for the command line: blocking, one connection a request.
//!
//! ```text
//!   liftmesh mode       ──▶ Client ──▶ hyper ──▶ node.sock ──▶ /api/v1 of a node of this machine
//!   liftmesh mode --url ──▶ Client ──▶ hyper ──▶ TLS ────────▶ /api/v1 of a node elsewhere
//! ```
//!
//! What a node answers is bounded in length and time. The token is sent only in the head of a
//! request, and never over an unencrypted network.

mod error;
mod url;
mod watch;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use elevator_driver::Floor;
use elevator_driver::vocabulary::show_labels;
use elevator_fleet::json::{BuildingForm, CallForm};
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{Access, Command, OrderStatus, Status, Taken};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use liftmesh_api::{HangCleared, Presses, State};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use zeroize::Zeroizing;

pub use self::error::ClientError;
pub use self::url::{NodeUrl, Place, UrlError};
pub(crate) use self::watch::Streamed;
pub use self::watch::{Notice, Watch};
use crate::credentials;
use crate::journal::AuditRecord;
#[cfg(any(test, feature = "simulator"))]
use crate::mesh::Cable;
use crate::operator::{EVENTS, SOCKET, check_listener, stand_ins};
use crate::tokens::{Change as TokenChange, ChangeToken};

/// How long a connection may take, with the certificate's check.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long an answer may take: longer than a node lets a request take.
const ANSWER_LIMIT: Duration = Duration::from_secs(8);

/// The same for a clearing, which ends with a write to a disk that may be slow.
const CLEAR_LIMIT: Duration = Duration::from_secs(35);

fn answer_limit(path: &str) -> Duration {
    if path.ends_with("/clear-hang") { CLEAR_LIMIT } else { ANSWER_LIMIT }
}

/// The longest answer, in bytes: an audit log of 10,000 records with long reasons is shorter.
const LONGEST: usize = 64 * 1024 * 1024;

pub struct Client {
    place: Place,
    bearer: Option<HeaderValue>,
    tls: Option<TlsConnector>,
    runtime: Runtime,
}

/// The task that moves the bytes of a connection: dropping it ends that.
type Driver = JoinSet<Result<(), hyper::Error>>;

/// An answer whose body is still to be read.
type Opened = (Response<Incoming>, Driver);

#[derive(Debug, Deserialize)]
struct Named {
    node: NodeId,
}

#[derive(Debug, Deserialize)]
struct Problem {
    detail: String,
    code: String,
}

impl Client {
    /// The node that runs with this data directory, wherever its socket is.
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

    /// The node that listens on this Unix socket, such as its read-only one.
    pub(crate) fn connect_to(path: PathBuf) -> Result<Self, ClientError> {
        check_listener(&path).map_err(|source| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused | ErrorKind::NotADirectory => {
                ClientError::NoSocket(path.clone())
            }
            _ => ClientError::Socket { path: path.clone(), source },
        })?;
        Self::new(Place::Socket(path), None, None)
    }

    /// The node at this address, trusting the authorities of the file, or else the system's.
    pub(crate) fn at(
        url: NodeUrl,
        token: Option<&Zeroizing<String>>,
        ca_file: Option<&Path>,
    ) -> Result<Self, ClientError> {
        let tls = if url.is_encrypted {
            let config = credentials::tls(ca_file).map_err(ClientError::Authorities)?;
            Some(TlsConnector::from(Arc::new(config)))
        } else {
            None
        };
        Self::new(Place::Url(url), token.map(bearer).transpose()?, tls)
    }

    fn new(
        place: Place,
        bearer: Option<HeaderValue>,
        tls: Option<TlsConnector>,
    ) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ClientError::Runtime)?;
        Ok(Self { place, bearer, tls, runtime })
    }

    /// From now on this process shows and reads floors by the labels of the node's building.
    pub(crate) fn with_labels(self) -> Self {
        // What keeps a node from answering, the next request reports.
        if let Ok(fleet) = self.get::<Value>("/api/v1/fleet") {
            show(fleet.get("building"));
        }
        self
    }

    /// Everything the node knows about itself and the fleet.
    ///
    /// # Errors
    /// [`ClientError`]; the node is not affected.
    pub fn status(&self) -> Result<Status, ClientError> {
        let status: Value = self.get("/api/v1/status")?;
        named(&status, status.get("building")).map_err(|error| self.garbled(error))
    }

    pub(crate) fn audit(&self) -> Result<Vec<AuditRecord>, ClientError> {
        self.get("/api/v1/audit")
    }

    pub(crate) fn presses(&self) -> Result<Presses, ClientError> {
        self.get("/api/v1/presses")
    }

    pub(crate) fn change_token(
        &self,
        change: &TokenChange,
        operator: &str,
    ) -> Result<(), ClientError> {
        let change = ChangeToken { change: change.clone(), operator: operator.to_owned() };
        self.post("/api/v1/tokens", &json!(change)).map(|_set: Value| ())
    }

    /// Fault injection, for demo and tests only: cuts the node off the mesh, or mends it.
    #[cfg(any(test, feature = "simulator"))]
    pub(crate) fn rewire(&self, cable: Cable) -> Result<(), ClientError> {
        let body = json!({ "cable": cable });
        self.ask(&Method::PUT, "/api/v1/cable", Some(&body)).map(|_rewired: Value| ())
    }

    pub(crate) fn open_order(&self, call: &Call) -> Result<Option<OrderStatus>, ClientError> {
        let orders: Vec<OrderStatus> = self.get("/api/v1/orders")?;
        Ok(orders.into_iter().find(|order| order.call == *call))
    }

    /// Places an order, as if its button had been pressed. Only after `Refused`, unless its code is
    /// `no_answer`, is it certain that it was not placed.
    pub(crate) fn order(&self, call: &Call, access: Access) -> Result<Taken, ClientError> {
        let access = access == Access::Granted;
        let body = json!({ "call": CallForm::from(call), "access": access });
        let placed: Value = self.post("/api/v1/calls", &body)?;
        Ok(if placed["state"] == "absorbed" { Taken::Absorbed } else { Taken::Placed })
    }

    /// Gives a command; returns its car, which the node may have chosen.
    pub(crate) fn command(
        &self,
        command: &Command,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<Option<String>, ClientError> {
        let body = json!({ "command": command, "operator": operator, "reason": reason });
        // A later version may say more.
        let done: Value = self.post("/api/v1/commands", &body)?;
        Ok(done["car"].as_str().map(str::to_owned))
    }

    /// Releases a locked floor in the car of the node, for this many seconds.
    pub(crate) fn release(&self, floor: Floor, seconds: u8) -> Result<(), ClientError> {
        let Named { node } = self.get("/api/v1/fleet")?;
        let body = json!({ "floor": floor, "seconds": seconds });
        self.post(&format!("/api/v1/cars/{node}/release"), &body).map(|_set: Value| ())
    }

    pub(crate) fn clear_hang(
        &self,
        operator: &str,
        reason: &str,
    ) -> Result<Option<HangCleared>, ClientError> {
        let Named { node } = self.get("/api/v1/latch")?;
        let body = json!({ "operator": operator, "reason": reason });
        match self.post(&format!("/api/v1/cars/{node}/clear-hang"), &body) {
            Ok(cleared) => Ok(Some(cleared)),
            Err(ClientError::Refused { code, .. }) if code == "nothing_to_clear" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The whole fleet, as the node sees it now.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn fleet(self) -> Result<State, ClientError> {
        // The stream of a node that a latch keeps from running has no states: this says why.
        self.status()?;
        let mut watch = self.watch()?;
        loop {
            if let Streamed::State(state) = watch.next_streamed()? {
                return Ok(*state);
            }
        }
    }

    /// The latest events that the node has kept, and every one from here on.
    pub(crate) fn watch_recent(self) -> Result<Watch, ClientError> {
        Watch::start(self, &format!("/api/v1/events?recent={EVENTS}"))
    }

    /// Every event from here on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn watch(self) -> Result<Watch, ClientError> {
        Watch::start(self, "/api/v1/events")
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.ask(&Method::GET, path, None)
    }

    fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ClientError> {
        self.ask(&Method::POST, path, Some(body))
    }

    fn ask<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ClientError> {
        let (status, bytes) = self.runtime.block_on(async {
            let asked = async {
                let opened = self.open(method, path, body).await?;
                self.read(opened).await
            };
            timeout(CONNECT_LIMIT + answer_limit(path), asked).await.map_err(|_late| self.late())?
        })?;
        if !status.is_success() {
            return Err(self.refused(status, &bytes));
        }
        serde_json::from_slice(&bytes).map_err(|error| self.garbled(error))
    }

    async fn open(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Opened, ClientError> {
        let connecting = timeout(CONNECT_LIMIT, self.reach()).await;
        let (mut sender, driver) = connecting.map_err(|_late| self.late())??;
        let body = body.map(Value::to_string);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.place.authority())
            .header(ACCEPT, "application/json, text/event-stream");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        let request = request
            .body(body.map_or_else(Body::empty, Body::from))
            .map_err(|_unfit| self.unfit())?;
        let answer = timeout(answer_limit(path), sender.send_request(request)).await;
        let answer = answer.map_err(|_late| self.late())?.map_err(|error| self.lost(error))?;
        Ok((answer, driver))
    }

    async fn reach(&self) -> Result<(SendRequest<Body>, Driver), ClientError> {
        let unreachable = |source| ClientError::Unreachable { place: self.place.clone(), source };
        let url = match &self.place {
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|_gone| ClientError::NoSocket(path.clone()))?;
                return self.shake_hands(stream).await;
            }
            Place::Url(url) => url,
        };
        let stream =
            TcpStream::connect((url.host.as_str(), url.port)).await.map_err(unreachable)?;
        let Some(tls) = &self.tls else {
            return self.shake_hands(stream).await;
        };
        let name = ServerName::try_from(url.host.clone());
        let name = name.map_err(|_unfit| self.unfit())?;
        let stream = tls.connect(name, stream).await;
        let stream =
            stream.map_err(|source| ClientError::Tls { place: self.place.clone(), source })?;
        self.shake_hands(stream).await
    }

    async fn shake_hands<S>(&self, stream: S) -> Result<(SendRequest<Body>, Driver), ClientError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| self.lost(error))?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok((sender, driver))
    }

    async fn read(&self, (answer, driver): Opened) -> Result<(StatusCode, Bytes), ClientError> {
        let status = answer.status();
        let bytes = to_bytes(Body::new(answer.into_body()), LONGEST).await;
        drop(driver);
        Ok((status, bytes.map_err(|error| self.lost(error))?))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> ClientError {
        let place = self.place.clone();
        match serde_json::from_slice(body) {
            Ok(Problem { detail, code }) => ClientError::Refused { place, code, detail },
            Err(_no_problem) => ClientError::Strange { place, status: status.as_u16() },
        }
    }

    fn late(&self) -> ClientError {
        ClientError::Late { place: self.place.clone() }
    }

    fn lost(&self, source: impl Into<BoxError>) -> ClientError {
        ClientError::Lost { place: self.place.clone(), source: axum::Error::new(source) }
    }

    fn unfit(&self) -> ClientError {
        ClientError::Unfit { place: self.place.clone() }
    }

    fn garbled(&self, source: serde_json::Error) -> ClientError {
        ClientError::Garbled { place: self.place.clone(), source }
    }
}

/// Reads what a node says of itself, with the labels of its building: this process shows them.
fn named<T: DeserializeOwned>(
    said: &Value,
    building: Option<&Value>,
) -> Result<T, serde_json::Error> {
    show(building);
    T::deserialize(said)
}

fn show(building: Option<&Value>) {
    let building = building.and_then(|it| BuildingForm::deserialize(it).ok()?.try_into().ok());
    if let Some(building) = building {
        show_labels(&Arc::new(building));
    }
}

/// `Authorization` with a token, which no formatter shows.
fn bearer(token: &Zeroizing<String>) -> Result<HeaderValue, ClientError> {
    let text = Zeroizing::new(format!("Bearer {}", token.as_str()));
    let mut value = HeaderValue::from_str(&text).map_err(|_unfit| ClientError::MalformedToken)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
