use std::time::Duration;

use super::*;
use crate::climate::Reading;
use crate::election::Message as Any;
use crate::election::testing::{self, Given, Line, play, slave_of};

use NodeState::{Master, Seeking};
use Timer::{Control, Round, Silence};

/// Nodes from 8 on are regular leaders.
fn candidate(index: u8) -> Candidate {
    Candidate {
        role: if index < 8 { Role::Cabin } else { Role::ControlUnit },
        ..testing::candidate(index)
    }
}

/// A node that has yet to start.
fn off(index: u8) -> Ballot {
    Ballot::new(candidate(index), Settings::default())
}

fn knows_all(mut node: Ballot) -> Ballot {
    testing::feed(&mut node, Input::Start);
    let own = node.name.clone();
    for peer in (1..=9).map(candidate).filter(|peer| peer.node != own) {
        testing::hears(&mut node, &peer, &Seeking);
    }
    node
}

/// One that has started and knows nodes 1 to 9, none of which leads.
fn new(index: u8) -> Ballot {
    knows_all(off(index))
}

/// The same without the mesh's signs of loss, as in the source.
fn as_in_the_source(index: u8) -> Ballot {
    knows_all(Ballot::new(candidate(index), Settings::source()))
}

/// One that follows this node, whose beacons report that it leads.
fn following(index: u8, leader: u8) -> Ballot {
    let mut node = new(index);
    testing::receives(&mut node, leader, Any::SensorRequest);
    testing::hears(&mut node, &candidate(leader), &Master);
    assert_eq!(node.node_state(), slave_of(leader));
    node
}

/// The same, that takes part in a vote of others which it can win.
fn loyal(index: u8, leader: u8) -> Ballot {
    play(
        "a loyal voter",
        following(index, leader),
        [vote(1, 5, 9, slave_of(leader), [arm(Round), say(Message::Vote(9)), stop(Silence)])],
    )
}

/// One that has opened a round with this vote.
fn voting(index: u8, own: u32) -> Ballot {
    play("a voter", new(index), [opens(Silence, own)])
}

