//! How many connections and event streams there may be, of all clients and of each.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::origin::Origin;
use crate::programs::Problem;

/// The most connections at a time, those of event streams and `WebSockets` included.
const CONNECTIONS: usize = 320;

/// The most clients of event streams at a time.
pub(super) const STREAMS: usize = 256;

/// The most connections and streams of one computer: it can't lock out the others, and has connections
/// left when it has no more streams.
const OF_COMPUTER: [usize; 2] = [64, 48];

/// The same for an account of this machine. A proxy may be one, which passes on what comes from
/// everywhere.
const OF_ACCOUNT: [usize; 2] = [256, 224];

/// The most connections beyond these bounds, and of one computer or account. Nothing but `/healthz` is
/// answered there.
const SPARE: usize = 32;
const SPARE_OF_ONE: usize = 4;

/// A place for each connection.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    /// What each has that has connections.
    each: HashMap<Origin, Weak<Share>>,
}

/// What one computer or account may have.
#[derive(Debug)]
struct Share {
    connections: Arc<Semaphore>,
    spare: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

/// A connection's place, as an extension of each of its requests; it is free again when this is
/// dropped.
#[derive(Debug)]
pub(super) struct Place {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    share: Arc<Share>,
    is_spare: bool,
}

impl Places {
    pub(super) fn new() -> Self {
        Self {
            all: Arc::new(Semaphore::new(CONNECTIONS)),
            spare: Arc::new(Semaphore::new(SPARE)),
            each: HashMap::new(),
        }
    }

    /// A place for a connection, if there is one.
    pub(super) fn take(&mut self, origin: Origin) -> Option<Place> {
        self.each.retain(|_, share| share.strong_count() > 0);
        let known = self.each.entry(origin).or_default();
        let share = known.upgrade().unwrap_or_else(|| Arc::new(Share::of(origin)));
        *known = Arc::downgrade(&share);
        let place = |all: &Arc<Semaphore>, own: &Arc<Semaphore>, is_spare| {
            let own = Arc::clone(own).try_acquire_owned().ok()?;
            let all = Arc::clone(all).try_acquire_owned().ok()?;
            Some(Place { _all: all, _own: own, share: Arc::clone(&share), is_spare })
        };
        place(&self.all, &share.connections, false)
            .or_else(|| place(&self.spare, &share.spare, true))
    }
}

impl Share {
    fn of(origin: Origin) -> Self {
        let [connections, streams] = match origin {
            Origin::Account(_) => OF_ACCOUNT,
            Origin::Computer(_) => OF_COMPUTER,
        };
        Self {
            connections: Arc::new(Semaphore::new(connections)),
            spare: Arc::new(Semaphore::new(SPARE_OF_ONE)),
            streams: Arc::new(Semaphore::new(streams)),
        }
    }
}

impl Place {
    /// Whether nothing but `/healthz` is answered there.
    pub(super) fn is_spare(&self) -> bool {
        self.is_spare
    }

    /// A place for an event stream, of these for all.
    ///
    /// # Errors
    /// 503 if there is none.
    pub(super) fn seat(self: &Arc<Self>, all: &Arc<Semaphore>) -> Result<Seat, Problem> {
        let own = Arc::clone(&self.share.streams).try_acquire_owned().map_err(|_none_free| {
            let [_, computer] = OF_COMPUTER;
            let [_, account] = OF_ACCOUNT;
            Problem::busy(format!(
                "too many event streams: the node serves {computer} per computer, or {account} per \
                 account on its own"
            ))
        })?;
        let all = Arc::clone(all).try_acquire_owned().map_err(|_none_free| {
            Problem::busy(format!("the node already serves {STREAMS} event streams"))
        })?;
        Ok(Seat { _all: all, _own: own, _place: Arc::clone(self) })
    }
}

/// The place of a client of an event stream; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    _all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
    /// A connection that has become a WebSocket, which a separate task serves, keeps its place.
    _place: Arc<Place>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computer(number: u8) -> Origin {
        Origin::Computer([192, 168, 1, number].into())
    }

    #[test]
    fn one_computer_or_account_can_not_lock_out_the_others() {
        let [root, other] = [0, 1000].map(|account| Origin::Account(Some(account)));
        for (greedy, bounds, other) in
            [(computer(7), OF_COMPUTER, computer(8)), (other, OF_ACCOUNT, root)]
        {
            let (mut places, seats) = (Places::new(), Arc::new(Semaphore::new(STREAMS)));
            let mut held: Vec<_> =
                (0..1000).filter_map(|_| places.take(greedy)).map(Arc::new).collect();
            let usual = held.iter().filter(|place| !place.is_spare()).count();
            assert_eq!([usual, held.len() - usual], [bounds[0], SPARE_OF_ONE]);
            let usual = held.iter().find(|place| !place.is_spare()).map(Arc::clone).unwrap();
            let seated: Vec<_> = (0..1000).filter_map(|_| usual.seat(&seats).ok()).collect();
            assert_eq!(seated.len(), bounds[1]);
            let place = Arc::new(places.take(other).unwrap());
            assert!(!place.is_spare() && place.seat(&seats).is_ok());
            held.retain(|place| place.is_spare());
            drop(usual);
            let again = (0..1000).filter_map(|_| places.take(greedy));
            let again: Vec<_> = again.filter(|place| !place.is_spare()).collect();
            assert_eq!(again.len(), bounds[0] - 1, "a stream keeps the place of its connection");
        }
    }

    #[test]
    fn all_together_have_no_more_than_there_is() {
        let mut places = Places::new();
        let all = (0..=255).map(computer).chain((0..255).map(|it| Origin::Account(Some(it))));
        let held: Vec<_> =
            all.flat_map(|it| [places.take(it), places.take(it)]).flatten().collect();
        assert_eq!(held.len(), CONNECTIONS + SPARE);
        drop(held);
        assert!(!places.take(computer(1)).unwrap().is_spare());
        assert!(places.each.len() <= 1);
    }
}
