//! How often a node sends beacons as its fleet grows, and how long a peer may be silent then.
//!
//! Up to nine nodes, every node keeps the configured period. In a larger fleet, a node on which no
//! other depends stretches it, so that a node receives about 400 beacons a second at any size. Each
//! beacon announces when the next one follows, and the limits on a peer's silence are multiples of
//! the announced period.

use std::time::Duration;

use super::MOST_INCARNATIONS;
use crate::model::{MeshTimes, Timestamp};

/// What each peer adds to the period: together they send 333 beacons a second.
const SHARE: Duration = Duration::from_millis(3);

/// A peer may hear twice as many nodes as this one, plus this many.
const MORE_INCARNATIONS: usize = 64;

/// The factor by which a delay beyond [`USUAL_DELAY`] extends the limits on silence.
const GRANTED: u32 = 3;

/// Delays up to this are usual: the process holds beacons back to receive several at a time.
const USUAL_DELAY: Duration = Duration::from_millis(20);

const MOST_GRANTED: Duration = Duration::from_secs(1);

/// How long the shortest way of an echo counts; after that, the shortest of the time that follows.
const REMEMBERED: Duration = Duration::from_secs(1);

/// The longest extension for echoes that travel slowly: 100 ms there and as much back.
const MOST_TRAVEL: Duration = Duration::from_millis(200);

/// After this time, in whole seconds, the worst delay counts half.
const HALVED_AFTER: Duration = Duration::from_secs(8);

/// The period of a node with this many peers, none of which depends on it.
pub(crate) fn period(peers: usize, times: &MeshTimes) -> Duration {
    let peers = u32::try_from(peers.min(MOST_INCARNATIONS)).unwrap_or(u32::MAX);
    times.beacon_period.max(SHARE * peers)
}

/// The announced period of a peer, limited to what a node announces that hears this many. The peer
/// may hear more, but one wrong beacon must not keep a dead peer alive for long.
pub(super) fn bounded(told: Duration, incarnations: usize, times: &MeshTimes) -> Duration {
    let most = MORE_INCARNATIONS + 2 * incarnations;
    told.clamp(times.beacon_period, period(most, times))
}

/// Scales a configured time, which is meant for the configured period, to this period.
#[inline]
pub(crate) fn stretched(time: Duration, period: Duration, times: &MeshTimes) -> Duration {
    let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    let usual = times.beacon_period;
    if period <= usual {
        return time;
    }
    time + time * micros(period.saturating_sub(usual)) / micros(usual).max(1)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// It is lost if nothing of it was heard for this long,
    pub(super) heard: Duration,
    /// or if it echoes no beacon younger than this: both wait for a beacon.
    pub(super) echoed: Duration,
    /// It is probed if nothing of it was heard for this long,
    pub(super) probe_heard: Duration,
    /// or if it echoes no beacon younger than this.
    pub(super) probe_echoed: Duration,
    pub(super) probe_period: Duration,
}

impl Limits {
    /// The limits for a peer with this period that needs this many of its beacons to echo everybody
    /// once, and a node with the other period. The network delays every echo by `travel`.
    #[inline]
    pub(super) fn new(
        peer: Duration,
        own: Duration,
        turns: u32,
        granted: Duration,
        travel: Duration,
        times: &MeshTimes,
    ) -> Self {
        let (by_peer, by_own) =
            (|time| stretched(time, peer, times), |time| stretched(time, own, times));
        let heard = by_peer(times.dead_after);
        let echoed = heard + by_own(times.dead_after).saturating_sub(times.dead_after);
        // A probe needs time for its answer.
        let wait = (peer * turns).min(echoed / 2);
        Self {
            heard: heard + granted,
            echoed: echoed + granted + travel,
            probe_heard: by_peer(times.probe_after),
            probe_echoed: wait + by_own(times.probe_after) + travel,
            // All peers of a node may probe it at once.
            probe_period: by_peer(times.probe_period).max(by_own(times.probe_period)),
        }
    }
}

/// How late a node was recently: on a busy machine it will be as late again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delay {
    worst: Duration,
    at: Timestamp,
}

impl Delay {
    pub(super) fn note(&mut self, late: Duration, now: Timestamp) {
        let late = late.min(MOST_GRANTED);
        // What was the worst never counts more than it did.
        if late >= self.worst || late >= self.worst(now) {
            (self.worst, self.at) = (late, now);
        }
    }

    /// How much longer than usual a peer may be silent.
    pub(super) fn granted(&self, now: Timestamp) -> Duration {
        if self.worst <= USUAL_DELAY {
            return Duration::ZERO;
        }
        let unusual = self.worst(now).saturating_sub(USUAL_DELAY);
        (unusual * GRANTED).min(MOST_GRANTED)
    }

