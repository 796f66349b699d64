//! A few nodes under the model checker, with the settings of both presets.
//!
//! Votes are drawn from two numbers, so ties are as frequent as can be. The mesh hears and loses:
//! with two nodes at any moment, in any order with the packets; with three nodes at once.

use super::*;
use crate::election::Message as Any;
use crate::election::testing::candidate;
use crate::election::testing::model::{
    At, Bounds, LINKED, Misfortunes, Subject, Taken, WITHOUT_END, number, settles,
};

/// The nodes from `stand_ins` on are regular leaders.
struct Fleet {
    stand_ins: usize,
    settings: Settings,
}

impl Subject for Fleet {
    type Machine = Ballot;
    type Notes = ();

    const DRAWS: &'static [u64] = &[0, 1];

    fn candidate(&self, node: usize) -> Candidate {
        let role = if node < self.stand_ins { Role::Cabin } else { Role::ControlUnit };
        Candidate { role, ..candidate(number(node)) }
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Ballot {
        Ballot::new(own, self.settings)
    }

    fn broken_by(&self, step: &mut Taken<'_, Self>, (): &mut ()) -> Option<&'static str> {
        broken_rule(step)
    }

    fn broken_in(&self, moment: &At<Self>) -> Option<&'static str> {
        let mut regular = moment.living().filter(|(_, ballot)| ballot.regular);
        let is_sound = regular.all(|(_, ballot)| match &ballot.state {
            State::Leading(_) => true,
            State::Following(of) => of.leader < ballot.name,
            State::Waiting { .. } | State::Voting { .. } => false,
        });
        (!is_sound).then_some("V7: a regular leader leads or follows its like")
    }

    /// A regular leader is followed by all.
    fn is_right(&self, moment: &At<Self>) -> bool {
        let by_right = moment.living().any(|(_, ballot)| ballot.regular);
        let master = moment.agreed_master();
        moment.living().next().is_none()
            || master.is_some_and(|master| master >= self.stand_ins || !by_right)
    }
}

fn broken_rule(step: &Taken<'_, Fleet>) -> Option<&'static str> {
    let (before, input, after) = (step.before, step.input, &*step.after);
    let vote =
        |output: &&Output| matches!(output, Output::Broadcast(Any::Ballot(Message::Vote(_))));
    let votes = step.outputs.iter().filter(vote).count();
    let controls = step.outputs.contains(&Output::Broadcast(Any::SensorRequest));
    let over = matches!(input, Input::Fired(ElectionTimer::Ballot(Timer::Round)));
    let asked = matches!(input, Input::Message { message: Any::Ballot(Message::Vote(_)), .. });
    let outcome_is_right = if let (State::Voting { own, best, .. }, true) = (&before.state, over) {
        match &after.state {
            State::Leading(_) => *best < Some(*own),
            State::Voting { .. } => *best == Some(*own) && votes == 1,
            State::Waiting { .. } => *best > Some(*own),
            State::Following(_) => false,
        }
    } else {
        !matches!(before.state, State::Voting { .. }) || votes == 0
    };
    let has_answered = match &before.state {
        State::Following(of) => of.round == Round::Answered && votes > 0,
        State::Leading(round) => *round == Round::Answered && controls,
        State::Waiting { .. } | State::Voting { .. } => false,
    };
    let reset = matches!(
        input,
        Input::Message { from, message: Any::Ballot(Message::Reset) } if before.is_regular(from)
    );
    let follows = matches!(after.state, State::Following(_));
    [
        (votes > 1 || !outcome_is_right, "E7, V3, V5: one vote a round, and the highest wins"),
        (after.regular && votes > 0, "V7: a regular leader votes"),
        (asked && has_answered, "V5: a second answer to the votes of one round"),
        (reset && !after.regular && !follows, "V7: a reset is not obeyed"),
    ]
    .into_iter()
    .find_map(|(is_broken, rule)| is_broken.then_some(rule))
}

/// This many nodes, how many of them are regular leaders, packets under way, and states.
fn agrees(preset: Settings, [nodes, regular, messages, least]: [usize; 4]) {
    let is_instant = nodes > 2;
    let restarts = u8::from(!is_instant);
    let most = Misfortunes { crashes: 1, restarts, breaks: WITHOUT_END };
    let settings = Settings { patience: preset.patience.min(2), ..preset };
    let what = format!("{nodes} nodes, {regular} regular, {messages} packets, {settings:?}");
    let bound = settings.bound(LINKED, nodes);
    let bounds = Bounds { nodes, messages, is_instant, most, bound };
    settles(&what, Fleet { stand_ins: nodes - regular, settings }, bounds, least);
}

/// C3, E7, V3 to V7
#[test]
fn stand_ins_agree() {
    agrees(Settings::default(), [2, 0, 2, 130_786]);
    agrees(Settings::default(), [3, 0, 1, 5_723]);
}

/// C3, E7, V7
#[test]
fn regular_leaders_are_followed_by_all() {
    agrees(Settings::default(), [2, 1, 4, 4_074]);
    agrees(Settings::default(), [2, 2, 4, 912]);
    agrees(Settings::default(), [3, 1, 2, 44_452]);
}

/// C3, V2 to V7
#[test]
fn as_in_the_source_the_nodes_agree() {
    for nodes in [[2, 0, 1, 7_604], [2, 1, 2, 1_437], [2, 2, 2, 414], [3, 1, 2, 70_946]] {
        agrees(Settings::source(), nodes);
    }
}
