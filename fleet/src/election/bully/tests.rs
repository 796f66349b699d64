//! The rows of the protocol, one machine at a time and several by hand.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::election::Rules;
use crate::election::testing::{self, armed, detail, feed, fires, loses, name, receives, slave_of};

use proptest::prelude::*;

/// Any message of the protocol.
pub(in crate::election) fn any_message() -> impl Strategy<Value = Any> {
    prop_oneof![
        Just(Message::Election),
        Just(Message::Answer),
        any::<u64>().prop_map(|term| Message::Master { term: Term(term) }),
    ]
    .prop_map(Any::from)
}

/// A node whose estimate is ten times its number.
fn candidate(index: u8) -> Candidate {
    estimating(index, 10 * u32::from(index))
}

fn estimating(index: u8, estimate: u32) -> Candidate {
    Candidate { estimate, ..testing::candidate(index) }
}

/// As in the source: nodes are asked whether they live or not.
fn as_in_the_source() -> Settings {
    Settings::source()
}

/// Every node has a number.
fn configured() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::default() }
}

fn node(index: u8) -> Bully {
    Bully::new(candidate(index), Settings::default())
}

/// A beacon of a node whose estimate is ten times its number.
fn hears(node: &mut Bully, index: u8, node_state: &NodeState) -> Vec<Output> {
    hears_in(node, index, node_state, 0)
}

