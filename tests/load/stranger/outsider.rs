//! Somebody on the segment who has no key: what it hears it sends again, changed or not.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::election::ballot::packet;
use elevator_fleet::model::{Call, Dot, HallCall, Mac, NodeId, Term};
use elevator_fleet::store::{Record, RecordState, Service};
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM, SealedPacket};
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET, TAG};
use elevator_fleet::wire::{Beacon, Echo, Hello, NodeState, Nonce};
use socket2::{Domain, Socket, Type};

use super::connections::{self, Connected, Opening};

/// Between two datagrams.
const PAUSE: Duration = Duration::from_millis(5);

/// How many beacons are kept of the beginning of an incarnation, and how many of its end.
const KEPT: usize = 400;

/// The bytes before the body of a message. The last of them is the key id.
const HEADER: usize = 4;
const KEY_ID: usize = 3;

/// The largest datagram of a node.
const DATAGRAM: usize = 1500;

/// Where everybody is.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) own: Ipv4Addr,
    /// The addresses of the nodes.
    pub(crate) victims: Vec<Ipv4Addr>,
    pub(crate) beacons: SocketAddrV4,
    /// Where packets of an election go, if it has any.
    pub(crate) packets: Option<SocketAddrV4>,
    pub(crate) link_port: u16,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shot {
    /// A beacon in its own name: it leads.
    Announcement(Proof),
    /// A recorded beacon, changed: the node leads, has a high term, orders and services, and asks
    /// for an answer.
    Forgery(Proof),
    /// The latest beacon of a node, once more.
    Latest,
    /// The beacons of a node's incarnation that runs, in their order.
    Rerun,
    /// The beacons of an incarnation that has ended, in their order.
    Yesterday,
    /// A recorded beacon, from its own address.
    Elsewhere,
    /// The first half of a recorded beacon.
    Truncated,
    /// A recorded beacon with more behind it than any datagram of the fleet has.
    Oversized,
    /// A packet of an election, made up.
    Packet(Proof),
    /// A recorded packet.
    PacketAgain,
}

/// What the receiver is shown to prove that a message comes from the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proof {
    /// No key.
    Nothing,
    /// The tag of another key.
    OtherKey,
    /// The fleet's key id, with the tag of another key.
    RandomTag,
    /// The fleet's key id, with the tag of another message.
    OldTag,
}

impl Proof {
    const ALL: [Self; 4] = [Self::Nothing, Self::OtherKey, Self::RandomTag, Self::OldTag];
}

/// What was sent.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) shots: BTreeMap<Shot, u32>,
    pub(crate) connected: Connected,
}

/// The attacker: it listens from the start, and attacks from when it is told to.
pub(crate) struct Outsider {
    segment: Segment,
    attacks: Arc<AtomicBool>,
    stops: Arc<AtomicBool>,
    datagrams: JoinHandle<BTreeMap<Shot, u32>>,
    connections: Option<JoinHandle<Connected>>,
}

impl Outsider {
    pub(crate) fn listen(segment: &Segment) -> Self {
        let (attacks, stops) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let mut gun = Gun::new(segment.clone());
        let (may_shoot, is_over) = (Arc::clone(&attacks), Arc::clone(&stops));
        let datagrams = std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                gun.record();
                if may_shoot.load(Ordering::Relaxed) {
                    gun.shoot();
                }
                std::thread::sleep(PAUSE);
            }
            gun.done
        });
        Self { segment: segment.clone(), attacks, stops, datagrams, connections: None }
    }

    /// Attacks from now on, with the openings of real links that were recorded.
    pub(crate) fn attack(&mut self, hello: Hello, openings: Vec<Opening>, connections: usize) {
        self.attacks.store(true, Ordering::Relaxed);
        let (segment, stops) = (self.segment.clone(), Arc::clone(&self.stops));
        self.connections = Some(std::thread::spawn(move || {
            connections::open(connections, &segment, &hello, &openings, &stops)
        }));
    }

    /// Whether it has opened all its connections.
    pub(crate) fn has_connected(&self) -> bool {
        self.connections.as_ref().is_some_and(JoinHandle::is_finished)
    }

    pub(crate) fn stop(self) -> Done {
        self.stops.store(true, Ordering::Relaxed);
        let connected = self.connections.map(|thread| thread.join().expect("the connections"));
        Done {
            shots: self.datagrams.join().expect("the datagrams"),
            connected: connected.unwrap_or_default(),
        }
    }
}

