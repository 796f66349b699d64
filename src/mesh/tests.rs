use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

use elevator_driver::FloorCount;
use elevator_fleet::model::{FleetName, JournalId, Mac, Role, Term};
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::keyring::Keyring;
use elevator_fleet::wire::{Delta, NodeState, Nonce, Protocol};
use socket2::SockRef;
use tokio::time::timeout;

use super::*;
use crate::fleet_key::{self, KeyFiles, KeyText};

const PATIENCE: Duration = Duration::from_secs(20);

/// A loopback network of its own for each test, on ports that nobody uses: 127.x.y.0/24 for the
/// nodes, and the one broadcast address that loopback has.
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
        Mesh::start(self.settings(node)).expect("a mesh")
    }

    fn link_address(&self, node: u8) -> SocketAddrV4 {
        SocketAddrV4::new(self.address(node), self.link_port)
    }
}

fn fleet() -> FleetName {
    FleetName::new("fleet").expect("a name")
}

fn name(node: u8) -> NodeId {
    NodeId::new(&format!("car-{node}")).expect("a name")
}

fn beacon(of: &Mesh, sequence: u64) -> Beacon {
    Beacon {
        hello: of.settings.hello.clone(),
        link_port: of.settings.link_port,
        sequence,
        period: 25,
        node_state: NodeState::Master,
        term: Term(1),
        estimate: 0,
        digest: 0,
        durable: true,
        journal: JournalId(1),
        probe: false,
        echoes: Vec::new(),
        delta: Delta::default(),
        piggybacked: None,
    }
}

async fn event(mesh: &mut Mesh) -> MeshEvent {
    timeout(PATIENCE, mesh.next_event()).await.expect("an event in time")
}

async fn link_up(mesh: &mut Mesh) -> LinkId {
    let event = event(mesh).await;
    let MeshEvent::LinkUp { link, .. } = event else {
        panic!("no link but {event:?}");
    };
    link
}

async fn linked(lan: &Lan) -> (Mesh, LinkId, Mesh, LinkId) {
    let (mut one, mut two) = (lan.start(1), lan.start(2));
    two.dial(name(1), lan.link_address(1));
    let (link_of_two, link_of_one) = (link_up(&mut two).await, link_up(&mut one).await);
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

/// F5, F10
#[tokio::test]
async fn damaged_and_foreign_datagrams_are_counted_and_dropped() {
    let lan = Lan::new();
    let (mut one, two) = (lan.start(1), lan.start(2));
    let stranger = UdpSocket::bind((lan.address(2), 0)).expect("a socket");
    let to = SocketAddrV4::new(lan.address(1), lan.broadcast.port());
    let sound = codec::encode_beacon(&beacon(&two, 1), &Keyring::default()).expect("encoded");
    let mut damaged = sound.clone();
    damaged[20] ^= 1;
    let mut version = sound.clone();
    version[2] = 99;
    let mut key = sound.clone();
    key[3] = 7;
    for bytes in [&b"hello"[..], &damaged, &version, &key, &[0; 3000]] {
        stranger.send_to(bytes, to).expect("sent");
    }
    stranger.send_to(&sound, to).expect("sent");
    let other = MeshEvent::OtherVersion { from: lan.address(2), version: 99 };
    assert_eq!(event(&mut one).await, other);
    assert!(matches!(event(&mut one).await, MeshEvent::Beacon { .. }));
    let counted = |count| one.counters().get(count);
    assert_eq!(counted(Count::Foreign), 2);
    for count in [Count::Damaged, Count::Version, Count::Key, Count::Received] {
        assert_eq!(counted(count), 1, "{count:?}");
    }
}

/// E1: a datagram does not speak for a node at another address.
#[tokio::test]
async fn a_beacon_from_another_address_is_dropped() {
    let lan = Lan::new();
    let (mut one, two) = (lan.start(1), lan.start(2));
    let stranger = UdpSocket::bind((lan.address(9), 0)).expect("a socket");
    let to = SocketAddrV4::new(lan.address(1), lan.broadcast.port());
    let forged = codec::encode_beacon(&beacon(&two, 7), &Keyring::default()).expect("encoded");
    stranger.send_to(&forged, to).expect("sent");
    two.unicast(lan.address(1), &beacon(&two, 1));
    let MeshEvent::Beacon { beacon, .. } = event(&mut one).await else {
        panic!("no beacon");
    };
    assert_eq!(beacon.sequence, 1);
    assert_eq!(one.counters().get(Count::Address), 1);
}

/// F3
#[tokio::test]
async fn frames_cross_a_link_in_order_both_ways() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    for frame in [Frame::Synced, Frame::Probe, Frame::Alive] {
        two.send(link_of_two, &frame);
    }
    one.send(link_of_one, &Frame::Delta(Delta::default()));
    for expected in [Frame::Synced, Frame::Probe, Frame::Alive] {
        let link = link_of_one;
        let frame = expected;
        assert_eq!(event(&mut one).await, MeshEvent::Frame { link, frame });
    }
    let expected = MeshEvent::Frame { link: link_of_two, frame: Frame::Delta(Delta::default()) };
    assert_eq!(event(&mut two).await, expected);
}

