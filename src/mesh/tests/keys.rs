//! Nodes with fleet keys, and those without.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::time::Instant;

use super::packets::{packet, packets_of};
use super::*;
use crate::fleet_key::{self, KeyText};

/// A file with a fresh fleet key.
fn key_file(directory: &tempfile::TempDir, name: &str) -> String {
    let path = directory.path().join(name);
    fleet_key::create(&path, &KeyText::draw().expect("random numbers")).expect("written");
    path.to_str().expect("a path").to_owned()
}

/// A network whose nodes have a fleet key.
struct Fleet {
    lan: Lan,
    directory: tempfile::TempDir,
    key: String,
}

impl Fleet {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let key = key_file(&directory, "fleet.key");
        Self { lan: Lan::new(), directory, key }
    }

    fn with_keys(&self, node: u8, keys: &str) -> MeshSettings {
        with_keys(&self.lan, node, keys)
    }

    fn start(&self, node: u8) -> Mesh {
        with_its_keys(self.with_keys(node, &self.key))
    }

    /// Like [`start`](Self::start), with a time limit for the greetings of others.
    fn start_in_a_hurry(&self, node: u8) -> Mesh {
        let mut settings = self.with_keys(node, &self.key);
        settings.times.greeting = Duration::from_millis(300);
        with_its_keys(settings)
    }
}

/// The settings of a node with these keys.
fn with_keys(lan: &Lan, node: u8, keys: &str) -> MeshSettings {
    let files = KeyFiles::parse(keys).expect("a setting");
    let keys = Arc::new(Keys::new(files, fleet(), lan.address(node)));
    MeshSettings { keys, ..lan.settings(node) }
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

/// Neither hears the other, neither links, and both say why.
#[tokio::test]
async fn nodes_with_different_keys_are_strangers() {
    let fleet = Fleet::new();
    let theirs = key_file(&fleet.directory, "theirs.key");
    let mut one = fleet.start(1);
    for settings in [fleet.with_keys(2, &theirs), fleet.lan.settings(3)] {
        let mut two = with_its_keys(settings);
        prove(&one, &two);
        assert!(!hears(&two, &mut one).await);
        assert!(!hears(&one, &mut two).await);
        let refused = one.counters().get(Count::Refused);
        two.dial(name(1), fleet.lan.link_address(1));
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
    let fleet = Fleet::new();
    let [old, new] = ["old.key", "new.key"].map(|name| key_file(&fleet.directory, name));
    let stages =
        |old: &str| [old.to_owned(), format!("{old},{new}"), format!("{new},{old}"), new.clone()];
    for stages in [stages(&old), stages("none")] {
        let start = |first: usize, second: usize| {
            let lan = Lan::new();
            let start = |node, stage: usize| with_its_keys(with_keys(&lan, node, &stages[stage]));
            (start(1, first), start(2, second), format!("{first} and {second}"))
        };
        for (first, second) in [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)] {
            let (mut one, mut two, what) = start(first, second);
            assert!(hears(&one, &mut two).await && hears(&two, &mut one).await, "{what}");
            prove(&one, &two);
            let (link_of_two, link_of_one) = link(&mut two, &mut one).await;
            still_carries((&mut one, link_of_one), (&mut two, link_of_two)).await;
            still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
        }
        // Two stages apart they do not: none may be left out.
        for (first, second) in [(0, 2), (1, 3)] {
            let (mut one, mut two, what) = start(first, second);
            let (forth, back) = (hears(&one, &mut two).await, hears(&two, &mut one).await);
            assert!(!(forth && back), "{what}");
        }
    }
}

/// Connections from addresses without a peer wait for a beacon to prove one, and are no link without.
#[tokio::test]
async fn who_has_not_proven_itself_by_a_beacon_gets_no_link() {
    let fleet = Fleet::new();
    let (mut one, mut two) = (fleet.start_in_a_hurry(1), fleet.start(2));
    two.dial(name(1), fleet.lan.link_address(1));
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer: name(1) });
    assert_eq!(one.counters().get(Count::Refused), 1);

    let waiting = one.proven.receiver_count();
    two.dial(name(1), fleet.lan.link_address(1));
    wait_until("the greeting waits", || one.proven.receiver_count() > waiting).await;
    prove(&one, &two);
    link_up(&mut two).await;
    link_up(&mut one).await;
}

