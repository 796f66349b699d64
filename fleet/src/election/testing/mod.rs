//! What the tests of all protocols share: nodes, machines driven by hand, and the model.
//!
//! Nodes are numbered, and ranked by their numbers.

pub(super) mod model;

use core::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::Floor;

use super::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::{Mac, NodeId, NodeState, Role, Term};

pub(crate) fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

pub(crate) fn name(index: u8) -> NodeId {
    NodeId::new(&format!("N{index}")).expect("a name")
}

pub(crate) fn address(index: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, index)
}

pub(super) fn candidate(index: u8) -> Candidate {
    let address = address(index);
    Candidate { node: name(index), address, mac: Mac::of(address), role: Role::Cabin, estimate: 0 }
}

pub(super) fn control_unit(index: u8) -> Candidate {
    let role = Role::ControlUnit;
    Candidate { role, ..candidate(index) }
}

pub(super) fn slave_of(index: u8) -> NodeState {
    NodeState::Slave { master: name(index) }
}

pub(super) fn feed(machine: &mut impl Election, input: Input<'_>) -> Vec<Output> {
    draws(machine, 0, input)
}

pub(super) fn draws(machine: &mut impl Election, draw: u64, input: Input<'_>) -> Vec<Output> {
    let mut outputs = Vec::new();
    machine.handle(input, draw, &mut outputs);
    outputs
}

pub(super) fn hears(
    machine: &mut impl Election,
    peer: &Candidate,
    node_state: &NodeState,
) -> Vec<Output> {
    hears_in(machine, peer, node_state, 0)
}

pub(super) fn hears_in(
    machine: &mut impl Election,
    peer: &Candidate,
    node_state: &NodeState,
    term: u64,
) -> Vec<Output> {
    let term = Term(term);
    feed(machine, Input::Heard { peer, node_state, term })
}

pub(super) fn receives(
    machine: &mut impl Election,
    from: u8,
    message: impl Into<Message>,
) -> Vec<Output> {
    let (from, message) = (&name(from), &message.into());
    feed(machine, Input::Message { from, message })
}

pub(super) fn loses(machine: &mut impl Election, peer: u8) -> Vec<Output> {
    feed(machine, Input::Lost { peer: &name(peer) })
}

pub(super) fn fires(machine: &mut impl Election, timer: impl Into<ElectionTimer>) -> Vec<Output> {
    feed(machine, Input::Fired(&timer.into()))
}

/// What happens to a machine in a table of cases.
#[derive(Debug, Clone)]
pub(super) enum Given {
    Started,
    Heard(Candidate, NodeState),
    Lost(u8),
    Received(u8, Message),
    Fired(ElectionTimer),
}

/// What happens, the number drawn then, the state afterwards, and all outputs.
pub(super) type Line = (Given, u64, NodeState, Vec<Output>);

/// Plays the lines of a case one after the other; returns the machine.
pub(super) fn play<M: Election>(
    case: &str,
    mut machine: M,
    lines: impl IntoIterator<Item = Line>,
) -> M {
    for (at, (given, draw, node_state, expected)) in lines.into_iter().enumerate() {
        let peer = if let Given::Lost(peer) | Given::Received(peer, _) = given { peer } else { 0 };
        let input = match &given {
            Given::Started => Input::Start,
            Given::Heard(peer, node_state) => {
                Input::Heard { peer, node_state, term: Term::default() }
            }
            Given::Lost(_) => Input::Lost { peer: &name(peer) },
            Given::Received(_, message) => Input::Message { from: &name(peer), message },
            Given::Fired(timer) => Input::Fired(timer),
        };
        let outputs = draws(&mut machine, draw, input);
        let found = (machine.node_state(), outputs);
        assert_eq!(found, (node_state, expected), "{case}, line {at}: {given:?}");
    }
    machine
}

/// What is sent, and to whom; `None` is everybody.
pub(super) fn sent(outputs: &[Output]) -> Vec<(Option<NodeId>, Message)> {
    let sent = outputs.iter().filter_map(|output| {
        if let Output::Broadcast(message) = output {
            return Some((None, message));
        }
        let (Output::Send(to, message) | Output::HandOver(to, message)) = output else {
            return None;
        };
        Some((Some(to), message))
    });
    sent.map(|(to, message)| (to.cloned(), message.clone())).collect()
}

pub(super) fn armed(outputs: &[Output], timer: impl Into<ElectionTimer>) -> Option<Duration> {
    let timer = timer.into();
    outputs.iter().find_map(|output| {
        if let Output::Arm(armed, wait) = output {
            (*armed == timer).then_some(*wait)
        } else {
            None
        }
    })
}

pub(super) fn detail(machine: &impl Election, name: &str) -> Option<String> {
    let mut details = machine.details().into_iter();
    details.find(|detail| detail.name == name).map(|detail| detail.value)
}
