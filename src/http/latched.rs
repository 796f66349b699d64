//! A node that does not run because it is latched: what its caretaker serves by the
//! [router](super::routes) of a node that runs. It shows why, and clears the latch. Nothing here knows a
//! panel line.
//!
//! [`serve`] ends once the latch is cleared. One task, [`Keeper`], knows the tokens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::NodeId;
use liftmesh_api::HangCleared;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{interval, sleep};
use tracing::{info, warn};

use super::commands::LatchState;
use super::metrics::Counted;
use super::routes::Endpoint;
use super::stream::{Frame, frame};
use super::tls::Renewal;
use super::{Ways, assemble, server};
use crate::clearance::{self, ClearError, Clearance, Cleared};
use crate::journal::Account;
use crate::latch::{self, Latch};
use crate::operator::{Event, NodeLoop};
use crate::programs::Problem;
use crate::tokens::{Scope, StoredTokens, Tokens};

const QUEUE: usize = 32;

const REFRESH: Duration = Duration::from_secs(2);

/// After the latch was cleared, for the answer to be on its way.
const GRACE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(super) struct Latched {
    data_dir: PathBuf,
    state: watch::Receiver<Arc<LatchState>>,
    frames: watch::Receiver<Frame>,
    /// What is sent is dropped once the tokens are as they are on the disk.
    outdated: mpsc::Sender<oneshot::Sender<()>>,
    /// Who clears the latch has the only permit.
    turn: Arc<Semaphore>,
    cleared: watch::Sender<bool>,
}

pub(crate) async fn serve(
    listener: TcpListener,
    endpoint: Endpoint,
    tls: Option<Renewal>,
    (data_dir, node, latch): (PathBuf, NodeId, Latch),
) {
    let (mut keeper, router, _tasks) = begin(endpoint, data_dir, node, latch);
    keeper.refresh().await;
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
    let tokens = StoredTokens::new(data_dir.clone(), node.clone());
    let (state, shown) = watch::channel(Arc::new(LatchState {
        running: false,
        node,
        text: Some(latch.to_string()),
        remedy: Some(latch::remedy(&data_dir)),
        latch: Some(latch),
        tokens_usable: Some(false),
    }));
    let (counting, counted_tokens) = watch::channel(Arc::default());
    let (frames, followed) = watch::channel(frame("latched", None, &**state.borrow()));
    let (outdated, asked) = mpsc::channel(QUEUE);
    let (cleared, done) = watch::channel(false);
    let (source, events) = broadcast::channel(1);
    let keeper = Keeper { tokens, asked, state, frames, counting, done, _events: source };
    let latched = Latched {
        data_dir,
        state: shown,
        frames: followed,
        outdated,
        turn: Arc::new(Semaphore::new(1)),
        cleared,
    };
    let node_loop = NodeLoop::new(mpsc::channel(1).0);
    let ways = Ways { node_loop, events, tokens: counted_tokens };
    let counted = Counted::new(None, None);
    let (router, tasks) =
        assemble(Some(endpoint), ways, Some(latched), Kinematics::default(), counted, 0);
    (keeper, router, tasks)
}

impl Latched {
    pub(super) fn state(&self) -> Arc<LatchState> {
        Arc::clone(&self.state.borrow())
    }

    pub(super) fn follow(&self) -> (Frame, watch::Receiver<Frame>) {
        (self.frames.borrow().clone(), self.frames.clone())
    }

    pub(super) fn refusal(&self) -> Problem {
        let state = self.state();
        let text = state.text.as_deref().unwrap_or_default();
        Problem::unavailable("latched", format!("node {} does not run: {text}", state.node))
    }

    pub(super) async fn refresh(&self) {
        let (done, refreshed) = oneshot::channel();
        if self.outdated.send(done).await.is_ok() {
            refreshed.await.unwrap_or_default();
        }
    }

    /// Why a token is unknown here, if none can clear the latch.
    pub(super) fn unusable(&self) -> Option<Problem> {
        let is_usable = self.state().tokens_usable == Some(true);
        let detail = "no token can clear the hang: run `liftmesh clear-hang` on the node's computer; \
                      the caretaker's log says whether the journal can't be read";
        (!is_usable).then(|| Problem::unavailable("tokens_unusable", detail))
    }

    /// Clears the latch of this car. That goes on even if nobody waits for the answer.
    pub(super) async fn clear(
        &self,
        car: &NodeId,
        (operator, reason): (String, String),
        account: Account,
    ) -> Result<HangCleared, Problem> {
        let own = self.state().node.clone();
        if *car != own {
            let detail = format!("this is {own}'s computer: clear {car} on its own");
            return Err(Problem::conflict("not_here", detail));
        }
        let turn = Arc::clone(&self.turn).try_acquire_owned();
        let turn = turn.map_err(|_busy| Problem::busy("the latch is already being cleared"))?;
        let (data_dir, cleared) = (self.data_dir.clone(), self.cleared.clone());
        let clearing = spawn_blocking(move || {
            let _turn = turn;
            let by = Clearance { operator: &operator, reason: &reason, account: &account };
            match clearance::clear(&data_dir, Some(own.clone()), by) {
                Ok(Some(Cleared { latch, record })) => {
                    info!(operator, %latch, record, "cleared");
                    cleared.send_replace(true);
                    let text = latch.to_string();
                    Ok(HangCleared { car: own, cleared: text, audit_records: record })
                }
                Ok(None) => {
                    let detail = "the latch was already cleared: start the node";
                    Err(Problem::conflict("nothing_to_clear", detail))
                }
                Err(error) => Err(refused(&error)),
            }
        });
        clearing.await.unwrap_or_else(|_panicked| Err(Problem::no_answer()))
    }
}

pub(super) struct Keeper {
    tokens: StoredTokens,
    asked: mpsc::Receiver<oneshot::Sender<()>>,
    state: watch::Sender<Arc<LatchState>>,
    frames: watch::Sender<Frame>,
    counting: watch::Sender<Arc<Tokens>>,
    done: watch::Receiver<bool>,
    /// There are no events; streams end when it is dropped.
    _events: broadcast::Sender<Event>,
}

impl Keeper {
    pub(super) async fn run(mut self) {
        let mut refresh = interval(REFRESH);
        loop {
            tokio::select! {
                _ = self.done.changed() => return sleep(GRACE).await,
                Some(done) = self.asked.recv() => {
                    self.refresh().await;
                    drop(done);
                }
                _ = refresh.tick() => {
                    self.refresh().await;
                    self.frames.send_replace(frame("latched", None, &**self.state.borrow()));
                }
            }
        }
    }

    pub(super) async fn refresh(&mut self) {
        let tokens = self.tokens.get().await.cloned().unwrap_or_default();
        let usable = Some(tokens.has(Scope::Operate, SystemTime::now()));
        self.counting.send_if_modified(|counting| {
            let is_news = **counting != tokens;
            if is_news {
                *counting = Arc::new(tokens);
            }
            is_news
        });
        self.state.send_modify(|state| Arc::make_mut(state).tokens_usable = usable);
    }
}

fn refused(error: &ClearError) -> Problem {
    warn!(error = error as &dyn std::error::Error, "nothing was cleared");
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    Problem::unavailable("not_cleared", format!("{error}{}", cause.unwrap_or_default()))
}
