//! How many requests each bearer of a token may make: one task counts them for all handlers. It waits
//! for nothing else, so that nobody is kept out by what another waits for.

use axum::http::StatusCode;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::limits::Limits;
use crate::programs::Problem;
use crate::tokens::TokenName;

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

#[derive(Debug)]
struct Wish {
    /// `None` without a token that counts.
    bearer: Option<TokenName>,
    answer: oneshot::Sender<bool>,
}

/// Where a request is admitted.
#[derive(Debug, Clone)]
pub(super) struct Admission(mpsc::Sender<Wish>);

impl Admission {
    /// Counts a request against the limit of this token, or against that of everybody without one.
    ///
    /// # Errors
    /// It is one too many.
    pub(super) async fn admit(&self, bearer: Option<TokenName>) -> Result<(), Problem> {
        let (answer, admitted) = oneshot::channel();
        let sent = self.0.send(Wish { bearer, answer }).await;
        sent.map_err(|_closed| Problem::no_answer())?;
        if admitted.await.map_err(|_closed| Problem::no_answer())? {
            Ok(())
        } else {
            Err(too_many())
        }
    }
}

fn too_many() -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        "too many requests: wait for a second",
    )
}

/// The task's state.
pub(super) struct Doorkeeper {
    wishes: mpsc::Receiver<Wish>,
    limits: Limits,
}

impl Doorkeeper {
    pub(super) fn new() -> (Self, Admission) {
        let (sender, wishes) = mpsc::channel(QUEUE);
        (Self { wishes, limits: Limits::new(Instant::now()) }, Admission(sender))
    }

    /// Serves until every [`Admission`] is gone.
    pub(super) async fn run(mut self) {
        while let Some(Wish { bearer, answer }) = self.wishes.recv().await {
            let is_admitted = self.limits.admit(bearer.as_ref(), Instant::now());
            // A client that has gone does not wait for the answer.
            answer.send(is_admitted).ok();
        }
    }
}
