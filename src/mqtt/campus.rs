//! Many buildings at one broker: fleets in virtual time, paced to real time, each with the session by
//! which a real node publishes, and one client that hears all of them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_driver::{Button, Direction, FloorCount};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{NameError, NodeId};
use fastrand::Rng;
use liftmesh_api::{Flights, State};
use liftmesh_lab::{World, WorldError, WorldSettings};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Publish, RetainForwardRule};
use serde_json::Value;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::connection::{Connection, News};
use super::line::Ack;
use super::session::Session;
use super::{Access, Broker, MqttSettings, Prefix, options, recent};
use crate::mqtt_metrics::{Counted, Refused};
use crate::operator::Event;

/// How long the broker may take to accept everybody.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);

/// How long the last messages may be on their way.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// Between two steps of a building, and two looks at it.
const STEP: Duration = Duration::from_millis(100);

/// Between two presses in a building, on average.
const PRESS_EVERY: Duration = Duration::from_secs(2);

/// How long a fleet runs before anybody looks: it has a master and cars at rest.
const WARM_UP: Duration = Duration::from_secs(3);

/// What is run.
#[derive(Debug, Clone)]
pub(crate) struct Campus {
    pub(crate) broker: Broker,
    pub(crate) access: Access,
    /// What every topic begins with; below it is the number of a building.
    pub(crate) prefix: Prefix,
    pub(crate) buildings: usize,
    /// In each building.
    pub(crate) cars: usize,
    pub(crate) duration: Duration,
    pub(crate) seed: u64,
    /// Between two states of a fleet in which something moves.
    pub(crate) period: Duration,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    /// Messages that the buildings have sent.
    pub(crate) published: u64,
    /// Messages that the client has heard of them.
    pub(crate) received: u64,
    /// How many buildings it has heard.
    pub(crate) heard: usize,
    /// From the look at the state, or the event, until the client has heard of it; the shortest first.
    pub(crate) delays: Vec<Duration>,
}

