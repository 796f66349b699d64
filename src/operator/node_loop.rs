//! The way to the node's loop, for everything that serves operators.

use std::fmt::Display;
use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{
    Access, CallRequest, Command, CommandRefused, FollowedCall, OrderRefused, ReleaseRefused,
    Requested, SessionRefused, SessionRequest, Status, Taken,
};
use elevator_fleet::settings::{RequestId, Session, SettingError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::request::{
    Author, ErrorCode, FaultInjection, Query, Reply, Request, SessionChange, TokenError,
};
use crate::journal::{Account, AuditRecord};
use crate::mesh::Cable;
use crate::presses::PressStatus;
use crate::tokens::{Change as TokenChange, TokenRefused};

/// How long the node's loop may take for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Passes requests to the node's loop, through its bounded queue. Whatever is asked may come to
/// [`ErrorCode::NoAnswer`], and only then it is not known what became of it.
#[derive(Debug, Clone)]
pub(crate) struct NodeLoop {
    requests: mpsc::Sender<Request>,
}

/// The answer to a request that was not fulfilled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Why, for programs.
    pub(crate) code: ErrorCode,
    /// Why, for people.
    pub(crate) message: String,
}

impl NodeLoop {
    pub(crate) fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests }
    }

    /// How many requests wait for the loop.
    pub(crate) fn queued(&self) -> usize {
        self.requests.max_capacity() - self.requests.capacity()
    }

    /// The loop's answer, within [`ANSWER_LIMIT`].
    pub(crate) async fn ask(&self, query: Query) -> Result<Reply, Refused> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.requests.send(Request { query, reply }).await.ok()?;
            answer.await.ok()
        };
        let answer = timeout(ANSWER_LIMIT, asked).await;
        answer.ok().flatten().ok_or_else(Refused::no_answer)
    }

    /// The node's state.
    pub(crate) async fn status(&self) -> Result<Box<Status>, Refused> {
        match self.ask(Query::Status).await? {
            Reply::Status(status) => Ok(status),
            _ => Err(Refused::no_answer()),
        }
    }

    /// How far a program's call is, if it is remembered.
    pub(crate) async fn follow(&self, id: RequestId) -> Result<Option<FollowedCall>, Refused> {
        match self.ask(Query::Follow(id)).await? {
            Reply::Followed(call) => Ok(call),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Places an order.
    pub(crate) async fn order(&self, form: &CallForm, access: Access) -> Result<Taken, Refused> {
        let call =
            Call::try_from(form).map_err(|cause| Refused::new(ErrorCode::NoSuchButton, &cause))?;
        if let Call::Car { car, .. } = &call {
            self.check_car(car).await?;
        }
        match self.ask(Query::Order(call, access)).await? {
            Reply::Order(taken) => taken.map_err(|cause| Refused::order(&cause)),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Places an order for a program that may ask again: nothing is placed for a request that the
    /// fleet has fulfilled.
    pub(crate) async fn request(&self, request: CallRequest) -> Result<Requested, Refused> {
        // What was answered before is answered again, whatever has become of the car.
        if let Call::Car { car, .. } = &request.call {
            match self.ask(Query::Earlier(request.clone())).await? {
                Reply::Earlier(Some(earlier)) => return Ok(earlier),
                Reply::Earlier(None) => self.check_car(car).await?,
                _ => return Err(Refused::no_answer()),
            }
        }
        match self.ask(Query::Place(request)).await? {
            Reply::Requested(requested) => requested.map_err(|cause| Refused::order(&cause)),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Makes or revokes a token of the HTTP API.
    pub(crate) async fn change_token(
        &self,
        change: TokenChange,
        operator: String,
        account: Account,
    ) -> Result<(), Refused> {
        match self.ask(Query::Token { change, operator, account }).await? {
            Reply::Token(changed) => changed.map_err(|cause| {
                let code = match &cause {
                    TokenError::Refused(TokenRefused::NameTaken(_)) => ErrorCode::NameTaken,
                    TokenError::Refused(TokenRefused::NoToken(_)) => ErrorCode::NoToken,
                    TokenError::Refused(TokenRefused::TooMany | TokenRefused::TooManyNames) => {
                        ErrorCode::TooManyTokens
                    }
                    TokenError::Refused(TokenRefused::Lifetime) => ErrorCode::Malformed,
                    TokenError::Setting(_) => ErrorCode::TooManySettings,
                };
                Refused::new(code, &cause)
            }),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Gives a command; returns it as it is carried out.
    pub(crate) async fn command(
        &self,
        command: Command,
        author: Author,
    ) -> Result<Command, Refused> {
        match self.ask(Query::Command(command, author)).await? {
            Reply::Command(done) => done.map_err(|cause| {
                let code = match &cause {
                    CommandRefused::UnknownCar { .. } => ErrorCode::UnknownCar,
                    CommandRefused::NoSuchFloor { .. } => ErrorCode::NoSuchButton,
                    CommandRefused::NoModeToSet(_) | CommandRefused::NoCarNamed => {
                        ErrorCode::Malformed
                    }
                    CommandRefused::FireRecall => ErrorCode::FireRecall,
                    CommandRefused::EmergencyPower => ErrorCode::EmergencyPower,
                    CommandRefused::NoCar { .. } => ErrorCode::NotInService,
                    CommandRefused::Setting(SettingError::NoRecall) => ErrorCode::NoFireRecall,
                    CommandRefused::Setting(SettingError::Full | SettingError::Spent) => {
                        ErrorCode::TooManySettings
                    }
                };
                Refused::new(code, &cause)
            }),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Opens a session for a robot that may ask again; returns it, and whether it is new.
    pub(crate) async fn open_session(
        &self,
        request: SessionRequest,
    ) -> Result<Result<(Session, bool), SessionRefused>, Refused> {
        self.session(Query::OpenSession(request)).await
    }

    /// Changes or ends a session.
    pub(crate) async fn change_session(
        &self,
        id: RequestId,
        change: SessionChange,
        bearer: String,
    ) -> Result<Result<Session, SessionRefused>, Refused> {
        let changed = self.session(Query::ChangeSession { id, change, bearer }).await?;
        Ok(changed.map(|(session, _)| session))
    }

    async fn session(
        &self,
        query: Query,
    ) -> Result<Result<(Session, bool), SessionRefused>, Refused> {
        match self.ask(query).await? {
            Reply::Session(session) => Ok(session),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Releases a locked floor in the car of this node.
    pub(crate) async fn release(
        &self,
        floor: Floor,
        time: Duration,
        account: Account,
    ) -> Result<(), Refused> {
        match self.ask(Query::Release { floor, time, account }).await? {
            Reply::Released(released) => released.map_err(|cause| {
                let code = match &cause {
                    ReleaseRefused::NoCar(_) => ErrorCode::UnknownCar,
                    ReleaseRefused::NoSuchFloor { .. } => ErrorCode::NoSuchButton,
                    ReleaseRefused::Time => ErrorCode::Malformed,
                };
                Refused::new(code, &cause)
            }),
            _ => Err(Refused::no_answer()),
        }
    }

    /// The audit log, the oldest record first.
    ///
    /// # Errors
    /// [`ErrorCode::NoJournal`] if the disk has failed or is very slow.
    pub(crate) async fn audit(&self) -> Result<Vec<AuditRecord>, Refused> {
        let Reply::Audit(records) = self.ask(Query::Audit).await? else {
            return Err(Refused::no_answer());
        };
        let cause = "the audit log can't be read: the node's disk has failed or is very slow";
        let read = timeout(ANSWER_LIMIT, records).await.ok().and_then(Result::ok);
        read.ok_or_else(|| Refused::new(ErrorCode::NoJournal, &cause))
    }

    /// The latest presses of the node's own panel, the oldest first, and how many before them are
    /// forgotten.
    pub(crate) async fn presses(&self) -> Result<(Vec<PressStatus>, u64), Refused> {
        match self.ask(Query::Presses).await? {
            Reply::Presses(presses, forgotten) => Ok((presses, forgotten)),
            _ => Err(Refused::no_answer()),
        }
    }

    /// Fault injection, for demo and tests only: cuts the node off the mesh, or mends it.
    ///
    /// # Errors
    /// [`ErrorCode::FaultsNotAllowed`] unless the node runs with `--allow-faults`.
    pub(crate) async fn rewire(&self, cable: Cable) -> Result<(), Refused> {
        match self.ask(Query::Network(cable)).await? {
            Reply::Network(FaultInjection::Allowed) => Ok(()),
            Reply::Network(FaultInjection::Refused) => {
                let cause = "faults can be injected only into a node that runs with --allow-faults";
                Err(Refused::new(ErrorCode::FaultsNotAllowed, &cause))
            }
            _ => Err(Refused::no_answer()),
        }
    }

    /// An order for a car that does not exist would stay open forever.
    async fn check_car(&self, car: &NodeId) -> Result<(), Refused> {
        let status = self.status().await?;
        if status.cars().any(|known| known == car) {
            return Ok(());
        }
        let known = status.cars().cloned().collect();
        let cause = CommandRefused::UnknownCar { car: car.clone(), known };
        Err(Refused::new(ErrorCode::UnknownCar, &cause))
    }
}

impl Refused {
    pub(crate) fn new(code: ErrorCode, cause: &dyn Display) -> Self {
        Self { code, message: cause.to_string() }
    }

    fn order(cause: &OrderRefused) -> Self {
        let code = match cause {
            OrderRefused::NoSuchButton { .. } | OrderRefused::NoCar { .. } => {
                ErrorCode::NoSuchButton
            }
            OrderRefused::TooManyTrips { .. } => ErrorCode::TooManyTrips,
            OrderRefused::FireRecall { .. } => ErrorCode::FireRecall,
            OrderRefused::NotInService { .. } => ErrorCode::NotInService,
            OrderRefused::FloorLocked { .. } => ErrorCode::FloorLocked,
        };
        Self::new(code, cause)
    }

    /// The loop does not answer, or not in time.
    pub(crate) fn no_answer() -> Self {
        Self::new(ErrorCode::NoAnswer, &"the node does not answer; it may be stopping")
    }
}
