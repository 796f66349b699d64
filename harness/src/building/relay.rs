//! A relay through which everything passes that the nodes of a building send each other, datagrams
//! and links alike: it delays, loses, repeats, overtakes, corrupts and cuts.
//!
//! Each node has a network namespace in which there is nothing but loopback. In it the relay has
//! the addresses of all *other* nodes, so that whatever the node sends reaches the relay, which
//! passes it on in the receiver's namespace, from the sender's address. So the nodes are started as
//! they always are, nothing leaves 127.0.0.0/8, and neither a kernel with `netem` nor a packet
//! filter is needed.
//!
//! ```text
//!   namespace of A                 relay                 namespace of B
//!   A 127.x.y.1 ──▶ 127.x.y.2 ─── fate, delay ─── 127.x.y.1 ──▶ 127.x.y.2 B
//! ```

mod datagrams;
mod links;
mod namespace;

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use fastrand::Rng;

use self::datagrams::Postman;
use self::namespace::Namespace;

/// How long a thread of the relay waits for something before it looks whether it has to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How the relay treats what passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weather {
    /// How many of a hundred datagrams get lost, and of a hundred pieces of a link's stream are
    /// held up as if they had been.
    pub loss: u8,
    /// How many of a hundred datagrams arrive twice.
    pub duplication: u8,
    /// How many of a hundred datagrams, and of a hundred pieces of a stream, have a byte changed.
    pub corruption: u8,
    /// How long something travels. Within it datagrams overtake each other; a stream keeps its
    /// order.
    pub delay: RangeInclusive<Duration>,
}

/// Nothing happens.
impl Default for Weather {
    fn default() -> Self {
        Self {
            loss: 0,
            duplication: 0,
            corruption: 0,
            delay: Duration::ZERO..=Duration::from_millis(1),
        }
    }
}

/// What the relay has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// Datagrams that a node has sent to another; a broadcast counts once for each.
    pub datagrams: u64,
    /// Those that got lost, also in cuts.
    pub lost: u64,
    /// Those that arrived twice.
    pub duplicated: u64,
    /// Those that arrived with a changed byte.
    pub corrupted: u64,
    /// Those that arrived before one that the same node had sent earlier.
    pub overtaking: u64,
    /// Links.
    pub links: u64,
    /// Pieces of their streams.
    pub pieces: u64,
    /// Those with a changed byte.
    pub corrupted_pieces: u64,
}

#[derive(Debug, Default)]
struct Counts {
    datagrams: AtomicU64,
    lost: AtomicU64,
    duplicated: AtomicU64,
    corrupted: AtomicU64,
    overtaking: AtomicU64,
    links: AtomicU64,
    pieces: AtomicU64,
    corrupted_pieces: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The relay of a building. It ends with its threads when it is dropped.
pub struct Relay {
    name: String,
    port: u16,
    broadcast: Ipv4Addr,
    nodes: Vec<Namespace>,
    shared: Arc<Shared>,
    postman: Postman,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads of the relay have in common.
#[derive(Debug, Default)]
struct Shared {
    conditions: Mutex<Conditions>,
    counts: Counts,
    /// How many datagrams have been heard.
    heard: AtomicU64,
    ends: AtomicBool,
}

#[derive(Debug, Default)]
struct Conditions {
    weather: Weather,
    /// From one node to another nothing passes.
    cuts: BTreeSet<(u8, u8)>,
}

impl Shared {
    fn conditions(&self) -> MutexGuard<'_, Conditions> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn weather(&self) -> Weather {
        self.conditions().weather.clone()
    }

    fn is_cut(&self, from: u8, to: u8) -> bool {
        self.conditions().cuts.contains(&(from, to))
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }
}

/// Whether something happens that happens to so many of a hundred.
fn happens(random: &mut Rng, percent: u8) -> bool {
    random.u8(0..100) < percent
}

fn delay(random: &mut Rng, weather: &Weather) -> Duration {
    let micros = |limit: &Duration| u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
    Duration::from_micros(random.u64(micros(weather.delay.start())..=micros(weather.delay.end())))
}

/// Changes one byte.
fn corrupt(random: &mut Rng, bytes: &mut [u8]) {
    if !bytes.is_empty() {
        let at = random.usize(..bytes.len());
        bytes[at] ^= random.u8(1..);
    }
}

/// Tells the threads' chances from each other: the one from a node to another.
fn chance(from: u8, to: u8) -> Rng {
    Rng::with_seed(u64::from(from) << 8 | u64::from(to))
}

impl Relay {
    /// A relay between nodes that are not there yet, all with this port; `None`, having said why,
    /// where there can't be one.
    pub(super) fn open(block: u8, broadcast: SocketAddrV4) -> Option<Self> {
        if let Some(lack) = namespace::lack() {
            super::skip(lack);
            return None;
        }
        let shared = Arc::new(Shared::default());
        Some(Self {
            name: format!("liftmesh-{}-{block}-relay", std::process::id()),
            port: broadcast.port(),
            broadcast: *broadcast.ip(),
            nodes: Vec::new(),
            postman: Postman::start(Arc::clone(&shared)),
            shared,
            threads: Vec::new(),
        })
    }

    /// Adds the node with this number and address, which has to be added before it starts.
    pub(super) fn add(&mut self, number: u8, address: Ipv4Addr) {
        let name = format!("{}-{number}", self.name);
        let node = Namespace::make(name, number, address);
        self.relay(&node).expect("sockets of the relay");
        self.nodes.push(node);
    }

    /// Passes on what this node and those before it send each other.
    fn relay(&mut self, node: &Namespace) -> io::Result<()> {
        let everybody = SocketAddrV4::new(self.broadcast, self.port);
        self.postman.hear_broadcasts(node, everybody)?;
        for other in &self.nodes {
            self.postman.connect(node, other, everybody)?;
            for (from, to) in [(node, other), (other, node)] {
                let thread = links::accept(from, to, self.port, Arc::clone(&self.shared))?;
                self.threads.push(thread);
            }
        }
        Ok(())
    }

    /// The program that starts another one where the node with this number is.
    pub(super) fn command(&self, number: u8, program: &str) -> std::process::Command {
        let node = self.nodes.iter().find(|node| node.number == number).expect("an added node");
        node.command(program)
    }

    /// From here on everything is treated like this.
    pub fn set(&self, weather: Weather) {
        self.shared.conditions().weather = weather;
    }

    /// Lets nothing pass from one node to another; the way back is open.
    pub fn one_way(&self, from: u8, to: u8) {
        self.shared.conditions().cuts.insert((from, to));
    }

    /// Lets everything pass again, as it has been set.
    pub fn heal(&self) {
        self.shared.conditions().cuts.clear();
    }

    /// What it has done so far.
    #[must_use]
    pub fn passed(&self) -> Passed {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.shared.counts;
        Passed {
            datagrams: of(&counts.datagrams),
            lost: of(&counts.lost),
            duplicated: of(&counts.duplicated),
            corrupted: of(&counts.corrupted),
            overtaking: of(&counts.overtaking),
            links: of(&counts.links),
            pieces: of(&counts.pieces),
            corrupted_pieces: of(&counts.corrupted_pieces),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.postman.join();
        for thread in self.threads.drain(..) {
            // Its panic was reported where it happened.
            drop(thread.join());
        }
    }
}
