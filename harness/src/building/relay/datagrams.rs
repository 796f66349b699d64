//! The datagrams of the relay: one thread for each socket that hears, and one that delivers what is
//! due.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::atomic;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use fastrand::Rng;
use socket2::{Domain, Socket, Type};

use super::namespace::Namespace;
use super::{LOOK_EVERY, Shared, chance, corrupt, count, delay, happens};

/// How many datagrams may be on their way; who hears more waits.
const ON_THE_WAY: usize = 4096;

/// The largest datagram.
const LARGEST: usize = 65_536;

/// The way from one node to another: a socket at the receiver's, with the sender's address.
type Ways = RwLock<BTreeMap<(u8, u8), Way>>;

#[derive(Debug)]
struct Way {
    socket: Arc<UdpSocket>,
    to: Ipv4Addr,
}

/// One datagram on its way.
#[derive(Debug)]
struct Datagram {
    due: Instant,
    /// Its number among those from this node to the other one.
    number: u64,
    way: (u8, u8),
    socket: Arc<UdpSocket>,
    to: SocketAddrV4,
    bytes: Vec<u8>,
}

/// Hears and delivers the datagrams.
pub(super) struct Postman {
    shared: Arc<Shared>,
    ways: Arc<Ways>,
    outgoing: SyncSender<Reverse<Datagram>>,
    threads: Vec<JoinHandle<()>>,
}

impl Postman {
    pub(super) fn start(shared: Arc<Shared>) -> Self {
        let (outgoing, queue) = sync_channel(ON_THE_WAY);
        let deliverer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || deliver(&queue, &shared))
        };
        Self { shared, ways: Arc::default(), outgoing, threads: vec![deliverer] }
    }

    /// Hears the broadcasts of a node, and passes them on to all that are connected with it.
    pub(super) fn hear_broadcasts(
        &mut self,
        node: &Namespace,
        everybody: SocketAddrV4,
    ) -> io::Result<()> {
        let socket = node.make_here(|| bind(everybody))?;
        let (number, address, ways) = (node.number, node.address, Arc::clone(&self.ways));
        let receivers = move || {
            let ways = ways.read().expect("the ways");
            let from_here = ways.iter().filter(|((from, _), _)| *from == number);
            from_here
                .map(|(pair, way)| (*pair, Arc::clone(&way.socket), everybody))
                .collect::<Vec<_>>()
        };
        self.hear(Arc::new(socket), number, address, receivers);
        Ok(())
    }

    /// Passes on what two nodes send each other alone.
    pub(super) fn connect(
        &mut self,
        one: &Namespace,
        other: &Namespace,
        everybody: SocketAddrV4,
    ) -> io::Result<()> {
        for (from, to) in [(one, other), (other, one)] {
            let address = SocketAddrV4::new(from.address, everybody.port());
            let socket = Arc::new(to.make_here(|| bind(address))?);
            let way = Way { socket: Arc::clone(&socket), to: to.address };
            self.ways.write().expect("the ways").insert((from.number, to.number), way);
            // The same socket hears what the receiver answers.
            let (back, ways) = ((to.number, from.number), Arc::clone(&self.ways));
            let receivers = move || {
                let ways = ways.read().expect("the ways");
                let way = ways.get(&back);
                way.map(|way| {
                    let to = SocketAddrV4::new(way.to, everybody.port());
                    (back, Arc::clone(&way.socket), to)
                })
                .into_iter()
                .collect::<Vec<_>>()
            };
            self.hear(socket, to.number, to.address, receivers);
        }
        Ok(())
    }

    /// Hears one node at a socket, and sends what it hears on its way to each receiver.
    fn hear(
        &mut self,
        socket: Arc<UdpSocket>,
        number: u8,
        address: Ipv4Addr,
        receivers: impl Fn() -> Vec<((u8, u8), Arc<UdpSocket>, SocketAddrV4)> + Send + 'static,
    ) {
        let (shared, outgoing) = (Arc::clone(&self.shared), self.outgoing.clone());
        self.threads.push(thread::spawn(move || {
            let mut random = chance(number, 0);
            let mut buffer = vec![0; LARGEST];
            while !shared.ends() {
                let Ok((length, SocketAddr::V4(from))) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                // What the relay itself has broadcast comes back to it.
                if *from.ip() != address {
                    continue;
                }
                // One count for all sockets: a node sends from several.
                let sequence = shared.heard.fetch_add(1, atomic::Ordering::Relaxed) + 1;
                for (way, socket, to) in receivers() {
                    let bytes = buffer[..length].to_vec();
                    let datagram =
                        Datagram { due: Instant::now(), number: sequence, way, socket, to, bytes };
                    for datagram in fate(datagram, &shared, &mut random) {
                        if outgoing.send(Reverse(datagram)).is_err() {
                            return;
                        }
                    }
                }
            }
        }));
    }

    /// Waits for the threads, which have been told to end.
    pub(super) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            // Its panic was reported where it happened.
            drop(thread.join());
        }
    }
}

/// What arrives of a datagram, and when.
fn fate(datagram: Datagram, shared: &Shared, random: &mut Rng) -> Vec<Datagram> {
    let (weather, counts) = (shared.weather(), &shared.counts);
    count(&counts.datagrams);
    if shared.is_cut(datagram.way.0, datagram.way.1) || happens(random, weather.loss) {
        count(&counts.lost);
        return Vec::new();
    }
    let mut copies = vec![datagram];
    if happens(random, weather.duplication) {
        count(&counts.duplicated);
        let Datagram { due, number, way, socket, to, bytes } = &copies[0];
        let (socket, bytes) = (Arc::clone(socket), bytes.clone());
        copies.push(Datagram { due: *due, number: *number, way: *way, socket, to: *to, bytes });
    }
    for copy in &mut copies {
        copy.due += delay(random, &weather);
        if happens(random, weather.corruption) {
            count(&counts.corrupted);
            corrupt(random, &mut copy.bytes);
        }
    }
    copies
}

/// Delivers every datagram when it is due.
fn deliver(queue: &Receiver<Reverse<Datagram>>, shared: &Shared) {
    let mut waiting: BinaryHeap<Reverse<Datagram>> = BinaryHeap::new();
    let mut latest: BTreeMap<(u8, u8), u64> = BTreeMap::new();
    while !shared.ends() {
        let now = Instant::now();
        let pause = waiting.peek().map_or(LOOK_EVERY, |Reverse(next)| {
            next.due.saturating_duration_since(now).min(LOOK_EVERY)
        });
        match queue.recv_timeout(pause) {
            Ok(datagram) => waiting.push(datagram),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        waiting.extend(queue.try_iter());
        let now = Instant::now();
        while waiting.peek().is_some_and(|Reverse(next)| next.due <= now) {
            let Some(Reverse(datagram)) = waiting.pop() else { break };
            let before = latest.entry(datagram.way).or_default();
            if datagram.number < *before {
                count(&shared.counts.overtaking);
            }
            *before = datagram.number.max(*before);
            // Where nobody listens it gets lost, as on a real network.
            drop(datagram.socket.send_to(&datagram.bytes, datagram.to));
        }
    }
}

fn bind(address: SocketAddrV4) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_broadcast(true)?;
    socket.set_read_timeout(Some(LOOK_EVERY))?;
    socket.bind(&SocketAddr::from(address).into())?;
    Ok(socket.into())
}

impl PartialEq for Datagram {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Datagram {}

impl PartialOrd for Datagram {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The one that is due first is the least.
impl Ord for Datagram {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}
