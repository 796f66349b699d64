//! A few nodes under the model checker, whatever is lost, late or repeated: any message may arrive
//! from any node at any time.
//!
//! In every state: a node becomes master only after all its attempts; the control unit leads; a
//! master that hears of one above it yields. And from each of them, as soon as nothing more breaks,
//! the nodes come to one master and stay with it in every fair schedule (M8, M9). What the protocol
//! relies on about its times: messages are under way for less than the wait for an answer, and a
//! master that is there sends requests more often than it counts as lost.
//!
//! The states are finite but for the count of nodes seen, which the machine only compares with
//! zero: here it ends at 1. There is no other boundary.

use std::convert::Infallible;

use stateright::Property;

use super::{Attempt, Kind, Member, Message, Senior, Settings, State, Timer};
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, Taken, WITHOUT_END,
    is_large, settles,
};
use crate::election::testing::{candidate, control_unit};
use crate::election::{Candidate, Election, ElectionTimer, Input, Message as Any, Output};
use crate::model::{NodeId, NodeState};

#[derive(Debug)]
struct Fleet {
    candidates: Vec<Candidate>,
    settings: Settings,
}

/// How often each node has asked for a master since it last had one; counted up to the attempts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Asked([u32; 3]);

impl Subject for Fleet {
    type Machine = Senior;
    type Notes = Asked;
    type Step = Infallible;

    fn candidate(&self, node: usize) -> Candidate {
        self.candidates[node].clone()
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Senior {
        Senior::new(&own, self.settings)
    }

    fn knows(machine: &Senior, peer: &NodeId) -> bool {
        machine.peers.contains_key(peer)
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

    fn crashed(_check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        moment.notes.0[node] = 0;
    }

    fn observe(check: &Check<Self>, moment: &mut At<Self>, step: &mut Taken<'_, Self>) {
        if let State::WaitingForMaster(Attempt { seen, .. }) = &mut step.after.state {
            *seen = (*seen).min(1);
        }
        let attempts = check.subject.settings.attempts;
        let asked = &mut moment.notes.0[step.node];
        let question = Output::Broadcast(Message::NeedMaster.into());
        if step.outputs.contains(&question) {
            *asked = attempts.min(*asked + 1);
        }
        let (before, after) = (step.before.node_state(), step.after.node_state());
        let became_master = before == NodeState::Seeking && after == NodeState::Master;
        let too_soon = became_master && *asked < attempts;
        if after != NodeState::Seeking {
            *asked = 0;
        }
        moment.blame(too_soon.then_some("became master before all attempts"));
        let defies = after == NodeState::Master && has_heard_better(step);
        moment.blame(defies.then_some("did not yield to a master above it"));
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        vec![
            Property::always(
                "M2: one control unit leads",
                |check: &Check<Self>, moment: &At<Self>| {
                    let control = |at: &usize| check.subject.node(*at).kind == Kind::Control;
                    let controls: Vec<usize> = (0..moment.nodes.len()).filter(control).collect();
                    let leads = |at: &usize| !moment.lives(*at) || moment.leads(*at);
                    controls.len() != 1 || controls.iter().all(leads)
                },
            ),
            Property::sometimes("two masters", |_, moment: &At<Self>| moment.leaders() > 1),
        ]
    }
}

impl Calms for Fleet {
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool {
        let node = |at: usize| check.subject.node(at);
        let is_control = |at: &usize| node(*at).kind == Kind::Control;
        let living = moment.living().map(|(at, _)| at);
        let best = living.filter(is_control).max_by_key(|at| node(*at));
        let is_best = |master| best.is_none_or(|best| best == master);
        moment.living().count() == 0 || check.agreed_master(moment).is_some_and(is_best)
    }

    fn due(check: &Check<Self>, moment: &At<Self>, node: usize, timer: &ElectionTimer) -> Due {
        let is_led = match moment.node_state(node) {
            Some(NodeState::Slave { master }) => moment.leads(check.index(&master)),
            Some(NodeState::Master | NodeState::Seeking) | None => false,
        };
        if *timer == Timer::MasterLoss.into() && is_led || !moment.network.is_empty() {
            Due::Later
        } else {
            Due::Now
        }
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

impl Fleet {
    fn node(&self, at: usize) -> Member {
        Member::of(&self.candidates[at])
    }
}

/// A fleet with these settings; `least` states in all, and in calm.
fn walk(candidates: Vec<Candidate>, settings: Settings, least: [usize; 2]) {
    let nodes = candidates.len();
    let what = format!("{nodes} nodes, {settings:?}");
    let most =
        Misfortunes { crashes: WITHOUT_END, restarts: WITHOUT_END, breaks: WITHOUT_END, falls: 0 };
    let subject = Fleet { candidates, settings };
    let bounds = Bounds { nodes, network: Network::Forges, beacons: Beacons::Late, most };
    let [least, least_calm] = least;
    settles(&what, Check::new(subject, bounds), least, least_calm);
}

fn fleet(attempts: u32) -> Settings {
    Settings { attempts, ..Settings::default() }
}

fn indicator_units(nodes: u8) -> Vec<Candidate> {
    (1..=nodes).map(candidate).collect()
}

/// M8, M9, E7
#[test]
fn two_units_are_exhausted() {
    walk(indicator_units(2), fleet(4), [748, 1_586]);
    walk(vec![control_unit(1), candidate(2)], fleet(4), [170, 422]);
}

/// M8, M9, E7
#[test]
fn three_indicator_units_are_exhausted() {
    walk(indicator_units(3), fleet(1), [11_025, 161_494]);
}

/// M8, M9, E7
#[test]
fn a_control_unit_and_two_indicator_units_are_exhausted() {
    let nodes = || vec![control_unit(1), candidate(2), candidate(3)];
    walk(nodes(), fleet(1), [4_725, 68_030]);
    if is_large() {
        walk(nodes(), fleet(2), [16_317, 169_950]);
    }
}

/// M3 to M9: a master that the mesh has lost, or that reports that it is none, is followed until
/// its requests have failed to come for the interval.
#[test]
fn as_in_the_source_units_are_exhausted() {
    walk(indicator_units(2), Settings::source(), [513, 1_069]);
    walk(vec![control_unit(1), candidate(2)], Settings::source(), [135, 331]);
    if is_large() {
        let settings = Settings { attempts: 1, ..Settings::source() };
        walk(indicator_units(3), settings, [18_125, 110_217]);
    }
}
