//! Which node knows of which call: the replicated store, node by node.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, Dot};
use elevator_fleet::node::Node;
use liftmesh_lab::World;
use serde::Serialize;

/// So many calls are shown at most.
const MOST: usize = 40;

/// A call that is no longer open is shown for this time.
const LINGERS: Duration = Duration::from_secs(4);

/// The calls that are open at some node or on some disk, and those that were until just now.
#[derive(Debug, Serialize)]
pub struct Orders {
    pub rows: Vec<Row>,
    /// How many more calls there are.
    pub left_out: usize,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub call: CallForm,
    /// What each node knows of it.
    pub nodes: Vec<Knowledge>,
    /// The nodes whose panels have its lamp lit; null if it has none.
    pub lit: Option<Vec<usize>>,
}

/// What a node knows of a call; one that does not run, what is on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Knowledge {
    Unknown,
    /// It is in the memory only.
    Known,
    OnDisk,
    Served,
}

/// Remembers which presses a call had when it was last open.
#[derive(Debug, Default)]
pub(crate) struct Watch(BTreeMap<Call, (Duration, BTreeSet<Dot>)>);

impl Watch {
    pub(crate) fn orders(&mut self, world: &World) -> Orders {
        let now = world.now();
        let nodes = 0..world.size();
        let mut open: BTreeMap<Call, BTreeSet<Dot>> = BTreeMap::new();
        for node in nodes.clone() {
            // What runs has read its disk.
            let stored = world.node(node).into_iter().flat_map(|node| node.orders().orders());
            let disk = world.on_disk(node).filter(|it| !it.state.is_served());
            let disk = disk.filter(|_| world.node(node).is_none());
            let disk = disk.map(|it| (&it.call, it.dot));
            for (call, dot) in stored.map(|it| (&it.call, it.dot)).chain(disk) {
                open.entry(call.clone()).or_default().insert(dot);
            }
        }
        self.0.retain(|_, (seen, _)| now.saturating_sub(*seen) < LINGERS);
        self.0.extend(open.into_iter().map(|(call, dots)| (call, (now, dots))));
        let row = |(call, (_, dots)): (&Call, &(Duration, BTreeSet<Dot>))| Row {
            call: call.into(),
            nodes: nodes.clone().map(|node| Knowledge::of(world, node, call, dots)).collect(),
            lit: call.button().map(|button| {
                let is_its_own = |node: &usize| match call {
                    Call::Hall(_) => true,
                    Call::Car { car, .. } => world.name(*node) == car,
                };
                let lit = nodes.clone().filter(is_its_own).filter(|it| world.is_lit(*it, button));
                lit.collect()
            }),
        };
        let rows = self.0.iter().take(MOST).map(row).collect();
        Orders { rows, left_out: self.0.len().saturating_sub(MOST) }
    }
}

impl Knowledge {
    /// What a node knows of these presses of a call.
    fn of(world: &World, node: usize, call: &Call, dots: &BTreeSet<Dot>) -> Self {
        let covers = |dot: &Dot, served: bool| {
            let mut disk = world.on_disk(node).filter(|it| it.state.is_served() == served);
            disk.any(|record| record.covers(*dot, call))
        };
        let on_disk = |served| dots.iter().any(|dot| covers(dot, served));
        let Some(orders) = world.node(node).map(Node::orders) else {
            return match (on_disk(false), on_disk(true)) {
                (true, _) => Self::OnDisk,
                (false, true) => Self::Served,
                (false, false) => Self::Unknown,
            };
        };
        let mut present = dots.iter().flat_map(|dot| orders.present(*dot, call));
        match orders.is_open(call) {
            true if on_disk(false) => Self::OnDisk,
            true => Self::Known,
            false if present.any(|dot| orders.service(dot).is_some()) => Self::Served,
            false => Self::Unknown,
        }
    }
}
