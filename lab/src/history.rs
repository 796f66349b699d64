//! What has happened, as far as it is needed to judge it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{self, Write as _};
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot, JournalId, NodeId, Order};
use elevator_fleet::node::Report;

use super::Fault;
use super::machine::Machine;

/// How many of the latest events are kept for the story.
const MOST_NOTES: usize = 4_000;

/// The most violations that are kept; a world that is broken so often need not be watched on.
const MOST_VIOLATIONS: usize = 100;

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// When, from the beginning of the world.
    pub at: Duration,
    /// Which invariant or requirement.
    pub id: &'static str,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:9.3} s  {}: {}",
            self.at.as_secs_f64(),
            self.id,
            self.what
        )
    }
}

/// A car has served a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// When.
    pub at: Duration,
    /// Which machine's car.
    pub node: usize,
    /// What.
    pub call: Call,
    /// How long it had waited, to the knowledge of the car's node.
    pub waited: Duration,
}

/// A line of the story.
pub(super) enum Note {
    Started,
    Ended,
    Pressed(Button),
    Lit(Button),
    Dark(Button),
    Fault(Fault),
    Reported(Report),
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("starts"),
            Self::Ended => f.write_str("ends"),
            Self::Pressed(button) => write!(f, "pressed: {button}"),
            Self::Lit(button) => write!(f, "lit: {button}"),
            Self::Dark(button) => write!(f, "dark: {button}"),
            Self::Fault(fault) => fault.fmt(f),
            Self::Reported(report) => report.fmt(f),
        }
    }
}

/// A press that some lamp has promised.
#[derive(Debug)]
struct Promised {
    call: Call,
    /// When a lamp promised it first.
    first: Duration,
    /// When a lamp promised it last that had not promised it before.
    last: Duration,
}

#[derive(Debug, Default)]
pub(super) struct History {
    notes: VecDeque<(Duration, usize, Note)>,
    violations: Vec<Violation>,
    services: Vec<Service>,
    /// The latest press of each register that a car has served.
    closed: BTreeMap<(JournalId, Call), u64>,
    /// When each call was last served.
    served_at: BTreeMap<Call, Duration>,
    /// What each dot names: the call, and where it was pressed.
    presses: BTreeMap<Dot, (Call, NodeId)>,
    /// The presses that some lamp has promised, and when.
    promised: BTreeMap<Dot, Promised>,
    /// When something last happened after which the fleet may take its time.
    disturbed_at: Duration,
    /// Since when something that may be so for a while has been so.
    since: BTreeMap<String, Duration>,
    /// What the present inspection has found to be so.
    standing: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl History {
    pub(super) fn note(&mut self, at: Duration, machine: usize, note: Note) {
        if self.notes.len() == MOST_NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back((at, machine, note));
    }

    pub(super) fn wrong(&mut self, at: Duration, id: &'static str, what: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(Violation { at, id, what });
        }
    }

    pub(super) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(super) fn serve(&mut self, service: Service) {
        self.served_at.insert(service.call.clone(), service.at);
        self.services.push(service);
    }

    pub(super) fn services(&self) -> &[Service] {
        &self.services
    }

    /// When this call was last served.
    pub(super) fn served_at(&self, call: &Call) -> Option<Duration> {
        self.served_at.get(call).copied()
    }

    pub(super) fn served(&self, call: &Call) -> usize {
        self.services
            .iter()
            .filter(|service| service.call == *call)
            .count()
    }

    /// A car has served this press, and every earlier one of its register.
    pub(super) fn close(&mut self, dot: Dot, call: &Call) {
        let latest = self
            .closed
            .entry((dot.journal, call.clone()))
            .or_insert(dot.sequence);
        *latest = dot.sequence.max(*latest);
    }

    /// Whether a car has served this press, or a later one of its register.
    pub(super) fn is_closed(&self, dot: Dot, call: &Call) -> bool {
        self.closed
            .get(&(dot.journal, call.clone()))
            .is_some_and(|latest| *latest >= dot.sequence)
    }

    /// Whether the dot of an order has named no other press before.
    pub(super) fn is_the_press(&mut self, order: &Order) -> bool {
        let known = self
            .presses
            .entry(order.dot)
            .or_insert_with(|| (order.call.clone(), order.origin.clone()));
        (&known.0, &known.1) == (&order.call, &order.origin)
    }

    /// A lamp promises this press. Where it `repeats` one of the same register that the lamp
    /// promised already, the promise dates from then.
    pub(super) fn promised(&mut self, dot: Dot, call: &Call, repeats: Option<Dot>, at: Duration) {
        let earlier = repeats.and_then(|earlier| self.promised.get(&earlier));
        let since = earlier.map_or(at, |earlier| earlier.first);
        let promised = self.promised.entry(dot).or_insert_with(|| Promised {
            call: call.clone(),
            first: since,
            last: since,
        });
        promised.last = promised.last.max(since);
    }

    /// The presses that some lamp has promised and no car has served. A repeated press may be lost
    /// with its node: the passenger is served with the earlier one, whose lamp it found lit.
    pub(super) fn owed(&self) -> impl Iterator<Item = (&Dot, &Call)> {
        self.promised
            .iter()
            .filter(|(dot, promised)| {
                let served_at = self.served_at.get(&promised.call);
                !self.is_closed(**dot, &promised.call)
                    && served_at.is_none_or(|served| *served < promised.last)
            })
            .map(|(dot, promised)| (dot, &promised.call))
    }

    /// Something that may be so for a while is so; says since when.
    pub(super) fn stands(&mut self, key: &str, now: Duration) -> Duration {
        self.standing.insert(key.to_owned());
        *self.since.entry(key.to_owned()).or_insert(now)
    }

    /// Forgets what is so no more.
    pub(super) fn end_inspection(&mut self) {
        let standing = std::mem::take(&mut self.standing);
        self.since.retain(|key, _| standing.contains(key));
    }

    /// Whether this is told for the first time since something else happened.
    pub(super) fn is_news(&mut self, what: String) -> bool {
        self.told.insert(what)
    }

    pub(super) fn disturbed(&mut self, at: Duration) {
        self.disturbed_at = at.max(self.disturbed_at);
        self.since.clear();
        self.told.clear();
    }

    pub(super) fn disturbed_at(&self) -> Duration {
        self.disturbed_at
    }

    pub(super) fn story(&self, lines: usize, machines: &[Machine]) -> String {
        let mut story = String::new();
        let skip = self.notes.len().saturating_sub(lines);
        for (at, node, note) in self.notes.iter().skip(skip) {
            let name = match note {
                Note::Fault(_) => "*",
                Note::Started
                | Note::Ended
                | Note::Pressed(_)
                | Note::Lit(_)
                | Note::Dark(_)
                | Note::Reported(_) => machines.get(*node).map_or("?", |m| m.name.as_str()),
            };
            let line = writeln!(story, "{:9.4} {name:3} {note:?}", at.as_secs_f64());
            debug_assert!(line.is_ok(), "writing to a string does not fail");
        }
        story
    }
}