fn hears_in(node: &mut Bully, index: u8, node_state: &NodeState, term: u64) -> Vec<Output> {
    testing::hears_in(node, &candidate(index), node_state, term)
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

fn state(node: &Bully) -> String {
    detail(node, "state").expect("a state")
}

fn master(term: u64) -> Message {
    Message::Master { term: Term(term) }
}

/// A started node that has heard of others, none of which leads.
fn amid(own: u8, others: &[u8], settings: Settings) -> Bully {
    let mut node = Bully::new(candidate(own), settings);
    feed(&mut node, Input::Start);
    for other in others {
        hears(&mut node, *other, &NodeState::Seeking);
    }
    node
}

/// One that follows the master of term 1.
fn follower(own: u8, others: &[u8], of: u8, settings: Settings) -> Bully {
    let mut node = amid(own, others, settings);
    receives(&mut node, of, master(1));
    hears_in(&mut node, of, &NodeState::Master, 1);
    fires(&mut node, Timer::Pause);
    assert_eq!(node.node_state(), slave_of(of));
    node
}

/// One that leads in term 1.
fn leader(own: u8, others: &[u8]) -> Bully {
    let mut node = amid(own, others, Settings::default());
    fires(&mut node, Timer::Answer);
    assert_eq!(node.node_state(), NodeState::Master);
    node
}

/// B1: the estimate ranks, then the name.
#[test]
fn nodes_are_ranked_by_estimate_and_then_by_name() {
    let mut second = amid(2, &[1, 3], Settings::default());
    for equal in [estimating(1, 20), estimating(3, 20)] {
        testing::hears(&mut second, &equal, &NodeState::Seeking);
        assert_eq!(second.higher().collect::<Vec<_>>(), [&name(3)]);
    }
    testing::hears(&mut second, &estimating(3, 19), &NodeState::Seeking);
    assert_eq!(second.higher().next(), None);
}

/// B1: the estimate is a fixed number, or the health of the node.
#[test]
fn the_estimate_is_configured_or_the_nodes_health() {
    let estimate = |estimate| Settings { estimate, ..as_in_the_source() }.estimate(80);
    assert_eq!(estimate(Estimate::Fixed(7)), 7);
    assert_eq!(estimate(Estimate::Health), 80);
}

/// B2
#[test]
fn whoever_misses_the_master_asks_every_higher_node() {
    let settings = Settings { head_start: Duration::ZERO, ..Settings::default() };
    let mut second = follower(2, &[1, 3, 4, 5], 5, settings);
    let outputs = loses(&mut second, 5);
    assert_eq!(sent(&outputs), asked([3, 4]));
    assert_eq!(armed(&outputs, Timer::Answer), Some(Settings::default().answer_wait));
    assert_eq!(second.node_state(), NodeState::Seeking, "C5");
}

/// B2, B3: usually the highest survivor announces itself at once, and nobody has to ask.
#[test]
fn the_higher_ones_have_a_moment_to_announce_themselves() {
    let settings = Settings::default();
    let missing = || {
        let mut second = follower(2, &[1, 3, 4, 5], 5, Settings::default());
        let outputs = loses(&mut second, 5);
        assert_eq!(sent(&outputs), []);
        assert_eq!(armed(&outputs, Timer::HeadStart), Some(settings.head_start));
        second
    };
    let mut second = missing();
    assert_eq!(receives(&mut second, 4, master(2))[..1], [Output::Disarm(Timer::Answer.into())]);
    assert_eq!(second.node_state(), slave_of(4));
    assert_eq!(fires(&mut second, Timer::HeadStart), [], "a stale timer");

    let mut second = missing();
    let outputs = fires(&mut second, Timer::HeadStart);
    assert_eq!(sent(&outputs), asked([3, 4]));
    assert_eq!(armed(&outputs, Timer::Answer), Some(settings.answer_wait));

    let mut second = missing();
    assert_eq!(sent(&receives(&mut second, 1, Message::Election)), [(1, Message::Answer)]);
    loses(&mut second, 3);
    assert_eq!(sent(&loses(&mut second, 4)), [(1, master(2))], "nobody else is left");
}

/// B5, C5: *master* may have been lost, and a beacon says the same.
#[test]
fn a_beacon_of_a_higher_master_announces_it() {
    let mut candidate = amid(2, &[1, 3], Settings::default());
    assert_eq!(sent(&hears(&mut candidate, 4, &NodeState::Master)), []);
    assert_eq!(candidate.node_state(), slave_of(4));
    let mut second = follower(2, &[1, 3, 4], 3, Settings::default());
    hears_in(&mut second, 4, &NodeState::Master, 1);
    assert_eq!(second.node_state(), slave_of(4), "higher than its master");
    hears_in(&mut second, 3, &NodeState::Master, 1);
    hears_in(&mut second, 1, &NodeState::Master, 1);
    assert_eq!(second.node_state(), slave_of(4), "which is higher");
    let mut second = follower(2, &[1, 3, 4], 3, Settings::default());
    hears_in(&mut second, 4, &NodeState::Master, 0);
    assert_eq!(second.node_state(), slave_of(3), "E7: the other is late");
    let mut second = follower(2, &[1, 3, 4], 3, as_in_the_source());
    hears_in(&mut second, 4, &NodeState::Master, 1);
    assert_eq!(second.node_state(), slave_of(3), "the source has messages only");
}

/// B2, C5: as in the source no state that a beacon has counts as the loss of the master.
#[test]
fn as_in_the_source_a_beacon_is_no_loss() {
    let mut second = follower(2, &[1, 3, 4], 3, as_in_the_source());
    let outputs = hears(&mut second, 3, &slave_of(4));
    assert_eq!(outputs, [], "nor is it one of a master that works");
    assert_eq!(second.node_state(), slave_of(3));
    assert_eq!(sent(&fires(&mut second, Timer::Silence)), asked([3, 4]));
}

/// B2: as in the source T runs once in each election.
#[test]
fn as_in_the_source_t_is_armed_once() {
    let mut second = Bully::new(candidate(2), as_in_the_source());
    let outputs = feed(&mut second, Input::Start);
    assert_eq!(armed(&outputs, Timer::Answer), Some(as_in_the_source().answer_wait));
    let outputs = hears(&mut second, 3, &NodeState::Seeking);
    assert_eq!(sent(&outputs), asked([3]));
    assert_eq!(armed(&outputs, Timer::Answer), None);
}

/// B6: as in the source an election does not begin another one right after the last.
#[test]
fn as_in_the_source_a_follower_holds_one_election_in_t() {
    let mut second = follower(2, &[1, 3], 3, as_in_the_source());
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
    let outputs = receives(&mut second, 3, master(1));
    assert_eq!(armed(&outputs, Timer::Pause), Some(as_in_the_source().answer_wait));
    assert_eq!(sent(&receives(&mut second, 1, Message::Election)), [(1, Message::Answer)]);
    fires(&mut second, Timer::Pause);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
}

/// B10: the source knows no challenge, no bonus and no head start.
#[test]
fn as_in_the_source_nobody_challenges_a_master_that_works() {
    let settings = as_in_the_source();
    let mut second = follower(2, &[1, 3], 3, settings.clone());
    assert_eq!(feed(&mut second, Input::Estimate(100)), []);
    assert_eq!(armed(&hears(&mut second, 3, &NodeState::Master), Timer::HoldOff), None);
    let mut second = amid(2, &[1], settings.clone());
    fires(&mut second, Timer::Answer);
    hears_in(&mut second, 1, &slave_of(2), 1);
    assert_eq!(second.estimate(), 20);
    assert!(!settings.outranks((100, &name(1)), (1, &name(2))));
    assert_eq!((settings.head_start, settings.ask_again), (Duration::ZERO, settings.answer_wait));
}

/// B1: the variant of the source.
#[test]
fn the_lowest_estimate_wins_where_that_is_set() {
    let lowest = |estimate| Settings { wins: Wins::Lowest, estimate, ..Settings::default() };
    let mut second = amid(2, &[1, 3], lowest(Estimate::Fixed(20)));
    assert_eq!(second.higher().collect::<Vec<_>>(), [&name(1)]);
    testing::hears(&mut second, &estimating(0, 0), &NodeState::Seeking);
    testing::hears(&mut second, &estimating(4, 20), &NodeState::Seeking);
    let higher: BTreeSet<_> = second.higher().collect();
    assert_eq!(higher, BTreeSet::from([&name(1), &name(4)]), "0 bars, and the name decides");
    assert_eq!(receives(&mut second, 1, Message::Election), []);
    assert_eq!(sent(&receives(&mut second, 3, Message::Election)), [(3, Message::Answer)]);

    let settings = lowest(Estimate::Fixed(0));
    assert!(settings.outranks((10, &name(1)), (11, &name(2))));
    assert!(!settings.outranks((0, &name(1)), (11, &name(2))), "it is barred");
    assert!(settings.exceeds(10, 35) && !settings.exceeds(10, 34) && !settings.exceeds(35, 10));
}

/// B1, B10: what a node's health lacks is its estimate; a followed master's is less by the bonus.
#[test]
fn the_lowest_estimate_by_health_is_the_best_health() {
    let settings = Settings { wins: Wins::Lowest, ..Settings::default() };
    assert_eq!([100, 50, 0].map(|health| settings.estimate(health)), [900, 950, 1_000]);
    let mut second = Bully::new(estimating(2, 950), settings);
    feed(&mut second, Input::Start);
    testing::hears(&mut second, &estimating(1, 960), &NodeState::Seeking);
    fires(&mut second, Timer::Answer);
    testing::hears(&mut second, &estimating(1, 960), &slave_of(2));
    assert_eq!(second.estimate(), 926);
    testing::hears(&mut second, &estimating(3, 927), &NodeState::Seeking);
    assert_eq!(second.higher().next(), None);
    testing::hears(&mut second, &estimating(3, 925), &NodeState::Seeking);
    assert_eq!(second.higher().next(), Some(&name(3)));
    assert_eq!(Settings::default().as_master(0, true), 24);
}

/// B2, C5: without the mesh's help its own patience decides, and the silent one is asked too.
#[test]
fn as_in_the_source_silence_is_the_only_sign_of_loss() {
    let mut second = follower(2, &[1, 3], 3, as_in_the_source());
    assert_eq!(loses(&mut second, 3), []);
    assert_eq!(second.node_state(), slave_of(3));
    let outputs = hears(&mut second, 3, &NodeState::Master);
    assert_eq!(armed(&outputs, Timer::Silence), Some(as_in_the_source().silence), "it works");
    let outputs = fires(&mut second, Timer::Silence);
    assert_eq!(sent(&outputs), asked([3]));
    assert_eq!(second.node_state(), NodeState::Seeking);
}

/// B2: *election* may be lost.
#[test]
fn nobody_having_answered_the_question_is_put_again() {
    let mut first = amid(1, &[2, 3], Settings::default());
    let outputs = fires(&mut first, Timer::Ask);
    assert_eq!(sent(&outputs), asked([2, 3]));
    assert_eq!(armed(&outputs, Timer::Ask), Some(Settings::default().ask_again));
    assert_eq!(armed(&outputs, Timer::Answer), None, "T goes on");
}

/// B2, B7: who starts knows nobody yet.
#[test]
fn a_candidate_asks_higher_nodes_as_it_hears_of_them() {
    let mut second = node(2);
    let outputs = feed(&mut second, Input::Start);
    assert_eq!(sent(&outputs), []);
    assert!(armed(&outputs, Timer::Answer).is_some());
    assert_eq!(sent(&hears(&mut second, 1, &NodeState::Master)), []);
    let outputs = hears(&mut second, 3, &NodeState::Seeking);
    assert_eq!(sent(&outputs), asked([3]));
    assert!(armed(&outputs, Timer::Answer).is_some(), "it too has T");
    assert_eq!(hears(&mut second, 3, &NodeState::Seeking), [], "once");
}

/// B3
#[test]
fn a_node_that_nobody_answers_leads_and_announces_itself() {
    let mut second = amid(2, &[0, 1, 3], Settings::default());
    let outputs = fires(&mut second, Timer::Answer);
    assert_eq!(sent(&outputs), [(0, master(1)), (1, master(1))]);
    assert_eq!(second.node_state(), NodeState::Master);
}

/// B3, C5: nobody could answer.
#[test]
fn an_election_with_nobody_to_ask_is_over_at_once() {
    let mut second = follower(2, &[0, 1, 3], 3, Settings::default());
    let outputs = loses(&mut second, 3);
    assert_eq!(sent(&outputs), [(0, master(2)), (1, master(2))]);
    assert_eq!(second.node_state(), NodeState::Master);

    let mut second = amid(2, &[1, 3], Settings::default());
    receives(&mut second, 3, Message::Answer);
    assert_eq!(sent(&loses(&mut second, 3)), [(1, master(1))]);
}

/// B4
#[test]
fn an_answered_candidate_waits_for_the_announcement_and_then_begins_again() {
    let mut first = amid(1, &[2, 3], Settings::default());
    let outputs = receives(&mut first, 3, Message::Answer);
    let wait = Settings::default().coordinator_wait;
    assert_eq!(armed(&outputs, Timer::Announcement), Some(wait));
    assert!(outputs.contains(&Output::Disarm(Timer::Answer.into())));
    assert_eq!(receives(&mut first, 2, Message::Answer), [], "one is enough");
    assert_eq!(fires(&mut first, Timer::Answer), [], "a stale timer");
    let outputs = fires(&mut first, Timer::Announcement);
    assert_eq!(sent(&outputs), asked([2, 3]));
    assert_eq!(first.node_state(), NodeState::Seeking);
}

/// B5
#[test]
fn whoever_announces_itself_is_followed() {
    let mut first = amid(1, &[2, 3], Settings::default());
    receives(&mut first, 3, Message::Answer);
    receives(&mut first, 2, master(1));
    assert_eq!(first.node_state(), slave_of(2));
    receives(&mut first, 3, master(2));
    assert_eq!(first.node_state(), slave_of(3), "a better one");
    receives(&mut first, 2, master(2));
    assert_eq!(first.node_state(), slave_of(3), "whose works");
}

/// B6
#[test]
fn a_node_that_is_asked_answers_and_holds_an_election_of_its_own() {
    let mut second = follower(2, &[1, 3], 3, Settings::default());
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)]);
    assert_eq!(state(&second), "lost", "its master works, and will answer too");

    let mut third = follower(3, &[1, 2], 2, configured());
    let outputs = receives(&mut third, 1, Message::Election);
    let announced = [(1, Message::Answer), (1, master(2)), (2, master(2))];
    assert_eq!(sent(&outputs), announced, "it is higher than its master");

    let mut second = follower(2, &[1, 3], 3, as_in_the_source());
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
    assert_eq!(state(&second), "candidate");
    assert_eq!(second.node_state(), slave_of(3), "which works");
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "one is running");
    assert_eq!(receives(&mut second, 3, Message::Election), [], "it is lower itself");
    assert_eq!(receives(&mut second, 9, Message::Election), [], "from anybody");
}

