//! The account of all orders, kept from what can be seen at the panels alone.
//!
//! ```text
//!   lamp lit on any living panel          ─▶ placed
//!   dark again, after a car stood open
//!     there in that direction             ─▶ served
//!   dark again without that               ─▶ lost, once a moment has passed
//! ```
//!
//! The nodes are not asked, so that they cannot be believed: a lit lamp is a promise (F12), and
//! the account is whether it was kept. Demo and tests keep one; it has no process, no thread and
//! no clock: [`Account::observe`] is told what is seen, and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use elevator_fleet::model::{Call, NodeId};

mod sight;

pub use self::sight::Sight;
use self::sight::Visit;

/// Cars are looked at one after the other: a lamp may be seen dark a little before the car that
/// served the call is seen to open.
const LOOK_AGAIN: Duration = Duration::from_millis(600);

/// A car that stood open and left this long ago, with the lamp still lit, has not served the call.
const FORGET_VISIT: Duration = Duration::from_secs(2);

/// How many waiting times are kept.
const WAITS: usize = 1_000;

/// Orders since the start, and how long they waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Orders whose lamp was lit.
    pub placed: u32,
    /// Those whose lamp went dark after a car had been there.
    pub served: u32,
    /// Those whose lamp went dark although none had.
    pub lost: u32,
    /// Those whose lamp was still lit at the end.
    pub unserved: u32,
    /// Those of the served that came from a landing: their passengers waited.
    pub fetched: u32,
    /// All their waiting times together, from the press to the open door.
    pub waited: Duration,
    /// Nine tenths of the latest thousand were at most this long.
    pub late: Duration,
    /// The longest of them.
    pub longest: Duration,
}

impl Tally {
    /// The mean waiting time, or `None` before the first passenger was fetched.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.fetched > 0).then(|| self.waited / self.fetched)
    }
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its lamp is lit, here first.
    Placed { call: Call, at: NodeId },
    /// A car was there.
    Served {
        call: Call,
        by: NodeId,
        /// From the press to the open door.
        waited: Duration,
    },
    /// Nobody was there.
    Lost {
        call: Call,
        /// On whose panel the lamp was seen dark.
        at: NodeId,
    },
    /// The end came before a car did.
    Unserved {
        call: Call,
        /// On whose panel the lamp is lit.
        at: NodeId,
    },
}

#[derive(Debug, Default)]
pub struct Account {
    pressed: BTreeMap<Call, Duration>,
    open: BTreeMap<Call, Entry>,
    /// How many openings of each car's door have been seen.
    openings: BTreeMap<NodeId, u64>,
    /// When each call was last counted as served.
    served: BTreeMap<Call, Duration>,
    /// The panels whose lamps mean nothing at present, and since when.
    away: BTreeMap<NodeId, Duration>,
    /// The lamps of panels whose node was away when the call was served, and which has not learned
    /// of that yet.
    leftovers: BTreeSet<(NodeId, Call)>,
    count: Count,
}

/// The tally, and what it is made from.
#[derive(Debug, Default)]
struct Count {
    tally: Tally,
    /// The latest waiting times at landings.
    waits: VecDeque<Duration>,
}

#[derive(Debug)]
struct Entry {
    pressed_at: Duration,
    lit_on: BTreeSet<NodeId>,
    /// When its lamp was last seen lit on a living panel.
    lit_at: Duration,
    /// Panels that were seen dark before any car was seen there, and since when.
    dark_since: BTreeMap<NodeId, Duration>,
    service: Service,
}

/// How far an order has come.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Service {
    Awaited,
    /// A car stands or stood there since the press.
    Visited {
        by: NodeId,
        first: Duration,
        last: Duration,
    },
    /// It has been counted, as served or lost; other panels may not know yet.
    Counted,
}

