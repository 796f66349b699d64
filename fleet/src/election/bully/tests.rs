//! What the model does not look at: how long things take, whom a message goes to, and estimates.

use std::time::Duration;

use super::*;
use crate::election::testing::{self, armed, feed, fires, loses, name, receives, slave_of};

use NodeState::{Master, Seeking};

fn estimating(index: u8, estimate: u32) -> Candidate {
    Candidate { estimate, ..testing::candidate(index) }
}

/// Every node has a number.
fn configured() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::default() }
}

/// A beacon of a node whose estimate is ten times its number.
fn hears(node: &mut Bully, index: u8, node_state: &NodeState, term: u64) -> Vec<Output> {
    testing::hears_in(node, &estimating(index, 10 * u32::from(index)), node_state, term)
}

/// A beacon of a node with this estimate that leads nobody.
fn estimates(node: &mut Bully, index: u8, estimate: u32) -> Vec<Output> {
    testing::hears(node, &estimating(index, estimate), &Seeking)
}

/// What is sent, without the timers, by receiver.
fn sent(outputs: &[Output]) -> Vec<(u8, Message)> {
    let sent = testing::sent(outputs).into_iter().filter_map(|(to, message)| {
        let index = to?.as_str()[1..].parse().expect("a number");
        if let Any::Bully(message) = message { Some((index, message)) } else { None }
    });
    let mut sent: Vec<_> = sent.collect();
    sent.sort_by_key(|(to, _)| *to);
    sent
}

/// A question to each of these nodes.
fn asked<const N: usize>(nodes: [u8; N]) -> [(u8, Message); N] {
    nodes.map(|to| (to, Message::Election))
}

fn master(term: u64) -> Message {
    Message::Master { term: Term(term) }
}

/// A started node that has heard of others, none of which leads.
fn amid(own: u8, others: &[u8], settings: Settings) -> Bully {
    let mut node = Bully::new(estimating(own, 10 * u32::from(own)), settings);
    feed(&mut node, Input::Start);
    for other in others {
        hears(&mut node, *other, &Seeking, 0);
    }
    node
}

/// One that follows the master of term 1.
fn follower(own: u8, others: &[u8], of: u8, settings: Settings) -> Bully {
    let mut node = amid(own, others, settings);
    receives(&mut node, of, master(1));
    hears(&mut node, of, &Master, 1);
    fires(&mut node, Timer::Pause);
    assert_eq!(node.node_state(), slave_of(of));
    node
}

/// One that leads in term 1.
fn leader(own: u8, others: &[u8], settings: Settings) -> Bully {
    let mut node = amid(own, others, settings);
    fires(&mut node, Timer::Answer);
    assert_eq!(node.node_state(), Master);
    node
}

/// B2, B3: usually the highest survivor announces itself at once, and nobody has to ask.
#[test]
fn the_higher_ones_have_a_moment_to_announce_themselves() {
    let settings = Settings::default();
    let mut second = follower(2, &[1, 3, 4, 5], 5, settings.clone());
    let outputs = loses(&mut second, 5);
    assert_eq!((sent(&outputs), second.node_state()), (vec![], Seeking), "C5");
    assert_eq!(armed(&outputs, Timer::HeadStart), Some(settings.head_start));
    let mut informed = second.clone();
    receives(&mut informed, 4, master(2));
    assert_eq!(fires(&mut informed, Timer::HeadStart), [], "a stale timer");
    let mut left = second.clone();
    loses(&mut left, 3);
    assert_eq!(sent(&loses(&mut left, 4)), [(1, master(2))], "nobody else is left");
    let outputs = fires(&mut second, Timer::HeadStart);
    assert_eq!(sent(&outputs), asked([3, 4]));
    assert_eq!(armed(&outputs, Timer::Answer), Some(settings.answer_wait));

    let at_once = Settings { head_start: Duration::ZERO, ..settings };
    let mut second = follower(2, &[1, 3, 4, 5], 5, at_once);
    assert_eq!(sent(&loses(&mut second, 5)), asked([3, 4]));
}

/// B5, C5: *master* may have been lost, and a beacon says the same; in the source only messages do.
#[test]
fn a_beacon_of_a_higher_master_announces_it() {
    for (settings, master) in [(Settings::default(), 4), (Settings::source(), 3)] {
        let mut second = follower(2, &[1, 3, 4], 3, settings);
        hears(&mut second, 4, &Master, 0);
        assert_eq!(second.node_state(), slave_of(3), "E7: the other is late");
        for peer in [4, 1] {
            hears(&mut second, peer, &Master, 1);
            assert_eq!(second.node_state(), slave_of(master), "the higher of the two");
        }
    }
}

/// B4, B5: the present master may be dead, although this node has not missed it yet.
#[test]
fn a_lower_node_that_announces_a_later_term_is_followed_at_once() {
    for settings in [Settings::default(), Settings::source()] {
        let mut first = follower(1, &[2, 3], 3, settings);
        // A beacon alone says no more than that its node was cut off.
        hears(&mut first, 2, &Master, 2);
        for (from, term, then) in [(2, 1, 3), (2, 2, 2), (3, 1, 2), (3, 3, 3)] {
            receives(&mut first, from, master(term));
            assert_eq!(first.node_state(), slave_of(then), "E7: {from} in term {term}");
        }
    }
}