#[tokio::test]
async fn both_sides_of_a_link_know_who_is_there_and_who_dialled() {
    let lan = Lan::new();
    let (mut one, mut two) = (lan.start(1), lan.start(2));
    two.dial(name(1), lan.link_address(1));
    for (mesh, node, expected) in
        [(&mut two, 1, LinkSide::Dialled), (&mut one, 2, LinkSide::Accepted)]
    {
        let MeshEvent::LinkUp { peer, side, .. } = event(mesh).await else {
            panic!("no link");
        };
        assert_eq!((peer.node, side), (name(node), expected));
    }
}

#[tokio::test]
async fn what_was_sent_before_a_link_is_closed_arrives() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    // What the closing side has not read must not cost the other what was sent to it.
    for _ in 0..50 {
        one.send(link_of_one, &Frame::Alive);
        two.send(link_of_two, &Frame::Synced);
    }
    two.close(link_of_two);
    for _ in 0..50 {
        let expected = MeshEvent::Frame { link: link_of_one, frame: Frame::Synced };
        assert_eq!(event(&mut one).await, expected);
    }
    let link = link_of_one;
    assert_eq!(event(&mut one).await, MeshEvent::LinkDown { link });
}

/// F6
#[tokio::test]
async fn a_peer_that_is_gone_is_told_at_once() {
    let lan = Lan::new();
    let (one, _, mut two, link) = linked(&lan).await;
    drop(one);
    assert_eq!(event(&mut two).await, MeshEvent::LinkDown { link });
}

#[tokio::test]
async fn the_end_of_the_mesh_sends_what_is_queued() {
    let lan = Lan::new();
    let (mut one, link, mut two, link_of_two) = linked(&lan).await;
    two.send(link_of_two, &Frame::Synced);
    let (shut_down, frame) = tokio::join!(two.shut_down(), event(&mut one));
    let () = shut_down;
    assert_eq!(frame, MeshEvent::Frame { link, frame: Frame::Synced });
    assert_eq!(event(&mut one).await, MeshEvent::LinkDown { link });
}

#[tokio::test]
async fn a_mesh_whose_cable_is_cut_says_nothing_and_mending_ends_its_links() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    one.set_cable(Cable::Cut);
    one.broadcast(&beacon(&one, 1));
    one.send(link_of_one, &Frame::Delta(Delta::default()));
    one.set_cable(Cable::Whole);
    let down = |link| MeshEvent::LinkDown { link };
    assert_eq!(event(&mut one).await, down(link_of_one));
    assert_eq!(event(&mut two).await, down(link_of_two));
}

#[tokio::test]
async fn a_mesh_whose_cable_is_cut_hears_nothing_and_opens_no_link() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    one.set_cable(Cable::Cut);
    two.send(link_of_two, &Frame::Delta(Delta::default()));
    two.close(link_of_two);
    let down = MeshEvent::LinkDown { link: link_of_one };
    assert_eq!(event(&mut one).await, down, "the frame before it was dropped");
    one.dial(name(2), lan.link_address(2));
    let failed = MeshEvent::DialFailed { peer: name(2) };
    assert_eq!(event(&mut one).await, failed);
}

#[tokio::test]
async fn a_dial_that_nobody_answers_has_failed() {
    let lan = Lan::new();
    let mut two = lan.start(2);
    two.dial(name(1), lan.link_address(1));
    let peer = name(1);
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer });
}

#[tokio::test]
async fn a_node_that_does_not_go_with_this_one_is_refused_on_both_sides() {
    let lan = Lan::new();
    let mut one = lan.start(1);
    let mut other_fleet = lan.settings(2);
    other_fleet.hello.fleet = FleetName::new("annex").expect("a name");
    let mut other_floors = lan.settings(3);
    other_floors.hello.floors = FloorCount::new(9).expect("floors");
    for settings in [other_fleet, other_floors] {
        let mut mesh = Mesh::start(settings).expect("a mesh");
        mesh.dial(name(1), lan.link_address(1));
        let peer = name(1);
        assert_eq!(event(&mut mesh).await, MeshEvent::DialFailed { peer });
    }
    let mut right = lan.start(4);
    right.dial(name(1), lan.link_address(1));
    let MeshEvent::LinkUp { peer, .. } = event(&mut one).await else {
        panic!("no link");
    };
    assert_eq!(peer.node, name(4));
}

