//! Where a world meets its recording, if there is one.

use std::time::Duration;

use elevator_fleet::node::Node;

use super::recorder::Signal;
use super::{ArrowId, Fate, MarkKind, Recorder, SentId, Trace, TracedNode, Window};
use crate::World;
use crate::connection::{ConnectionId, Side};

impl World {
    /// Records this part of the run, from here on. An earlier recording is dropped.
    pub fn record(&mut self, window: Window) {
        self.recorder = Some(Box::new(self.recorder(window)));
    }

    fn recorder(&self, window: Window) -> Recorder {
        let nodes = self
            .machines
            .iter()
            .map(|machine| TracedNode { name: machine.name.clone(), address: machine.address });
        let protocol = self.settings.election.protocol();
        let mut recorder = Recorder::new(Trace {
            title: format!("{protocol}, {} nodes, seed {}", self.size(), self.settings.seed),
            command: String::new(),
            protocol,
            window,
            nodes: nodes.collect(),
            messages: Vec::new(),
            arrows: Vec::new(),
            states: Vec::new(),
            marks: Vec::new(),
            bands: Vec::new(),
            left_out: 0,
        });
        for (index, machine) in self.machines.iter().enumerate() {
            let node = machine.node();
            let term = node.map(Node::term).unwrap_or_default();
            recorder.state(self.now, index, node.map(|node| node.node_state().clone()), term);
        }
        recorder
    }

    /// Ends the recording, and gives it; one that was never begun is empty.
    pub fn recorded(&mut self) -> Trace {
        let recorder = self.recorder.take().unwrap_or_else(|| {
            let window = Window::new(self.now, self.now);
            Box::new(self.recorder(window))
        });
        recorder.finish()
    }

    /// What the recording has so far, and goes on with. All that was sent before this moment is
    /// forgotten, so that a recording without an end stays small. `None` if there is none.
    pub fn recent(&mut self, from: Duration) -> Option<&Trace> {
        self.recorder.as_mut().map(|recorder| recorder.recent(from))
    }

    /// A message goes to this node, and arrives then, unless it is lost.
    fn trace_arrow(
        &mut self,
        sent: Option<SentId>,
        (from, to): (usize, usize),
        arrives: Option<Duration>,
    ) -> Option<ArrowId> {
        let recorder = self.recorder.as_mut()?;
        let fate = match arrives {
            Some(at) => Fate::UnderWay(at),
            None if self.network.passes(from, to) => Fate::Lost,
            None => Fate::Cut,
        };
        recorder.goes(sent, to, fate)
    }

    /// Likewise of a datagram and of its copy, if there is one.
    pub(crate) fn trace_arrows(
        &mut self,
        sent: Option<SentId>,
        ends: (usize, usize),
        [first, copy]: [Option<Duration>; 2],
    ) -> [Option<ArrowId>; 2] {
        if self.recorder.is_none() || ends.0 == ends.1 {
            return [None; 2];
        }
        let arrow = self.trace_arrow(sent, ends, first);
        [arrow, copy.and_then(|at| self.trace_arrow(sent, ends, Some(at)))]
    }

    /// A datagram is here. Nobody takes it if no process runs, or if the way was cut meanwhile.
    pub(crate) fn trace_arrival(&mut self, arrow: Option<ArrowId>, from: usize, to: usize) {
        if let Some(recorder) = self.recorder.as_mut() {
            let is_heard = self.network.passes(from, to) && self.machines[to].process.is_some();
            let fate = if is_heard { Fate::Received } else { Fate::Unheard };
            recorder.becomes(arrow, fate(self.now));
        }
    }

    /// A datagram is here, and its receiver is suspended.
    pub(crate) fn trace_wait(&mut self, arrow: Option<ArrowId>, has_room: bool) {
        if let Some(recorder) = self.recorder.as_mut() {
            let fate = if has_room { Fate::Waits } else { Fate::Unheard };
            recorder.becomes(arrow, fate(self.now));
        }
    }

    /// Something that concerns a link sets out, and arrives then, unless it is lost.
    pub(crate) fn trace_signal(
        &mut self,
        id: ConnectionId,
        signal: Signal,
        (from, to): (usize, usize),
        arrives: Option<Duration>,
    ) {
        if let Some(recorder) = self.recorder.as_mut() {
            let fate = arrives.map_or(Fate::Lost, Fate::UnderWay);
            recorder.signals(self.now, (id, signal), (from, to), fate);
        }
    }

    /// It is here, and is taken or not.
    pub(crate) fn trace_signalled(&mut self, id: ConnectionId, signal: Signal, taken: bool) {
        if let Some(recorder) = self.recorder.as_mut() {
            let fate = if taken { Fate::Received } else { Fate::Unheard };
            recorder.signalled(id, signal, fate(self.now));
        }
    }

    /// The oldest packet of a link is here, and is taken or not.
    pub(crate) fn trace_dequeued(&mut self, id: ConnectionId, side: Side, taken: bool) {
        if let Some(recorder) = self.recorder.as_mut() {
            let fate = if taken { Fate::Received } else { Fate::Unheard };
            recorder.dequeued(id, side, fate(self.now));
        }
    }

    /// What is under way from this side of a link is gone.
    pub(crate) fn trace_dropped(&mut self, id: ConnectionId, side: Side) {
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.dropped(id, side);
        }
    }

    /// A link has come up at a node, or is gone.
    pub(crate) fn trace_link(&mut self, node: usize, id: ConnectionId, kind: MarkKind) {
        let Some(recorder) = self.recorder.as_mut() else {
            return;
        };
        let peer = self.connections.get(id).and_then(|connection| {
            let ends = Side::BOTH.map(|side| connection.end(side).node);
            ends.into_iter().find(|end| *end != node)
        });
        let peer = peer.map_or("?", |peer| self.machines[peer].name.as_str());
        recorder.mark(self.now, node, kind, format!("{}: {peer}", kind.name()));
    }

    /// A node has handled something.
    pub(crate) fn trace_looked(&mut self, index: usize) {
        if let Some(recorder) = self.recorder.as_mut()
            && let Some(node) = self.machines[index].node()
        {
            recorder.looked(self.now, index, node);
        }
    }
}
