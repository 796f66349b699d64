//! The calls of a fleet, put together from the events of one node after another.
//!
//! Each node tells the same presses, by the same names, in an order of its own. A node that is
//! followed anew begins with the events that it has kept, of which most are known already.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use elevator_fleet::json::{CallForm, Seconds};
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::Report;
use liftmesh_api::State;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::operator::{EVENTS, Event};

/// How long the open orders may differ from the events. Then the state is right.
const GRACE: Duration = Duration::from_secs(10);

/// How far the clocks of two nodes may be apart.
const APART: Duration = Duration::from_secs(5);

/// The most presses that are known by name: more than the nodes of a large fleet keep.
const MOST_KNOWN: usize = 16 * EVENTS;

/// A call, by the names of its columns. Times are moments in UTC.
pub(super) type Cells = Map<String, Value>;

#[derive(Debug)]
struct Row {
    call: Call,
    placed: SystemTime,
    cells: Cells,
}

impl Row {
    fn new(call: &Call, placed: SystemTime) -> Self {
        let mut cells = Cells::new();
        if let Value::Object(form) = json!(CallForm::from(call)) {
            cells.extend(form);
        }
        cells.insert("placed".to_owned(), text(placed).into());
        Self { call: call.clone(), placed, cells }
    }

    fn set(&mut self, column: &str, value: impl Serialize) {
        self.cells.insert(column.to_owned(), json!(value));
    }
}

/// What a file has already.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The row to which a press belongs, by the press.
    rows: BTreeMap<String, String>,
    order: VecDeque<String>,
    /// When the last call ended.
    latest: Option<SystemTime>,
}

impl Known {
    pub(super) fn insert(&mut self, press: &str, row: &str) {
        if self.rows.insert(press.to_owned(), row.to_owned()).is_none() {
            self.order.push_back(press.to_owned());
        }
        if self.order.len() > MOST_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            self.rows.remove(&oldest);
        }
    }

    pub(super) fn note_end(&mut self, at: &str) {
        self.latest = self.latest.max(moment(at));
    }
}

#[derive(Debug)]
pub(super) struct Calls {
    known: Known,
    /// Calls that were placed before are left out.
    since: Option<SystemTime>,
    /// The open calls, by the name of their rows.
    rows: BTreeMap<String, Row>,
    /// The row of each call that is open, as far as the present node's events go.
    current: BTreeMap<Call, String>,
    /// Since when the state and the rows differ over a call.
    doubts: BTreeMap<Call, SystemTime>,
    /// How many states the present node has sent. What it has kept comes before the second one.
    states: u32,
    /// Events that it has kept, and whether any press among them was known.
    kept: (usize, bool),
    /// The time of the last state, of any node.
    heard: Option<SystemTime>,
}

impl Calls {
    pub(super) fn new(known: Known, since: Option<SystemTime>) -> Self {
        let heard = known.latest;
        Self {
            known,
            since,
            rows: BTreeMap::new(),
            current: BTreeMap::new(),
            doubts: BTreeMap::new(),
            states: 0,
            kept: (0, false),
            heard,
        }
    }

    /// Another node is followed, or the same one again.
    pub(super) fn begin(&mut self) {
        self.current.clear();
        self.doubts.clear();
        (self.states, self.kept) = (0, (0, false));
    }

    /// Whether everything that the node had kept has been read.
    pub(super) fn is_live(&self) -> bool {
        self.states >= 2
    }

    /// From when on calls may be missing, once it shows that the node did not keep enough events.
    pub(super) fn gap(&self, state: &State) -> Option<String> {
        let (heard, now) = (self.heard?, moment(&state.fleet.at)?);
        let uptime = Duration::try_from_secs_f64(state.fleet.uptime).ok()?;
        let ran_through = before(now, uptime) <= heard;
        let (kept, is_known) = self.kept;
        let is_whole = is_known || ran_through && kept < EVENTS;
        (self.states == 1 && !is_whole).then(|| text(heard))
    }

    /// Takes in an event; returns the call that it ends.
    pub(super) fn on_event(&mut self, event: &Event) -> Option<Cells> {
        self.kept.0 += usize::from(!self.is_live());
        let at = moment(&event.at)?;
        match &event.report {
            Report::Placed { call, origin, .. } => {
                // A node of an earlier version does not name it.
                let unnamed = || format!("{call} {}", event.at);
                let press = event.press.clone().unwrap_or_else(unnamed);
                self.place(call, &press, origin, at);
                None
            }
            Report::Assigned { call, car, .. } => {
                let row = self.rows.get_mut(self.current.get(call)?)?;
                row.cells.entry("assigned").or_insert_with(|| json!(event.at));
                row.set("car", car);
                None
            }
            Report::Served { call, waited, car, .. } => {
                let mut row = self.take(call, at, *waited)?;
                if let Some(car) = car {
                    row.set("car", car);
                }
                row.set("waited", Seconds(*waited));
                self.end(row, Some("served"), &event.at)
            }
            Report::Dropped { call } => {
                let row = self.take(call, at, Duration::ZERO)?;
                self.end(row, Some("cancelled"), &event.at)
            }
            _ => None,
        }
    }

