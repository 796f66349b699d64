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
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::stream::{Frame, frame};
use crate::operator::NodeLoop;
use crate::programs::{Problem, remove_fields};
use liftmesh_api::{Flights, State, views};

const PAUSE: Duration = Duration::from_millis(20);

const PERIOD: Duration = Duration::from_millis(200);

/// The state is published this often even where only ages have changed, as a sign of life.
const REFRESH: Duration = Duration::from_secs(2);

/// The bound of the queue of wishes; when it is full, handlers wait until their own time limit.
const WISHES: usize = 64;

/// The fields of a status that differ at each look.
const AGES: &str = "uptime state_since mesh queues silent round_trip loss elapsed since last waited \
                    line age";

#[derive(Debug)]
pub(super) struct Look {
    pub(super) status: Status,
    pub(super) state: State,
    frame: OnceLock<Frame>,
}

impl Look {
    pub(super) fn frame(&self) -> Frame {
        self.frame.get_or_init(|| frame("state", None, &self.state)).clone()
    }
}

type Wish = oneshot::Sender<Result<Arc<Look>, Problem>>;

#[derive(Debug, Clone)]
pub(super) struct Looks {
    wishes: mpsc::Sender<Wish>,
    frames: watch::Sender<Frame>,
}

impl Looks {
    pub(super) async fn take(&self) -> Result<Arc<Look>, Problem> {
        let (wish, look) = oneshot::channel();
        self.wishes.send(wish).await.map_err(|_closed| Problem::no_answer())?;
        look.await.unwrap_or_else(|_closed| Err(Problem::no_answer()))
    }

    pub(super) fn queued(&self) -> usize {
        self.wishes.max_capacity() - self.wishes.capacity()
    }

    /// The frames of states, from here on. Take a look afterwards: that is the first one.
    pub(super) fn follow(&self) -> watch::Receiver<Frame> {
        self.frames.subscribe()
    }
}

pub(super) struct Looker {
    node_loop: NodeLoop,
    flights: Flights,
    wishes: mpsc::Receiver<Wish>,
    frames: watch::Sender<Frame>,
    began: Instant,
    asked: Instant,
    /// When a state was last published, and what it was but for ages.
    published: Option<(Instant, Value)>,
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

    async fn look(&mut self) -> Result<Arc<Look>, Problem> {
        self.asked = Instant::now();
        let status = self.node_loop.status().await?;
        self.flights.update(&status, self.asked - self.began);
        let state = State::new(&status, &self.flights, SystemTime::now());
        Ok(Arc::new(Look { status: *status, state, frame: OnceLock::new() }))
    }

    fn publish(&mut self, look: &Look) {
        let now = Instant::now();
        let mut essence = serde_json::to_value(&look.status).unwrap_or_default();
        remove_fields(&mut essence, AGES);
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

fn is_moving(status: &Status) -> bool {
    views(status).any(|(_, view)| matches!(view.phase, CarPhase::Moving { .. }))
}
