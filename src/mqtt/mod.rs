//! MQTT 5: the fleet's state and events for the site's broker, and calls from there.
//!
//! ```text
//!   node's loop ──events──▶ ┌────────┐ state, events, answers   ┌─────────┐
//!        ▲                  │ Bridge │ ──▶ Session ──▶ Line ──▶ │         │
//!        └── NodeLoop ◀──── │        │ ◀── requests ◀───────────│ broker  │
//!                           │        │ ──▶ Presence ─▶ Line ──▶ │         │
//!                           └────────┘     online, offline      └─────────┘
//! ```
//!
//! All of it runs on a separate thread, so that whatever the broker does delays nothing in the
//! node's loop, which it reaches only through the loop's bounded queue of requests. When the thread
//! fails, the node goes on without it.
//!
//! Every node has a [`Presence`]. One node of the fleet, usually the master, has the [`Session`]: it
//! publishes, and takes calls. Read [`Bridge`] for who has it, `session.rs` for what a handover means,
//! and `docs/MQTT.md` for the topics.

pub(crate) mod access;
mod asked;
mod board;
mod broker;
mod calls;
mod connection;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod line;
mod presence;
mod recent;
mod refusals;
mod session;

use std::io;
use std::thread;
use std::time::{Duration, SystemTime};

use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Status;
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use rumqttc::v5::MqttOptions;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

pub(crate) use self::access::Access;
pub(crate) use self::broker::{Broker, Encryption, Prefix};
use self::calls::{Desk, Handled, NoAnswer, Overflow};
use self::line::{Heard, Line};
use self::presence::Presence;
use self::recent::Recent;
use self::session::{Session, SessionNews};
use crate::mqtt_metrics::{CallOutcome, Counted, DropWatch};
use crate::operator::{Event, NodeLoop};
use crate::priority::give_way;

/// How long the thread may take to end.
const END_LIMIT: Duration = Duration::from_secs(1);

/// How long what blocks, such as a disk that does not answer, may hold up the end of the thread.
const LEFTOVERS: Duration = Duration::from_millis(100);

/// Threads that read files.
const BLOCKING_THREADS: usize = 2;

/// Between two looks at the node's state, at least.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a node that does not publish looks at its state, beside the looks after events.
const IDLE_PERIOD: Duration = Duration::from_secs(1);

/// A mastership shorter than this is none for MQTT: nodes that start, or have just lost their master, may
/// change it several times within milliseconds.
const SETTLED: Duration = Duration::from_millis(200);

/// What the bridge needs to know.
#[derive(Debug, Clone)]
pub(crate) struct MqttSettings {
    pub(crate) broker: Broker,
    pub(crate) access: Access,
    pub(crate) prefix: Prefix,
    pub(crate) node: NodeId,
    /// Between two states of a fleet in which something moves.
    pub(crate) period: Duration,
    /// How long the broker keeps calls while no node takes them.
    pub(crate) session_expiry: Duration,
    /// By which positions are estimated.
    pub(crate) kinematics: Kinematics,
}

/// The running bridge. When this is dropped it ends by itself.
#[derive(Debug)]
pub(crate) struct Mqtt {
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
    counted: Counted,
}

impl Mqtt {
    /// Starts the bridge. A broker that can't be reached is tried again; the log says so.
    ///
    /// # Errors
    /// The system provides no thread.
    pub(crate) fn start(
        settings: MqttSettings,
        counted: Counted,
        node_loop: NodeLoop,
        events: broadcast::Receiver<Event>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(BLOCKING_THREADS)
            .enable_all()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let (report, ended) = oneshot::channel();
        let known = counted.clone();
        thread::Builder::new().name("mqtt".to_owned()).spawn(move || {
            give_way();
            runtime.block_on(async {
                let mut bridge = JoinSet::new();
                bridge.spawn(Bridge::new(settings, counted, node_loop, events).run(stopped));
                if let Some(Err(failure)) = bridge.join_next().await {
                    error!(%failure, "MQTT has failed: the node goes on without it");
                }
            });
            runtime.shutdown_timeout(LEFTOVERS);
            drop(report);
        })?;
        Ok(Self { stop, ended, counted: known })
    }

    /// The topics on which the broker takes nothing from this node.
    pub(crate) fn refused_topics(&self) -> Vec<String> {
        self.counted.refused_topics()
    }

    /// Ends the bridge and its connections.
    pub(crate) async fn finish(self) {
        drop(self.stop);
        if tokio::time::timeout(END_LIMIT, self.ended).await.is_err() {
            warn!("MQTT did not stop in time");
        }
    }
}

