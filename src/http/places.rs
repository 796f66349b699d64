//! How many connections and event streams there may be, of all clients and of each.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::programs::Problem;

/// The most connections of a port or socket, how many more get an answer only to `/healthz`, and
/// the most clients of event streams.
const OF_ALL: [usize; 3] = [320, 32, 256];

/// The same for one computer, which can't lock out the others.
const OF_COMPUTER: [usize; 3] = [64, 4, 48];

/// The same for this machine, where a proxy may be, or of one account at a Unix socket.
const OF_HERE: [usize; 3] = [256, 4, 224];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// This machine; at a Unix socket, this account of it.
    Here(Option<u32>),
    /// Another computer. It may choose the second half of its IPv6 address, which is zero here.
    Computer(IpAddr),
}

impl Origin {
    pub(super) fn of(client: SocketAddr, server: SocketAddr) -> Self {
        let ip = client.ip().to_canonical();
        if ip.is_loopback() || ip == server.ip().to_canonical() {
            return Self::Here(None);
        }
        match ip {
            IpAddr::V4(_) => Self::Computer(ip),
            IpAddr::V6(address) => {
                let mut bytes = address.octets();
                bytes[8..].fill(0);
                Self::Computer(bytes.into())
            }
        }
    }
}

#[derive(Debug)]
struct Share {
    connections: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Share {
    fn new(bounds: [usize; 3]) -> Arc<Self> {
        let [connections, spare, streams] = bounds.map(|bound| Arc::new(Semaphore::new(bound)));
        Arc::new(Self { connections, spare, streams })
    }
}

type Permits = [OwnedSemaphorePermit; 2];

fn permits(shares: &[Arc<Share>; 2], of: fn(&Share) -> &Arc<Semaphore>) -> Option<Permits> {
    let [own, all] = shares.each_ref().map(|share| Arc::clone(of(share)).try_acquire_owned().ok());
    Some([own?, all?])
}

#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Share>,
    each: HashMap<Origin, Weak<Share>>,
}

/// A connection's place, as an extension of its requests; free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permits: Permits,
    shares: [Arc<Share>; 2],
    /// Whether nothing but `/healthz` is answered there.
    pub(super) is_spare: bool,
}

#[derive(Debug)]
pub(super) struct Seat {
    _permits: Permits,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { all: Share::new(OF_ALL), each: HashMap::new() }
    }

    pub(super) fn take(&mut self, origin: Origin) -> Option<Place> {
        self.each.retain(|_, share| share.strong_count() > 0);
        let known = self.each.entry(origin).or_default();
        let own = known.upgrade().unwrap_or_else(|| {
            Share::new(match origin {
                Origin::Here(_) => OF_HERE,
                Origin::Computer(_) => OF_COMPUTER,
            })
        });
        *known = Arc::downgrade(&own);
        let shares = [own, Arc::clone(&self.all)];
        let usual = permits(&shares, |share| &share.connections);
        let is_spare = usual.is_none();
        let permits = usual.or_else(|| permits(&shares, |share| &share.spare))?;
        Some(Place { _permits: permits, shares, is_spare })
    }
}

impl Place {
    /// A place for an event stream, or 503.
    pub(super) fn seat(&self) -> Result<Seat, Problem> {
        let permits = permits(&self.shares, |share| &share.streams).ok_or_else(|| {
            let [[.., all], [.., computer], [.., here]] = [OF_ALL, OF_COMPUTER, OF_HERE];
            Problem::busy(format!(
                "too many event streams: the node serves {all}, {computer} of them to one computer \
                 and {here} to its own"
            ))
        })?;
        Ok(Seat { _permits: permits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computer(number: u8) -> Origin {
        Origin::Computer([192, 168, 1, number].into())
    }

    fn take(places: &mut Places, origin: Origin, count: usize) -> Vec<Place> {
        (0..count).filter_map(|_| places.take(origin)).collect()
    }

    #[test]
    fn a_client_of_a_stream_too_many_is_refused() {
        for (greedy, bounds, other) in [
            (computer(7), OF_COMPUTER, computer(8)),
            (Origin::Here(Some(1000)), OF_HERE, Origin::Here(Some(0))),
        ] {
            let mut places = Places::new();
            let held = take(&mut places, greedy, 1000);
            let (spare, usual): (Vec<_>, Vec<_>) = held.iter().partition(|place| place.is_spare);
            assert_eq!([usual.len(), spare.len()], bounds[..2]);
            let seated: Vec<_> = (0..1000).filter_map(|_| usual[0].seat().ok()).collect();
            assert_eq!(seated.len(), bounds[2]);
            // It locks out no other.
            let place = places.take(other).unwrap();
            assert!(!place.is_spare && place.seat().is_ok());
            drop((held, seated));
            let place = places.take(greedy).unwrap();
            assert!(!place.is_spare && place.seat().is_ok());
        }
    }

    #[test]
    fn all_together_have_no_more_than_there_is() {
        let mut places = Places::new();
        let held: Vec<_> = (0..=255).flat_map(|it| take(&mut places, computer(it), 2)).collect();
        assert_eq!(held.len(), 320 + 32);
        drop(held);
        assert!(!places.take(computer(1)).unwrap().is_spare);
        assert!(places.each.len() <= 1);
    }

    #[test]
    fn a_computer_is_one_whichever_of_its_addresses_it_uses() {
        let server = "[fe80::1]:7080".parse().unwrap();
        let of = |client: &str| Origin::of(format!("{client}:9").parse().unwrap(), server);
        for (one, same, other) in [
            ("192.168.1.7", "[::ffff:192.168.1.7]", "192.168.1.8"),
            ("[fe80::1:2]", "[fe80::3:4]", "[fe80:0:0:1::1]"),
            ("127.0.0.1", "[fe80::1]", "10.0.0.1"),
        ] {
            assert_eq!(of(one), of(same));
            assert_ne!(of(one), of(other));
        }
    }
}
