//! A faulty node: it speaks the wire protocol and says what no sound node says.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::model::{Call, Dot, FleetName, HallCall, JournalId, Mac, NodeId, Role, Term};
use elevator_fleet::node::LinkId;
use elevator_fleet::orders::{Record, RecordState, Service};
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{
    Beacon, Delta, Echo, Frame, Hello, NodeState, Nonce, Protocol, StateTransfer, StoreDigest,
    codec,
};
use liftmesh::fleet_key::{KeyFiles, Keys};
use liftmesh::mesh::{LinkTimes, Mesh, MeshEvent, MeshSettings};
use liftmesh_harness::building::Building;
use socket2::{Domain, Socket, Type};

/// How many records fit a frame, with some room to spare.
const RECORDS: usize = 400;

/// How many frames of them are sent at once.
const PARTS: usize = 100;

/// What the attacker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// *Served* for every journal it learns of, at sequences that no press can have.
    Sequences,
    /// Whole states of journals that there are not.
    Journals,
    /// Whole states of orders for floors that there are not.
    Rubbish,
    /// *Served* for every open order.
    Service,
    /// Links in another's name.
    Name,
    /// Datagrams in others' names, with sequences that they never reach.
    Freeze,
    /// Connections that say nothing of use.
    Connections,
    /// Links without end.
    Links,
    /// Changes of orders without end, each of which is written to the disk.
    Disk,
    /// It leads, and assigns nothing.
    Idle,
}

impl Attack {
    /// All that a node can make whatever its address.
    pub(crate) const ALL: [Self; 9] = [
        Self::Sequences,
        Self::Journals,
        Self::Rubbish,
        Self::Service,
        Self::Name,
        Self::Freeze,
        Self::Connections,
        Self::Links,
        Self::Disk,
    ];

    /// How many turns of 25 ms lie between two rounds.
    fn period(self) -> u64 {
        match self {
            Self::Rubbish | Self::Journals => 60,
            Self::Sequences => 20,
            Self::Service => 8,
            Self::Name | Self::Freeze | Self::Connections | Self::Links | Self::Disk => 2,
            Self::Idle => u64::MAX,
        }
    }
}

/// An attack that is going on.
pub(crate) struct Attacker {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Done>,
}

/// What was sent.
#[derive(Debug, Default)]
#[allow(dead_code, reason = "printed")]
pub(crate) struct Done {
    links: u32,
    frames: u32,
    datagrams: u32,
    connections: u32,
}

impl Attacker {
    pub(crate) fn start(building: &Building, number: u8, attacks: &[Attack]) -> Self {
        let (address, broadcast) = building.endpoint(number);
        let (attacks, floors) = (attacks.to_vec(), building.floors());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let mut node = Faulty::new(address, broadcast, floors, attacks);
                while !stopped.load(Ordering::Relaxed) {
                    node.turn().await;
                }
                node.mesh.shut_down().await;
                node.done
            })
        });
        Self { stop, thread }
    }

    pub(crate) fn stop(self) -> Done {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the attacker")
    }
}

/// A peer as it was last heard.
struct Heard {
    hello: Hello,
    sequence: u64,
    port: u16,
}

struct Faulty {
    mesh: Mesh,
    hello: Hello,
    broadcast: SocketAddrV4,
    attacks: Vec<Attack>,
    raw: UdpSocket,
    heard: BTreeMap<Nonce, Heard>,
    links: BTreeMap<LinkId, NodeId>,
    /// The orders that it has learned of.
    learned: BTreeMap<Dot, Record>,
    /// Connections that it keeps open.
    kept: Vec<TcpStream>,
    turn: u64,
    count: u64,
    done: Done,
}

impl Faulty {
    fn new(
        address: Ipv4Addr,
        broadcast: SocketAddrV4,
        floors: FloorCount,
        attacks: Vec<Attack>,
    ) -> Self {
        let hello = Hello {
            fleet: FleetName::new("liftmesh").expect("a name"),
            node: NodeId::new("Mallory").expect("a name"),
            address,
            nonce: Nonce(fastrand::u64(..)),
            floors,
            protocol: Protocol::LowestIp,
            mac: Mac::of(address),
            role: Role::Cabin,
        };
        let mesh = Mesh::start(MeshSettings {
            hello: hello.clone(),
            broadcast,
            link_port: 46_100,
            packets: None,
            gather_time: None,
            times: LinkTimes::default(),
            keys: Arc::new(Keys::new(KeyFiles::default(), hello.fleet.clone(), address)),
        });
        let raw = UdpSocket::bind((address, 0)).expect("a socket");
        raw.set_broadcast(true).expect("a broadcast");
        Self {
            mesh: mesh.expect("a mesh"),
            hello,
            broadcast,
            attacks,
            raw,
            heard: BTreeMap::new(),
            links: BTreeMap::new(),
            learned: BTreeMap::new(),
            kept: Vec::new(),
            turn: 0,
            count: 0,
            done: Done::default(),
        }
    }

