//! What the model does not look at: how long things take, whom a message goes to, and estimates.

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::election::Rules;
use crate::election::testing::{self, armed, detail, feed, fires, loses, name, receives, slave_of};

use NodeState::{Master, Seeking};

/// A node whose estimate is ten times its number.
fn candidate(index: u8) -> Candidate {
    estimating(index, 10 * u32::from(index))
}

fn estimating(index: u8, estimate: u32) -> Candidate {
    Candidate { estimate, ..testing::candidate(index) }
}

/// Every node has a number.
fn configured() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::default() }
}

/// A beacon of a node whose estimate is ten times its number.
fn hears(node: &mut Bully, index: u8, node_state: &NodeState, term: u64) -> Vec<Output> {
    testing::hears_in(node, &candidate(index), node_state, term)
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
    assert_eq!(sent(&receives(&mut left, 1, Message::Election)), [(1, Message::Answer)]);
    loses(&mut left, 3);
    assert_eq!(sent(&loses(&mut left, 4)), [(1, master(2))], "nobody else is left");
    let outputs = fires(&mut second, Timer::HeadStart);
    assert_eq!(sent(&outputs), asked([3, 4]));
    assert_eq!(armed(&outputs, Timer::Answer), Some(settings.answer_wait));

    let at_once = Settings { head_start: Duration::ZERO, ..settings };
    let mut second = follower(2, &[1, 3, 4, 5], 5, at_once);
    assert_eq!(sent(&loses(&mut second, 5)), asked([3, 4]));
}

/// B5, C5: *master* may have been lost, and a beacon says the same.
#[test]
fn a_beacon_of_a_higher_master_announces_it() {
    let mut candidate = amid(2, &[1, 3], Settings::default());
    assert_eq!(sent(&hears(&mut candidate, 4, &Master, 0)), []);
    assert_eq!(candidate.node_state(), slave_of(4));
    let mut second = follower(2, &[1, 3, 4], 3, Settings::default());
    hears(&mut second, 4, &Master, 0);
    assert_eq!(second.node_state(), slave_of(3), "E7: the other is late");
    hears(&mut second, 4, &Master, 1);
    assert_eq!(second.node_state(), slave_of(4), "higher than its master");
    for lower in [3, 1] {
        hears(&mut second, lower, &Master, 1);
        assert_eq!(second.node_state(), slave_of(4), "which is higher");
    }
    let mut second = follower(2, &[1, 3, 4], 3, Settings::source());
    hears(&mut second, 4, &Master, 1);
    assert_eq!(second.node_state(), slave_of(3), "the source has messages only");
}

/// B2, B7: who starts knows nobody yet, and *election* may be lost; as in the source T runs once.
#[test]
fn a_candidate_asks_higher_nodes_as_it_hears_of_them() {
    for (settings, has_t) in [(Settings::default(), true), (Settings::source(), false)] {
        let mut second = Bully::new(candidate(2), settings.clone());
        let outputs = feed(&mut second, Input::Start);
        assert_eq!(sent(&outputs), []);
        assert_eq!(armed(&outputs, Timer::Answer), Some(settings.answer_wait));
        assert_eq!(sent(&hears(&mut second, 1, &Master, 0)), []);
        let outputs = hears(&mut second, 3, &Seeking, 0);
        assert_eq!(sent(&outputs), asked([3]));
        assert_eq!(armed(&outputs, Timer::Answer).is_some(), has_t);
        assert_eq!(hears(&mut second, 3, &Seeking, 0), [], "once");
        let outputs = fires(&mut second, Timer::Ask);
        assert_eq!((sent(&outputs), outputs.len()), (asked([3]).to_vec(), 2), "T goes on");
        assert_eq!(armed(&outputs, Timer::Ask), Some(settings.ask_again));
    }
}

/// B4, B5: the present master may be dead, although this node has not missed it yet.
#[test]
fn a_lower_node_that_announces_a_later_term_is_followed_at_once() {
    for settings in [Settings::default(), configured(), Settings::source()] {
        let mut first = follower(1, &[2, 3], 3, settings.clone());
        receives(&mut first, 2, master(1));
        assert_eq!(first.node_state(), slave_of(3), "its term is no later");
        // Its beacon arrives first, and tells the term. A node that was cut off says so too.
        hears(&mut first, 2, &Master, 2);
        assert_eq!(first.node_state(), slave_of(3), "{settings:?}");
        receives(&mut first, 2, master(2));
        assert_eq!(first.node_state(), slave_of(2), "{settings:?}");
        receives(&mut first, 3, master(1));
        assert_eq!(first.node_state(), slave_of(2), "E7: late");
        receives(&mut first, 3, master(3));
        assert_eq!(first.node_state(), slave_of(3), "it works after all");
    }
}

