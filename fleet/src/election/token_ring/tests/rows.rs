//! Row by row.

use super::*;

/// T1: a waiting node says nothing of its own accord, and answers.
#[test]
fn a_waiting_node_only_answers() {
    let mut waiting = node(1);
    for index in [2, 3] {
        assert_eq!(said(&hears(&mut waiting, index, &NodeState::Seeking)), []);
    }
    hears(&mut waiting, 2, &NodeState::Master);
    assert_eq!(waiting.node_state(), slave_of(2));
    let answer = receives(&mut waiting, 2, Message::Search);
    assert_eq!(said(&answer), [(Some(name(2)), Message::Here(mac(1)))]);
    let silent = [
        receives(&mut waiting, 2, life(stamp(1, 2, 0), 1)),
        receives(&mut waiting, 3, Message::Here(mac(3))),
        receives(&mut waiting, 3, Message::Accepted(stamp(1, 2, 1))),
        receives(&mut waiting, 3, Message::Busy(Exchange(1))),
        loses(&mut waiting, 3),
    ];
    for outputs in silent {
        assert_eq!(said(&outputs), []);
    }
}

/// T1: a holder answers as a waiting node does.
#[test]
fn a_holder_answers_too() {
    let mut holder = holder(1, &[2]);
    let answer = receives(&mut holder, 2, Message::Search);
    assert_eq!(said(&answer), [(Some(name(2)), Message::Here(mac(1)))]);
}

/// T2, T6: a node that receives the token acknowledges it, says that it lives, computes (as master),
/// and looks for the next node once it has kept it for its time.
#[test]
fn a_new_holder_computes_and_then_searches() {
    let (mut first, token) = passing(1, 2);
    let mut second = node(2);
    hears(&mut second, 1, &slave_of(2));
    let outputs = receives(&mut second, 1, Message::Pass(token.clone()));
    assert_eq!(second.node_state(), NodeState::Master);
    let counted = token.count + 1;
    assert_eq!(
        said(&outputs),
        [
            (Some(name(1)), Message::Accepted(token.stamp.clone())),
            (None, life(token.stamp.clone(), counted)),
        ]
    );
    assert_eq!(armed(&outputs, Timer::Hold), Some(Settings::default().hold));
    let outputs = fires(&mut second, Timer::Hold);
    assert_eq!(said(&outputs), [(None, Message::Search)]);
    receives(&mut first, 2, Message::Accepted(token.stamp));
    assert_eq!(first.node_state(), slave_of(2));
}

/// T3
#[test]
fn the_next_is_the_first_above_or_the_lowest_of_all() {
    for (own, answers, next) in
        [(2, [5, 3, 1], 3), (5, [3, 1, 2], 1), (1, [4, 3, 2], 2), (4, [1, 2, 5], 5)]
    {
        let mut holder = holder(own, &answers);
        fires(&mut holder, Timer::Hold);
        let mut outputs = Vec::new();
        for answer in answers {
            assert_eq!(said(&outputs), [], "not before all have answered");
            outputs = receives(&mut holder, answer, Message::Here(mac(answer)));
        }
        assert_eq!(said(&outputs)[0].0, Some(name(next)));
        assert!(matches!(outputs[0], Output::HandOver(..)), "with the data");
    }
}

/// T3: who has not answered in time is left out.
#[test]
fn a_node_that_does_not_answer_is_left_out() {
    let mut holder = holder(1, &[2, 3]);
    fires(&mut holder, Timer::Hold);
    assert_eq!(said(&receives(&mut holder, 3, Message::Here(mac(3)))), []);
    let outputs = fires(&mut holder, Timer::Search);
    assert_eq!(said(&outputs)[0].0, Some(name(3)));
}

