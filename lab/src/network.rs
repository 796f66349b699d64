//! The LAN: who reaches whom, how fast, and what gets lost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// How the LAN treats packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// Losses that come in bursts: a Gilbert–Elliott channel for each directed pair of machines.
///
/// A channel changes between a state without loss and a burst. Both last for times that are
/// distributed exponentially, such that [`Weather::loss`] is the mean loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bursts {
    /// How long a burst lasts on average; more than 0.
    pub length: Duration,
    /// How many of a hundred packets get lost in a burst; at least `Weather::loss`, otherwise the
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
const RETRANSMISSION: Duration = Duration::from_millis(200);

/// How often the wait is doubled at most.
const MOST_DOUBLINGS: u32 = 6;

#[derive(Debug)]
pub(super) struct Network {
    pub(super) weather: Weather,
    bursts: Option<Bursts>,
    /// By directed pair; those that nothing was sent over yet are missing.
    channels: BTreeMap<(usize, usize), Channel>,
    /// The directed pairs between which nothing passes.
    cuts: BTreeSet<(usize, usize)>,
    /// The nodes whose network is cut: they reach nobody.
    isolated: BTreeSet<usize>,
    /// The pairs, the lower first, between which no link can be made.
    unlinked: BTreeSet<(usize, usize)>,
}

impl Network {
    pub(super) fn new(weather: Weather, bursts: Option<Bursts>) -> Self {
        let (cuts, isolated) = (BTreeSet::new(), BTreeSet::new());
        let channels = BTreeMap::new();
        Self { weather, bursts, channels, cuts, isolated, unlinked: BTreeSet::new() }
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

    /// Whether a packet gets lost that is sent from one machine to another now.
    pub(super) fn loses(&mut self, random: &mut Rng, now: Duration, pair: (usize, usize)) -> bool {
        match self.bursts {
            Some(bursts) if self.weather.loss > 0 => {
                let in_burst = self.is_in_burst(bursts, random, now, pair);
                in_burst && random.u8(0..100) < bursts.loss.max(self.weather.loss)
            }
            Some(_) | None => self.loses_on_average(random),
        }
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

    pub(super) fn duplicates(&self, random: &mut Rng) -> bool {
        self.weather.duplication > 0 && random.u8(0..100) < self.weather.duplication
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

    /// One packet a millisecond over one channel for so many seconds: lost or not.
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

    #[test]
    fn bursts_have_the_mean_loss() {
        for loss in [1, 5, 25, 60] {
            let share = share(&losses(&mut bursty(loss), 2_000));
            let wanted = f64::from(loss) / 100.0;
            assert!((share - wanted).abs() < wanted * 0.1, "{share} in place of {wanted}");
        }
    }

    #[test]
    fn a_loss_follows_a_loss_in_a_burst() {
        let losses = losses(&mut bursty(5), 2_000);
        let after_a_loss: Vec<bool> =
            losses.windows(2).filter(|pair| pair[0]).map(|pair| pair[1]).collect();
        assert!(share(&after_a_loss) > 0.7, "{}", share(&after_a_loss));
    }

    #[test]
    fn a_loss_above_that_of_a_burst_is_an_endless_burst() {
        let share = share(&losses(&mut bursty(90), 100));
        assert!((share - 0.9).abs() < 0.02, "{share}");
    }

    #[test]
    fn bursts_of_a_network_without_loss_lose_nothing() {
        assert!(losses(&mut bursty(0), 10).iter().all(|lost| !lost));
    }
}
