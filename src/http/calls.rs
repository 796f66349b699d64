//! `POST /api/v1/calls`: one task places calls, one after the other. The fleet remembers the requests
//! with an id, so that a repeated one places nothing twice, whichever node it comes to.

use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Requested};
use liftmesh_api::CallSchema;
use serde::Deserialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use utoipa::ToSchema;

use axum::http::StatusCode;

use super::limits::Limits;
use super::placed::{PlacedCall, check_id, id_of_request, id_reused};
use super::problem::Problem;
use crate::operator::{ErrorCode, NodeLoop, Refused};
use crate::tokens::{Scope, Token, TokenHash, TokenName};

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

/// A call to place.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceCall {
    #[schema(value_type = CallSchema)]
    call: CallForm,
    /// Chosen by the client, 1 to 64 bytes without control characters: a request with the id of an
    /// earlier one of the same token has no effect, and gets the same answer, at any node.
    #[schema(max_length = 64, example = "5b0e0f4e-0c65-4b5e-9d0f-1f1d6a8f2f11")]
    request_id: Option<String>,
    /// The passenger has shown a right of access, so a locked floor does not refuse the call. Needs a
    /// token with the scope `access`.
    #[serde(default)]
    access: bool,
}

impl PlaceCall {
    /// The scope that its token needs.
    pub(super) fn scope(&self) -> Scope {
        if self.access { Scope::Access } else { Scope::Call }
    }
}

/// An answer, and whether it is that of an earlier request.
pub(super) type Answer = Result<(StatusCode, PlacedCall), Problem>;

/// Who places a call: a token is told from another of the same name by its hash.
#[derive(Debug)]
struct Bearer {
    name: TokenName,
    hash: TokenHash,
}

#[derive(Debug)]
enum Wish {
    Place { bearer: Bearer, body: PlaceCall, answer: oneshot::Sender<Answer> },
    Admit { bearer: Option<TokenName>, answer: oneshot::Sender<bool> },
}

/// Where calls can be placed.
#[derive(Debug, Clone)]
pub(super) struct Calls(mpsc::Sender<Wish>);

impl Calls {
    /// Places a call for the bearer of a token.
    pub(super) async fn place(&self, token: &Token, body: PlaceCall) -> Answer {
        let bearer = Bearer { name: token.name.clone(), hash: token.hash };
        let (answer, placed) = oneshot::channel();
        self.ask(Wish::Place { bearer, body, answer }, placed).await?
    }

    /// Counts a request against the limit of this token, or against that of everybody without one.
    ///
    /// # Errors
    /// It is one too many.
    pub(super) async fn admit(&self, bearer: Option<TokenName>) -> Result<(), Problem> {
        let (answer, admitted) = oneshot::channel();
        if self.ask(Wish::Admit { bearer, answer }, admitted).await? {
            return Ok(());
        }
        Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "too many requests: wait for a second",
        ))
    }

    async fn ask<T>(&self, wish: Wish, answer: oneshot::Receiver<T>) -> Result<T, Problem> {
        self.0.send(wish).await.map_err(|_closed| Problem::no_answer())?;
        answer.await.map_err(|_closed| Problem::no_answer())
    }
}

/// The task's state.
pub(super) struct Desk {
    node_loop: NodeLoop,
    wishes: mpsc::Receiver<Wish>,
    limits: Limits,
}

impl Desk {
    pub(super) fn new(node_loop: NodeLoop) -> (Self, Calls) {
        let (sender, wishes) = mpsc::channel(QUEUE);
        let limits = Limits::new(Instant::now());
        (Self { node_loop, wishes, limits }, Calls(sender))
    }

    /// Serves until every [`Calls`] is gone.
    pub(super) async fn run(mut self) {
        while let Some(wish) = self.wishes.recv().await {
            // A client that has gone does not wait for the answer.
            match wish {
                Wish::Place { bearer, body, answer } => {
                    drop(answer.send(self.place(bearer, body).await));
                }
                Wish::Admit { bearer, answer } => {
                    let now = Instant::now();
                    let is_admitted = match &bearer {
                        Some(name) => self.limits.allow(name, now),
                        None => self.limits.allow_stranger(now),
                    };
                    answer.send(is_admitted).ok();
                }
            }
        }
    }

    async fn place(
        &mut self,
        bearer: Bearer,
        PlaceCall { call: form, request_id, access }: PlaceCall,
    ) -> Answer {
        let call =
            Call::try_from(&form).map_err(|cause| Refused::new(ErrorCode::NoSuchButton, &cause))?;
        let access = if access { Access::Granted } else { Access::Public };
        let requested = match request_id {
            None => Requested::Now(self.node_loop.order(&form, access).await?),
            Some(request_id) => {
                check_id(&request_id)?;
                let parts = [&bearer.hash.as_bytes()[..], request_id.as_bytes()];
                let id = id_of_request("liftmesh HTTP request id", parts);
                let (bearer, call) = (bearer.name.to_string(), call.clone());
                self.node_loop.request(CallRequest { id, bearer, call, access }).await?
            }
        };
        let (status, taken) = match requested {
            Requested::Now(taken) => (StatusCode::CREATED, taken),
            Requested::Before(taken) => (StatusCode::OK, taken),
            Requested::ForAnotherCall => return Err(id_reused()),
        };
        Ok((status, PlacedCall::new(&call, form, taken)))
    }
}