/// Why a broker could not be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("{0}")]
    Ended(String),
}

/// Connects with the broker as a node of the fleet, without a session, and leaves again.
///
/// # Errors
/// The broker does not answer, or takes no connection.
pub(crate) fn reach(settings: &MqttSettings) -> Result<(), ReachError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()?;
    let reached = runtime.block_on(async {
        let options = options(settings, &format!("doctor/{}", std::process::id()));
        let mut line = Line::open(options, settings.access.clone());
        loop {
            match line.next().await {
                Heard::Connected => {
                    line.finish().await;
                    return Ok(());
                }
                Heard::Ended(end) => return Err(ReachError::Ended(end.reason)),
                Heard::Message(_)
                | Heard::Acknowledged(..)
                | Heard::NotSubscribed(_)
                | Heard::Alive => {}
            }
        }
    });
    runtime.shutdown_timeout(LEFTOVERS);
    reached
}

/// What both connections of a node have in common; a client's name is a topic below the prefix.
fn options(settings: &MqttSettings, name: &str) -> MqttOptions {
    MqttOptions::new(
        settings.prefix.topic(name),
        settings.broker.host.clone(),
        settings.broker.port,
    )
}

/// Takes the session when this node is to publish, and leaves it when it is not.
///
/// The master publishes. Where the mastership rotates all the time, the node with the first name does,
/// of those that hear each other. Of two masters that do not hear each other but reach the same broker,
/// the one with the higher term does.
#[derive(Debug)]
struct Bridge {
    settings: MqttSettings,
    counted: Counted,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    presence: Presence,
    session: Option<Session>,
    /// While it has no session.
    recent: Recent,
    desk: Desk,
    flights: Flights,
    drops: DropWatch,
    began: Instant,
    looked: Instant,
    next_look: Instant,
    is_standing_by: bool,
    /// Since when this node is to publish.
    due_since: Option<Instant>,
}

/// What the bridge waits for.
enum Input {
    Stop,
    Event(Result<Event, RecvError>),
    Look,
    Presence,
    Session(SessionNews),
    Place,
}

impl Bridge {
    fn new(
        settings: MqttSettings,
        counted: Counted,
        node_loop: NodeLoop,
        events: broadcast::Receiver<Event>,
    ) -> Self {
        let now = Instant::now();
        Self {
            presence: Presence::new(&settings, counted.refused.clone()),
            session: None,
            recent: Recent::default(),
            desk: Desk::new(node_loop.clone(), settings.prefix.clone()),
            flights: Flights::new(settings.kinematics),
            drops: DropWatch::default(),
            began: now,
            looked: now,
            next_look: now,
            is_standing_by: false,
            due_since: None,
            settings,
            counted,
            node_loop,
            events,
        }
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let broker = &self.settings.broker;
        if broker.encryption == Encryption::None && !broker.is_on_loopback() {
            warn!(%broker, "MQTT without TLS: others on the network can read and change it");
        }
        loop {
            match self.next(&mut stopped).await {
                Input::Stop | Input::Event(Err(RecvError::Closed)) => break,
                Input::Event(Ok(event)) => self.on_event(&event),
                Input::Event(Err(RecvError::Lagged(events))) => {
                    if self.due_since.is_some() {
                        self.counted.events_dropped.inc_by(events);
                    }
                }
                Input::Look => self.look().await,
                Input::Presence => {}
                Input::Session(news) => self.on_session(news),
                Input::Place => self.place().await,
            }
            self.drops.check(&self.counted);
        }
        let leave = async {
            if let Some(session) = self.session {
                session.finish().await;
            }
        };
        tokio::join!(leave, self.presence.finish());
        self.drops.check(&self.counted);
    }

    async fn next(&mut self, stopped: &mut oneshot::Receiver<()>) -> Input {
        let is_broker_there = self.presence.is_connected();
        let place_at = self.desk.next_at().filter(|_| self.session.is_some());
        tokio::select! {
            _ = stopped => Input::Stop,
            event = self.events.recv() => Input::Event(event),
            () = sleep_until(self.next_look) => Input::Look,
            () = self.presence.next() => Input::Presence,
            news = next_of(&mut self.session, is_broker_there) => Input::Session(news),
            () = sleep_until(place_at.unwrap_or(self.next_look)), if place_at.is_some() => Input::Place,
        }
    }

    fn on_event(&mut self, event: &Event) {
        if let Some(session) = &mut self.session {
            session.push_event(recent::payload(event));
        } else {
            let dropped = self.recent.push(event, Instant::now());
            if self.due_since.is_some() {
                self.counted.events_dropped.inc_by(dropped);
            }
        }
        // It may have changed the state.
        self.next_look = self.next_look.min(self.looked + PAUSE);
    }

