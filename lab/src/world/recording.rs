//! Where a world meets its recording, if there is one.

use std::time::Duration;

use elevator_fleet::node::Node;

use super::World;
use crate::connection::{ArrowId, SentId};
use crate::trace::{Fate, Kind, Recorder, StateAt, Trace, Window};

impl World {
    /// Records this part of the run, from here on. An earlier recording is dropped.
    pub fn record(&mut self, window: Window) {
        self.recorder = Some(Box::new(self.recorder(window)));
    }

    fn recorder(&self, window: Window) -> Recorder {
        let nodes = self.machines.iter().map(|machine| (machine.name.clone(), machine.address));
        let protocol = self.settings.election.protocol();
        let states = self.machines.iter().enumerate().map(|(node, machine)| StateAt {
            at: self.now,
            node,
            state: machine.node().map(|node| node.node_state().clone()),
            term: machine.node().map(Node::term).unwrap_or_default(),
        });
        let title = format!("{protocol}, {} nodes, seed {}", self.size(), self.settings.seed);
        let trace = Trace::new(title, protocol, window, nodes.collect());
        Recorder::new(trace, states.collect())
    }

    /// Ends the recording, and gives it; one that was never begun is empty.
    pub fn recorded(&mut self) -> Trace {
        let window = Window::new(self.now, self.now);
        let recorder = self.recorder.take();
        recorder.unwrap_or_else(|| Box::new(self.recorder(window))).recent(Duration::ZERO)
    }

    /// What the recording has so far, and goes on with. All that was sent before this moment is
    /// forgotten, so that a recording without an end stays small. `None` if there is none.
    pub fn recent(&mut self, from: Duration) -> Option<Trace> {
        self.recorder.as_mut().map(|recorder| recorder.recent(from))
    }

    /// A datagram goes to a node, and its copy does, if there is one; each arrives then, unless it is
    /// lost.
    pub(crate) fn trace_arrows(
        &mut self,
        sent: Option<SentId>,
        (from, to): (usize, usize),
        [first, copy]: [Option<Duration>; 2],
    ) -> [Option<ArrowId>; 2] {
        let Some(recorder) = self.recorder.as_mut().filter(|_| from != to) else {
            return [None; 2];
        };
        let missing = if self.network.passes(from, to) { Fate::Lost } else { Fate::Cut };
        let arrow = recorder.goes(sent, to, first.map_or(missing, Fate::Arrives));
        [arrow, copy.and_then(|at| recorder.goes(sent, to, Fate::Arrives(at)))]
    }

    /// A datagram is here. Nobody takes it if no process runs, or if the way was cut meanwhile.
    pub(crate) fn trace_arrival(&mut self, arrow: Option<ArrowId>, from: usize, to: usize) {
        let is_heard = self.network.passes(from, to) && self.machines[to].process.is_some();
        self.trace_taken(arrow, is_heard);
    }

    /// Something sets out over a link, or makes or ends one.
    pub(crate) fn trace_sent(
        &mut self,
        (from, to): (usize, usize),
        fate: Fate,
        describe: impl FnOnce() -> (Kind, String),
    ) -> Option<ArrowId> {
        let recorder = self.recorder.as_mut()?;
        let sent = recorder.sent(self.now, from, |_| describe());
        recorder.goes(sent, to, fate)
    }

    pub(crate) fn trace_taken(&mut self, arrow: Option<ArrowId>, is_taken: bool) {
        let fate = if is_taken { Fate::Arrives } else { Fate::Unheard };
        self.trace_fate(arrow, fate(self.now));
    }

    pub(crate) fn trace_fate(&mut self, arrow: Option<ArrowId>, fate: Fate) {
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.becomes(arrow, fate);
        }
    }

    pub(crate) fn trace_looked(&mut self, index: usize) {
        if let Some(recorder) = self.recorder.as_mut()
            && let Some(node) = self.machines[index].node()
        {
            recorder.looked(self.now, index, node);
        }
    }
}
