use elevator_driver::FloorCount;

use super::*;
use crate::model::{BuildingHash, FleetName, Mac, NodeState, Protocol, Role, Term};
use crate::peers::beacon::{MOST_ECHOES, STRANGERS_ECHOED};
use crate::wire::codec::WireError;
use crate::wire::{Delta, Echo};

const FOUND: Heard = Heard::Current { found: true, replaced: false };
const UNPROVEN: Heard = Heard::Dropped(BeaconFate::Unproven);
const REPLAYED: Heard = Heard::Dropped(BeaconFate::Replayed);
const REPLACED: Heard = Heard::Current { found: true, replaced: true };

fn hello(node: &str, address: u8, nonce: u64) -> Hello {
    let address = Ipv4Addr::new(127, 0, 0, address);
    Hello {
        fleet: FleetName::new("test").expect("a name"),
        node: NodeId::new(node).expect("a name"),
        address,
        nonce: Nonce(nonce),
        floors: FloorCount::new(4).expect("floors"),
        building: BuildingHash::default(),
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

fn building() -> Arc<Building> {
    Arc::new(FloorCount::new(4).expect("floors").into())
}

/// Node A, which has sent one beacon.
fn members() -> Membership {
    let mut members = Membership::new(hello("A", 1, 1), building(), MeshTimes::default());
    sends(&mut members, 1, at(1_000));
    members
}

/// A recorded run of beacons that is sent again does not bring the peer's earlier state back.
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
        assert_eq!(members.hear(old, at(1_515 + 15 * again)), REPLAYED);
        let state = members.get(&peer.node).map(|peer| &peer.node_state);
        assert_eq!(state, Some(&NodeState::Seeking));
    }
}

