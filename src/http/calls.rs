//! `POST /api/v1/calls`: one task places calls, one after the other. The fleet remembers the requests
//! with an id, so that a repeated one places nothing twice, whichever node it comes to.

use elevator_fleet::directives::RequestId;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Requested, Taken};
use liftmesh_api::{CallSchema, id_of};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use utoipa::ToSchema;

use axum::http::StatusCode;

use super::limits::Limits;
use super::problem::Problem;
use crate::operator::{ErrorCode, NodeLoop, Refused};
use crate::tokens::{Scope, Token, TokenHash, TokenName};

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

/// The longest id of a request, in bytes.
const LONGEST_ID: usize = 64;

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

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct PlacedCall {
    /// Names the order in `/api/v1/orders`, once it is there.
    #[schema(example = "hall-3-up")]
    id: String,
    state: PlacedState,
    #[schema(value_type = CallSchema)]
    call: CallForm,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum PlacedState {
    /// The node has accepted the order; it is promised once `promised` says so.
    Placed,
    /// There is no order: a car is at the floor with its door open in that direction.
    Absorbed,
    /// There is no order yet, because the node's disk does not answer.
    Waiting,
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
                let id = id_of_request(&bearer.hash, &check_id(request_id)?);
                let (bearer, call) = (bearer.name.to_string(), call.clone());
                self.node_loop.request(CallRequest { id, bearer, call, access }).await?
            }
        };
        let (status, taken) = match requested {
            Requested::Now(taken) => (StatusCode::CREATED, taken),
            Requested::Before(taken) => (StatusCode::OK, taken),
            Requested::ForAnotherCall => {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "request_id_reused",
                    "an earlier request with this request_id was for another call: use a new id for \
                     each call",
                ));
            }
        };
        let state = match taken {
            Taken::Placed => PlacedState::Placed,
            Taken::Absorbed => PlacedState::Absorbed,
            Taken::Waiting => PlacedState::Waiting,
        };
        Ok((status, PlacedCall { id: id_of(&call), state, call: form }))
    }
}

/// By which the fleet remembers a request.
fn id_of_request(bearer: &TokenHash, request_id: &str) -> RequestId {
    let mut hasher = blake3::Hasher::new_derive_key("liftmesh HTTP request id");
    hasher.update(bearer.as_bytes()).update(request_id.as_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    RequestId(id)
}

fn check_id(id: String) -> Result<String, Problem> {
    let is_right = (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control);
    if is_right {
        return Ok(id);
    }
    let detail = format!("request_id has 1 to {LONGEST_ID} bytes and no control characters");
    Err(Problem::malformed(detail))
}
