//! The LAN: who reaches whom, how fast, and what gets lost.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;

/// How the LAN treats packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weather {
    /// How long a packet travels, in microseconds; within it packets overtake each other.
    pub delay: RangeInclusive<u64>,
    /// How many of a hundred packets get lost.
    pub loss: u8,
    /// How many of a hundred datagrams arrive twice.
    pub duplication: u8,
}

/// A sound LAN: 0.1 to 1 ms, nothing lost.
impl Default for Weather {
    fn default() -> Self {
        Self { delay: 100..=1_000, loss: 0, duplication: 0 }
    }
}

/// The wait before TCP sends a lost packet again; it doubles each time.
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// How often the wait is doubled at most.
const MOST_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(super) struct Network {
    pub(super) weather: Weather,
    /// The directed pairs between which nothing passes.
    cuts: BTreeSet<(usize, usize)>,
    /// The nodes whose network is cut: they reach nobody.
    isolated: BTreeSet<usize>,
    /// The pairs, the lower first, between which no link can be made.
    unlinked: BTreeSet<(usize, usize)>,
}

impl Network {
    pub(super) fn new(weather: Weather) -> Self {
        let (cuts, isolated) = (BTreeSet::new(), BTreeSet::new());
        Self { weather, cuts, isolated, unlinked: BTreeSet::new() }
    }

    pub(super) fn cut(&mut self, from: usize, to: usize) {
        self.cuts.insert((from, to));
    }

    pub(super) fn isolate(&mut self, node: usize, isolated: bool) {
        if isolated {
            self.isolated.insert(node);
        } else {
            self.isolated.remove(&node);
        }
    }

    pub(super) fn heal(&mut self) {
        self.cuts.clear();
        self.isolated.clear();
        self.unlinked.clear();
    }

    pub(super) fn refuse_links(&mut self, one: usize, other: usize) {
        self.unlinked.insert((one.min(other), one.max(other)));
    }

    /// A link can be made.
    pub(super) fn links(&self, one: usize, other: usize) -> bool {
        let pair = (one.min(other), one.max(other));
        self.connects(one, other) && !self.unlinked.contains(&pair)
    }

    pub(super) fn passes(&self, from: usize, to: usize) -> bool {
        self.is_whole()
            || !(self.cuts.contains(&(from, to))
                || self.isolated.contains(&from)
                || self.isolated.contains(&to))
    }

    /// Nothing is cut.
    pub(super) fn is_whole(&self) -> bool {
        self.cuts.is_empty() && self.isolated.is_empty()
    }

    /// Both directions are open.
    pub(super) fn connects(&self, one: usize, other: usize) -> bool {
        self.passes(one, other) && self.passes(other, one)
    }

    pub(super) fn delay(&self, random: &mut Rng) -> Duration {
        Duration::from_micros(random.u64(self.weather.delay.clone()))
    }

    pub(super) fn loses(&self, random: &mut Rng) -> bool {
        self.weather.loss > 0 && random.u8(0..100) < self.weather.loss
    }

    pub(super) fn duplicates(&self, random: &mut Rng) -> bool {
        self.weather.duplication > 0 && random.u8(0..100) < self.weather.duplication
    }

    /// How long a packet of a link takes, with all its retransmissions.
    pub(super) fn link_delay(&self, random: &mut Rng) -> Duration {
        let mut delay = self.delay(random);
        for attempt in 0..=MOST_DOUBLINGS {
            if !self.loses(random) {
                break;
            }
            delay += RETRANSMISSION * (1 << attempt);
        }
        delay
    }

    /// How long after a cut is healed TCP tries again.
    pub(super) fn stall(random: &mut Rng) -> Duration {
        RETRANSMISSION + Duration::from_millis(random.u64(0..200))
    }
}