impl Account {
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.count.tally
    }

    /// A button was pressed: waiting begins, unless it has begun already.
    pub fn press(&mut self, call: Call, now: Duration) {
        self.leftovers.retain(|(_, lit)| *lit != call);
        self.pressed.entry(call).or_insert(now);
    }

    /// Takes in what is to be seen of one car.
    pub fn observe(&mut self, car: &NodeId, sight: &Sight, now: Duration) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        // Before the lamps: an opening that is over has served nobody who pressed after it.
        if let Some(visit) = self.new_opening(car, sight) {
            self.see_visit(car, visit, now);
        }
        if sight.living {
            self.see_leftovers(car, sight);
            self.see_lit(car, sight, now, &mut verdicts);
        } else {
            self.away.entry(car.clone()).or_insert(now);
        }
        if let Some(floor) = sight.serves {
            self.see_visit(car, Visit::at(floor, sight.lantern), now);
        }
        if sight.living {
            self.see_dark(car, sight, now);
        } else {
            for entry in self.open.values_mut() {
                entry.dark_since.remove(car);
            }
        }
        self.judge(now, &mut verdicts);
        verdicts
    }

    /// The calls whose lamp is lit on some panel, with those panels.
    pub fn lit(&self) -> impl Iterator<Item = (&Call, &BTreeSet<NodeId>)> {
        self.open.iter().map(|(call, entry)| (call, &entry.lit_on))
    }

    /// The end: what is still lit on one of these panels stays unserved.
    pub fn close(&mut self, panels: &BTreeSet<NodeId>) -> Vec<Verdict> {
        let mut unserved = Vec::new();
        for (call, entry) in &mut self.open {
            if entry.service == Service::Counted {
                continue;
            }
            if let Some(at) = entry.lit_on.intersection(panels).next() {
                let verdict = Verdict::Unserved { call: call.clone(), at: at.clone() };
                entry.service = Service::Counted;
                self.count.note(&verdict);
                unserved.push(verdict);
            }
        }
        unserved
    }

    /// A lamp that is lit on a panel which comes back is no order if the call was served meanwhile,
    /// and nobody has pressed since.
    fn see_leftovers(&mut self, car: &NodeId, sight: &Sight) {
        let is_dark = |call: &Call| call.button().is_none_or(|lamp| !sight.lamps.contains(&lamp));
        self.leftovers.retain(|(at, call)| at != car || !is_dark(call));
        let Some(since) = self.away.remove(car) else {
            return;
        };
        for button in &sight.lamps {
            let call = Call::of_button(*button, car);
            let counted = self
                .open
                .get_mut(&call)
                .is_some_and(|entry| entry.service == Service::Counted && entry.lit_on.remove(car));
            let served = counted || self.served.get(&call).is_some_and(|at| since <= *at);
            if served && !self.pressed.contains_key(&call) {
                self.leftovers.insert((car.clone(), call));
            }
        }
    }

    fn see_lit(&mut self, car: &NodeId, sight: &Sight, now: Duration, verdicts: &mut Vec<Verdict>) {
        for button in &sight.lamps {
            let call = Call::of_button(*button, car);
            if self.leftovers.contains(&(car.clone(), call.clone())) {
                continue;
            }
            if let Some(entry) = self.open.get_mut(&call) {
                entry.dark_since.remove(car);
                entry.lit_at = now;
                // Lit anew after it was served: pressed anew.
                let fresh = entry.lit_on.insert(car.clone()) && entry.service == Service::Counted;
                if !fresh {
                    continue;
                }
            }
            let pressed_at = self.pressed.get(&call).copied().unwrap_or(now);
            let entry = self.open.entry(call.clone()).or_insert_with(|| Entry {
                pressed_at,
                lit_on: BTreeSet::from([car.clone()]),
                lit_at: now,
                dark_since: BTreeMap::new(),
                service: Service::Awaited,
            });
            entry.pressed_at = pressed_at;
            entry.service = Service::Awaited;
            let verdict = Verdict::Placed { call, at: car.clone() };
            self.count.note(&verdict);
            verdicts.push(verdict);
        }
    }

    fn see_visit(&mut self, car: &NodeId, visit: Visit, now: Duration) {
        let serves = |call: &Call| visit.serves(car, call);
        // A press that lights no lamp because the door is open is served at once (F18).
        self.pressed.retain(|call, _| self.open.contains_key(call) || !serves(call));
        for (_, entry) in self.open.iter_mut().filter(|(call, _)| serves(call)) {
            match &mut entry.service {
                Service::Awaited => {
                    entry.service = Service::Visited { by: car.clone(), first: now, last: now };
                }
                Service::Visited { last, .. } => *last = now,
                Service::Counted => {}
            }
        }
    }

    /// The door stood fully open since the car was last looked at, and does no more.
    fn new_opening(&mut self, car: &NodeId, sight: &Sight) -> Option<Visit> {
        let count = sight.opening.map_or(0, |opening| opening.count);
        let before = self.openings.insert(car.clone(), count).unwrap_or(count);
        let missed = sight.opening.filter(|_| sight.serves.is_none() && count > before);
        missed.map(|opening| Visit::at(opening.floor, opening.lantern))
    }

    fn see_dark(&mut self, car: &NodeId, sight: &Sight, now: Duration) {
        for (call, entry) in &mut self.open {
            let is_dark = call.button().is_some_and(|button| !sight.lamps.contains(&button));
            if entry.lit_on.contains(car) && is_dark {
                entry.dark_since.entry(car.clone()).or_insert(now);
            }
        }
    }

    fn judge(&mut self, now: Duration, verdicts: &mut Vec<Verdict>) {
        for (call, entry) in &mut self.open {
            if let Some(verdict) = entry.judge(call, now) {
                self.count.note(&verdict);
                if matches!(verdict, Verdict::Served { .. }) {
                    self.served.insert(call.clone(), now);
                }
                self.pressed.remove(call);
                verdicts.push(verdict);
            }
        }
        self.open.retain(|_, entry| !entry.lit_on.is_empty());
    }
}

