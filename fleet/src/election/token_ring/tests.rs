//! What the model does not look at: how long things take, the order of the ring, and what is lost.

use super::*;
use crate::election::Message as Any;
use crate::election::testing::{
    self, address, armed, candidate, draws, feed, fires, loses, name, receives, sent, slave_of,
};
use crate::model::bounds::JUMP;

use NodeState::{Master, Seeking};

fn mac(index: u8) -> Mac {
    Mac::of(address(index))
}

/// A node that hears this many peers, which are numbered as the nodes are.
fn with(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = TokenRing::new(&candidate(index), Nonce(u64::from(index)), settings);
    feed(&mut node, Input::Start);
    for peer in peers {
        hears(&mut node, *peer, &Seeking);
    }
    node
}

fn waiting(index: u8, peers: &[u8]) -> TokenRing {
    with(index, peers, Settings::default())
}

fn hears(node: &mut TokenRing, index: u8, node_state: &NodeState) -> Vec<Output> {
    testing::hears(node, &candidate(index), node_state)
}

/// What is said, to whom; `None` is everybody.
fn said(outputs: &[Output]) -> Vec<(Option<NodeId>, Message)> {
    let ours = sent(outputs).into_iter().filter_map(|(to, message)| {
        if let Any::TokenRing(message) = message { Some((to, message)) } else { None }
    });
    ours.collect()
}

fn to(index: u8, message: Message) -> [(Option<NodeId>, Message); 1] {
    [(Some(name(index)), message)]
}

fn all(message: Message) -> [(Option<NodeId>, Message); 1] {
    [(None, message)]
}

fn life(stamp: Stamp, count: u64) -> Message {
    Message::Life(Life { stamp, count, solo: false })
}

fn claims(index: u8, number: u64) -> Message {
    Message::Claim { mac: mac(index), generation: stamp(number, index, 0).generation }
}

fn stamp(number: u64, creator: u8, hop: u64) -> Stamp {
    Stamp {
        generation: Generation { number, creator: name(creator), nonce: Nonce(u64::from(creator)) },
        hop,
    }
}

/// One that also claims the token.
fn claimant(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = with(index, peers, settings);
    fires(&mut node, Timer::Watch);
    fires(&mut node, Timer::Claim);
    node
}

/// One that also holds the token.
fn holder_as(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = claimant(index, peers, settings);
    fires(&mut node, Timer::Listen);
    assert_eq!(node.node_state(), Master);
    node
}

fn holder(index: u8, peers: &[u8]) -> TokenRing {
    holder_as(index, peers, Settings::default())
}

/// One that has kept it for its time, and searches.
fn searching(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = holder_as(index, peers, settings);
    assert_eq!(said(&fires(&mut node, Timer::Hold)), all(Message::Search));
    node
}

