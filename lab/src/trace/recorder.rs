//! What a world does, as it does it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use elevator_fleet::model::Term;
use elevator_fleet::node::{Node, Report};
use elevator_fleet::wire::NodeState;

use super::fault::{Effect, effect};
use super::{
    Arrow, Band, Fate, Kind, MOST_ARROWS, MOST_MESSAGES, MOST_NOTES, Mark, MarkKind, Sent, StateAt,
    Trace, Window,
};
use crate::connection::{ConnectionId, Side};
use crate::history::Note;

/// A message: its place among those that were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentId(usize);

/// An arrow: its place among those that were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArrowId(u32);

/// What concerns a link, and is under way once at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    Dial,
    Accept,
    /// To this side.
    Reset(Side),
}

/// A recording under way.
#[derive(Debug)]
pub(crate) struct Recorder {
    window: Window,
    trace: Trace,
    /// How many messages and arrows before those of the trace were recorded, and forgotten.
    forgotten: (usize, usize),
    /// The bands that go on: their place among those of the trace.
    open: BTreeMap<(Option<usize>, &'static str), usize>,
    /// Why each node's process ends, should it do so now.
    ends_as: Vec<&'static str>,
    /// What is under way over each direction of a link; `None` is not recorded.
    queues: BTreeMap<(ConnectionId, Side), VecDeque<Option<ArrowId>>>,
    signals: BTreeMap<(ConnectionId, Signal), ArrowId>,
    /// The latest state of each node.
    known: Vec<Option<NodeState>>,
}

/// What ends the process of a node that nobody has killed.
const ENDS_BY_ITSELF: &str = "down";

impl Recorder {
    pub(crate) fn new(trace: Trace) -> Self {
        let nodes = trace.nodes.len();
        Self {
            window: trace.window,
            trace,
            forgotten: (0, 0),
            open: BTreeMap::new(),
            ends_as: vec![ENDS_BY_ITSELF; nodes],
            queues: BTreeMap::new(),
            signals: BTreeMap::new(),
            known: vec![None; nodes],
        }
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// What has been recorded so far, of which all is forgotten that was sent before this moment.
    pub(crate) fn recent(&mut self, from: Duration) -> &Trace {
        let from = from.max(self.window.from);
        self.window.from = from;
        let trace = &mut self.trace;
        trace.window.from = from;
        let old = trace.messages.partition_point(|sent| sent.at < from);
        // The arrows of a message are recorded with it.
        let old_arrows = trace.arrows.partition_point(|arrow| arrow.message < old);
        trace.messages.drain(..old);
        trace.arrows.drain(..old_arrows);
        for arrow in &mut trace.arrows {
            arrow.message -= old;
        }
        self.forgotten.0 += old;
        self.forgotten.1 += old_arrows;
        // Of each node the latest state before holds at the beginning.
        let mut is_known = vec![false; trace.nodes.len()];
        let mut states: Vec<StateAt> = trace.states.drain(..).rev().collect();
        states.retain(|it| it.at >= from || !std::mem::replace(&mut is_known[it.node], true));
        trace.states.extend(states.into_iter().rev());
        trace.marks.retain(|mark| mark.at >= from);
        let bands = std::mem::take(&mut trace.bands);
        for (place, band) in bands.into_iter().enumerate() {
            let key = self.open.iter().find(|(_, open)| **open == place).map(|(key, _)| *key);
            if let Some(key) = key {
                self.open.insert(key, trace.bands.len());
            }
            if key.is_some() || band.to.is_none_or(|to| to >= from) {
                trace.bands.push(band);
            }
        }
        trace
    }

    pub(crate) fn finish(mut self) -> Trace {
        let from = self.window.from;
        self.trace.states.sort_by_key(|state| state.at);
        for state in &mut self.trace.states {
            state.at = state.at.max(from);
        }
        self.trace.bands.retain(|band| band.to.is_none_or(|to| to >= from));
        self.trace
    }

    /// A node sends something.
    pub(crate) fn sent(
        &mut self,
        at: Duration,
        from: usize,
        describe: impl FnOnce(&Trace) -> (Kind, String),
    ) -> Option<SentId> {
        if !self.window.contains(at) {
            return None;
        }
        if self.trace.messages.len() >= MOST_MESSAGES {
            self.trace.left_out += 1;
            return None;
        }
        let (kind, detail) = describe(&self.trace);
        self.trace.messages.push(Sent { at, from, kind, detail });
        Some(SentId(self.forgotten.0 + self.trace.messages.len() - 1))
    }

    /// It goes to this node.
    pub(crate) fn goes(
        &mut self,
        message: Option<SentId>,
        to: usize,
        fate: Fate,
    ) -> Option<ArrowId> {
        let SentId(message) = message?;
        let message = message.checked_sub(self.forgotten.0)?;
        let place = self.trace.arrows.len();
        if place >= MOST_ARROWS {
            self.trace.left_out += 1;
            return None;
        }
        self.trace.arrows.push(Arrow { message, to, fate });
        u32::try_from(self.forgotten.1 + place).ok().map(ArrowId)
    }

    /// What becomes of it.
    pub(crate) fn becomes(&mut self, arrow: Option<ArrowId>, fate: Fate) {
        let place = arrow.and_then(|ArrowId(place)| usize::try_from(place).ok());
        let place = place.and_then(|place| place.checked_sub(self.forgotten.1));
        if let Some(arrow) = place.and_then(|place| self.trace.arrows.get_mut(place)) {
            arrow.fate = match (arrow.fate, fate) {
                // It was here before, and is handled late.
                (Fate::Waits(at), Fate::Received(_)) => Fate::Waits(at),
                (_, fate) => fate,
            };
        }
    }

    /// Something that concerns a link sets out.
    pub(crate) fn signals(
        &mut self,
        at: Duration,
        (id, signal): (ConnectionId, Signal),
        (from, to): (usize, usize),
        fate: Fate,
    ) {
        let kind = match signal {
            Signal::Dial => Kind::DIAL,
            Signal::Accept => Kind::ACCEPT,
            Signal::Reset(_) => Kind::RESET,
        };
        let sent = self.sent(at, from, |_| (kind, String::new()));
        if let Some(arrow) = self.goes(sent, to, fate) {
            self.signals.insert((id, signal), arrow);
        }
    }

    /// And arrives, or does not.
    pub(crate) fn signalled(&mut self, id: ConnectionId, signal: Signal, fate: Fate) {
        let arrow = self.signals.remove(&(id, signal));
        self.becomes(arrow, fate);
    }

    /// A frame sets out over a link.
    pub(crate) fn enqueued(
        &mut self,
        at: Duration,
        (id, side): (ConnectionId, Side),
        (from, to): (usize, usize),
        (kind, detail): (Kind, String),
        due: Duration,
    ) {
        let sent = self.sent(at, from, |_| (kind, detail));
        let arrow = self.goes(sent, to, Fate::UnderWay(due));
        self.queues.entry((id, side)).or_default().push_back(arrow);
    }

    /// The oldest frame from this side of a link leaves it.
    pub(crate) fn dequeued(&mut self, id: ConnectionId, side: Side, fate: Fate) {
        let Some(queue) = self.queues.get_mut(&(id, side)) else {
            return;
        };
        let arrow = queue.pop_front().flatten();
        if queue.is_empty() {
            self.queues.remove(&(id, side));
        }
        self.becomes(arrow, fate);
    }

    /// Whatever is under way from this side of a link is gone.
    pub(crate) fn dropped(&mut self, id: ConnectionId, side: Side) {
        for arrow in self.queues.remove(&(id, side)).into_iter().flatten() {
            self.becomes(arrow, Fate::Lost);
        }
    }

    /// A line of the story.
    pub(crate) fn note(&mut self, at: Duration, node: usize, happened: &Note) {
        match happened {
            Note::Started => {
                self.ends_as[node] = ENDS_BY_ITSELF;
                self.close(at, (Some(node), "down"));
            }
            Note::Ended => {
                self.close(at, (Some(node), "suspended"));
                let why = self.ends_as[node].to_owned();
                self.open(at, (Some(node), "down"), why);
                self.state(at, node, None, Term::default());
            }
            Note::Pressed(button) => self.mark(at, node, MarkKind::Pressed, button.to_string()),
            Note::Requested(trip) => self.mark(at, node, MarkKind::Pressed, trip.to_string()),
            Note::Lit(button) => self.mark(at, node, MarkKind::Lit, button.to_string()),
            Note::Dark(button) => self.mark(at, node, MarkKind::Dark, button.to_string()),
            Note::Fault(fault) => match effect(fault, &self.trace.nodes) {
                Effect::EndsProcess(node, why) => self.ends_as[node] = why,
                Effect::Begins(key, what) => {
                    self.close(at, key);
                    self.open(at, key, what);
                }
                Effect::Replaces(key, what) => {
                    self.close_network(at);
                    self.open(at, key, what);
                }
                Effect::Ends(key) => self.close(at, key),
                Effect::EndsNetworkFaults => self.close_network(at),
                Effect::EndsWeather => self.close_all(at, super::fault::is_weather),
                Effect::None => {}
            },
            Note::Reported(report) => self.report(at, node, report),
        }
    }

    fn report(&mut self, at: Duration, node: usize, report: &Report) {
        let kind = match report {
            Report::Served { here: true, .. } => MarkKind::Served,
            Report::PeerLost { .. } => MarkKind::PeerLost,
            Report::PeerDiscovered { .. }
            | Report::Synced { .. }
            | Report::Repair { .. }
            | Report::Promised { .. }
            | Report::Assigned { .. }
            | Report::TakenOver { .. }
            | Report::Availability(_)
            | Report::Panel(_)
            | Report::PressRefused { .. }
            | Report::FloorUnreachable { .. }
            | Report::DriveRefused
            | Report::OffTarget { .. }
            | Report::Conflict(_)
            | Report::Directive { .. }
            | Report::Dropped { .. }
            | Report::DiskFailed => MarkKind::Report,
            Report::Hung(_) => {
                self.ends_as[node] = "hung";
                MarkKind::Report
            }
            // States are looked at after every event. Every node reports the orders of every other;
            // the car's own movement is no mark.
            Report::NodeState { .. }
            | Report::Rotated { .. }
            | Report::Served { here: false, .. }
            | Report::Placed { .. }
            | Report::Door { .. }
            | Report::Floor { .. } => return,
        };
        self.mark(at, node, kind, report.to_string());
    }

    /// A node is in this state from now on. Of the time before the window only the latest counts.
    pub(crate) fn state(
        &mut self,
        at: Duration,
        node: usize,
        state: Option<NodeState>,
        term: Term,
    ) {
        self.known[node].clone_from(&state);
        let states = &mut self.trace.states;
        if at < self.window.from {
            states.retain(|known| known.node != node);
        } else if at > self.window.to {
            return;
        }
        if states.len() >= MOST_NOTES {
            self.trace.left_out += 1;
            return;
        }
        states.push(StateAt { at, node, state, term });
    }

    /// A node has handled something: its state may have changed.
    pub(crate) fn looked(&mut self, at: Duration, node: usize, of: &Node) {
        if self.known[node].as_ref() != Some(of.node_state()) {
            self.state(at, node, Some(of.node_state().clone()), of.term());
        }
    }

    pub(crate) fn mark(&mut self, at: Duration, node: usize, kind: MarkKind, what: String) {
        if !self.window.contains(at) {
            return;
        }
        if self.trace.marks.len() >= MOST_NOTES {
            self.trace.left_out += 1;
            return;
        }
        self.trace.marks.push(Mark { at, node, kind, what });
    }

    fn open(&mut self, at: Duration, key: (Option<usize>, &'static str), what: String) {
        if at > self.window.to || self.open.contains_key(&key) {
            return;
        }
        if self.trace.bands.len() >= MOST_NOTES {
            self.trace.left_out += 1;
            return;
        }
        self.open.insert(key, self.trace.bands.len());
        self.trace.bands.push(Band { from: at, to: None, node: key.0, what });
    }

    fn close(&mut self, at: Duration, key: (Option<usize>, &'static str)) {
        if let Some(place) = self.open.remove(&key) {
            self.trace.bands[place].to = Some(at);
        }
    }

    fn close_network(&mut self, at: Duration) {
        self.close_all(at, super::fault::is_healed);
    }

    fn close_all(&mut self, at: Duration, ends: fn((Option<usize>, &'static str)) -> bool) {
        let keys: Vec<_> = self.open.keys().copied().filter(|key| ends(*key)).collect();
        for key in keys {
            self.close(at, key);
        }
    }
}
