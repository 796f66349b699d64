//! When broadcast datagrams may wait before they are received.
//!
//! Each wake-up of the process costs more than the datagram that causes it. So where several nodes
//! do nothing but show that they live, the process does not wait for their beacons: it takes them
//! in together, with each datagram that it sends itself and [`gather_time`] after that.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use std::{future, io};

use elevator_fleet::election::Message;
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::{Beacon, NodeState};
use rustix::net::{RecvFlags, recvfrom};
use tokio::net::UdpSocket;

/// The longest that datagrams are gathered: more than half the usual beacon period.
const LONGEST: Duration = Duration::from_millis(14);

/// A shorter time saves hardly any wake-ups.
const SHORTEST: Duration = Duration::from_millis(5);

/// How late each end may be for other reasons.
const MARGIN: Duration = Duration::from_millis(3);

/// How long datagrams to everybody may be gathered, 5 to 14 ms; `None`: never. No healthy peer is
/// probed for it: an echo waits so long at both ends, with `probe_after − beacon_period` to spare.
pub(crate) fn gather_time(times: &MeshTimes) -> Option<Duration> {
    let spare = times.probe_after.saturating_sub(times.beacon_period) / 2;
    let time = spare.saturating_sub(MARGIN).min(LONGEST);
    (time >= SHORTEST).then_some(time)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    /// At most one peer's: to gather them would cost more wake-ups.
    Low,
    Middle,
    /// Gathered, urgent or not: links carry changes at once.
    High,
    /// More than the socket may hold while they wait.
    Flood,
}

#[derive(Debug)]
pub(super) struct Traffic {
    gather_time: Option<Duration>,
    counted_from: Instant,
    /// From other nodes.
    count: u32,
    /// From anybody.
    taken: u32,
    rate: Rate,
    /// When a datagram last came or went for which somebody waits.
    urgent_at: Instant,
}

impl Traffic {
    const JUDGE_EVERY: Duration = Duration::from_millis(500);
    /// The fewest in that time for each rate, halfway between two sizes of a fleet: a peer with the
    /// usual beacon period sends 20. So two peers or more are a middle rate, and five a high one.
    const MIDDLE: u32 = 30;
    const HIGH: u32 = 90;
    /// This many from anybody in that time are a flood.
    const FLOOD: u32 = 1_000;
    /// So are as many as this at one time, which may have filled the buffer.
    const MOST_AT_ONE_TIME: u32 = 64;
    /// How long every datagram is received at once after something urgent.
    const CALM_AFTER: Duration = Duration::from_millis(500);

    pub(super) fn new(gather_time: Option<Duration>, now: Instant) -> Self {
        Self { gather_time, counted_from: now, count: 0, taken: 0, rate: Rate::Low, urgent_at: now }
    }

    pub(super) fn note_arrival(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    pub(super) fn note_taken(&mut self, taken: u32) {
        self.taken = self.taken.saturating_add(taken);
        if taken >= Self::MOST_AT_ONE_TIME {
            self.taken = self.taken.max(Self::FLOOD);
        }
    }

    pub(super) fn note_urgent(&mut self, now: Instant) {
        self.urgent_at = now;
    }

    /// How long incoming datagrams may wait from now on; `None`: not at all.
    pub(super) fn may_wait(&mut self, now: Instant) -> Option<Duration> {
        let is_judged = now.duration_since(self.counted_from) >= Self::JUDGE_EVERY;
        if self.taken >= Self::FLOOD {
            // Not only once it is judged: beacons would be lost until then.
            self.rate = Rate::Flood;
        } else if is_judged {
            self.rate = match self.count {
                Self::HIGH.. => Rate::High,
                Self::MIDDLE.. => Rate::Middle,
                _ => Rate::Low,
            };
        }
        if is_judged {
            (self.count, self.taken, self.counted_from) = (0, 0, now);
        }
        let may_wait = match self.rate {
            Rate::Low | Rate::Flood => false,
            Rate::Middle => now.duration_since(self.urgent_at) >= Self::CALM_AFTER,
            Rate::High => true,
        };
        self.gather_time.filter(|_| may_wait)
    }
}

/// Whether a node waits for what the beacon has. A seeking node has lost its master, or is new.
pub(super) fn is_urgent(beacon: &Beacon) -> bool {
    let seeks = match beacon.node_state {
        NodeState::Seeking => true,
        NodeState::Master | NodeState::Slave { .. } => false,
    };
    let elects = beacon.piggybacked.as_ref().is_some_and(|piggybacked| match piggybacked.message {
        Message::SensorRequest | Message::SensorData(_) | Message::DisplayData(_) => false,
        Message::Bully(_)
        | Message::Senior(_)
        | Message::Ballot(_)
        | Message::TokenRing(_)
        | Message::Experiment(_) => true,
    });
    let delta = &beacon.delta;
    let tells = !(delta.records.is_empty() && delta.acks.is_empty() && delta.plan.is_empty());
    seeks || elects || tells || beacon.probe
}

#[derive(Debug)]
pub(super) enum Shared {
    /// Each datagram wakes the process.
    Awaited(UdpSocket),
    /// No datagram does, as the runtime does not know the socket: somebody looks.
    Gathered(std::net::UdpSocket),
}

impl Shared {
    /// Lets datagrams wait, or wake the process.
    pub(super) fn let_wait(self, may_wait: bool) -> io::Result<Self> {
        match (self, may_wait) {
            (Self::Awaited(socket), true) => socket.into_std().map(Self::Gathered),
            // What has come in meanwhile is reported at once.
            (Self::Gathered(socket), false) => UdpSocket::from_std(socket).map(Self::Awaited),
            (same @ Self::Awaited(_), false) | (same @ Self::Gathered(_), true) => Ok(same),
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Awaited(socket) => socket.readable().await,
            Self::Gathered(_) => future::pending().await,
        }
    }

