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
//! All of it runs beside the node's loop, which it reaches only through the loop's bounded queue of
//! requests. When it fails, the node goes on.
//!
//! Every node has a [`Presence`]. One node of the fleet, usually the master, has the [`Session`]: it
//! publishes, and takes calls. Read [`Bridge`] for who has it, `session.rs` for what a handover means,
//! and `docs/MQTT.md` for the topics.

mod asked;
mod board;
mod broker;
mod calls;
mod connection;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod line;
mod presence;
mod session;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Status;
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use rumqttc::v5::MqttOptions;
use tokio::runtime::Runtime;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

pub(crate) use self::broker::{Access, Broker, Encryption, Prefix};
use self::calls::{Desk, Handled, NoAnswer};
use self::line::{Ack, End, Heard, Line};
use self::presence::Presence;
use self::session::{Session, SessionNews};
use crate::mqtt_metrics::{CallOutcome, Counted};
use crate::operator::{Event, NodeLoop};
use crate::side::{LEFTOVERS, Side};

const BLOCKING_THREADS: usize = 2;

const PAUSE: Duration = Duration::from_millis(50);

/// How often a node that does not publish looks at its state, beside the looks after events.
const IDLE_PERIOD: Duration = Duration::from_secs(1);

/// A mastership shorter than this is none: it may change several times within milliseconds.
const SETTLED: Duration = Duration::from_millis(200);

/// How many events a node keeps that does not publish; when there are more, the oldest is dropped.
const RECENT: usize = 256;

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
    pub(crate) kinematics: Kinematics,
}

#[derive(Debug)]
pub(crate) struct Mqtt {
    pub(crate) side: Side,
    counted: Counted,
}

impl Mqtt {
    /// Starts the bridge. A broker that can't be reached is tried again; the log says so.
    pub(crate) fn start(
        settings: MqttSettings,
        counted: Counted,
        node_loop: NodeLoop,
        events: broadcast::Receiver<Event>,
    ) -> io::Result<Self> {
        let known = counted.clone();
        let side = Side::start("mqtt", runtime()?, |stopped| async move {
            let mut bridge = JoinSet::new();
            bridge.spawn(Bridge::new(settings, counted, node_loop, events).run(stopped));
            if let Some(Err(failure)) = bridge.join_next().await {
                error!(%failure, "MQTT has failed: the node goes on without it");
            }
        })?;
        Ok(Self { side, counted: known })
    }

    pub(crate) fn refused_topics(&self) -> Vec<String> {
        self.counted.refused.list()
    }
}

/// Connects with the broker as a node of the fleet, without a session, and leaves again.
pub(crate) fn reach(settings: &MqttSettings) -> Result<(), End> {
    let runtime = runtime().map_err(End::of)?;
    let reached = runtime.block_on(async {
        let options = options(settings, &format!("doctor/{}", std::process::id()));
        let mut line = Line::open(options, settings.access.clone());
        while !matches!(line.next().await?, Heard::Connected) {}
        line.finish().await;
        Ok(())
    });
    runtime.shutdown_timeout(LEFTOVERS);
    reached
}

fn runtime() -> io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(BLOCKING_THREADS).enable_all().build()
}

/// What both connections of a node have in common; a client's name is a topic below the prefix.
fn options(settings: &MqttSettings, name: &str) -> MqttOptions {
    MqttOptions::new(
        settings.prefix.topic(name),
        settings.broker.host.clone(),
        settings.broker.port,
    )
}

