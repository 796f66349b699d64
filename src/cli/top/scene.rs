//! What is known of the fleet, and since when.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::{LostStatus, Report};
use liftmesh_api::{Car, Node, State};

use super::source::Update;
use crate::client::{Notice, Streamed};
use crate::operator::Event;
use crate::screen::Choice;

const EVENTS: usize = 200;

/// An older picture is not the present one: even at another computer one is due every 2 s.
const STALE: Duration = Duration::from_secs(3);

/// The fleet at one moment, as the node said it.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) state: State,
    pub(super) at: Instant,
    /// The same by the wall clock.
    pub(super) time: SystemTime,
    /// Why the node does not answer, if so.
    pub(super) gone: Option<String>,
    /// The newest first.
    pub(super) news: VecDeque<Notice>,
    pub(super) choice: Choice,
}

/// A node that is heard, or one that was a peer and is no longer heard.
pub(super) type Known<'a> = Result<&'a Node, &'a LostStatus>;

pub(super) fn name<'a>(known: &Known<'a>) -> &'a NodeId {
    known.map_or_else(|lost| &lost.node, |node| &node.node)
}

impl Scene {
    pub(super) fn new(state: State, now: Instant) -> Self {
        Self {
            state,
            at: now,
            time: SystemTime::now(),
            gone: None,
            news: VecDeque::new(),
            choice: Choice::default(),
        }
    }

    pub(super) fn apply(&mut self, update: Update, now: Instant) {
        match update {
            Update::Streamed(Streamed::State(state)) => {
                let Self { news, choice, .. } = std::mem::replace(self, Self::new(*state, now));
                self.news = news;
                let car = choice.car.min(self.cabins().len().saturating_sub(1));
                self.choice = Choice { car, ..choice };
                let floors = self.state.fleet.floors();
                if !floors.contains(choice.floor) {
                    self.choice.floor = floors.top();
                }
            }
            Update::Gone(why) => self.gone = Some(why),
            // What the picture shows anyway.
            Update::Streamed(Streamed::Notice(Notice::Event(Event {
                report: Report::Floor { .. } | Report::Door { .. },
                ..
            }))) => {}
            Update::Streamed(Streamed::Notice(notice)) => {
                self.news.push_front(notice);
                self.news.truncate(EVENTS);
            }
        }
    }

    pub(super) fn is_live(&self, now: Instant) -> bool {
        self.gone.is_none() && self.age(now) < STALE
    }

    /// The time since the node last answered.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.at)
    }

    pub(super) fn nodes(&self) -> Vec<Known<'_>> {
        let fleet = &self.state.fleet;
        let mut nodes: Vec<Known<'_>> = fleet.nodes.iter().map(Ok).collect();
        nodes.extend(fleet.lost.iter().map(Err));
        nodes.sort_by_key(name);
        nodes
    }

    /// Those that have a car.
    pub(super) fn cabins(&self) -> Vec<Known<'_>> {
        let mut nodes = self.nodes();
        nodes.retain(|known| known.map_or_else(|lost| lost.role, |node| node.role) == Role::Cabin);
        nodes
    }

    /// The car of a node that has described it.
    pub(super) fn car(&self, known: Known<'_>) -> Option<&Car> {
        let node = known.ok()?;
        self.state.cars.iter().find(|car| car.node == node.node)
    }
}
