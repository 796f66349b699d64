//! The latest presses of the node's own panel, and what became of each.
//!
//! The brain says what it makes of a press, and reports what becomes of orders. The same button
//! again, with the same result, counts up its latest press, so that stuck buttons push out no
//! others.

use std::collections::VecDeque;
use std::time::SystemTime;

use elevator_fleet::json::{CallForm, Seconds};
use elevator_fleet::model::{Call, Dot, Timestamp};
use elevator_fleet::node::{Press, Pressed, Report};
use liftmesh_api::{PressFate, PressStatus, Presses};

const MOST_PRESSES: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct PressLog {
    /// The oldest first; at most [`MOST_PRESSES`].
    ring: VecDeque<Entry>,
    forgotten: u64,
}

#[derive(Debug)]
struct Entry {
    call: Call,
    first: Timestamp,
    last: Timestamp,
    times: u32,
    /// The latest press of its order, if it made one.
    press: Option<Dot>,
    /// Of an open order it does not say whether it is promised.
    fate: PressFate,
}

impl PressLog {
    pub(crate) fn latest(
        &self,
        is_promised: impl Fn(Dot, &Call) -> bool,
        now: Timestamp,
        wall_clock: SystemTime,
    ) -> Presses {
        let utc = |at: Timestamp| {
            let at = wall_clock.checked_sub(now.since(at)).unwrap_or(SystemTime::UNIX_EPOCH);
            humantime::format_rfc3339_millis(at).to_string()
        };
        let status = |entry: &Entry| {
            let mut fate = entry.fate.clone();
            if let PressFate::Open { promised } = &mut fate {
                *promised = entry.press.is_some_and(|press| is_promised(press, &entry.call));
            }
            let (at, call, times) = (utc(entry.first), CallForm::from(&entry.call), entry.times);
            PressStatus { at, call, times, last: (times > 1).then(|| utc(entry.last)), fate }
        };
        Presses { presses: self.ring.iter().map(status).collect(), forgotten: self.forgotten }
    }

    pub(crate) fn add(&mut self, Press { call, outcome }: Press, now: Timestamp) {
        let (press, fate) = match outcome {
            Ok(Pressed::Order(press)) => (Some(press), PressFate::Open { promised: false }),
            Ok(Pressed::Absorbed) => (None, PressFate::Absorbed),
            Ok(Pressed::Command) => (None, PressFate::Command),
            Ok(Pressed::Cancelled) => (None, PressFate::Cancelled),
            Err(refused) => (None, PressFate::Refused { reason: refused.to_string() }),
        };
        let latest = self.ring.iter_mut().rev().find(|entry| entry.call == call);
        if let Some(entry) = latest.filter(|entry| entry.fate == fate) {
            entry.times = entry.times.saturating_add(1);
            (entry.last, entry.press) = (now, press);
            return;
        }
        if self.ring.len() == MOST_PRESSES {
            self.ring.pop_front();
            self.forgotten += 1;
        }
        self.ring.push_back(Entry { call, first: now, last: now, times: 1, press, fate });
    }

    /// If orders of a call have ended, so have its presses that are not open any more.
    pub(crate) fn note(&mut self, report: &Report, is_open: impl Fn(Dot) -> bool) {
        let (call, fate) = match report {
            Report::Served { call, waited, here: _, car } => {
                (call, PressFate::Served { car: car.clone(), waited: Seconds(*waited) })
            }
            Report::Dropped { call } => (call, PressFate::Dropped),
            _ => return,
        };
        for entry in self.ring.iter_mut().filter(|entry| entry.call == *call) {
            if matches!(entry.fate, PressFate::Open { .. })
                && entry.press.is_some_and(|press| !is_open(press))
            {
                entry.fate = fate.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests;