    /// Listens for 25 ms, and does its worst.
    async fn turn(&mut self) {
        let end = tokio::time::Instant::now() + Duration::from_millis(25);
        while let Ok(event) = tokio::time::timeout_at(end, self.mesh.next_event()).await {
            self.handle(event);
        }
        self.turn += 1;
        let beacon = self.beacon(self.hello.clone(), self.turn);
        self.mesh.broadcast(&beacon);
        if self.turn.is_multiple_of(20) && !self.attacks.contains(&Attack::Idle) {
            self.dial();
        }
        for attack in self.attacks.clone() {
            if self.turn.is_multiple_of(attack.period()) {
                self.attack(attack);
            }
        }
    }

    fn beacon(&self, hello: Hello, sequence: u64) -> Beacon {
        let echoes = self
            .heard
            .iter()
            .map(|(nonce, heard)| Echo { nonce: *nonce, sequence: heard.sequence });
        Beacon {
            hello,
            link_port: 46_100,
            sequence,
            period: 25,
            node_state: NodeState::Master,
            term: Term(1),
            led: Term(1),
            estimate: 0,
            digest: 1,
            durable: true,
            journal: JournalId(1),
            probe: false,
            echoes: echoes.take(32).collect(),
            delta: Delta::default(),
            piggybacked: None,
            directive_digest: 0,
            directives: Vec::new(),
        }
    }

    fn handle(&mut self, event: MeshEvent) {
        match event {
            MeshEvent::Beacon { beacon, .. } => {
                self.learn(&beacon.delta.records);
                let heard = Heard {
                    sequence: beacon.sequence,
                    port: beacon.link_port,
                    hello: beacon.hello,
                };
                // Earlier lives are of no use to it.
                self.heard.retain(|_, known| known.hello.node != heard.hello.node);
                self.heard.insert(heard.hello.nonce, heard);
            }
            MeshEvent::LinkUp { link, peer, .. } => {
                self.done.links += 1;
                self.links.insert(link, peer.node);
                let digest = StoreDigest { term: Term(1), digest: 1, durable: true };
                self.send(link, &Frame::Digest(digest));
            }
            MeshEvent::Frame { link, frame } => match frame {
                Frame::State(state) => {
                    self.learn(&state.records);
                    let answer = if state.more { Frame::Next } else { Frame::Synced };
                    self.send(link, &answer);
                }
                Frame::Delta(delta) => self.learn(&delta.records),
                Frame::Probe => self.send(link, &Frame::Alive),
                Frame::Digest(_) => self.send(link, &state(Vec::new())),
                Frame::Hello(_)
                | Frame::Synced
                | Frame::Alive
                | Frame::Next
                | Frame::CarPlan(_)
                | Frame::Directives(_) => {}
            },
            MeshEvent::LinkDown { link } | MeshEvent::Malformed { link } => {
                self.links.remove(&link);
            }
            MeshEvent::OtherVersion { .. }
            | MeshEvent::Packet { .. }
            | MeshEvent::DialFailed { .. }
            | MeshEvent::KeysRead => {}
            MeshEvent::Failed { reason } => panic!("{reason}"),
        }
    }

    fn learn(&mut self, records: &[Record]) {
        for record in records {
            self.learned.insert(record.dot, record.clone());
        }
    }

    fn send(&mut self, link: LinkId, frame: &Frame) {
        self.done.frames += 1;
        self.mesh.send(link, frame);
    }

    fn send_to_all(&mut self, frame: &Frame) {
        let links: Vec<LinkId> = self.links.keys().copied().collect();
        for link in links {
            self.send(link, frame);
        }
    }

    /// Links with everybody who takes one.
    fn dial(&mut self) {
        let linked: Vec<NodeId> = self.links.values().cloned().collect();
        let peers = self.heard.values();
        let strange = peers.filter(|peer| !linked.contains(&peer.hello.node));
        for peer in strange {
            let to = SocketAddrV4::new(peer.hello.address, peer.port);
            self.mesh.dial(peer.hello.node.clone(), to);
        }
    }

