//! The task that takes connections in.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::node::LinkSide;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tracing::{debug, error, trace, warn};

use super::greeting::GreetingError;
use super::log_gate::{self, LogGate};
use super::proven::Proven;
use super::{Count, Counters, MeshSettings, Note, greeting, socket};
use crate::bucket::Bucket;

/// How many connections may be without a hello at once; more are closed at once.
pub(super) const GREETINGS: usize = 64;

/// How many of them may come from one address, so that one stranger can't keep the others out.
pub(super) const GREETINGS_PER_ADDRESS: usize = 4;

/// How many of them may come from addresses that no beacon has proven, if there is a key: strangers
/// with any number of addresses leave room for peers.
const GREETINGS_OF_STRANGERS: usize = GREETINGS / 2;

/// Handshakes of a peer's address that may fail: so many a second, and so many at once after a pause.
/// Who can send from there may not keep this node busy.
const FAILURES: [f64; 2] = [32.0, 32.0];

/// How long further connections from there wait unread before they are closed. Who floods has to wait
/// too, and leaves handshakes to the peer.
pub(super) const HOLD: Duration = Duration::from_millis(500);

const HELD: usize = 64;

/// Between two attempts to listen.
const RETRY: Duration = Duration::from_secs(1);

/// The pause after a connection was closed at once: a flood costs little, and peers wait no longer in the
/// queue of the system than they do for a hello.
const PAUSE: Duration = Duration::from_millis(1);

/// The pause after a connection could not be accepted, as when the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Accept,
    Crowd,
    Failures,
    Listen,
}

enum Step {
    Accepted(io::Result<(TcpStream, SocketAddr)>),
    Greeted(Result<Greeted, JoinError>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Without a key, anybody may be a peer.
    Anybody,
    /// A beacon has proven the address.
    Peer,
    Stranger,
}

#[derive(Debug)]
struct Greeted {
    from: IpAddr,
    caller: Caller,
    refused: Option<GreetingError>,
}

#[derive(Debug)]
struct Acceptor {
    settings: Arc<MeshSettings>,
    notes: mpsc::Sender<Note>,
    counters: Arc<Counters>,
    greetings: JoinSet<Greeted>,
    pending: BTreeMap<IpAddr, usize>,
    /// How many of them came from addresses that were not proven.
    strangers: usize,
    failures: Failures,
    held: JoinSet<()>,
    proven: Proven,
    log: LogGate<Line>,
    refused: LogGate<IpAddr>,
}

/// Listens, from the moment the address is there.
pub(super) async fn run(
    listener: Option<TcpListener>,
    settings: Arc<MeshSettings>,
    notes: mpsc::Sender<Note>,
    counters: Arc<Counters>,
    proven: Proven,
) {
    let mut acceptor = Acceptor {
        settings,
        notes,
        counters,
        greetings: JoinSet::new(),
        pending: BTreeMap::new(),
        strangers: 0,
        failures: Failures::default(),
        held: JoinSet::new(),
        proven,
        log: LogGate::new(log_gate::ONE),
        refused: LogGate::new(log_gate::SOME),
    };
    let keys = Arc::clone(&acceptor.settings.keys);
    keys.wait().await;
    let listener = match listener {
        Some(listener) => listener,
        None => acceptor.listen().await,
    };
    loop {
        let step = tokio::select! {
            accepted = listener.accept() => Step::Accepted(accepted),
            Some(greeted) = acceptor.greetings.join_next() => Step::Greeted(greeted),
            Some(_closed) = acceptor.held.join_next() => continue,
        };
        match step {
            Step::Accepted(Ok((stream, from))) => acceptor.accept(stream, from.ip()).await,
            Step::Accepted(Err(error)) => {
                if acceptor.log.opens(&Line::Accept).is_some() {
                    warn!(%error, "a connection can't be accepted");
                }
                tokio::time::sleep(BREATH).await;
            }
            Step::Greeted(greeted) => acceptor.greeted(greeted),
        }
    }
}

impl Acceptor {
    async fn listen(&mut self) -> TcpListener {
        loop {
            tokio::time::sleep(RETRY).await;
            let address = self.settings.hello.address;
            match socket::listener(address, self.settings.link_port) {
                Ok(listener) => return listener,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    if self.log.opens(&Line::Listen).is_some() {
                        let link_port = self.settings.link_port;
                        error!(%address, link_port, "link_port is in use by another process");
                    }
                }
                Err(error) => trace!(%error, "no socket for links yet"),
            }
        }
    }