#[tokio::test]
async fn a_dial_that_reaches_another_node_has_failed() {
    let lan = Lan::new();
    let (_one, mut two) = (lan.start(1), lan.start(2));
    two.dial(name(7), lan.link_address(1));
    let peer = name(7);
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer });
}

/// A connection to node 1's link port by somebody at the address of this node who does not keep to
/// the protocol.
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

/// A file with a fresh fleet key.
fn key_file(directory: &tempfile::TempDir, name: &str) -> String {
    let path = directory.path().join(name);
    fleet_key::create(&path, &KeyText::draw().expect("random numbers")).expect("written");
    path.to_str().expect("a path").to_owned()
}

impl Lan {
    /// The settings of a node with these keys.
    fn with_keys(&self, node: u8, keys: &str) -> MeshSettings {
        let files = KeyFiles::parse(keys).expect("a setting");
        let keys = Arc::new(Keys::new(files, fleet(), self.address(node)));
        MeshSettings { keys, ..self.settings(node) }
    }

    fn start_with_keys(&self, node: u8, keys: &str) -> Mesh {
        with_its_keys(self.with_keys(node, keys))
    }
}

/// A mesh that has read its keys.
fn with_its_keys(settings: MeshSettings) -> Mesh {
    let mesh = Mesh::start(settings).expect("a mesh");
    assert!(mesh.settings.keys.get().is_some());
    mesh
}

/// Lets the mesh know that the other node hears it.
fn prove(mesh: &Mesh, other: &Mesh) {
    let Hello { address, nonce, .. } = other.settings.hello;
    mesh.set_proven(Peers::from([(address, nonce)]));
}

/// Whether a broadcast of one is heard by the other within a short time.
async fn hears(one: &Mesh, two: &mut Mesh) -> bool {
    one.broadcast(&beacon(one, fastrand::u64(1..)));
    matches!(
        timeout(Duration::from_millis(300), two.next_event()).await,
        Ok(MeshEvent::Beacon { .. })
    )
}

/// The longest frame and the shortest cross a link with a key in either direction, in order.
#[tokio::test]
async fn nodes_with_the_fleet_key_link_and_talk() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let lan = Lan::new();
    let (mut one, mut two) = (lan.start_with_keys(1, &key), lan.start_with_keys(2, &key));
    assert!(hears(&one, &mut two).await);
    prove(&one, &two);
    two.dial(name(1), lan.link_address(1));
    let (link_of_two, link_of_one) = (link_up(&mut two).await, link_up(&mut one).await);
    for _ in 0..3 {
        still_carries((&mut one, link_of_one), (&mut two, link_of_two)).await;
        still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
    }
    one.close(link_of_one);
    assert_eq!(event(&mut two).await, MeshEvent::LinkDown { link: link_of_two });
}

/// Neither hears the other, neither links, and both say why.
#[tokio::test]
async fn nodes_with_different_keys_are_strangers() {
    let directory = tempfile::tempdir().expect("a directory");
    let (ours, theirs) = (key_file(&directory, "ours.key"), key_file(&directory, "theirs.key"));
    let lan = Lan::new();
    let mut one = lan.start_with_keys(1, &ours);
    let bare = lan.settings(3);
    for settings in [lan.with_keys(2, &theirs), bare] {
        let mut two = with_its_keys(settings);
        prove(&one, &two);
        assert!(!hears(&two, &mut one).await);
        assert!(!hears(&one, &mut two).await);
        let refused = one.counters().get(Count::Refused);
        two.dial(name(1), lan.link_address(1));
        assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer: name(1) });
        assert_eq!(one.counters().get(Count::Refused), refused + 1);
    }
    let dropped = [Count::Key, Count::Forged, Count::Unauthenticated];
    assert_eq!(dropped.map(|count| one.counters().get(count)).iter().sum::<u64>(), 2);
    assert_eq!(one.counters().get(Count::Unauthenticated), 1);
}