    fn worst(&self, now: Timestamp) -> Duration {
        // In whole seconds: milliseconds would be divided as 128-bit numbers, for each peer.
        let halvings = now.since(self.at).as_secs() / HALVED_AFTER.as_secs();
        let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
        self.worst / 1_u32.checked_shl(halvings).unwrap_or(u32::MAX)
    }
}

/// How old a peer's echoes are when they arrive, at best: travel, and waits for both beacons.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EchoAge {
    before: Option<Duration>,
    latest: Option<Duration>,
    until: Timestamp,
}

impl EchoAge {
    pub(super) fn note(&mut self, age: Duration, now: Timestamp) {
        if now >= self.until {
            (self.before, self.latest, self.until) = (self.latest, None, now + REMEMBERED);
        }
        self.latest = Some(self.latest.map_or(age, |latest| latest.min(age)));
    }

    /// By how much the network delays every echo, where nodes wait this long between beacons.
    pub(super) fn travel(&self, between: Duration) -> Duration {
        let least = self.before.into_iter().chain(self.latest).min();
        least.unwrap_or_default().saturating_sub(between).min(MOST_TRAVEL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A node that others depend on is found dead as soon as in a small fleet.
    #[test]
    fn the_silence_of_a_peer_is_counted_in_its_own_periods() {
        let times = MeshTimes::default();
        let usual = times.beacon_period;
        let stretched = period(63, &times);
        let of_master = Limits::new(usual, stretched, 2, Duration::ZERO, Duration::ZERO, &times);
        assert_eq!(of_master.heard, times.dead_after);
        assert_eq!(of_master.probe_heard, times.probe_after);
        let of_peer = Limits::new(stretched, stretched, 2, Duration::ZERO, Duration::ZERO, &times);
        assert_eq!(of_peer.heard, stretched * 8);
        // In a sound network an echo is this old.
        let echo = stretched + stretched * 2;
        assert!(echo < of_peer.probe_echoed && of_peer.probe_echoed < of_peer.echoed / 2);
        assert!(stretched + usual * 2 < of_master.probe_echoed);
    }

    /// N2: on a busy machine the fleet becomes slower to lose a peer, for a while.
    #[test]
    fn a_delay_is_granted_several_times_over_for_a_while() {
        let start = Timestamp::START;
        for (late, granted) in [(20, 0), (21, 3), (22, 6), (40, 60), (100, 240), (5_000, 1_000)] {
            let mut delay = Delay::default();
            delay.note(MS(late), start);
            delay.note(MS(late / 2), start);
            assert_eq!(delay.granted(start), MS(granted), "{late} ms late");
        }
        let mut delay = Delay::default();
        delay.note(MS(100), start);
        assert_eq!(delay.granted(start + HALVED_AFTER), MS(90));
        assert_eq!(delay.granted(start + HALVED_AFTER * 10), Duration::ZERO);
        delay.note(MS(40), start + HALVED_AFTER * 10);
        assert_eq!(delay.granted(start + HALVED_AFTER * 10), MS(60));
    }

    /// E6: 82 ms each way are more than a healthy network takes, and no peer is lost over it.
    #[test]
    fn a_delay_of_every_echo_extends_the_limits_on_echoes_alone() {
        let times = MeshTimes::default();
        let usual = times.beacon_period;
        let mut age = EchoAge::default();
        let at = |millis| Timestamp::START + MS(millis);
        assert_eq!(age.travel(usual * 2), Duration::ZERO);
        age.note(MS(180), at(0));
        age.note(MS(164), at(25));
        assert_eq!(age.travel(usual * 2), MS(114));
        let limits = |travel| Limits::new(usual, usual, 1, Duration::ZERO, travel, &times);
        let (quick, slow) = (limits(Duration::ZERO), limits(MS(114)));
        assert_eq!(slow.echoed, quick.echoed + MS(114));
        assert_eq!(slow.probe_echoed, quick.probe_echoed + MS(114));
        assert_eq!((slow.heard, slow.probe_heard), (quick.heard, quick.probe_heard));
        // One quick echo is enough to show that the network is quick, for a second at least.
        age.note(MS(30), at(50));
        age.note(MS(164), at(1_100));
        assert_eq!(age.travel(usual * 2), Duration::ZERO);
        age.note(MS(164), at(2_200));
        assert_eq!(age.travel(usual * 2), MS(114));
        age.note(MS(900), at(3_300));
        age.note(MS(900), at(4_400));
        assert_eq!(age.travel(usual * 2), MOST_TRAVEL);
    }
}
