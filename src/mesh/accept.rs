//! The task that takes connections in.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::node::LinkSide;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tracing::{debug, error, trace, warn};

use super::gate::Gate;
use super::greeting::GreetingError;
use super::{Common, Count, Note, greeting, socket};

/// How many connections may be without a hello at once; more are closed at once.
pub(super) const GREETINGS: usize = 64;

/// How many of them may come from one address, so that one stranger can't keep the others out.
pub(super) const GREETINGS_PER_ADDRESS: usize = 4;

/// How many of them may come from unproven addresses, if there is a key: peers have room.
const GREETINGS_OF_STRANGERS: usize = GREETINGS / 2;

/// How many handshakes of each peer's address may fail a second, and at once.
const FAILURES: u32 = 32;

const RETRY: Duration = Duration::from_secs(1);

/// The pause after a connection was closed at once: a flood costs little.
const PAUSE: Duration = Duration::from_millis(1);

/// The pause after a connection could not be accepted, as when the process has no descriptor left.
const BREATH: Duration = Duration::from_millis(100);

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
    common: Common,
    greetings: JoinSet<Greeted>,
    pending: Vec<(IpAddr, Caller)>,
    /// Handshakes of peers' addresses, which count as failed until they have not.
    failures: Gate<IpAddr>,
    log: Gate<&'static str>,
    refused: Gate<IpAddr>,
}

pub(super) async fn run(listener: Option<TcpListener>, common: Common) {
    let keys = Arc::clone(&common.settings.keys);
    let mut acceptor = Acceptor {
        common,
        greetings: JoinSet::new(),
        pending: Vec::new(),
        failures: Gate::new(FAILURES, Duration::from_secs(1)),
        log: Gate::once(),
        refused: Gate::some(),
    };
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
            Step::Accepted(Ok((stream, from))) => acceptor.accept(stream, from.ip()).await,
            Step::Accepted(Err(error)) => {
                if acceptor.log.opens(&"accept") {
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
            let address = self.common.settings.hello.address;
            match socket::listener(address, self.common.settings.link_port) {
                Ok(listener) => return listener,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let link_port = self.common.settings.link_port;
                    if self.log.opens(&"listen") {
                        error!(%address, link_port, "link_port is in use by another process");
                    }
                }
                Err(error) => trace!(%error, "no socket for links yet"),
            }
        }
    }

    async fn accept(&mut self, stream: TcpStream, from: IpAddr) {
        let caller = self.caller(from);
        let siblings = self.pending.iter().filter(|(address, _)| *address == from).count();
        let strangers = self.pending.iter().filter(|(_, it)| *it == Caller::Stranger).count();
        let is_full = siblings >= GREETINGS_PER_ADDRESS
            || self.pending.len() >= GREETINGS
            || (caller == Caller::Stranger && strangers >= GREETINGS_OF_STRANGERS);
        if is_full && self.log.opens(&"crowd") {
            warn!(%from, "too many connections without a hello: the newest are closed");
        }
        let fails = !is_full && caller == Caller::Peer && !self.failures.opens(&from);
        if fails && self.log.opens(&"failures") {
            warn!(%from, "too many handshakes with a peer's address fail: the newest are closed");
        }
        if is_full || fails {
            self.common.counters.add(Count::Refused);
            drop(stream);
            return tokio::time::sleep(PAUSE).await;
        }
        self.pending.push((from, caller));
        let Common { settings, notes, proven, .. } = self.common.clone();
        self.greetings.spawn(async move {
            let refused = match greeting::greet(&settings, stream, from, &proven).await {
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
        let has_key = self.common.settings.keys.get().is_some_and(|keys| keys.sent().is_some());
        match from {
            _ if !has_key => Caller::Anybody,
            IpAddr::V4(address) if self.common.proven.is_at(address) => Caller::Peer,
            IpAddr::V4(_) | IpAddr::V6(_) => Caller::Stranger,
        }
    }

    fn greeted(&mut self, greeted: Result<Greeted, JoinError>) {
        match greeted {
            Ok(Greeted { from, caller, refused }) => {
                match refused {
                    Some(error) => self.refuse(from, caller, &error),
                    None => self.failures.give_back(&from),
                }
                if let Some(at) = self.pending.iter().position(|it| *it == (from, caller)) {
                    self.pending.swap_remove(at);
                }
            }
            // This task fails with it, and so the whole mesh.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => debug!(%error, "a greeting was cancelled"),
        }
    }

    fn refuse(&mut self, from: IpAddr, caller: Caller, error: &GreetingError) {
        self.common.counters.add(Count::Refused);
        // Strangers with any number of addresses have as many lines as one peer.
        let is_stranger = caller == Caller::Stranger;
        let kind = if is_stranger { Ipv4Addr::UNSPECIFIED.into() } else { from };
        if self.refused.opens(&kind) {
            warn!(%from, %error, "a connection is refused");
        }
    }
}
