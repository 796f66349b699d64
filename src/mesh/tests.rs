//! One or two meshes on loopback.

mod keys;
mod packets;
mod strangers;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use crc::{CRC_32_ISCSI, Crc};
use elevator_driver::FloorCount;
use elevator_fleet::model::{BuildingHash, FleetName, Mac, Role, Term};
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::codec::WireError;
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{Delta, Hello, NodeState, Nonce, Protocol};
use socket2::SockRef;
use tokio::time::timeout;

use super::*;
use crate::fleet_key::{KeyFiles, Keys};

const PATIENCE: Duration = Duration::from_secs(20);

/// A loopback network for each test, on ports that nobody uses: 127.x.y.0/24 for the nodes.
pub(crate) struct Lan {
    pub(crate) broadcast: SocketAddrV4,
    pub(crate) link_port: u16,
    net: [u8; 2],
}

impl Lan {
    pub(crate) fn new() -> Self {
        let [x, y] = [fastrand::u8(1..255), fastrand::u8(1..255)];
        let address = Ipv4Addr::new(127, x, y, 254);
        let datagrams = UdpSocket::bind((address, 0)).expect("a socket");
        let links = TcpListener::bind((address, 0)).expect("a socket");
        let port = datagrams.local_addr().expect("an address").port();
        Self {
            broadcast: SocketAddrV4::new(Ipv4Addr::new(127, 255, 255, 255), port),
            link_port: links.local_addr().expect("an address").port(),
            net: [x, y],
        }
    }

    pub(crate) fn address(&self, node: u8) -> Ipv4Addr {
        let [x, y] = self.net;
        Ipv4Addr::new(127, x, y, node)
    }

    pub(super) fn settings(&self, node: u8) -> MeshSettings {
        MeshSettings {
            hello: Hello {
                fleet: fleet(),
                node: name(node),
                address: self.address(node),
                nonce: Nonce(fastrand::u64(..)),
                floors: FloorCount::new(4).expect("floors"),
                building: BuildingHash::default(),
                protocol: Protocol::LowestIp,
                mac: Mac::of(self.address(node)),
                role: Role::Cabin,
            },
            broadcast: self.broadcast,
            link_port: self.link_port,
            packets: None,
            gather_time: gather_time(&MeshTimes::default()),
            times: LinkTimes {
                // A machine that is busy with other tests is slow.
                connect: Duration::from_secs(5),
                greeting: Duration::from_secs(5),
                ..LinkTimes::default()
            },
            keys: Arc::new(Keys::new(KeyFiles::default(), fleet(), self.address(node))),
        }
    }

    fn start(&self, node: u8) -> Mesh {
        with_its_keys(self.settings(node))
    }

    fn link_address(&self, node: u8) -> SocketAddrV4 {
        SocketAddrV4::new(self.address(node), self.link_port)
    }
}

fn with_its_keys(settings: MeshSettings) -> Mesh {
    settings.keys.read().ok();
    assert!(settings.keys.get().is_some());
    Mesh::start(settings).expect("a mesh")
}

fn fleet() -> FleetName {
    FleetName::new("fleet").expect("a name")
}

fn name(node: u8) -> NodeId {
    NodeId::new(&format!("car-{node}")).expect("a name")
}

fn beacon(of: &Mesh, sequence: u64) -> Beacon {
    Beacon {
        hello: of.common.settings.hello.clone(),
        link_port: of.common.settings.link_port,
        sequence,
        period: 25,
        node_state: NodeState::Master,
        term: Term(1),
        led: Term(1),
        estimate: 0,
        digest: 0,
        durable: true,
        probe: false,
        echoes: Vec::new(),
        delta: Delta::default(),
        piggybacked: None,
        power: 0,
    }
}

async fn event(mesh: &mut Mesh) -> MeshEvent {
    timeout(PATIENCE, mesh.next_event()).await.expect("an event in time")
}

async fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what}: not in time"));
}

async fn link_up(mesh: &mut Mesh) -> LinkId {
    let event = event(mesh).await;
    let MeshEvent::LinkUp { link, .. } = event else {
        panic!("no link but {event:?}");
    };
    link
}

async fn link(from: &mut Mesh, to: &mut Mesh) -> (LinkId, LinkId) {
    let Hello { node, address, .. } = to.common.settings.hello.clone();
    from.dial(node, SocketAddrV4::new(address, to.common.settings.link_port));
    (link_up(from).await, link_up(to).await)
}

