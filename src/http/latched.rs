//! A node that does not run because it is latched: what its caretaker serves by the
//! [router](super::routes) of a node that runs. It shows why, and clears the latch. Nothing here knows a
//! panel line.
//!
//! [`serve`] ends once the latch is cleared. One task, [`Keeper`], clears it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::NodeId;
use tokio::net::TcpListener;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use tracing::{info, warn};

use super::commands::{HangCleared, LatchState, not_here, nothing_to_clear};
use super::metrics::Counted;
use super::routes::Endpoint;
use super::stream::Frame;
use super::tls::Renewal;
use super::{Ways, assemble, server};
use crate::clearance::{self, ClearError, Clearance, Cleared};
use crate::journal::Account;
use crate::latch::{self, Latch};
use crate::operator::{Event, NodeLoop};
use crate::programs::Problem;
use crate::tokens::{Scope, StoredTokens, Tokens};

/// The bound of the queue of wishes; when it is full, handlers wait until their own time limit.
const QUEUE: usize = 32;

/// A stream says that often that the latch is there, as a sign of life.
const REFRESH: Duration = Duration::from_secs(2);

/// After the latch was cleared, for the answer to be on its way.
const GRACE: Duration = Duration::from_millis(500);

/// What is served.
pub(crate) struct LatchedSettings {
    /// Where.
    pub(crate) address: SocketAddr,
    pub(crate) data_dir: PathBuf,
    pub(crate) node: NodeId,
    pub(crate) latch: Latch,
    /// With which certificate, if it is over TLS.
    pub(crate) tls: Option<Renewal>,
}

/// The latch, as handlers see it.
#[derive(Debug, Clone)]
pub(super) struct Latched {
    state: watch::Receiver<Arc<LatchState>>,
    frames: watch::Receiver<Frame>,
    keeper: mpsc::Sender<Wish>,
}

#[derive(Debug)]
enum Wish {
    /// To read the tokens anew.
    Refresh { answer: oneshot::Sender<Result<(), Problem>> },
    /// To clear the latch.
    Clear {
        operator: String,
        reason: String,
        account: Account,
        answer: oneshot::Sender<Result<HangCleared, Problem>>,
    },
}

/// Serves until somebody has cleared the latch here.
pub(crate) async fn serve(listener: TcpListener, settings: LatchedSettings) {
    let endpoint = Endpoint { address: settings.address, is_tls: settings.tls.is_some() };
    let LatchedSettings { data_dir, node, latch, tls, .. } = settings;
    let (mut keeper, router, _tasks) = begin(endpoint, data_dir, node, latch);
    // Before anybody asks. A failure is in what is shown.
    keeper.refresh().await.ok();
    keeper.show();
    tokio::select! {
        () = keeper.run() => {}
        () = server::accept(listener, tls, router) => {}
    }
}

/// What answers requests, and the tasks behind it; the caller runs the keeper.
pub(super) fn begin(
    endpoint: Endpoint,
    data_dir: PathBuf,
    node: NodeId,
    latch: Latch,
) -> (Keeper, Router, JoinSet<()>) {
    let (state, shown) = watch::channel(Arc::new(LatchState {
        running: false,
        node: node.clone(),
        text: Some(latch.to_string()),
        remedy: Some(latch::remedy(&data_dir)),
        latch: Some(latch),
        tokens_usable: Some(false),
    }));
    let (counting, tokens) = watch::channel(Arc::default());
    let (frames, followed) = watch::channel(Frame::default());
    let (wishes, received) = mpsc::channel(QUEUE);
    let (source, events) = broadcast::channel(1);
    let keeper = Keeper {
        _events: source,
        tokens: StoredTokens::new(data_dir.clone(), node.clone()),
        data_dir,
        node,
        wishes: received,
        clearing: JoinSet::new(),
        state,
        frames,
        counting,
    };
    keeper.show();
    let counted = match Counted::new(None, None) {
        Ok(counted) => counted,
        Err(reason) => unreachable!("the names of the metrics are valid: {reason}"),
    };
    // No node answers.
    let node_loop = NodeLoop::new(mpsc::channel(1).0);
    let (router, tasks) = assemble(
        Some(endpoint),
        Ways { node_loop, events, tokens },
        Some(Latched { state: shown, frames: followed, keeper: wishes }),
        Kinematics::default(),
        counted,
        0,
    );
    (keeper, router, tasks)
}

impl Latched {
    pub(super) fn state(&self) -> Arc<LatchState> {
        Arc::clone(&self.state.borrow())
    }

    /// The latch as the only message of a stream, at once and from here on.
    pub(super) fn follow(&self) -> (Frame, watch::Receiver<Frame>) {
        (self.frames.borrow().clone(), self.frames.clone())
    }