/// A fleet changes its key, or gets its first one, node by node: at any moment some nodes are one
/// stage ahead.
#[tokio::test]
async fn neighbouring_stages_of_a_rotation_understand_each_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let (old, new) = (key_file(&directory, "old.key"), key_file(&directory, "new.key"));
    let stages =
        |old: &str| [old.to_owned(), format!("{old},{new}"), format!("{new},{old}"), new.clone()];
    for stages in [stages(&old), stages("none")] {
        for (behind, ahead) in stages.iter().zip(&stages[1..]) {
            for (first, second) in [(behind, ahead), (ahead, behind)] {
                let lan = Lan::new();
                let mut one = lan.start_with_keys(1, first);
                let mut two = lan.start_with_keys(2, second);
                assert!(hears(&one, &mut two).await, "{first} and {second}");
                assert!(hears(&two, &mut one).await, "{first} and {second}");
                prove(&one, &two);
                two.dial(name(1), lan.link_address(1));
                let (link_of_two, link_of_one) = (link_up(&mut two).await, link_up(&mut one).await);
                still_carries((&mut one, link_of_one), (&mut two, link_of_two)).await;
                still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
            }
        }
        // Two stages apart they do not: none may be left out.
        for (first, second) in [(&stages[0], &stages[2]), (&stages[1], &stages[3])] {
            let lan = Lan::new();
            let mut one = lan.start_with_keys(1, first);
            let mut two = lan.start_with_keys(2, second);
            let (forth, back) = (hears(&one, &mut two).await, hears(&two, &mut one).await);
            assert!(!(forth && back), "{first} and {second}");
        }
    }
}

/// Connections from addresses without a peer wait for a beacon to prove one, and are no link without.
#[tokio::test]
async fn who_has_not_proven_itself_by_a_beacon_gets_no_link() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let lan = Lan::new();
    let mut settings = lan.with_keys(1, &key);
    settings.times.greeting = Duration::from_millis(300);
    let mut one = with_its_keys(settings);
    let mut two = lan.start_with_keys(2, &key);
    two.dial(name(1), lan.link_address(1));
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer: name(1) });
    assert_eq!(one.counters().get(Count::Refused), 1);

    two.dial(name(1), lan.link_address(1));
    tokio::time::sleep(Duration::from_millis(50)).await;
    prove(&one, &two);
    link_up(&mut two).await;
    link_up(&mut one).await;
}

/// Bytes that crossed between two nodes make no link when somebody sends them again from the same
/// address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_is_sent_again_is_no_link() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let lan = Lan::new();
    // What node 2 says to node 1, and goes on to say, is recorded by a listener in its place.
    let listener = TcpListener::bind(lan.link_address(1)).expect("a socket");
    let mut two = lan.start_with_keys(2, &key);
    two.dial(name(1), lan.link_address(1));
    let (mut recorder, _) = tokio::task::spawn_blocking(move || listener.accept())
        .await
        .expect("run")
        .expect("dialled");
    recorder.set_read_timeout(Some(PATIENCE)).expect("set");
    let mut opening = vec![0; 1024];
    let length = recorder.read(&mut opening).expect("an opening");
    opening.truncate(length);
    drop(recorder);
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer: name(1) });

    let mut settings = lan.with_keys(1, &key);
    settings.times.greeting = Duration::from_millis(300);
    let mut one = with_its_keys(settings);
    prove(&one, &two);
    let mut replayed = stranger(&lan, 2);
    replayed.set_read_timeout(Some(PATIENCE)).expect("set");
    replayed.write_all(&opening).expect("sent");
    let mut answer = vec![0; 1024];
    let length = replayed.read(&mut answer).expect("an answer");
    assert!(length > 0);
    // It can't finish: what it repeats, or makes up, is not made with the fresh key.
    replayed.write_all(&opening).expect("sent");
    let refused = async {
        while one.counters().get(Count::Refused) == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, refused).await.expect("refused");
    assert!(timeout(Duration::from_millis(100), one.next_event()).await.is_err());
}

/// Strangers from any number of addresses leave room for a peer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_strangers_keep_no_peer_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let lan = Lan::new();
    let mut one = lan.start_with_keys(1, &key);
    let mut two = lan.start_with_keys(2, &key);
    prove(&one, &two);
    let silent: Vec<TcpStream> =
        (10..90).flat_map(|node| [stranger(&lan, node), stranger(&lan, node)]).collect();
    two.dial(name(1), lan.link_address(1));
    link_up(&mut two).await;
    link_up(&mut one).await;
    assert!(one.counters().get(Count::Refused) > 100);
    drop(silent);
}

