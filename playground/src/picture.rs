//! What there is to see of a fleet at a moment.

use std::time::{Duration, SystemTime};

use elevator_fleet::node::Report;
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use liftmesh_lab::World;
use serde::Serialize;

/// What there is to see.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The time that has passed in the world, in seconds.
    pub now: f64,
    /// What a node says of the fleet, as `/api/v1/events` does; null if no node runs.
    pub state: Option<State>,
    /// The name of that node.
    pub from: Option<String>,
    /// What that node has reported since the last picture, the oldest first.
    pub events: Vec<Event>,
    /// Every node as it really is.
    pub nodes: Vec<NodePicture>,
    /// The pairs of nodes that don't reach each other both ways.
    pub cut: Vec<(usize, usize)>,
    /// Invariants that were violated so far: none, unless Liftmesh has a defect.
    pub violations: Vec<String>,
}

/// What is true of a node, whatever it says.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the page")]
#[derive(Debug, Serialize)]
pub struct NodePicture {
    /// Its name, which is that of its car too.
    pub name: String,
    /// Its process runs and is not suspended.
    pub running: bool,
    /// Its process is there, but suspended.
    pub suspended: bool,
    /// Its car hung, and nobody has cleared that.
    pub hung: bool,
    /// The state of its node, if it runs, for people.
    pub node_state: Option<String>,
    /// Its network is cut, whatever links are.
    pub isolated: bool,
    /// The line to its panel is cut.
    pub line_cut: bool,
    /// The motor of its car is broken.
    pub stuck: bool,
    /// Something stands in the door of its car.
    pub obstructed: bool,
}

/// Something that a node has reported, as in the events of the operator's socket.
#[derive(Debug, Serialize)]
pub struct Event {
    /// When, in UTC, by the clock of the world.
    pub at: String,
    /// What.
    #[serde(flatten)]
    pub report: Report,
}

impl Picture {
    /// The picture of a world, with what one node says and has reported since so many reports.
    pub(crate) fn of(world: &World, from: Option<usize>, flights: &Flights, shown: u64) -> Self {
        let nodes = 0..world.size();
        let reports = world.reports_since(shown).filter(|(_, node, _)| Some(*node) == from);
        let events = reports.map(|(at, _, report)| Event {
            at: humantime::format_rfc3339_millis(wall_clock(world, at)).to_string(),
            report: report.clone(),
        });
        let pairs = nodes.clone().flat_map(|other| (0..other).map(move |one| (one, other)));
        let status = from.and_then(|node| world.status(node));
        let now = wall_clock(world, world.now());
        Self {
            now: seconds(world.now()),
            state: status.map(|status| State::new(&status, flights, now)),
            from: from.map(|node| world.name(node).to_string()),
            events: events.collect(),
            nodes: nodes.map(|node| NodePicture::of(world, node)).collect(),
            cut: pairs.filter(|(one, other)| !world.connects(*one, *other)).collect(),
            violations: world.violations().iter().map(ToString::to_string).collect(),
        }
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

fn seconds(time: Duration) -> f64 {
    // Rounded to milliseconds: a page needs no more.
    (time.as_secs_f64() * 1_000.0).round() / 1_000.0
}