    async fn accept(&mut self, stream: TcpStream, from: IpAddr) {
        let pending = self.pending.get(&from).copied().unwrap_or_default();
        let caller = self.caller(from);
        let is_stranger = caller == Caller::Stranger;
        let is_full = pending >= GREETINGS_PER_ADDRESS || self.greetings.len() >= GREETINGS;
        if is_full || (is_stranger && self.strangers >= GREETINGS_OF_STRANGERS) {
            self.counters.add(Count::Refused);
            if self.log.opens(&Line::Crowd).is_some() {
                warn!(%from, "too many connections without a hello: the newest are closed");
            }
            drop(stream);
            return tokio::time::sleep(PAUSE).await;
        }
        if caller == Caller::Peer && !self.failures.allow(from, Instant::now()) {
            self.counters.add(Count::Refused);
            if self.log.opens(&Line::Failures).is_some() {
                warn!(%from, "too many handshakes with a peer's address fail: the newest are closed");
            }
            if self.held.len() >= HELD {
                drop(stream);
                return tokio::time::sleep(PAUSE).await;
            }
            self.held.spawn(async move {
                tokio::time::sleep(HOLD).await;
                drop(stream);
            });
            return;
        }
        self.pending.insert(from, pending + 1);
        self.strangers += usize::from(is_stranger);
        let mut proven = self.proven.clone();
        let settings = Arc::clone(&self.settings);
        let notes = self.notes.clone();
        self.greetings.spawn(async move {
            let refused = match greeting::greet(&settings, stream, from, &mut proven).await {
                Ok((connection, peer)) => {
                    let note = Note::Greeted {
                        connection: Box::new(connection),
                        peer,
                        side: LinkSide::Accepted,
                    };
                    if notes.send(note).await.is_err() {
                        trace!("greeting outlived the mesh");
                    }
                    None
                }
                Err(error) => Some(error),
            };
            Greeted { from, caller, refused }
        });
    }

    fn caller(&self, from: IpAddr) -> Caller {
        let has_key = self.settings.keys.get().is_some_and(|keys| keys.sent().is_some());
        match from {
            _ if !has_key => Caller::Anybody,
            IpAddr::V4(address) if self.proven.is_at(address) => Caller::Peer,
            IpAddr::V4(_) | IpAddr::V6(_) => Caller::Stranger,
        }
    }

    fn greeted(&mut self, greeted: Result<Greeted, JoinError>) {
        match greeted {
            Ok(Greeted { from, caller, refused }) => {
                self.strangers -= usize::from(caller == Caller::Stranger);
                match refused {
                    Some(error) => self.refuse(from, caller, &error),
                    None => self.failures.forgive(from),
                }
                if let Some(pending) = self.pending.get_mut(&from) {
                    *pending -= 1;
                    if *pending == 0 {
                        self.pending.remove(&from);
                    }
                }
            }
            // This task fails with it, and so the whole mesh.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => debug!(%error, "a greeting was cancelled"),
        }
    }

    fn refuse(&mut self, from: IpAddr, caller: Caller, error: &GreetingError) {
        self.counters.add(Count::Refused);
        // Strangers with any number of addresses have as many lines as one peer.
        let is_stranger = caller == Caller::Stranger;
        let kind = if is_stranger { Ipv4Addr::UNSPECIFIED.into() } else { from };
        if let Some(unlogged) = self.refused.opens(&kind) {
            let unlogged = Some(unlogged).filter(|count| *count > 0);
            warn!(%from, %error, unlogged, "a connection is refused");
        }
    }
}

/// Limits the handshakes of each peer's address that fail.
#[derive(Debug, Default)]
struct Failures(BTreeMap<IpAddr, Bucket>);

impl Failures {
    /// Whether a handshake may begin, which counts as failed until it is forgiven.
    fn allow(&mut self, from: IpAddr, now: Instant) -> bool {
        if !self.0.contains_key(&from) {
            self.0.retain(|_, bucket| !bucket.is_full(now));
        }
        let [rate, burst] = FAILURES;
        self.0.entry(from).or_insert_with(|| Bucket::new(rate, burst, now)).take(now)
    }

    /// A handshake from there has not failed.
    fn forgive(&mut self, from: IpAddr) {
        if let Some(bucket) = self.0.get_mut(&from) {
            bucket.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_handshakes_are_limited_for_each_address() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let [one, other] = [1, 2].map(|number| IpAddr::from([192, 168, 1, number]));
        for _ in 0..100 {
            assert!(failures.allow(other, now));
            failures.forgive(other);
        }
        let mut count = |at| (0..1000).filter(|_| failures.allow(one, at)).count();
        assert_eq!([count(now), count(now + Duration::from_millis(500))], [32, 16]);
        assert!(failures.allow(other, now));
        assert!(failures.allow(other, now + Duration::from_mins(1)));
        failures.allow([192, 168, 1, 3].into(), now + Duration::from_mins(2));
        assert_eq!(failures.0.len(), 1);
    }
}