/// Somebody who can connect from a peer's address may not keep a node busy with handshakes. The peer
/// itself gets its link soon afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_fail_are_limited() {
    let fleet = Fleet::new();
    let (mut one, mut two) = (fleet.start(1), fleet.start(2));
    prove(&one, &two);
    // Says nothing and hangs up: a node that reads this ends the connection at once.
    let is_held = move |lan: &Lan| {
        let (mut silent, began) = (stranger(lan, 2), Instant::now());
        silent.shutdown(Shutdown::Write).expect("shut down");
        silent.set_read_timeout(Some(4 * accept::HOLD)).expect("set");
        let waits = |kind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut);
        let is_closed = !silent.read(&mut [0]).is_err_and(|error| waits(error.kind()));
        is_closed && began.elapsed() > accept::HOLD / 2
    };
    let attack = move || {
        let is_limited = (0..1000).any(|_| is_held(&fleet.lan));
        (fleet.lan, is_limited)
    };
    let (lan, is_limited) = tokio::task::spawn_blocking(attack).await.expect("no panic");
    assert!(is_limited, "each is taken in");
    let began = Instant::now();
    loop {
        two.dial(name(1), lan.link_address(1));
        match event(&mut two).await {
            MeshEvent::LinkUp { .. } => break,
            MeshEvent::DialFailed { .. } => assert!(began.elapsed() < PATIENCE),
            other => panic!("{other:?}"),
        }
    }
    link_up(&mut one).await;
}

/// Bytes that crossed between two nodes make no link when somebody sends them again from the same
/// address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handshake_that_is_sent_again_is_no_link() {
    let fleet = Fleet::new();
    let lan = &fleet.lan;
    // What node 2 says to node 1, and goes on to say, is recorded by a listener in its place.
    let listener = TcpListener::bind(lan.link_address(1)).expect("a socket");
    let mut two = fleet.start(2);
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

    let mut one = fleet.start_in_a_hurry(1);
    prove(&one, &two);
    let mut replayed = stranger(lan, 2);
    replayed.set_read_timeout(Some(PATIENCE)).expect("set");
    replayed.write_all(&opening).expect("sent");
    let mut answer = vec![0; 1024];
    let length = replayed.read(&mut answer).expect("an answer");
    assert!(length > 0);
    // It can't finish: what it repeats, or makes up, is not made with the fresh key.
    replayed.write_all(&opening).expect("sent");
    wait_until("refused", || one.counters().get(Count::Refused) > 0).await;
    assert!(timeout(Duration::from_millis(100), one.next_event()).await.is_err());
}

/// Strangers from any number of addresses leave room for a peer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_strangers_keep_no_peer_out() {
    let fleet = Fleet::new();
    let (mut one, mut two) = (fleet.start(1), fleet.start(2));
    prove(&one, &two);
    let from = |node| stranger(&fleet.lan, node);
    let silent: Vec<TcpStream> = (10..90).flat_map(|node| [from(node), from(node)]).collect();
    two.dial(name(1), fleet.lan.link_address(1));
    link_up(&mut two).await;
    link_up(&mut one).await;
    assert!(one.counters().get(Count::Refused) > 100);
    drop(silent);
}

/// A node whose keys are not there yet serves alone. It takes part as soon as it has the one that it
/// sends, whether the others come or not, and says so each time it has more.
#[tokio::test]
async fn a_node_takes_part_as_soon_as_its_key_can_be_read() {
    let fleet = Fleet::new();
    let late = ["late-new.key", "late-old.key"].map(|name| fleet.directory.path().join(name));
    let keys = late.each_ref().map(|path| path.to_str().expect("a path")).join(",");
    let (one, mut two) = (fleet.start(1), Mesh::start(fleet.with_keys(2, &keys)).expect("a mesh"));
    two.wait_for_keys().await;
    let missing = two.keys().status().missing.expect("both");
    assert!(missing.contains("late-new.key") && missing.contains("late-old.key"), "{missing}");
    assert!(!hears(&one, &mut two).await);
    std::fs::copy(&fleet.key, &late[0]).expect("copied");
    assert_eq!(event(&mut two).await, MeshEvent::KeysRead);
    let known = two.keys().status();
    assert!(known.sent.is_some() && known.accepted.len() == 1, "{known:?}");
    assert!(known.missing.is_some_and(|why| why.contains("late-old.key")));
    let heard = async { while !hears(&one, &mut two).await {} };
    timeout(PATIENCE, heard).await.expect("heard");
    prove(&one, &two);
    two.dial(name(1), fleet.lan.link_address(1));
    link_up(&mut two).await;
    std::fs::rename(key_file(&fleet.directory, "old.key"), &late[1]).expect("there");
    assert_eq!(event(&mut two).await, MeshEvent::KeysRead);
    let known = two.keys().status();
    assert!(known.accepted.len() == 2 && known.missing.is_none(), "{known:?}");
}

