//! The client's side of a node's HTTP API, for commands that are given at another computer:
//! blocking, one connection a request.
//!
//! ```text
//!   liftmesh mode --url … ──▶ Remote ──▶ hyper ──▶ TLS ──▶ /api/v1 of a node
//! ```
//!
//! What a node answers is bounded in length and time. The token goes nowhere but into the head of a
//! request, and never over a network that is not encrypted.

mod error;
mod url;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, Mode, NodeId};
use elevator_fleet::node::{Access, FleetStatus, FloorLock, OrderStatus, Taken};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use zeroize::Zeroizing;

pub(crate) use self::error::RemoteError;
pub(crate) use self::url::{NodeUrl, UrlError};
pub(crate) use self::watch::{RemoteWatch, Streamed};
use crate::mqtt::access;
use crate::operator::Recall;

/// How long a connection may take, with the certificate's check.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long an answer may take: longer than a node lets a request take.
const ANSWER_LIMIT: Duration = Duration::from_secs(8);

/// The same of a clearing, which ends with a write to a disk that may be slow.
const CLEAR_LIMIT: Duration = Duration::from_secs(35);

fn answer_limit(path: &str) -> Duration {
    if path.ends_with("/clear-hang") { CLEAR_LIMIT } else { ANSWER_LIMIT }
}

/// Where priority calls are made and ended.
const PRIORITY: &str = "/api/v1/priority";

/// The longest answer, in bytes: that of a fleet of hundreds of nodes is shorter.
const LONGEST: usize = 8 * 1024 * 1024;

/// A node that is reached over HTTP.
pub(crate) struct Remote {
    url: NodeUrl,
    /// `Authorization`, if there is a token.
    bearer: Option<HeaderValue>,
    tls: Option<TlsConnector>,
    runtime: Runtime,
}

/// What a node that was asked to clear a hang has done.
#[derive(Debug, Deserialize)]
pub(crate) struct RemoteCleared {
    pub(crate) car: String,
    pub(crate) cleared: String,
    pub(crate) audit_records: u64,
}

/// A connection, and the task that moves its bytes: dropping that ends it.
struct Connection {
    sender: SendRequest<Body>,
    driver: JoinSet<Result<(), hyper::Error>>,
}

/// An answer whose body is still to be read.
struct Opened {
    answer: Response<Incoming>,
    driver: JoinSet<Result<(), hyper::Error>>,
}

/// Why a node refuses: RFC 9457.
#[derive(Debug, Deserialize)]
struct Problem {
    detail: String,
    code: String,
}

impl Remote {
    /// A client for this node. Nothing is sent yet. Authorities are those of the file, or else the
    /// system's.
    ///
    /// # Errors
    /// The token or the authorities can't be used.
    pub(crate) fn new(
        url: NodeUrl,
        token: Option<&Zeroizing<String>>,
        ca_file: Option<&Path>,
    ) -> Result<Self, RemoteError> {
        let tls = if url.is_encrypted() {
            let config = access::tls(ca_file).map_err(RemoteError::Authorities)?;
            Some(TlsConnector::from(Arc::new(config)))
        } else {
            None
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(RemoteError::Runtime)?;
        let bearer = token.map(bearer).transpose()?;
        Ok(Self { url, bearer, tls, runtime })
    }

    /// The whole fleet, as the node sees it.
    ///
    /// # Errors
    /// [`RemoteError`]; the node is not affected.
    pub(crate) fn fleet(&self) -> Result<FleetStatus, RemoteError> {
        let fleet: Value = self.get("/api/v1/fleet")?;
        let cars: Vec<Value> = self.get("/api/v1/cars")?;
        let orders: Value = self.get("/api/v1/orders")?;
        serde_json::from_value(fleet_status(fleet, &cars, orders)).map_err(|e| self.garbled(e))
    }

    /// The open order of a call, if there is one.
    ///
    /// # Errors
    /// [`RemoteError`]; the node is not affected.
    pub(crate) fn open_order(&self, call: &Call) -> Result<Option<OrderStatus>, RemoteError> {
        let orders: Vec<OrderStatus> = self.get("/api/v1/orders")?;
        Ok(orders.into_iter().find(|order| order.call == *call))
    }

    /// Places an order, as if its button had been pressed.
    ///
    /// # Errors
    /// [`RemoteError`]; only if it is `Refused` is it certain that the order was not placed, and not
    /// if the code is `no_answer`.
    pub(crate) fn order(&self, call: &Call, access: Access) -> Result<Taken, RemoteError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum State {
            Placed,
            Absorbed,
        }
        #[derive(Deserialize)]
        struct Placed {
            state: State,
        }
        let access = access == Access::Granted;
        let body = json!({ "call": CallForm::from(call), "access": access });
        let placed: Placed = self.send(&Method::POST, "/api/v1/calls", &body)?;
        Ok(match placed.state {
            State::Placed => Taken::Placed,
            State::Absorbed => Taken::Absorbed,
        })
    }

