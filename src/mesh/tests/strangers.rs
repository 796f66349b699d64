//! Peers and strangers who do not keep to the protocol.

use super::super::link::LINK_QUEUE;
use super::super::links::MOST_PER_ADDRESS;
use super::*;

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
    wait_until("frames arrive", || one.inbox.len() >= link::WAITING).await;
    three.broadcast(&beacon(&three, 1));
    let mut before = 0;
    while !matches!(event(&mut one).await, MeshEvent::Beacon { .. }) {
        before += 1;
        if before == 1 {
            // The beacon comes in before the rest of the flood is taken.
            let heard = || one.counters().get(Count::Received) > 0;
            wait_until("a beacon", heard).await;
        }
    }
    assert!(before <= link::WAITING + 1, "{before}");
}

#[tokio::test]
async fn strangers_who_say_nothing_keep_nobody_out() {
    let lan = Lan::new();
    let mut settings = lan.settings(1);
    settings.times.greeting = Duration::from_millis(500);
    let mut one = with_its_keys(settings);
    let mut silent: Vec<TcpStream> =
        (0..accept::GREETINGS_PER_ADDRESS + 2).map(|_| stranger(&lan, 9)).collect();
    let mut two = lan.start(2);
    two.dial(name(1), lan.link_address(1));
    link_up(&mut one).await;
    link_up(&mut two).await;
    assert!(one.counters().get(Count::Refused) >= 2);
    assert!(hung_up(&mut one, silent.remove(0)).await.is_ok());
}

/// Waits until the node ends this connection, without an event; an error if it was reset.
async fn hung_up(node: &mut Mesh, mut stranger: TcpStream) -> std::io::Result<usize> {
    stranger.set_read_timeout(Some(PATIENCE)).expect("set");
    let ended = tokio::task::spawn_blocking(move || stranger.read_to_end(&mut Vec::new()));
    tokio::select! {
        event = node.next_event() => panic!("{event:?}"),
        ended = timeout(PATIENCE, ended) => ended.expect("in time").expect("no panic"),
    }
}

/// A hello that is taken from elsewhere would end the links of the node that it names.
#[tokio::test]
async fn a_hello_in_the_name_of_another_address_is_refused() {
    let lan = Lan::new();
    let (mut one, link_of_one, mut two, link_of_two) = linked(&lan).await;
    let mut stranger = stranger(&lan, 9);
    stranger.write_all(&hello_bytes(&lan.settings(2))).expect("sent");
    hung_up(&mut one, stranger).await.ok();
    assert_eq!(one.counters().get(Count::Refused), 1);
    still_carries((&mut two, link_of_two), (&mut one, link_of_one)).await;
}

#[tokio::test]
async fn of_many_links_with_one_address_the_oldest_go() {
    let lan = Lan::new();
    let (mut one, link_of_one, _two, _) = linked(&lan).await;
    let (mut strangers, mut links, mut down) = (Vec::new(), Vec::new(), Vec::new());
    while links.len() < 3 * MOST_PER_ADDRESS {
        let mut stranger = stranger(&lan, 9);
        stranger.write_all(&hello_bytes(&lan.settings(9))).expect("sent");
        strangers.push(stranger);
        let link = loop {
            match event(&mut one).await {
                MeshEvent::LinkUp { link, .. } => break link,
                MeshEvent::LinkDown { link } => down.push(link),
                other => panic!("{other:?}"),
            }
        };
        links.push(link);
    }
    assert!(links.len() - down.len() <= MOST_PER_ADDRESS + 1);
    assert!(one.links.has(link_of_one), "the node's own link");
    assert_eq!(down, links[..down.len()]);
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
    assert!(!one.links.has(link));
}