    /// Takes in a state; returns the calls that have ended nobody knows how.
    pub(super) fn on_state(&mut self, state: &State) -> Vec<Cells> {
        let Some(now) = moment(&state.fleet.at) else { return Vec::new() };
        self.states = self.states.saturating_add(1);
        self.heard = Some(now);
        if !self.is_live() {
            return Vec::new();
        }
        let orders = || state.orders.iter().map(|order| &order.what);
        let has_row = |call: &Call| self.rows.values().any(|row| row.call == *call);
        let is_open = |call: &Call| orders().any(|order| order.call == *call);
        let unknown = orders().map(|order| &order.call).filter(|call| !has_row(call));
        let gone = self.rows.values().map(|row| &row.call).filter(|call| !is_open(call));
        let doubted: Vec<Call> = unknown.chain(gone).cloned().collect();
        self.doubts.retain(|call, _| doubted.contains(call));
        let mut ended = Vec::new();
        for call in doubted {
            let since = *self.doubts.entry(call.clone()).or_insert(now);
            if now.duration_since(since).unwrap_or_default() < GRACE {
                continue;
            }
            self.current.remove(&call);
            if let Some(order) = orders().find(|order| order.call == call) {
                let row = Row::new(&call, before(now, order.waited));
                self.current.insert(call.clone(), call.to_string());
                self.rows.insert(call.to_string(), row);
            } else {
                let gone = self.rows.extract_if(.., |_, row| row.call == call);
                let gone: Vec<_> = gone.map(|(_, row)| row).collect();
                let at = &state.fleet.at;
                ended.extend(gone.into_iter().filter_map(|row| self.end(row, None, at)));
            }
        }
        ended
    }

    fn place(&mut self, call: &Call, press: &str, origin: &NodeId, at: SystemTime) {
        let known = self.known.rows.get(press).cloned();
        self.kept.1 |= known.is_some();
        let is_fresh = known.is_none();
        // A call has one open order, whose button may be pressed again.
        let is_past = self.known.latest.is_some_and(|latest| at <= latest);
        let current = self.current.get(call);
        let row = known
            .or_else(|| current.filter(|row| is_past || self.rows.contains_key(*row)).cloned())
            .or_else(|| self.open_row(call, at))
            .unwrap_or_else(|| press.to_owned());
        if is_fresh {
            self.known.insert(press, &row);
            if row == press {
                self.rows.insert(row.clone(), Row::new(call, at));
            }
        }
        if let Some(open) = self.rows.get_mut(&row)
            && !open.cells.contains_key("id")
        {
            open.set("id", press);
            open.set("origin", origin);
        }
        self.current.insert(call.clone(), row);
    }

    /// The open row of a call that a former node has told, if it can be about the same press.
    fn open_row(&self, call: &Call, at: SystemTime) -> Option<String> {
        let is_it = |row: &Row| row.call == *call && (self.is_live() || row.placed <= at + APART);
        self.rows.iter().find(|(_, row)| is_it(row)).map(|(name, _)| name.clone())
    }

    /// The row of a call that has ended; `None` if that is known. One whose press came before
    /// everything that the nodes had kept is made from its end.
    fn take(&mut self, call: &Call, at: SystemTime, waited: Duration) -> Option<Row> {
        match self.current.remove(call).or_else(|| self.open_row(call, at)) {
            Some(name) => self.rows.remove(&name),
            None if self.known.latest.is_some_and(|latest| at <= latest) => None,
            None => Some(Row::new(call, before(at, waited))),
        }
    }

    fn end(&mut self, mut row: Row, how: Option<&str>, at: &str) -> Option<Cells> {
        if let Some(column) = how {
            row.set(column, at);
        }
        self.known.note_end(at);
        self.since.is_none_or(|since| row.placed >= since).then_some(row.cells)
    }
}

fn moment(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}

fn before(at: SystemTime, by: Duration) -> SystemTime {
    at.checked_sub(by).unwrap_or(SystemTime::UNIX_EPOCH).max(SystemTime::UNIX_EPOCH)
}

fn text(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

#[cfg(test)]
mod tests;
