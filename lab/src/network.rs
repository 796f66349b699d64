//! The LAN: who reaches whom, how fast, and what gets lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use super::agenda::Event;

/// How the LAN treats packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weather {
    /// How long a packet travels, in microseconds; within it packets overtake each other.
    pub delay: RangeInclusive<u64>,
    /// Packet loss, in per cent.
    pub loss: u8,
    /// How many of a hundred datagrams arrive twice.
    pub duplication: u8,
    /// How many of a hundred datagrams are held back for up to 50 ms, so that later ones overtake
    /// them.
    pub reordering: u8,
    /// How many of a hundred datagrams arrive damaged, which loses them.
    pub corruption: u8,
}

/// A sound LAN: 0.1 to 1 ms, nothing lost.
impl Default for Weather {
    fn default() -> Self {
        Self { delay: 100..=1_000, loss: 0, duplication: 0, reordering: 0, corruption: 0 }
    }
}

/// Losses that come in bursts: a Gilbert–Elliott channel for each directed pair of machines.
///
/// A channel changes between a state without loss and a burst. Both last for times that are
/// distributed exponentially, such that [`Weather::loss`] is the mean loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    /// How long a burst lasts on average; more than 0.
    pub length: Duration,
    /// Packet loss, in per cent in a burst; at least `Weather::loss`, otherwise the
    /// burst never ends.
    pub loss: u8,
}

/// Bursts that the mesh has to survive: 50 ms on average, in which 4 packets in 5 are lost.
impl Default for Bursts {
    fn default() -> Self {
        Self { length: Duration::from_millis(50), loss: 80 }
    }
}

/// One direction between two machines.
#[derive(Debug, Clone, Copy)]
struct Channel {
    in_burst: bool,
    until: Duration,
}

/// The wait before TCP sends a lost packet again; it doubles each time.
pub(super) const RETRANSMISSION: Duration = Duration::from_millis(200);

const MOST_DOUBLINGS: u32 = 6;

/// How long a datagram is held back that others overtake, in microseconds.
const HELD_BACK: RangeInclusive<u64> = 1_000..=50_000;

/// The most packets that a clog holds back in one direction; more get lost, as in any queue.
const MOST_HELD: usize = 2_000;

/// What the network does to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hit {
    Lost,
    Duplicated,
    HeldBack,
    Damaged,
}

#[derive(Debug)]
struct Clog {
    until: Duration,
    held: VecDeque<Event>,
}

#[derive(Debug, Default)]
pub(super) struct Network {
    pub(super) weather: Weather,
    pub(super) bursts: Option<Bursts>,
    /// By directed pair; those that nothing was sent over yet are missing.
    channels: BTreeMap<(usize, usize), Channel>,
    /// The directed pairs between which nothing passes.
    cuts: BTreeSet<(usize, usize)>,
    /// The same for the present partition, whatever else is cut.
    parted: BTreeSet<(usize, usize)>,
    /// The nodes whose network is cut: they reach nobody.
    isolated: BTreeSet<usize>,
    /// The pairs, the lower first, between which no link can be made.
    unlinked: BTreeSet<(usize, usize)>,
    /// The directed pairs between which everything waits.
    clogs: BTreeMap<(usize, usize), Clog>,
    /// Counts the changes of cuts, isolated nodes and clogs.
    revision: u64,
    /// The faults that have hit no packet yet, by their names.
    awaited: BTreeMap<Hit, &'static str>,
    /// Those of them that have hit one since.
    hits: Vec<&'static str>,
}

impl Network {
    pub(super) fn new(weather: Weather, bursts: Option<Bursts>) -> Self {
        Self { weather, bursts, ..Self::default() }
    }

    /// A fault of this name is there once a packet is hit.
    pub(super) fn await_hit(&mut self, hit: Hit, fault: &'static str) {
        self.awaited.insert(hit, fault);
    }

    /// No fault is there that has not hit a packet.
    pub(super) fn await_no_hit(&mut self) {
        self.awaited.clear();
    }