    /// What is wrong with everything else that is asked.
    pub(super) fn refusal(&self) -> Problem {
        let state = self.state();
        let text = state.text.as_deref().unwrap_or_default();
        let detail = format!("node {} does not run: {text}", state.node);
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "latched", detail)
    }

    /// Waits until the tokens are as they are on the disk.
    ///
    /// # Errors
    /// They can't be read.
    pub(super) async fn refresh(&self) -> Result<(), Problem> {
        let (answer, refreshed) = oneshot::channel();
        self.ask(Wish::Refresh { answer }, refreshed).await
    }

    async fn ask<T>(
        &self,
        wish: Wish,
        answer: oneshot::Receiver<Result<T, Problem>>,
    ) -> Result<T, Problem> {
        self.keeper.send(wish).await.map_err(|_closed| Problem::no_answer())?;
        answer.await.map_err(|_closed| Problem::no_answer())?
    }

    /// What a scrape of a node that does not run gets.
    pub(super) fn metrics(&self) -> Response {
        let text = format!(
            "# HELP liftmesh_latched 1 while the node does not run because of a latch.\n\
             # TYPE liftmesh_latched gauge\n\
             liftmesh_latched{{node=\"{}\"}} 1\n",
            self.state().node
        );
        ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
    }

    /// Clears the latch of this car. That goes on even if nobody waits for the answer.
    pub(super) async fn clear(
        &self,
        car: &NodeId,
        (operator, reason): (String, String),
        account: Account,
    ) -> Result<HangCleared, Problem> {
        let own = &self.state().node;
        if car != own {
            return Err(not_here(format!("this is {own}'s computer: clear {car} on its own")));
        }
        let (answer, cleared) = oneshot::channel();
        self.ask(Wish::Clear { operator, reason, account, answer }, cleared).await
    }
}

/// The task's state.
pub(super) struct Keeper {
    data_dir: PathBuf,
    node: NodeId,
    tokens: StoredTokens,
    wishes: mpsc::Receiver<Wish>,
    /// At most one, which says whether the latch is cleared.
    clearing: JoinSet<bool>,
    state: watch::Sender<Arc<LatchState>>,
    frames: watch::Sender<Frame>,
    /// The tokens that count.
    counting: watch::Sender<Arc<Tokens>>,
    /// There are no events; streams end when it is dropped.
    _events: broadcast::Sender<Event>,
}

impl Keeper {
    /// Serves until the latch is cleared.
    pub(super) async fn run(mut self) {
        let mut refresh = interval(REFRESH);
        loop {
            let wish = tokio::select! {
                wish = self.wishes.recv() => wish,
                Some(is_cleared) = self.clearing.join_next() => {
                    if is_cleared.unwrap_or(false) {
                        sleep(GRACE).await;
                        return;
                    }
                    continue;
                }
                _ = refresh.tick() => {
                    self.refresh().await.ok();
                    self.show();
                    continue;
                }
            };
            // A client that has gone does not wait for the answer.
            match wish {
                None => return,
                Some(Wish::Refresh { answer }) => drop(answer.send(self.refresh().await)),
                Some(Wish::Clear { answer, .. }) if !self.clearing.is_empty() => {
                    drop(answer.send(Err(Problem::busy("the latch is already being cleared"))));
                }
                Some(Wish::Clear { operator, reason, account, answer }) => {
                    let (data_dir, node) = (self.data_dir.clone(), self.node.clone());
                    self.clearing.spawn(async move {
                        let cleared = clear(data_dir, node, operator, reason, account).await;
                        let is_cleared = cleared.is_ok();
                        drop(answer.send(cleared));
                        is_cleared
                    });
                }
            }
        }
    }

    fn show(&self) {
        self.frames.send_replace(Frame::new("latched", None, &**self.state.borrow()));
    }

    /// Finds which tokens count, and whether one of them can clear the latch.
    ///
    /// # Errors
    /// The tokens can't be read.
    async fn refresh(&mut self) -> Result<(), Problem> {
        let read = self.tokens.get().await.cloned();
        let is_readable = read.is_some();
        let tokens = read.unwrap_or_default();
        let usable = Some(tokens.has(Scope::Operate, SystemTime::now()));
        self.counting.send_if_modified(|counting| {
            let is_news = **counting != tokens;
            if is_news {
                *counting = Arc::new(tokens);
            }
            is_news
        });
        self.state.send_modify(|state| Arc::make_mut(state).tokens_usable = usable);
        if is_readable { Ok(()) } else { Err(unusable()) }
    }
}

async fn clear(
    data_dir: PathBuf,
    node: NodeId,
    operator: String,
    reason: String,
    account: Account,
) -> Result<HangCleared, Problem> {
    let (car, by) = (node.clone(), operator.clone());
    let cleared = tokio::task::spawn_blocking(move || {
        let by = Clearance { operator: &operator, reason: &reason, account: &account };
        clearance::clear(&data_dir, Some(node), by)
    });
    match cleared.await {
        Ok(Ok(Some(Cleared { latch, record }))) => {
            info!(operator = by, %latch, record, "cleared");
            Ok(HangCleared { car, cleared: latch.to_string(), audit_records: record })
        }
        Ok(Ok(None)) => Err(nothing_to_clear("the latch was already cleared: start the node")),
        Ok(Err(error)) => Err(refused(&error)),
        Err(_panicked) => Err(Problem::no_answer()),
    }
}

fn unusable() -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "tokens_unusable",
        "the tokens can't be read, so none can clear it: run `liftmesh clear-hang` on the node's \
         computer; the caretaker's log says why",
    )
}

fn refused(error: &ClearError) -> Problem {
    warn!(error = error as &dyn std::error::Error, "nothing was cleared");
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let detail = format!("{error}{}", cause.unwrap_or_default());
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_cleared", detail)
}
