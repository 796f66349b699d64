use std::time::Duration;

use super::*;
use crate::climate::Reading;
use crate::election::Message as Any;
use crate::election::testing::{self, draws, feed, name, slave_of};

use proptest::prelude::*;

/// Any message of the protocol.
pub(in crate::election) fn any_message() -> impl Strategy<Value = Any> {
    let vote = any::<u32>().prop_map(Message::Vote);
    prop_oneof![vote, Just(Message::Reset)].prop_map(Any::from)
}

/// Nodes from 8 on are regular leaders.
fn candidate(index: u8) -> Candidate {
    Candidate {
        role: if index < 8 { Role::Cabin } else { Role::ControlUnit },
        ..testing::candidate(index)
    }
}

/// One machine, and what it has wanted since it was last asked.
struct Unit {
    election: Ballot,
    outputs: Vec<Output>,
}

impl Unit {
    /// One that has been started and knows nodes 1 to 9, none of which leads.
    fn new(index: u8) -> Self {
        Self::with(index, Settings::default())
    }

    fn with(index: u8, settings: Settings) -> Self {
        let election = Ballot::new(candidate(index), settings);
        let outputs = Vec::new();
        let mut unit = Self { election, outputs };
        unit.draws(77, Input::Start);
        for peer in (1..=9).filter(|peer| *peer != index) {
            unit.hears(peer, &NodeState::Seeking);
        }
        unit.outputs.clear();
        unit
    }

    /// One that follows this node, whose beacons say that it leads.
    fn following(index: u8, leader: u8) -> Self {
        let mut unit = Self::new(index);
        unit.control(leader);
        unit.hears(leader, &NodeState::Master);
        unit.outputs.clear();
        unit
    }

    /// A stand-in that leads.
    fn leading(index: u8) -> Self {
        let mut unit = Self::new(index);
        unit.fires(Timer::Silence, 1);
        unit.fires(Timer::Round, 0);
        assert_eq!(unit.election.node_state(), NodeState::Master);
        unit.outputs.clear();
        unit
    }

    /// Takes an input; the node would draw this number.
    fn draws(&mut self, draw: u64, input: Input<'_>) {
        self.outputs.extend(draws(&mut self.election, draw, input));
    }

    fn hears(&mut self, peer: u8, node_state: &NodeState) {
        self.outputs.extend(testing::hears(&mut self.election, &candidate(peer), node_state));
    }

    fn loses(&mut self, peer: u8) {
        self.draws(77, Input::Lost { peer: &name(peer) });
    }

    fn gets(&mut self, from: u8, message: &Any, draw: u64) {
        self.draws(draw, Input::Message { from: &name(from), message });
    }

    fn control(&mut self, from: u8) {
        self.gets(from, &Any::SensorRequest, 77);
    }

    fn vote(&mut self, from: u8, vote: u32, draw: u64) {
        self.gets(from, &Message::Vote(vote).into(), draw);
    }

    fn reset(&mut self, from: u8) {
        self.gets(from, &Message::Reset.into(), 77);
    }

    fn fires(&mut self, timer: Timer, draw: u64) {
        self.draws(draw, Input::Fired(&timer.into()));
    }

    /// What it has sent.
    fn sent(&mut self) -> Vec<Any> {
        let sent = testing::sent(&std::mem::take(&mut self.outputs));
        assert!(sent.iter().all(|(to, _)| to.is_none()), "all is broadcast");
        sent.into_iter().map(|(_, message)| message).collect()
    }

    /// The timers that it has set and not stopped since.
    fn armed(&mut self) -> Vec<(Timer, u128)> {
        let mut armed = BTreeMap::new();
        for output in std::mem::take(&mut self.outputs) {
            match output {
                Output::Arm(ElectionTimer::Ballot(timer), wait) => {
                    armed.insert(timer, wait.as_millis());
                }
                Output::Disarm(ElectionTimer::Ballot(timer)) => {
                    armed.remove(&timer);
                }
                Output::Arm(..)
                | Output::Disarm(_)
                | Output::Broadcast(_)
                | Output::Send(..)
                | Output::HandOver(..)
                | Output::Dial(_)
                | Output::HangUp(_)
                | Output::HangUpAllBut(_) => {}
            }
        }
        armed.into_iter().collect()
    }

    fn node_state(&self) -> NodeState {
        self.election.node_state()
    }
}

fn vote(vote: u32) -> Any {
    Message::Vote(vote).into()
}

fn reset() -> Any {
    Message::Reset.into()
}

