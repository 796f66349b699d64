//! What holds of a single node at any moment.

use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::{
    Button, DoorCommand, DoorState, FloorCount, MotorCommand, PanelEvent, PanelOutputs,
};
use elevator_fleet::model::{Call, Dot, HallCall, Term, Timestamp};
use elevator_fleet::node::{Action, Change, Lsn, Node, Restored, Status};
use elevator_fleet::settings::{Key, Register, Version};
use elevator_fleet::store::Record;
use elevator_fleet::wire::codec::{decode_beacon, decode_frame, encode_beacon, encode_frame};
use elevator_fleet::wire::{Ack, Beacon, Delta, Frame};

use crate::wire::keyring;

/// The most actions that one event causes. A script knows few peers and few calls.
const MOST_ACTIONS: usize = 500;

/// What was seen so far.
pub(super) struct Watch {
    floors: FloorCount,
    term: Term,
    /// Where the door is, as far as the panel has said.
    door: Option<DoorState>,
    /// The orders that peers have mentioned, and those that may be on the disk of one, as far as
    /// peers have said.
    mentioned: BTreeSet<Dot>,
    durable_at_peers: BTreeSet<Dot>,
    /// The calls that were promised after the event before this one.
    standing: BTreeSet<Call>,
    /// The orders on disk.
    durable: BTreeSet<Dot>,
    /// Those on their way to the disk, by batch.
    writing: BTreeMap<Lsn, Vec<Dot>>,
    lsn: Option<Lsn>,
    /// The version of each setting.
    versions: BTreeMap<Key, Version>,
}

impl Watch {
    pub(super) fn new(floors: FloorCount, restored: &Restored) -> Self {
        Self {
            floors,
            term: restored.term,
            door: None,
            mentioned: BTreeSet::new(),
            durable_at_peers: BTreeSet::new(),
            standing: BTreeSet::new(),
            durable: restored.records.iter().map(|record| record.dot).collect(),
            writing: BTreeMap::new(),
            lsn: None,
            versions: BTreeMap::new(),
        }
    }

    pub(super) fn hear_beacon(&mut self, beacon: &Beacon, node: &Node) {
        self.hear_delta(&beacon.delta, beacon.durable);
        self.hear_digest(beacon.digest, beacon.durable, node);
    }

    pub(super) fn hear_frame(&mut self, frame: &Frame, node: &Node) {
        match frame {
            Frame::Digest(told) => self.hear_digest(told.digest, told.durable, node),
            Frame::State(told) => self.hear_records(&told.records, told.durable),
            Frame::Delta(delta) => self.hear_delta(delta, false),
            Frame::Hello(_)
            | Frame::Next
            | Frame::Synced
            | Frame::Probe
            | Frame::Alive
            | Frame::CarPlan(_) => {}
        }
    }

    fn hear_delta(&mut self, delta: &Delta, durable: bool) {
        for ack in &delta.acks {
            let Ack::Press { dot, durable, .. } = ack else { continue };
            self.durable_at_peers.extend(durable.then_some(*dot));
            self.mentioned.insert(*dot);
        }
        self.hear_records(&delta.records, durable);
    }

    fn hear_records(&mut self, records: &[Record], durable: bool) {
        self.mentioned.extend(records.iter().map(|record| record.dot));
        if durable {
            self.durable_at_peers.extend(&self.mentioned);
        }
    }

    /// A peer has a store like this, before or after what came with it.
    fn hear_digest(&mut self, digest: u64, durable: bool, node: &Node) {
        if durable && digest == node.digest() {
            self.durable_at_peers.extend(node.orders().orders().map(|order| order.dot));
        }
    }

    pub(super) fn see_panel(&mut self, event: &PanelEvent) {
        match event {
            PanelEvent::Inputs(inputs) => self.door = Some(inputs.door),
            PanelEvent::Connected | PanelEvent::Disconnected(_) => self.door = None,
            PanelEvent::Pressed(_) | PanelEvent::Requested(_) | PanelEvent::Refused(_) => {}
        }
    }

    /// Everything up to this batch is on disk.
    pub(super) fn write(&mut self, lsn: Lsn) {
        let rest = self.writing.split_off(&Lsn(lsn.0 + 1));
        self.durable.extend(std::mem::replace(&mut self.writing, rest).into_values().flatten());
    }

    /// The action, which is the `count`th of an event.
    pub(super) fn check_action(&mut self, action: &Action, count: usize) {
        assert!(count <= MOST_ACTIONS, "an event that causes {count} actions");
        match action {
            Action::Broadcast(beacon) | Action::Unicast { beacon, .. } => assert_sent(beacon),
            Action::Send { frame, .. } => assert_framed(frame),
            Action::Panel(outputs) => self.check_outputs(outputs),
            Action::Persist { lsn, changes } => {
                assert!(self.lsn < Some(*lsn), "batches in order");
                self.lsn = Some(*lsn);
                let dots = changes.iter().filter_map(|change| match change {
                    Change::Record(record) => Some(record.dot),
                    _ => None,
                });
                self.writing.insert(*lsn, dots.collect());
            }
            Action::Packet { .. }
            | Action::Dial { .. }
            | Action::Close(_)
            | Action::Plan(_)
            | Action::Report(_) => {}
        }
    }

