//! No press is confused with another, and every store comes to hold the same.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, KeySwitch};
use elevator_fleet::model::{Call, Dot, HallCall, Mode, NodeId, Order};
use elevator_fleet::node::Node;

use super::{EQUAL_WITHIN, Finding, TOO_LONG};
use crate::machine::{Line, Machine};
use crate::snapshot::Snapshot;

/// A press becomes an order within this time. A disk may have to reserve its sequence first.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);

/// How often the contents of stores are compared.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// O4: one dot is one press, wherever it is seen.
#[derive(Debug, Default)]
pub(crate) struct Presses {
    /// What each dot names: the call, and where it was pressed.
    known: BTreeMap<Dot, (Call, NodeId)>,
}

/// Which stores have changed since they were last looked at. An unchanged store needs no second look:
/// equal digests mean equal registers, but for where an order was placed, which a press keeps.
#[derive(Debug)]
pub(crate) struct StoreChanges {
    /// By node: the process, and the digest of its store.
    seen: Vec<Option<(u64, u64)>>,
}

impl StoreChanges {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { seen: vec![None; nodes] }
    }

    /// The nodes with a store that has changed.
    pub(crate) fn look<'a>(&mut self, snapshot: &Snapshot<'a>) -> Vec<(usize, &'a Node)> {
        let mut changed = Vec::new();
        for (node, seen) in self.seen.iter_mut().enumerate() {
            let process = snapshot.node(node);
            let incarnation = snapshot.machines[node].incarnation;
            let now = process.map(|process| (incarnation, process.orders().digest()));
            if std::mem::replace(seen, now) != now {
                changed.extend(process.map(|process| (node, process)));
            }
        }
        changed
    }
}

impl Presses {
    /// Looks at the stores that have changed.
    pub(crate) fn inspect(&mut self, changed: &[(usize, &Node)]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (node, process) in changed {
            for order in process.orders().orders() {
                if !self.is_the_press(order) {
                    let what = format!("{}: {} is another press too", order.dot, order.call);
                    findings.push(Finding::new("O4", *node, what).once());
                }
            }
        }
        findings
    }

    /// Whether the dot of an order has named no other press before.
    pub(crate) fn is_the_press(&mut self, order: &Order) -> bool {
        let known = self
            .known
            .entry(order.dot)
            .or_insert_with(|| (order.call.clone(), order.origin.clone()));
        (&known.0, &known.1) == (&order.call, &order.origin)
    }
}

/// F4: what is pressed at the panel of a running node becomes an order, or is served there.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Presses of which nothing has been seen yet.
    waiting: Vec<Press>,
}

#[derive(Debug)]
struct Press {
    node: usize,
    incarnation: u64,
    button: Button,
    at: Duration,
}

/// Whether the press of a button may become an order in the commanded mode of the car, as far as its
/// node knows that, and no floor is locked.
fn takes(snapshot: &Snapshot, machine: &Machine, button: Button) -> bool {
    // In a fire recall the buttons do nothing.
    if machine.node().is_some_and(|node| node.directives().is_fire_recalled()) {
        return false;
    }
    let Button::Car(floor) = button else {
        return true;
    };
    // It may have heard of a lock, and not of its end.
    let knows_of_lock = machine.node().is_some_and(|node| node.directives().is_locked(floor));
    // A firefighter who has the car by its key commands it with the buttons.
    let is_commanded = machine.node().is_some_and(|node| has_firefighter(node, &machine.name));
    let refuses = |mode| matches!(mode, Mode::OutOfService | Mode::FireService);
    let is_locked = snapshot.disturbances.locked.contains(&floor) || knows_of_lock;
    !is_locked && !is_commanded && !machine.modes().into_iter().any(refuses)
}

fn has_firefighter(node: &Node, car: &NodeId) -> bool {
    node.directives().has_firefighter(car)
}

impl Taken {
    /// A button of a panel was pressed.
    pub(crate) fn pressed(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let machine = &snapshot.machines[node];
        let is_lit_by = match button {
            Button::Hall(..) => true,
            Button::Car(_) => !snapshot.settings.roles.contains_key(&node),
        };
        let press = Press { node, incarnation: machine.incarnation, button, at: snapshot.now };
        // Where the door is open, its passenger gets in (F18).
        let gets_in = machine.lets_in_at(button.floor());
        if is_lit_by && is_attended(machine, &press) && takes(snapshot, machine, button) && !gets_in
        {
            self.waiting.push(press);
        }
    }

    /// A node has learned of something that was commanded: as long as it holds, and that may be less
    /// than the time between two inspections, its buttons may do nothing.
    pub(crate) fn commanded(&mut self, snapshot: &Snapshot, node: usize) {
        let machine = &snapshot.machines[node];
        self.waiting.retain(|press| press.node != node || takes(snapshot, machine, press.button));
    }

    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        // In a fire recall the buttons do nothing.
        if snapshot.disturbances.fire_recalled {
            self.waiting.clear();
        }
        self.waiting.retain(|press| {
            let machine = &snapshot.machines[press.node];
            is_attended(machine, press)
                && takes(snapshot, machine, press.button)
                && !is_taken(snapshot, machine, press)
        });
        let is_late = |press: &mut Press| snapshot.now > press.at + TAKEN_WITHIN;
        let late = self.waiting.extract_if(.., is_late);
        late.map(|press| {
            let what = format!("{} was pressed at {:?}, and is no order", press.button, press.at);
            Finding::new("F4", press.node, what)
        })
        .collect()
    }
}

