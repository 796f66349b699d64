//! What a run consisted of, and whether that is enough to count.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use elevator_driver::KeySwitch;
use serde::{Serialize, Serializer};

use super::script::{Act, Step};
use crate::{Fault, World};

/// A minute of faults has at least so many orders placed; longer and shorter runs in proportion.
const ORDERS_A_MINUTE: u64 = 20;

/// What a run consisted of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How long it was in the world; in files, in seconds.
    #[serde(rename = "simulated_seconds", serialize_with = "seconds")]
    pub simulated: Duration,
    /// How many faults of each kind happened; repairs do not count.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often a node became the master, the first one left out. Where the mastership rotates, a
    /// rotation does not count.
    pub changes_of_master: u64,
    /// How many orders were placed, as the nodes report at which somebody pressed.
    pub placed: u64,
    /// How many services there were, as the cars' nodes report; one may serve several orders.
    pub served: u64,
}

/// Why a run says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Void {
    /// Fewer orders were placed than it takes.
    FewOrders {
        /// How many were placed.
        placed: u64,
        /// How many it takes.
        least: u64,
    },
    /// The first master led all the time.
    OneMaster,
    /// None of these kinds of faults, one of which was to happen, did.
    Missing(&'static [&'static str]),
}

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewOrders { placed, least } => write!(f, "{placed} orders, not {least}"),
            Self::OneMaster => f.write_str("one master all the time"),
            Self::Missing(kinds) => write!(f, "no {}", kinds.join(", no ")),
        }
    }
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

impl Tally {
    /// Of what a world has been through, with what was done to it.
    pub(super) fn new(world: &World, steps: &[Step]) -> Self {
        let mut faults = BTreeMap::new();
        for step in steps {
            if let Act::Fault(fault) = &step.act
                && let Some(kind) = fault.kind()
            {
                *faults.entry(kind).or_insert(0) += 1;
            }
        }
        Self {
            simulated: world.now(),
            faults,
            changes_of_master: world.masters.saturating_sub(1),
            placed: world.placed,
            served: world.services().len() as u64,
        }
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.simulated += other.simulated;
        for (kind, number) in &other.faults {
            *self.faults.entry(kind).or_insert(0) += number;
        }
        self.changes_of_master += other.changes_of_master;
        self.placed += other.placed;
        self.served += other.served;
    }
}

/// Whether a run that was to have faults for so long says nothing, and why: it placed too few orders,
/// kept its first master, or of the kinds of faults that were enabled, in rows of which one has to
/// happen, a row did not.
#[must_use]
pub fn is_void(
    tally: &Tally,
    faulty: Duration,
    enabled: &[&'static [&'static str]],
) -> Option<Void> {
    let least = (ORDERS_A_MINUTE * faulty.as_secs() / 60).max(1);
    if tally.placed < least {
        return Some(Void::FewOrders { placed: tally.placed, least });
    }
    if tally.changes_of_master == 0 {
        return Some(Void::OneMaster);
    }
    let happened = |kinds: &[&str]| kinds.iter().any(|kind| tally.faults.contains_key(kind));
    enabled.iter().find(|kinds| !happened(kinds)).map(|kinds| Void::Missing(kinds))
}

impl Fault {
    /// The name of its kind, or `None` if it puts something right.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        let (kind, breaks) = match self {
            Self::Kill(_) => ("kill", true),
            Self::PowerCut(_) => ("power-cut", true),
            Self::Replace(_) => ("disk-lost", true),
            Self::Suspend(_) => ("suspend", true),
            Self::CutOneWay { .. } => ("one-way-cut", true),
            Self::Cut(..) => ("cut", true),
            Self::NetworkCut(_, cut) => ("network-cut", *cut),
            Self::RefuseLinks(..) => ("links-refused", true),
            Self::Partition(_) => ("partition", true),
            Self::Loss(percent) => ("loss", *percent > 0),
            Self::DiskFail(_) => ("disk-failed", true),
            Self::Leads(_, bad) => ("bad-master", bad.is_some()),
            Self::Motor(_, fault) => ("motor", fault.is_some()),
            Self::Levelling(_, fault) => ("levelling", fault.is_some()),
            Self::Speed(_, percent) => ("speed", *percent != 100),
            Self::DeadSensor(_, dead) => ("dead-sensor", dead.is_some()),
            Self::AllSensorsDead(_, dead) => ("all-sensors-dead", *dead),
            Self::DoorJammed(_, jammed) => ("door-jammed", *jammed),
            Self::Obstruct(_, active) => ("obstruction", *active),
            Self::StopSwitch(_, pulled) => ("stop-switch", *pulled),
            Self::Load(_, load) => ("load", *load != Some(0)),
            Self::Key(_, key) => ("key-switch", *key != KeySwitch::Normal),
            Self::LineCut(_, cut) => ("line-cut", *cut),
            Self::Restart(_) | Self::Resume(_) | Self::Heal | Self::ClearHang(_) => ("", false),
        };
        breaks.then_some(kind)
    }

    /// The nodes that it names. A network or a fleet as a whole is no node.
    pub(super) fn nodes_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Kill(node)
            | Self::PowerCut(node)
            | Self::Restart(node)
            | Self::Replace(node)
            | Self::Suspend(node)
            | Self::Resume(node)
            | Self::NetworkCut(node, _)
            | Self::DiskFail(node)
            | Self::Leads(node, _)
            | Self::Motor(node, _)
            | Self::Levelling(node, _)
            | Self::Speed(node, _)
            | Self::DeadSensor(node, _)
            | Self::AllSensorsDead(node, _)
            | Self::DoorJammed(node, _)
            | Self::Obstruct(node, _)
            | Self::StopSwitch(node, _)
            | Self::Load(node, _)
            | Self::Key(node, _)
            | Self::LineCut(node, _)
            | Self::ClearHang(node) => vec![node],
            Self::CutOneWay { from, to } => vec![from, to],
            Self::Cut(one, other) | Self::RefuseLinks(one, other) => vec![one, other],
            Self::Partition(groups) => groups.iter_mut().flatten().collect(),
            Self::Heal | Self::Loss(_) => Vec::new(),
        }
    }
}
