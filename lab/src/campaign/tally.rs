//! What a run consisted of, and whether that is enough to count.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::{Fault, World};

/// A minute of faults has at least this many orders placed; longer and shorter runs in proportion.
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
    FewOrders { placed: u64, least: u64 },
    /// The first master led all the time.
    OneMaster,
    /// A kind of fault that was to happen never did.
    Missing(&'static str),
}

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewOrders { placed, least } => write!(f, "{placed} orders, not {least}"),
            Self::OneMaster => f.write_str("one master all the time"),
            Self::Missing(kind) => write!(f, "no {kind}"),
        }
    }
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}

impl Tally {
    /// Of what a world has been through.
    pub(super) fn new(world: &World) -> Self {
        let faults = world.inflicted().iter().filter(|(kind, _)| **kind != Fault::REPAIR);
        Self {
            simulated: world.now(),
            faults: faults.map(|(kind, number)| (*kind, *number)).collect(),
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

/// Whether a run with this time of faults says nothing, and why: it placed too few orders,
/// kept its first master, or one of the kinds of faults that were enabled never happened.
#[must_use]
pub fn is_void(tally: &Tally, faulty: Duration, enabled: &BTreeSet<&'static str>) -> Option<Void> {
    let least = (ORDERS_A_MINUTE * faulty.as_secs() / 60).max(1);
    if tally.placed < least {
        return Some(Void::FewOrders { placed: tally.placed, least });
    }
    if tally.changes_of_master == 0 {
        return Some(Void::OneMaster);
    }
    let mut enabled = enabled.iter();
    enabled.find(|kind| !tally.faults.contains_key(*kind)).map(|kind| Void::Missing(kind))
}
