//! What a world does, as it does it.

use std::time::Duration;

use elevator_fleet::model::Term;
use elevator_fleet::node::{Node, Report};
use elevator_fleet::wire::{NodeState, Protocol};

use super::{Arrow, Band, Fate, Kind, Mark, Sent, StateAt, Trace, Window, fault};
use crate::connection::{ArrowId, SentId};
use crate::fault::Fault;
use crate::history::Note;

/// The most messages that a recording holds; a broadcast counts once.
const MOST_MESSAGES: usize = 200_000;

/// The most arrows: a broadcast to n − 1 nodes has n − 1.
pub(super) const MOST_ARROWS: usize = 500_000;

/// The most changes of state, marks and bands, each.
const MOST_NOTES: usize = 50_000;

#[derive(Debug)]
pub(crate) struct Recorder {
    trace: Trace,
    /// How many messages before those of the trace were recorded, and forgotten.
    forgotten: usize,
    arrows: usize,
    /// The state of each node when the window begins.
    first: Vec<StateAt>,
    known: Vec<Option<NodeState>>,
    /// Why its process ends, should it do so now.
    ends_as: Vec<&'static str>,
}

/// What ends the process of a node that nobody has killed.
const ENDS_BY_ITSELF: &str = "down";

impl Recorder {
    /// Begins with the state of each node.
    pub(crate) fn new(trace: Trace, states: Vec<StateAt>) -> Self {
        Self {
            forgotten: 0,
            arrows: 0,
            known: states.iter().map(|state| state.state.clone()).collect(),
            ends_as: vec![ENDS_BY_ITSELF; states.len()],
            first: states,
            trace,
        }
    }

    /// What has been recorded since this moment; what is older is forgotten.
    pub(crate) fn recent(&mut self, from: Duration) -> Trace {
        let trace = &mut self.trace;
        let from = from.max(trace.window.from);
        trace.window.from = from;
        let old = trace.messages.partition_point(|sent| sent.at < from);
        let old_arrows: usize = trace.messages.drain(..old).map(|sent| sent.arrows.len()).sum();
        self.forgotten += old;
        self.arrows -= old_arrows;
        let old = trace.states.partition_point(|state| state.at < from);
        for state in trace.states.drain(..old) {
            let node = state.node;
            self.first[node] = state;
        }
        trace.marks.retain(|mark| mark.at >= from);
        trace.bands.retain(|band| band.to.is_none_or(|to| to >= from));
        let mut recent = trace.clone();
        let first =
            self.first.iter().map(|state| StateAt { at: state.at.max(from), ..state.clone() });
        recent.states.splice(..0, first);
        recent
    }

    fn window(&self) -> Window {
        self.trace.window
    }

    /// Counts what there is no room for.
    fn has_room(&mut self, length: usize, most: usize) -> bool {
        let has_room = length < most;
        self.trace.left_out += usize::from(!has_room);
        has_room
    }

    pub(crate) fn sent(
        &mut self,
        at: Duration,
        from: usize,
        describe: impl FnOnce(Protocol) -> (Kind, String),
    ) -> Option<SentId> {
        let messages = self.trace.messages.len();
        if !self.window().contains(at) || !self.has_room(messages, MOST_MESSAGES) {
            return None;
        }
        let (kind, detail) = describe(self.trace.protocol);
        self.trace.messages.push(Sent { at, from, kind, detail, arrows: Vec::new() });
        Some(SentId(self.forgotten + messages))
    }

    pub(crate) fn goes(
        &mut self,
        message: Option<SentId>,
        to: usize,
        fate: Fate,
    ) -> Option<ArrowId> {
        let message = message.filter(|_| self.has_room(self.arrows, MOST_ARROWS))?;
        let arrows = self.arrows_of(message)?;
        arrows.push(Arrow { to, fate });
        let place = arrows.len() - 1;
        self.arrows += 1;
        Some(ArrowId(message, place))
    }