#[test]
fn the_first_of_too_many_lost_peers_makes_room() {
    let (mut members, mut now) = (members(), at(1_000));
    for number in 0..70_u8 {
        let hello = hello(&format!("N{number}"), 10 + number, 10 + u64::from(number));
        members.meet(&hello, LinkSide::Dialled, now);
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
    assert_eq!(
        members.meet(&of_fleet, LinkSide::Dialled, now),
        Heard::Dropped(BeaconFate::Foreign)
    );
    let (of_name, of_address) = (hello("A", 5, 5), hello("E", 1, 6));
    for stranger in [&of_nine_floors(hello("C", 3, 3)), &of_election, &of_name, &of_address] {
        assert!(matches!(members.meet(stranger, LinkSide::Dialled, now), Heard::Conflict(_)));
    }
    assert_eq!(
        members.meet(&of_name, LinkSide::Dialled, now),
        Heard::Dropped(BeaconFate::Ignored),
        "two of this name"
    );
    assert_eq!(members.meet(&of_address, LinkSide::Dialled, now), FOUND, "both are heard");
    let mut hear = |error| members.hear_unreadable(Ipv4Addr::new(127, 0, 0, 7), &error, now);
    assert!(hear(WireError::Version(9)).is_some());
    assert_eq!(hear(WireError::Version(9)), None, "reported once");
    assert_eq!(hear(WireError::Key(7)), None, "listed only");
    let listed: Vec<_> = members.conflicts().recent(now).map(|(_, c)| c.kind).collect();
    for kind in [K::Name, K::Address, K::Building, K::Election, K::Version, K::Key, K::Fleet] {
        assert!(listed.contains(&kind), "{kind:?}");
    }
    let later = now + Duration::from_mins(1);
    assert_eq!(members.conflicts().recent(later).count(), 0);
    for number in 0..200_u8 {
        members.hear_unreadable(Ipv4Addr::new(10, 0, 0, number), &WireError::Key(2), later);
    }
    assert_eq!(members.conflicts().recent(later).count(), 16, "a flood is not listed in full");
}

/// E1, E4: late packets of a process that has ended do not bring it back.
#[test]
fn a_late_beacon_does_not_bring_back_a_process_that_has_ended() {
    let (mut members, ended, next) = (members(), hello("B", 2, 7), hello("B", 2, 8));
    assert_eq!(members.hear(&beacon(&ended, 40, &[echo(1)]), at(1_000)), FOUND);
    assert_eq!(members.hear(&beacon(&next, 1, &[echo(1)]), at(1_005)), REPLACED);
    for sequence in [39, 40, 41] {
        let late = beacon(&ended, sequence, &[echo(1)]);
        assert_eq!(members.hear(&late, at(1_025)), UNPROVEN);
    }
    assert_eq!(members.meet(&ended, LinkSide::Dialled, at(1_025)), UNPROVEN);
    assert_eq!(members.get(&next.node).map(|peer| peer.hello.nonce), Some(Nonce(8)));
    // Nothing of it that comes later proves anything: it echoes what was sent long ago.
    sends(&mut members, 2, at(3_025));
    assert_eq!(members.hear(&beacon(&ended, 42, &[echo(1)]), at(3_025)), UNPROVEN);
}

/// When A loses B, which lives or not; A runs for 130 ms, and is held up for 170 ms, and so on.
fn lost_by_a_node_that_is_often_held_up(lives: bool) -> Option<u64> {
    let (mut members, peer) = (members(), hello("B", 2, 7));
    members.meet(&peer, LinkSide::Dialled, at(1_000));
    let (mut echoed, mut waiting, mut stopped) = (1, Vec::new(), None);
    for millis in 1_000..21_000 {
        let (now, is_due) = (at(millis), millis % 25 == 0);
        if lives && is_due {
            waiting.push(beacon(&peer, millis, &[echo(echoed)]));
        }
        if millis % 300 >= 130 {
            stopped.get_or_insert(now);
            continue;
        }
        if let Some(since) = stopped.take() {
            members.excuse_silence(now.since(since), now);
        }
        if is_due {
            echoed = millis;
            sends(&mut members, echoed, now);
        }
        if !members.check(now).0.is_empty() {
            return Some(millis - 1_000);
        }
        for beacon in waiting.drain(..) {
            members.hear(&beacon, now);
        }
    }
    None
}

/// H1, N2: what a node does not hear while it runs counts, however often it is held up.
#[test]
fn a_node_that_is_often_held_up_loses_dead_peers_only() {
    assert_eq!(lost_by_a_node_that_is_often_held_up(true), None);
    let lost = lost_by_a_node_that_is_often_held_up(false);
    assert!(lost.is_some_and(|after| after < 2_000), "{lost:?}");
}

/// How long node A puts up with the silence of B, which has run once in this time for two seconds
/// and then does not run any more. Every so many of its beacons get lost.
fn lost_after(runs_every: u64, loses_every: u64) -> Duration {
    let (mut members, peer) = (members(), hello("B", 2, 7));
    members.meet(&peer, LinkSide::Dialled, at(1_000));
    let (mut ran, mut sent) = (1_000, 0);
    for millis in 1_001..5_000 {
        if millis % 25 == 0 {
            sends(&mut members, millis, at(millis));
        }
        if !members.check(at(millis)).0.is_empty() {
            return Duration::from_millis(millis - ran);
        }
        if millis < 3_000 && millis - ran >= runs_every {
            (ran, sent) = (millis, sent + 1);
            if sent % loses_every > 0 || loses_every == 1 {
                members.hear(&beacon(&peer, sent, &[echo(millis / 25 * 25)]), at(millis));
            }
        }
    }
    panic!("it is never lost");
}

/// H1, N2: where peers are often held up, silence says less. A missing beacon was lost, not late.
#[test]
fn a_peer_that_is_often_late_is_lost_later_and_one_whose_beacons_get_lost_is_not() {
    let (dead_after, period) = (MeshTimes::default().dead_after, Duration::from_millis(25));
    for usual in [lost_after(25, 1), lost_after(25, 3)] {
        assert!(usual <= dead_after + period, "{usual:?}");
    }
    let late = lost_after(120, 1);
    assert!(late >= dead_after * 2 && late <= dead_after + Duration::from_secs(1), "{late:?}");
}

/// Strangers take no echo from a peer, and each has its turn soon: it may be a restarted node.
#[test]
fn no_number_of_strangers_keeps_peers_from_being_echoed() {
    for (peers, strangers) in
        [(7, 0), (7, 400), (27, 480), (31, 448), (32, 300), (60, 400), (63, 1), (63, 400), (64, 9)]
    {
        // Their nonces mix with those of the peers.
        let nonces: BTreeSet<u64> = (0..peers).map(|index| 1_000 + 100 * index).collect();
        let mut members = members();
        for (name, nonce) in nonces.iter().enumerate() {
            members.meet(&hello(&format!("N{name}"), 2, *nonce), LinkSide::Dialled, at(1_000));
        }
        for index in 0..strangers {
            let stranger = hello(&format!("GHOST{index}"), 3, 1_050 + 100 * index);
            members.hear(&beacon(&stranger, 1, &[]), at(1_000));
        }
        let turns = (nonces.len() + 1).div_ceil(MOST_ECHOES - STRANGERS_ECHOED);
        let mut missed: BTreeMap<u64, usize> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for turn in 1..=turns as u64 * 400 {
            let echoes = members.echoes(MOST_ECHOES);
            let told: BTreeSet<u64> = echoes.iter().map(|echo| echo.nonce.0).collect();
            assert_eq!(told.len(), echoes.len(), "nobody twice");
            others.extend(told.difference(&nonces).copied());
            let all_had_turns = others.len() as u64 == strangers;
            assert!(turn < strangers.div_ceil(4) || all_had_turns, "{peers}: {strangers}");
            for nonce in &nonces {
                let missed = missed.entry(*nonce).or_default();
                *missed = if told.contains(nonce) { 0 } else { *missed + 1 };
                assert!(*missed < turns, "{peers} peers, {strangers} strangers");
            }
        }
    }
}