impl Entry {
    fn judge(&mut self, call: &Call, now: Duration) -> Option<Verdict> {
        let Some((at, since)) = self.dark_since.first_key_value() else {
            self.forget_visit();
            return None;
        };
        let call = call.clone();
        let verdict = match &self.service {
            Service::Awaited if now.saturating_sub(*since) < LOOK_AGAIN => return None,
            Service::Awaited => Some(Verdict::Lost { call, at: at.clone() }),
            Service::Visited { by, first, .. } => {
                let waited = first.saturating_sub(self.pressed_at);
                Some(Verdict::Served { call, by: by.clone(), waited })
            }
            Service::Counted => None,
        };
        self.service = Service::Counted;
        for (panel, _) in std::mem::take(&mut self.dark_since) {
            self.lit_on.remove(&panel);
        }
        verdict
    }

    fn forget_visit(&mut self) {
        if let Service::Visited { last, .. } = self.service
            && self.lit_at.saturating_sub(last) > FORGET_VISIT
        {
            self.service = Service::Awaited;
        }
    }
}

impl Count {
    fn note(&mut self, verdict: &Verdict) {
        let tally = &mut self.tally;
        match verdict {
            Verdict::Placed { .. } => tally.placed += 1,
            Verdict::Served { call, waited, .. } => {
                tally.served += 1;
                if matches!(call, Call::Hall(_)) {
                    tally.fetched += 1;
                    tally.waited += *waited;
                    tally.longest = tally.longest.max(*waited);
                    self.note_wait(*waited);
                }
            }
            Verdict::Lost { .. } => tally.lost += 1,
            Verdict::Unserved { .. } => tally.unserved += 1,
        }
    }

    fn note_wait(&mut self, waited: Duration) {
        if self.waits.len() == WAITS {
            self.waits.pop_front();
        }
        self.waits.push_back(waited);
        let mut waits: Vec<Duration> = self.waits.iter().copied().collect();
        waits.sort_unstable();
        self.tally.late = waits[(waits.len() * 9).div_ceil(10) - 1];
    }
}

#[cfg(test)]
mod tests;
