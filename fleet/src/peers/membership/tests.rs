use elevator_driver::{Floor, FloorCount};

use std::time::Duration;

use super::*;
use crate::model::{
    Availability, CarView, FleetName, Mac, NodeState, Protocol, Role, Term, Unavailable,
};
use crate::wire::codec::WireError;
use crate::wire::{Delta, Echo};

fn hello(node: &str, address: u8, nonce: u64) -> Hello {
    Hello {
        fleet: FleetName::new("test").expect("a name"),
        node: NodeId::new(node).expect("a name"),
        address: Ipv4Addr::new(127, 0, 0, address),
        nonce: Nonce(nonce),
        floors: FloorCount::new(4).expect("floors"),
        protocol: Protocol::LowestIp,
        mac: Mac::of(Ipv4Addr::new(127, 0, 0, address)),
        role: Role::Cabin,
    }
}

fn beacon(hello: Hello, sequence: u64, echoes: &[Echo]) -> Beacon {
    Beacon {
        hello,
        link_port: 46_000,
        sequence,
        node_state: NodeState::Seeking,
        term: Term(1),
        led: Term(1),
        estimate: 0,
        digest: 0,
        power: 0,
        durable: true,
        period: 25,
        probe: false,
        echoes: echoes.to_vec(),
        delta: Delta::default(),
        piggybacked: None,
    }
}

fn membership() -> Membership {
    Membership::new(hello("A", 1, 1), MeshTimes::default())
}

/// A connection in a node's name and address does not end the node's incarnation; its next process,
/// which hears this node, does, and so does one that comes after a silence.
#[test]
fn a_connection_alone_does_not_end_an_incarnation() {
    let mut membership = membership();
    let mut now = Timestamp::START + Duration::from_secs(1);
    assert_eq!(membership.meet(&hello("B", 2, 7), LinkSide::Accepted, now), FOUND);
    membership.sent(1, MeshTimes::default().beacon_period, now);
    for incarnation in 8..20 {
        assert_eq!(
            membership.meet(&hello("B", 2, incarnation), LinkSide::Accepted, now),
            Heard::Unproven
        );
        let peer = membership.get(&hello("B", 2, 7).node).expect("it lives");
        assert_eq!(peer.hello.nonce, Nonce(7));
    }
    let next = Heard::Current { found: true, replaced: true };
    let echo = Echo { nonce: Nonce(1), sequence: 1 };
    assert_eq!(membership.hear(&beacon(hello("B", 2, 20), 1, &[echo]), now), next);
    now = now + MeshTimes::default().dead_after;
    assert_eq!(membership.meet(&hello("B", 2, 21), LinkSide::Accepted, now), next);
}

const FOUND: Heard = Heard::Current { found: true, replaced: false };

/// A node whose address or configuration was changed: what was said of it is over once it counts.
#[test]
fn a_conflict_is_over_once_its_node_counts() {
    let mut members = membership();
    let mut now = Timestamp::START;
    let floors = FloorCount::new(9).expect("floors");
    assert_eq!(members.meet(&hello("B", 2, 2), LinkSide::Accepted, now), FOUND);
    let (moved, mended) = (hello("B", 3, 3), hello("C", 5, 5));
    for misfit in [moved.clone(), Hello { floors, ..hello("C", 4, 4) }, hello("D", 1, 6)] {
        assert!(matches!(members.meet(&misfit, LinkSide::Accepted, now), Heard::Conflict(_)));
    }
    assert_eq!(members.meet(&mended, LinkSide::Accepted, now), FOUND);
    now = now + MeshTimes::default().dead_after;
    members.check_at = None;
    assert_eq!(members.check(now).0.len(), 2, "B and C are lost");
    for back in [moved, mended] {
        members.meet(&back, LinkSide::Accepted, now);
    }
    let listed: Vec<_> = members.conflicts().recent(now).map(|(_, it)| it.kind).collect();
    assert_eq!(listed, [ConflictKind::Address], "D still has the address of this node");
}

/// An old beacon that is sent again, of this node before its restart or of one that has been
/// configured anew since, is no conflict: its sender does not hear this node now.
#[test]
fn a_conflict_is_told_of_once_the_other_node_hears_this_one() {
    let mut members = membership();
    let now = Timestamp::START + Duration::from_secs(1);
    members.sent(1, MeshTimes::default().beacon_period, now);
    let floors = FloorCount::new(9).expect("floors");
    let others = [
        hello("A", 1, 2),
        hello("A", 2, 3),
        Hello { floors, ..hello("B", 3, 4) },
        Hello { protocol: Protocol::Bully, ..hello("C", 4, 5) },
        hello("D", 1, 6),
    ];
    for other in others {
        let mut hear =
            |sequence, echoes: &[Echo]| members.hear(&beacon(other.clone(), sequence, echoes), now);
        assert_eq!(hear(1, &[]), Heard::Unproven, "{other:?}");
        let of_another_life = [Echo { nonce: Nonce(77), sequence: 1 }];
        assert_eq!(hear(2, &of_another_life), Heard::Unproven, "{other:?}");
        assert_eq!(hear(2, &of_another_life), Heard::Replayed, "sent again: {other:?}");
        let echo = [Echo { nonce: Nonce(1), sequence: 1 }];
        assert!(matches!(hear(3, &echo), Heard::Conflict(_)), "{other:?}");
    }
    // Each gets its turn, so that the other node finds out too.
    let echoed: BTreeSet<u64> =
        (0..4).flat_map(|_| members.echoes(4)).map(|echo| echo.nonce.0).collect();
    assert_eq!(echoed, BTreeSet::from([2, 3, 4, 5, 6]));
}