/// The beacons of one incarnation.
struct Tape {
    hello: Hello,
    beacons: Vec<Vec<u8>>,
    /// The one to be sent next.
    next: usize,
}

impl Tape {
    fn next(&mut self) -> Vec<u8> {
        let bytes = self.beacons[self.next % self.beacons.len()].clone();
        self.next += 1;
        bytes
    }
}

struct Gun {
    segment: Segment,
    shared: UdpSocket,
    shared_packets: Option<UdpSocket>,
    /// By the address that it is bound to.
    sockets: BTreeMap<Ipv4Addr, UdpSocket>,
    nonce: Nonce,
    /// In the order in which they were first heard.
    tapes: Vec<Tape>,
    /// With the addresses that they came from.
    packets: Vec<(Ipv4Addr, Vec<u8>)>,
    arms: Vec<Shot>,
    turn: usize,
    done: BTreeMap<Shot, u32>,
}

impl Gun {
    fn new(segment: Segment) -> Self {
        let sender = |address: &Ipv4Addr| {
            let socket = UdpSocket::bind((*address, 0)).expect("an address on loopback");
            socket.set_broadcast(true).expect("a broadcast");
            (*address, socket)
        };
        let with_packets = segment.packets.is_some();
        let beacons = Proof::ALL.map(Shot::Announcement).into_iter();
        let beacons = beacons.chain(Proof::ALL.map(Shot::Forgery));
        let beacons = beacons.chain([Shot::Latest, Shot::Rerun, Shot::Yesterday, Shot::Elsewhere]);
        let beacons = beacons.chain([Shot::Truncated, Shot::Oversized]);
        let packets = Proof::ALL.map(Shot::Packet).into_iter().chain([Shot::PacketAgain]);
        Self {
            shared: listener(segment.beacons),
            shared_packets: segment.packets.map(listener),
            sockets: segment.victims.iter().chain([&segment.own]).map(sender).collect(),
            segment,
            nonce: Nonce(fastrand::u64(..)),
            tapes: Vec::new(),
            packets: Vec::new(),
            arms: beacons.chain(packets.filter(|_| with_packets)).collect(),
            turn: 0,
            done: BTreeMap::new(),
        }
    }

    /// Records what the nodes have sent to everybody. They send from the port to which they send.
    fn record(&mut self) {
        let mut buffer = [0; DATAGRAM];
        while let Ok((length, from)) = self.shared.recv_from(&mut buffer) {
            if from.port() == self.segment.beacons.port() {
                self.record_beacon(&buffer[..length]);
            }
        }
        while let Some(Ok((length, from))) =
            self.shared_packets.as_ref().map(|socket| socket.recv_from(&mut buffer))
        {
            if let SocketAddr::V4(from) = from
                && Some(from.port()) == self.segment.packets.map(|packets| packets.port())
            {
                self.packets.push((*from.ip(), buffer[..length].to_vec()));
            }
        }
    }

    fn record_beacon(&mut self, bytes: &[u8]) {
        let hello = body(bytes).hello;
        let mut tapes = self.tapes.iter_mut();
        match tapes.find(|tape| tape.hello.nonce == hello.nonce) {
            Some(tape) => {
                if tape.beacons.len() >= 2 * KEPT {
                    tape.beacons.remove(KEPT);
                }
                tape.beacons.push(bytes.to_vec());
            }
            None => self.tapes.push(Tape { hello, beacons: vec![bytes.to_vec()], next: 0 }),
        }
    }

