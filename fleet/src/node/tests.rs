//! Whole nodes, told what happens one thing at a time.

mod climate;
mod destination;
mod disk;
mod flooded;
mod forged;
mod guidance;
mod hang;
mod packets;
mod panel_first;
mod planning;
mod presses;
mod probes;
mod receipts;
mod sessions;
mod transfer;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::car::CarSettings;
use crate::climate::ClimateSettings;
use crate::dispatch::Plan;
use crate::election::testing::{address, floor, name};
use crate::election::{ElectionSettings, Preset};
use crate::model::{
    Call, CarView, Dot, FleetName, HallCall, Mac, NodeId, NodeState, Nonce, Protocol, Role, Term,
    Timestamp,
};
use crate::settings::{Register, Setting};
use crate::store::Record;
use crate::wire::{Beacon, Delta, Echo, Frame, StateTransfer};
use elevator_driver::vocabulary::Served;
use elevator_driver::{
    Building, Button, Direction, DoorCommand, DoorState, DriveFeedback, Floor, FloorCount,
    MotorCommand, PanelEvent, PanelInputs, Side,
};

const PERIOD: Duration = Duration::from_millis(25);

/// The link of two nodes.
const LINK: LinkId = LinkId(1);

/// The node whose address ends so, in one of its incarnations.
pub(crate) fn node(index: u8, incarnation: u64) -> Node {
    started(settings(index, incarnation))
}

/// The same under another protocol.
fn electing(index: u8, incarnation: u64, election: ElectionSettings) -> Node {
    started(NodeSettings { election, ..settings(index, incarnation) })
}

/// The same with this on its disk.
fn restarted(index: u8, incarnation: u64, restored: Restored) -> Node {
    started(NodeSettings { restored, ..settings(index, incarnation) })
}

fn started(settings: NodeSettings) -> Node {
    let mut node = Node::new(settings);
    node.start(Timestamp::START);
    node
}

fn with_car(index: u8, incarnation: u64, restored: Restored, now: Timestamp) -> Node {
    let settings = settings(index, incarnation);
    let car = Some(CarSettings::new(settings.building.floors()));
    let mut node = Node::new(NodeSettings { car, restored, ..settings });
    node.start(now);
    node
}

fn settings(index: u8, incarnation: u64) -> NodeSettings {
    NodeSettings {
        identity: Identity {
            fleet: FleetName::new("test").expect("a name"),
            node: name(index),
            address: address(index),
            mac: Mac::of(address(index)),
            role: Role::Cabin,
            link_port: 46_000,
            nonce: Nonce(u64::from(index) * 100 + incarnation),
        },
        election: ElectionSettings::of(Protocol::LowestIp),
        building: Arc::new(FloorCount::new(4).expect("floors").into()),
        mesh: MeshTimes::default(),
        car: None,
        climate: ClimateSettings::default(),
        restored: Restored::default(),
        seed: u64::from(index),
    }
}

/// The usual building, in which these cars serve these floors only.
fn zones(cars: &[(u8, &[u8])]) -> Arc<Building> {
    let served = |(car, floors): &(u8, &[u8])| Served {
        car: name(*car).to_string(),
        floors: floors.iter().map(|index| floor(*index)).collect(),
        doors: [Side::Front].into(),
    };
    let landings = settings(1, 1).building.landings().to_vec();
    Arc::new(Building::new(landings, cars.iter().map(served).collect()).expect("a building"))
}

/// A node whose car serves its zone.
fn in_zone(index: u8, building: &Arc<Building>, restored: Restored) -> Node {
    let car = Some(CarSettings::of(building, name(index).as_str()));
    let building = building.clone();
    started(NodeSettings { building, car, restored, ..settings(index, 1) })
}

/// A node whose car stands at the lowest floor with its door closed, and that moment.
fn cabin(index: u8) -> (Node, Timestamp) {
    settled(with_car(index, 1, Restored::default(), Timestamp::START))
}

fn settled(mut node: Node) -> (Node, Timestamp) {
    let mut now = Timestamp::START;
    node.handle_panel(PanelEvent::Connected, now);
    node.see(at_rest(), now);
    leave_cars_idle(&mut node, now);
    for _ in 0..100 {
        now = now + PERIOD;
        node.handle_timeout(now);
        leave_cars_idle(&mut node, now);
    }
    (node, now)
}