/// V1: whoever follows can lead.
#[test]
fn every_follower_can_stand_in_for_its_leader() {
    let mut unit = Unit::following(1, 9);
    assert_eq!(unit.node_state(), slave_of(9));
    unit.loses(9);
    assert_eq!(unit.node_state(), NodeState::Seeking, "C5");
    unit.fires(Timer::Round, 0);
    assert_eq!(unit.node_state(), NodeState::Master);
}

/// V2
#[test]
fn a_leader_sends_control_packets_at_a_fixed_period() {
    let mut unit = Unit::leading(1);
    for _ in 0..3 {
        unit.fires(Timer::Control, 0);
        assert_eq!(unit.armed(), [(Timer::Control, 100)]);
        unit.fires(Timer::Control, 0);
        assert_eq!(unit.sent(), [Any::SensorRequest]);
    }
}

/// V2: what it answers is the sensors' affair; that it does not answer others is the node's.
#[test]
fn an_answer_changes_nothing() {
    let mut unit = Unit::leading(1);
    unit.gets(2, &Any::SensorData(Reading::default()), 77);
    assert!(unit.outputs.is_empty());
}

/// V2, V3: the source's wording.
#[test]
fn a_leader_without_control_packets_for_two_periods_is_lost_and_voted_upon() {
    let settings = Settings { mesh_detection: false, ..Settings::default() };
    let mut unit = Unit::with(1, settings);
    unit.control(2);
    assert_eq!(unit.armed(), [(Timer::Silence, 200)]);
    unit.hears(2, &NodeState::Master);
    unit.loses(2);
    assert_eq!(unit.node_state(), slave_of(2), "the mesh has no say");
    unit.fires(Timer::Silence, 500);
    assert_eq!(unit.node_state(), NodeState::Seeking);
    assert_eq!(unit.sent(), [vote(500)]);
}

/// V2
#[test]
fn each_control_packet_of_the_leader_starts_the_wait_anew() {
    let mut unit = Unit::following(1, 2);
    unit.control(2);
    assert_eq!(unit.armed(), [(Timer::Silence, 200)]);
    unit.control(3);
    assert_eq!(unit.armed(), [], "another's doesn't");
    assert_eq!(unit.node_state(), slave_of(2));
}

/// V2, C5: lost packets are no lost leader, as long as its beacons arrive; but not for ever.
#[test]
fn a_leader_whose_beacons_arrive_is_lost_after_more_silence() {
    let mut unit = Unit::following(1, 2);
    for _ in 1..Settings::default().patience {
        unit.hears(2, &NodeState::Master);
        unit.fires(Timer::Silence, 5);
        assert_eq!(unit.node_state(), slave_of(2));
        assert_eq!(unit.armed(), [(Timer::Silence, 200)]);
    }
    unit.hears(2, &NodeState::Master);
    unit.fires(Timer::Silence, 5);
    assert_eq!(unit.sent(), [vote(5)]);

    let mut unit = Unit::following(1, 2);
    unit.fires(Timer::Silence, 5);
    unit.fires(Timer::Silence, 5);
    assert_eq!(unit.node_state(), NodeState::Seeking, "no beacon in between");
}

/// C5, V3
#[test]
fn the_mesh_s_loss_of_the_leader_starts_an_election_and_nobody_else_s() {
    let mut unit = Unit::following(1, 2);
    unit.loses(3);
    assert_eq!(unit.node_state(), slave_of(2));
    unit.loses(2);
    assert_eq!(unit.node_state(), NodeState::Seeking);
    assert_eq!(unit.sent(), [vote(77)]);
}

/// C5: a leader that says that it leads no more is not waited for; a beacon that is older than its
/// first control packet says nothing.
#[test]
fn a_leader_that_leads_no_more_is_not_followed() {
    let mut unit = Unit::new(1);
    unit.control(2);
    unit.hears(2, &NodeState::Seeking);
    assert_eq!(unit.node_state(), slave_of(2));
    unit.hears(2, &NodeState::Master);
    unit.hears(2, &slave_of(3));
    assert_eq!(unit.node_state(), NodeState::Seeking);
    unit.control(3);
    assert_eq!(unit.node_state(), slave_of(3));
}

