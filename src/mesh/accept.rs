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
use tracing::{debug, error, trace, warn};

use super::greeting::GreetingError;
use super::log_gate::{self, LogGate};
use super::proven::Proven;
use super::{Count, Counters, MeshSettings, Note, greeting, socket};

/// How many connections may be without a hello at once; more are closed at once.
pub(super) const GREETINGS: usize = 64;

/// How many of them may come from one address, so that one stranger can't keep the others out.
pub(super) const GREETINGS_PER_ADDRESS: usize = 4;

/// How many of them may come from addresses that no beacon has proven, if there is a key: strangers
/// with any number of addresses leave room for peers.
const GREETINGS_OF_STRANGERS: usize = GREETINGS / 2;

/// Between two attempts to listen.
const RETRY: Duration = Duration::from_secs(1);

/// The pause after a connection could not be accepted, as when the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

/// What a line in the log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Accept,
    Crowd,
    Listen,
}

enum Step {
    Accepted(io::Result<(TcpStream, SocketAddr)>),
    Greeted(Result<Greeted, JoinError>),
}

/// How a greeting has ended.
#[derive(Debug)]
struct Greeted {
    from: IpAddr,
    /// It came from an address that was not proven.
    is_stranger: bool,
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
        };
        match step {
            Step::Accepted(Ok((stream, from))) => acceptor.accept(stream, from.ip()),
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

    fn accept(&mut self, stream: TcpStream, from: IpAddr) {
        let pending = self.pending.get(&from).copied().unwrap_or_default();
        let is_stranger = self.is_stranger(from);
        let is_full = pending >= GREETINGS_PER_ADDRESS || self.greetings.len() >= GREETINGS;
        if is_full || (is_stranger && self.strangers >= GREETINGS_OF_STRANGERS) {
            self.counters.add(Count::Refused);
            if self.log.opens(&Line::Crowd).is_some() {
                warn!(%from, "too many connections without a hello: the newest are closed");
            }
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
            Greeted { from, is_stranger, refused }
        });
    }

    /// Whether a peer has to be proven first, and is not.
    fn is_stranger(&self, from: IpAddr) -> bool {
        let has_key = self.settings.keys.get().is_some_and(|keys| keys.sent().is_some());
        has_key && matches!(from, IpAddr::V4(address) if !self.proven.is_at(address))
    }

    fn greeted(&mut self, greeted: Result<Greeted, JoinError>) {
        match greeted {
            Ok(Greeted { from, is_stranger, refused }) => {
                self.strangers -= usize::from(is_stranger);
                if let Some(error) = refused {
                    self.refuse(from, is_stranger, &error);
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

    fn refuse(&mut self, from: IpAddr, is_stranger: bool, error: &GreetingError) {
        self.counters.add(Count::Refused);
        // Strangers with any number of addresses have as many lines as one peer.
        let kind = if is_stranger { Ipv4Addr::UNSPECIFIED.into() } else { from };
        if let Some(unlogged) = self.refused.opens(&kind) {
            warn!(%from, %error, unlogged = unlogged.count(), "a connection is refused");
        }
    }
}
