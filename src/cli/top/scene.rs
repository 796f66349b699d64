//! What is known of the fleet, and since when.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use elevator_fleet::model::{CarView, NodeId, Role};
use elevator_fleet::node::{FleetStatus, LostStatus, Report};
use elevator_fleet::wire::NodeState;

use super::source::Update;
use crate::operator::Event;
use crate::screen::Choice;

/// Events that are kept for the screen.
const EVENTS: usize = 200;

/// A picture that is older than this is not the present one: others were due since, from a node at
/// another computer one every 2 s.
const STALE: Duration = Duration::from_secs(3);

/// The fleet at one moment, as the node said it.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) fleet: FleetStatus,
    /// When that came.
    pub(super) at: Instant,
    /// The same by the wall clock.
    pub(super) time: SystemTime,
    /// Why the node does not answer, if so.
    pub(super) gone: Option<String>,
    /// The newest first.
    pub(super) news: VecDeque<News>,
    pub(super) choice: Choice,
}

/// A line among the events.
#[derive(Debug)]
pub(super) enum News {
    Event(Event),
    Missed(u64),
}

/// A car of the fleet.
#[derive(Debug)]
pub(super) struct Car<'a> {
    pub(super) name: &'a NodeId,
    pub(super) node: CarNode<'a>,
}

/// What is known of a car's node.
#[derive(Debug)]
pub(super) enum CarNode<'a> {
    /// It is heard, and may have described its car.
    Heard { state: &'a NodeState, view: Option<&'a CarView> },
    /// It was a peer and is no longer heard.
    Lost(&'a LostStatus),
}

impl Scene {
    pub(super) fn new(fleet: FleetStatus, now: Instant) -> Self {
        Self {
            fleet,
            at: now,
            time: SystemTime::now(),
            gone: None,
            news: VecDeque::new(),
            choice: Choice::default(),
        }
    }

    pub(super) fn apply(&mut self, update: Update, now: Instant) {
        match update {
            Update::Fleet(fleet) => {
                let Self { news, choice, .. } = std::mem::replace(self, Self::new(*fleet, now));
                self.news = news;
                let car = choice.car.min(self.cars().len().saturating_sub(1));
                self.choice = Choice { car, ..choice };
                if !self.fleet.floors.contains(choice.floor) {
                    self.choice.floor = self.fleet.floors.top();
                }
            }
            Update::Gone(why) => self.gone = Some(why),
            // What the picture shows anyway.
            Update::Event(Event { report: Report::Floor { .. } | Report::Door { .. }, .. }) => {}
            Update::Event(event) => self.log(News::Event(event)),
            Update::Missed(events) => self.log(News::Missed(events)),
        }
    }

    fn log(&mut self, news: News) {
        self.news.push_front(news);
        self.news.truncate(EVENTS);
    }

    /// Whether what is known is what is.
    pub(super) fn is_live(&self, now: Instant) -> bool {
        self.gone.is_none() && self.age(now) < STALE
    }

    /// The time since the node last answered.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }

    /// The cars of the nodes that are heard, and of those that were lost, by name.
    pub(super) fn cars(&self) -> Vec<Car<'_>> {
        let heard = self.fleet.nodes.iter().filter(|node| node.role == Role::Cabin);
        let heard = heard.map(|node| Car {
            name: &node.node,
            node: CarNode::Heard { state: &node.node_state, view: node.car.as_ref() },
        });
        let lost = self.fleet.lost.iter().filter(|node| node.role == Role::Cabin);
        let lost = lost.map(|node| Car { name: &node.node, node: CarNode::Lost(node) });
        let mut cars: Vec<_> = heard.chain(lost).collect();
        cars.sort_by_key(|car| car.name);
        cars
    }
}
