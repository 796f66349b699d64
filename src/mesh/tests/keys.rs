//! Nodes with fleet keys, and those without.

use super::packets::{packet, packets_of};
use super::*;
use crate::fleet_key::{self, KeyText};

fn key_file(directory: &tempfile::TempDir, name: &str) -> String {
    let path = directory.path().join(name);
    fleet_key::create(&path, &KeyText::draw().expect("random numbers")).expect("written");
    path.to_str().expect("a path").to_owned()
}

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
        let files = KeyFiles::parse(keys).expect("a setting");
        let keys = Arc::new(Keys::new(files, fleet(), self.lan.address(node)));
        MeshSettings { keys, ..self.lan.settings(node) }
    }

    fn start(&self, node: u8) -> Mesh {
        with_its_keys(self.with_keys(node, &self.key))
    }
}

/// Lets the mesh know that the other node hears it.
fn prove(mesh: &Mesh, other: &Mesh) {
    let Hello { address, nonce, .. } = other.common.settings.hello;
    mesh.set_proven(&Peers::from([(address, nonce)]));
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

/// Connections from addresses without a peer wait for a beacon to prove one, and are no link without.
#[tokio::test]
async fn who_has_not_proven_itself_by_a_beacon_gets_no_link() {
    let fleet = Fleet::new();
    let mut settings = fleet.with_keys(1, &fleet.key);
    settings.times.greeting = Duration::from_millis(300);
    let (mut one, mut two) = (with_its_keys(settings), fleet.start(2));
    two.dial(name(1), fleet.lan.link_address(1));
    assert_eq!(event(&mut two).await, MeshEvent::DialFailed { peer: name(1) });
    assert_eq!(one.counters().get(Count::Refused), 1);

    let waiting = one.common.proven.0.receiver_count();
    two.dial(name(1), fleet.lan.link_address(1));
    wait_until("the greeting waits", || one.common.proven.0.receiver_count() > waiting).await;
    prove(&one, &two);
    link_up(&mut two).await;
    link_up(&mut one).await;
}

/// A node without keys serves alone, and takes part as soon as it has the one that it sends.
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

/// Where devices have no key, each packet leaves twice. A peer takes it in once, and counts nothing.
#[tokio::test]
async fn the_bare_copy_of_a_sealed_packet_is_no_stranger() {
    let fleet = Fleet::new();
    let lan = &fleet.lan;
    let packets = PacketSettings { foreign_devices: true, ..packets_of(lan) };
    let start = |node| {
        let packets = Some(packets.clone());
        with_its_keys(MeshSettings { packets, ..fleet.with_keys(node, &fleet.key) })
    };
    let (one, mut two) = (start(1), start(2));
    prove(&two, &one);
    assert!(hears(&one, &mut two).await);
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