/// B6, B10: a master that nobody outranks has won its election at once.
#[test]
fn a_master_that_is_asked_answers_and_announces_itself() {
    let mut third = leader(3, &[1, 2]);
    let outputs = receives(&mut third, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (1, master(1))]);
    hears(&mut third, 4, &NodeState::Seeking);
    let outputs = receives(&mut third, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)]);
    assert_eq!(sent(&fires(&mut third, Timer::HeadStart)), asked([4]));
    assert_eq!(third.node_state(), NodeState::Master, "until another one has won");
}

/// B6: it follows, and that is all.
#[test]
fn a_barred_node_neither_answers_nor_leads() {
    let mut barred = Bully::new(estimating(2, 0), Settings::default());
    feed(&mut barred, Input::Start);
    testing::hears(&mut barred, &estimating(1, 0), &NodeState::Seeking);
    assert_eq!(receives(&mut barred, 1, Message::Election), []);
    let outputs = hears(&mut barred, 3, &NodeState::Seeking);
    assert_eq!(sent(&outputs), asked([3]));
    let outputs = fires(&mut barred, Timer::Answer);
    assert_eq!(sent(&outputs), asked([3]), "again and again");
    loses(&mut barred, 3);
    fires(&mut barred, Timer::Answer);
    assert_eq!(barred.node_state(), NodeState::Seeking);
    hears(&mut barred, 4, &NodeState::Master);
    receives(&mut barred, 4, master(1));
    assert_eq!(barred.node_state(), slave_of(4));
    assert_eq!(feed(&mut barred, Input::Estimate(0)), []);
}