/// A node whose key is not there yet serves alone, and takes part once it is.
#[tokio::test]
async fn a_node_takes_part_as_soon_as_its_key_can_be_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let lan = Lan::new();
    let late = directory.path().join("late.key");
    let one = lan.start_with_keys(1, &key);
    let mut two = Mesh::start(lan.with_keys(2, late.to_str().expect("a path"))).expect("a mesh");
    assert!(!hears(&one, &mut two).await);
    std::fs::copy(&key, &late).expect("copied");
    assert_eq!(event(&mut two).await, MeshEvent::KeysRead);
    let heard = async { while !hears(&one, &mut two).await {} };
    timeout(PATIENCE, heard).await.expect("heard");
    prove(&one, &two);
    two.dial(name(1), lan.link_address(1));
    link_up(&mut two).await;
}

fn hello_bytes(settings: &MeshSettings) -> Vec<u8> {
    framed(&codec::encode_frame(&Frame::Hello(settings.hello.clone())).expect("encoded"))
}

/// Sends a frame from one end of a link and waits for it at the other.
async fn still_carries(from: (&mut Mesh, LinkId), to: (&mut Mesh, LinkId)) {
    let frame = Frame::Synced;
    from.0.send(from.1, &frame);
    assert_eq!(event(to.0).await, MeshEvent::Frame { link: to.1, frame });
}

#[tokio::test]
async fn garbage_costs_a_peer_its_own_link_only() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    let garbage = framed(b"garbage");
    let endless = u32::MAX.to_be_bytes().to_vec();
    let again = hello_bytes(&lan.settings(9));
    for bytes in [garbage, endless, again] {
        let mut stranger = stranger(&lan, 9);
        stranger.write_all(&hello_bytes(&lan.settings(9))).expect("sent");
        let link = link_up(&mut one).await;
        stranger.write_all(&bytes).expect("sent");
        assert_eq!(event(&mut one).await, MeshEvent::Malformed { link });
    }
    assert_eq!(one.counters().get(Count::Malformed), 3);
    still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
}

/// A peer that sends frames without end does not fill the inbox, in which others' beacons wait too.
#[tokio::test]
async fn a_flood_over_one_link_leaves_room_for_others() {
    let lan = Lan::new();
    let (mut one, _, mut two, link_of_two) = linked(&lan).await;
    let three = lan.start(3);
    for _ in 0..LINK_QUEUE / 2 {
        two.send(link_of_two, &Frame::Alive);
    }
    let flooded = async {
        while one.inbox.len() < link::WAITING {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, flooded).await.expect("frames arrive");
    three.broadcast(&beacon(&three, 1));
    let mut before = 0;
    while !matches!(event(&mut one).await, MeshEvent::Beacon { .. }) {
        before += 1;
        if before == 1 {
            // The beacon comes in before the rest of the flood is taken.
            let heard = async {
                while one.counters().get(Count::Received) == 0 {
                    tokio::task::yield_now().await;
                }
            };
            timeout(PATIENCE, heard).await.expect("a beacon");
        }
    }
    assert!(before <= link::WAITING + 1, "{before}");
}

#[tokio::test]
async fn strangers_who_say_nothing_keep_nobody_out() {
    let lan = Lan::new();
    let mut one = lan.start(1);
    let silent: Vec<TcpStream> =
        (0..accept::GREETINGS_PER_ADDRESS + 2).map(|_| stranger(&lan, 9)).collect();
    let mut two = lan.start(2);
    two.dial(name(1), lan.link_address(1));
    link_up(&mut one).await;
    link_up(&mut two).await;
    assert_eq!(one.counters().get(Count::Refused), 2);
    drop(silent);
}

#[tokio::test]
async fn a_stranger_who_says_nothing_is_hung_up_on() {
    let lan = Lan::new();
    let mut settings = lan.settings(1);
    settings.times.greeting = Duration::from_millis(50);
    let mut one = Mesh::start(settings).expect("a mesh");
    let mut stranger = stranger(&lan, 9);
    stranger.set_read_timeout(Some(PATIENCE)).expect("set");
    let ended = tokio::task::spawn_blocking(move || stranger.read_to_end(&mut Vec::new()));
    tokio::select! {
        event = one.next_event() => panic!("{event:?}"),
        ended = timeout(PATIENCE, ended) => {
            ended.expect("in time").expect("no panic").expect("an orderly end");
        }
    }
}

/// A hello that is taken from elsewhere would end the links of the node that it names.
#[tokio::test]
async fn a_hello_in_the_name_of_another_address_is_refused() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    let mut stranger = stranger(&lan, 9);
    stranger.set_read_timeout(Some(PATIENCE)).expect("set");
    let hello = hello_bytes(&lan.settings(2));
    stranger.write_all(&hello).expect("sent");
    let ended = tokio::task::spawn_blocking(move || stranger.read_to_end(&mut Vec::new()));
    tokio::select! {
        event = one.next_event() => panic!("{event:?}"),
        ended = timeout(PATIENCE, ended) => {
            // Told who is there, and then closed or reset.
            drop(ended.expect("in time").expect("no panic"));
        }
    }
    assert_eq!(one.counters().get(Count::Refused), 1);
    still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
}