    pub(crate) fn becomes(&mut self, arrow: Option<ArrowId>, fate: Fate) {
        let Some(ArrowId(message, place)) = arrow else { return };
        if let Some(arrow) = self.arrows_of(message).and_then(|arrows| arrows.get_mut(place)) {
            arrow.fate = match (arrow.fate, fate) {
                // It was here before, and is handled late.
                (Fate::Waits(at), Fate::Arrives(_)) => Fate::Waits(at),
                (_, fate) => fate,
            };
        }
    }

    fn arrows_of(&mut self, SentId(message): SentId) -> Option<&mut Vec<Arrow>> {
        let place = message.checked_sub(self.forgotten)?;
        self.trace.messages.get_mut(place).map(|sent| &mut sent.arrows)
    }

    /// A line of the story.
    pub(crate) fn note(&mut self, at: Duration, node: usize, happened: &Note) {
        match happened {
            Note::Started => {
                self.ends_as[node] = ENDS_BY_ITSELF;
                self.end_bands(at, |band| band.node == Some(node) && band.fault.is_none());
            }
            Note::Ended => {
                self.end_bands(at, |band| band.fault == Some(Fault::Suspend(node)));
                let what = self.ends_as[node].to_owned();
                self.begin_band(Band { from: at, to: None, node: Some(node), what, fault: None });
                self.state(StateAt { at, node, state: None, term: Term::default() });
            }
            Note::Pressed(button) => self.mark(at, node, format!("pressed: {button}")),
            Note::Requested(trip) => self.mark(at, node, format!("requested: {trip}")),
            Note::Lit(button) => self.mark(at, node, format!("lit: {button}")),
            Note::Dark(button) => self.mark(at, node, format!("dark: {button}")),
            Note::Fault(fault) => self.fault(at, fault),
            Note::Reported(report) => self.report(at, node, report),
        }
    }

    fn fault(&mut self, at: Duration, fault: &Fault) {
        if let Some((node, why)) = fault::ends_process(fault) {
            self.ends_as[node] = why;
        }
        self.end_bands(at, |band| band.fault.as_ref().is_some_and(|it| fault::ends(fault, it)));
        if let Some((node, what)) = fault::band(fault, &self.trace) {
            let fault = Some(fault.clone());
            self.begin_band(Band { from: at, to: None, node, what, fault });
        }
    }

    fn report(&mut self, at: Duration, node: usize, report: &Report) {
        match report {
            // States are looked at after every event. Every node reports the orders of every other;
            // the car's own movement is no mark.
            Report::NodeState { .. }
            | Report::Rotated { .. }
            | Report::Served { here: false, .. }
            | Report::Placed { .. }
            | Report::Door { .. }
            | Report::Floor { .. } => return,
            Report::Hung(_) => self.ends_as[node] = "hung",
            _ => {}
        }
        self.mark(at, node, report.to_string());
    }

    /// A node has handled something: its state may have changed.
    pub(crate) fn looked(&mut self, at: Duration, node: usize, of: &Node) {
        if self.known[node].as_ref() != Some(of.node_state()) {
            let state = Some(of.node_state().clone());
            self.state(StateAt { at, node, state, term: of.term() });
        }
    }

    fn state(&mut self, state: StateAt) {
        let node = state.node;
        self.known[node].clone_from(&state.state);
        if state.at < self.window().from {
            self.first[node] = state;
        } else if self.window().contains(state.at)
            && self.has_room(self.trace.states.len(), MOST_NOTES)
        {
            self.trace.states.push(state);
        }
    }

    fn mark(&mut self, at: Duration, node: usize, what: String) {
        if self.window().contains(at) && self.has_room(self.trace.marks.len(), MOST_NOTES) {
            self.trace.marks.push(Mark { at, node, what });
        }
    }

    fn begin_band(&mut self, band: Band) {
        if band.from <= self.window().to && self.has_room(self.trace.bands.len(), MOST_NOTES) {
            self.trace.bands.push(band);
        }
    }

    fn end_bands(&mut self, at: Duration, ends: impl Fn(&Band) -> bool) {
        let bands = self.trace.bands.iter_mut().filter(|band| band.to.is_none());
        for band in bands.filter(|band| ends(band)) {
            band.to = Some(at);
        }
    }
}
