//! Row by row: the search, the hand-over, and a holder that serves alone (T1 to T5).

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
    let mut holder = holder_with(1, &[2], Settings::source());
    fires(&mut holder, Timer::Hold);
    assert_eq!(said(&hears(&mut holder, 2, &waiting)), [], "the source searches once");
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
        let outputs = draws(&mut holder, draw, Input::Fired(&Timer::Search.into()));
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