#[tokio::test]
async fn of_many_links_with_one_address_the_oldest_go() {
    let lan = Lan::new();
    let (mut one, link_of_one, _two, _) = linked(&lan).await;
    let mut strangers = Vec::new();
    let mut links = Vec::new();
    let mut down = Vec::new();
    while links.len() < 3 * LINKS_PER_ADDRESS {
        let mut stranger = stranger(&lan, 9);
        let hello = hello_bytes(&lan.settings(9));
        stranger.write_all(&hello).expect("sent");
        strangers.push(stranger);
        loop {
            match event(&mut one).await {
                MeshEvent::LinkUp { link, .. } => {
                    links.push(link);
                    break;
                }
                MeshEvent::LinkDown { link } => down.push(link),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(one.links.len() <= LINKS_PER_ADDRESS + 1);
    assert!(one.links.contains_key(&link_of_one), "the node's own link");
    assert!(down.iter().eq(links.iter().take(down.len())), "{down:?}");
    drop(strangers);
}

#[tokio::test]
async fn a_link_whose_queue_is_full_is_given_up() {
    let lan = Lan::new();
    let mut one = lan.start(1);
    let mut deaf = stranger(&lan, 9);
    deaf.write_all(&hello_bytes(&lan.settings(9))).expect("sent");
    let link = link_up(&mut one).await;
    // Nothing runs between two sends, so nothing leaves the queue.
    for _ in 0..=LINK_QUEUE {
        one.send(link, &Frame::Alive);
    }
    assert_eq!(event(&mut one).await, MeshEvent::LinkDown { link });
    one.send(link, &Frame::Alive);
    assert!(one.links.is_empty());
}

#[tokio::test]
async fn a_link_number_is_never_used_again() {
    let lan = Lan::new();
    let (mut one, first, two, _) = linked(&lan).await;
    drop(two);
    assert_eq!(event(&mut one).await, MeshEvent::LinkDown { link: first });
    let mut three = lan.start(3);
    three.dial(name(1), lan.link_address(1));
    assert_ne!(link_up(&mut one).await, first);
}

#[tokio::test]
async fn ports_in_use_are_named_by_key_and_value() {
    let lan = Lan::new();
    let _one = lan.start(1);
    let error = Mesh::start(lan.settings(1)).expect_err("in use");
    assert!(matches!(error, MeshError::DatagramsInUse { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("address = {}", lan.address(1))));
    let _listener = TcpListener::bind(lan.link_address(2)).expect("bound");
    let error = Mesh::start(lan.settings(2)).expect_err("in use");
    assert!(matches!(error, MeshError::LinksInUse { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("link_port = {}", lan.link_port)));
}

#[tokio::test]
async fn a_node_whose_address_is_not_there_starts_alone() {
    let lan = Lan::new();
    let mut settings = lan.settings(1);
    // TEST-NET-1: no machine has it.
    settings.hello.address = Ipv4Addr::new(192, 0, 2, 1);
    settings.broadcast.set_ip(Ipv4Addr::new(192, 0, 2, 255));
    let mut mesh = Mesh::start(settings).expect("no error");
    let sent = beacon(&mesh, 1);
    mesh.broadcast(&sent);
    mesh.dial(name(2), lan.link_address(2));
    let peer = name(2);
    assert_eq!(event(&mut mesh).await, MeshEvent::DialFailed { peer });
    mesh.shut_down().await;
}

#[tokio::test]
async fn the_limited_broadcast_address_is_refused() {
    let mut settings = Lan::new().settings(1);
    settings.broadcast.set_ip(Ipv4Addr::BROADCAST);
    let error = Mesh::start(settings).expect_err("refused");
    assert!(matches!(error, MeshError::LimitedBroadcast(_)), "{error:?}");
}

/// Settings with packets at a port that nobody uses.
fn with_packets(lan: &Lan, node: u8, packets: &PacketSettings) -> MeshSettings {
    MeshSettings { packets: Some(packets.clone()), ..lan.settings(node) }
}

fn packets_of(lan: &Lan) -> PacketSettings {
    let socket = UdpSocket::bind((lan.address(253), 0)).expect("a socket");
    PacketSettings {
        port: socket.local_addr().expect("an address").port(),
        ..PacketSettings::default()
    }
}

async fn packet(mesh: &mut Mesh) -> (Ipv4Addr, Vec<u8>) {
    let event = event(mesh).await;
    let MeshEvent::Packet { from, bytes } = event else {
        panic!("no packet but {event:?}");
    };
    (from, bytes)
}

/// V8: one's own packet comes back, and is not told of.
#[tokio::test]
async fn a_packet_reaches_everybody_and_its_answer_its_sender() {
    let lan = Lan::new();
    let packets = packets_of(&lan);
    let start = |node| Mesh::start(with_packets(&lan, node, &packets)).expect("a mesh");
    let (mut one, mut two, mut three) = (start(1), start(2), start(3));
    let device = UdpSocket::bind((lan.address(9), packets.port)).expect("a socket");
    one.send_packet(None, vec![1]);
    for mesh in [&mut two, &mut three] {
        assert_eq!(packet(mesh).await, (lan.address(1), vec![1]));
    }
    two.send_packet(Some(lan.address(1)), vec![2, 21, 7]);
    assert_eq!(packet(&mut one).await, (lan.address(2), vec![2, 21, 7]));
    let to = SocketAddrV4::new(lan.address(1), packets.port);
    device.send_to(&[0; 13], to).expect("sent");
    device.send_to(&[2, 30, 8], to).expect("sent");
    assert_eq!(packet(&mut one).await, (lan.address(9), vec![2, 30, 8]));
    assert_eq!(one.counters().get(Count::Foreign), 1, "too long");
    one.send_packet(Some(lan.address(9)), vec![3]);
    device.set_read_timeout(Some(PATIENCE)).expect("set");
    let received = tokio::task::spawn_blocking(move || device.recv(&mut [0; 16]));
    let received = received.await.expect("no panic");
    assert_eq!(received.expect("received"), 1);
}

/// V8: a larger network.
#[tokio::test]
async fn packets_may_go_to_a_multicast_group() {
    let lan = Lan::new();
    let packets = PacketSettings {
        group: Some(Ipv4Addr::new(239, 192, lan.net[0], lan.net[1])),
        ..packets_of(&lan)
    };
    let start = |node| Mesh::start(with_packets(&lan, node, &packets)).expect("a mesh");
    let (one, mut two) = (start(1), start(2));
    one.send_packet(None, vec![5]);
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![5]));
}

/// V8: a group that spans several networks.
#[tokio::test]
async fn packets_to_a_group_go_as_far_as_they_are_set_to() {
    let lan = Lan::new();
    assert_eq!(PacketSettings::default().ttl, 1);
    for ttl in [1, 7, 255] {
        let packets = PacketSettings { ttl, ..packets_of(&lan) };
        let sockets = packets.again(&with_packets(&lan, 1, &packets)).expect("sockets");
        let set = SockRef::from(&sockets.own).multicast_ttl_v4();
        assert_eq!(set.expect("an option"), u32::from(ttl));
    }
}

/// V10
#[tokio::test]
async fn packets_may_be_bound_to_an_interface_by_its_name() {
    let lan = Lan::new();
    let packets = PacketSettings { interface: Some("lo".to_owned()), ..packets_of(&lan) };
    let start = |node| Mesh::start(with_packets(&lan, node, &packets));
    let (one, mut two) = match (start(1), start(2)) {
        (Err(MeshError::InterfaceRight { interface }), _) => {
            assert_eq!(interface, "lo");
            println!("skipped: this system does not let everybody bind to an interface");
            return;
        }
        (one, two) => (one.expect("a mesh"), two.expect("a mesh")),
    };
    one.send_packet(None, vec![5]);
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![5]));
    let nowhere = PacketSettings { interface: Some("nowhere7".to_owned()), ..packets };
    let error = Mesh::start(with_packets(&lan, 3, &nowhere)).expect_err("unknown");
    assert!(error.to_string().contains("ballot.interface = nowhere7"), "{error}");
}

#[tokio::test]
async fn a_port_of_packets_in_use_is_named() {
    let lan = Lan::new();
    let packets = packets_of(&lan);
    let _taken = UdpSocket::bind((lan.address(1), packets.port)).expect("a socket");
    let error = Mesh::start(with_packets(&lan, 1, &packets)).expect_err("in use");
    let named = format!("ballot.port = {}", packets.port);
    assert!(error.to_string().starts_with(&named), "{error}");
}

#[tokio::test]
async fn a_cut_cable_carries_no_packets() {
    let lan = Lan::new();
    let packets = packets_of(&lan);
    let start = |node| Mesh::start(with_packets(&lan, node, &packets)).expect("a mesh");
    let (mut one, mut two) = (start(1), start(2));
    one.set_cable(Cable::Cut);
    one.send_packet(None, vec![5]);
    one.set_cable(Cable::Whole);
    one.send_packet(None, vec![1]);
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![1]));
}