/// V3: each votes for itself, and the highest leads at the end of the round.
#[test]
fn the_highest_vote_leads_and_the_others_follow_it() {
    let mut units: Vec<Unit> = (1..=3).map(Unit::new).collect();
    units[0].fires(Timer::Silence, 20);
    assert_eq!(units[0].sent(), [vote(20)]);
    units[1].vote(1, 20, 30);
    assert_eq!(units[1].sent(), [vote(30)], "V4");
    units[2].vote(1, 20, 10);
    assert_eq!(units[2].sent(), [], "V4: it can't win");
    units[0].vote(2, 30, 0);
    units[2].vote(2, 30, 0);
    for unit in &mut units {
        unit.fires(Timer::Round, 0);
    }
    assert_eq!(units[1].sent(), [Any::SensorRequest]);
    assert_eq!(units[1].node_state(), NodeState::Master);
    for unit in [0, 2] {
        assert_eq!(units[unit].sent(), []);
        units[unit].control(2);
        assert_eq!(units[unit].node_state(), slave_of(2));
    }
}

/// V4
#[test]
fn a_vote_is_sent_only_if_it_exceeds_what_was_heard_and_once_a_round() {
    for (own, sent) in
        [(6, vec![]), (7, vec![]), (8, vec![vote(8)]), (u64::from(u32::MAX), vec![vote(u32::MAX)])]
    {
        let mut unit = Unit::new(1);
        unit.vote(2, 7, own);
        assert_eq!(unit.sent(), sent);
        unit.vote(2, 7, 9);
        unit.vote(3, 2, 9);
        assert_eq!(unit.sent(), [], "E7");
    }
}

/// V4, V5: its own vote was not sent, but it knows of the tie.
#[test]
fn an_equal_vote_is_a_tie_even_if_it_was_kept_back() {
    let mut unit = Unit::new(1);
    unit.vote(2, 7, 7);
    assert_eq!(unit.sent(), []);
    unit.fires(Timer::Round, 100);
    assert_eq!(unit.sent(), [vote(100)]);
    unit.fires(Timer::Round, 0);
    assert_eq!(unit.node_state(), NodeState::Master);
}

/// V5
#[test]
fn the_tied_vote_again_with_fresh_numbers_and_the_others_stay_out() {
    let mut units: Vec<Unit> = (1..=3).map(Unit::new).collect();
    for (unit, own) in units.iter_mut().zip([7, 7, 3]) {
        unit.fires(Timer::Silence, own);
    }
    units[0].vote(2, 7, 0);
    units[1].vote(1, 7, 0);
    units[2].vote(1, 7, 0);
    for unit in &mut units {
        unit.outputs.clear();
    }
    for (unit, fresh) in units.iter_mut().zip([4, 5, 9]) {
        unit.fires(Timer::Round, fresh);
    }
    assert_eq!(units[0].sent(), [vote(4)]);
    assert_eq!(units[1].armed(), [(Timer::Round, 100)]);
    assert_eq!(units[2].sent(), []);
    units[0].vote(2, 5, 0);
    units[1].vote(1, 4, 0);
    units[2].vote(1, 4, 9);
    assert_eq!(units[2].sent(), [], "it is not among the tied");
    units[0].fires(Timer::Round, 0);
    units[1].fires(Timer::Round, 0);
    assert_eq!(units[0].node_state(), NodeState::Seeking);
    assert_eq!(units[1].node_state(), NodeState::Master);
}

/// V5: a round without a tie is the last.
#[test]
fn without_a_tie_there_is_no_second_round() {
    let mut unit = Unit::new(1);
    unit.vote(2, 7, 8);
    unit.outputs.clear();
    unit.fires(Timer::Round, 0);
    assert_eq!(unit.sent(), [Any::SensorRequest]);
    let mut unit = Unit::new(1);
    unit.vote(2, 7, 6);
    unit.fires(Timer::Round, 0);
    assert_eq!(unit.sent(), []);
}

/// V5: a round lasts a fixed time, whatever is heard in it.
#[test]
fn votes_do_not_lengthen_a_round() {
    let mut unit = Unit::new(1);
    unit.fires(Timer::Silence, 3);
    assert_eq!(unit.armed(), [(Timer::Round, 100)]);
    unit.vote(2, 9, 0);
    unit.vote(3, 1, 0);
    assert_eq!(unit.armed(), []);
}

/// V6
#[test]
fn who_has_lost_a_vote_waits_for_a_control_packet_and_votes_again_if_none_comes() {
    let mut unit = Unit::new(1);
    unit.fires(Timer::Silence, 3);
    unit.vote(2, 9, 0);
    unit.outputs.clear();
    unit.fires(Timer::Round, 0);
    assert_eq!(unit.armed(), [(Timer::Silence, 200)]);
    unit.fires(Timer::Silence, 4);
    assert_eq!(unit.sent(), [vote(4)]);
}