    /// Sets the service mode of a car, until it is set again. To set it again does no harm.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn set_mode(
        &self,
        car: &NodeId,
        mode: Mode,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), RemoteError> {
        let body = json!({ "mode": mode, "operator": operator, "reason": reason });
        let _set: Value = self.send(&Method::PUT, &format!("/api/v1/cars/{car}/mode"), &body)?;
        Ok(())
    }

    /// Recalls all cars in a fire, or ends that.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn set_fire_recall(
        &self,
        recall: Recall,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), RemoteError> {
        let on = recall == Recall::Start;
        let body = json!({ "on": on, "operator": operator, "reason": reason });
        let _set: Value = self.send(&Method::PUT, "/api/v1/fire-recall", &body)?;
        Ok(())
    }

    /// Sends a car to a floor with priority: this one, or the one that gets there first. Returns it.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn send_with_priority(
        &self,
        car: Option<&NodeId>,
        floor: u8,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<String, RemoteError> {
        #[derive(Deserialize)]
        struct Sent {
            car: String,
        }
        let body = json!({ "car": car, "floor": floor, "operator": operator, "reason": reason });
        let sent: Sent = self.send(&Method::PUT, PRIORITY, &body)?;
        Ok(sent.car)
    }

    /// Ends the priority call of a car, which has to be named.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn end_priority(
        &self,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), RemoteError> {
        let body = json!({ "car": car, "operator": operator, "reason": reason });
        let _set: Value = self.send(&Method::PUT, PRIORITY, &body)?;
        Ok(())
    }

    /// Says that the building runs on emergency power, or no longer does, and which car is to serve.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn set_emergency_power(
        &self,
        power: Recall,
        car: Option<&NodeId>,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), RemoteError> {
        let on = power == Recall::Start;
        let body = json!({ "on": on, "car": car, "operator": operator, "reason": reason });
        let _set: Value = self.send(&Method::PUT, "/api/v1/emergency-power", &body)?;
        Ok(())
    }

    /// Locks a floor for the whole fleet, or unlocks it.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn set_floor_lock(
        &self,
        floor: Floor,
        lock: FloorLock,
        operator: &str,
        reason: Option<&str>,
    ) -> Result<(), RemoteError> {
        let locked = lock == FloorLock::Lock;
        let body = json!({ "locked": locked, "operator": operator, "reason": reason });
        let _set: Value =
            self.send(&Method::PUT, &format!("/api/v1/floors/{floor}/lock"), &body)?;
        Ok(())
    }

    /// Releases a locked floor in the car of the node, for so many seconds.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn release(&self, floor: Floor, seconds: u8) -> Result<(), RemoteError> {
        #[derive(Deserialize)]
        struct Fleet {
            node: NodeId,
        }
        let Fleet { node } = self.get("/api/v1/fleet")?;
        let body = json!({ "floor": floor, "seconds": seconds });
        let _set: Value =
            self.send(&Method::POST, &format!("/api/v1/cars/{node}/release"), &body)?;
        Ok(())
    }

    /// Clears the hang of the car whose computer answers; `None` if there is none.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn clear_hang(
        &self,
        operator: &str,
        reason: &str,
    ) -> Result<Option<RemoteCleared>, RemoteError> {
        #[derive(Deserialize)]
        struct Latch {
            node: NodeId,
        }
        let Latch { node } = self.get("/api/v1/latch")?;
        let body = json!({ "operator": operator, "reason": reason });
        match self.send(&Method::POST, &format!("/api/v1/cars/{node}/clear-hang"), &body) {
            Ok(cleared) => Ok(Some(cleared)),
            Err(RemoteError::Refused { code, .. }) if code == "nothing_to_clear" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Every event from here on.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub(crate) fn watch(self) -> Result<RemoteWatch, RemoteError> {
        RemoteWatch::start(self)
    }

    fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RemoteError> {
        self.ask(&Method::GET, path, None)
    }

    fn send<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: &Value,
    ) -> Result<T, RemoteError> {
        self.ask(method, path, Some(body))
    }

    fn ask<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, RemoteError> {
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

    /// Sends a request; the head of its answer has arrived.
    async fn open(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Opened, RemoteError> {
        let connecting = timeout(CONNECT_LIMIT, self.connect()).await;
        let Connection { mut sender, driver } = connecting.map_err(|_late| self.late())??;
        let body = body.map(Value::to_string);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.url.authority())
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
        Ok(Opened { answer, driver })
    }

    async fn connect(&self) -> Result<Connection, RemoteError> {
        let stream = TcpStream::connect((self.url.host(), self.url.port())).await;
        let stream =
            stream.map_err(|source| RemoteError::Unreachable { url: self.url.clone(), source })?;
        let Some(tls) = &self.tls else {
            return self.shake_hands(stream).await;
        };
        let name = ServerName::try_from(self.url.host().to_owned());
        let name = name.map_err(|_unfit| self.unfit())?;
        let stream = tls.connect(name, stream).await;
        let stream = stream.map_err(|source| RemoteError::Tls { url: self.url.clone(), source })?;
        self.shake_hands(stream).await
    }

    async fn shake_hands<S>(&self, stream: S) -> Result<Connection, RemoteError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| self.lost(error))?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok(Connection { sender, driver })
    }

    async fn read(&self, opened: Opened) -> Result<(StatusCode, axum::body::Bytes), RemoteError> {
        let Opened { answer, driver } = opened;
        let status = answer.status();
        let bytes = to_bytes(Body::new(answer.into_body()), LONGEST).await;
        drop(driver);
        let bytes =
            bytes.map_err(|source| RemoteError::Broken { url: self.url.clone(), source })?;
        Ok((status, bytes))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> RemoteError {
        let url = self.url.clone();
        match serde_json::from_slice(body) {
            Ok(Problem { detail, code }) => RemoteError::Refused { url, code, detail },
            Err(_no_problem) => RemoteError::NoNode { url, status: status.as_u16() },
        }
    }

    fn late(&self) -> RemoteError {
        RemoteError::Late { url: self.url.clone() }
    }

    fn lost(&self, source: hyper::Error) -> RemoteError {
        RemoteError::Lost { url: self.url.clone(), source }
    }

    fn unfit(&self) -> RemoteError {
        RemoteError::Unfit { url: self.url.clone() }
    }

    fn garbled(&self, source: serde_json::Error) -> RemoteError {
        RemoteError::Garbled { url: self.url.clone(), source }
    }
}

/// `Authorization` with a token, which no formatter shows.
fn bearer(token: &Zeroizing<String>) -> Result<HeaderValue, RemoteError> {
    let text = Zeroizing::new(format!("Bearer {}", token.as_str()));
    let mut value = HeaderValue::from_str(&text).map_err(|_unfit| RemoteError::MalformedToken)?;
    value.set_sensitive(true);
    Ok(value)
}

/// What the API says of a fleet, in the form of `liftmesh status --fleet --json`: the names and the
/// values are the same, but its cars are in a list of their own.
fn fleet_status(mut fleet: Value, cars: &[Value], orders: Value) -> Value {
    if let Some(nodes) = fleet["nodes"].as_array_mut() {
        for node in nodes.iter_mut().filter(|node| node.is_object()) {
            let car = cars.iter().find(|car| car["node"] == node["node"]);
            node["car"] = car.cloned().unwrap_or_default();
        }
        nodes.sort_by(|one, other| one["node"].as_str().cmp(&other["node"].as_str()));
    }
    if fleet.is_object() {
        fleet["seen_by"] = fleet["node"].clone();
        fleet["orders"] = orders;
    }
    fleet
}

#[cfg(test)]
mod tests;
