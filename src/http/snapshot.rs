//! Looks at the node's state, for all clients together.
//!
//! One task asks the node's loop, with at most one request under way and at most one every
//! [`PAUSE`]. A client that wants a look gets one that was taken after the wish. While anybody
//! follows the state, the task takes a look every [`PERIOD`] and publishes its frame, which is
//! rendered once.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::CarPhase;
use elevator_fleet::node::Status;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::stream::Frame;
use crate::operator::{NodeLoop, Refused};
use liftmesh_api::{Flights, State};

/// Between two requests to the node's loop, at least.
const PAUSE: Duration = Duration::from_millis(20);

/// Between two published states, at least.
const PERIOD: Duration = Duration::from_millis(200);

/// The state is published this often even where only ages have changed, as a sign of life.
const REFRESH: Duration = Duration::from_secs(2);

/// The bound of the queue of wishes; when it is full, handlers wait until their own time limit.
const WISHES: usize = 64;

/// A look at the node.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) status: Status,
    pub(super) state: State,
    frame: OnceLock<Frame>,
}

impl Look {
    /// The state as an event of a stream, rendered once.
    pub(super) fn frame(&self) -> Frame {
        self.frame.get_or_init(|| Frame::new("state", None, &self.state)).clone()
    }
}

type Wish = oneshot::Sender<Result<Arc<Look>, Refused>>;

/// Where a look can be had, and where states are published.
#[derive(Debug, Clone)]
pub(super) struct Looks {
    wishes: mpsc::Sender<Wish>,
    frames: watch::Sender<Frame>,
}

impl Looks {
    /// A look that is taken after the call.
    ///
    /// # Errors
    /// The node's loop does not answer.
    pub(super) async fn take(&self) -> Result<Arc<Look>, Refused> {
        let (wish, look) = oneshot::channel();
        self.wishes.send(wish).await.map_err(|_closed| Refused::no_answer())?;
        look.await.unwrap_or_else(|_closed| Err(Refused::no_answer()))
    }

    /// How many clients wait for a look.
    pub(super) fn queued(&self) -> usize {
        self.wishes.max_capacity() - self.wishes.capacity()
    }

    /// The frames of states, from here on. Take a look afterwards: that is the first one.
    pub(super) fn follow(&self) -> watch::Receiver<Frame> {
        self.frames.subscribe()
    }
}

/// The task's state.
pub(super) struct Looker {
    node_loop: NodeLoop,
    flights: Flights,
    wishes: mpsc::Receiver<Wish>,
    frames: watch::Sender<Frame>,
    /// When the task began.
    began: Instant,
    asked: Instant,
    /// When a state was last published, and what it was but for ages.
    published: Option<(Instant, Status)>,
}

impl Looker {
    pub(super) fn new(node_loop: NodeLoop, kinematics: Kinematics) -> (Self, Looks) {
        let (sender, wishes) = mpsc::channel(WISHES);
        let frames = watch::Sender::new(Frame::default());
        let looks = Looks { wishes: sender, frames: frames.clone() };
        let began = Instant::now();
        (
            Self {
                node_loop,
                flights: Flights::new(kinematics),
                wishes,
                frames,
                began,
                asked: began,
                published: None,
            },
            looks,
        )
    }

    /// Serves until every [`Looks`] is gone.
    pub(super) async fn run(mut self) {
        let mut batch = Vec::new();
        loop {
            let is_followed = self.frames.receiver_count() > 0;
            let next = self.asked + PERIOD;
            tokio::select! {
                count = self.wishes.recv_many(&mut batch, WISHES) => {
                    if count == 0 {
                        return;
                    }
                    sleep_until(self.asked + PAUSE).await;
                    while batch.len() < 2 * WISHES && let Ok(wish) = self.wishes.try_recv() {
                        batch.push(wish);
                    }
                    let look = self.look().await;
                    for wish in batch.drain(..) {
                        // A client that has gone does not need it.
                        drop(wish.send(look.clone()));
                    }
                    if let (true, Ok(look)) = (is_followed, look) {
                        self.publish(&look);
                    }
                }
                () = sleep_until(next), if is_followed => {
                    // A loop that does not answer shows as silence.
                    if let Ok(look) = self.look().await {
                        self.publish(&look);
                    }
                }
            }
        }
    }

    async fn look(&mut self) -> Result<Arc<Look>, Refused> {
        self.asked = Instant::now();
        let status = self.node_loop.status().await?;
        self.flights.update(&status, self.asked - self.began);
        let state = State::new(&status, &self.flights, SystemTime::now());
        Ok(Arc::new(Look { status: *status, state, frame: OnceLock::new() }))
    }

    fn publish(&mut self, look: &Look) {
        let now = Instant::now();
        let essence = without_ages(&look.status);
        let is_due = self.published.as_ref().is_none_or(|(at, before)| {
            let age = now - *at;
            age >= REFRESH || age >= PERIOD && (is_moving(&look.status) || *before != essence)
        });
        if is_due {
            self.published = Some((now, essence));
            self.frames.send_replace(look.frame());
        }
    }
}

/// Whether a position changes by itself.
fn is_moving(status: &Status) -> bool {
    let own = status.car.iter().map(|car| car.view);
    let others = status.peers.iter().filter_map(|peer| peer.car);
    own.chain(others).any(|view| matches!(view.phase, CarPhase::Moving { .. }))
}

/// What differs from one look to the next only where something has happened.
fn without_ages(status: &Status) -> Status {
    let mut status = status.clone();
    (status.uptime, status.state_since) = (Duration::ZERO, Duration::ZERO);
    status.mesh.clear();
    status.queues.clear();
    for peer in &mut status.peers {
        peer.silent = Duration::ZERO;
        (peer.round_trip, peer.loss) = (None, None);
        if let Some(car) = &mut peer.car {
            car.elapsed = Duration::ZERO;
        }
    }
    for lost in &mut status.lost {
        lost.silent = Duration::ZERO;
    }
    for conflict in &mut status.conflicts {
        (conflict.since, conflict.last) = (Duration::ZERO, Duration::ZERO);
    }
    for order in &mut status.orders {
        order.waited = Duration::ZERO;
    }
    if let Some(car) = &mut status.car {
        car.view.elapsed = Duration::ZERO;
        car.line = elevator_driver::LineCounters::default();
    }
    status.climate.age = None;
    for unit in &mut status.climate.units {
        unit.age = Duration::ZERO;
    }
    status
}