/// H3: a disk that hangs keeps neither the loop waiting nor the end of the mesh.
#[tokio::test]
async fn a_disk_that_hangs_under_the_keys_keeps_nobody_waiting() {
    let fleet = Fleet::new();
    // Two, so that the mesh ends while the disk hangs, and also when it no longer does.
    for ends_first in [true, false] {
        let (hangs, disk) = std::sync::mpsc::sync_channel(0);
        let mut settings = fleet.with_keys(1, &fleet.key);
        let keys = Arc::get_mut(&mut settings.keys).expect("the only owner");
        keys.hangs = Some(std::sync::Mutex::new(disk));
        // To wait for the disk without limit comes to an end too, and has the keys then.
        let (mend, broken) = std::sync::mpsc::sync_channel::<()>(0);
        let disk = std::thread::spawn(move || {
            let mended = broken.recv_timeout(10 * super::super::keys::LIMIT);
            drop(hangs);
            mended
        });
        let mut mesh = Mesh::start(settings).expect("a mesh");
        mesh.wait_for_keys().await;
        assert_eq!(mesh.keys().status().missing.as_deref(), Some("not read yet"));
        if ends_first {
            timeout(PATIENCE, mesh.shut_down()).await.expect("it ends");
            assert!(!disk.is_finished(), "it hangs all the time");
            drop(mend);
        } else {
            drop(mend);
            assert_eq!(event(&mut mesh).await, MeshEvent::KeysRead);
            let known = mesh.keys().status();
            assert!(known.sent.is_some() && known.missing.is_none(), "{known:?}");
        }
        disk.join().expect("no panic").expect_err("nothing is sent");
    }
}

/// Without a file there is nothing to wait for: the keys are there at the start.
#[tokio::test]
async fn a_node_without_key_files_has_its_keys_at_once() {
    let lan = Lan::new();
    for settings in [lan.settings(1), with_keys(&lan, 2, "none")] {
        let mesh = Mesh::start(settings).expect("a mesh");
        assert!(mesh.keys().get().is_some());
        assert_eq!(mesh.keys().status().missing, None);
    }
    // TEST-NET-1 is not loopback.
    let mut settings = lan.settings(3);
    let address = Ipv4Addr::new(192, 0, 2, 1);
    settings.keys = Arc::new(Keys::new(KeyFiles::default(), fleet(), address));
    let mesh = Mesh::start(settings).expect("a mesh");
    assert!(mesh.keys().status().missing.is_some_and(|why| why.contains("liftmesh keygen")));
}

/// Two nodes with these keys and packets; the second has heard the first.
async fn with_packets(packets: &PacketSettings, fleet: &Fleet, keys: &str) -> (Mesh, Mesh) {
    let start = |node| {
        let packets = Some(packets.clone());
        with_its_keys(MeshSettings { packets, ..fleet.with_keys(node, keys) })
    };
    let (one, mut two) = (start(1), start(2));
    one.broadcast(&beacon(&one, 1));
    assert!(matches!(event(&mut two).await, MeshEvent::Beacon { .. }));
    (one, two)
}

/// A bare beacon, which anybody can send while a key is introduced, makes no packet look old.
#[tokio::test]
async fn a_bare_beacon_does_not_date_packets() {
    let fleet = Fleet::new();
    let (lan, packets) = (&fleet.lan, packets_of(&fleet.lan));
    let (one, mut two) = with_packets(&packets, &fleet, &format!("{},none", fleet.key)).await;
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
    let fleet = Fleet::new();
    let lan = &fleet.lan;
    let packets = PacketSettings { foreign_devices: true, ..packets_of(lan) };
    let (one, mut two) = with_packets(&packets, &fleet, &fleet.key).await;
    prove(&two, &one);
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