/// Two nodes with a fleet key and packets, of which the second counts the first as a peer that it
/// has heard.
async fn with_key_and_packets(packets: &PacketSettings, lan: &Lan) -> (Mesh, Mesh) {
    let directory = tempfile::tempdir().expect("a directory");
    let key = key_file(&directory, "fleet.key");
    let start = |node| {
        let packets = Some(packets.clone());
        with_its_keys(MeshSettings { packets, ..lan.with_keys(node, &key) })
    };
    let (one, mut two) = (start(1), start(2));
    one.broadcast(&beacon(&one, 100));
    assert!(matches!(event(&mut two).await, MeshEvent::Beacon { .. }));
    prove(&two, &one);
    (one, two)
}

/// What was recorded counts neither for somebody else nor later.
#[tokio::test]
async fn a_sealed_packet_is_for_its_addressee_and_for_now() {
    let lan = Lan::new();
    let packets = packets_of(&lan);
    let (one, mut two) = with_key_and_packets(&packets, &lan).await;
    for to in [None, Some(lan.address(2))] {
        one.send_packet(to, vec![5]);
        assert_eq!(packet(&mut two).await, (lan.address(1), vec![5]), "{to:?}");
    }

    let key = one.settings.keys.get().and_then(Keyring::sent).expect("a key");
    let replay = UdpSocket::bind((lan.address(1), 0)).expect("a socket");
    let nonce = one.settings.hello.nonce;
    for (sequence, (beacon, to)) in (11..).zip([(100, 3), (35, 2), (36, 2)]) {
        let to = lan.address(to);
        let sealed = codec::SealedPacket { nonce, sequence, beacon, to, packet: &[1] };
        let bytes = codec::seal_packet(sealed, key);
        replay.send_to(&bytes, (lan.address(2), packets.port)).expect("sent");
    }
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![1]));
    assert_eq!(two.counters().get(Count::Replayed), 2);
}