/// B7
#[test]
fn a_restarted_node_with_the_highest_estimate_replaces_the_master() {
    let mut second = leader(2, &[1]);
    let mut first = follower(1, &[2], 2, Settings::default());
    let mut third = node(3);
    feed(&mut third, Input::Start);
    for other in [1, 2] {
        hears_in(&mut third, other, &NodeState::Master, 1);
    }
    for node in [&mut first, &mut second] {
        hears(node, 3, &NodeState::Seeking);
    }
    let outputs = fires(&mut third, Timer::Answer);
    assert_eq!(sent(&outputs), [(1, master(2)), (2, master(2))]);
    receives(&mut first, 3, master(2));
    receives(&mut second, 3, master(2));
    for node in [first, second] {
        assert_eq!(node.node_state(), slave_of(3));
    }
}

/// B7: one that is not the highest is answered, and follows.
#[test]
fn a_restarted_node_that_is_not_the_highest_changes_nothing() {
    let mut third = leader(3, &[1, 2]);
    let mut second = amid(2, &[1, 3], Settings::default());
    let outputs = receives(&mut third, 2, Message::Election);
    assert_eq!(sent(&outputs), [(2, Message::Answer), (2, master(1))]);
    receives(&mut second, 3, Message::Answer);
    receives(&mut second, 3, master(1));
    assert_eq!((third.node_state(), second.node_state()), (NodeState::Master, slave_of(3)));
}

