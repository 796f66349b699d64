//! The node's events for the stream: numbered, and the last of them kept, so that a client that was
//! away for a moment misses none, even if it comes back to another node of the fleet.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use elevator_fleet::node::Report;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};

use super::desk::{Desk, Wish};
use super::metrics::Counted;
use super::stream::{Frame, frame};
use crate::operator::{EVENTS, Event};

/// The bound of the queue of clients that want events; when it is full, they wait.
pub(super) const WISHES: usize = 16;

/// How far the clocks of two nodes may be apart, in seconds: the same thing may happen again later.
const APART: u64 = 30;

#[derive(Debug)]
pub(super) struct Numbered {
    id: EventId,
    is_of_fleet: bool,
    event: Event,
    frame: OnceLock<Frame>,
}

/// The name of an event: the run of the node, the number in it from 1, and the fleet's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventId {
    boot: u64,
    number: u64,
    mark: Mark,
}

/// The latest event of the fleet, not of the node alone: other nodes have it, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    at: u64,
    /// What, as a hash.
    what: u32,
}

impl Mark {
    fn of(report: &Report, at: SystemTime) -> Option<Self> {
        let what = match report {
            Report::Placed { call, press, .. } => format!("placed {call} {press:?}"),
            Report::Promised { call } => format!("promised {call}"),
            Report::Served { call, car, .. } => format!("served {call} {car:?}"),
            Report::Dropped { call } => format!("dropped {call}"),
            Report::Alarm { car, alarm } => format!("alarm {car} {alarm}"),
            Report::Setting { setting, .. } => format!("{} is {setting}", setting.subject()),
            _ => return None,
        };
        let [a, b, c, d, ..] = *blake3::hash(what.as_bytes()).as_bytes();
        let at = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        Some(Self { at, what: u32::from_be_bytes([a, b, c, d]) })
    }
}

impl Numbered {
    pub(super) fn number(&self) -> u64 {
        self.id.number
    }

    pub(super) fn frame(&self) -> Frame {
        self.frame.get_or_init(|| frame("event", Some(&self.id), &self.event)).clone()
    }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { boot, number, mark: Mark { at, what } } = self;
        write!(f, "{boot:016x}-{number}-{at:x}-{what:08x}")
    }
}

impl EventId {
    /// Reads what [`Display`](std::fmt::Display) writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let [boot, number, at, what] = *text.split('-').collect::<Vec<_>>() else { return None };
        let at = u64::from_str_radix(at, 16).ok()?;
        let mark = Mark { at, what: u32::from_str_radix(what, 16).ok()? };
        let boot = (boot.len() == 16).then(|| u64::from_str_radix(boot, 16).ok())??;
        Some(Self { boot, number: number.parse().ok()?, mark })
    }
}

#[derive(Debug)]
pub(super) struct Subscription {
    /// How many it asked for are not kept; `None` if unknown: of another node or an earlier run.
    pub(super) missed: Option<u64>,
    pub(super) kept: Vec<Arc<Numbered>>,
    pub(super) live: broadcast::Receiver<Arc<Numbered>>,
    /// The number of the last one before them.
    pub(super) last: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Now,
    /// After the one with this name, as far as they are kept. If it is of another node, or of another
    /// run of this one, after the same event of the fleet, or from here on if that is not kept. `None`
    /// if no node of this version has named it.
    Event(Option<EventId>),
    /// This many before, as far as they are kept: a client that has none yet misses none.
    Recent(usize),
}

pub(super) type Events = Desk<EventLog>;

#[derive(Debug)]
pub(super) struct EventLog {
    boot: u64,
    last: u64,
    mark: Mark,
    kept: VecDeque<Arc<Numbered>>,
    source: broadcast::Receiver<Event>,
    live: broadcast::Sender<Arc<Numbered>>,
    counted: Counted,
}

impl EventLog {
    pub(super) fn new(source: broadcast::Receiver<Event>, boot: u64, counted: Counted) -> Self {
        let (live, _) = broadcast::channel(EVENTS);
        let (mark, kept) = (Mark::default(), VecDeque::new());
        Self { boot, last: 0, mark, kept, source, live, counted }
    }

    pub(super) async fn run(mut self, mut wishes: mpsc::Receiver<Wish<Self>>) {
        loop {
            tokio::select! {
                event = self.source.recv() => match event {
                    Ok(event) => self.push(event),
                    // They have numbers, so that clients learn of them.
                    Err(RecvError::Lagged(events)) => {
                        self.last += events;
                        self.counted.missed.inc_by(events);
                    }
                    Err(RecvError::Closed) => return,
                },
                Some(wish) = wishes.recv() => wish(&mut self),
            }
        }
    }

    fn push(&mut self, event: Event) {
        self.counted.count(&event.report);
        self.last += 1;
        let mark = Mark::of(&event.report, SystemTime::now());
        self.mark = mark.unwrap_or(self.mark);
        let id = EventId { boot: self.boot, number: self.last, mark: self.mark };
        let event =
            Arc::new(Numbered { id, is_of_fleet: mark.is_some(), event, frame: OnceLock::new() });
        if self.kept.len() == EVENTS {
            self.kept.pop_front();
        }
        self.kept.push_back(Arc::clone(&event));
        drop(self.live.send(event));
    }

    pub(super) fn subscription(&self, since: Since) -> Subscription {
        let (missed, kept) = match since {
            Since::Now => (Some(0), Vec::new()),
            Since::Recent(count) => {
                let first = self.kept.len().saturating_sub(count);
                (Some(0), self.kept.range(first..).map(Arc::clone).collect())
            }
            Since::Event(id) => match id.and_then(|id| self.number_of(id)) {
                Some(after) => self.after(after),
                None => (None, Vec::new()),
            },
        };
        Subscription { missed, kept, live: self.live.subscribe(), last: self.last }
    }

    /// How many events after the one with this number are missed, and those that are kept.
    fn after(&self, number: u64) -> (Option<u64>, Vec<Arc<Numbered>>) {
        let kept = self.kept.iter().filter(|event| event.id.number > number);
        let kept: Vec<_> = kept.map(Arc::clone).collect();
        let wanted = self.last.saturating_sub(number);
        (Some(wanted.saturating_sub(u64::try_from(kept.len()).unwrap_or(u64::MAX))), kept)
    }

    /// The number that this node has given to an event, or to the same one of the fleet.
    fn number_of(&self, EventId { boot, number, mark }: EventId) -> Option<u64> {
        if boot == self.boot {
            return Some(number);
        }
        let of_fleet = self.kept.iter().filter(|event| event.is_of_fleet).map(|event| event.id);
        let apart = |id: &EventId| id.mark.at.abs_diff(mark.at);
        let same = of_fleet.filter(|id| id.mark.what == mark.what && apart(id) <= APART);
        same.min_by_key(apart).map(|id| id.number)
    }
}
