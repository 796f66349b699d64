//! What there is to see of a fleet at a moment.

use std::time::{Duration, SystemTime};

use elevator_fleet::node::Report;
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use liftmesh_lab::{Weather, World};
use serde::Serialize;

use crate::passengers::{Demand, Passengers};
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The time that has passed in the world, in seconds.
    pub now: f64,
    /// The hash of everything that has happened until then.
    pub fingerprint: String,
    /// What a node says of the fleet, as `/api/v1/events` does; null if no node runs.
    pub state: Option<State>,
    /// The name of that node.
    pub from: Option<String>,
    /// What that node has reported, the oldest first.
    pub events: Vec<Event>,
    /// Whether these are its reports since the last picture; otherwise that was of another node, and
    /// they are all that is remembered.
    pub goes_on: bool,
    /// Every node as it really is.
    pub nodes: Vec<NodePicture>,
    /// The directed pairs of nodes between which nothing passes, but for cut networks of nodes.
    pub cuts: Vec<(usize, usize)>,
    pub weather: Conditions,
    /// How many passengers come, and where they go.
    pub traffic: Demand,
    /// How many of them wait at the landings.
    pub waiting: usize,
    /// Invariants that were violated so far: none, unless Liftmesh has a defect.
    pub violations: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conditions {
    /// How many of a hundred get lost.
    pub loss: u8,
    /// How long a packet travels at least, in milliseconds.
    pub delay: f64,
    /// How much longer it travels at most, in milliseconds.
    pub jitter: f64,
}

/// What is true of a node, whatever it says.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the page")]
#[derive(Debug, Serialize)]
pub struct NodePicture {
    /// Its name, which is that of its car too.
    pub name: String,
    pub running: bool,
    /// Its process is there, but suspended.
    pub suspended: bool,
    /// Its car hung, and nobody has cleared that.
    pub hung: bool,
    /// The state of its node, if it runs, for people.
    pub node_state: Option<String>,
    /// Its network is cut, whatever links are.
    pub isolated: bool,
    pub line_cut: bool,
    pub stuck: bool,
    pub obstructed: bool,
}

/// Something that a node has reported, as in the events of the API.
#[derive(Debug, Serialize)]
pub struct Event {
    /// When, in UTC, by the clock of the world.
    pub at: String,
    #[serde(flatten)]
    pub report: Report,
}

impl Picture {
    /// The picture of a world, with what one node says and has reported since this many reports, or
    /// since ever.
    pub(crate) fn of(
        world: &World,
        from: Option<usize>,
        flights: &Flights,
        passengers: &Passengers,
        since: Option<u64>,
    ) -> Self {
        let nodes = 0..world.size();
        let reports =
            world.reports_since(since.unwrap_or(0)).filter(|(_, node, _)| Some(*node) == from);
        let events = reports.map(|(at, _, report)| Event {
            at: humantime::format_rfc3339_millis(wall_clock(world, at)).to_string(),
            report: report.clone(),
        });
        let status = from.and_then(|node| world.status(node));
        let now = wall_clock(world, world.now());
        Self {
            now: seconds(world.now()),
            fingerprint: format!("{:016x}", world.fingerprint()),
            state: status.map(|status| State::new(&status, flights, now)),
            from: from.map(|node| world.name(node).to_string()),
            events: events.collect(),
            goes_on: since.is_some(),
            nodes: nodes.map(|node| NodePicture::of(world, node)).collect(),
            cuts: world.cuts().collect(),
            weather: Conditions::of(world.weather()),
            traffic: passengers.demand(),
            waiting: passengers.waiting(),
            violations: world.violations().iter().map(ToString::to_string).collect(),
        }
    }
}

impl Conditions {
    fn of(weather: &Weather) -> Self {
        let (least, most) = (*weather.delay.start(), *weather.delay.end());
        let millis = |micros: u64| Duration::from_micros(micros).as_secs_f64() * 1_000.0;
        let jitter = millis(most.saturating_sub(least));
        Self { loss: weather.loss, delay: millis(least), jitter }
    }
}

impl NodePicture {
    fn of(world: &World, node: usize) -> Self {
        let running = world.is_awake(node);
        let car = world.car(node);
        Self {
            name: world.name(node).to_string(),
            running,
            suspended: !running && world.node(node).is_some(),
            hung: world.is_latched(node),
            node_state: world.node_state(node).filter(|_| running).map(|state| match state {
                NodeState::Master => "master".to_owned(),
                NodeState::Slave { master } => format!("slave of {master}"),
                NodeState::Seeking => "seeking".to_owned(),
            }),
            isolated: world.is_isolated(node),
            line_cut: !world.is_plugged(node),
            stuck: car.shaft().motor_fault().is_some(),
            obstructed: car.inputs().obstruction,
        }
    }
}

/// The clock on the wall at a moment of the world.
fn wall_clock(world: &World, at: Duration) -> SystemTime {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(world.unix_seconds().into());
    let began = now.checked_sub(Duration::from_secs(world.now().as_secs()));
    began.unwrap_or(now) + at
}

pub(crate) fn seconds(time: Duration) -> f64 {
    // To the microsecond, of which the page lets pass whole ones.
    (time.as_secs_f64() * 1_000_000.0).round() / 1_000_000.0
}
