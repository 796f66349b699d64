//! What the search asks the planner.

use elevator_driver::Direction;

use super::drive::{CallTable, Scene};
use super::model::{Call, Start};
use crate::dispatch::search::Costs;

#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) calls: Vec<usize>,
    /// The direction to begin with, if it has calls.
    pub(super) turn: Option<Direction>,
    pub(super) free: f64,
    pub(super) end: usize,
}

pub(super) struct Drives<'a> {
    pub(super) scene: Scene<'a>,
    pub(super) starts: &'a [Start],
    pub(super) reaches: &'a dyn Fn(usize, usize) -> bool,
    pub(super) guests: Vec<f64>,
}

impl Drives<'_> {
    pub(super) fn route(&mut self, car: usize, holders: &[Option<usize>]) -> Route {
        let calls = (0..holders.len()).filter(|&call| holders[call] == Some(car));
        let calls: Vec<_> = calls.collect();
        let mut table = self.none(car);
        for &call in &calls {
            self.add(&mut table, call);
        }
        let outcome = self.scene.drive(&self.starts[car], &table, &mut self.guests);
        let turn = (!calls.is_empty()).then_some(outcome.first);
        Route { calls, turn, free: outcome.free, end: outcome.end }
    }
}

impl Costs for Drives<'_> {
    type Calls = CallTable;

    fn none(&self, _car: usize) -> CallTable {
        CallTable::new(self.guests.len(), self.scene.calls.len())
    }

    fn add(&self, table: &mut CallTable, call: usize) {
        table.add(&self.scene.calls[call], call);
    }

    fn remove(&self, table: &mut CallTable, call: usize) {
        table.remove(&self.scene.calls[call], call);
    }

    fn cost(&mut self, car: usize, table: &CallTable) -> f64 {
        self.scene.drive(&self.starts[car], table, &mut self.guests).cost
    }

    fn present(&self, call: usize) -> Option<usize> {
        self.scene.calls[call].present
    }

    fn reaches(&self, car: usize, call: usize) -> bool {
        (self.reaches)(car, call)
    }

    fn is_fixed(&self, call: usize) -> bool {
        let call = &self.scene.calls[call];
        call.present.is_some_and(|car| call.is_held || self.starts[car].stops_for(call))
    }

    fn will_be_fixed(&self, call: usize, holder: usize) -> bool {
        let Call { present, to, .. } = self.scene.calls[call];
        let has_moved = present.is_some_and(|present| present != holder);
        to.is_some() || has_moved || self.starts[holder].stops_for(&self.scene.calls[call])
    }

    fn inertia(&self, call: usize, from: usize, to: usize) -> f64 {
        let Call { present, waited, .. } = self.scene.calls[call];
        // What another second of waiting costs, which grows with the wait.
        let second = self.scene.weights.inertia * (1.0 + 2.0 * self.scene.weights.square * waited);
        match present {
            Some(present) if present == from => second,
            Some(present) if present == to => -second,
            Some(_) | None => 0.0,
        }
    }
}
