//! A stranger without the fleet key on the segment of a bank of three cars. It floods every port of
//! every node; passengers do not notice.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::{FleetName, NodeId, Term};
use elevator_fleet::node::{ConflictKind, RefusedStatus};
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM};
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET, TAG};
use elevator_fleet::wire::{Beacon, NodeState, Nonce};
use liftmesh_harness::building::{Building, Line, Machine, Times};
use liftmesh_harness::free_port;
use socket2::{Domain, Socket, Type};

const THREE: [&str; 3] = ["A", "B", "C"];

/// From a press to the lamps on all panels, under attack: ten times what is usual.
const LIT_WITHIN: Duration = Duration::from_millis(500);

/// From the end of the master until the others follow the next one, under attack: ten times what is
/// usual.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(3);

/// The bytes before the body of a message.
const HEADER: usize = 4;

/// As what the datagrams and connections of the attack are counted.
const REASONS: [&str; 6] = ["unauthenticated", "key", "forged", "oversized", "replayed", "refused"];

/// The ends of the attack.
struct Segment {
    /// The stranger's own address, which is lower than any node's.
    own: Ipv4Addr,
    nodes: Vec<Ipv4Addr>,
    beacons: SocketAddrV4,
    link_port: u16,
    is_over: AtomicBool,
}

impl Segment {
    /// A bank of three cars with a fleet key, and who attacks it.
    fn open() -> (Building, Self) {
        let mut building = Building::new(8, Line::Serial);
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        let (own, beacons) = building.endpoint(1);
        let nodes: Vec<Ipv4Addr> = (2..5).map(|number| building.endpoint(number).0).collect();
        let (link_port, _held) = free_port(&nodes).expect("a free port");
        for (name, number) in THREE.into_iter().zip(2..) {
            building.install(name, number);
        }
        let segment = Self { own, nodes, beacons, link_port, is_over: AtomicBool::new(false) };
        for name in THREE {
            segment.start(&mut building, name);
        }
        building.wait_for_one_master();
        building.wait_in_service(&THREE);
        (building, segment)
    }

    fn start(&self, building: &mut Building, name: &str) {
        let port = self.link_port.to_string();
        building.start_with(name, |command| {
            command.args(["--link-port", &port]);
        });
    }

    /// Sends datagrams in the names of the nodes and in its own: what it has heard, as it was,
    /// damaged and too long, and claims to lead, without a key and with another one.
    fn send_datagrams(&self) {
        let everybody = listener(self.beacons);
        let sender = |address: Ipv4Addr| {
            let socket = UdpSocket::bind((address, 0)).expect("an address on loopback");
            socket.set_broadcast(true).expect("a broadcast");
            socket
        };
        let (own, forged) = (sender(self.own), self.nodes.iter().map(|node| sender(*node)));
        let forged: Vec<UdpSocket> = forged.collect();
        let fleet = FleetName::new("liftmesh").expect("a name");
        let other = Keyring::new([Credential::Key(FleetKey::new(&[7; SECRET], &fleet))]);
        let nonce = Nonce(fastrand::u64(..));
        let mut buffer = [0; MAX_DATAGRAM];
        for sequence in 1.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let (length, from) = everybody.recv_from(&mut buffer).expect("a beacon");
            // Nodes send from the port to which they send.
            let port = self.beacons.port();
            let is_sender = |node: &Ipv4Addr| from == SocketAddr::from((*node, port));
            let Some(node) = self.nodes.iter().position(is_sender) else { continue };
            let heard = &buffer[..length];
            let mut damaged = heard.to_vec();
            damaged[fastrand::usize(HEADER..length)] ^= 1 << fastrand::u8(..8);
            let mut claim: Beacon =
                postcard::from_bytes(&heard[HEADER..length - TAG]).expect("a beacon");
            claim.hello.node = NodeId::new("Mallory").expect("a name");
            (claim.hello.address, claim.hello.nonce) = (self.own, nonce);
            (claim.sequence, claim.term, claim.node_state) =
                (sequence, Term(1 << 40), NodeState::Master);
            let keys = [&Keyring::default(), &other];
            let claims = keys.map(|keys| codec::encode_beacon(&claim, keys).expect("it fits"));
            let too_long = [heard, &[0; MAX_DATAGRAM]].concat();
            for bytes in [heard, &damaged, &too_long] {
                // Its buffer may be full.
                forged[node].send_to(bytes, self.beacons).unwrap_or_default();
            }
            for bytes in claims {
                own.send_to(&bytes, self.beacons).unwrap_or_default();
            }
        }
    }

    /// Opens connections to the ports of links and of HTTP from many addresses, and says nothing,
    /// garbage, or half of what is awaited there. The oldest of them are closed.
    fn connect(&self) {
        const OPEN: usize = 250;
        const WORDS: [&[u8]; 4] = [b"", b"\0\0\0\x40", &[0xff; 64], b"GET / HTTP/1.1\r\nHost: a"];
        let mut kept = Vec::new();
        for number in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            thread::sleep(Duration::from_millis(3));
            let port = if number % 2 == 0 { self.link_port } else { 7080 };
            let node = self.nodes[number / 2 % self.nodes.len()];
            let [a, b, c, _] = self.own.octets();
            let from = Ipv4Addr::new(a, b, c, fastrand::u8(100..200));
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            socket.bind(&SocketAddr::from((from, 0)).into()).expect("an address on loopback");
            let to = SocketAddr::from((node, port)).into();
            // The node may not run.
            if socket.connect_timeout(&to, Duration::from_millis(50)).is_ok() {
                let mut stream = TcpStream::from(socket);
                stream.write_all(WORDS[number / 6 % WORDS.len()]).unwrap_or_default();
                kept.push(stream);
                if kept.len() > OPEN {
                    kept.remove(0);
                }
            }
        }
    }
}