/// B8: figure 29, step by step; C is S4.
#[test]
fn the_worked_example_goes_as_in_the_source() {
    let [mut first, mut second, mut third] = [1, 2, 3].map(|own| {
        follower(
            own,
            &[1, 2, 3, 4].into_iter().filter(|other| *other != own).collect::<Vec<_>>(),
            4,
            as_in_the_source(),
        )
    });

    // Step 1: S1 finds C dead, and asks S2 and S3 (and C, in vain). Both answer …
    let outputs = fires(&mut first, Timer::Silence);
    let questions = BTreeSet::from_iter(sent(&outputs));
    assert_eq!(questions, asked([2, 3, 4]).into());
    let by_second = receives(&mut second, 1, Message::Election);
    let by_third = receives(&mut third, 1, Message::Election);
    for outputs in [&by_second, &by_third] {
        assert_eq!(sent(outputs)[0], (1, Message::Answer));
    }
    receives(&mut first, 2, Message::Answer);
    receives(&mut first, 3, Message::Answer);

    // Step 2: … and start elections of their own.
    assert_eq!(sent(&by_second)[1..], asked([3, 4]));
    assert_eq!(sent(&by_third)[1..], asked([4]));
    assert_eq!([&first, &second, &third].map(state), ["candidate"; 3].map(str::to_owned));

    // Step 3: S3 answers S2, waits for C in vain, takes over, and dies before it has said so.
    let outputs = receives(&mut third, 2, Message::Election);
    assert_eq!(sent(&outputs), [(2, Message::Answer)]);
    receives(&mut second, 3, Message::Answer);
    let unsent = fires(&mut third, Timer::Answer);
    assert_eq!(sent(&unsent), [(1, master(2)), (2, master(2))]);
    assert_eq!(third.node_state(), NodeState::Master);
    drop(third);

    // Step 4: S1's wait runs out; its new election makes S2 the master.
    let outputs = fires(&mut first, Timer::Announcement);
    assert!(sent(&outputs).contains(&(2, Message::Election)));
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "its election is running");
    receives(&mut first, 2, Message::Answer);
    let outputs = fires(&mut second, Timer::Announcement);
    assert_eq!(sent(&outputs), asked([3, 4]));
    let outputs = fires(&mut second, Timer::Answer);
    assert_eq!(sent(&outputs), [(1, master(2))]);
    receives(&mut first, 2, master(2));
    assert_eq!((first.node_state(), second.node_state()), (slave_of(2), NodeState::Master));
}