impl Figures {
    /// The shortest time that at least this share of the messages did not exceed, in per cent.
    pub(crate) fn delay(&self, percent: usize) -> Option<Duration> {
        let rank = (self.delays.len() * percent).div_ceil(100);
        self.delays.get(rank.saturating_sub(1)).copied()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CampusError {
    #[error(transparent)]
    World(#[from] WorldError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("nothing can be counted")]
    Count(#[from] prometheus::Error),
    #[error("the broker {0} accepts no connection within {limit} s; --log-level debug says why", limit = CONNECT_LIMIT.as_secs())]
    NoBroker(String),
    #[error("a building has failed")]
    Failed(#[from] tokio::task::JoinError),
}

/// Runs all buildings at once.
pub(crate) async fn run(campus: &Campus) -> Result<Figures, CampusError> {
    let counted = Counted::new()?;
    let begin = Arc::new(Barrier::new(campus.buildings + 1));
    let mut buildings = JoinSet::new();
    for number in 1..=campus.buildings {
        let building = Building::new(campus, number, counted.clone())?;
        buildings.spawn(building.run(campus.duration, Arc::clone(&begin)));
    }
    let mut ear = Ear::new(campus)?;
    let ready = async {
        ear.connect().await;
        begin.wait().await;
    };
    let is_ready = timeout(CONNECT_LIMIT, ready).await;
    is_ready.map_err(|_late| CampusError::NoBroker(campus.broker.to_string()))?;
    let end = Instant::now() + campus.duration;
    ear.hear_until(end, u64::MAX).await;
    let mut is_drained = true;
    while let Some(ended) = buildings.join_next().await {
        is_drained &= ended?;
    }
    if is_drained {
        ear.hear_until(Instant::now() + DRAIN_LIMIT, counted.published()).await;
    }
    Ok(ear.figures(counted.published()))
}

struct Building {
    world: World,
    session: Session,
    flights: Flights,
    random: Rng,
    reported: u64,
    looked: Option<Instant>,
    period: Duration,
    floors: FloorCount,
}

impl Building {
    fn new(campus: &Campus, number: usize, counted: Counted) -> Result<Self, CampusError> {
        let seed = campus.seed.wrapping_add(number as u64);
        let mut settings = WorldSettings::new(campus.cars, seed);
        let floors = settings.floors;
        settings.codec = false;
        settings.inspect = false;
        let mut world = World::new(settings)?;
        world.start_all();
        world.run_for(WARM_UP);
        let settings = MqttSettings {
            broker: campus.broker.clone(),
            access: campus.access.clone(),
            prefix: campus.prefix.below(&number.to_string()),
            node: NodeId::new("A")?,
            period: campus.period,
            session_expiry: Duration::from_secs(1),
            kinematics: Kinematics::default(),
        };
        Ok(Self {
            session: Session::new(&settings, elevator_fleet::model::Term::default(), counted),
            flights: Flights::new(settings.kinematics),
            random: Rng::with_seed(seed),
            reported: world.report_count(),
            looked: None,
            period: campus.period,
            floors,
            world,
        })
    }

    /// Returns whether the broker has taken everything.
    async fn run(mut self, duration: Duration, begin: Arc<Barrier>) -> bool {
        while !self.session.is_connected() {
            self.session.next(false).await;
        }
        begin.wait().await;
        let started = Instant::now();
        let offset = self.world.now();
        while started.elapsed() < duration {
            self.press();
            let passed = self.world.now().saturating_sub(offset);
            self.world.run_for(started.elapsed().saturating_sub(passed));
            self.publish();
            let next = Instant::now() + STEP;
            while timeout_at(next, self.session.next(false)).await.is_ok() {}
        }
        let sent = async {
            while self.session.unsent() > 0 {
                self.session.next(false).await;
            }
            self.session.clear();
            while self.session.unsent() > 0 {
                self.session.next(false).await;
            }
        };
        let is_drained = timeout(DRAIN_LIMIT, sent).await.is_ok();
        self.session.finish().await;
        is_drained
    }

    fn press(&mut self) {
        if self.random.f64() < STEP.div_duration_f64(PRESS_EVERY) {
            let node = self.random.usize(..self.world.size());
            let floor = self.random.u8(..self.floors.get());
            let direction = *self.random.choice(&Direction::BOTH).unwrap_or(&Direction::Up);
            if let Some(floor) = self.floors.floor(floor) {
                self.world.press(node, Button::Hall(floor, direction));
            }
        }
    }

    /// What the master of the fleet would publish.
    fn publish(&mut self) {
        let Some(master) = self.world.master() else { return };
        let events = self.world.reports_since(self.reported);
        for (_, _, report) in events.filter(|(_, node, _)| *node == master) {
            self.session.push_event(recent::payload(&Event::new(report, SystemTime::now())));
        }
        self.reported = self.world.report_count();
        let is_time = self.looked.is_none_or(|at| at.elapsed() >= self.period);
        if let (true, Some(status)) = (is_time, self.world.status(master)) {
            self.looked = Some(Instant::now());
            self.flights.update(&status, self.world.now());
            self.session.show(&State::new(&status, &self.flights, SystemTime::now()), status.term);
        }
    }
}

/// The client that hears every building.
struct Ear {
    connection: Connection,
    prefix: Prefix,
    received: u64,
    heard: std::collections::BTreeSet<String>,
    delays: Vec<Duration>,
}

impl Ear {
    fn new(campus: &Campus) -> Result<Self, CampusError> {
        let settings = MqttSettings {
            broker: campus.broker.clone(),
            access: campus.access.clone(),
            prefix: campus.prefix.clone(),
            node: NodeId::new("ear")?,
            period: campus.period,
            session_expiry: Duration::ZERO,
            kinematics: Kinematics::default(),
        };
        Ok(Self {
            connection: Connection::new(
                "ear",
                options(&settings, "ear"),
                settings.access,
                Refused::default(),
            ),
            prefix: settings.prefix,
            received: 0,
            heard: std::collections::BTreeSet::new(),
            delays: Vec::new(),
        })
    }

    async fn connect(&mut self) {
        while !matches!(self.connection.next(false).await, News::Connected) {}
        let all = self.prefix.topic("#");
        if let Some(line) = self.connection.line() {
            line.subscribe(all, QoS::AtLeastOnce, RetainForwardRule::Never);
        }
        // The broker has answered to the subscription.
        self.connection.next(false).await;
    }

    /// Hears until then, or until it has heard so many.
    async fn hear_until(&mut self, end: Instant, count: u64) {
        let over = sleep_until(end);
        tokio::pin!(over);
        while self.received < count {
            tokio::select! {
                () = &mut over => return,
                news = self.connection.next(false) => if let News::Message(message) = news {
                    self.hear(&message);
                },
            }
        }
    }

    fn hear(&mut self, message: &Publish) {
        let now = SystemTime::now();
        if let Some(line) = self.connection.line() {
            line.acknowledge(&Ack::of(message));
        }
        self.received += 1;
        let topic = String::from_utf8_lossy(&message.topic);
        if let Some((building, _)) = self.prefix.strip(&topic).and_then(|rest| rest.split_once('/'))
        {
            self.heard.insert(building.to_owned());
        }
        let content: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
        let sent = content["at"].as_str().and_then(|at| humantime::parse_rfc3339(at).ok());
        let sent = sent.or_else(|| {
            let time = &content["lift_state"]["lift_time"];
            let nanos = u32::try_from(time["nanosec"].as_u64()?).ok()?;
            Some(SystemTime::UNIX_EPOCH + Duration::new(time["sec"].as_u64()?, nanos))
        });
        if let Some(delay) = sent.and_then(|sent| now.duration_since(sent).ok()) {
            self.delays.push(delay);
        }
    }

    fn figures(mut self, published: u64) -> Figures {
        self.delays.sort_unstable();
        let (received, heard) = (self.received, self.heard.len());
        Figures { published, received, heard, delays: self.delays }
    }
}