    fn on_session(&mut self, news: SessionNews) {
        match news {
            SessionNews::Disconnected => self.desk.forget(),
            SessionNews::Asked(inbox, message) => match self.desk.push(inbox, &message) {
                Ok(()) => {}
                Err(Overflow::NotKept) => self.counted.calls(CallOutcome::Dropped).inc(),
                // Acknowledged by nobody, it comes again.
                Err(Overflow::Kept) => {
                    self.give_up("the broker sends more calls at once than allowed");
                }
            },
            SessionNews::Nothing => {}
        }
    }

    fn give_up(&mut self, reason: &str) {
        if let Some(session) = &mut self.session {
            session.give_up(reason);
        }
        self.desk.forget();
    }

    async fn look(&mut self) {
        self.looked = Instant::now();
        self.next_look = self.looked + IDLE_PERIOD;
        // A loop that does not answer shows by a state that is not refreshed.
        let Ok(status) = self.node_loop.status().await else { return };
        self.flights.update(&status, self.looked - self.began);
        self.take_or_leave(&status).await;
        let Some(session) = &mut self.session else { return };
        self.next_look = self.looked + self.settings.period;
        session.show(&State::new(&status, &self.flights, SystemTime::now()), status.term);
        for settled in self.desk.settle(&status) {
            session.acknowledge(&settled);
        }
    }

    async fn take_or_leave(&mut self, status: &Status) {
        let publisher = Publisher::of(status);
        let is_due = publisher == Publisher::Own;
        if let Publisher::Peer { silent } = publisher {
            self.recent.forget_until(self.looked.checked_sub(silent).unwrap_or(self.looked));
        }
        let has_rival = is_due && self.presence.has_better_rival(status.term, self.looked);
        if has_rival != self.is_standing_by {
            self.is_standing_by = has_rival;
            if has_rival {
                warn!("another master of this fleet publishes over MQTT: this node does not");
            }
        }
        let due_since = is_due.then(|| self.due_since.unwrap_or(self.looked));
        self.due_since = due_since;
        let settled_at = due_since.map(|since| since + SETTLED);
        if let Some(at) = settled_at.filter(|at| *at > self.looked) {
            self.next_look = self.next_look.min(at);
            return;
        }
        if is_due && !has_rival {
            let recent = &mut self.recent;
            self.session.get_or_insert_with(|| {
                info!("this node publishes the fleet's state over MQTT");
                let mut session = Session::new(&self.settings, status.term, self.counted.clone());
                recent.take().for_each(|event| session.push_event(event));
                session
            });
        } else if let Some(session) = self.session.take() {
            info!("this node no longer publishes the fleet's state over MQTT");
            self.desk.forget();
            session.finish().await;
        }
    }

    async fn place(&mut self) {
        let Some(session) = &mut self.session else { return };
        match self.desk.place_next().await {
            Ok(None) => {}
            Ok(Some(Handled { acknowledge, answer, outcome })) => {
                self.counted.calls(outcome).inc();
                if let Some(answer) = answer {
                    session.answer(answer);
                }
                if let Some(ack) = acknowledge {
                    session.acknowledge(&ack);
                } else {
                    self.next_look = self.next_look.min(self.looked + PAUSE);
                }
            }
            Err(NoAnswer) => self.give_up("the node's loop does not answer a call"),
        }
    }
}

async fn next_of(session: &mut Option<Session>, is_broker_there: bool) -> SessionNews {
    match session {
        Some(session) => session.next(is_broker_there).await,
        None => std::future::pending().await,
    }
}

/// Who of a group publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Publisher {
    /// This node.
    Own,
    /// A peer, last heard so long ago.
    Peer { silent: Duration },
    /// Nobody, as far as this node knows.
    None,
}

impl Publisher {
    fn of(status: &Status) -> Self {
        let rotates = status.election.profile().rotates;
        match &status.node_state {
            NodeState::Seeking => Self::None,
            NodeState::Master if !rotates => Self::Own,
            NodeState::Slave { master } if !rotates => {
                let master = status.peers.iter().find(|peer| peer.node == *master);
                master.map_or(Self::None, |peer| Self::Peer { silent: peer.silent })
            }
            NodeState::Master | NodeState::Slave { .. } => {
                let before = status.peers.iter().filter(|it| it.synced && it.node < status.node);
                let first = before.min_by_key(|peer| &peer.node);
                first.map_or(Self::Own, |peer| Self::Peer { silent: peer.silent })
            }
        }
    }
}

#[cfg(test)]
mod tests;