/// A recorded run of beacons, sent again in its order while the peer's own are late or lost, does not
/// bring the peer's earlier state back.
#[test]
fn a_run_of_beacons_that_is_sent_again_is_not_the_latest() {
    let mut members = membership();
    let mut now = Timestamp::START + Duration::from_secs(1);
    let mut recorded = Vec::new();
    for sequence in 1..=20 {
        now = now + Duration::from_millis(25);
        members.sent(sequence, MeshTimes::default().beacon_period, now);
        let node_state = if sequence < 10 { NodeState::Master } else { NodeState::Seeking };
        let echo = [Echo { nonce: Nonce(1), sequence }];
        let said = Beacon { node_state, ..beacon(hello("B", 2, 7), sequence, &echo) };
        assert!(members.hear(&said, now).is_first());
        recorded.push(said);
    }
    let name = NodeId::new("B").expect("a name");
    for old in recorded.iter().take(9) {
        now = now + Duration::from_millis(15);
        assert_eq!(members.hear(old, now), Heard::Replayed);
        assert_eq!(members.get(&name).map(|peer| &peer.node_state), Some(&NodeState::Seeking));
    }
}

/// However many recordings are sent again: a node that hears this one has a place.
#[test]
fn incarnations_that_may_be_recordings_leave_room_for_a_peer() {
    let mut members = membership();
    let now = Timestamp::START + Duration::from_secs(1);
    members.sent(1, MeshTimes::default().beacon_period, now);
    for nonce in 0..MOST_INCARNATIONS as u64 {
        let recorded = hello("B", 2, 1_000 + nonce);
        assert_eq!(members.hear(&beacon(recorded, 1, &[]), now), Heard::Unproven);
    }
    let peer = hello("B", 2, 7);
    assert_eq!(members.hear(&beacon(peer.clone(), 1, &[]), now), Heard::Ignored);
    let echo = [Echo { nonce: Nonce(1), sequence: 1 }];
    assert_eq!(members.hear(&beacon(peer, 2, &echo), now), FOUND);
}

#[test]
fn a_lost_peer_is_listed_with_its_cause_until_it_comes_back_or_a_day_has_passed() {
    let mut members = membership();
    let listed = |members: &Membership, now| -> Vec<(String, LossCause)> {
        let recent = members.lost().recent(now);
        recent.map(|(name, lost)| (name.to_string(), lost.cause)).collect()
    };
    let (start, day) = (Timestamp::START, Duration::from_hours(24));
    let (hung, silent) = (hello("B", 2, 2), hello("C", 3, 3));
    members.meet(&silent, LinkSide::Accepted, start);
    members.meet(&hung, LinkSide::Accepted, start);
    let availability = Availability::Unavailable(Unavailable::Hung);
    let view = CarView { availability, ..CarView::idle_at(Floor::BOTTOM) };
    members.get_mut(&hung.node).expect("met").car = Some((view, start));
    members.check(start + MeshTimes::default().dead_after);
    let (hung, silent) = (("B".to_owned(), LossCause::Hung), ("C".to_owned(), LossCause::Silent));
    assert_eq!(listed(&members, start + day / 2), [hung.clone(), silent]);
    assert_eq!(listed(&members, start + day), []);
    members.meet(&hello("C", 3, 4), LinkSide::Accepted, start + day / 2);
    assert_eq!(listed(&members, start + day / 2), [hung], "the other is back");
}

#[test]
fn the_first_of_too_many_lost_peers_makes_room() {
    let mut members = membership();
    let mut now = Timestamp::START;
    for number in 0..70_u8 {
        let name = format!("N{number}");
        let hello = hello(&name, 10 + number, 10 + u64::from(number));
        members.meet(&hello, LinkSide::Accepted, now);
        let (gone, _) = members.check(now + MeshTimes::default().dead_after);
        assert_eq!(gone, [hello.node]);
        now = now + Duration::from_secs(1);
    }
    assert_eq!(members.lost().recent(now).count(), 64);
    let first = NodeId::new("N0").expect("a name");
    assert!(members.lost().recent(now).all(|(name, _)| *name != first));
}