    /// Sends one datagram.
    fn shoot(&mut self) {
        self.turn += 1;
        let shot = self.arms[self.turn % self.arms.len()];
        let round = self.turn / self.arms.len();
        let Some((from, bytes)) = self.load(shot, round) else {
            return;
        };
        let to = match shot {
            Shot::Packet(_) | Shot::PacketAgain => self.segment.packets.expect("packets"),
            _ => self.segment.beacons,
        };
        // To all, and to each of them.
        let victims = &self.segment.victims;
        let to = match round % (victims.len() + 1) {
            0 => to,
            one => SocketAddrV4::new(victims[one - 1], to.port()),
        };
        if self.sockets[&from].send_to(&bytes, to).is_ok() {
            *self.done.entry(shot).or_default() += 1;
        }
    }

    /// From where which bytes are sent.
    fn load(&mut self, shot: Shot, round: usize) -> Option<(Ipv4Addr, Vec<u8>)> {
        let (own, victims) = (self.segment.own, self.segment.victims.clone());
        // Each node stays for a while, so that what it has sent is heard in its order.
        let victim = victims[round / 16 % victims.len()];
        let today = self.tapes.iter().rposition(|tape| tape.hello.address == victim)?;
        Some(match shot {
            Shot::Announcement(proof) => {
                let old = self.tapes[today].beacons.last()?.clone();
                (own, proven(&self.announcement(&old), &old, proof)?)
            }
            Shot::Forgery(proof) => {
                let tapes = self.tapes.len();
                let old = self.tapes[round % tapes].next();
                (victim, proven(&forged(&old, self.turn), &old, proof)?)
            }
            Shot::Latest => (victim, self.tapes[today].beacons.last()?.clone()),
            Shot::Rerun => (victim, self.tapes[today].next()),
            Shot::Yesterday => {
                let earlier = &mut self.tapes[..today];
                let tape = earlier.iter_mut().rfind(|tape| tape.hello.address == victim)?;
                (victim, tape.next())
            }
            Shot::Elsewhere => (own, self.tapes[today].next()),
            Shot::Truncated => {
                let mut bytes = self.tapes[today].next();
                bytes.truncate(bytes.len() / 2);
                (victim, bytes)
            }
            Shot::Oversized => {
                let mut bytes = self.tapes[today].next();
                bytes.resize(MAX_DATAGRAM + 1, 0);
                (victim, bytes)
            }
            Shot::Packet(proof) => (victim, self.packet(round, proof)?),
            Shot::PacketAgain => {
                let recorded = self.packets.len();
                let (latest, any) =
                    (recorded.saturating_sub(1 + round % 16), round % recorded.max(1));
                self.packets.get(if round.is_multiple_of(2) { latest } else { any })?.clone()
            }
        })
    }

    /// A node of its own that leads, and hears everybody.
    fn announcement(&self, old: &[u8]) -> Beacon {
        let heard = self.tapes.iter().rev().filter_map(|tape| {
            let latest = body(tape.beacons.last()?);
            Some(Echo { nonce: latest.hello.nonce, sequence: latest.sequence })
        });
        let template = body(old);
        let address = self.segment.own;
        Beacon {
            hello: Hello {
                node: NodeId::new("Mallory").expect("a name"),
                address,
                nonce: self.nonce,
                mac: Mac::of(address),
                ..template.hello
            },
            sequence: u64::try_from(self.turn).expect("a number"),
            node_state: NodeState::Master,
            term: Term(1 << 40),
            echoes: heard.take(16).collect(),
            ..template
        }
    }