/// V6, C5
#[test]
fn a_node_waits_for_a_leader_at_its_start_and_serves_alone_meanwhile() {
    let mut unit = Ballot::new(candidate(1), Settings::default());
    let outputs = feed(&mut unit, Input::Start);
    let wait = Duration::from_millis(200);
    assert_eq!(outputs, [Output::Arm(Timer::Silence.into(), wait)]);
    assert_eq!(unit.node_state(), NodeState::Seeking);
}

/// V7
#[test]
fn a_regular_leader_resets_and_leads_as_soon_as_it_is_switched_on() {
    let mut unit = Ballot::new(candidate(9), Settings::default());
    let outputs = feed(&mut unit, Input::Start);
    assert_eq!(unit.node_state(), NodeState::Master);
    let sent = |message| Output::Broadcast(message);
    assert!(outputs.starts_with(&[sent(reset())]), "{outputs:?}");
    assert!(outputs.contains(&sent(Any::SensorRequest)), "{outputs:?}");
}

/// V7: nobody knew it when it was switched on.
#[test]
fn the_reset_is_repeated_to_whom_it_could_not_reach() {
    let mut unit = Unit::new(9);
    unit.hears(1, &NodeState::Seeking);
    assert_eq!(unit.sent(), [], "it knows");
    unit.hears(1, &NodeState::Master);
    assert_eq!(unit.sent(), [reset()]);
    unit.hears(1, &NodeState::Master);
    assert_eq!(unit.sent(), [], "its next control packet brings the next");
    unit.control(1);
    assert_eq!(unit.sent(), [reset()]);
    unit.loses(1);
    unit.hears(1, &NodeState::Seeking);
    assert_eq!(unit.sent(), [reset()]);
}

/// V7
#[test]
fn a_regular_leader_answers_votes_with_a_reset_and_never_votes() {
    let mut unit = Unit::new(9);
    unit.vote(1, 5, 9);
    assert_eq!(unit.sent(), [reset()]);
    assert_eq!(unit.node_state(), NodeState::Master);
}

/// V7
#[test]
fn a_reset_ends_votes_and_unseats_stand_ins() {
    let mut voting = Unit::new(1);
    voting.fires(Timer::Silence, 5);
    let mut waiting = Unit::new(2);
    let mut leading = Unit::leading(3);
    let mut following = Unit::following(4, 3);
    for unit in [&mut voting, &mut waiting, &mut leading, &mut following] {
        unit.outputs.clear();
        unit.reset(9);
        assert_eq!(unit.node_state(), slave_of(9));
        assert_eq!(unit.armed(), [(Timer::Silence, 200)], "V6");
        unit.fires(Timer::Round, 0);
        unit.fires(Timer::Control, 0);
        assert_eq!(unit.node_state(), slave_of(9), "old timers mean nothing");
        assert_eq!(unit.sent(), []);
    }
}

/// V7: which only the regular leader may send.
#[test]
fn the_reset_of_a_cabin_means_nothing() {
    let mut unit = Unit::leading(3);
    unit.reset(1);
    assert_eq!(unit.node_state(), NodeState::Master);
    assert!(unit.outputs.is_empty());
}

/// V7: the reset was lost.
#[test]
fn a_control_packet_of_the_regular_leader_does_as_well_as_its_reset() {
    let mut voting = Unit::new(1);
    voting.fires(Timer::Silence, 5);
    let mut loyal = Unit::following(2, 3);
    loyal.vote(1, 5, 9);
    for mut unit in [voting, loyal, Unit::new(2), Unit::leading(3), Unit::following(4, 3)] {
        unit.control(9);
        assert_eq!(unit.node_state(), slave_of(9));
    }
}

/// V7: two regular leaders.
#[test]
fn of_two_regular_leaders_the_first_by_name_leads_and_both_say_so() {
    let (mut first, mut second) = (Unit::new(8), Unit::new(9));
    for (unit, peer) in [(&mut first, 9), (&mut second, 8)] {
        unit.hears(peer, &NodeState::Master);
        unit.outputs.clear();
    }
    first.control(9);
    assert_eq!(first.sent(), [reset()]);
    assert_eq!(first.node_state(), NodeState::Master);
    second.reset(8);
    assert_eq!(second.node_state(), slave_of(8));
    for (unit, other) in [(&first, "N9"), (&second, "N8")] {
        let details = unit.election.details();
        let told = Detail::new("other regular leaders", other);
        assert!(details.contains(&told), "{details:?}");
    }
    let mut follower = Unit::following(1, 9);
    follower.reset(8);
    follower.reset(9);
    follower.control(9);
    assert_eq!(follower.node_state(), slave_of(8));
}