fn passing(index: u8, to: u8) -> (TokenRing, Token) {
    let mut node = searching(index, &[to], Settings::default());
    let outputs = receives(&mut node, to, Message::Here(mac(to)));
    let [(_, Message::Pass(token))] = &said(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!(node.node_state(), slave_of(to));
    (node, token.clone())
}

/// A holder that hears another, frozen; and the number of its exchange.
fn frozen(own: u8, other: u8) -> (TokenRing, Exchange) {
    let mut holder = holder(own, &[other, 9]);
    let outputs = receives(&mut holder, other, life(stamp(1, other, 0), 1));
    assert_eq!(said(&outputs)[..1], to(other, Message::Wait(Exchange(1))));
    (holder, Exchange(1))
}

fn stamp_of(node: &TokenRing) -> Stamp {
    node.token().expect("it holds one").stamp.clone()
}

/// T2, T5, T6: a node that receives the token acknowledges it, says that it lives, and computes (as
/// master). Until then the hand-over is repeated, under the same hop.
#[test]
fn a_hand_over_is_repeated_until_it_is_acknowledged() {
    let (mut first, token) = passing(1, 2);
    let again = hears(&mut first, 2, &slave_of(1));
    assert_eq!(said(&again), to(2, Message::Pass(token.clone())));
    let mut second = waiting(2, &[]);
    hears(&mut second, 1, &slave_of(2));
    let outputs = receives(&mut second, 1, Message::Pass(token.clone()));
    assert_eq!(second.node_state(), Master);
    let accepted = Message::Accepted(token.stamp.clone());
    let lives = life(token.stamp.clone(), token.count + 1);
    assert_eq!(said(&outputs), [to(1, accepted.clone()), all(lives)].concat());
    assert_eq!(armed(&outputs, Timer::Hold), Some(Settings::default().hold));
    let mut told = first.clone();
    receives(&mut told, 2, accepted);
    hears(&mut first, 2, &Master);
    for mut node in [told, first] {
        assert_eq!(said(&hears(&mut node, 2, &slave_of(3))), [], "acknowledged, or seen to hold");
    }
}

/// T3, C7: of two nodes with one MAC address the name decides.
#[test]
fn the_next_is_the_first_above_or_the_lowest_of_all() {
    for (own, answers, next) in [(2, [5, 3, 1], 3), (5, [3, 1, 2], 1), (4, [1, 2, 5], 5)] {
        let mut holder = searching(own, &answers, Settings::default());
        let mut outputs = Vec::new();
        for answer in answers {
            assert_eq!(said(&outputs), [], "not before all have answered");
            outputs = receives(&mut holder, answer, Message::Here(mac(answer)));
        }
        assert!(matches!(&outputs[0], Output::HandOver(to, _) if *to == name(next)));
    }
    let mut holder = searching(2, &[1, 3], Settings::default());
    receives(&mut holder, 1, Message::Here(mac(2)));
    let outputs = receives(&mut holder, 3, Message::Here(mac(2)));
    assert_eq!(said(&outputs)[0].0, Some(name(3)), "N3 comes after N2");
}

/// T4, T8: three searches, then it serves alone and says so, goes on searching, and counts.
#[test]
fn a_holder_that_nobody_answers_serves_alone() {
    let settings = Settings::default();
    let mut holder = searching(1, &[], settings.clone());
    for _ in 1..settings.search_tries {
        assert_eq!(said(&fires(&mut holder, Timer::Search)), all(Message::Search));
    }
    let outputs = fires(&mut holder, Timer::Search);
    assert!(matches!(&said(&outputs)[..], [(None, Message::Life(Life { solo: true, .. }))]));
    for draw in [0, 1023] {
        let outputs = draws(&mut holder, draw, Input::Fired(&Timer::Search.into()));
        assert_eq!(said(&outputs), all(Message::Search));
        let wait = armed(&outputs, Timer::Search).expect("it searches again");
        assert!(wait >= settings.t && wait <= settings.t * 3 / 2, "{wait:?}");
    }
    assert_eq!(armed(&fires(&mut holder, Timer::Hold), Timer::Hold), Some(settings.hold));
    hears(&mut holder, 2, &Seeking);
    receives(&mut holder, 2, Message::Here(mac(2)));
    let outputs = fires(&mut holder, Timer::Search);
    let [(_, Message::Pass(token))] = &said(&outputs)[..] else { panic!("{outputs:?}") };
    assert_eq!(token.count, 2);
}

/// T6, T7: as in the source, a holder's own messages alone keep a waiting node waiting. With no
/// objection it makes the token, one generation on and from the highest count.
#[test]
fn after_t_and_grace_without_a_holder_the_token_is_recovered() {
    let settings = Settings { mesh_detection: false, ..Settings::default() };
    let mut waiting = with(2, &[], settings.clone());
    hears(&mut waiting, 1, &Master);
    assert_eq!(waiting.node_state(), Seeking, "a beacon says nothing");
    let outputs = receives(&mut waiting, 1, life(stamp(7, 1, 5), 40));
    assert_eq!(armed(&outputs, Timer::Watch), Some(settings.t));
    loses(&mut waiting, 1);
    assert_eq!(waiting.node_state(), slave_of(1));
    let outputs = fires(&mut waiting, Timer::Watch);
    assert_eq!(armed(&outputs, Timer::Claim), Some(settings.grace));
    assert_eq!(said(&fires(&mut waiting, Timer::Claim)), all(claims(2, 8)));
    assert_eq!(waiting.token(), None, "it listens first");
    let outputs = fires(&mut waiting, Timer::Listen);
    assert_eq!(said(&outputs), all(life(stamp(8, 2, 0), 41)));
    assert_eq!(armed(&outputs, Timer::Life), Some(settings.t));
}

/// T6, T7, C5: the later behind the holder that the mesh has lost, the later a node claims.
#[test]
fn the_turn_to_claim_goes_by_rank_behind_the_last_holder() {
    for (rank, own) in (0..).zip([4, 5, 1, 2]) {
        let peers: Vec<u8> = (1..=5).filter(|peer| *peer != own).collect();
        let mut waiting = waiting(own, &peers);
        hears(&mut waiting, 3, &Master);
        let turn = armed(&loses(&mut waiting, 3), Timer::Claim);
        assert_eq!(turn, Some(Settings::default().claim_wait_per_rank * rank), "{own}");
    }
}

/// T7: of two claims the higher number counts, then the lower address; the worse is answered.
#[test]
fn a_claim_ends_by_an_objection_a_holder_or_a_better_claim() {
    let first = holder(1, &[2, 3]);
    let lives = life(stamp_of(&first), 1);
    let mut third = waiting(3, &[2]);
    assert_eq!(said(&receives(&mut third, 2, claims(2, 5))), [], "it knows none");
    hears(&mut third, 1, &Master);
    for (mut node, answer) in
        [(first, lives.clone()), (third, Message::Objection), (passing(1, 2).0, Message::Objection)]
    {
        assert_eq!(said(&receives(&mut node, 2, claims(2, 5))), to(2, answer));
    }
    for (from, message, ends) in [
        (1, Message::Objection, true),
        (1, lives, true),
        (1, claims(1, 1), true),
        (3, claims(3, 1), false),
        (3, claims(3, 2), true),
    ] {
        let mut claimant = claimant(2, &[from], Settings::default());
        let outputs = receives(&mut claimant, from, message.clone());
        assert_eq!(said(&outputs).is_empty(), ends, "{message:?}");
        fires(&mut claimant, Timer::Listen);
        assert_eq!(claimant.token().is_none(), ends, "{message:?}");
    }
}

/// T8: of two that hear each other the one with the smaller pair keeps its token, and does not
/// act; it acts again when the greater is gone. As in the source both act until one gives up.
#[test]
fn the_smaller_pair_stands_behind_the_greater() {
    let (smaller, exchange) = frozen(1, 2);
    assert_eq!(smaller.node_state(), slave_of(2));
    let own = life(stamp_of(&smaller), 1);
    assert_eq!(said(&fires(&mut smaller.clone(), Timer::Life)), to(2, own), "T6: to it alone");
    let ends: [fn(&mut TokenRing, Exchange) -> Vec<Output>; 3] = [
        |node, exchange| receives(node, 2, Message::NoLongerHolder(exchange)),
        |node, _| loses(node, 2),
        |node, _| hears(node, 2, &Seeking),
    ];
    for end in ends {
        let mut smaller = smaller.clone();
        end(&mut smaller, exchange);
        assert_eq!(smaller.node_state(), Master);
    }
    let mut source = holder_as(1, &[2], Settings::source());
    receives(&mut source, 2, life(stamp(1, 2, 0), 9));
    assert_eq!(source.node_state(), Master);
    assert_eq!(said(&fires(&mut source, Timer::Life))[0].0, None, "to all");
}

/// T1, T8: who is asked answers by what it is, and a waiting node speaks only then.
#[test]
fn no_longer_holder_ok_and_busy() {
    let mut quiet = waiting(1, &[2]);
    hears(&mut quiet, 2, &Master);
    assert_eq!(said(&receives(&mut quiet, 2, Message::Search)), to(2, Message::Here(mac(1))));
    for message in [life(stamp(1, 2, 0), 1), Message::Here(mac(2)), Message::Busy(Exchange(1))] {
        assert_eq!(said(&receives(&mut quiet, 2, message)), []);
    }

    let exchange = Exchange(5);
    let agreed = Message::Agreed { exchange, mac: mac(1), count: 1 };
    for (mut node, from, answer) in [
        (waiting(1, &[2]), 2, Message::NoLongerHolder(exchange)),
        (holder(1, &[2]), 2, agreed.clone()),
        (frozen(1, 2).0, 2, agreed),
        (frozen(1, 2).0, 9, Message::Busy(exchange)),
        (passing(1, 2).0, 2, Message::Busy(exchange)),
    ] {
        let outputs = receives(&mut node, from, Message::Wait(exchange));
        assert_eq!(said(&outputs), to(from, answer));
    }
}

/// T8: the greater pair of count and address stays; the smaller goes, with its data.
#[test]
fn the_smaller_pair_gives_its_token_up() {
    for (theirs, survivor) in [(0, Survivor::Asker), (1, Survivor::Asked), (2, Survivor::Asked)] {
        let (mut asker, exchange) = frozen(1, 2);
        let agreed = Message::Agreed { exchange, mac: mac(2), count: theirs };
        let outputs = receives(&mut asker, 2, agreed);
        assert_eq!(said(&outputs)[..1], to(2, Message::Result { exchange, survivor }));
        let stays = survivor == Survivor::Asker;
        assert_eq!(asker.token().is_some(), stays, "{theirs}");
        assert_eq!(matches!(outputs[0], Output::HandOver(..)), !stays);
        if stays {
            assert!(stamp_of(&asker) > stamp(1, 2, 0), "all take it over the other's");
        }
    }
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

/// E7, T7: whatever a faulty node says of its token, there is a later generation.
#[test]
fn a_stamp_near_the_end_of_its_range_is_not_the_last() {
    let mut last = stamp(u64::MAX, 2, u64::MAX);
    last.generation.nonce = Nonce(u64::MAX);
    for message in [
        life(last.clone(), u64::MAX),
        Message::Pass(Token { stamp: last.clone(), count: u64::MAX }),
        Message::Refused { stamp: last.clone(), seen: last },
    ] {
        let mut node = waiting(1, &[2]);
        receives(&mut node, 2, message);
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