    /// The node, after all of its actions.
    pub(super) fn check(&mut self, node: &Node) {
        assert!(node.term() >= self.term, "E3: {:?} after {:?}", node.term(), self.term);
        self.term = node.term();
        self.check_settings(node);
        if let Some(outputs) = node.outputs() {
            self.check_outputs(outputs);
            self.check_lamps(node, outputs);
        }
        // Whether or not there is a panel: a repeated press inherits a promise that nobody sees.
        let calls = node.orders().calls();
        self.standing = calls.filter(|call| self.is_promised(node, call)).cloned().collect();
    }

    /// P1, P2
    fn check_lamps(&self, node: &Node, outputs: &PanelOutputs) {
        for button in &outputs.lamps.orders {
            self.check_lamp(node, *button);
        }
        for trip in outputs.kiosks.keys() {
            let call = HallCall::to(trip.from(), trip.to()).map(Call::Hall).expect("a trip");
            self.check_promised(node, &call);
        }
    }

    /// A setting gives way to a later one only, but for a fire recall, whose number counts. No open
    /// call is older than a fire recall, and on emergency power a motor runs in its turn alone (S1).
    fn check_settings(&mut self, node: &Node) {
        let settings = node.settings();
        let is_recall = |it: &&Register| it.setting.recall().is_some();
        for Register { setting, version, .. } in settings.iter().filter(|it| !is_recall(it)) {
            let key = setting.key();
            let before = self.versions.insert(key.clone(), *version);
            assert!(
                before.is_none_or(|before| before <= *version),
                "{key}: {before:?}, {version:?}"
            );
        }
        let mut orders = node.orders().orders();
        let older = orders.find(|order| order.recall < settings.recall_count());
        assert!(older.is_none(), "{older:?} is older than a fire recall");
        let moves = node.outputs().is_some_and(|outputs| outputs.motor != MotorCommand::Stop);
        if moves && settings.emergency_power().is_some() {
            let turn = settings.turn();
            let own = turn.holder().is_some_and(|(car, _)| *car == node.hello().node);
            assert!(own, "S1: it moves on emergency power, in the turn {turn:?}");
        }
    }

    /// P1, P2: there is an order, and it is promised.
    fn check_lamp(&self, node: &Node, button: Button) {
        assert!(self.floors.has_button(button), "a lamp of {button}");
        let calls = node.orders().calls();
        let shown = calls.filter(|call| call.button() == Some(button)).cloned();
        let own = |call: &Call| match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == node.hello().node,
        };
        let shown: BTreeSet<Call> = shown.filter(own).collect();
        assert!(shown.iter().any(|call| self.is_promised(node, call)), "P1: {button} is lit");
    }

    fn check_promised(&self, node: &Node, call: &Call) {
        assert!(self.is_promised(node, call), "P1: {call} is shown");
    }

    fn is_promised(&self, node: &Node, call: &Call) -> bool {
        node.orders().of_call(call).any(|order| {
            let is_durable =
                self.durable.contains(&order.dot) || self.durable_at_peers.contains(&order.dot);
            // A press that replaces another one inherits its promise.
            node.has_promised(order.dot) && (is_durable || self.standing.contains(call))
        })
    }

    /// S1.
    fn check_outputs(&self, outputs: &PanelOutputs) {
        let moves = outputs.motor != MotorCommand::Stop;
        assert!(!moves || outputs.door == DoorCommand::Close, "S1: {outputs:?}");
        let is_open = self.door.is_some_and(|door| door != DoorState::Closed);
        assert!(!moves || !is_open, "S1: the door is {:?}: {outputs:?}", self.door);
        let stop_at = match outputs.motor {
            MotorCommand::Run { stop_at, .. } => Some(stop_at),
            MotorCommand::Stop | MotorCommand::Home { .. } => None,
        };
        for floor in stop_at.into_iter().chain(outputs.indicator) {
            assert!(self.floors.contains(floor), "{outputs:?}");
        }
    }
}

/// What operators see.
pub(super) fn check_status(node: &Node, now: Timestamp) {
    let status = node.status(now);
    assert_eq!(status.node, node.hello().node);
    let json = serde_json::to_string(&status).expect("a status");
    // Seconds of a peer that makes no sense need not be the same in the last digits.
    let read: Status = serde_json::from_str(&json).expect("`liftmesh status` can read it");
    assert_eq!((read.node, read.orders.len()), (status.node, status.orders.len()));
}

/// The process ends.
pub(super) fn check_stopped(node: &Node) {
    assert!(node.outputs().is_none_or(|outputs| outputs.motor == MotorCommand::Stop));
}

fn assert_sent(beacon: &Beacon) {
    let bytes = encode_beacon(beacon, &keyring()).expect("it fits a datagram");
    assert_eq!(decode_beacon(&bytes, &keyring()).as_ref(), Ok(beacon));
}

fn assert_framed(frame: &Frame) {
    let bytes = encode_frame(frame).expect("it fits a frame");
    assert_eq!(decode_frame(&bytes).as_ref(), Ok(frame));
}