/// Whether a process has been there for a press ever since.
fn is_attended(machine: &Machine, press: &Press) -> bool {
    machine.awake().is_some()
        && machine.line == Line::Plugged
        && machine.incarnation == press.incarnation
}

/// Whether something has come of a press.
fn is_taken(snapshot: &Snapshot, machine: &Machine, press: &Press) -> bool {
    let call = Call::of_button(press.button, &machine.name);
    let served = snapshot.history.served_at(&call);
    served.is_some_and(|served| served >= press.at) || is_order(machine, press.button)
}

/// F4: the button of a floor that the node knows to be locked makes no order.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    /// Presses that have to come to nothing.
    refused: Vec<Press>,
    /// By node: when each button was pressed last.
    latest: BTreeMap<(usize, Button), Duration>,
}

/// By then a press has reached its node, and become an order if it does.
const REFUSED_WITHIN: Duration = Duration::from_millis(500);

/// Whether the node of this machine knows of a lock against this button of its car. The key for
/// independent service opens every floor.
fn is_locked(machine: &Machine, button: Button) -> bool {
    let floor = match button {
        Button::Hall(..) => return false,
        Button::Car(floor) => floor,
    };
    let is_independent = machine.car.inputs().key == KeySwitch::Independent
        || machine.modes().contains(&Mode::Independent);
    !is_independent && machine.node().is_some_and(|node| node.directives().is_locked(floor))
}

impl Locks {
    /// A button of a panel was pressed.
    pub(crate) fn pressed(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let machine = &snapshot.machines[node];
        let press = Press { node, incarnation: machine.incarnation, button, at: snapshot.now };
        // What was pressed before the lock is served, and may wait for its sequence.
        let before = self.latest.insert((node, button), snapshot.now);
        let may_wait = before.is_some_and(|at| snapshot.now <= at + TAKEN_WITHIN);
        let is_refused = is_locked(machine, button)
            && !is_order(machine, button)
            && !is_destination(machine, button);
        if is_attended(machine, &press) && is_refused && !may_wait {
            self.refused.push(press);
        }
    }

    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        self.refused.retain(|press| {
            let machine = &snapshot.machines[press.node];
            let is_over = snapshot.now > press.at + REFUSED_WITHIN;
            !is_over && is_attended(machine, press) && is_locked(machine, press.button)
        });
        let is_taken = |press: &mut Press| is_order(&snapshot.machines[press.node], press.button);
        let taken = self.refused.extract_if(.., is_taken);
        taken
            .map(|press| {
                let what = format!("{} is locked, and became an order", press.button);
                Finding::new("F4", press.node, what)
            })
            .collect()
    }
}

/// Whether a press of this button at this machine is an open order.
fn is_order(machine: &Machine, button: Button) -> bool {
    let call = Call::of_button(button, &machine.name);
    let mut orders = machine.node().into_iter().flat_map(|node| node.orders().of_call(&call));
    orders.any(|order| order.origin == machine.name)
}

/// Whether somebody waits for a trip there, who was told a car before the floor was locked: the car
/// that takes them along has the order of this button then.
fn is_destination(machine: &Machine, button: Button) -> bool {
    let floor = match button {
        Button::Hall(..) => return false,
        Button::Car(floor) => floor,
    };
    let mut calls = machine.node().into_iter().flat_map(|node| node.orders().calls());
    calls.any(|call| matches!(call, Call::Hall(HallCall { to: Some(to), .. }) if *to == floor))
}

/// O7: equal stores, compared by what is in them as well as by what nodes send of them.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    looked_at: Duration,
}

impl Stores {
    /// Stores with equal digests have equal contents, wherever they are.
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = stores_are_equal(snapshot);
        if snapshot.now < self.looked_at + LOOK_EVERY {
            return findings;
        }
        self.looked_at = snapshot.now;
        let mut known: BTreeMap<u64, (usize, Vec<Register>)> = BTreeMap::new();
        for (node, machine) in snapshot.machines.iter().enumerate() {
            let Some(process) = &machine.process else {
                continue;
            };
            let store = process.node.orders();
            let registers = store.records(process.clock(snapshot.now));
            let registers: Vec<Register> =
                registers.map(|it| (it.dot, it.call, it.state.is_served())).collect();
            let (first, others) =
                known.entry(store.digest()).or_insert_with(|| (node, registers.clone()));
            if *others != registers {
                let other = &snapshot.machines[*first].name;
                let what = format!("its store differs from that of {other}, the digests do not");
                findings.push(Finding::new("O7", node, what).once());
            }
        }
        findings
    }
}

/// What stores have in common that are equal.
type Register = (Dot, Call, bool);

/// The digests of the stores of a group.
pub(super) fn digests(snapshot: &Snapshot, group: &[usize]) -> Vec<u64> {
    group.iter().filter_map(|node| Some(snapshot.node(*node)?.orders().digest())).collect()
}

pub(super) fn are_equal(digests: &[u64]) -> bool {
    digests.windows(2).all(|pair| pair[0] == pair[1])
}

/// O7: where all hear each other and no order changes, digests are equal.
fn stores_are_equal(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(EQUAL_WITHIN) {
        let digests = digests(snapshot, &group);
        if let Some(first) = group.first().filter(|_| !are_equal(&digests)) {
            // A change of any of them starts the time anew.
            let key = format!("O7 {group:?} {digests:?}");
            let what = format!("the stores of {group:?} differ");
            findings.push(Finding::new("O7", *first, what).lasting(key, TOO_LONG));
        }
    }
    findings
}