/// B9
#[test]
fn the_state_is_shown_by_its_name() {
    let mut first = node(1);
    assert_eq!(state(&first), "sleep");
    feed(&mut first, Input::Start);
    assert_eq!(state(&first), "candidate");
    assert_eq!(first.details()[2], Detail::new("waits for", "answer"));
    hears(&mut first, 2, &NodeState::Seeking);
    receives(&mut first, 2, Message::Answer);
    assert_eq!(first.details()[2], Detail::new("waits for", "master"));
    receives(&mut first, 2, master(1));
    assert_eq!(state(&first), "lost", "it has lost the election, not its way");
    assert_eq!(first.details()[2], Detail::new("follows", name(2)));
    assert_eq!(state(&leader(2, &[1])), "master");
    assert_eq!(first.details()[1], Detail::new("estimate", 10));
}

/// B10
#[test]
fn of_two_masters_that_meet_the_higher_stays() {
    let mut second = leader(2, &[1]);
    let mut third = leader(3, &[]);
    let outputs = hears_in(&mut third, 2, &NodeState::Master, 1);
    assert_eq!(sent(&outputs), [(2, master(1))], "nobody to ask");
    let mut seeing = second.clone();
    assert_eq!(sent(&hears_in(&mut seeing, 3, &NodeState::Master, 1)), []);
    assert_eq!(seeing.node_state(), slave_of(3), "a beacon is enough");

    let outputs = hears_in(&mut second, 3, &NodeState::Master, 0);
    assert_eq!(sent(&outputs), [], "a late one is not");
    assert_eq!(sent(&fires(&mut second, Timer::HeadStart)), asked([3]));
    assert_eq!(second.node_state(), NodeState::Master, "until the other has won");
    let outputs = receives(&mut third, 2, Message::Election);
    assert_eq!(sent(&outputs), [(2, Message::Answer), (2, master(1))]);
    receives(&mut second, 3, Message::Answer);
    receives(&mut second, 3, master(1));
    assert_eq!((second.node_state(), third.node_state()), (slave_of(3), NodeState::Master));
}

/// B10: nor does one yield to a lower one.
#[test]
fn a_master_answers_a_lower_ones_announcement_with_its_own() {
    let mut third = leader(3, &[1, 2]);
    let outputs = receives(&mut third, 2, master(5));
    assert_eq!(sent(&outputs), [(1, master(5)), (2, master(5))]);
    assert_eq!(third.node_state(), NodeState::Master);
}