/// The reports among what a node wants done.
fn reports(actions: Vec<Action>) -> impl Iterator<Item = Report> {
    let report = |action| if let Action::Report(report) = action { Some(report) } else { None };
    actions.into_iter().filter_map(report)
}

/// Drains the node. Idle cars are to stay where they are, if it asks for a plan.
fn leave_cars_idle(node: &mut Node, now: Timestamp) {
    while let Some(asked) = plan_requests(node).pop() {
        node.handle_plan(asked.version, Plan::default(), now);
    }
}

/// At the lowest floor.
fn at_rest() -> PanelInputs {
    PanelInputs {
        floor: Some(Floor::BOTTOM),
        drive: DriveFeedback::Stopped,
        door: DoorState::Closed,
        ..PanelInputs::default()
    }
}

impl Node {
    /// An operator commands something, which is taken.
    fn command(&mut self, command: Command, now: Timestamp) {
        self.handle_command(command, "kovac", None, now).expect("taken");
    }

    /// Somebody without a right of access places an order.
    fn order(&mut self, call: &Call, now: Timestamp) -> Result<Taken, OrderRefused> {
        self.handle_order(call, Access::Public, now)
    }

    fn have_set(&mut self, setting: Setting, now: Timestamp) {
        self.handle_setting(setting, "kovac", now).expect("taken");
    }

    fn see(&mut self, inputs: PanelInputs, now: Timestamp) {
        self.handle_panel(PanelEvent::Inputs(inputs), now);
    }

    fn push(&mut self, button: Button, now: Timestamp) {
        self.handle_panel(PanelEvent::Pressed(button), now);
    }

    fn obey_door(&mut self, now: Timestamp) {
        let door = match self.outputs().expect("outputs").door {
            DoorCommand::Open | DoorCommand::OpenRear => DoorState::Open,
            DoorCommand::Close | DoorCommand::Nudge => DoorState::Closed,
        };
        self.see(PanelInputs { door, ..at_rest() }, now);
    }

    fn motor(&self) -> MotorCommand {
        self.outputs().expect("outputs").motor
    }

    fn open_calls(&self) -> Vec<Call> {
        self.orders().calls().cloned().collect()
    }

    /// What its disk holds, if that is fast.
    fn written(&self, now: Timestamp) -> Restored {
        let records = self.orders().records(now).collect();
        let settings = self.settings().all().cloned().collect();
        Restored { records, settings, ..Restored::default() }
    }

    /// A beacon of this moment, without changes.
    fn plain_beacon(&mut self, now: Timestamp) -> Beacon {
        let facts = self.facts(now);
        self.peers.plain_beacon(facts, now)
    }

    /// What a peer echoes that has just heard this node.
    fn echo(&mut self, now: Timestamp) -> Echo {
        Echo { nonce: self.hello().nonce, sequence: self.plain_beacon(now).sequence }
    }

    fn hear_settings(&mut self, peer: &NodeId, settings: Vec<Register>, now: Timestamp) {
        let delta = Delta { settings, ..Delta::default() };
        self.on_records(peer, &delta, now);
    }

    /// The peer at the other end of the link says so.
    fn hear_delta(&mut self, delta: Delta, now: Timestamp) {
        self.handle_frame(LINK, Frame::Delta(delta), now);
    }

    /// Takes in a record as if it had come through the gate.
    fn merge_record(&mut self, record: &Record, from: Option<&NodeId>, now: Timestamp) {
        self.store.merge_record(record, from, now);
        self.route_store(now);
    }
}

pub(crate) fn drain(node: &mut Node) -> Vec<Action> {
    std::iter::from_fn(|| node.poll_action()).collect()
}

fn broadcasts(actions: &[Action]) -> impl Iterator<Item = &Beacon> {
    actions.iter().filter_map(|action| {
        if let Action::Broadcast(beacon) = action { Some(beacon) } else { None }
    })
}

fn sent(actions: Vec<Action>) -> impl Iterator<Item = Frame> {
    let frame = |action| if let Action::Send { frame, .. } = action { Some(frame) } else { None };
    actions.into_iter().filter_map(frame)
}

fn frames(node: &mut Node) -> Vec<Frame> {
    sent(drain(node)).collect()
}

fn plan_requests(node: &mut Node) -> Vec<PlanRequest> {
    let request = |action| if let Action::Plan(request) = action { Some(request) } else { None };
    drain(node).into_iter().filter_map(request).collect()
}

