//! Row by row: signs of life, the recovery of a lost token, and its stamps (T6, T7).

use super::*;

/// T6: it broadcasts that it lives each T.
#[test]
fn a_holder_says_each_t_that_it_lives() {
    let mut holder = holder(1, &[2]);
    let outputs = fires(&mut holder, Timer::Life);
    let said = said(&outputs);
    assert!(matches!(said[..], [(None, Message::Life(_))]));
    assert_eq!(armed(&outputs, Timer::Life), Some(Settings::default().t));
}

/// T6: as in the source, a holder's own messages alone keep a waiting node waiting.
#[test]
fn after_t_and_grace_without_a_holder_the_token_is_recovered() {
    let as_in_the_source = Settings { mesh_detection: false, ..Settings::default() };
    let mut waiting = with(2, &[], as_in_the_source.clone());
    hears(&mut waiting, 1, &NodeState::Master);
    assert_eq!(waiting.node_state(), NodeState::Seeking, "a beacon says nothing");
    let outputs = receives(&mut waiting, 1, life(stamp(1, 1, 0), 1));
    assert_eq!(waiting.node_state(), slave_of(1));
    assert_eq!(armed(&outputs, Timer::Watch), Some(as_in_the_source.t));
    loses(&mut waiting, 1);
    assert_eq!(waiting.node_state(), slave_of(1));
    let outputs = fires(&mut waiting, Timer::Watch);
    assert_eq!(armed(&outputs, Timer::Claim), Some(as_in_the_source.grace));
    let outputs = fires(&mut waiting, Timer::Claim);
    assert!(matches!(said(&outputs)[..], [(None, Message::Claim { .. })]));
    assert_eq!(waiting.node_state(), NodeState::Seeking);
}

/// T6, C5: the mesh's loss of the holder is the sign of loss; a state in a beacon one of life.
#[test]
fn the_loss_of_the_holder_starts_the_recovery_at_once() {
    let mut waiting = node(2);
    hears(&mut waiting, 1, &NodeState::Master);
    let outputs = hears(&mut waiting, 1, &NodeState::Master);
    assert_eq!(armed(&outputs, Timer::Watch), Some(Settings::default().t));
    let outputs = loses(&mut waiting, 1);
    assert_eq!(armed(&outputs, Timer::Claim), Some(Duration::ZERO));
    assert_eq!(waiting.node_state(), NodeState::Seeking);
}

/// T7: the later behind the last holder, the later a node claims.
#[test]
fn the_turn_to_claim_goes_by_rank_behind_the_last_holder() {
    let step = Settings::default().claim_wait_per_rank;
    let turn = |own: u8| {
        let peers: Vec<u8> = (1..=5).filter(|peer| *peer != own).collect();
        let mut waiting = with(own, &peers, Settings::default());
        hears(&mut waiting, 3, &NodeState::Master);
        armed(&loses(&mut waiting, 3), Timer::Claim)
    };
    for (rank, own) in [4, 5, 1, 2].into_iter().enumerate() {
        let rank = u32::try_from(rank).expect("a few");
        assert_eq!(turn(own), Some(step * rank), "{own}");
    }
}

/// T7: with no objection it makes the token, one generation on and from the highest count.
#[test]
fn a_claim_without_objection_makes_a_token() {
    let mut waiting = node(2);
    hears(&mut waiting, 1, &NodeState::Master);
    receives(&mut waiting, 1, life(stamp(7, 1, 5), 40));
    loses(&mut waiting, 1);
    let outputs = fires(&mut waiting, Timer::Claim);
    let generation = stamp(8, 2, 0).generation;
    let mac = mac(2);
    assert_eq!(said(&outputs), [(None, Message::Claim { mac, generation })]);
    assert_eq!(waiting.token(), None, "it listens first");
    let outputs = fires(&mut waiting, Timer::Listen);
    assert_eq!(said(&outputs), [(None, life(stamp(8, 2, 0), 41))]);
    assert_eq!(waiting.node_state(), NodeState::Master);
}

fn claims(index: u8, number: u64) -> Message {
    Message::Claim { mac: mac(index), generation: stamp(number, index, 0).generation }
}

/// T7: any holder ends a claim, and so does who has heard one.
#[test]
fn a_holder_and_who_has_heard_one_object_to_a_claim() {
    let mut first = holder(1, &[2, 3]);
    let answer = said(&receives(&mut first, 2, claims(2, 5)));
    assert!(matches!(&answer[..], [(Some(to), Message::Life(_))] if *to == name(2)));
    let mut third = with(3, &[2], Settings::default());
    assert_eq!(said(&receives(&mut third, 2, claims(2, 5))), [], "it knows none");
    hears(&mut third, 1, &NodeState::Master);
    let objection = [(Some(name(2)), Message::Objection)];
    assert_eq!(said(&receives(&mut third, 2, claims(2, 5))), objection);
    let (mut sender, _) = passing(1, 2);
    assert_eq!(said(&receives(&mut sender, 2, claims(2, 5))), objection);

    for ends in [Message::Objection, answer[0].1.clone()] {
        let mut claimant = claimant(2, &[1], Settings::default());
        receives(&mut claimant, 1, ends);
        fires(&mut claimant, Timer::Listen);
        assert_eq!(claimant.token(), None);
    }
}

