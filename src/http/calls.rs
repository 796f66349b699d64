//! `POST /api/v1/calls`: one task places calls, one after the other, and remembers the answers to
//! requests with an id, so that a repeated request places nothing twice.

use std::collections::{HashMap, VecDeque};

use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::Taken;
use liftmesh_api::{CallSchema, id_of};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use utoipa::ToSchema;

use axum::http::StatusCode;

use super::limits::Limits;
use super::problem::Problem;
use crate::operator::NodeLoop;
use crate::tokens::TokenName;

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

/// How many answers are remembered; after that the oldest is forgotten.
const REMEMBERED: usize = 1024;

/// The longest id of a request, in bytes.
const LONGEST_ID: usize = 64;

/// A call to place.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceCall {
    #[schema(value_type = CallSchema)]
    call: CallForm,
    /// Chosen by the client, 1 to 64 bytes without control characters: a request with the id of an
    /// earlier one of the same token has no effect, and gets the same answer.
    #[schema(max_length = 64, example = "5b0e0f4e-0c65-4b5e-9d0f-1f1d6a8f2f11")]
    request_id: Option<String>,
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

#[derive(Debug)]
enum Wish {
    Place { bearer: TokenName, body: PlaceCall, answer: oneshot::Sender<Answer> },
    Admit { bearer: Option<TokenName>, answer: oneshot::Sender<bool> },
}

/// Where calls can be placed.
#[derive(Debug, Clone)]
pub(super) struct Calls(mpsc::Sender<Wish>);

impl Calls {
    /// Places a call for the bearer of a token.
    pub(super) async fn place(&self, bearer: TokenName, body: PlaceCall) -> Answer {
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

type Key = (TokenName, String);

/// The task's state.
pub(super) struct Desk {
    node_loop: NodeLoop,
    wishes: mpsc::Receiver<Wish>,
    limits: Limits,
    placed: HashMap<Key, PlacedCall>,
    /// The keys of `placed`, the oldest first.
    order: VecDeque<Key>,
}

impl Desk {
    pub(super) fn new(node_loop: NodeLoop) -> (Self, Calls) {
        let (sender, wishes) = mpsc::channel(QUEUE);
        let limits = Limits::new(Instant::now());
        let (placed, order) = (HashMap::new(), VecDeque::new());
        (Self { node_loop, wishes, limits, placed, order }, Calls(sender))
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
        bearer: TokenName,
        PlaceCall { call, request_id }: PlaceCall,
    ) -> Answer {
        let key = request_id.map(|id| check_id(id).map(|id| (bearer, id))).transpose()?;
        if let Some(earlier) = key.as_ref().and_then(|key| self.placed.get(key)) {
            return repeat(earlier, &call);
        }
        let state = match self.node_loop.order(&call).await? {
            Taken::Placed => PlacedState::Placed,
            Taken::Absorbed => PlacedState::Absorbed,
            Taken::Waiting => PlacedState::Waiting,
        };
        let id = Call::try_from(&call).map(|call| id_of(&call)).unwrap_or_default();
        let placed = PlacedCall { id, state, call };
        if let Some(key) = key {
            self.remember(key, placed.clone());
        }
        Ok((StatusCode::CREATED, placed))
    }

    fn remember(&mut self, key: Key, placed: PlacedCall) {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.placed.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.placed.insert(key, placed);
    }
}

/// The answer to a request with the id of an earlier one.
fn repeat(earlier: &PlacedCall, call: &CallForm) -> Answer {
    if earlier.call == *call {
        return Ok((StatusCode::OK, earlier.clone()));
    }
    Err(Problem::new(
        StatusCode::CONFLICT,
        "request_id_reused",
        "an earlier request with this request_id was for another call: use a new id for each call",
    ))
}

fn check_id(id: String) -> Result<String, Problem> {
    let is_right = (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control);
    if is_right {
        return Ok(id);
    }
    let detail = format!("request_id has 1 to {LONGEST_ID} bytes and no control characters");
    Err(Problem::malformed(detail))
}
