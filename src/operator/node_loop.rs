//! The way to the node's loop, for everything that serves operators.

use std::time::Duration;

use axum::http::StatusCode;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{
    CallRequest, CommandRefused, OrderRefused, ReleaseRefused, Requested, Status,
};
use elevator_fleet::settings::SettingError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::request::{FaultInjection, NodeRequest, Reply, Request, TokenError};
use crate::journal::AuditRecord;
use crate::mesh::Cable;
use crate::programs::Problem;
use crate::tokens::TokenRefused;

const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// Passes requests to the node's loop, through its bounded queue. Whatever is asked may come to
/// [`Problem::no_answer`], and only then it is not known what became of it.
#[derive(Debug, Clone)]
pub(crate) struct NodeLoop {
    requests: mpsc::Sender<Request>,
}

impl NodeLoop {
    pub(crate) fn new(requests: mpsc::Sender<Request>) -> Self {
        Self { requests }
    }

    pub(crate) fn queued(&self) -> usize {
        self.requests.max_capacity() - self.requests.capacity()
    }

    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(Reply<T>) -> Request,
    ) -> Result<T, Problem> {
        let (reply, answer) = oneshot::channel();
        let asked = async {
            self.requests.send(request(Reply(reply))).await.ok()?;
            answer.await.ok()
        };
        timeout(ANSWER_LIMIT, asked).await.ok().flatten().ok_or_else(Problem::no_answer)
    }

    pub(crate) async fn ask_node<T>(
        &self,
        request: impl FnOnce(Reply<T>) -> NodeRequest,
    ) -> Result<T, Problem> {
        self.ask(|reply| Request::OfNode(request(reply))).await
    }

    pub(crate) async fn status(&self) -> Result<Box<Status>, Problem> {
        self.ask(Request::Status).await
    }

    /// Places an order, unless the fleet has fulfilled the request: a program may ask again.
    pub(crate) async fn request(&self, request: CallRequest) -> Result<Requested, Problem> {
        // What was answered before is answered again, whatever has become of the car.
        if let Call::Car { car, .. } = &request.call {
            match self.ask_node(|reply| NodeRequest::Earlier(request.clone(), reply)).await? {
                Some(earlier) => return Ok(earlier),
                None => self.check_car(car).await?,
            }
        }
        Ok(self.ask_node(|reply| NodeRequest::Place(request, reply)).await??)
    }

    /// The audit log, the oldest record first; `no_journal` if the disk has failed or is very slow.
    pub(crate) async fn audit(&self) -> Result<Vec<AuditRecord>, Problem> {
        let records = self.ask(Request::Audit).await?;
        let cause = "the audit log can't be read: the node's disk has failed or is very slow";
        let read = timeout(ANSWER_LIMIT, records).await.ok().and_then(Result::ok);
        read.ok_or_else(|| Problem::unavailable("no_journal", cause))
    }

    /// Fault injection; `faults_not_allowed` unless the node runs with `--allow-faults`.
    pub(crate) async fn rewire(&self, cable: Cable) -> Result<(), Problem> {
        match self.ask(|reply| Request::Network(cable, reply)).await? {
            FaultInjection::Allowed => Ok(()),
            FaultInjection::Refused => Err(Problem::new(
                StatusCode::FORBIDDEN,
                "faults_not_allowed",
                "faults can be injected only into a node that runs with --allow-faults",
            )),
        }
    }

    /// An order for a car that does not exist would stay open forever.
    async fn check_car(&self, car: &NodeId) -> Result<(), Problem> {
        let status = self.status().await?;
        if status.cars().any(|known| known == car) {
            return Ok(());
        }
        let known = status.cars().cloned().collect();
        Err(CommandRefused::UnknownCar { car: car.clone(), known }.into())
    }
}

pub(crate) fn called(form: &CallForm) -> Result<Call, Problem> {
    Call::try_from(form)
        .map_err(|cause| Problem::unprocessable("no_such_button", cause.to_string()))
}

impl From<OrderRefused> for Problem {
    fn from(cause: OrderRefused) -> Self {
        let text = cause.to_string();
        match cause {
            OrderRefused::NoSuchButton { .. } | OrderRefused::NoCar { .. } => {
                Self::unprocessable("no_such_button", text)
            }
            OrderRefused::TooManyTrips { .. } => Self::conflict("too_many_trips", text),
            OrderRefused::NotServed { .. } | OrderRefused::NoCarServes { .. } => {
                Self::conflict("floor_not_served", text)
            }
            OrderRefused::FireRecall { .. } => Self::conflict("fire_recall", text),
            OrderRefused::NotInService { .. } => Self::conflict("not_in_service", text),
            OrderRefused::FloorLocked { .. } => Self::conflict("floor_locked", text),
        }
    }
}

impl From<CommandRefused> for Problem {
    fn from(cause: CommandRefused) -> Self {
        let text = cause.to_string();
        match cause {
            CommandRefused::UnknownCar { .. } => Self::unprocessable("unknown_car", text),
            CommandRefused::NoSuchFloor { .. } => Self::unprocessable("no_such_button", text),
            CommandRefused::NoModeToSet(_) | CommandRefused::NoCarNamed => Self::malformed(text),
            CommandRefused::NotServed { .. } => Self::conflict("floor_not_served", text),
            CommandRefused::NoAlarm(_) => Self::conflict("no_alarm", text),
            CommandRefused::FireRecall => Self::conflict("fire_recall", text),
            CommandRefused::EmergencyPower => Self::conflict("emergency_power", text),
            CommandRefused::NoCar { .. } => Self::conflict("not_in_service", text),
            CommandRefused::Setting(SettingError::NoRecall) => {
                Self::conflict("no_fire_recall", text)
            }
            CommandRefused::Setting(SettingError::Full | SettingError::Spent) => {
                Self::conflict("too_many_settings", text)
            }
        }
    }
}

impl From<ReleaseRefused> for Problem {
    fn from(cause: ReleaseRefused) -> Self {
        let text = cause.to_string();
        match cause {
            ReleaseRefused::NoCar(_) => Self::unprocessable("unknown_car", text),
            ReleaseRefused::NoSuchFloor { .. } => Self::unprocessable("no_such_button", text),
            ReleaseRefused::Time => Self::malformed(text),
        }
    }
}

impl From<TokenError> for Problem {
    fn from(cause: TokenError) -> Self {
        let text = cause.to_string();
        let TokenError::Refused(cause) = cause else {
            return Self::conflict("too_many_settings", text);
        };
        match cause {
            TokenRefused::NameTaken(_) => Self::conflict("name_taken", text),
            TokenRefused::NoToken(_) => Self::new(StatusCode::NOT_FOUND, "no_token", text),
            TokenRefused::TooMany | TokenRefused::TooManyNames => {
                Self::conflict("too_many_tokens", text)
            }
            TokenRefused::Lifetime => Self::malformed(text),
        }
    }
}
