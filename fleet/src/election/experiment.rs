//! A protocol that is studied and not deployed.
//!
//! To compare the five protocols with another one, give its [`Rules`] here: it then runs in the
//! real node, in virtual time. No configuration can select it, and no message of it is ever
//! decoded.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::Rules;
use crate::model::NodeId;

/// The rules of an experiment. Two are equal if they are the same.
#[derive(Debug, Clone)]
pub struct Experiment(Arc<dyn Rules + Send + Sync>);

impl Experiment {
    #[must_use]
    pub fn new(rules: impl Rules + Send + Sync + 'static) -> Self {
        Self(Arc::new(rules))
    }
}

impl Deref for Experiment {
    type Target = dyn Rules + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Experiment {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Experiment {}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Message {
    /// What it says, in a word or two. Counts as one byte, as the kind of any other message does.
    #[serde(serialize_with = "one_byte")]
    pub kind: &'static str,
    /// A term, a round, or the number of a group.
    pub number: u64,
    /// The node that it is about, if that is neither its sender nor its receiver.
    pub node: Option<NodeId>,
}

fn one_byte<S: Serializer>(_: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(0)
}

/// A timer of an experiment, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timer(pub &'static str);