/// V7: it leads by right, and does not vote.
#[test]
fn the_second_regular_leader_takes_over_without_a_vote() {
    for how in 0..3 {
        let mut unit = Unit::following(9, 8);
        unit.vote(1, 5, 9);
        assert_eq!(unit.sent(), []);
        match how {
            0 => unit.loses(8),
            1 => unit.hears(8, &NodeState::Seeking),
            _ => {
                unit.fires(Timer::Silence, 0);
                unit.fires(Timer::Silence, 0);
            }
        }
        assert_eq!(unit.sent(), [reset(), Any::SensorRequest]);
        assert_eq!(unit.node_state(), NodeState::Master);
    }
}

/// V4, E6: a vote by one that has missed packets of the leader changes nothing.
#[test]
fn a_stand_in_answers_a_vote_with_a_control_packet_which_ends_it() {
    let mut leader = Unit::leading(3);
    leader.vote(1, 5, 9);
    assert_eq!(leader.sent(), [Any::SensorRequest]);
    assert_eq!(leader.node_state(), NodeState::Master);

    let mut loyal = Unit::following(2, 3);
    loyal.vote(1, 5, 9);
    assert_eq!(loyal.sent(), [vote(9)], "V4");
    assert_eq!(loyal.node_state(), slave_of(3));
    loyal.control(4);
    loyal.control(3);
    assert_eq!(loyal.armed(), [(Timer::Silence, 200)]);
    assert_eq!(loyal.node_state(), slave_of(3));
}

/// C5: the leader is really lost.
#[test]
fn a_loyal_voter_seeks_once_it_has_lost_its_leader_too() {
    for lost in [true, false] {
        let mut unit = Unit::following(2, 3);
        unit.vote(1, 5, 4);
        if lost {
            unit.loses(3);
        } else {
            unit.hears(3, &NodeState::Seeking);
        }
        assert_eq!(unit.node_state(), NodeState::Seeking);
        let mut unit = Unit::following(2, 3);
        unit.vote(1, 5, 4);
        unit.fires(Timer::Round, 0);
        assert_eq!(unit.node_state(), slave_of(3), "the outcome is still to come");
        if lost {
            unit.loses(3);
        } else {
            unit.hears(3, &NodeState::Seeking);
        }
        assert_eq!(unit.node_state(), NodeState::Seeking);
        unit.control(1);
        assert_eq!(unit.node_state(), slave_of(1));
    }
}

/// V12
#[test]
fn of_two_stand_in_leaders_both_vote_and_the_loser_yields() {
    let (mut one, mut two) = (Unit::leading(1), Unit::leading(2));
    one.hears(2, &NodeState::Master);
    two.hears(1, &NodeState::Master);
    one.gets(2, &Any::SensorRequest, 10);
    assert_eq!(one.sent(), [vote(10)]);
    two.vote(1, 10, 20);
    assert_eq!(two.sent(), [vote(20)]);
    one.vote(2, 20, 0);
    assert_eq!(one.node_state(), NodeState::Master, "until the vote is decided");
    two.control(1);
    assert_eq!(two.node_state(), NodeState::Master, "it was under way");
    two.fires(Timer::Round, 0);
    one.fires(Timer::Round, 0);
    assert_eq!(two.node_state(), NodeState::Master);
    assert_eq!(one.node_state(), NodeState::Seeking);
    one.control(2);
    assert_eq!(one.node_state(), slave_of(2));
}

/// V12: nobody is known who has not been heard over the mesh.
#[test]
fn what_strangers_say_changes_nothing() {
    let mut unit = Unit::leading(3);
    unit.loses(1);
    unit.loses(9);
    unit.vote(1, 5, 9);
    unit.control(1);
    unit.reset(9);
    assert_eq!(unit.node_state(), NodeState::Master);
    assert!(unit.outputs.is_empty());
}

/// C1: an operator sees what the node does.
#[test]
fn a_vote_is_shown_to_operators() {
    let mut unit = Unit::new(1);
    unit.vote(2, 7, 9);
    let details = unit.election.details();
    let expected = [("ballot", "voting"), ("own vote", "9"), ("highest vote heard", "7")];
    let expected = expected.map(|(name, value)| Detail::new(name, value));
    assert_eq!(details, expected);
}