    /// Takes the next fault that has hit a packet.
    pub(super) fn poll_hit(&mut self) -> Option<&'static str> {
        self.hits.pop()
    }

    fn note(&mut self, hit: Hit) {
        self.hits.extend(self.awaited.remove(&hit));
    }

    pub(super) fn cut(&mut self, from: usize, to: usize) {
        self.revision += 1;
        self.cuts.insert((from, to));
    }

    pub(super) fn uncut(&mut self, from: usize, to: usize) {
        self.revision += 1;
        self.cuts.remove(&(from, to));
        self.parted.remove(&(from, to));
    }

    /// Cuts these directed pairs, in place of those of an earlier partition.
    pub(super) fn part(&mut self, pairs: BTreeSet<(usize, usize)>) {
        self.revision += 1;
        self.parted = pairs;
    }

    /// The directed pairs that are cut, those of isolated nodes left out.
    pub(super) fn cuts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.cuts.union(&self.parted).copied()
    }

    pub(super) fn isolate(&mut self, node: usize, isolated: bool) {
        self.revision += 1;
        if isolated {
            self.isolated.insert(node);
        } else {
            self.isolated.remove(&node);
        }
    }

    pub(super) fn heal(&mut self) {
        self.revision += 1;
        self.cuts.clear();
        self.parted.clear();
        self.isolated.clear();
        self.unlinked.clear();
    }

    pub(super) fn refuse_links(&mut self, one: usize, other: usize) {
        self.unlinked.insert((one.min(other), one.max(other)));
    }

    pub(super) fn links(&self, one: usize, other: usize) -> bool {
        let pair = (one.min(other), one.max(other));
        self.connects(one, other) && !self.unlinked.contains(&pair)
    }

    pub(super) fn passes(&self, from: usize, to: usize) -> bool {
        self.nothing_is_cut()
            || !(self.cuts.contains(&(from, to))
                || self.parted.contains(&(from, to))
                || self.isolated.contains(&from)
                || self.isolated.contains(&to))
    }

    fn nothing_is_cut(&self) -> bool {
        self.cuts.is_empty() && self.parted.is_empty() && self.isolated.is_empty()
    }

    /// Whether the network of a machine is cut as a whole.
    pub(super) fn is_isolated(&self, node: usize) -> bool {
        self.isolated.contains(&node)
    }

    /// Nothing is cut, clogged or refused, and packets are treated as this says, with at most this loss.
    pub(super) fn is_sound(&self, usual: &Weather, most_loss: u8) -> bool {
        let Weather { loss, corruption, .. } = self.weather;
        let is_usual = Weather { loss, corruption, ..usual.clone() } == self.weather;
        let may_burst = self.bursts.is_some() && loss > 0;
        is_usual
            && self.losses() <= most_loss
            && !may_burst
            && self.is_whole()
            && self.unlinked.is_empty()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.nothing_is_cut() && self.clogs.is_empty()
    }

    /// As long as it stays the same, who is [connected](Self::connects) with whom does too.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Both directions are open.
    pub(super) fn connects(&self, one: usize, other: usize) -> bool {
        let is_open = |from, to| self.passes(from, to) && !self.clogs.contains_key(&(from, to));
        is_open(one, other) && is_open(other, one)
    }

    /// From here on everything waits that one machine sends to another, and what is under way.
    pub(super) fn clog(&mut self, pair: (usize, usize), until: Duration) {
        self.revision += 1;
        let clog = self.clogs.entry(pair).or_insert_with(|| Clog { until, held: VecDeque::new() });
        clog.until = clog.until.max(until);
    }

    /// Keeps what arrives over a clogged pair; hands it back if the pair is not clogged.
    pub(super) fn hold(&mut self, pair: (usize, usize), event: Event) -> Option<Event> {
        let Some(clog) = self.clogs.get_mut(&pair) else { return Some(event) };
        // A link loses nothing: what it has waits for its turn.
        if clog.held.len() < MOST_HELD || !event.is_datagram() {
            clog.held.push_back(event);
        }
        None
    }

    /// Ends the clogs whose time is over; hands back what they held, in order.
    pub(super) fn unclog(&mut self, now: Duration) -> Vec<Event> {
        self.revision += 1;
        let over = self.clogs.extract_if(.., |_, clog| clog.until <= now);
        over.flat_map(|(_, clog)| clog.held).collect()
    }

    /// Whether anything is clogged.
    pub(super) fn is_clogged(&self) -> bool {
        !self.clogs.is_empty()
    }

    /// How many of a hundred packets do not arrive as they were sent.
    pub(super) fn losses(&self) -> u8 {
        let Weather { loss, corruption, .. } = self.weather;
        loss.saturating_add(corruption).min(100)
    }

    /// How long a datagram takes that is sent now.
    pub(super) fn datagram_delay(&mut self, random: &mut Rng) -> Duration {
        let reordering = self.weather.reordering;
        let is_held_back = reordering > 0 && random.u8(0..100) < reordering;
        let more = if is_held_back { random.u64(HELD_BACK) } else { 0 };
        if is_held_back {
            self.note(Hit::HeldBack);
        }
        self.delay(random) + Duration::from_micros(more)
    }

    pub(super) fn corrupts(&mut self, random: &mut Rng) -> bool {
        let corrupts = self.weather.corruption > 0 && random.u8(0..100) < self.weather.corruption;
        if corrupts {
            self.note(Hit::Damaged);
        }
        corrupts
    }

    pub(super) fn delay(&self, random: &mut Rng) -> Duration {
        Duration::from_micros(random.u64(self.weather.delay.clone()))
    }

    /// Whether a packet gets lost that is sent from one machine to another now.
    pub(super) fn loses(&mut self, random: &mut Rng, now: Duration, pair: (usize, usize)) -> bool {
        let is_lost = match self.bursts {
            Some(bursts) if self.weather.loss > 0 => {
                let in_burst = self.is_in_burst(bursts, random, now, pair);
                in_burst && random.u8(0..100) < bursts.loss.max(self.weather.loss)
            }
            Some(_) | None => self.loses_on_average(random),
        };
        if is_lost {
            self.note(Hit::Lost);
        }
        is_lost
    }

    fn loses_on_average(&self, random: &mut Rng) -> bool {
        self.weather.loss > 0 && random.u8(0..100) < self.weather.loss
    }

    fn is_in_burst(
        &mut self,
        bursts: Bursts,
        random: &mut Rng,
        now: Duration,
        pair: (usize, usize),
    ) -> bool {
        let (mean, most) = (f64::from(self.weather.loss), f64::from(bursts.loss));
        if mean >= most {
            return true;
        }
        let gap = bursts.length.mul_f64((most - mean) / mean);
        let channel = self.channels.entry(pair).or_insert_with(|| {
            let in_burst = random.f64() * most < mean;
            Channel {
                in_burst,
                until: now + lasts(random, if in_burst { bursts.length } else { gap }),
            }
        });
        while channel.until <= now {
            channel.in_burst = !channel.in_burst;
            let mean = if channel.in_burst { bursts.length } else { gap };
            channel.until += lasts(random, mean);
        }
        channel.in_burst
    }

    pub(super) fn duplicates(&mut self, random: &mut Rng) -> bool {
        let duplicates =
            self.weather.duplication > 0 && random.u8(0..100) < self.weather.duplication;
        if duplicates {
            self.note(Hit::Duplicated);
        }
        duplicates
    }

    /// How long a packet of a link takes that is sent now, with all its retransmissions. When they
    /// are sent, a burst is over: they are lost as often as any packet.
    pub(super) fn link_delay(
        &mut self,
        random: &mut Rng,
        now: Duration,
        pair: (usize, usize),
    ) -> Duration {
        let mut delay = self.delay(random);
        let mut is_lost = self.loses(random, now, pair);
        for attempt in 0..=MOST_DOUBLINGS {
            if !is_lost {
                break;
            }
            delay += RETRANSMISSION * (1 << attempt);
            is_lost = attempt < MOST_DOUBLINGS && self.loses_on_average(random);
        }
        delay
    }

    /// How long after a cut is healed TCP tries again.
    pub(super) fn stall(random: &mut Rng) -> Duration {
        RETRANSMISSION + Duration::from_millis(random.u64(0..200))
    }
}

