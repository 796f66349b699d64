//! What a protocol does about one input.

use std::time::Duration;

use super::{ElectionTimer, Message, Output};
use crate::model::NodeId;

/// Gathers the outputs of an election for one input.
pub(super) struct Reaction<'a> {
    /// The random number that came with the input.
    pub(super) draw: u64,
    pub(super) outputs: &'a mut Vec<Output>,
}

impl Reaction<'_> {
    pub(super) fn arm(&mut self, timer: impl Into<ElectionTimer>, wait: Duration) {
        self.outputs.push(Output::Arm(timer.into(), wait));
    }

    pub(super) fn disarm(&mut self, timer: impl Into<ElectionTimer>) {
        self.outputs.push(Output::Disarm(timer.into()));
    }

    /// Disarms the timers of the state before that the present one does not wait for.
    pub(super) fn disarm_but<T>(&mut self, before: &[T], present: &[T])
    where
        T: Copy + PartialEq + Into<ElectionTimer>,
    {
        for timer in before.iter().filter(|timer| !present.contains(timer)) {
            self.disarm(*timer);
        }
    }

    pub(super) fn broadcast(&mut self, message: impl Into<Message>) {
        self.outputs.push(Output::Broadcast(message.into()));
    }

    pub(super) fn send(&mut self, to: &NodeId, message: impl Into<Message>) {
        self.outputs.push(Output::Send(to.clone(), message.into()));
    }

    pub(super) fn hand_over(&mut self, to: &NodeId, message: impl Into<Message>) {
        self.outputs.push(Output::HandOver(to.clone(), message.into()));
    }
}