fn persists(actions: &[Action]) -> Vec<(Lsn, Vec<Change>)> {
    let batch = |action: &Action| {
        if let Action::Persist { lsn, changes } = action {
            Some((*lsn, changes.clone()))
        } else {
            None
        }
    };
    actions.iter().filter_map(batch).collect()
}

/// A whole store as it goes over a link.
fn state(records: Vec<Record>) -> Frame {
    Frame::State(StateTransfer {
        term: Term(1),
        settings: Vec::new(),
        records,
        durable: true,
        more: false,
    })
}

/// One says what is due, and the other hears its broadcasts.
fn say(speaker: &mut Node, listener: &mut Node, now: Timestamp) -> Vec<Action> {
    speaker.handle_timeout(now);
    let actions = drain(speaker);
    for beacon in broadcasts(&actions) {
        listener.handle_beacon(speaker.hello().address, beacon, now);
    }
    actions
}

/// The two tell each other their beacons until `until`; hands back what the first wanted.
pub(crate) fn talk(
    one: &mut Node,
    other: &mut Node,
    from: Timestamp,
    until: Timestamp,
) -> Vec<Action> {
    let (mut now, mut wanted) = (from, Vec::new());
    while now < until {
        wanted.extend(say(one, other, now));
        say(other, one, now);
        now = now + Duration::from_millis(1);
    }
    wanted
}

/// What one sends over the link arrives at the other.
fn deliver(from: &mut Node, to: &mut Node, now: Timestamp) {
    for frame in frames(from) {
        to.handle_frame(LINK, frame, now);
    }
}

/// Both send each other over the link what they have.
fn exchange_frames(one: &mut Node, two: &mut Node, now: Timestamp) {
    for _ in 0..4 {
        deliver(one, two, now);
        deliver(two, one, now);
    }
}

/// The second dials the first.
pub(crate) fn join(second: &mut Node, first: &mut Node, now: Timestamp) {
    first.handle_link_up(LINK, second.hello(), LinkSide::Accepted, now);
    second.handle_link_up(LINK, first.hello(), LinkSide::Dialled, now);
    exchange_frames(first, second, now);
}

/// Two nodes over a link after this many periods; the first is the master.
fn linked_after(mut one: Node, mut two: Node, periods: u32) -> (Node, Node, Timestamp) {
    let now = Timestamp::START + PERIOD * periods;
    talk(&mut one, &mut two, Timestamp::START, now);
    join(&mut two, &mut one, now);
    (one, two, now)
}

fn linked() -> (Node, Node, Timestamp) {
    linked_after(node(1, 1), node(2, 1), 8)
}

fn two_cars() -> (Node, Node, Timestamp) {
    let car = |index| with_car(index, 1, Restored::default(), Timestamp::START);
    with_panels(car(1), car(2))
}

/// Two linked nodes whose cars stand at the lowest floor.
fn with_panels(one: Node, two: Node) -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = linked_after(one, two, 8);
    for node in [&mut one, &mut two] {
        node.handle_panel(PanelEvent::Connected, now);
        node.see(at_rest(), now);
    }
    let later = now + PERIOD * 100;
    talk(&mut one, &mut two, now, later);
    (one, two, later)
}

/// E1: the master has dropped the link, and nothing that says so arrives.
#[test]
fn a_slave_notices_that_its_master_has_no_link_to_it() {
    // With a standby link, later: a slave may follow for 1.6 s before it has one.
    for (preset, within) in [(Preset::Fleet, 90), (Preset::Source, 60)] {
        let of = |index| electing(index, 1, ElectionSettings::preset(Protocol::LowestIp, preset));
        let (mut first, mut second, start) = linked_after(of(1), of(2), 4);
        talk(&mut second, &mut first, start, start + PERIOD * 200);
        let slave = NodeState::Slave { master: name(1) };
        assert_eq!(*second.node_state(), slave, "a sound link is left alone");
        let dropped = start + PERIOD * 200;
        first.handle_link_down(LINK, dropped);
        let wanted = talk(&mut second, &mut first, dropped, dropped + PERIOD * within);
        let redials =
            |action: &Action| matches!(action, Action::Dial { peer, .. } if *peer == name(1));
        assert!(wanted.iter().any(redials), "{wanted:?}");
    }
}