/// Ends the attack, also where the test fails.
struct Attack<'a>(&'a Segment);

impl Drop for Attack<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Hears what is sent to everybody, as any process on the machine or the segment can.
fn listener(everybody: SocketAddrV4) -> UdpSocket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
    socket.set_reuse_address(true).expect("shared");
    socket.bind(&SocketAddr::from(everybody).into()).expect("the broadcast address");
    socket.into()
}

/// Presses hall buttons at the panels of these cars in turn, and waits until all are served; adds
/// how long the lamps took.
fn serve(building: &Building, names: &[&str], lit: &mut Times) {
    // At an open door a press lights no lamp.
    building.wait("every door is closed", |building| {
        names.iter().all(|name| building.car(name).door == DoorState::Closed)
    });
    for (at, floor) in names.iter().cycle().zip([5, 3, 6, 7, 1, 4]) {
        let button = building.hall(floor, Direction::Down);
        building.press(at, button);
        lit.add(building.wait_lit(names, button));
    }
    building.wait_all_dark();
}

/// E1, F4, O1, O4: no state, term or order changes, lamps are lit in time, a master that is killed
/// is replaced in time, and a node that comes back joins.
#[test]
fn a_stranger_without_the_fleet_key_changes_nothing() {
    let _machine = Machine::alone();
    let (mut building, segment) = Segment::open();
    building.open_books();
    let standing = |building: &Building| {
        THREE.map(|name| {
            let status = building.status(name).expect("it answers");
            (status.node_state, status.term, status.peers.len())
        })
    };
    let before = standing(&building);
    let mut lit = Times::default();
    let followed = thread::scope(|scope| {
        let attack = Attack(&segment);
        scope.spawn(|| segment.send_datagrams());
        scope.spawn(|| segment.connect());
        for _ in 0..3 {
            serve(&building, &THREE, &mut lit);
        }
        assert_eq!(standing(&building), before, "it has an effect");
        let master = building.wait_for_one_master();
        let rest: Vec<&str> = THREE.into_iter().filter(|name| *name != master).collect();
        building.kill(master);
        let killed = Instant::now();
        building.wait_for_one_master_of(&rest);
        let followed = killed.elapsed();
        serve(&building, &rest, &mut lit);
        segment.start(&mut building, master);
        building.wait_for_one_master();
        building.wait_in_service(&THREE);
        serve(&building, &THREE, &mut lit);
        drop(attack);
        followed
    });
    for name in THREE {
        let status = building.status(name).expect("it answers");
        println!("{name}: {:?}", status.mesh);
        assert!(status.conflicts.iter().all(|it| it.kind == ConflictKind::Key), "{status:?}");
        assert_eq!(status.refused, RefusedStatus::default(), "{name}");
        assert!(status.orders.is_empty() && status.term < Term(1_000), "{status:?}");
        for reason in REASONS {
            let count = status.mesh.get(reason).copied().unwrap_or_default();
            assert!(count >= 10, "{name} has not dropped any as {reason}: {:?}", status.mesh);
        }
    }
    let report = building.close_books();
    building.assert_safe();
    println!("press to all lamps {lit}; the next master after {followed:.0?}; {report:?}");
    assert!(lit.worst() < LIT_WITHIN, "{lit}");
    assert!(followed < FOLLOWED_WITHIN, "{followed:?}");
    // What a car serves before a node that was started counts as settled is not in the books.
    assert!(report.tally.placed <= 30, "somebody else has pressed: {report:?}");
}