    fn attack(&mut self, attack: Attack) {
        match attack {
            Attack::Sequences => self.impossible_sequences(),
            Attack::Journals => {
                for _ in 0..PARTS {
                    let state = state(self.invented(RECORDS));
                    self.send_to_all(&state);
                }
            }
            Attack::Rubbish => {
                let nowhere = |record: Record| Record {
                    call: Call::Hall(HallCall::new(
                        Floor::try_from(200).expect("a floor"),
                        Direction::Up,
                    )),
                    ..record
                };
                let records = self.invented(RECORDS).into_iter().map(nowhere);
                let state = state(records.collect());
                for _ in 0..PARTS {
                    self.send_to_all(&state);
                }
            }
            Attack::Service => self.forged_service(),
            Attack::Name => {
                let peers = self.peers();
                for (other, port) in &peers {
                    for (victim, _) in peers.iter().filter(|(peer, _)| peer.node != other.node) {
                        let to = SocketAddrV4::new(other.address, *port);
                        self.connect(to, &greeting(victim));
                    }
                }
            }
            Attack::Freeze => {
                for (victim, _) in self.peers() {
                    let beacon = self.beacon(victim, u64::MAX);
                    let bytes =
                        codec::encode_beacon(&beacon, &Keyring::default()).expect("a beacon");
                    self.done.datagrams += 1;
                    // Whether the system takes it matters little.
                    let _sent = self.raw.send_to(&bytes, self.broadcast);
                }
            }
            Attack::Connections => {
                for (peer, port) in self.peers() {
                    let to = SocketAddrV4::new(peer.address, port);
                    self.connect(to, b"GET / HTTP/1.1\r\n\r\n");
                    self.connect(to, b"");
                }
            }
            Attack::Links => {
                for (peer, port) in self.peers() {
                    let to = SocketAddrV4::new(peer.address, port);
                    let node = NodeId::new(&format!("M{}", self.turn)).expect("a name");
                    let hello =
                        Hello { node, nonce: Nonce(fastrand::u64(..)), ..self.hello.clone() };
                    self.connect(to, &greeting(&hello));
                }
            }
            Attack::Disk => {
                for _ in 0..8 {
                    self.count += 1;
                    let record = Record {
                        dot: Dot { journal: JournalId(7), sequence: self.count },
                        ..self.invented(1).remove(0)
                    };
                    let records = vec![record];
                    let delta = Delta { records, ..Delta::default() };
                    self.send_to_all(&Frame::Delta(delta));
                }
            }
            Attack::Idle => {}
        }
    }

    fn peers(&self) -> Vec<(Hello, u16)> {
        let peers = self.heard.values();
        peers.map(|peer| (peer.hello.clone(), peer.port)).collect()
    }

    /// Served orders of as many journals.
    fn invented(&self, count: usize) -> Vec<Record> {
        let record = |_| Record {
            dot: Dot { journal: JournalId(fastrand::u64(1..)), sequence: 1 },
            origin: self.hello.node.clone(),
            call: Call::Hall(HallCall::new(Floor::BOTTOM, Direction::Up)),
            state: RecordState::Served(None),
        };
        (0..count).map(record).collect()
    }

    fn impossible_sequences(&mut self) {
        let learned: Vec<Record> = self.learned.values().cloned().collect();
        for sequence in [u64::MAX, 1 << 60, 1 << 40] {
            let served = learned.iter().zip(0..).map(|(record, below)| Record {
                dot: Dot { sequence: sequence - below, ..record.dot },
                state: RecordState::Served(None),
                ..record.clone()
            });
            let records = served.collect();
            let delta = Delta { records, ..Delta::default() };
            self.send_to_all(&Frame::Delta(delta));
        }
    }

    /// By each of the cars in turn, and by none.
    fn forged_service(&mut self) {
        let is_open = |record: &&Record| matches!(record.state, RecordState::Open { .. });
        let open = self.learned.values().filter(is_open);
        let cars = self.heard.values().map(|peer| Some(&peer.hello.node));
        let cars: Vec<Option<&NodeId>> = cars.chain([None]).collect();
        let served = open.zip(cars.iter().cycle()).map(|(record, car)| Record {
            state: RecordState::Served(
                car.map(|car| Service { waited: Duration::from_millis(300), car: car.clone() }),
            ),
            ..record.clone()
        });
        let records: Vec<Record> = served.collect();
        if !records.is_empty() {
            let delta = Delta { records, ..Delta::default() };
            self.send_to_all(&Frame::Delta(delta));
        }
    }

    /// Opens a connection from the attacker's address, says this, and keeps it for a while.
    fn connect(&mut self, to: SocketAddrV4, says: &[u8]) {
        if self.kept.len() > 400 {
            self.kept.drain(..200);
        }
        let Ok(mut connection) = connect_from(self.hello.address, to) else {
            return;
        };
        self.done.connections += 1;
        if connection.write_all(says).is_ok() {
            self.kept.push(connection);
        }
    }
}

fn state(records: Vec<Record>) -> Frame {
    Frame::State(StateTransfer { term: Term(1), records, durable: true, more: false })
}

fn connect_from(from: Ipv4Addr, to: SocketAddrV4) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&SocketAddr::from(to).into(), Duration::from_millis(50))?;
    Ok(socket.into())
}

/// A hello as it goes over a link.
fn greeting(hello: &Hello) -> Vec<u8> {
    let bytes = codec::encode_frame(&Frame::Hello(hello.clone())).expect("a hello");
    let length = u32::try_from(bytes.len()).expect("it is short");
    [&length.to_be_bytes(), bytes.as_slice()].concat()
}
