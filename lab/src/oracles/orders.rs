//! F4, O4, O7: what is pressed becomes an order, no press is confused with another, and every store
//! comes to hold the same.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Button, KeySwitch};
use elevator_fleet::model::{Call, Dot, HallCall, Mode, NodeId};
use elevator_fleet::node::Node;

use super::{Finding, WITHIN};
use crate::machine::{Line, Machine};
use crate::snapshot::Snapshot;

/// A press becomes an order within this time.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);

/// How often the contents of stores are compared.
const COMPARED_EVERY: Duration = Duration::from_secs(1);

/// What buttons and orders have to do with each other.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// What each dot names: the call, and where it was pressed. When, as the first report of it shows:
    /// a node that was cut off may report it much later.
    known: BTreeMap<Dot, ((Call, NodeId), Duration)>,
    /// Presses in calm that no order has followed yet: at which node, and when.
    waiting: Vec<(usize, Button, Duration)>,
    /// By node: the locked floor whose button was pressed last.
    refused: BTreeMap<NodeId, Call>,
    /// When the contents of stores were last compared.
    compared_at: Duration,
}

impl Orders {
    /// The controller of a panel is about to hear of a press.
    pub(crate) fn told(&mut self, machine: &Machine, button: Button) {
        let call = Call::of_button(button, &machine.name);
        self.refused.remove(&machine.name);
        if is_locked(machine, button) && !is_order(machine, &call) {
            self.refused.insert(machine.name.clone(), call);
        }
    }

    /// O4, F4: one dot is one press, wherever it is seen, and the button of a floor that the node knows
    /// to be locked makes no order.
    pub(crate) fn placed(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        (call, origin, dot): (&Call, &NodeId, Dot),
    ) -> Option<Finding> {
        let machine = &snapshot.machines[node];
        let press = (call.clone(), origin.clone());
        let (known, _) = self.known.entry(dot).or_insert_with(|| (press.clone(), snapshot.now));
        if *known != press {
            return Some(Finding::new("O4", node, format!("{dot}: {call} is another press too")));
        }
        let is_refused = machine.name == *origin
            && self.refused.get(origin) == Some(call)
            && call.button().is_some_and(|button| is_locked(machine, button));
        is_refused.then(|| Finding::new("F4", node, format!("{call} is locked, and was placed")))
    }

    /// When this press was made.
    pub(super) fn made(&self, dot: Dot) -> Option<Duration> {
        self.known.get(&dot).map(|(_, at)| *at)
    }

    pub(crate) fn pressed(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let machine = &snapshot.machines[node];
        let has_car = !snapshot.settings.roles.contains_key(&node);
        // Where the door is open, its passenger gets in (F18).
        let gets_in = machine.lets_in_at(button.floor());
        let is_calm = snapshot.calm_group(Duration::ZERO).is_some();
        if is_calm && has_car && takes(machine, button) && !gets_in {
            self.waiting.push((node, button, snapshot.now));
        }
    }

    /// F4: what is pressed in calm becomes an order, or is served.
    pub(crate) fn presses_are_taken(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let is_calm = snapshot.calm_group(Duration::ZERO).is_some();
        self.waiting.retain(|(node, button, at)| {
            let machine = &snapshot.machines[*node];
            let call = Call::of_button(*button, &machine.name);
            let is_served = snapshot.history.served_at(&call).is_some_and(|served| served >= *at);
            let is_undisturbed = is_calm && snapshot.storm.over <= *at;
            is_undisturbed && takes(machine, *button) && !is_served && !is_order(machine, &call)
        });
        let late = self.waiting.iter().filter(|(.., at)| snapshot.now > *at + TAKEN_WITHIN);
        late.map(|(node, button, at)| {
            Finding::new(
                "F4",
                *node,
                format!("{button} was pressed at {at:?}, and no order was placed"),
            )
        })
        .collect()
    }

    /// O7: in calm all hold the same orders and settings. Stores with equal digests are equal.
    pub(crate) fn stores_are_equal(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let Some(group) = snapshot.calm_group(WITHIN) else { return Vec::new() };
        let nodes: Vec<&Node> = group.iter().filter_map(|node| snapshot.node(*node)).collect();
        let differ = |what: &str, digest: fn(&Node) -> u64| {
            let digests: BTreeSet<u64> = nodes.iter().map(|node| digest(node)).collect();
            // A change of any of them starts the time anew.
            let what = || format!("the {what} differ: {digests:x?}");
            let finding = || Finding::new("O7", group[0], what()).lasting(WITHIN);
            (digests.len() > 1).then(finding)
        };
        let orders = differ("stores", Node::digest);
        let mut findings = Vec::from_iter(orders.clone());
        if orders.is_none() && snapshot.now >= self.compared_at + COMPARED_EVERY {
            self.compared_at = snapshot.now;
            let registers = |node: usize| {
                snapshot.records(node).map(|it| (it.dot, it.call, it.state.is_served()))
            };
            let differs = |node: &&usize| !registers(**node).eq(registers(group[0]));
            findings.extend(
                group.iter().find(differs).map(|node| {
                    Finding::new("O7", *node, "its store differs, its digest does not")
                }),
            );
        }
        findings
    }
}

/// Whether a press of this button is to become an order, as far as the node of this machine knows. A
/// car that is not in normal service takes its car calls as its mode says.
fn takes(machine: &Machine, button: Button) -> bool {
    let Some(node) = machine.awake().filter(|_| machine.line == Line::Plugged) else {
        return false;
    };
    let is_normal =
        || machine.mode() == Mode::InService && machine.car.inputs().key == KeySwitch::Normal;
    // At a floor that some car does not serve, the modes of the others decide.
    let (building, entrance) = (node.building(), button.entrance());
    let is_open = match button.direction() {
        Some(way) => building.cars().iter().all(|it| building.goes_on(&it.car, entrance, way)),
        None => building.door(machine.name.as_str(), entrance).is_some(),
    };
    is_open
        && !node.settings().is_fire_recalled()
        && (button.direction().is_some() || is_normal() && !is_locked(machine, button))
}

/// Whether the node of this machine knows of a lock against this button of its car. The key for
/// independent service opens every floor, and the car that takes a trip along goes to its floor.
fn is_locked(machine: &Machine, button: Button) -> bool {
    let (None, Some(node)) = (button.direction(), machine.node()) else {
        return false;
    };
    let floor = button.floor();
    let is_destination =
        |call: &Call| matches!(call, Call::Hall(HallCall { to: Some(to), .. }) if *to == floor);
    let is_independent =
        machine.car.inputs().key == KeySwitch::Independent || machine.mode() == Mode::Independent;
    !is_independent
        && node.settings().is_locked(floor)
        && !node.orders().calls().any(is_destination)
}

/// Whether a press of this call at this machine is an open order.
fn is_order(machine: &Machine, call: &Call) -> bool {
    let mut orders = machine.node().into_iter().flat_map(|node| node.orders().of_call(call));
    orders.any(|order| order.origin == machine.name)
}
