use std::time::Duration;

use elevator_driver::{Floor, FloorCount};

use super::*;
use crate::model::{
    Availability, CarView, FleetName, Mac, NodeState, Protocol, Role, Term, Unavailable,
};
use crate::wire::codec::WireError;
use crate::wire::{Delta, Echo};

const FOUND: Heard = Heard::Current { found: true, replaced: false };
const REPLACED: Heard = Heard::Current { found: true, replaced: true };

fn hello(node: &str, address: u8, nonce: u64) -> Hello {
    let address = Ipv4Addr::new(127, 0, 0, address);
    Hello {
        fleet: FleetName::new("test").expect("a name"),
        node: NodeId::new(node).expect("a name"),
        address,
        nonce: Nonce(nonce),
        floors: FloorCount::new(4).expect("floors"),
        protocol: Protocol::LowestIp,
        mac: Mac::of(address),
        role: Role::Cabin,
    }
}

fn of_nine_floors(hello: Hello) -> Hello {
    Hello { floors: FloorCount::new(9).expect("floors"), ..hello }
}

fn beacon(hello: &Hello, sequence: u64, echoes: &[Echo]) -> Beacon {
    Beacon {
        hello: hello.clone(),
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

fn echo(sequence: u64) -> Echo {
    Echo { nonce: Nonce(1), sequence }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::START + Duration::from_millis(millis)
}

fn sends(members: &mut Membership, sequence: u64, now: Timestamp) {
    members.sent(sequence, MeshTimes::default().beacon_period, now);
}

/// Node A, which has sent one beacon.
fn members() -> Membership {
    let mut members = Membership::new(hello("A", 1, 1), MeshTimes::default());
    sends(&mut members, 1, at(1_000));
    members
}

fn meets(members: &mut Membership, hello: &Hello, now: Timestamp) -> Heard {
    members.meet(hello, LinkSide::Accepted, now)
}

/// A connection in a node's name and address does not end the node's incarnation; its next process,
/// which hears this node, does, and so does one that comes after a silence.
#[test]
fn a_connection_alone_does_not_end_an_incarnation() {
    let (mut members, first) = (members(), hello("B", 2, 7));
    assert_eq!(meets(&mut members, &first, at(1_000)), FOUND);
    for incarnation in 8..20 {
        let connected = meets(&mut members, &hello("B", 2, incarnation), at(1_000));
        assert_eq!(connected, Heard::Unproven);
        assert_eq!(members.get(&first.node).map(|peer| peer.hello.nonce), Some(Nonce(7)));
    }
    let heard = members.hear(&beacon(&hello("B", 2, 20), 1, &[echo(1)]), at(1_000));
    assert_eq!(heard, REPLACED);
    let silent = at(1_000) + MeshTimes::default().dead_after;
    assert_eq!(meets(&mut members, &hello("B", 2, 21), silent), REPLACED);
}

/// A node whose address or configuration was changed: what was said of it is over once it counts.
#[test]
fn a_conflict_is_over_once_its_node_counts() {
    let (mut members, now) = (members(), at(1_000));
    assert_eq!(meets(&mut members, &hello("B", 2, 2), now), FOUND);
    let (moved, mended) = (hello("B", 3, 3), hello("C", 5, 5));
    for misfit in [moved.clone(), of_nine_floors(hello("C", 4, 4)), hello("D", 1, 6)] {
        assert!(matches!(meets(&mut members, &misfit, now), Heard::Conflict(_)));
    }
    assert_eq!(meets(&mut members, &mended, now), FOUND);
    let now = now + MeshTimes::default().dead_after;
    members.check_at = None;
    assert_eq!(members.check(now).0.len(), 2, "B and C are lost");
    for back in [moved, mended] {
        meets(&mut members, &back, now);
    }
    let listed: Vec<_> = members.conflicts().recent(now).map(|(_, it)| it.kind).collect();
    assert_eq!(listed, [ConflictKind::Address], "D still has the address of this node");
}

/// An old beacon that is sent again, of this node before its restart or of one that has been
/// configured anew since, is no conflict: its sender does not hear this node now.
#[test]
fn a_conflict_is_told_of_once_the_other_node_hears_this_one() {
    let mut members = members();
    let others = [
        hello("A", 1, 2),
        hello("A", 2, 3),
        of_nine_floors(hello("B", 3, 4)),
        Hello { protocol: Protocol::Bully, ..hello("C", 4, 5) },
        hello("D", 1, 6),
    ];
    for other in others {
        let mut hear = |sequence, echo| members.hear(&beacon(&other, sequence, &[echo]), at(1_000));
        let of_another_life = Echo { nonce: Nonce(77), sequence: 1 };
        assert_eq!(hear(1, of_another_life), Heard::Unproven, "{other:?}");
        assert_eq!(hear(1, of_another_life), Heard::Replayed, "sent again: {other:?}");
        assert!(matches!(hear(2, echo(1)), Heard::Conflict(_)), "{other:?}");
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
    let (mut members, peer) = (members(), hello("B", 2, 7));
    let mut recorded = Vec::new();
    for sequence in 2..=20 {
        let now = at(1_000 + 25 * sequence);
        sends(&mut members, sequence, now);
        let node_state = if sequence < 10 { NodeState::Master } else { NodeState::Seeking };
        let said = Beacon { node_state, ..beacon(&peer, sequence, &[echo(sequence)]) };
        assert!(members.hear(&said, now).is_first());
        recorded.push(said);
    }
    for (old, again) in recorded.iter().zip(0..9) {
        assert_eq!(members.hear(old, at(1_515 + 15 * again)), Heard::Replayed);
        let state = members.get(&peer.node).map(|peer| &peer.node_state);
        assert_eq!(state, Some(&NodeState::Seeking));
    }
}

/// However many recordings are sent again: a node that hears this one has a place.
#[test]
fn incarnations_that_may_be_recordings_leave_room_for_a_peer() {
    let (mut members, now) = (members(), at(1_000));
    for nonce in 0..MOST_INCARNATIONS as u64 {
        let recorded = beacon(&hello("B", 2, 1_000 + nonce), 1, &[]);
        assert_eq!(members.hear(&recorded, now), Heard::Unproven);
    }
    let peer = hello("B", 2, 7);
    assert_eq!(members.hear(&beacon(&peer, 1, &[]), now), Heard::Ignored);
    assert_eq!(members.hear(&beacon(&peer, 2, &[echo(1)]), now), FOUND);
}

#[test]
fn a_lost_peer_is_listed_with_its_cause_until_it_comes_back_or_a_day_has_passed() {
    let mut members = members();
    let listed = |members: &Membership, now| -> Vec<(String, LossCause)> {
        let recent = members.lost().recent(now);
        recent.map(|(name, lost)| (name.to_string(), lost.cause)).collect()
    };
    let (start, day) = (at(1_000), Duration::from_hours(24));
    let (hung, silent) = (hello("B", 2, 2), hello("C", 3, 3));
    meets(&mut members, &silent, start);
    meets(&mut members, &hung, start);
    let availability = Availability::Unavailable(Unavailable::Hung);
    let view = CarView { availability, ..CarView::idle_at(Floor::BOTTOM) };
    members.get_mut(&hung.node).expect("met").car = Some((view, start));
    members.check(start + MeshTimes::default().dead_after);
    let (hung, silent) = (("B".to_owned(), LossCause::Hung), ("C".to_owned(), LossCause::Silent));
    assert_eq!(listed(&members, start + day / 2), [hung.clone(), silent]);
    assert_eq!(listed(&members, start + day), []);
    meets(&mut members, &hello("C", 3, 4), start + day / 2);
    assert_eq!(listed(&members, start + day / 2), [hung], "the other is back");
}

#[test]
fn the_first_of_too_many_lost_peers_makes_room() {
    let (mut members, mut now) = (members(), at(1_000));
    for number in 0..70_u8 {
        let hello = hello(&format!("N{number}"), 10 + number, 10 + u64::from(number));
        meets(&mut members, &hello, now);
        let (gone, _) = members.check(now + MeshTimes::default().dead_after);
        assert_eq!(gone, [hello.node]);
        now = now + Duration::from_secs(1);
    }
    assert_eq!(members.lost().recent(now).count(), 64);
    assert!(members.lost().get(&hello("N0", 10, 10).node).is_none());
}

/// Every way in which a node may not fit is listed while it shows, and reported once.
#[test]
fn conflicts_are_listed_while_they_show() {
    type K = ConflictKind;

    let (mut members, now) = (members(), at(1_000));
    let of_fleet = Hello { fleet: FleetName::new("other").expect("a name"), ..hello("B", 2, 2) };
    let of_election = Hello { protocol: Protocol::Bully, ..hello("D", 4, 4) };
    assert_eq!(meets(&mut members, &of_fleet, now), Heard::Foreign);
    let (of_name, of_address) = (hello("A", 5, 5), hello("E", 1, 6));
    for stranger in [&of_nine_floors(hello("C", 3, 3)), &of_election, &of_name, &of_address] {
        assert!(matches!(meets(&mut members, stranger, now), Heard::Conflict(_)));
    }
    assert_eq!(meets(&mut members, &of_name, now), Heard::Ignored, "two of this name");
    assert_eq!(meets(&mut members, &of_address, now), FOUND, "both are heard");
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
    let (mut members, ended, next) = (members(), hello("B", 2, 7), hello("B", 2, 8));
    assert_eq!(members.hear(&beacon(&ended, 40, &[echo(1)]), at(1_000)), FOUND);
    assert_eq!(members.hear(&beacon(&next, 1, &[echo(1)]), at(1_005)), REPLACED);
    for sequence in [39, 40, 41] {
        let late = beacon(&ended, sequence, &[echo(1)]);
        assert_eq!(members.hear(&late, at(1_025)), Heard::Unproven);
    }
    assert_eq!(meets(&mut members, &ended, at(1_025)), Heard::Unproven);
    assert_eq!(members.get(&next.node).map(|peer| peer.hello.nonce), Some(Nonce(8)));
    // Nothing of it that comes later proves anything: it echoes what was sent long ago.
    sends(&mut members, 2, at(3_025));
    assert_eq!(members.hear(&beacon(&ended, 42, &[echo(1)]), at(3_025)), Heard::Unproven);
}

/// A beacon counts when it arrives; an answer over a link has what the network takes at best.
#[test]
fn an_answer_has_the_time_that_the_network_takes() {
    for (travels, credited) in [(20, 0), (164, 114)] {
        let (mut members, peer) = (members(), hello("B", 2, 7));
        meets(&mut members, &peer, at(1_000));
        members.hear(&beacon(&peer, 1, &[echo(1)]), at(1_000 + travels));
        let asked = 1_060 + travels;
        members.alive(&peer.node, at(asked), at(asked + travels));
        let known = members.get(&peer.node).expect("a peer");
        assert_eq!(known.heard_at, at(asked + credited), "{travels} ms");
        assert_eq!(known.echoed_at, Some(at(asked)), "{travels} ms");
    }
}