/// Takes the session when this node is to publish, and leaves it when it is not. The master
/// publishes, or where the mastership rotates, the first by name of those that hear each other.
struct Bridge {
    settings: MqttSettings,
    counted: Counted,
    node_loop: NodeLoop,
    events: broadcast::Receiver<Event>,
    presence: Presence,
    session: Option<Session>,
    /// The events since the last sign of life of the node that publishes, which it may not have.
    recent: VecDeque<(Instant, Bytes)>,
    desk: Desk,
    flights: Flights,
    began: Instant,
    looked: Instant,
    next_look: Instant,
    due_since: Option<Instant>,
}

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
            recent: VecDeque::new(),
            desk: Desk::new(node_loop.clone(), settings.prefix.clone()),
            flights: Flights::new(settings.kinematics),
            began: now,
            looked: now,
            next_look: now,
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
        }
        let leave = async {
            if let Some(session) = self.session {
                session.finish().await;
            }
        };
        tokio::join!(leave, self.presence.finish());
    }

    async fn next(&mut self, stopped: &mut oneshot::Receiver<()>) -> Input {
        let place_at = self.desk.next_at().filter(|_| self.session.is_some());
        tokio::select! {
            _ = stopped => Input::Stop,
            event = self.events.recv() => Input::Event(event),
            () = sleep_until(self.next_look) => Input::Look,
            () = self.presence.next() => Input::Presence,
            news = next_of(&mut self.session) => Input::Session(news),
            () = sleep_until(place_at.unwrap_or(self.next_look)), if place_at.is_some() => Input::Place,
        }
    }

    fn on_event(&mut self, event: &Event) {
        let payload = Bytes::from(serde_json::to_vec(event).unwrap_or_default());
        if let Some(session) = &mut self.session {
            session.push_event(payload);
        } else {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
                self.counted.events_dropped.inc_by(self.due_since.is_some().into());
            }
            self.recent.push_back((Instant::now(), payload));
        }
        // It may have changed the state.
        self.next_look = self.next_look.min(self.looked + PAUSE);
    }

    fn on_session(&mut self, news: SessionNews) {
        match news {
            SessionNews::Disconnected => self.desk.forget(),
            SessionNews::Asked(inbox, message) => {
                let has_room = self.desk.push(inbox, &message);
                match (has_room, Ack::of(&message).is_awaited()) {
                    (true, _) => {}
                    (false, false) => self.counted.calls(CallOutcome::Dropped).inc(),
                    // Acknowledged by nobody, it comes again.
                    (false, true) => {
                        self.give_up("the broker sends more calls at once than allowed");
                    }
                }
            }
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
        let publisher = publisher(status);
        if let Some(peer) = status.peers.iter().find(|peer| Some(&peer.node) == publisher) {
            let alive_at = self.looked.checked_sub(peer.silent).unwrap_or(self.looked);
            self.recent.retain(|(at, _)| *at >= alive_at);
        }
        if publisher != Some(&status.node) {
            self.due_since = None;
            if let Some(session) = self.session.take() {
                info!("this node no longer publishes the fleet's state over MQTT");
                self.desk.forget();
                session.finish().await;
            }
            return;
        }
        let settled_at = *self.due_since.get_or_insert(self.looked) + SETTLED;
        if settled_at > self.looked {
            self.next_look = self.next_look.min(settled_at);
        } else if self.session.is_none() {
            info!("this node publishes the fleet's state over MQTT");
            let mut session = Session::new(&self.settings, status.term, self.counted.clone());
            self.recent.drain(..).for_each(|(_, event)| session.push_event(event));
            self.session = Some(session);
        }
    }

    async fn place(&mut self) {
        let Some(session) = &mut self.session else { return };
        match self.desk.place_next().await {
            Ok(None) => {}
            Ok(Some(Handled { acknowledge, answer, outcome })) => {
                self.counted.calls(outcome).inc();
                // First: a broker may end the connection over the answer, and deliver again.
                if let Some(ack) = acknowledge {
                    session.acknowledge(&ack);
                } else {
                    self.next_look = self.next_look.min(self.looked + PAUSE);
                }
                if let Some(answer) = answer {
                    session.answer(answer);
                }
            }
            Err(NoAnswer) => self.give_up("the node's loop does not answer a call"),
        }
    }
}

async fn next_of(session: &mut Option<Session>) -> SessionNews {
    match session {
        Some(session) => session.next().await,
        None => std::future::pending().await,
    }
}

/// The node that speaks for the fleet.
pub(crate) fn publisher(status: &Status) -> Option<&NodeId> {
    let rotates = status.election.profile().rotates;
    match &status.node_state {
        NodeState::Seeking => None,
        NodeState::Master if !rotates => Some(&status.node),
        NodeState::Slave { master } if !rotates => Some(master),
        NodeState::Master | NodeState::Slave { .. } => {
            let synced = status.peers.iter().filter(|peer| peer.synced).map(|peer| &peer.node);
            synced.chain([&status.node]).min()
        }
    }
}

#[cfg(test)]
mod tests;