/// T7: of two claims the higher number counts, then the lower address.
#[test]
fn a_better_claim_ends_a_claim_and_a_worse_one_is_told_so() {
    for (other, number, better) in [(1, 1, true), (3, 1, false), (3, 2, true)] {
        let mut claimant = claimant(2, &[other], Settings::default());
        let outputs = receives(&mut claimant, other, claims(other, number));
        fires(&mut claimant, Timer::Listen);
        assert_eq!(claimant.token().is_none(), better, "{other} {number}");
        let answered = !said(&outputs).is_empty();
        assert_eq!(answered, !better, "the claim is repeated to the worse");
    }
}

/// T7: a claim of which nothing comes, and one that was objected to in vain, is no loss of time.
#[test]
fn a_claim_that_fails_is_made_again_soon() {
    let settings = Settings::default();
    let mut other = with(2, &[1, 3], settings.clone());
    let outputs = receives(&mut other, 3, claims(3, 5));
    assert_eq!(other.node_state(), NodeState::Seeking);
    let wait = settings.claim_wait + settings.grace;
    assert_eq!(armed(&outputs, Timer::Watch), Some(wait));
    let mut late = other.clone();
    for outputs in [fires(&mut late, Timer::Watch), loses(&mut other, 3)] {
        let turn = settings.claim_wait_per_rank;
        assert_eq!(armed(&outputs, Timer::Claim), Some(turn), "N1 is before it");
    }

    let mut claimant = claimant(2, &[1], settings.clone());
    let outputs = receives(&mut claimant, 1, Message::Objection);
    assert_eq!(armed(&outputs, Timer::Claim), Some(settings.claim_wait));
    let mut worse = claimant.clone();
    hears(&mut worse, 3, &NodeState::Seeking);
    let again = said(&receives(&mut worse, 3, claims(3, 1)));
    assert_eq!(again, [(None, claims(2, 1))], "the worse one defers to it");
    assert_eq!(said(&receives(&mut claimant, 1, claims(1, 1))), []);
}

#[test]
fn operators_see_the_token() {
    let shown = |node: &TokenRing| {
        let details = node.details();
        let details = details.iter().map(|detail| format!("{}: {}", detail.name, detail.value));
        details.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(shown(&node(1)), "token: elsewhere, peers in the ring: 0");
    assert_eq!(
        shown(&holder(1, &[2])),
        "generation: 1 of N1, hop: 0, computations: 1, token: held, peers in the ring: 1"
    );
    assert!(shown(&passing(1, 2).0).contains("token: on its way to N2"));
    assert!(shown(&frozen(2, 1).0).contains("frozen: N1 holds one too"));
    assert!(shown(&frozen(1, 2).0).contains("frozen: N2 leads with one"));
}

/// E7, T7: whatever a faulty node says of its token, there is a later generation.
#[test]
fn a_stamp_near_the_end_of_its_range_is_not_the_last() {
    let last = || {
        let mut stamp = stamp(u64::MAX, 2, u64::MAX);
        stamp.generation.nonce = Nonce(u64::MAX);
        stamp
    };
    let says: [fn(Stamp) -> Message; 3] = [
        |stamp| life(stamp, u64::MAX),
        |stamp| Message::Pass(Token { stamp, count: u64::MAX }),
        |seen| Message::Refused { stamp: seen.clone(), seen },
    ];
    for message in says {
        let mut node = with(1, &[2], Settings::default());
        receives(&mut node, 2, message(last()));
        assert!(node.token().is_none(), "{:?}", node.token());
        loses(&mut node, 2);
        for timer in [Timer::Watch, Timer::Claim, Timer::Listen] {
            fires(&mut node, timer);
        }
        let token = node.token().expect("it has made one").clone();
        let number = token.stamp.generation.number;
        assert!(number <= JUMP + 2 && token.count <= JUMP + 2, "{token:?}");
        assert!(token.stamp >= node.seen, "{token:?}");
    }
}

/// A node that has just started gets to know a token of a far generation, message by message.
#[test]
fn a_token_of_a_far_generation_is_taken_after_some_tries() {
    let mut node = with(1, &[2], Settings::default());
    let far = stamp(3 * JUMP + 7, 2, 5);
    let pass = Message::Pass(Token { stamp: far.clone(), count: 9 });
    for _ in 0..3 {
        let answer = said(&receives(&mut node, 2, pass.clone()));
        let refused = matches!(&answer[..], [(_, Message::Refused { stamp, .. })] if *stamp == far);
        assert!(refused, "{answer:?}");
    }
    receives(&mut node, 2, pass);
    assert_eq!(stamp_of(&node), far);
}
