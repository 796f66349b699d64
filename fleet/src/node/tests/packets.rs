//! What comes and goes by packet.

use core::net::Ipv4Addr;

use super::*;
use crate::climate::{DisplayData, Reading};
use crate::election::{Message, ballot};
use crate::model::Protocol;
use crate::peers::PacketCounts;

fn ballot(index: u8) -> Node {
    electing(index, 1, ElectionSettings::of(Protocol::Ballot))
}

fn packets(actions: &[Action]) -> Vec<(Option<Ipv4Addr>, Message)> {
    let packet = |action: &Action| {
        let Action::Packet { to, bytes } = action else { return None };
        Some((*to, ballot::packet::decode(bytes).expect("a packet")))
    };
    actions.iter().filter_map(packet).collect()
}

fn bytes(message: &Message) -> Vec<u8> {
    ballot::packet::encode(message).expect("a packet")
}

fn vote(number: u32) -> Message {
    ballot::Message::Vote(number).into()
}

/// Two nodes that hear each other and have synced, of which none leads yet.
fn pair() -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = linked_after(ballot(1), ballot(2), 3);
    drain(&mut one);
    drain(&mut two);
    (one, two, now)
}

/// V12
#[test]
fn a_vote_counts_from_the_address_of_a_synced_node() {
    let (mut one, two, now) = pair();
    let two = two.hello().address;
    one.handle_packet(two, &bytes(&vote(0)), now);
    let answers = packets(&drain(&mut one));
    assert!(
        matches!(answers[..], [(None, Message::Ballot(ballot::Message::Vote(_)))]),
        "{answers:?}"
    );
    one.handle_packet(two, &bytes(&Message::SensorRequest), now);
    assert_eq!(*one.node_state(), NodeState::Slave { master: name(2) });
}

/// V12: known, but states have not been exchanged; and not known at all.
#[test]
fn what_only_a_synced_node_may_send_is_dropped_from_others_and_counted() {
    let (mut one, mut two) = (ballot(1), ballot(2));
    let now = Timestamp::START + PERIOD * 3;
    talk(&mut one, &mut two, Timestamp::START, now);
    drain(&mut one);
    for (count, from) in [(4, address(2)), (8, address(77))] {
        for message in [
            vote(0),
            ballot::Message::Reset.into(),
            Message::SensorRequest,
            Message::DisplayData(DisplayData { temperature: None, time: 0, brightness: 0 }),
        ] {
            one.handle_packet(from, &bytes(&message), now);
        }
        assert_eq!(one.peers.packets.strange, count);
    }
    assert_eq!(packets(&drain(&mut one)), []);
    assert_eq!(*one.node_state(), NodeState::Seeking);
}

/// V12, C4: the network hands its own packets back; a bare device may answer.
#[test]
fn a_node_ignores_its_own_packets_and_noise_and_takes_answers_of_devices() {
    let (mut one, _, now) = pair();
    let own = one.hello().address;
    one.handle_packet(own, &bytes(&vote(0)), now);
    one.handle_packet(own, b"", now);
    assert_eq!(one.peers.packets, PacketCounts::default());
    one.handle_packet(address(2), b"nonsense", now);
    one.handle_packet(address(77), &[9; 2000], now);
    let answer = Message::SensorData(Reading { temperature: Some(21), illuminance: Some(180) });
    one.handle_packet(address(77), &bytes(&answer), now);
    one.handle_packet(address(2), &bytes(&answer), now);
    let counts = PacketCounts { device_answers: 1, malformed: 2, ..PacketCounts::default() };
    assert_eq!(one.peers.packets, counts);
    assert_eq!(packets(&drain(&mut one)), []);
}