/// Every way in which a node may not fit is listed while it shows, and reported once.
#[test]
fn conflicts_are_listed_while_they_show() {
    type K = ConflictKind;

    let mut members = membership();
    let own = hello("A", 1, 1);
    let now = Timestamp::START;
    let of_fleet = Hello { fleet: FleetName::new("other").expect("a name"), ..hello("B", 2, 2) };
    let of_floors = Hello { floors: FloorCount::new(9).expect("floors"), ..hello("C", 3, 3) };
    let of_election = Hello { protocol: Protocol::Bully, ..hello("D", 4, 4) };
    assert_eq!(members.meet(&of_fleet, LinkSide::Accepted, now), Heard::Foreign);
    for stranger in [
        of_floors,
        of_election,
        hello("A", 5, 5),
        Hello { address: own.address, ..hello("E", 1, 6) },
    ] {
        assert!(matches!(members.meet(&stranger, LinkSide::Accepted, now), Heard::Conflict(_)));
    }
    let meet = |members: &mut Membership, own: &Hello| members.meet(own, LinkSide::Accepted, now);
    assert_eq!(meet(&mut members, &hello("A", 5, 5)), Heard::Ignored, "two of this name");
    assert_eq!(meet(&mut members, &hello("E", 1, 6)), FOUND, "of this address: both are heard");
    let mut hear = |error| members.hear_unreadable(Ipv4Addr::new(127, 0, 0, 7), &error, now);
    assert!(hear(WireError::Version(9)).is_some());
    assert_eq!(hear(WireError::Version(9)), None, "reported once");
    assert_eq!(hear(WireError::Key(7)), None, "listed only");
    let listed: Vec<_> = members.conflicts().recent(now).map(|(_, c)| c.kind).collect();
    for kind in [K::Name, K::Address, K::Floors, K::Election, K::Version, K::Key, K::Fleet] {
        assert!(listed.contains(&kind), "{kind:?}");
    }
    let later = now + Duration::from_mins(1);
    assert_eq!(members.conflicts().recent(later).count(), 0);
    for number in 0..200_u8 {
        members.hear_unreadable(Ipv4Addr::new(10, 0, 0, number), &WireError::Key(2), later);
    }
    assert_eq!(members.conflicts().recent(later).count(), 16, "a flood is not listed in full");
}

/// Packets of a process may be under way for a while after its end: they must not bring it back in
/// the place of the next one (E1, E4).
#[test]
fn a_late_beacon_does_not_bring_back_a_process_that_has_ended() {
    let mut members = membership();
    let mut now = Timestamp::START + Duration::from_secs(1);
    members.sent(1, MeshTimes::default().beacon_period, now);
    let echo = Echo { nonce: Nonce(1), sequence: 1 };
    assert_eq!(members.hear(&beacon(hello("B", 2, 7), 40, &[echo]), now), FOUND);
    now = now + Duration::from_millis(5);
    let replaced = Heard::Current { found: true, replaced: true };
    assert_eq!(members.hear(&beacon(hello("B", 2, 8), 1, &[echo]), now), replaced);
    now = now + Duration::from_millis(20);
    for sequence in [39, 40, 41] {
        let late = beacon(hello("B", 2, 7), sequence, &[echo]);
        assert_eq!(members.hear(&late, now), Heard::Unproven);
    }
    let accepted = members.meet(&hello("B", 2, 7), LinkSide::Accepted, now);
    assert_eq!(accepted, Heard::Unproven);
    let peer = members.get(&hello("B", 2, 7).node).expect("it lives");
    assert_eq!(peer.hello.nonce, Nonce(8));
    // Nothing of it that comes later proves anything: it echoes what was sent long ago.
    now = now + Duration::from_secs(2);
    members.sent(2, MeshTimes::default().beacon_period, now);
    let late = beacon(hello("B", 2, 7), 42, &[echo]);
    assert_eq!(members.hear(&late, now), Heard::Unproven);
}

/// A beacon counts when it arrives; an answer over a link has what the network takes at best.
#[test]
fn an_answer_has_the_time_that_the_network_takes() {
    let ms = Duration::from_millis;
    for (travels, credited) in [(20, 0), (164, 114)] {
        let mut membership = membership();
        let begun = Timestamp::START + Duration::from_secs(1);
        let peer = hello("B", 2, 7);
        membership.meet(&peer, LinkSide::Accepted, begun);
        membership.sent(1, MeshTimes::default().beacon_period, begun);
        let heard = begun + ms(travels);
        membership.hear(&beacon(peer.clone(), 1, &[Echo { nonce: Nonce(1), sequence: 1 }]), heard);
        let asked = heard + ms(60);
        membership.alive(&peer.node, asked, asked + ms(travels));
        let known = membership.get(&peer.node).expect("a peer");
        assert_eq!(known.heard_at, asked + ms(credited), "{travels} ms");
        assert_eq!(known.echoed_at, Some(asked), "{travels} ms");
    }
}