/// B10, E6
#[test]
fn only_an_estimate_that_is_clearly_higher_than_the_masters_starts_an_election() {
    let mut second = follower(2, &[1, 3], 3, configured());
    assert_eq!(feed(&mut second, Input::Estimate(54)), []);
    assert_eq!(hears_in(&mut second, 3, &NodeState::Master, 1), []);
    feed(&mut second, Input::Estimate(55));
    let outputs = fires(&mut second, Timer::HoldOff);
    assert_eq!(sent(&outputs), [(1, master(2)), (3, master(2))]);
    assert_eq!(second.node_state(), NodeState::Master);

    let mut second = follower(2, &[1, 3], 3, configured());
    feed(&mut second, Input::Estimate(50));
    testing::hears_in(&mut second, &estimating(3, 25), &NodeState::Master, 1);
    fires(&mut second, Timer::HoldOff);
    assert_eq!(second.node_state(), NodeState::Master, "or if the master's falls");
}

/// B10, E6: a panel's line that is soon back changes no leader.
#[test]
fn an_estimate_has_to_be_clearly_higher_for_as_long_as_the_hold_off() {
    let settings = configured();
    let mut second = follower(2, &[1, 3], 3, settings.clone());
    let outputs = feed(&mut second, Input::Estimate(55));
    assert_eq!(armed(&outputs, Timer::HoldOff), Some(settings.hold_off));
    assert_eq!(
        hears_in(&mut second, 3, &NodeState::Master, 1),
        [],
        "the hold-off is not begun anew"
    );
    let outputs = feed(&mut second, Input::Estimate(54));
    assert_eq!(outputs, [Output::Disarm(Timer::HoldOff.into())]);
    let outputs = feed(&mut second, Input::Estimate(55));
    assert_eq!(armed(&outputs, Timer::HoldOff), Some(settings.hold_off));
    let outputs = receives(&mut second, 4, master(2));
    assert_eq!(outputs, [], "not known");
    let outputs = receives(&mut second, 3, master(2));
    assert!(outputs.contains(&Output::Disarm(Timer::HoldOff.into())));
}

/// B1, B6, E6: an election that somebody starts for reasons of its own changes no leader.
#[test]
fn a_followed_master_stays_until_another_is_clearly_fitter() {
    let mut second = leader(2, &[1]);
    hears_in(&mut second, 1, &slave_of(2), 1);
    testing::hears(&mut second, &estimating(3, 44), &NodeState::Seeking);
    assert_eq!(second.estimate(), 44);
    testing::hears(&mut second, &estimating(1, 10), &slave_of(2));
    testing::hears(&mut second, &estimating(3, 43), &NodeState::Seeking);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (1, master(1))]);
    testing::hears(&mut second, &estimating(3, 45), &NodeState::Seeking);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)]);
    assert_eq!(sent(&fires(&mut second, Timer::HeadStart)), asked([3]), "25 more than 20");
}

/// B10, E6: so a node whose network was cut throws nobody out when it is mended.
#[test]
fn a_master_whom_nobody_follows_yields_to_one_that_is_followed() {
    let mut second = leader(2, &[1]);
    hears_in(&mut second, 1, &slave_of(2), 1);
    let mut third = leader(3, &[]);
    assert_eq!((second.estimate(), third.estimate()), (44, 31));
    let mut seeing = third.clone();
    let fitter = estimating(2, second.estimate());
    testing::hears_in(&mut seeing, &fitter, &NodeState::Master, 1);
    assert_eq!(seeing.node_state(), slave_of(2), "a beacon is enough");
    testing::hears(&mut third, &fitter, &NodeState::Master);
    assert_eq!(sent(&fires(&mut third, Timer::HeadStart)), asked([2]), "a late one is not");
    testing::hears(&mut second, &estimating(3, third.estimate()), &NodeState::Master);
    let outputs = receives(&mut second, 3, Message::Election);
    assert_eq!(sent(&outputs), [(3, Message::Answer), (3, master(1))]);
    receives(&mut third, 2, Message::Answer);
    receives(&mut third, 2, master(1));
    assert_eq!((second.node_state(), third.node_state()), (NodeState::Master, slave_of(2)));
}