/// B6, E3
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

    let mut second = follower(2, &[1, 3], 3, Settings::source());
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (3, Message::Election)]);
    assert_eq!(state(&second), "candidate");
    assert_eq!(second.node_state(), slave_of(3), "which works");
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "one is running");
    assert_eq!(receives(&mut second, 3, Message::Election), [], "it is lower itself");
    assert_eq!(receives(&mut second, 9, Message::Election), [], "from anybody");
    let outputs = receives(&mut second, 3, master(1));
    assert_eq!(armed(&outputs, Timer::Pause), Some(Settings::source().answer_wait));
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)], "one election in T");
}

/// B6, B10: a master that nobody outranks has won its election at once.
#[test]
fn a_master_that_is_asked_or_hears_another_announces_itself_to_that_one() {
    let mut third = leader(3, &[1, 2], Settings::default());
    let announced = [(1, Message::Answer), (1, master(1))];
    assert_eq!(sent(&receives(&mut third, 1, Message::Election)), announced);
    assert_eq!(sent(&hears(&mut third, 2, &Master, 1)), [(2, master(1))]);
    hears(&mut third, 4, &Seeking, 0);
    assert_eq!(sent(&receives(&mut third, 1, Message::Election)), [(1, Message::Answer)]);
    assert_eq!(sent(&fires(&mut third, Timer::HeadStart)), asked([4]));
    assert_eq!(third.node_state(), Master, "until another one has won");
}

