//! One incarnation of another node: what it says about itself, and whether it still counts.

use std::time::Duration;

use super::echoes::Sent;
use super::pace::{Delay, EchoAge, Limits};
use super::reception::Reception;
use super::window::Window;
use crate::election::Candidate;
use crate::model::{CarView, Hello, MeshTimes, NodeState, Term, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// How many interruptions of this node in a row excuse the silence of a peer.
const MOST_EXCUSES: u8 = 16;

#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) hello: Hello,
    pub(crate) link_port: u16,
    pub(crate) node_state: NodeState,
    pub(crate) term: Term,
    pub(super) estimate: u32,
    pub(crate) digest: u64,
    pub(crate) power: u64,
    /// Its car, and when that was received.
    pub(crate) car: Option<(CarView, Timestamp)>,
    pub(super) window: Window,
    /// The announced time until its next beacon.
    pub(crate) period: Duration,
    /// How late its beacons are, where none is missing.
    pub(super) delay: Delay,
    pub(super) echo_age: EchoAge,
    pub(super) reception: Reception,
    /// The latest beacon of this node that it has echoed.
    echoed: u64,
    pub(crate) heard_at: Timestamp,
    /// When the latest beacon that it echoes was sent, or the latest probe that it has answered
    /// over its link, or when it shook hands.
    pub(super) echoed_at: Option<Timestamp>,
    pub(super) probed_at: Timestamp,
    /// The digest with which its store last equalled this node's, and whether all of it was on its
    /// disk.
    pub(in crate::peers) vouched: Option<(u64, bool)>,
    /// Since when its store has differed from this node's.
    pub(in crate::peers) differs_since: Option<Timestamp>,
    /// How often that was repaired without success.
    pub(in crate::peers) repairs: u32,
    /// The digest of its store at the last repair.
    pub(in crate::peers) repaired: Option<u64>,
    /// Since when its announced state does not fit the links.
    pub(in crate::peers) disputed_since: Option<Timestamp>,
    /// Its beacons are not echoed, so that it notices.
    pub(in crate::peers) unechoed: bool,
    /// The interruptions of this node since the peer was last heard.
    excuses: Excuses,
}

/// The interruptions of this node during which a peer could not be heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Excuses {
    /// How many there were in a row.
    count: u8,
    /// When the peer was last heard before the latest of them.
    alive_at: Timestamp,
}

impl Peer {
    pub(super) fn new(hello: Hello, period: Duration, now: Timestamp) -> Self {
        Self {
            period,
            delay: Delay::default(),
            echo_age: EchoAge::default(),
            reception: Reception::default(),
            echoed: 0,
            hello,
            link_port: 0,
            node_state: NodeState::Seeking,
            term: Term::default(),
            estimate: 0,
            digest: 0,
            power: 0,
            car: None,
            window: Window::default(),
            heard_at: now,
            echoed_at: None,
            probed_at: Timestamp::START,
            vouched: None,
            differs_since: None,
            repairs: 0,
            repaired: None,
            disputed_since: None,
            unechoed: false,
            excuses: Excuses::default(),
        }
    }

    pub(crate) fn candidate(&self) -> Candidate {
        Candidate::new(&self.hello, self.estimate)
    }

    /// Updates the delay with a beacon that has just arrived, unless one before it is missing.
    pub(super) fn note_delay(&mut self, sequence: u64, now: Timestamp) {
        if let Some(at) = self.window.comes_next(sequence) {
            let late = now.since(at).saturating_sub(self.period);
            self.delay.note(late, now);
        }
    }

    /// Updates the round trip with the beacon of this node that it echoes. Returns whether its
    /// beacon is the answer to a probe, which is sent at once and to this node alone.
    pub(super) fn note_echo(&mut self, sent: Sent, now: Timestamp) -> bool {
        self.echo_age.note(now.since(sent.at), now);
        // Later beacons repeat an echo until a newer one is due: only the first shows the delay.
        let is_first = sent.sequence > self.echoed;
        if is_first {
            self.echoed = sent.sequence;
            self.reception.note_echo(now.since(sent.at), now);
        }
        is_first && sent.is_probe
    }

    /// The share of its beacons that got lost in the last minute.
    pub(crate) fn loss(&self, now: Timestamp) -> Option<f64> {
        self.reception.loss(now)
    }

    /// The shortest time in the last minute between a beacon of this node and its echo.
    pub(crate) fn round_trip(&self, now: Timestamp) -> Option<Duration> {
        self.reception.round_trip(now)
    }

    pub(super) fn alive_at(&self) -> Timestamp {
        self.echoed_at.map_or(Timestamp::START, |echoed| echoed.min(self.heard_at))
    }

    /// This node did not run for `late`, until `now`. The first interruption after the peer was
    /// heard renews the peer up to its next probe, because what it sent meanwhile may have been
    /// dropped. Each further one only excuses the time in which this node did not run (H1), up to
    /// [`MOST_EXCUSES`] in a row.
    pub(super) fn excuse_silence(&mut self, late: Duration, times: &MeshTimes, now: Timestamp) {
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

    pub(super) fn lost_at(&self, limits: &Limits) -> Timestamp {
        let share = if is_seeded(SeededBug::PeersLostEarly) { 4 } else { 1 };
        let echoed = self.echoed_at.unwrap_or(Timestamp::START) + limits.echoed / share;
        echoed.min(self.heard_at + limits.heard / share)
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
