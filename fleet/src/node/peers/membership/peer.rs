//! One incarnation of another node: what it has said of itself, and whether it still counts.

use std::time::Duration;

use super::pace::{Delay, Limits};
use super::window::Window;
use crate::election::Candidate;
use crate::model::{CarView, JournalId, Term, Timestamp};
use crate::node::MeshTimes;
use crate::node::peers::comparison::Comparison;
use crate::node::peers::sightings::Sightings;
use crate::wire::{Hello, NodeState};

/// How many interruptions of this node in a row excuse the silence of a peer. Each leaves the node
/// a moment in which it listens.
const MOST_EXCUSES: u8 = 16;

/// One incarnation of another node.
#[derive(Debug, Clone)]
pub(in crate::node) struct Peer {
    pub(in crate::node) hello: Hello,
    pub(in crate::node) link_port: u16,
    pub(in crate::node) node_state: NodeState,
    pub(in crate::node) term: Term,
    pub(super) estimate: u32,
    pub(in crate::node) digest: u64,
    /// The journal under which it places orders, once it has said so.
    pub(in crate::node) journal: Option<JournalId>,
    /// Its car, and when it was described so.
    pub(in crate::node) car: Option<(CarView, Timestamp)>,
    /// Its beacons, by their numbers.
    pub(super) window: Window,
    /// How soon the next one follows, as it tells.
    pub(in crate::node) period: Duration,
    /// How late its beacons have been, as far as none is missing.
    pub(super) delay: Delay,
    pub(in crate::node) heard_at: Timestamp,
    /// When the latest of this node's beacons that it echoed was sent.
    pub(super) echoed_at: Option<Timestamp>,
    pub(super) probed_at: Timestamp,
    /// How its store compares with this node's.
    pub(in crate::node::peers) comparison: Comparison,
    /// Since when what it says of its state has not fitted the links that there are.
    pub(in crate::node::peers) disputed_since: Option<Timestamp>,
    /// Its beacons are not echoed, so that it notices.
    pub(in crate::node::peers) unechoed: bool,
    /// When it was first heard, since it was last lost.
    pub(in crate::node) found_at: Timestamp,
    /// Where its car has been seen.
    pub(in crate::node) sightings: Sightings,
    /// When it last echoed a node that is not heard here.
    pub(in crate::node) stranger_echoed_at: Option<Timestamp>,
    /// Interruptions of this node since the peer last gave a sign of life.
    excuses: Excuses,
}

/// Interruptions of this node during which a peer could not be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Excuses {
    /// How many, in a row.
    count: u8,
    /// The peer's latest sign of life as of the last of them.
    alive_at: Timestamp,
}

impl Peer {
    pub(super) fn new(hello: Hello, period: Duration, now: Timestamp) -> Self {
        Self {
            period,
            delay: Delay::default(),
            hello,
            link_port: 0,
            node_state: NodeState::Seeking,
            term: Term::default(),
            estimate: 0,
            digest: 0,
            journal: None,
            car: None,
            window: Window::default(),
            heard_at: now,
            echoed_at: None,
            probed_at: Timestamp::START,
            comparison: Comparison::default(),
            disputed_since: None,
            unechoed: false,
            found_at: now,
            sightings: Sightings::default(),
            stranger_echoed_at: None,
            excuses: Excuses::default(),
        }
    }

    pub(in crate::node) fn candidate(&self) -> Candidate {
        Candidate::new(&self.hello, self.estimate)
    }

    /// Notes how late a beacon of this number is that has just arrived. Where one is missing, it was not
    /// late but lost.
    pub(super) fn note_delay(&mut self, sequence: u64, now: Timestamp) {
        if let Some(at) = self.window.comes_next(sequence) {
            let late = now.since(at).saturating_sub(self.period);
            self.delay.note(late, now);
        }
    }

    pub(super) fn alive_at(&self) -> Timestamp {
        self.echoed_at.map_or(Timestamp::START, |echoed| echoed.min(self.heard_at))
    }

    /// This node did not run for `late`, until `now`.
    ///
    /// The first interruption after a sign of life renews the peer up to its next probe, as what it
    /// sent meanwhile may have been dropped. Each further one only excuses the time in which this
    /// node did not run: what it did not hear while it ran stays evidence (H1). After
    /// [`MOST_EXCUSES`] in a row there is no more excuse.
    pub(super) fn excuse_silence(&mut self, late: Duration, times: &MeshTimes, now: Timestamp) {
        self.sightings.start_over();
        if self.alive_at() != self.excuses.alive_at {
            self.excuses.count = 0;
        }
        let renewed = (self.excuses.count == 0).then(|| now - times.probe_after);
        if self.excuses.count < MOST_EXCUSES {
            self.excuses.count += 1;
            let times = [&mut self.heard_at]
                .into_iter()
                .chain(&mut self.echoed_at)
                .chain(&mut self.disputed_since);
            for at in times {
                let excused = (*at + late).min(now);
                *at = renewed.map_or(excused, |renewed| excused.max(renewed));
            }
        }
        self.excuses.alive_at = self.alive_at();
    }

    /// When it is lost if it gives no further sign of life.
    pub(super) fn lost_at(&self, limits: &Limits) -> Timestamp {
        let echoed = self.echoed_at.unwrap_or(Timestamp::START) + limits.echoed;
        echoed.min(self.heard_at + limits.heard)
    }

    pub(super) fn is_alive(&self, limits: &Limits, now: Timestamp) -> bool {
        self.echoed_at.is_some() && now < self.lost_at(limits)
    }

    pub(super) fn next_probe(&self, limits: &Limits) -> Timestamp {
        let echoed = self.echoed_at.unwrap_or(Timestamp::START) + limits.probe_echoed;
        let silent = echoed.min(self.heard_at + limits.probe_heard);
        silent.max(self.probed_at + limits.probe_period)
    }
}