fn leading(index: u8) -> Ballot {
    play("a stand-in", voting(index, 1), [wins()])
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

fn heard<const N: usize>(peer: u8, it: NodeState, then: NodeState, out: [Output; N]) -> Line {
    (Given::Heard(candidate(peer), it), UNUSED, then, out.into())
}

fn lost<const N: usize>(peer: u8, then: NodeState, out: [Output; N]) -> Line {
    (Given::Lost(peer), UNUSED, then, out.into())
}

fn control<const N: usize>(from: u8, then: NodeState, out: [Output; N]) -> Line {
    (Given::Received(from, Any::SensorRequest), UNUSED, then, out.into())
}

fn reset<const N: usize>(from: u8, then: NodeState, out: [Output; N]) -> Line {
    (Given::Received(from, Message::Reset.into()), UNUSED, then, out.into())
}

/// A vote of another node, at which this one draws `own`.
fn vote<const N: usize>(from: u8, vote: u32, own: u32, then: NodeState, out: [Output; N]) -> Line {
    (Given::Received(from, Message::Vote(vote).into()), own.into(), then, out.into())
}

fn fires<const N: usize>(timer: Timer, draw: u32, then: NodeState, out: [Output; N]) -> Line {
    (Given::Fired(timer.into()), draw.into(), then, out.into())
}

/// This timer runs out: a node without a leader opens a round with this vote.
fn opens(timer: Timer, own: u32) -> Line {
    let mut line = fires(timer, own, Seeking, [arm(Round), say(Message::Vote(own))]);
    line.3.extend((timer != Round).then(|| stop(timer)));
    line
}

/// The round is over, and this node leads.
fn wins() -> Line {
    fires(Round, 0, Master, [arm(Control), say(Any::SensorRequest), stop(Round)])
}

/// The round is over, and another has won.
fn is_beaten(then: NodeState) -> Line {
    fires(Round, 0, then, [arm(Silence), stop(Round)])
}

/// The time of the round is over in which a leader has ended this node's vote.
fn is_over(then: NodeState) -> Line {
    fires(Round, 0, then, [stop(Round)])
}

/// A vote that a stand-in leader answers with a control packet.
fn is_answered(from: u8) -> Line {
    vote(from, 5, 9, Master, [arm(Round), arm(Control), say(Any::SensorRequest)])
}

/// Its control packet comes, and is followed.
fn follows(leader: u8) -> Line {
    control(leader, slave_of(leader), [arm(Silence)])
}

/// V2, V3, C5
#[test]
fn a_leader_is_followed_until_it_is_lost() {
    let fresh = || heard(2, Master, slave_of(2), []);
    let silent = || fires(Silence, 5, slave_of(2), [arm(Silence)]);
    let patient = Settings::default().patience;
    let lines = (1..patient).flat_map(|_| [fresh(), silent()]);
    let lines = lines.chain([fresh(), opens(Silence, 5)]);
    play("lost packets are no lost leader while its beacons arrive", following(1, 2), lines);

    play("no beacon between two silences", following(1, 2), [silent(), opens(Silence, 5)]);

    play(
        "as in the source: the mesh has no say",
        as_in_the_source(1),
        [
            follows(2),
            heard(2, Master, slave_of(2), []),
            heard(2, slave_of(3), slave_of(2), []),
            lost(2, slave_of(2), []),
            opens(Silence, 500),
        ],
    );

    play(
        "each control packet of the leader starts the wait anew",
        following(1, 2),
        [follows(2), control(3, slave_of(2), [])],
    );

    play(
        "the mesh loses the leader, and nobody else",
        following(1, 2),
        [
            lost(3, slave_of(2), []),
            lost(2, Seeking, [arm(Round), say(Message::Vote(77)), stop(Silence)]),
        ],
    );

    // A beacon that is older than its first control packet does not count.
    play(
        "a leader that no longer leads is not waited for",
        new(1),
        [
            follows(2),
            heard(2, Seeking, slave_of(2), []),
            heard(2, Master, slave_of(2), []),
            heard(2, slave_of(3), Seeking, [arm(Silence)]),
            follows(3),
        ],
    );
}

/// V1, V2
#[test]
fn every_follower_can_lead() {
    let period = || fires(Control, 0, Master, [arm(Control), say(Any::SensorRequest)]);
    let seeks = [arm(Round), say(Message::Vote(77)), stop(Silence)];
    play(
        "it stands in for its leader, and sends control packets at a fixed period",
        following(1, 9),
        [lost(9, Seeking, seeks), wins(), period(), period(), period()],
    );

    let answer = Given::Received(2, Any::SensorData(Reading::default()));
    play("an answer changes nothing", leading(1), [(answer, UNUSED, Master, vec![])]);

    play(
        "a node waits for a leader at its start (V6, C5)",
        off(1),
        [(Given::Started, UNUSED, Seeking, vec![arm(Silence)])],
    );
}

/// V3, V4, E7: each votes for itself, once a round, if it may win; the highest leads.
#[test]
fn the_highest_vote_leads_and_the_others_follow_it() {
    play(
        "the highest",
        new(2),
        [vote(1, 20, 30, Seeking, [arm(Round), say(Message::Vote(30)), stop(Silence)]), wins()],
    );

    play(
        "one that can't win",
        new(3),
        [
            vote(1, 20, 10, Seeking, [arm(Round), stop(Silence)]),
            vote(2, 30, 0, Seeking, []),
            is_beaten(Seeking),
            follows(2),
        ],
    );

    for own in [6, 7, 8, u32::MAX] {
        let mut lines = vec![
            vote(2, 7, own, Seeking, [arm(Round), stop(Silence)]),
            vote(2, 7, 9, Seeking, []),
            vote(3, 2, 9, Seeking, []),
        ];
        if own > 7 {
            lines[0].3.insert(1, say(Message::Vote(own)));
        }
        play("a vote is sent only if it exceeds what was heard", new(1), lines);
    }
}

/// V5, V6: a round lasts a fixed time. After a tie there is another one, open to all; how each round
/// ends is in the model.
#[test]
fn a_tie_is_voted_upon_again() {
    play(
        "its own vote was kept back, but it knows of the tie",
        new(1),
        [vote(2, 7, 7, Seeking, [arm(Round), stop(Silence)]), opens(Round, 100), wins()],
    );

    play(
        "not among the tied, and asked again: all others answer a vote",
        voting(3, 3),
        [
            vote(1, 7, 0, Seeking, []),
            is_beaten(Seeking),
            vote(1, 4, 9, Seeking, [arm(Round), say(Message::Vote(9)), stop(Silence)]),
            wins(),
        ],
    );

    play(
        "votes do not lengthen a round; a loser votes again if no control packet comes",
        new(1),
        [
            opens(Silence, 3),
            vote(2, 9, 0, Seeking, []),
            vote(3, 1, 0, Seeking, []),
            is_beaten(Seeking),
            opens(Silence, 4),
        ],
    );
}

/// V7
#[test]
fn the_regular_leader_leads_without_a_vote() {
    let takes_over =
        || vec![say(Message::Reset), arm(Control), say(Any::SensorRequest), stop(Silence)];
    play("as soon as it is switched on", off(9), [(Given::Started, UNUSED, Master, takes_over())]);

    play(
        "the reset is repeated to nodes that it could not reach",
        new(9),
        [
            heard(1, Seeking, Master, []),
            heard(1, Master, Master, [say(Message::Reset)]),
            // Its next control packet brings the next one.
            heard(1, Master, Master, []),
            control(1, Master, [say(Message::Reset)]),
            lost(1, Master, []),
            heard(1, Seeking, Master, [say(Message::Reset)]),
        ],
    );

    play("it answers votes with a reset", new(9), [vote(1, 5, 9, Master, [say(Message::Reset)])]);

    let no_longer_leads = (Given::Heard(candidate(8), Seeking), UNUSED, Master, takes_over());
    let is_lost = (Given::Lost(8), UNUSED, Master, takes_over());
    let is_silent = (Given::Fired(Silence.into()), 0, Master, takes_over());
    let silence = fires(Silence, 0, slave_of(8), [arm(Silence)]);
    for lines in [vec![is_lost], vec![no_longer_leads], vec![silence, is_silent]] {
        let ignored = vote(1, 5, 9, slave_of(8), []);
        let lines = [ignored].into_iter().chain(lines);
        play("the second regular leader replaces the first", following(9, 8), lines);
    }
}

/// V6, V7: a reset, or a control packet if the reset was lost.
#[test]
fn the_regular_leader_ends_votes_and_unseats_stand_ins() {
    let others = [(new(2), None), (leading(3), Some(Control)), (following(4, 3), None)];
    for (node, timer) in others {
        for how in [reset::<1> as fn(_, _, _) -> Line, control::<1>] {
            let mut line = how(9, slave_of(9), [arm(Silence)]);
            line.3.extend(timer.map(stop));
            play(
                "follows the regular leader; old timers mean nothing",
                node.clone(),
                [line, fires(Round, 0, slave_of(9), []), fires(Control, 0, slave_of(9), [])],
            );
        }
    }
    let ends = |how: fn(u8, NodeState, [Output; 1]) -> Line| how(9, slave_of(9), [arm(Silence)]);
    for node in [voting(1, 5), loyal(2, 3)] {
        for how in [reset::<1> as fn(_, _, _) -> Line, control::<1>] {
            let lines = [ends(how), is_over(slave_of(9)), follows(9)];
            play("the end of a vote", node.clone(), lines);
            let lines = [ends(how), opens(Silence, 6)];
            play("it waits for a control packet at once (V6)", node.clone(), lines);
        }
    }

    play("the reset of a cabin means nothing", leading(3), [reset(1, Master, [])]);
}

/// V7
#[test]
fn of_two_regular_leaders_the_first_by_name_leads_and_both_report_it() {
    let first = play(
        "the first",
        new(8),
        [
            heard(9, Master, Master, [say(Message::Reset)]),
            control(9, Master, [say(Message::Reset)]),
        ],
    );
    let second = play(
        "the second",
        new(9),
        [heard(8, Master, Master, []), reset(8, slave_of(8), [arm(Silence), stop(Control)])],
    );
    for (node, other) in [(&first, "N9"), (&second, "N8")] {
        assert_eq!(testing::detail(node, "other regular leaders").as_deref(), Some(other));
    }
    play(
        "their follower",
        following(1, 9),
        [
            reset(8, slave_of(8), [arm(Silence)]),
            reset(9, slave_of(8), []),
            control(9, slave_of(8), []),
        ],
    );
}

/// V4, E6, C5: a vote by one that has missed packets of the leader changes nothing.
#[test]
fn a_stand_in_answers_a_vote_with_a_control_packet_which_ends_it() {
    play("the leader", leading(3), [is_answered(1)]);

    play(
        "a loyal voter",
        loyal(2, 3),
        [control(4, slave_of(3), []), follows(3), is_over(slave_of(3))],
    );

    for is_gone in [lost(3, Seeking, []), heard(3, Seeking, Seeking, [])] {
        let loses = || vote(1, 5, 4, slave_of(3), [arm(Round), stop(Silence)]);
        play(
            "a loyal voter whose leader is really lost",
            following(2, 3),
            [loses(), is_gone.clone()],
        );
        // The outcome is still to come.
        let is_beaten = is_beaten(slave_of(3));
        let lines = [loses(), is_beaten, is_gone, follows(1)];
        play("the same after the round", following(2, 3), lines);
    }
}

/// V12: two leaders that meet cost two votes.
#[test]
fn followers_stay_out_of_the_vote_of_two_leaders() {
    play(
        "a follower of one of them",
        following(1, 2),
        [
            heard(3, Master, slave_of(2), []),
            vote(2, 5, 9, slave_of(2), []),
            vote(3, 6, 9, slave_of(2), []),
            heard(2, slave_of(3), Seeking, [arm(Silence)]),
            follows(3),
        ],
    );
}

/// V12
#[test]
fn of_two_stand_in_leaders_both_vote_and_the_loser_yields() {
    let mut meets = control(2, Master, [arm(Round), say(Message::Vote(10)), stop(Control)]);
    meets.1 = 10;
    play(
        "the lower vote",
        leading(1),
        [
            heard(2, Master, Master, []),
            meets,
            // Until the vote is decided.
            vote(2, 20, 0, Master, []),
            is_beaten(Seeking),
            follows(2),
        ],
    );

    play(
        "the higher vote",
        leading(2),
        [
            heard(1, Master, Master, []),
            vote(1, 10, 20, Master, [arm(Round), say(Message::Vote(20)), stop(Control)]),
            // It was under way.
            control(1, Master, []),
            wins(),
        ],
    );

    play(
        "unknown nodes do not count",
        leading(3),
        [
            lost(1, Master, []),
            lost(9, Master, []),
            vote(1, 5, 9, Master, []),
            control(1, Master, []),
            reset(9, Master, []),
        ],
    );
}

/// C1: an operator sees what the node does.
#[test]
fn a_vote_is_shown_to_operators() {
    let line = vote(2, 7, 9, Seeking, [arm(Round), say(Message::Vote(9)), stop(Silence)]);
    let details = play("a vote", new(1), [line]).details();
    let expected = [("ballot", "voting"), ("own vote", "9"), ("highest vote heard", "7")];
    assert_eq!(details, expected.map(|(name, value)| Detail::new(name, value)));
}
