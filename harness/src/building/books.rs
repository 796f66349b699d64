//! The books of a building: an account of every order, kept by a thread that sees every panel all
//! the time, whatever happens to the nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use elevator_fleet::model::{Call, NodeId};
use elevator_simulator::{CarState, ControlClient};

use crate::account::{Account, Sight, Tally, Verdict};

/// How many changes wait for the keeper; a thread that sends more waits.
const CHANGES: usize = 1024;

/// A node that has just started, or goes on, gets its lamps in line within this.
const SETTLE: Duration = Duration::from_secs(2);

/// The account is looked through so often, even where nothing changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The account while it is kept.
pub(super) struct Books {
    changes: SyncSender<Option<Change>>,
    keeper: JoinHandle<Report>,
}

/// What the books say in the end.
#[derive(Debug)]
pub struct Report {
    pub tally: Tally,
    /// Every order that was lost, in words.
    pub lost: Vec<String>,
}

/// What a panel showed before its node stopped is seen within this.
const LATE: Duration = Duration::from_millis(500);

/// What has happened before the books are closed is known to the keeper within this.
const LATEST_CHANGE: Duration = Duration::from_secs(5);

pub(super) enum Change {
    Seen(NodeId, Box<CarState>),
    Pressed(Call),
    /// A node has been started, or goes on.
    Runs(NodeId),
    /// A node is about to be killed or suspended: its panel means nothing from here on.
    Stopped(NodeId),
}

impl Books {
    /// Opens the books for these cars, whose nodes run and have settled.
    pub(super) fn open(cars: impl Iterator<Item = (&'static str, PathBuf)>) -> Self {
        let (changes, heard) = sync_channel(CHANGES);
        let mut watched = BTreeMap::new();
        for (car, control) in cars {
            let car = NodeId::new(car).expect("a name");
            watched.insert(car.clone(), Watched::default());
            let panel = ControlClient::connect(control).expect("the simulator's control socket");
            let states = panel.watch().expect("a watch");
            let changes = changes.clone();
            // Until its simulator ends, or the books are closed.
            std::thread::spawn(move || {
                for state in states {
                    let seen = Change::Seen(car.clone(), Box::new(state));
                    if changes.send(Some(seen)).is_err() {
                        return;
                    }
                }
            });
        }
        let keeper = Keeper {
            begun: Instant::now(),
            account: Account::default(),
            cars: watched,
            lost: Vec::new(),
        };
        let keeper = std::thread::spawn(move || keeper.keep(&heard));
        Self { changes, keeper }
    }

    /// Closes the books: whatever is still lit is lost.
    pub(super) fn close(self) -> Report {
        self.changes.send(None).expect("the keeper of the books");
        self.keeper.join().expect("the keeper of the books")
    }

    pub(super) fn record(&self, change: Change) {
        self.changes.send(Some(change)).expect("the keeper of the books");
    }
}

struct Keeper {
    begun: Instant,
    account: Account,
    cars: BTreeMap<NodeId, Watched>,
    lost: Vec<String>,
}

#[derive(Default)]
struct Watched {
    state: Option<Box<CarState>>,
    node: NodeState,
}

#[derive(Clone, Copy, Default)]
enum NodeState {
    StoppedSince(Duration),
    RunsSince(Duration),
    #[default]
    Settled,
}

impl Keeper {
    /// Keeps the books until they are to be closed, which `None` says.
    fn keep(mut self, heard: &Receiver<Option<Change>>) -> Report {
        let mut looked = Instant::now();
        let mut closing: Option<Instant> = None;
        let is_late = |since: Instant| since.elapsed() >= LATEST_CHANGE;
        while closing.is_none_or(|since| self.account.lit().next().is_some() && !is_late(since)) {
            match heard.recv_timeout(LOOK_EVERY) {
                Ok(None) => closing = Some(Instant::now()),
                // The test is over, and nobody reads them.
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(Some(change)) => self.hear(change),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                for car in self.cars.keys().cloned().collect::<Vec<_>>() {
                    self.look(&car);
                }
            }
        }
        let all: BTreeSet<NodeId> = self.cars.keys().cloned().collect();
        let verdicts = self.account.close(&all);
        self.note(verdicts);
        Report { tally: self.account.tally(), lost: self.lost }
    }

    fn hear(&mut self, change: Change) {
        let now = self.begun.elapsed();
        match change {
            Change::Seen(car, state) => {
                self.watched(&car).state = Some(state);
                self.look(&car);
            }
            Change::Pressed(call) => self.account.press(call, now),
            Change::Runs(node) => self.watched(&node).node = NodeState::RunsSince(now),
            Change::Stopped(node) => {
                self.watched(&node).node = NodeState::StoppedSince(now);
                self.look(&node);
            }
        }
    }

    fn look(&mut self, car: &NodeId) {
        let now = self.begun.elapsed();
        let watched = self.watched(car);
        if let NodeState::RunsSince(since) = watched.node
            && now.saturating_sub(since) >= SETTLE
        {
            watched.node = NodeState::Settled;
        }
        let Some(state) = &watched.state else { return };
        let living = matches!(watched.node, NodeState::Settled);
        let mut sight = Sight::new(state, living);
        // A door that was left open serves nobody; one that was opened just before is seen late.
        if let NodeState::StoppedSince(since) = watched.node
            && now.saturating_sub(since) > LATE
        {
            sight.serves = None;
        }
        let verdicts = self.account.observe(car, &sight, now);
        self.note(verdicts);
    }

    fn note(&mut self, verdicts: Vec<Verdict>) {
        let now = self.begun.elapsed().as_secs_f64();
        for verdict in verdicts {
            match verdict {
                Verdict::Placed { .. } | Verdict::Served { .. } => {}
                Verdict::Lost { call, at } | Verdict::Unserved { call, at } => {
                    self.lost.push(format!("{call}, on the panel of {at}, {now:.1} s"));
                }
            }
        }
    }

    fn watched(&mut self, car: &NodeId) -> &mut Watched {
        self.cars.get_mut(car).expect("a car of the building")
    }
}
