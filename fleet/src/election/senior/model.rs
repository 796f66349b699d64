//! A few nodes under the model checker: any message may arrive from any node at any time.
//!
//! The states are finite but for the count of nodes seen, which the machine only compares with
//! zero: here it ends at 1. There is no other boundary.

use super::*;
use crate::election::Message as Any;
use crate::election::testing::model::{
    At, Bounds, LINKED, Misfortunes, Subject, Taken, WITHOUT_END, number, settles,
};
use crate::election::testing::{candidate, control_unit};

/// The first node may be a control unit.
struct Fleet {
    is_controlled: bool,
    settings: Settings,
}

impl Subject for Fleet {
    type Machine = Senior;
    /// How often each node has asked for a master since it last had one, up to the attempts.
    type Notes = [u32; 3];

    fn candidate(&self, node: usize) -> Candidate {
        let of = if node == 0 && self.is_controlled { control_unit } else { candidate };
        of(number(node))
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Senior {
        Senior::new(&own, self.settings)
    }

    fn forgeries(&self) -> Vec<Any> {
        vec![
            Message::NeedMaster.into(),
            Message::NeedExecutors.into(),
            Message::IAmMaster.into(),
            Message::IAmExecutor.into(),
            Any::SensorRequest,
        ]
    }

    fn broken_by(&self, step: &mut Taken<'_, Self>, notes: &mut [u32; 3]) -> Option<&'static str> {
        if let State::WaitingForMaster(Attempt { seen, .. }) = &mut step.after.state {
            *seen = (*seen).min(1);
        }
        let asked = &mut notes[step.node];
        if *step.input == Input::Start {
            *asked = 0;
        }
        if step.outputs.contains(&Output::Broadcast(Message::NeedMaster.into())) {
            *asked = self.settings.attempts.min(*asked + 1);
        }
        let (before, after) = (step.before.node_state(), step.after.node_state());
        let becomes_master = before == NodeState::Seeking && after == NodeState::Master;
        let is_early = becomes_master && *asked < self.settings.attempts;
        if after != NodeState::Seeking {
            *asked = 0;
        }
        let defies = after == NodeState::Master && has_heard_better(step);
        let is_early = is_early.then_some("E7: became master before all attempts");
        is_early.or(defies.then_some("M9: did not yield to a master above it"))
    }

    fn broken_in(&self, moment: &At<Self>) -> Option<&'static str> {
        let is_led = moment.machine(0).is_none() || moment.leads(0);
        (self.is_controlled && !is_led).then_some("M2: the control unit leads")
    }

    fn is_right(&self, moment: &At<Self>) -> bool {
        let master = moment.agreed_master();
        let is_controlled = self.is_controlled && moment.machine(0).is_some();
        moment.living().next().is_none()
            || master.is_some_and(|master| master == 0 || !is_controlled)
    }
}

fn has_heard_better(step: &Taken<'_, Fleet>) -> bool {
    let Input::Message { from, message } = step.input else {
        return false;
    };
    let shows_master = **message == Any::SensorRequest
        || **message == Message::NeedExecutors.into()
        || **message == Message::IAmMaster.into();
    let sender = step.before.peers.get(*from);
    shows_master && sender.is_some_and(|sender| step.before.own < *sender)
}

fn walk(nodes: usize, is_controlled: bool, settings: Settings, least: usize) {
    let most = Misfortunes { crashes: WITHOUT_END, restarts: WITHOUT_END, breaks: WITHOUT_END };
    let bound = settings.bound(LINKED, nodes);
    let bounds = Bounds { nodes, messages: 0, is_instant: false, most, bound };
    let what = format!("{nodes} nodes, control unit: {is_controlled}, {settings:?}");
    settles(&what, Fleet { is_controlled, settings }, bounds, least);
}

/// C3, E7, M2, M6, M8, M9
#[test]
fn units_agree_whatever_happens() {
    let settings = Settings::default();
    walk(2, false, settings, 988);
    walk(2, true, settings, 190);
    let settings = Settings { attempts: 1, ..settings };
    walk(3, false, settings, 12_584);
    walk(3, true, settings, 5_148);
}

/// M3 to M9: a master is followed until its requests have failed to come for the interval.
#[test]
fn units_agree_as_in_the_source() {
    walk(2, false, Settings::source(), 660);
    walk(2, true, Settings::source(), 150);
}