    /// Takes a datagram that has made the socket readable.
    pub(super) fn try_receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match self {
            Self::Awaited(socket) => socket.try_recv_from(buffer),
            Self::Gathered(socket) => socket.recv_from(buffer),
        }
    }

    /// Takes a datagram, whether the runtime knows of it or not.
    pub(super) fn look(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let socket = match self {
            Self::Awaited(socket) => socket.as_fd(),
            Self::Gathered(socket) => socket.as_fd(),
        };
        let (length, _, from) = recvfrom(socket, buffer, RecvFlags::DONTWAIT)?;
        let from = from.and_then(|from| SocketAddr::try_from(from).ok());
        Ok((length, from.ok_or(io::ErrorKind::InvalidData)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn judged(gather_time: Option<Duration>, count: u32) -> (Traffic, Instant) {
        let start = Instant::now();
        let mut traffic = Traffic::new(gather_time, start);
        for _ in 0..count {
            traffic.note_arrival();
        }
        let now = start + Traffic::JUDGE_EVERY;
        traffic.may_wait(now);
        (traffic, now)
    }

    /// Beacons of several peers wait, of one not; after something urgent only in a large fleet.
    #[test]
    fn beacons_wait_unless_something_is_urgent() {
        for (count, waits, waits_urgent) in [
            (20, false, false),
            (40, true, false),
            (84, true, false),
            (96, true, true),
            (400, true, true),
        ] {
            let (mut traffic, now) = judged(Some(LONGEST), count);
            assert_eq!(traffic.may_wait(now).is_some(), waits, "{count}");
            traffic.note_urgent(now);
            assert_eq!(traffic.may_wait(now).is_some(), waits_urgent, "{count}");
        }
    }

    #[test]
    fn nothing_waits_during_a_flood() {
        for flood in [vec![Traffic::MOST_AT_ONE_TIME], vec![1; Traffic::FLOOD as usize]] {
            let (mut traffic, start) = judged(Some(LONGEST), 400);
            traffic.note_taken(20);
            assert!(traffic.may_wait(start).is_some());
            for taken in flood {
                traffic.note_taken(taken);
            }
            assert_eq!(traffic.may_wait(start), None);
            let end = start + Traffic::JUDGE_EVERY;
            assert_eq!(traffic.may_wait(end), None);
            (0..100).for_each(|_| traffic.note_arrival());
            assert_eq!(traffic.may_wait(end + Traffic::JUDGE_EVERY), Some(LONGEST));
        }
    }

    /// An echo is oldest just before the next one: gathered at both ends, and two beacons after the
    /// one that it names. A node probes once it is a beacon period and `probe_after` old.
    #[test]
    fn no_healthy_peer_is_probed_for_what_waits() {
        for (beacon_period, probe_after, gathered) in
            [(25, 60, Some(14)), (25, 41, Some(5)), (25, 40, None), (50, 60, None), (5, 5, None)]
        {
            let (beacon_period, probe_after) = (MS(beacon_period), MS(probe_after));
            let times = MeshTimes { beacon_period, probe_after, ..MeshTimes::default() };
            let time = gather_time(&times);
            assert_eq!(time, gathered.map(MS), "{times:?}");
            if let Some(time) = time {
                assert!(2 * (beacon_period + time) < beacon_period + probe_after);
            }
        }
    }
}