async fn linked(lan: &Lan) -> (Mesh, LinkId, Mesh, LinkId) {
    let (mut one, mut two) = (lan.start(1), lan.start(2));
    let (link_of_two, link_of_one) = link(&mut two, &mut one).await;
    (one, link_of_one, two, link_of_two)
}

/// F2
#[tokio::test]
async fn a_broadcast_reaches_every_node_but_the_sender() {
    let lan = Lan::new();
    let (mut one, mut two, mut three) = (lan.start(1), lan.start(2), lan.start(3));
    let sent = beacon(&one, 1);
    one.broadcast(&sent);
    for mesh in [&mut two, &mut three] {
        let MeshEvent::Beacon { from, beacon } = event(mesh).await else {
            panic!("no beacon");
        };
        assert_eq!((from, *beacon), (lan.address(1), sent.clone()));
    }
    let answer = beacon(&two, 1);
    two.unicast(lan.address(1), &answer);
    let heard = event(&mut one).await;
    assert!(
        matches!(&heard, MeshEvent::Beacon { from, .. } if *from == lan.address(2)),
        "its own beacon came back: {heard:?}"
    );
}

fn datagrams_of(lan: &Lan, node: u8) -> UdpSocket {
    let socket = UdpSocket::bind((lan.address(node), 0)).expect("a socket");
    socket.connect((lan.address(1), lan.broadcast.port())).expect("connected");
    socket
}

/// F5, F10, E1: a datagram does not speak for a node at another address.
#[tokio::test]
async fn damaged_and_foreign_datagrams_are_counted_and_dropped() {
    let lan = Lan::new();
    let (mut one, two) = (lan.start(1), lan.start(2));
    let (stranger, elsewhere) = (datagrams_of(&lan, 2), datagrams_of(&lan, 9));
    let sound = codec::encode_beacon(&beacon(&two, 1), &Keyring::default()).expect("encoded");
    let mut damaged = sound.clone();
    damaged[20] ^= 1;
    let mut version = sound.clone();
    version[2] = 99;
    let (covered, check) = version.split_last_chunk_mut().expect("long enough");
    *check = Crc::<u32>::new(&CRC_32_ISCSI).checksum(covered).to_le_bytes();
    let mut key = sound.clone();
    key[3] = 7;
    elsewhere.send(&sound).expect("sent");
    for bytes in [&b"hello"[..], &damaged, &version, &key, &[0; 3000], &sound] {
        stranger.send(bytes).expect("sent");
    }
    for error in [WireError::Version(99), WireError::Key(7)] {
        let other = MeshEvent::Unreadable { from: lan.address(2), error };
        assert_eq!(event(&mut one).await, other);
    }
    assert!(matches!(event(&mut one).await, MeshEvent::Beacon { .. }));
    one.note_fate(lan.address(2), BeaconFate::Replayed);
    let counted = ["address", "damaged", "foreign", "key", "oversized", "received", "replayed"];
    let expected = counted.into_iter().chain(["version"]).map(|name| (name.to_owned(), 1));
    assert_eq!(one.counters().by_name(), expected.collect());
}

/// F3
#[tokio::test]
async fn frames_cross_a_link_in_order_both_ways() {
    let lan = Lan::new();
    let (mut one, mut two) = (lan.start(1), lan.start(2));
    two.dial(name(1), lan.link_address(1));
    let mut links = Vec::new();
    for (mesh, node, expected) in
        [(&mut two, 1, LinkSide::Dialled), (&mut one, 2, LinkSide::Accepted)]
    {
        let MeshEvent::LinkUp { link, peer, side } = event(mesh).await else {
            panic!("no link");
        };
        assert_eq!((peer.node, side), (name(node), expected));
        links.push(link);
    }
    let frames = [Frame::Synced, Frame::Probe, Frame::Alive];
    for (from, to) in [(0, 1), (1, 0)] {
        let meshes = [&mut two, &mut one];
        for frame in &frames {
            meshes[from].send(links[from], frame);
        }
        for frame in frames.clone() {
            assert_eq!(event(meshes[to]).await, MeshEvent::Frame { link: links[to], frame });
        }
    }
}