/// A time that is distributed exponentially, at least 1 µs.
fn lasts(random: &mut Rng, mean: Duration) -> Duration {
    mean.mul_f64(-(1.0 - random.f64()).ln()).max(Duration::from_micros(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursty(loss: u8) -> Network {
        Network::new(Weather { loss, ..Weather::default() }, Some(Bursts::default()))
    }

    /// One packet a millisecond over one channel for this many seconds: lost or not.
    fn losses(network: &mut Network, seconds: u64) -> Vec<bool> {
        let mut random = Rng::with_seed(1);
        (0..seconds * 1_000)
            .map(|at| network.loses(&mut random, Duration::from_millis(at), (0, 1)))
            .collect()
    }

    fn share(losses: &[bool]) -> f64 {
        let lost = u32::try_from(losses.iter().filter(|lost| **lost).count()).expect("few");
        f64::from(lost) / f64::from(u32::try_from(losses.len()).expect("few"))
    }

    /// Above the loss of a burst there is an endless one.
    #[test]
    fn bursts_have_the_mean_loss() {
        for loss in [0, 1, 5, 25, 60, 90] {
            let share = share(&losses(&mut bursty(loss), 2_000));
            let wanted = f64::from(loss) / 100.0;
            assert!((share - wanted).abs() <= wanted * 0.1, "{share} in place of {wanted}");
        }
    }

    #[test]
    fn a_loss_follows_a_loss_in_a_burst() {
        let losses = losses(&mut bursty(5), 2_000);
        let after_a_loss: Vec<bool> =
            losses.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!(share(&after_a_loss) > 0.7, "{}", share(&after_a_loss));
    }
}