    /// A vote that none exceeds, the announcement of a leader, or a reset.
    fn packet(&self, round: usize, proof: Proof) -> Option<Vec<u8>> {
        let packets: [&[u8]; 3] = [&[4, 0xff, 0xff, 0xff, 0xff], &[1], &[5]];
        let packet = packets[round / 4 % packets.len()];
        assert!(packet::decode(packet).is_ok(), "a packet");
        if proof == Proof::Nothing {
            return Some(packet.to_vec());
        }
        let sequence = u64::try_from(self.turn).ok()? + 1_000_000;
        let nonce = self.tapes.last()?.hello.nonce;
        let (beacon, to) = (u64::MAX, *self.segment.packets?.ip());
        let sealed = SealedPacket { nonce, sequence, beacon, to, packet };
        let (_, old) = self.packets.last()?;
        let sealed = codec::seal_packet(sealed, &another_key(old[KEY_ID]));
        Some(disguised(sealed, old, proof))
    }
}

/// The datagram of a beacon, with the best proof that a stranger has.
fn proven(beacon: &Beacon, old: &[u8], proof: Proof) -> Option<Vec<u8>> {
    let keys = match proof {
        Proof::Nothing => Keyring::default(),
        Proof::OtherKey | Proof::RandomTag | Proof::OldTag => {
            Keyring::new([Credential::Key(another_key(old[KEY_ID]))])
        }
    };
    let bytes = codec::encode_beacon(beacon, &keys).ok()?;
    Some(disguised(bytes, old, proof))
}

/// A key that is not the fleet's, with another id. Two random keys have the same id once in 255 times;
/// then a message is refused for its tag instead.
fn another_key(id: u8) -> FleetKey {
    let mut keys = (0..).map(|secret| FleetKey::new(&[secret; SECRET], &super::fleet_name()));
    keys.find(|key| key.id() != id).expect("a key")
}

/// The message with the key id, and the tag, of one that the fleet has sent.
fn disguised(mut bytes: Vec<u8>, old: &[u8], proof: Proof) -> Vec<u8> {
    let tag = bytes.len() - TAG;
    match proof {
        Proof::Nothing | Proof::OtherKey => {}
        Proof::RandomTag => bytes[KEY_ID] = old[KEY_ID],
        Proof::OldTag => {
            bytes[KEY_ID] = old[KEY_ID];
            bytes[tag..].copy_from_slice(&old[old.len() - TAG..]);
        }
    }
    bytes
}

/// What everybody can read in a beacon.
pub(crate) fn body(bytes: &[u8]) -> Beacon {
    postcard::from_bytes(&bytes[HEADER..bytes.len() - TAG]).expect("a beacon")
}

/// A recorded beacon that says what its node never said.
fn forged(old: &[u8], number: usize) -> Beacon {
    let mut beacon = body(old);
    beacon.node_state = NodeState::Master;
    beacon.term = Term(1 << 40);
    beacon.probe = true;
    beacon.sequence += 500;
    for record in &mut beacon.delta.records {
        let car = beacon.hello.node.clone();
        record.state = RecordState::Served(Service { waited: Duration::ZERO, car });
    }
    let floor = Floor::try_from(2).expect("a floor");
    beacon.delta.records.push(Record {
        dot: Dot {
            incarnation: beacon.hello.nonce,
            sequence: 10_000 + u64::try_from(number).expect("a number"),
        },
        origin: beacon.hello.node.clone(),
        call: Call::Hall(HallCall::new(floor, Direction::Up)),
        state: RecordState::Open { waited: Duration::ZERO, recall: 0 },
        absorbed: Vec::new(),
    });
    beacon
}

/// Hears what is sent to everybody, as any process on the machine or the segment can.
fn listener(everybody: SocketAddrV4) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
    socket.set_reuse_address(true).expect("shared");
    socket.set_nonblocking(true).expect("nonblocking");
    socket.bind(&SocketAddr::from(everybody).into()).expect("the broadcast address");
    socket.into()
}

/// Waits for a beacon of the node at this address.
pub(crate) fn overheard(segment: &Segment, address: Ipv4Addr) -> Beacon {
    let socket = listener(segment.beacons);
    socket.set_nonblocking(false).expect("blocking");
    let mut buffer = [0; DATAGRAM];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).expect("a beacon");
        if from.ip() == address && from.port() == segment.beacons.port() {
            return body(&buffer[..length]);
        }
    }
}