/// A link that is closed, and the end of the mesh, lose nothing that was sent before.
#[tokio::test]
async fn what_was_sent_before_a_link_is_closed_arrives() {
    for whole_mesh_ends in [false, true] {
        let lan = Lan::new();
        let (mut one, link, mut two, link_of_two) = linked(&lan).await;
        // What the closing side has not read must not cost the other what was sent to it.
        for _ in 0..50 {
            one.send(link, &Frame::Alive);
            two.send(link_of_two, &Frame::Synced);
        }
        let hear = async {
            for _ in 0..50 {
                assert_eq!(event(&mut one).await, MeshEvent::Frame { link, frame: Frame::Synced });
            }
            assert_eq!(event(&mut one).await, MeshEvent::LinkDown { link });
        };
        if whole_mesh_ends {
            tokio::join!(two.shut_down(), hear);
        } else {
            two.close(link_of_two);
            hear.await;
        }
    }
}

#[tokio::test]
async fn a_cut_cable_carries_nothing_and_mending_it_ends_every_link() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    one.set_cable(Cable::Cut);
    one.broadcast(&beacon(&one, 1));
    one.send(link_of_one, &Frame::Delta(Delta::default()));
    two.send(link_of_two, &Frame::Delta(Delta::default()));
    one.dial(name(9), lan.link_address(9));
    assert_eq!(event(&mut one).await, MeshEvent::DialFailed { peer: name(9) });
    one.set_cable(Cable::Whole);
    for (mesh, link) in [(&mut one, link_of_one), (&mut two, link_of_two)] {
        assert_eq!(event(mesh).await, MeshEvent::LinkDown { link });
    }
}

#[tokio::test]
async fn a_dial_to_nobody_or_to_a_node_that_does_not_fit_has_failed() {
    let lan = Lan::new();
    let mut one = lan.start(1);
    let mut other_fleet = lan.settings(2);
    other_fleet.hello.fleet = FleetName::new("annex").expect("a name");
    let mut other_floors = lan.settings(3);
    other_floors.hello.floors = FloorCount::new(9).expect("floors");
    for (settings, peer, at) in [
        (other_fleet, 1, 1),
        (other_floors, 1, 1),
        // Another node is there.
        (lan.settings(4), 7, 1),
        (lan.settings(5), 8, 8),
    ] {
        let mut mesh = with_its_keys(settings);
        mesh.dial(name(peer), lan.link_address(at));
        assert_eq!(event(&mut mesh).await, MeshEvent::DialFailed { peer: name(peer) });
    }
    link(&mut lan.start(6), &mut one).await;
}

/// Somebody at the address of this node who connects to node 1's link port.
fn stranger(lan: &Lan, node: u8) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let from = SocketAddrV4::new(lan.address(node), 0);
    socket.bind(&from.into()).expect("bound");
    socket.connect(&lan.link_address(1).into()).expect("connected");
    socket.into()
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("short");
    [&length.to_be_bytes(), bytes].concat()
}

fn hello_bytes(settings: &MeshSettings) -> Vec<u8> {
    framed(&codec::encode_frame(&Frame::Hello(settings.hello.clone())).expect("encoded"))
}

async fn still_carries(from: (&mut Mesh, LinkId), to: (&mut Mesh, LinkId)) {
    let frame = Frame::Synced;
    from.0.send(from.1, &frame);
    assert_eq!(event(to.0).await, MeshEvent::Frame { link: to.1, frame });
}

#[tokio::test]
async fn addresses_that_can_not_be_used_are_named_by_key_and_value() {
    let lan = Lan::new();
    let refused = |settings| Mesh::start(settings).expect_err("refused").to_string();
    let _one = lan.start(1);
    let named = format!("address = {}", lan.address(1));
    assert!(refused(lan.settings(1)).contains(&named));
    let _listener = TcpListener::bind(lan.link_address(2)).expect("bound");
    let named = format!("link_port = {}", lan.link_port);
    assert!(refused(lan.settings(2)).contains(&named));
    let mut everywhere = lan.settings(3);
    everywhere.broadcast.set_ip(Ipv4Addr::BROADCAST);
    assert!(refused(everywhere).starts_with("broadcast = 255.255.255.255"));
    let packets = packets::packets_of(&lan);
    let _taken = UdpSocket::bind((lan.address(4), packets.port)).expect("a socket");
    let named = format!("ballot.port = {}", packets.port);
    let with_packets = MeshSettings { packets: Some(packets), ..lan.settings(4) };
    assert!(refused(with_packets).starts_with(&named));
}
