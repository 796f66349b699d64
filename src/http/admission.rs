//! How many requests each bearer of a token may make: one task counts them for all handlers. It waits
//! for nothing else, so that nobody is kept out by what another waits for.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use tokio::time::Instant;

use super::desk::Desk;
use crate::bucket::Bucket;
use crate::programs::Problem;
use crate::tokens::TokenName;

/// The bound of the queue of requests; when it is full, handlers wait until their own time limit.
pub(super) const QUEUE: usize = 32;

/// Requests with a token: this many a second, and this many at once after a pause.
const RATE: f64 = 20.0;
const BURST: f64 = 40.0;

/// The same for all requests without a valid token together.
const STRANGERS_RATE: f64 = 2.0;
const STRANGERS_BURST: f64 = 20.0;

pub(super) type Admission = Desk<Limits>;

impl Admission {
    /// Counts a request against the limit of this token, or of everybody without one.
    pub(super) async fn admit(&self, bearer: Option<TokenName>) -> Result<(), Problem> {
        if self.ask(move |limits| limits.admit(bearer.as_ref(), Instant::now())).await? {
            return Ok(());
        }
        let detail = "too many requests: wait for a second";
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail))
    }
}

/// A bucket for each token (their number is bounded), and one for everybody else.
#[derive(Debug)]
pub(super) struct Limits {
    bearers: BTreeMap<TokenName, Bucket>,
    strangers: Bucket,
}

impl Limits {
    pub(super) fn new(now: Instant) -> Self {
        let strangers = Bucket::new(STRANGERS_RATE, STRANGERS_BURST, now);
        Self { bearers: BTreeMap::new(), strangers }
    }

    fn admit(&mut self, bearer: Option<&TokenName>, now: Instant) -> bool {
        let Some(name) = bearer else {
            return self.strangers.take(now);
        };
        // Those that are full belong to tokens that were not used for a while, or were revoked.
        self.bearers.retain(|known, bucket| known == name || !bucket.is_full(now));
        let new = || Bucket::new(RATE, BURST, now);
        self.bearers.entry(name.clone()).or_insert_with(new).take(now)
    }
}
