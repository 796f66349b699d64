//! What has happened: the story, and who served what.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Write as _};
use std::time::Duration;

use elevator_driver::{Button, Trip};
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::Report;

use super::Fault;
use super::machine::Machine;

/// How many of the latest events are kept for the story.
const MOST_NOTES: usize = 4_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub at: Duration,
    pub node: usize,
    pub call: Call,
    /// How long it had waited, to the knowledge of the car's node.
    pub waited: Duration,
}

/// A master has assigned a hall call to a car, or to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub at: Duration,
    pub call: Call,
    pub car: NodeId,
}

/// A line of the story.
pub(super) enum Note {
    Started,
    Ended,
    Pressed(Button),
    /// A destination was given at a kiosk of its panel.
    Requested(Trip),
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
            Self::Requested(trip) => write!(f, "requested: {trip}"),
            Self::Lit(button) => write!(f, "lit: {button}"),
            Self::Dark(button) => write!(f, "dark: {button}"),
            Self::Fault(fault) => fault.fmt(f),
            Self::Reported(report) => report.fmt(f),
        }
    }
}

fn report((at, machine, note): &(Duration, usize, Note)) -> Option<(Duration, usize, &Report)> {
    if let Note::Reported(report) = note { Some((*at, *machine, report)) } else { None }
}

#[derive(Debug, Default)]
pub(super) struct History {
    notes: VecDeque<(Duration, usize, Note)>,
    /// How many of all notes were reports.
    reports: u64,
    services: Vec<Service>,
    assignments: Vec<Assignment>,
    /// When each call was last served.
    served_at: BTreeMap<Call, Duration>,
}

impl History {
    pub(super) fn note(&mut self, at: Duration, machine: usize, note: Note) {
        if self.notes.len() == MOST_NOTES {
            self.notes.pop_front();
        }
        self.reports += u64::from(matches!(note, Note::Reported(_)));
        self.notes.push_back((at, machine, note));
    }

    pub(super) fn report_count(&self) -> u64 {
        self.reports
    }

    pub(super) fn reports_since(
        &self,
        count: u64,
    ) -> impl Iterator<Item = (Duration, usize, &Report)> {
        let wanted = usize::try_from(self.reports.saturating_sub(count)).unwrap_or(usize::MAX);
        let mut latest: Vec<_> = self.notes.iter().rev().filter_map(report).take(wanted).collect();
        latest.reverse();
        latest.into_iter()
    }

    pub(super) fn serve(&mut self, service: Service) {
        self.served_at.insert(service.call.clone(), service.at);
        self.services.push(service);
    }

    pub(super) fn assign(&mut self, assignment: Assignment) {
        self.assignments.push(assignment);
    }

    pub(super) fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    pub(super) fn services(&self) -> &[Service] {
        &self.services
    }

    pub(super) fn served_at(&self, call: &Call) -> Option<Duration> {
        self.served_at.get(call).copied()
    }

    pub(super) fn served(&self, call: &Call) -> usize {
        self.services.iter().filter(|service| service.call == *call).count()
    }

    pub(super) fn story(&self, lines: usize, machines: &[Machine]) -> String {
        let mut story = String::new();
        let skip = self.notes.len().saturating_sub(lines);
        for (at, node, note) in self.notes.iter().skip(skip) {
            let name = match note {
                Note::Fault(_) => "*",
                _ => machines.get(*node).map_or("?", |m| m.name.as_str()),
            };
            let line = writeln!(story, "{:9.4} {name:3} {note:?}", at.as_secs_f64());
            debug_assert!(line.is_ok(), "writing to a string does not fail");
        }
        story
    }
}
