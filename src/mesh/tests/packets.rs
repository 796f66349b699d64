//! Packets of an election with a separate port.

use super::*;

fn with_packets(lan: &Lan, node: u8, packets: &PacketSettings) -> MeshSettings {
    MeshSettings { packets: Some(packets.clone()), ..lan.settings(node) }
}

pub(super) fn packets_of(lan: &Lan) -> PacketSettings {
    let socket = UdpSocket::bind((lan.address(253), 0)).expect("a socket");
    PacketSettings {
        port: socket.local_addr().expect("an address").port(),
        ..PacketSettings::default()
    }
}

pub(super) async fn packet(mesh: &mut Mesh) -> (Ipv4Addr, Vec<u8>) {
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
    let start = |node| with_its_keys(with_packets(&lan, node, &packets));
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
    assert_eq!(one.counters().get(Count::Oversized), 1, "too long");
    one.send_packet(Some(lan.address(9)), vec![3]);
    device.set_read_timeout(Some(PATIENCE)).expect("set");
    let received = tokio::task::spawn_blocking(move || device.recv(&mut [0; 16]));
    let received = received.await.expect("no panic");
    assert_eq!(received.expect("received"), 1);
}

/// V8: a larger network, and a group that spans several.
#[tokio::test]
async fn packets_may_go_to_a_multicast_group_as_far_as_they_are_set_to() {
    let lan = Lan::new();
    let group = Some(Ipv4Addr::new(239, 192, lan.net[0], lan.net[1]));
    let packets = PacketSettings { group, ttl: 7, ..packets_of(&lan) };
    let start = |node| with_its_keys(with_packets(&lan, node, &packets));
    let (one, mut two) = (start(1), start(2));
    one.send_packet(None, vec![5]);
    assert_eq!(packet(&mut two).await, (lan.address(1), vec![5]));
    let sockets = packets.open(&with_packets(&lan, 3, &packets)).expect("sockets");
    assert_eq!(SockRef::from(&sockets.own).multicast_ttl_v4().expect("an option"), 7);
}

/// V10
#[tokio::test]
async fn packets_may_be_bound_to_an_interface_by_its_name() {
    let lan = Lan::new();
    let packets = PacketSettings { interface: Some("lo".to_owned()), ..packets_of(&lan) };
    let start = |node| {
        let settings = with_packets(&lan, node, &packets);
        settings.keys.read().expect("none is needed");
        Mesh::start(settings)
    };
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
