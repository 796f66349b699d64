use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use super::fingerprint;

/// A machine in a state of the model. Most states differ in one machine: the others are shared, and
/// each is hashed once.
#[derive(Debug, Clone)]
pub(crate) struct Node<M: Hash> {
    machine: Arc<M>,
    print: OnceLock<u64>,
}

impl<M: Hash> From<M> for Node<M> {
    fn from(machine: M) -> Self {
        Self { machine: Arc::new(machine), print: OnceLock::new() }
    }
}

impl<M: Hash> Deref for Node<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M: Hash + Clone> DerefMut for Node<M> {
    fn deref_mut(&mut self) -> &mut M {
        self.print = OnceLock::new();
        Arc::make_mut(&mut self.machine)
    }
}

impl<M: Hash + PartialEq> PartialEq for Node<M> {
    fn eq(&self, other: &Self) -> bool {
        self.machine == other.machine
    }
}

impl<M: Hash + Eq> Eq for Node<M> {}

impl<M: Hash> Hash for Node<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(*self.print.get_or_init(|| fingerprint(&*self.machine)));
    }
}
