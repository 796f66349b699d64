use super::*;
use crate::election::Message as Any;
use crate::election::testing::{self, Given, Line, play, slave_of};

use NodeState::{Master, Seeking};
use Timer::{Control, Round, Silence};

/// Nodes from 8 on are regular leaders.
fn candidate(index: u8) -> Candidate {
    if index < 8 { testing::candidate(index) } else { testing::control_unit(index) }
}

/// One that has started and knows nodes 1 to 9; none of them leads.
fn with(index: u8, settings: Settings) -> Ballot {
    let mut node = Ballot::new(candidate(index), settings);
    testing::feed(&mut node, Input::Start);
    for peer in (1..=9).filter(|peer| *peer != index) {
        testing::hears(&mut node, &candidate(peer), &Seeking);
    }
    node
}

fn new(index: u8) -> Ballot {
    with(index, Settings::default())
}

/// One that follows this node, whose beacons report that it leads.
fn following(index: u8, leader: u8) -> Ballot {
    play("a follower", new(index), [follows(leader), heard(leader, Master, slave_of(leader), &[])])
}

fn leading(index: u8) -> Ballot {
    play("a stand-in", new(index), [opens(Silence, 1), wins()])
}

fn arm(timer: Timer) -> Output {
    let wait = match timer {
        Control | Round => Duration::from_millis(100),
        Silence => Duration::from_millis(200),
    };
    Output::Arm(timer.into(), wait)
}

fn stop(timer: Timer) -> Output {
    Output::Disarm(timer.into())
}

fn say(message: impl Into<Any>) -> Output {
    Output::Broadcast(message.into())
}

/// A draw of a node that has none to do.
const UNUSED: u64 = 77;

fn heard(peer: u8, it: NodeState, then: NodeState, out: &[Output]) -> Line {
    (Given::Heard(candidate(peer), it), UNUSED, then, out.to_vec())
}

fn lost(peer: u8, then: NodeState, out: &[Output]) -> Line {
    (Given::Lost(peer), UNUSED, then, out.to_vec())
}

fn control(from: u8, then: NodeState, out: &[Output]) -> Line {
    (Given::Received(from, Any::SensorRequest), UNUSED, then, out.to_vec())
}

fn reset(from: u8, then: NodeState, out: &[Output]) -> Line {
    (Given::Received(from, Message::Reset.into()), UNUSED, then, out.to_vec())
}

/// A vote of another node, at which this one draws `own`.
fn vote(from: u8, vote: u32, own: u32, then: NodeState, out: &[Output]) -> Line {
    (Given::Received(from, Message::Vote(vote).into()), own.into(), then, out.to_vec())
}

fn fires(timer: Timer, draw: u32, then: NodeState, out: &[Output]) -> Line {
    (Given::Fired(timer.into()), draw.into(), then, out.to_vec())
}

/// This timer runs out: a node without a leader opens a round with this vote.
fn opens(timer: Timer, own: u32) -> Line {
    fires(timer, own, Seeking, &[arm(Round), say(Message::Vote(own)), stop(timer)])
}

/// The round is over, and this node leads.
fn wins() -> Line {
    fires(Round, 0, Master, &[arm(Control), say(Any::SensorRequest), stop(Round)])
}

/// Its control packet comes, and is followed.
fn follows(leader: u8) -> Line {
    control(leader, slave_of(leader), &[arm(Silence)])
}