/// B9
#[test]
fn the_state_is_shown_by_its_name() {
    let shown = |node: &Bully| node.details().into_iter().map(|it| it.value).collect::<Vec<_>>();
    let mut first = Bully::new(candidate(1), Settings::default());
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

/// B2, B10, C5: as in the source nobody challenges a master that works; only its silence tells of a
/// loss, and the silent one is asked too.
#[test]
fn as_in_the_source_silence_is_the_only_sign_of_loss() {
    let settings = Settings::source();
    let mut second = follower(2, &[1, 3], 3, settings.clone());
    assert_eq!(feed(&mut second, Input::Estimate(100)), []);
    assert_eq!(loses(&mut second, 3), []);
    assert_eq!(second.node_state(), slave_of(3));
    let silence = Output::Arm(Timer::Silence.into(), settings.silence);
    assert_eq!(hears(&mut second, 3, &Master, 0), [silence], "it works");
    assert!(!settings.outranks((100, &name(1)), (1, &name(2))));
}

/// B4, B8: figure 29, step by step; C is S4.
#[test]
fn the_worked_example_goes_as_in_the_source() {
    let [mut first, mut second, mut third] = [1, 2, 3].map(|own| {
        let others: Vec<u8> = (1..=4).filter(|other| *other != own).collect();
        follower(own, &others, 4, Settings::source())
    });

    // Step 1: S1 finds C dead, and asks S2 and S3 (and C, in vain). Both answer …
    let outputs = fires(&mut first, Timer::Silence);
    assert_eq!(sent(&outputs), asked([2, 3, 4]));
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
    assert_eq!(third.node_state(), Master);
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
    assert_eq!((first.node_state(), second.node_state()), (slave_of(2), Master));
}

/// B1: the estimate ranks, then the name.
#[test]
fn nodes_are_ranked_by_estimate_and_then_by_name() {
    let mut second = amid(2, &[1, 3], Settings::default());
    estimates(&mut second, 1, 20);
    estimates(&mut second, 3, 20);
    assert_eq!(second.higher().collect::<Vec<_>>(), [&name(3)]);
    estimates(&mut second, 3, 19);
    assert_eq!(second.higher().next(), None);
}

/// B1: the variant of the source.
#[test]
fn the_lowest_estimate_wins_where_that_is_set() {
    let lowest = |estimate| Settings { wins: Wins::Lowest, estimate, ..Settings::default() };
    let mut second = amid(2, &[1, 3], lowest(Estimate::Fixed(20)));
    estimates(&mut second, 0, 0);
    estimates(&mut second, 4, 20);
    let higher: BTreeSet<_> = second.higher().collect();
    assert_eq!(higher, BTreeSet::from([&name(1), &name(4)]), "0 bars, and the name decides");

    let settings = lowest(Estimate::Fixed(7));
    assert_eq!((settings.estimate(80), Settings::default().estimate(80)), (7, 80));
    assert!(settings.outranks((10, &name(1)), (11, &name(2))));
    assert!(!settings.outranks((0, &name(1)), (11, &name(2))), "it is barred");
    assert!(settings.exceeds(10, 35) && !settings.exceeds(10, 34) && !settings.exceeds(35, 10));
}

/// B6: it does not answer; that it does not lead is in the model.
#[test]
fn a_barred_node_does_not_answer() {
    let mut barred = Bully::new(estimating(2, 0), Settings::default());
    feed(&mut barred, Input::Start);
    estimates(&mut barred, 1, 0);
    assert_eq!(receives(&mut barred, 1, Message::Election), []);
    assert_eq!(feed(&mut barred, Input::Estimate(0)), []);
}

/// B10, E6: clearly higher than the master's, and for as long as the hold-off: a panel's line that is
/// soon back changes no leader.
#[test]
fn only_an_estimate_that_stays_clearly_higher_than_the_masters_starts_an_election() {
    let settings = configured();
    let begins = [Output::Arm(Timer::HoldOff.into(), settings.hold_off)];
    let ends = [Output::Disarm(Timer::HoldOff.into())];
    let mut second = follower(2, &[1, 3], 3, settings);
    assert_eq!(feed(&mut second, Input::Estimate(54)), []);
    assert_eq!(feed(&mut second, Input::Estimate(55)), begins);
    assert_eq!(hears(&mut second, 3, &Master, 1), [], "the hold-off is not begun anew");
    assert_eq!(feed(&mut second, Input::Estimate(54)), ends);
    let outputs = testing::hears_in(&mut second, &estimating(3, 25), &Master, 1);
    assert_eq!(outputs, begins, "or if the master's falls");
    assert_eq!(sent(&fires(&mut second, Timer::HoldOff)), [(1, master(2)), (3, master(2))]);
    assert_eq!(second.node_state(), Master);
}

/// B1, B6, E6: an election that somebody starts for reasons of its own changes no leader.
#[test]
fn a_followed_master_stays_until_another_is_clearly_fitter() {
    let mut second = leader(2, &[1], Settings::default());
    hears(&mut second, 1, &slave_of(2), 1);
    let answers = [(1, Message::Answer), (1, master(1))];
    for (other, outputs) in [(43, &answers[..]), (45, &answers[..1])] {
        estimates(&mut second, 3, other);
        assert_eq!(sent(&receives(&mut second, 1, Message::Election)), outputs);
    }
    assert_eq!(sent(&fires(&mut second, Timer::HeadStart)), asked([3]), "25 more than 20");
}

/// B10, E6: so a node whose network was cut replaces no master when the network is whole again.
#[test]
fn a_master_whom_nobody_follows_yields_to_one_that_is_followed() {
    let mut second = leader(2, &[1], Settings::default());
    hears(&mut second, 1, &slave_of(2), 1);
    let mut third = leader(3, &[], Settings::default());
    assert_eq!((second.estimate(), third.estimate()), (44, 31));
    let fitter = estimating(2, second.estimate());
    testing::hears_in(&mut third, &fitter, &Master, 1);
    assert_eq!(third.node_state(), slave_of(2), "a beacon is enough");
}

/// B1, E6: the bonus adds to the estimate that is a node's health, as long as it lasts; nobody follows
/// a master that is cut off from all its slaves.
#[test]
fn a_number_that_was_configured_ranks_as_it_is() {
    let source_like = Settings { mesh_detection: false, ..Settings::default() };
    for (settings, expected) in [
        (configured(), [20; 5]),
        (Settings::source(), [20; 5]),
        (Settings::default(), [20, 21, 44, 21, 20]),
        (source_like, [20, 21, 44, 21, 20]),
    ] {
        let mut second = amid(2, &[1], settings);
        let sought = second.estimate();
        fires(&mut second, Timer::Answer);
        let alone = second.estimate();
        hears(&mut second, 1, &slave_of(2), 1);
        let followed = second.estimate();
        loses(&mut second, 1);
        let left = second.estimate();
        estimates(&mut second, 3, 90);
        receives(&mut second, 3, master(9));
        assert_eq!([sought, alone, followed, left, second.estimate()], expected);
    }
}
