//! When datagrams to everybody may wait to be taken in.
//!
//! Each wake-up of the process costs more than the datagram that causes it. So where several nodes
//! do nothing but show that they live, the process does not wait for their beacons: it takes them
//! in together, with each datagram that it sends itself and [`GATHER`] after that.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use std::{future, io};

use elevator_fleet::election::Message;
use elevator_fleet::wire::{Beacon, Standing};
use rustix::net::{RecvFlags, recvfrom};
use tokio::net::UdpSocket;

/// How long datagrams to everybody are gathered. More than half the usual beacon period, so that a
/// node that sends its own takes them in twice a period; and so little that no healthy peer is
/// probed (`mesh.probe_after`), whose echo may be late by this at both ends.
pub(super) const GATHER: Duration = Duration::from_millis(14);

/// How much has come in lately, not counting one's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rate {
    /// At most one peer's: to gather them would cost more wake-ups.
    Low,
    /// Gathered while nothing is urgent.
    Middle,
    /// Gathered in any case. News goes over links at once.
    High,
}

/// What has come and gone lately, which says whether datagrams may wait.
#[derive(Debug)]
pub(super) struct Traffic {
    counted_from: Instant,
    count: u32,
    rate: Rate,
    /// When a datagram last came or went for which somebody waits.
    urgent_at: Instant,
}

impl Traffic {
    /// The rate is judged this often.
    const JUDGE_EVERY: Duration = Duration::from_millis(500);
    /// The fewest in that time for each rate, halfway between two sizes of a fleet: a peer with the
    /// usual beacon period sends 20. So two peers or more are a middle rate, and five a high one.
    const MIDDLE: u32 = 30;
    const HIGH: u32 = 90;
    /// How long every datagram is taken in at once after something urgent.
    const CALM_AFTER: Duration = Duration::from_millis(500);

    pub(super) fn new(now: Instant) -> Self {
        Self {
            counted_from: now,
            count: 0,
            rate: Rate::Low,
            urgent_at: now,
        }
    }

    /// Notes a datagram from another node.
    pub(super) fn note_arrival(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Notes that a datagram came or went for which somebody waits.
    pub(super) fn note_urgent(&mut self, now: Instant) {
        self.urgent_at = now;
    }

    /// Whether what comes in may wait from now on.
    pub(super) fn may_wait(&mut self, now: Instant) -> bool {
        if now.duration_since(self.counted_from) >= Self::JUDGE_EVERY {
            self.rate = match self.count {
                Self::HIGH.. => Rate::High,
                Self::MIDDLE.. => Rate::Middle,
                _ => Rate::Low,
            };
            (self.count, self.counted_from) = (0, now);
        }
        match self.rate {
            Rate::Low => false,
            Rate::Middle => now.duration_since(self.urgent_at) >= Self::CALM_AFTER,
            Rate::High => true,
        }
    }
}

/// Whether somebody waits for what the beacon says. A node that seeks its place has lost its master,
/// or is new.
pub(super) fn is_urgent(beacon: &Beacon) -> bool {
    let seeks = match beacon.standing {
        Standing::Seeking => true,
        Standing::Master | Standing::Slave { .. } => false,
    };
    let elects = beacon
        .letter
        .as_ref()
        .is_some_and(|letter| match letter.message {
            Message::SensorRequest | Message::SensorData(_) | Message::DisplayData(_) => false,
            Message::Bully(_) | Message::Senior(_) | Message::Ballot(_) | Message::TokenRing(_) => {
                true
            }
        });
    let news = &beacon.news;
    let tells = !(news.records.is_empty() && news.acks.is_empty() && news.plan.is_empty());
    seeks || elects || tells || beacon.probe
}

/// The socket that receives what is sent to everybody.
#[derive(Debug)]
pub(super) enum Shared {
    /// Each datagram wakes the process.
    Awaited(UdpSocket),
    /// No datagram does, as the runtime does not know the socket: somebody looks.
    Gathered(std::net::UdpSocket),
}

impl Shared {
    pub(super) fn is_gathered(&self) -> bool {
        match self {
            Self::Awaited(_) => false,
            Self::Gathered(_) => true,
        }
    }

    /// Lets datagrams wait, or wake the process.
    ///
    /// # Errors
    /// The system can't report datagrams; the socket is closed.
    pub(super) fn let_wait(self, may_wait: bool) -> io::Result<Self> {
        match (self, may_wait) {
            (Self::Awaited(socket), true) => socket.into_std().map(Self::Gathered),
            // What has come in meanwhile is reported at once.
            (Self::Gathered(socket), false) => UdpSocket::from_std(socket).map(Self::Awaited),
            (same @ Self::Awaited(_), false) | (same @ Self::Gathered(_), true) => Ok(same),
        }
    }

    /// Waits for a datagram that wakes the process.
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

    /// Tells so many datagrams in each judged time, and whether they may wait after it.
    fn after(per_time: &[u32]) -> Vec<bool> {
        let mut now = Instant::now();
        let mut traffic = Traffic::new(now);
        let judged = per_time.iter().map(|count| {
            now += Traffic::JUDGE_EVERY;
            for _ in 0..*count {
                traffic.note_arrival();
            }
            traffic.may_wait(now)
        });
        judged.collect()
    }

    #[test]
    fn beacons_of_several_peers_wait_and_those_of_one_do_not() {
        assert_eq!(
            after(&[0, 20, 40, 120, 20]),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn nothing_waits_after_something_urgent_but_in_a_large_fleet() {
        let start = Instant::now();
        // Four peers and five, a few beacons more or less.
        for (count, waits) in [(40, false), (84, false), (96, true), (400, true)] {
            let mut traffic = Traffic::new(start);
            for _ in 0..count {
                traffic.note_arrival();
            }
            let calm = start + Traffic::JUDGE_EVERY;
            assert!(traffic.may_wait(calm));
            traffic.note_urgent(calm);
            assert_eq!(traffic.may_wait(calm), waits);
        }
    }

    #[tokio::test]
    async fn what_has_waited_is_reported_once_it_may_wait_no_longer() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bound");
        socket.set_nonblocking(true).expect("set");
        let to = socket.local_addr().expect("an address");
        socket.send_to(&[7], to).expect("sent");
        socket.send_to(&[8], to).expect("sent");
        let shared = Shared::Gathered(socket);
        let mut buffer = [0; 4];
        assert_eq!(shared.look(&mut buffer).expect("there"), (1, to));
        let shared = shared.let_wait(false).expect("awaited");
        shared.readable().await.expect("readable");
        assert_eq!(shared.try_receive(&mut buffer).expect("there"), (1, to));
        assert_eq!(buffer[0], 8);
        assert!(shared.let_wait(true).expect("gathered").is_gathered());
    }
}