/// T3: one lost message costs no node its turn.
#[test]
fn a_search_is_repeated_while_a_node_that_is_heard_has_not_answered() {
    let mut holder = holder(1, &[2, 3]);
    fires(&mut holder, Timer::Hold);
    receives(&mut holder, 3, Message::Here(mac(3)));
    let waiting = slave_of(1);
    assert_eq!(said(&hears(&mut holder, 2, &waiting)), [(Some(name(2)), Message::Search)]);
    assert_eq!(said(&hears(&mut holder, 3, &waiting)), [], "it has answered");
    let outputs = receives(&mut holder, 2, Message::Here(mac(2)));
    assert_eq!(said(&outputs)[0].0, Some(name(2)));
    let mut holder = with(1, Settings::source());
    feed(&mut holder, Input::Start);
    hears(&mut holder, 2, &NodeState::Seeking);
    for timer in [Timer::Watch, Timer::Claim, Timer::Listen, Timer::Hold] {
        fires(&mut holder, timer);
    }
    assert_eq!(said(&hears(&mut holder, 2, &waiting)), [], "the source searches once");
}

/// T2: as in the source.
#[test]
fn where_it_is_set_a_holder_computes_then_searches() {
    let settings = Settings::source();
    let mut holder = with(1, settings.clone());
    feed(&mut holder, Input::Start);
    for peer in [2, 3] {
        hears(&mut holder, peer, &NodeState::Seeking);
    }
    fires(&mut holder, Timer::Watch);
    fires(&mut holder, Timer::Claim);
    let outputs = fires(&mut holder, Timer::Listen);
    assert_eq!(holder.node_state(), NodeState::Master);
    assert_eq!(armed(&outputs, Timer::Hold), Some(Duration::ZERO));
    assert_eq!(said(&fires(&mut holder, Timer::Hold)), [(None, Message::Search)]);
    for peer in [2, 3] {
        assert_eq!(said(&receives(&mut holder, peer, Message::Here(mac(peer)))), []);
    }
    let outputs = fires(&mut holder, Timer::Search);
    assert_eq!(said(&outputs)[0].0, Some(name(2)), "once its time for answers is over");
}

