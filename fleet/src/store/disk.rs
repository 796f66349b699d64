//! What goes to the disk, and what comes back from it.

use serde::{Deserialize, Serialize};

use super::Record;
use crate::model::{Dot, FlightRecord, Term};
use crate::settings::{Key, Register};

/// The sequence number of a batch of changes for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub u64);

/// One change of what is on disk. Writing a change twice does no harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Record(Record),
    /// The node no longer keeps this press.
    Forget(Dot),
    /// The node knows this term, or may learn of it without another write (E3).
    Term(Term),
    /// The learned duration of one leg of this node's car.
    FlightTimes(FlightRecord),
    Setting(Register),
    /// The setting of this key was dropped.
    ForgetSetting(Key),
}

/// The contents of the journal when the node starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// The highest term that the node has known (E3).
    pub term: Term,
    /// Every press on disk, with its present age.
    pub records: Vec<Record>,
    /// The learned durations of the legs of the node's car.
    pub flight_times: Vec<FlightRecord>,
    pub settings: Vec<Register>,
}