/// V1, V2, V3, C5: how a vote ends is in the model.
#[test]
fn a_leader_is_followed_until_it_is_lost() {
    let fresh = heard(2, Master, slave_of(2), &[]);
    let silent = fires(Silence, 5, slave_of(2), &[arm(Silence)]);
    let patient = Settings::default().patience;
    let lines = (1..patient).flat_map(|_| [fresh.clone(), silent.clone()]);
    let lines = lines.chain([fresh.clone(), opens(Silence, 5)]);
    play("lost packets are no lost leader while its beacons arrive", following(1, 2), lines);
    play("no beacon between two silences", following(1, 2), [silent, opens(Silence, 5)]);

    play(
        "as in the source: the mesh has no say",
        with(1, Settings::source()),
        [
            follows(2),
            heard(2, slave_of(3), slave_of(2), &[]),
            lost(2, slave_of(2), &[]),
            opens(Silence, 500),
        ],
    );

    // A beacon that is older than its first control packet does not count.
    play(
        "a leader that no longer leads is not waited for",
        new(1),
        [
            follows(2),
            heard(2, Seeking, slave_of(2), &[]),
            heard(2, Master, slave_of(2), &[]),
            heard(2, slave_of(3), Seeking, &[arm(Silence)]),
            follows(3),
        ],
    );
}

/// V3, V4, V5: once a round.
#[test]
fn a_vote_is_sent_only_if_it_exceeds_what_was_heard() {
    for own in [6, 7, 8, u32::MAX] {
        let mut out = vec![arm(Round), say(Message::Vote(own)), stop(Silence)];
        if own <= 7 {
            out.remove(1);
        }
        let lines = [vote(2, 7, own, Seeking, &out), vote(3, 2, 9, Seeking, &[])];
        play("a vote", new(1), lines);
    }
}

/// V7: that its resets are obeyed is in the model.
#[test]
fn the_regular_leader_leads_without_a_vote() {
    let starts = [say(Message::Reset), arm(Control), say(Any::SensorRequest), stop(Silence)];
    let off = Ballot::new(candidate(9), Settings::default());
    play("when it is switched on", off, [(Given::Started, UNUSED, Master, starts.to_vec())]);

    play(
        "the reset is repeated to nodes that it could not reach, and answers votes",
        new(9),
        [
            heard(1, Seeking, Master, &[]),
            heard(1, Master, Master, &[say(Message::Reset)]),
            // Its next control packet brings the next one.
            heard(1, Master, Master, &[]),
            control(1, Master, &[say(Message::Reset)]),
            lost(1, Master, &[]),
            heard(1, Seeking, Master, &[say(Message::Reset)]),
            vote(1, 5, 9, Master, &[say(Message::Reset)]),
        ],
    );

    let first =
        play("the first of two", new(8), [heard(9, Master, Master, &[say(Message::Reset)])]);
    let second =
        [heard(8, Master, Master, &[]), reset(8, slave_of(8), &[arm(Silence), stop(Control)])];
    let second = play("the second by name", new(9), second);
    for (node, other) in [(&first, "N9"), (&second, "N8")] {
        assert_eq!(testing::detail(node, "other regular leaders").as_deref(), Some(other));
    }
}

/// V4, V6, E6, C5: a vote by one that has missed packets of the leader changes nothing.
#[test]
fn a_stand_in_answers_a_vote_with_a_control_packet_which_ends_it() {
    let answer = [arm(Round), arm(Control), say(Any::SensorRequest)];
    play("the leader", leading(3), [vote(1, 5, 9, Master, &answer)]);

    play(
        "a loyal voter, whose leader the mesh loses later",
        following(2, 3),
        [
            vote(1, 5, 9, slave_of(3), &[arm(Round), say(Message::Vote(9)), stop(Silence)]),
            control(4, slave_of(3), &[]),
            follows(3),
            fires(Round, 0, slave_of(3), &[stop(Round)]),
            lost(3, Seeking, &[arm(Round), say(Message::Vote(77)), stop(Silence)]),
        ],
    );
}

/// V12: two leaders that meet cost two votes, and those of strangers do not count.
#[test]
fn followers_stay_out_of_the_vote_of_two_leaders() {
    let rival = heard(3, Master, slave_of(2), &[]);
    play("a follower", following(1, 2), [rival, vote(2, 5, 9, slave_of(2), &[])]);

    play(
        "unknown nodes do not count, nor does the reset of a cabin",
        leading(3),
        [
            lost(1, Master, &[]),
            vote(1, 5, 9, Master, &[]),
            control(1, Master, &[]),
            reset(2, Master, &[]),
        ],
    );
}