/// T8: what is compared is how much was computed, not how often the token was handed over.
#[test]
fn a_holder_that_serves_alone_counts_its_computations() {
    let mut holder = holder(1, &[]);
    for timer in [Timer::Hold, Timer::Search, Timer::Search, Timer::Search] {
        fires(&mut holder, timer);
    }
    let counted = |holder: &TokenRing| holder.token().map(|token| token.count);
    assert_eq!(counted(&holder), Some(1));
    let outputs = fires(&mut holder, Timer::Hold);
    assert_eq!(counted(&holder), Some(2));
    assert_eq!(armed(&outputs, Timer::Hold), Some(Settings::default().hold));
    assert_eq!(Settings::source().computation(), Settings::source().t);
    fires(&mut holder, Timer::Search);
    assert_eq!(counted(&holder), Some(2), "a search is none");
    hears(&mut holder, 2, &NodeState::Seeking);
    let outputs = receives(&mut holder, 2, Message::Here(mac(2)));
    assert!(outputs.contains(&Output::Disarm(Timer::Hold.into())));
    let outputs = fires(&mut holder, Timer::Search);
    let [(_, Message::Pass(token))] = &said(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!(token.count, 2, "nor is a hand-over");
}

/// T6, T8: as in the source both of two holders act and say that they live, until one gives up.
#[test]
fn as_in_the_source_a_smaller_holder_goes_on() {
    let mut smaller = with(1, Settings::source());
    feed(&mut smaller, Input::Start);
    hears(&mut smaller, 2, &NodeState::Seeking);
    for timer in [Timer::Watch, Timer::Claim, Timer::Listen] {
        fires(&mut smaller, timer);
    }
    receives(&mut smaller, 2, life(stamp(1, 2, 0), 9));
    assert_eq!(smaller.node_state(), NodeState::Master);
    assert_eq!(said(&fires(&mut smaller, Timer::Life))[0].0, None, "to all");
}

/// T3, C7: of two nodes with one MAC address the name decides.
#[test]
fn equal_addresses_are_ordered_by_name() {
    let mut holder = holder(2, &[1, 3]);
    fires(&mut holder, Timer::Hold);
    receives(&mut holder, 1, Message::Here(mac(2)));
    let outputs = receives(&mut holder, 3, Message::Here(mac(2)));
    assert_eq!(said(&outputs)[0].0, Some(name(3)), "N3 comes after N2");
}

/// T4: three searches, then it serves alone and says so, and goes on searching each T and a bit.
#[test]
fn a_holder_that_nobody_answers_serves_alone() {
    let mut holder = holder(1, &[]);
    let settings = Settings::default();
    let search = [(None, Message::Search)];
    assert_eq!(said(&fires(&mut holder, Timer::Hold)), search);
    assert_eq!(said(&fires(&mut holder, Timer::Search)), search);
    assert_eq!(said(&fires(&mut holder, Timer::Search)), search);
    let outputs = fires(&mut holder, Timer::Search);
    let [(None, Message::Life(alone))] = &said(&outputs)[..] else {
        panic!("{outputs:?}");
    };
    assert!(alone.solo);
    assert_eq!(holder.node_state(), NodeState::Master);
    for draw in [0, 512, 1023] {
        let mut outputs = Vec::new();
        let timer = Timer::Search.into();
        holder.handle(Input::Fired(&timer), draw, &mut outputs);
        assert_eq!(said(&outputs), search);
        let wait = armed(&outputs, Timer::Search).expect("it searches again");
        assert!(wait >= settings.t && wait <= settings.t * 3 / 2, "{wait:?}");
        assert_eq!(said(&fires(&mut holder, Timer::Life)).len(), 1);
    }
    hears(&mut holder, 2, &NodeState::Seeking);
    receives(&mut holder, 2, Message::Here(mac(2)));
    let outputs = fires(&mut holder, Timer::Search);
    assert!(matches!(outputs[0], Output::HandOver(..)));
}

/// T5: until the acknowledgement the sender keeps the token and does not act; if it stays away
/// the sender searches again.
#[test]
fn a_hand_over_that_is_not_acknowledged_starts_again_from_the_search() {
    let (sender, token) = passing(1, 2);
    let ends: [fn(&mut TokenRing) -> Vec<Output>; 2] =
        [|node| fires(node, Timer::Acknowledgement), |node| loses(node, 2)];
    for end in ends {
        let mut sender = sender.clone();
        let outputs = end(&mut sender);
        assert_eq!(sender.node_state(), NodeState::Master);
        assert!(said(&outputs).contains(&(None, Message::Search)));
        assert_ne!(stamp_of(&sender).generation, token.stamp.generation);
        assert!(stamp_of(&sender) > token.stamp, "E7: a fresh one");
    }
}

/// T5: a hand-over that was lost is repeated while its time lasts, under the same hop.
#[test]
fn a_hand_over_is_repeated_while_its_receiver_is_heard_waiting() {
    let (mut sender, token) = passing(1, 2);
    let outputs = hears(&mut sender, 2, &slave_of(1));
    assert_eq!(said(&outputs), [(Some(name(2)), Message::Pass(token))]);
    hears(&mut sender, 2, &NodeState::Master);
    assert_eq!(sender.node_state(), slave_of(2), "its beacon says that it holds");
    assert_eq!(said(&hears(&mut sender, 2, &slave_of(3))), []);
}

/// T5, E7: a late or repeated hand-over never makes a holder.
#[test]
fn a_stale_hand_over_is_discarded() {
    let (_, token) = passing(1, 2);
    let mut second = node(2);
    hears(&mut second, 1, &slave_of(2));
    receives(&mut second, 1, Message::Pass(token.clone()));
    let repeated = receives(&mut second, 1, Message::Pass(token.clone()));
    let accepted = (Some(name(1)), Message::Accepted(token.stamp.clone()));
    assert_eq!(said(&repeated), [accepted]);
    assert_eq!(second.token().map(|held| held.count), Some(token.count + 1));

    let mut third = node(3);
    hears(&mut third, 1, &slave_of(3));
    let later = stamp(9, 1, 4);
    receives(&mut third, 1, life(later.clone(), 9));
    let outputs = receives(&mut third, 1, Message::Pass(token.clone()));
    let refused = Message::Refused { stamp: token.stamp, seen: later };
    assert_eq!(said(&outputs), [(Some(name(1)), refused)]);
    assert_eq!(third.token(), None);
}

/// T5: a sender whose token is out of date goes on under a generation that counts.
#[test]
fn a_refused_token_is_renewed() {
    let (mut sender, token) = passing(1, 2);
    let seen = stamp(9, 3, 4);
    let refused = Message::Refused { stamp: token.stamp, seen: seen.clone() };
    receives(&mut sender, 2, refused);
    assert_eq!(sender.node_state(), NodeState::Master);
    assert!(stamp_of(&sender) > seen);
}

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
    let mut waiting = with(2, as_in_the_source.clone());
    feed(&mut waiting, Input::Start);
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
        let mut waiting = node(own);
        for peer in (1..=5).filter(|peer| *peer != own) {
            hears(&mut waiting, peer, &NodeState::Seeking);
        }
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
    let mut third = node(3);
    hears(&mut third, 2, &NodeState::Seeking);
    assert_eq!(said(&receives(&mut third, 2, claims(2, 5))), [], "it knows none");
    hears(&mut third, 1, &NodeState::Master);
    let objection = [(Some(name(2)), Message::Objection)];
    assert_eq!(said(&receives(&mut third, 2, claims(2, 5))), objection);
    let (mut sender, _) = passing(1, 2);
    assert_eq!(said(&receives(&mut sender, 2, claims(2, 5))), objection);

    for ends in [Message::Objection, answer[0].1.clone()] {
        let mut claimant = node(2);
        hears(&mut claimant, 1, &NodeState::Seeking);
        fires(&mut claimant, Timer::Watch);
        fires(&mut claimant, Timer::Claim);
        receives(&mut claimant, 1, ends);
        fires(&mut claimant, Timer::Listen);
        assert_eq!(claimant.token(), None);
    }
}