/// A bare beacon, which anybody can send while a key is introduced, makes no packet look old.
#[tokio::test]
async fn a_bare_beacon_does_not_date_packets() {
    let directory = tempfile::tempdir().expect("a directory");
    let key = format!("{},none", key_file(&directory, "fleet.key"));
    let lan = Lan::new();
    let packets = packets_of(&lan);
    let start = |node| {
        let packets = Some(packets.clone());
        with_its_keys(MeshSettings { packets, ..lan.with_keys(node, &key) })
    };
    let (one, mut two) = (start(1), start(2));
    one.broadcast(&beacon(&one, 1));
    assert!(matches!(event(&mut two).await, MeshEvent::Beacon { .. }));
    let bare = codec::encode_beacon(&beacon(&one, 1_000), &Keyring::default()).expect("encoded");
    let stranger = UdpSocket::bind((lan.address(1), 0)).expect("a socket");
    stranger.send_to(&bare, (lan.address(2), lan.broadcast.port())).expect("sent");
    assert!(matches!(event(&mut two).await, MeshEvent::Beacon { .. }));
    prove(&two, &one);
    one.send_packet(None, vec![5]);
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![5]));
}

/// Where devices have no key, each packet leaves twice. A peer takes it in once, and counts nothing.
#[tokio::test]
async fn the_bare_copy_of_a_sealed_packet_is_no_stranger() {
    let lan = Lan::new();
    let packets = PacketSettings { foreign_devices: true, ..packets_of(&lan) };
    let (one, mut two) = with_key_and_packets(&packets, &lan).await;
    for number in 1..=3 {
        one.send_packet(None, vec![number]);
    }
    for number in 1..=3 {
        assert_eq!(packet(&mut two).await, (lan.address(1), vec![number]));
    }
    let device = UdpSocket::bind((lan.address(9), 0)).expect("a socket");
    device.send_to(&[2, 30, 8], (lan.address(2), packets.port)).expect("sent");
    assert_eq!(packet(&mut two).await, (lan.address(9), vec![2, 30, 8]));
    for count in [Count::Unauthenticated, Count::Unproven, Count::Replayed] {
        assert_eq!(two.counters().get(count), 0, "{count:?}");
    }
}
