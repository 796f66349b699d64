//! Row by row: messages, timers and beacons (B2 to B7, B10).

use super::*;

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

/// B5: the present master may be dead, although this node has not missed it yet.
#[test]
fn a_lower_node_that_announces_a_later_term_is_followed_at_once() {
    for settings in [Settings::default(), configured(), as_in_the_source()] {
        let mut first = follower(1, &[2, 3], 3, settings.clone());
        receives(&mut first, 2, master(1));
        assert_eq!(first.node_state(), slave_of(3), "its term is no later");
        // Its beacon arrives first, and tells the term. A node that was cut off says so too.
        hears_in(&mut first, 2, &NodeState::Master, 2);
        assert_eq!(first.node_state(), slave_of(3), "{settings:?}");
        receives(&mut first, 2, master(2));
        assert_eq!(first.node_state(), slave_of(2), "{settings:?}");
        receives(&mut first, 3, master(1));
        assert_eq!(first.node_state(), slave_of(2), "E7: late");
        receives(&mut first, 3, master(3));
        assert_eq!(first.node_state(), slave_of(3), "it works after all");
    }
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
