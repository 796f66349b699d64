//! What is done to a world, as data.

use std::time::Duration;

use elevator_driver::{Button, Floor};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::history::Note;

/// Something is done to a world, or to something that has one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step<A = Act> {
    /// When, in nanoseconds from the beginning of the world.
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    #[serde(rename = "do")]
    pub act: A,
}

/// What can be done to a world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Something goes wrong, or is put right.
    Fault(Fault),
    /// Somebody presses a button.
    Press { node: usize, button: Button },
    /// Somebody gives a destination at a kiosk.
    Request { node: usize, from: Floor, to: Floor },
}

impl Act {
    /// What was done, if the line of the story says so.
    pub(crate) fn of_note(machine: usize, note: &Note) -> Option<Self> {
        match note {
            Note::Fault(fault) => Some(Self::Fault(fault.clone())),
            Note::Pressed(button) => Some(Self::Press { node: machine, button: *button }),
            Note::Requested(trip) => {
                Some(Self::Request { node: machine, from: trip.from(), to: trip.to() })
            }
            Note::Started | Note::Ended | Note::Lit(_) | Note::Dark(_) | Note::Reported(_) => None,
        }
    }

    /// Whether a world of this many machines has all that it names.
    #[must_use]
    pub fn fits(&self, machines: usize) -> bool {
        self.clone().nodes_mut().into_iter().all(|node| *node < machines)
    }

    /// The nodes that it names.
    pub(crate) fn nodes_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Fault(fault) => fault.nodes_mut(),
            Self::Press { node, .. } | Self::Request { node, .. } => vec![node],
        }
    }
}

/// A time as a whole number of nanoseconds.
pub(crate) mod nanos {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, ser};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        let nanos = u64::try_from(time.as_nanos()).map_err(ser::Error::custom)?;
        to.serialize_u64(nanos)
    }

    pub(crate) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}