/// B6, B10, E3: a node that outranks its master, or leads, wins its own election at once.
#[test]
fn a_node_that_is_asked_answers_and_holds_an_election_of_its_own() {
    let answer = (1, Message::Answer);
    for (mut node, outputs) in [
        (follower(2, &[1, 3], 3, Settings::default()), vec![answer]),
        (follower(3, &[1, 2], 2, configured()), vec![answer, (1, master(2)), (2, master(2))]),
        (leader(3, &[1, 2], Settings::default()), vec![answer, (1, master(1))]),
        (follower(2, &[1, 3], 3, Settings::source()), vec![answer, (3, Message::Election)]),
    ] {
        assert_eq!(sent(&receives(&mut node, 1, Message::Election)), outputs, "{node:?}");
    }
    let mut third = leader(3, &[1, 2], Settings::default());
    assert_eq!(sent(&hears(&mut third, 2, &Master, 1)), [(2, master(1))], "another master");

    let mut second = follower(2, &[1, 3], 3, Settings::source());
    receives(&mut second, 1, Message::Election);
    assert_eq!(second.node_state(), slave_of(3), "which works");
    assert_eq!(sent(&receives(&mut second, 1, Message::Election)), [answer], "one is running");
    for from in [3, 9] {
        assert_eq!(receives(&mut second, from, Message::Election), [], "a higher one, a stranger");
    }
    let outputs = receives(&mut second, 3, master(1));
    assert_eq!(armed(&outputs, Timer::Pause), Some(Settings::source().answer_wait));
    assert_eq!(sent(&receives(&mut second, 1, Message::Election)), [answer], "one election in T");

    let mut barred = Bully::new(estimating(2, 0), Settings::default());
    feed(&mut barred, Input::Start);
    estimates(&mut barred, 1, 0);
    assert_eq!(receives(&mut barred, 1, Message::Election), []);
}

/// B9
#[test]
fn the_state_is_shown_by_its_name() {
    let shown = |node: &Bully| node.details().into_iter().map(|it| it.value).collect::<Vec<_>>();
    let mut first = Bully::new(estimating(1, 10), Settings::default());
    assert_eq!(shown(&first), ["sleep", "10"]);
    feed(&mut first, Input::Start);
    assert_eq!(shown(&first), ["candidate", "10", "answer"]);
    hears(&mut first, 2, &Seeking, 0);
    receives(&mut first, 2, Message::Answer);
    assert_eq!(shown(&first), ["candidate", "10", "master"]);
    receives(&mut first, 2, master(1));
    assert_eq!(shown(&first), ["lost", "10", "N2"], "it has lost the election, not its way");
    assert_eq!(shown(&leader(2, &[1], configured())), ["master", "20"]);
}

/// B4, B8: figure 29, step by step; C is S4.
#[test]
fn the_worked_example_goes_as_in_the_source() {
    let [mut first, mut second, mut third] = [1, 2, 3].map(|own| {
        let others: Vec<u8> = (1..=4).filter(|other| *other != own).collect();
        follower(own, &others, 4, Settings::source())
    });

    // Step 1: S1 finds C dead, and asks S2 and S3 (and C, in vain). Both answer …
    assert_eq!(sent(&fires(&mut first, Timer::Silence)), asked([2, 3, 4]));
    // Step 2: … and start elections of their own.
    for (node, higher) in [(&mut second, &asked([3, 4])[..]), (&mut third, &asked([4]))] {
        let outputs = sent(&receives(node, 1, Message::Election));
        assert_eq!((outputs[0], &outputs[1..]), ((1, Message::Answer), higher));
    }
    receives(&mut first, 2, Message::Answer);
    receives(&mut first, 3, Message::Answer);

    // Step 3: S3 answers S2, waits for C in vain, takes over, and dies before it has said so.
    let outputs = receives(&mut third, 2, Message::Election);
    assert_eq!(sent(&outputs), [(2, Message::Answer)]);
    receives(&mut second, 3, Message::Answer);
    assert_eq!(sent(&fires(&mut third, Timer::Answer)), [(1, master(2)), (2, master(2))]);
    drop(third);

    // Step 4: S1's wait runs out; its new election makes S2 the master.
    let outputs = fires(&mut first, Timer::Announcement);
    assert!(sent(&outputs).contains(&(2, Message::Election)));
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "its election is running");
    receives(&mut first, 2, Message::Answer);
    assert_eq!(sent(&fires(&mut second, Timer::Announcement)), asked([3, 4]));
    assert_eq!(sent(&fires(&mut second, Timer::Answer)), [(1, master(2))]);
    receives(&mut first, 2, master(2));
    assert_eq!((first.node_state(), second.node_state()), (slave_of(2), Master));
}

/// B1: the estimate ranks, then the name.
#[test]
fn nodes_are_ranked_by_estimate_and_then_by_name() {
    let mut second = amid(2, &[], Settings::default());
    for (other, estimate) in [(1, 20), (3, 20), (4, 19)] {
        estimates(&mut second, other, estimate);
    }
    assert_eq!(second.higher().collect::<Vec<_>>(), [&name(3)]);
}

/// B1, B10, E6: the bonus adds to an estimate that is a node's health, and is 1 while nobody
/// follows the master: so one that was cut off yields to one that is followed.
#[test]
fn a_master_has_a_bonus_while_it_is_followed() {
    for (settings, expected) in [(configured(), [20; 4]), (Settings::default(), [20, 21, 44, 21])] {
        let mut second = amid(2, &[1], settings);
        let sought = second.estimate();
        fires(&mut second, Timer::Answer);
        let alone = second.estimate();
        hears(&mut second, 1, &slave_of(2), 1);
        let followed = second.estimate();
        loses(&mut second, 1);
        assert_eq!([sought, alone, followed, second.estimate()], expected);
    }
}
