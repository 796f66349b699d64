//! The fleet keys: the task that reads them, and what is known of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use elevator_fleet::node::FleetKeysStatus;
use elevator_fleet::wire::keyring::{FleetKey, Keyring};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tracing::{error, info, trace, warn};

use super::event::Note;
use super::log_gate::{self, LogGate};
use crate::fleet_key::Keys;

/// How long a node that starts waits for its keys. A sound disk takes a small part of that.
pub(super) const LIMIT: Duration = Duration::from_millis(200);

/// Between two attempts to read them.
const RETRY: Duration = Duration::from_secs(1);

/// Why keys are missing, if some are: the reason for each of them.
pub(super) type Missing = Option<String>;

/// What is known of the keys.
#[derive(Debug)]
pub(super) struct KeyState {
    keys: Arc<Keys>,
    /// What comes of the first attempt to read them, until somebody has waited for it.
    first: Option<Receiver<Missing>>,
    /// The keys in use after the latest attempt that this side knows of.
    in_use: Option<Arc<Keyring>>,
    missing: Missing,
    log: LogGate<Line>,
}

/// The log lines about keys that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    /// Some that are only accepted.
    Accepted,
    /// The one that is sent: the others are of no use.
    Sent,
}

impl KeyState {
    /// Begins to read the keys.
    pub(super) fn begin(keys: &Arc<Keys>) -> (Self, Reading) {
        let (done, first) = sync_channel(1);
        let reading = Reading::begin(keys, done);
        let missing = Some("not read yet".to_owned());
        let (keys, log) = (Arc::clone(keys), LogGate::new(log_gate::ONE));
        let mut state = Self { keys, first: Some(first), in_use: None, missing, log };
        if !state.keys.name_files() {
            // It is done.
            state.wait();
        }
        (state, reading)
    }

    /// Waits for the first attempt, no longer than [`LIMIT`].
    pub(super) fn wait(&mut self) {
        let Some(first) = self.first.take() else {
            return;
        };
        match first.recv_timeout(LIMIT) {
            Ok(missing) => (self.missing, self.in_use) = (missing, self.keys.get()),
            // The task tells of it later.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                warn!("the fleet keys can't be read yet: serving alone until then");
            }
        }
    }

    /// The keys in use, if there are any.
    pub(super) fn in_use(&self) -> Option<FleetKeysStatus> {
        let keys = self.in_use.as_deref()?;
        Some(FleetKeysStatus {
            sent: keys.sent().map(FleetKey::id),
            accepted: keys.ids().collect(),
            accepts_anybody: self.keys.name_none(),
            missing: None,
        })
    }

    /// Those in use, and why others are missing.
    pub(super) fn status(&self) -> FleetKeysStatus {
        FleetKeysStatus { missing: self.missing.clone(), ..self.in_use().unwrap_or_default() }
    }

    /// An attempt to read the keys has come to this. Returns whether there are more keys than before.
    pub(super) fn on_read(&mut self, missing: Missing) -> bool {
        let before = std::mem::replace(&mut self.in_use, self.keys.get());
        let is_news = match (&before, &self.in_use) {
            (Some(before), Some(now)) => !Arc::ptr_eq(before, now),
            (None, now) => now.is_some(),
            (Some(_), None) => false,
        };
        let line = if self.in_use.is_some() { Line::Accepted } else { Line::Sent };
        if is_news {
            match (&before, &missing) {
                (_, None) => info!("all fleet keys have been read: taking part"),
                (None, Some(_)) => info!("the fleet key to send has been read: taking part"),
                (Some(_), Some(_)) => info!("more fleet keys have been read"),
            }
        }
        if let Some(error) = &missing
            && self.log.opens(&line).is_some()
        {
            match line {
                Line::Accepted => {
                    error!(%error, "a fleet key can't be read: nodes that send it are not heard");
                }
                Line::Sent => error!(%error, "serving alone until there is a fleet key"),
            }
        }
        self.missing = missing;
        is_news
    }
}

/// The first attempt to read the keys. If they are in files, it is under way on a thread of its own:
/// the disk may keep that waiting, but neither a task nor the panel.
#[derive(Debug)]
pub(super) struct Reading {
    keys: Arc<Keys>,
    read: JoinHandle<Missing>,
}

impl Reading {
    fn begin(keys: &Arc<Keys>, done: SyncSender<Missing>) -> Self {
        let keys = Arc::clone(keys);
        let reading = Arc::clone(&keys);
        let attempt = move || {
            let missing = read(&reading);
            if done.send(missing.clone()).is_err() {
                trace!("nobody waits for the fleet keys any more");
            }
            missing
        };
        let read = if keys.name_files() {
            spawn_blocking(attempt)
        } else {
            // Nothing keeps it waiting, not even for a thread.
            let missing = attempt();
            spawn_blocking(|| missing)
        };
        Self { keys, read }
    }

    /// Reads again and again, until all keys have been read.
    pub(super) async fn run(self, notes: mpsc::Sender<Note>) {
        let Self { keys, mut read } = self;
        let mut log = LogGate::new(log_gate::ONE);
        loop {
            match read.await {
                Ok(missing) => {
                    let is_complete = missing.is_none();
                    if notes.send(Note::Keys(missing)).await.is_err() {
                        trace!("the keys outlived the mesh");
                    }
                    if is_complete {
                        return;
                    }
                }
                Err(error) => {
                    if log.opens(&()).is_some() {
                        error!(%error, "the fleet keys were not read");
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
            let keys = Arc::clone(&keys);
            read = spawn_blocking(move || self::read(&keys));
        }
    }
}

fn read(keys: &Keys) -> Missing {
    keys.read().err().map(|error| error.to_string())
}
