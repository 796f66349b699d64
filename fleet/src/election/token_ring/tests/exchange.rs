//! Row by row: two holders meet (T8, T9).

use super::*;

/// T6, T8: as in the source both of two holders act and say that they live, until one gives up.
#[test]
fn as_in_the_source_a_smaller_holder_goes_on() {
    let mut smaller = holder_with(1, &[2], Settings::source());
    receives(&mut smaller, 2, life(stamp(1, 2, 0), 9));
    assert_eq!(smaller.node_state(), NodeState::Master);
    assert_eq!(said(&fires(&mut smaller, Timer::Life))[0].0, None, "to all");
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

/// T9: the limit is (k + (1 − k) · random) · T; after it the holder says that it lives.
#[test]
fn an_exchange_has_a_limit_drawn_by_lot() {
    let settings = Settings::default();
    for (draw, limit) in [(0, settings.t / 2), (512, settings.t * 3 / 4)] {
        let mut holder = holder(1, &[2]);
        let (from, message) = (&name(2), &Any::TokenRing(Message::Wait(Exchange(1))));
        let outputs = draws(&mut holder, draw, Input::Message { from, message });
        assert_eq!(armed(&outputs, Timer::Exchange), Some(limit));
        let outputs = fires(&mut holder, Timer::Exchange);
        assert!(matches!(said(&outputs)[..], [(None, Message::Life(_))]));
    }
    let whole = Settings { k: 100, ..settings };
    assert_eq!(whole.exchange_limit(700), whole.t);
}