/// B1: the bonus adds to the estimate that is a node's health, as long as it lasts.
#[test]
fn a_number_that_was_configured_ranks_as_it_is() {
    for (settings, expected) in [(configured(), [20; 4]), (Settings::default(), [20, 21, 44, 20])] {
        let mut second = amid(2, &[1, 3], settings);
        let sought = second.estimate();
        loses(&mut second, 3);
        let alone = second.estimate();
        hears_in(&mut second, 1, &slave_of(2), 1);
        let followed = second.estimate();
        testing::hears(&mut second, &estimating(3, 90), &NodeState::Seeking);
        receives(&mut second, 3, master(9));
        assert_eq!([sought, alone, followed, second.estimate()], expected);
    }
}

/// B1, E6: nobody follows a master that is cut off from all its slaves, also as in the source.
#[test]
fn who_is_lost_follows_no_more() {
    for mesh_detection in [true, false] {
        let settings = Settings { mesh_detection, ..Settings::default() };
        let mut second = amid(2, &[1], settings);
        fires(&mut second, Timer::Answer);
        hears_in(&mut second, 1, &slave_of(2), 1);
        assert_eq!(second.estimate(), 44);
        loses(&mut second, 1);
        assert_eq!(second.estimate(), 21);
    }
}

/// E7
#[test]
fn a_late_announcement_of_an_older_term_changes_nothing() {
    let mut first = follower(1, &[2, 3], 3, Settings::default());
    loses(&mut first, 3);
    hears(&mut first, 3, &NodeState::Seeking);
    receives(&mut first, 2, master(2));
    let before = first.clone();
    assert_eq!(receives(&mut first, 3, master(1)), []);
    assert_eq!(first, before);
    hears_in(&mut first, 2, &NodeState::Master, 7);
    receives(&mut first, 3, master(6));
    assert_eq!(first.node_state(), slave_of(2), "a beacon tells the term too");
    let mut candidate = amid(1, &[2], Settings::default());
    hears_in(&mut candidate, 2, &NodeState::Seeking, 4);
    receives(&mut candidate, 2, master(3));
    assert_eq!(candidate.node_state(), NodeState::Seeking);
}

/// C3: *master* of the one that took its place may have been lost.
#[test]
fn a_follower_whose_master_has_yielded_starts_an_election() {
    for node_state in [slave_of(4), NodeState::Seeking] {
        let mut second = follower(2, &[3, 4], 3, Settings::default());
        hears(&mut second, 3, &node_state);
        assert_eq!(second.node_state(), NodeState::Seeking);
        assert_eq!(sent(&fires(&mut second, Timer::HeadStart)), asked([3, 4]));
    }
}

/// E3
#[test]
fn a_new_master_announces_a_term_above_all_it_knows() {
    let mut second = amid(2, &[1], Settings::default());
    hears_in(&mut second, 1, &NodeState::Seeking, 8);
    assert_eq!(sent(&fires(&mut second, Timer::Answer)), [(1, master(9))]);
}

/// C2: whatever arrives twice changes nothing more.
#[test]
fn messages_that_arrive_twice_do_no_harm() {
    let mut first = amid(1, &[2, 3], Settings::default());
    for message in [Message::Answer, master(1)] {
        receives(&mut first, 3, message);
        let before = first.clone();
        receives(&mut first, 3, message);
        assert_eq!(first, before);
    }
}

/// E7: whatever term is announced, a new master has a higher one, and announces it.
#[test]
fn a_term_follows_the_highest_announced() {
    let mut node = node(2);
    hears_in(&mut node, 1, &NodeState::Master, u64::MAX);
    let heard = node.term;
    assert!(heard < heard.next());
    let term = Term(u64::MAX);
    receives(&mut node, 1, Message::Master { term });
    assert!(node.term < node.term.next() && heard < node.term);
}