/// T7: of two claims the higher number counts, then the lower address.
#[test]
fn a_better_claim_ends_a_claim_and_a_worse_one_is_told_so() {
    for (other, number, better) in [(1, 1, true), (3, 1, false), (3, 2, true)] {
        let mut claimant = node(2);
        hears(&mut claimant, other, &NodeState::Seeking);
        fires(&mut claimant, Timer::Watch);
        fires(&mut claimant, Timer::Claim);
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
    let mut other = node(2);
    for index in [1, 3] {
        hears(&mut other, index, &NodeState::Seeking);
    }
    let outputs = receives(&mut other, 3, claims(3, 5));
    assert_eq!(other.node_state(), NodeState::Seeking);
    let wait = settings.claim_wait + settings.grace;
    assert_eq!(armed(&outputs, Timer::Watch), Some(wait));
    let mut late = other.clone();
    for outputs in [fires(&mut late, Timer::Watch), loses(&mut other, 3)] {
        let turn = settings.claim_wait_per_rank;
        assert_eq!(armed(&outputs, Timer::Claim), Some(turn), "N1 is before it");
    }

    let mut claimant = node(2);
    hears(&mut claimant, 1, &NodeState::Seeking);
    fires(&mut claimant, Timer::Watch);
    fires(&mut claimant, Timer::Claim);
    let outputs = receives(&mut claimant, 1, Message::Objection);
    assert_eq!(armed(&outputs, Timer::Claim), Some(settings.claim_wait));
    let mut worse = claimant.clone();
    hears(&mut worse, 3, &NodeState::Seeking);
    let again = said(&receives(&mut worse, 3, claims(3, 1)));
    assert_eq!(again, [(None, claims(2, 1))], "the worse one defers to it");
    assert_eq!(said(&receives(&mut claimant, 1, claims(1, 1))), []);
}

/// A holder that hears another, frozen; and the number of its exchange.
fn frozen(own: u8, other: u8) -> (TokenRing, Exchange) {
    let mut holder = holder(own, &[other, 9]);
    let outputs = receives(&mut holder, other, life(stamp(1, other, 0), 1));
    let said = said(&outputs);
    let (Some(to), Message::Wait(exchange)) = &said[0] else {
        panic!("{outputs:?}");
    };
    assert_eq!(*to, name(other));
    (holder, *exchange)
}

/// T8: it freezes, keeps the token, and does not pass it on.
#[test]
fn a_holder_that_hears_another_freezes() {
    let (mut first, exchange) = frozen(1, 2);
    assert!(first.token().is_some());
    assert_eq!(said(&fires(&mut first, Timer::Hold)), []);
    assert_eq!(said(&receives(&mut first, 9, life(stamp(1, 9, 0), 1))), []);
    let again = first.clone();
    let outputs = receives(&mut first, 2, Message::NoLongerHolder(exchange));
    assert_eq!(said(&outputs), [], "nothing more is done");
    assert_eq!(said(&fires(&mut first, Timer::Hold)), [(None, Message::Search)]);
    let mut other = again;
    receives(&mut other, 9, Message::NoLongerHolder(exchange));
    receives(&mut other, 2, Message::NoLongerHolder(Exchange(99)));
    assert_eq!(said(&fires(&mut other, Timer::Hold)), [], "it was not asked");
}

/// T8: by state alone, too, where the sign of life was lost.
#[test]
fn a_peer_that_becomes_master_is_another_holder() {
    let mut first = holder(1, &[2]);
    let outputs = hears(&mut first, 2, &NodeState::Master);
    let once = [(Some(name(2)), Message::Wait(Exchange(1)))];
    let waits = |outputs: &[Output]| {
        let said = said(outputs).into_iter();
        said.filter(|(_, said)| matches!(said, Message::Wait(_))).collect::<Vec<_>>()
    };
    assert_eq!(waits(&outputs), once);
    let again = hears(&mut first, 2, &NodeState::Master);
    assert_eq!(waits(&again), once, "of one exchange");
    receives(&mut first, 2, Message::NoLongerHolder(Exchange(1)));
    assert_eq!(said(&hears(&mut first, 2, &slave_of(1))), []);
}

/// T8: what is lost of an exchange is said again at each beacon and sign of life of the other.
#[test]
fn an_exchange_goes_on_at_each_beacon() {
    let (mut first, exchange) = frozen(1, 2);
    let wait = (Some(name(2)), Message::Wait(exchange));
    for node_state in [NodeState::Master, slave_of(1), NodeState::Seeking] {
        assert!(said(&hears(&mut first, 2, &node_state)).contains(&wait));
    }
    assert!(said(&receives(&mut first, 2, life(stamp(1, 2, 0), 1))).contains(&wait));
    let mut asked = holder(1, &[2]);
    receives(&mut asked, 2, Message::Wait(Exchange(5)));
    let own = (Some(name(2)), Message::Wait(Exchange(1)));
    assert!(said(&hears(&mut asked, 2, &NodeState::Master)).contains(&own));
    let mut third = first.clone();
    let outputs = said(&hears(&mut third, 9, &NodeState::Master));
    assert!(
        !outputs.iter().any(|(_, said)| matches!(said, Message::Wait(_))),
        "T9: with the first alone"
    );
}

/// T8: of two that hear each other the one with the smaller pair keeps its token, and does not
/// act; it acts again when the greater is gone.
#[test]
fn the_smaller_pair_stands_behind_the_greater() {
    let (mut smaller, exchange) = frozen(1, 2);
    assert_eq!(smaller.node_state(), slave_of(2));
    assert!(smaller.token().is_some());
    let own = life(stamp_of(&smaller), 1);
    assert_eq!(said(&fires(&mut smaller, Timer::Life)), [(Some(name(2)), own)], "T6: to it alone");
    let ends: [fn(&mut TokenRing, Exchange) -> Vec<Output>; 3] = [
        |node, exchange| receives(node, 2, Message::NoLongerHolder(exchange)),
        |node, _| loses(node, 2),
        |node, _| hears(node, 2, &NodeState::Seeking),
    ];
    for end in ends {
        let mut smaller = smaller.clone();
        end(&mut smaller, exchange);
        assert_eq!(smaller.node_state(), NodeState::Master);
    }
    hears(&mut smaller, 9, &NodeState::Master);
    hears(&mut smaller, 2, &slave_of(9));
    assert_eq!(smaller.node_state(), slave_of(9), "a third is ahead of both");

    let (greater, _) = frozen(3, 2);
    assert_eq!(greater.node_state(), NodeState::Master);
}

/// T8: a holder that acts shows its pair to a smaller one that does, whomever it talks to.
#[test]
fn the_greater_pair_is_shown_to_the_smaller() {
    let (mut greater, _) = frozen(3, 2);
    let own = life(stamp_of(&greater), 1);
    let outputs = receives(&mut greater, 9, life(stamp(1, 9, 0), 0));
    assert_eq!(said(&outputs), [(Some(name(9)), own.clone())]);
    let outputs = hears(&mut greater, 9, &NodeState::Master);
    assert_eq!(said(&outputs), [(Some(name(9)), own)]);
    let outputs = receives(&mut greater, 9, life(stamp(1, 9, 0), 4));
    assert_eq!(greater.node_state(), slave_of(9));
    assert_eq!(said(&outputs), []);
}

/// T9: when its time is over, a holder that stands behind another begins again with that one.
#[test]
fn a_holder_behind_another_does_not_act_when_its_time_is_over() {
    let (mut first, exchange) = frozen(1, 2);
    hears(&mut first, 2, &NodeState::Master);
    let next = Exchange(exchange.0 + 1);
    let outputs = fires(&mut first, Timer::Exchange);
    assert_eq!(said(&outputs), [(Some(name(2)), Message::Wait(next))]);
    assert_eq!(first.node_state(), slave_of(2));
}

/// T8: who is asked answers by what it is.
#[test]
fn no_longer_holder_ok_and_busy() {
    let answer = |mut node: TokenRing, from: u8| {
        let outputs = receives(&mut node, from, Message::Wait(Exchange(5)));
        said(&outputs).remove(0).1
    };
    let mut waiting = node(1);
    hears(&mut waiting, 2, &NodeState::Seeking);
    assert_eq!(answer(waiting, 2), Message::NoLongerHolder(Exchange(5)));
    let agreed = Message::Agreed { exchange: Exchange(5), mac: mac(1), count: 1 };
    assert_eq!(answer(holder(1, &[2]), 2), agreed);
    let (first, _) = frozen(1, 2);
    assert_eq!(answer(first.clone(), 2), agreed, "each has asked the other");
    assert_eq!(answer(first, 9), Message::Busy(Exchange(5)));
    assert_eq!(answer(passing(1, 2).0, 2), Message::Busy(Exchange(5)));
}

/// T8: the greater pair of count and address stays; the smaller goes, with its data.
#[test]
fn the_smaller_pair_gives_its_token_up() {
    for (theirs, survivor) in [(0, Survivor::Asker), (1, Survivor::Asked), (2, Survivor::Asked)] {
        let (mut asker, exchange) = frozen(1, 2);
        let outputs =
            receives(&mut asker, 2, Message::Agreed { exchange, mac: mac(2), count: theirs });
        let result = (Some(name(2)), Message::Result { exchange, survivor });
        assert_eq!(said(&outputs)[0], result);
        let stays = survivor == Survivor::Asker;
        assert_eq!(asker.token().is_some(), stays, "{theirs}");
        assert_eq!(matches!(outputs[0], Output::HandOver(..)), !stays);
        if stays {
            assert!(stamp_of(&asker) > stamp(1, 2, 0), "all take it over the other's");
            assert!(matches!(said(&outputs)[1], (None, Message::Life(_))));
        } else {
            assert_eq!(asker.node_state(), slave_of(2));
        }
    }
}

/// T8: the one that was asked does as it is told, if it is in that exchange.
#[test]
fn the_asked_holder_takes_the_result() {
    let exchange = Exchange(4);
    let result = |exchange, survivor| Message::Result { exchange, survivor };
    let mut asked = holder(2, &[1]);
    receives(&mut asked, 1, Message::Wait(exchange));
    let mut stays = asked.clone();
    let outputs = receives(&mut stays, 1, result(exchange, Survivor::Asked));
    assert!(matches!(said(&outputs)[..], [(None, Message::Life(_))]));
    receives(&mut asked, 1, result(Exchange(3), Survivor::Asker));
    assert!(asked.token().is_some(), "of an earlier exchange");
    let outputs = receives(&mut asked, 1, result(exchange, Survivor::Asker));
    assert!(matches!(&outputs[0], Output::HandOver(to, _) if *to == name(1)));
    assert_eq!(asked.node_state(), slave_of(1));
}

/// T8: nothing that is not part of the present exchange ends a token.
#[test]
fn a_late_answer_of_an_earlier_exchange_is_ignored() {
    let (mut first, exchange) = frozen(1, 2);
    fires(&mut first, Timer::Exchange);
    let late = Message::Agreed { exchange, mac: mac(2), count: 99 };
    receives(&mut first, 2, late.clone());
    assert!(first.token().is_some());
    receives(&mut first, 2, life(stamp(1, 2, 0), 1));
    receives(&mut first, 2, late);
    assert!(first.token().is_some());
}

/// T9: the limit is (k + (1 − k) · random) · T; after it the holder says that it lives.
#[test]
fn an_exchange_has_a_limit_drawn_by_lot() {
    let settings = Settings::default();
    for (draw, limit) in [(0, settings.t / 2), (512, settings.t * 3 / 4)] {
        let mut holder = holder(1, &[2]);
        let (from, mut outputs) = (name(2), Vec::new());
        let message = Any::TokenRing(Message::Wait(Exchange(1)));
        let message = &message;
        let from = &from;
        holder.handle(Input::Message { from, message }, draw, &mut outputs);
        assert_eq!(armed(&outputs, Timer::Exchange), Some(limit));
        let outputs = fires(&mut holder, Timer::Exchange);
        assert!(matches!(said(&outputs)[..], [(None, Message::Life(_))]));
    }
    let whole = Settings { k: 100, ..settings };
    assert_eq!(whole.exchange_limit(700), whole.t);
}

/// T9: a refused holder waits for its time to be over.
#[test]
fn a_holder_that_is_refused_stays_frozen() {
    let (mut first, exchange) = frozen(2, 1);
    receives(&mut first, 1, Message::Busy(exchange));
    assert_eq!(said(&fires(&mut first, Timer::Hold)), []);
    let outputs = fires(&mut first, Timer::Exchange);
    assert!(matches!(said(&outputs)[..], [(None, Message::Life(_))]));
}

/// C5: the peer of an exchange that is lost can't answer any more.
#[test]
fn an_exchange_with_a_node_that_is_lost_is_over() {
    let (mut first, _) = frozen(1, 2);
    loses(&mut first, 2);
    assert_eq!(said(&fires(&mut first, Timer::Hold)), [(None, Message::Search)]);
}

/// C3: a sign of life that was overtaken by the hand-over is history.
#[test]
fn a_late_sign_of_life_changes_nothing() {
    let (_, token) = passing(1, 2);
    let mut second = node(2);
    hears(&mut second, 1, &slave_of(2));
    receives(&mut second, 1, Message::Pass(token.clone()));
    let earlier = Stamp { hop: token.stamp.hop - 1, ..token.stamp.clone() };
    assert_eq!(said(&receives(&mut second, 1, life(earlier.clone(), 1))), []);
    let mut third = node(3);
    hears(&mut third, 1, &NodeState::Seeking);
    hears(&mut third, 2, &NodeState::Seeking);
    receives(&mut third, 2, life(token.stamp, 2));
    receives(&mut third, 1, life(earlier, 1));
    assert_eq!(third.node_state(), slave_of(2));
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
        let mut node = node(1);
        hears(&mut node, 2, &NodeState::Seeking);
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
    let mut node = node(1);
    hears(&mut node, 2, &NodeState::Seeking);
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
